/* Shared by the files of the Zarr reader. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_FORMAT_ZARR_INTERNAL_H
#define HR_FORMAT_ZARR_INTERNAL_H

#include "core/json.h"
#include "format/zarr/zarr.h"

/* Limits on what metadata may claim: no real array comes near them. */
#define HR__ZARR_MAX_ITEMSIZE (1 << 24)
#define HR__ZARR_MAX_CHUNK_NBYTES ((uint64_t)INT64_MAX / 2)
#define HR__ZARR_MAX_FIELDS 4096
#define HR__ZARR_MAX_EDGES (1 << 20) /* of one rectilinear axis */

/* document.c */

/* Compact JSON text of a value ("null" for NULL), in the arena. */
hr_status hr__zarr_text(json_object *value, hr__arena *arena, const char **text,
                        hr_error *err);
/* The same for messages: cut to a readable length. */
#define HR__ZARR_BRIEF "%.120s"
const char *hr__zarr_brief(json_object *value);

/* Name and configuration (NULL without) of an extension point: a bare string or
 * {"name", "configuration"}. */
typedef struct hr__zarr_extension {
    const char *name;
    json_object *config;
} hr__zarr_extension;
hr_status hr__zarr_extension_read(json_object *value, const char *what,
                                  hr__zarr_extension *extension, hr_error *err);

/* Every member of `object` is one of `known` (NULL-terminated). A member that is an
 * object with "must_understand": false passes where `may_ignore`. */
hr_status hr__zarr_check_members(json_object *object, const char *what,
                                 const char *const *known, bool may_ignore,
                                 hr_error *err);

/* A list of integers ≥ lo. ndim < 0: any number of them up to HR_MAX_NDIM, else exactly
 * ndim. */
hr_status hr__zarr_sizes(json_object *list, const char *what, int64_t lo, int32_t ndim,
                         int64_t *sizes, int32_t *n, hr_error *err);

/* "zarr_format": the document is of this version. */
hr_status hr__zarr_check_format(json_object *document, int32_t format, hr_error *err);
/* shape, with the number of elements checked. */
hr_status hr__zarr_shape(json_object *document, hr__array *a, hr_error *err);

/* dtype_v2.c, dtype_v3.c, dtype.c */

/* `stored` carries the byte order of the document. Object arrays take the type of their
 * object codec. */
hr_status hr__zarr_dtype_v2(json_object *document, hr__arena *arena, hr_dtype *stored,
                            hr_error *err);
hr_status hr__zarr_dtype_v3(json_object *value, hr__arena *arena, hr_dtype *dtype,
                            hr_error *err);
/* A structure from the list of its fields, packed one after the other, names unique. */
typedef hr_status hr__zarr_field_reader(json_object *value, hr__arena *arena,
                                        hr_field *field, hr_error *err);
hr_status hr__zarr_dtype_struct(json_object *list, hr__zarr_field_reader *read,
                                hr__arena *arena, hr_dtype *dtype, hr_error *err);
hr_status hr__zarr_check_itemsize(uint64_t itemsize, const char *what, hr_error *err);

/* fill.c, fill_number.c, fill_bytes.c */

/* The fill value as one little-endian item in the arena, and in the byte order of
 * `stored`. `value` NULL: zeros. */
hr_status hr__zarr_fill(json_object *value, const hr_dtype *dtype, const hr_dtype *stored,
                        hr__arena *arena, const void **fill, const void **stored_fill,
                        hr_error *err);
/* These return false where the value is none of the type. */
bool hr__zarr_fill_number(json_object *value, const hr_dtype *t, uint8_t *item);
bool hr__zarr_fill_fixed(json_object *value, const hr_dtype *t, uint8_t *item);
hr_status hr__zarr_fill_vlen(json_object *value, const hr_dtype *t, hr__arena *arena,
                             hr_vlen *item, bool *ok, hr_error *err);

/* grid.c */

/* Outer grid of `chunk_shape`-like sizes. */
hr_status hr__zarr_grid_regular(json_object *sizes, const char *what, hr__array *a,
                                hr_error *err);
