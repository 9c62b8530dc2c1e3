/* The corpus of files written by other software. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TEST_CORPUS_H
#define HR_TEST_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row of MANIFEST.tsv; its columns are described in the corpus's README. */
typedef struct corpus_row {
    const char *path, *inner, *klass, *format, *dtype, *shape, *block, *compression,
        *photometric, *subsampling, *fill, *expected_sha256, *verdict, *note;
} corpus_row;

typedef struct corpus {
    char *text;
    char *next;
    size_t columns[14];
} corpus;

/* False, with a printed line naming `what` is skipped, when there is no corpus. */
bool corpus_open(corpus *c, const char *what);
/* The same for tiff_ifds.tsv: a row per IFD, its number in `inner`. */
bool corpus_open_ifds(corpus *c, const char *what);
bool corpus_next(corpus *c, corpus_row *row); /* pointers live until corpus_close */
void corpus_close(corpus *c);

/* Whole file below the corpus folder, malloc'ed and exactly as long; fails the test. */
uint8_t *corpus_read(const char *path, size_t *nbytes);

#endif
