/* Zarr metadata from a table of strings. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TEST_ZARR_DOCS_H
#define HR_TEST_ZARR_DOCS_H

#include "format/zarr/zarr.h"

typedef struct zarr_doc {
    const char *key, *text;
} zarr_doc;

/* An attempt to open a node. Lies still until zarr_close. */
typedef struct zarr_opened {
    hr__arena arena;
    hr__zarr_node node;
    hr_status status;
    hr_error err;
    const zarr_doc *docs; /* ends with a NULL key */
    int ngets;            /* documents asked for */
} zarr_opened;

hr__doc_source zarr_source(zarr_opened *o);
/* Open the node at `path`; `parent` may be NULL. */
void zarr_open_at(zarr_opened *o, const zarr_doc *docs, const char *path,
                  const hr_open_options *options, const hr__consolidated *parent);
/* Open the one document `text` that is called `name`. */
void zarr_open_text(zarr_opened *o, const char *name, const char *text);
void zarr_close(zarr_opened *o);

/* Text of a small valid array document with members replaced or added: name, JSON, name,
 * JSON, …, NULL. JSON NULL leaves the member out. The text lives until the next call. */
const char *zarr_v3_doc(const char *name, ...);
const char *zarr_v2_doc(const char *name, ...);

/* Open an array with these members and fail the test unless that works. */
#define ZARR_V3(o, ...) zarr_open_text(o, "zarr.json", zarr_v3_doc(__VA_ARGS__, NULL))
#define ZARR_V2(o, ...) zarr_open_text(o, ".zarray", zarr_v2_doc(__VA_ARGS__, NULL))

void zarr_assert_ok(const zarr_opened *o);
/* Failed with this status and a message that contains `part`; closes. */
void zarr_assert_fails(zarr_opened *o, hr_status status, const char *part);

#endif