/* chunk_grid of v3; *irregular where some axis needs boundaries. */
hr_status hr__zarr_grid_v3(json_object *value, hr__arena *arena, hr__array *a,
                           bool *irregular, hr_error *err);

/* keys.c */
typedef struct hr__zarr_keys {
    bool has_prefix; /* "c/0/1" rather than "0.1" */
    char separator;
} hr__zarr_keys;
hr_status hr__zarr_keys_v3(json_object *value, hr__zarr_keys *keys, hr_error *err);
/* '.' or '/'; `absent` where the value is NULL. */
hr_status hr__zarr_separator(json_object *value, char absent, char *separator,
                             hr_error *err);
hr_status hr__zarr_key(const hr__array *a, const int64_t *outer, char *buf,
                       size_t capacity, hr_error *err);

/* chains.c */

/* What hr__array.format_data points to. */
typedef struct hr__zarr_data {
    hr__zarr_keys keys;
    struct hr__zarr_chains *chains; /* of a rectilinear grid, else NULL */
} hr__zarr_data;

/* What a chunk of this shape (array axes) decodes to: axes permuted by a->order. */
hr_status hr__zarr_chunk_spec(const hr__array *a, const int64_t *shape,
                              const hr_dtype *dtype, const void *fill, hr__spec *spec,
                              hr_error *err);
/* Lazily made chains of codecs[first…]; holds a reference to `codecs`. */
hr_status hr__zarr_chains_create(json_object *codecs, int32_t first,
                                 const hr_allocator *allocator,
                                 struct hr__zarr_chains **out, hr_error *err);
void hr__zarr_chains_destroy(struct hr__zarr_chains *chains);
hr_status hr__zarr_chain_for(const hr__array *a, const int64_t *chunk_shape,
                             const hr__chain **chain, hr_error *err);

/* shards.c */

/* From codecs, dtype, fill and the outer grid of a v3 array: levels, grid, order, stored,
 * chain, and the shapes that the node shows. */
hr_status hr__zarr_layout_v3(json_object *codecs, bool irregular, hr__arena *arena,
                             hr__zarr_node *node, hr_error *err);

/* v2.c, v3.c */
hr_status hr__zarr_v2_array(json_object *document, hr__arena *arena, hr__zarr_node *node,
                            hr_error *err);
/* `document` NULL: no attributes. */
hr_status hr__zarr_v2_attributes(json_object *document, hr__arena *arena,
                                 hr__zarr_node *node, hr_error *err);
hr_status hr__zarr_v3_node(json_object *document, hr__arena *arena, hr__zarr_node *node,
                           hr_error *err);
hr_status hr__zarr_v3_kind(json_object *document, hr_node_kind *kind, hr_error *err);
/* Names from a list of ndim strings (nulls where null_ok); *names NULL where it is no
 * such list. */
hr_status hr__zarr_dimension_names(json_object *list, int32_t ndim, bool null_ok,
                                   hr__arena *arena, const char *const **names,
                                   hr_error *err);

/* consolidated.c */

/* One node in consolidated metadata; texts are in the arena. */
typedef struct hr__zarr_entry {
    const char *path; /* relative to the group with the consolidated metadata */
    hr_node_kind kind;
    const char *document;
    const char *attributes; /* v2: .zattrs or NULL */
} hr__zarr_entry;

/* From the group's own zarr.json; *out NULL where it has none, or an empty one that a
 * writer may have left in a nested group and `empty_counts` is false. */
hr_status hr__zarr_consolidated_v3(json_object *document, const char *path,
                                   bool empty_counts, hr__arena *arena,
                                   const hr__consolidated **out, hr_error *err);
/* From .zmetadata. */
hr_status hr__zarr_consolidated_v2(json_object *document, const char *path,
                                   hr__arena *arena, const hr__consolidated **out,
                                   hr_error *err);
int32_t hr__zarr_consolidated_format(const hr__consolidated *c);
/* The entry of the node at `path` of the store, NULL without. */
const hr__zarr_entry *hr__zarr_consolidated_find(const hr__consolidated *c,
                                                 const char *path);

#endif
