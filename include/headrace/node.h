/* Arrays and groups. SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADRACE_NODE_H
#define HEADRACE_NODE_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/store.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_node hr_node; /* an array or a group; immutable once opened */

typedef enum hr_consolidated {
    HR_CONSOLIDATED_AUTO = 0, /* use it where present; what it lacks is looked up */
    HR_CONSOLIDATED_MUST = 1, /* HR_ERR_METADATA where absent; nothing else is read */
    HR_CONSOLIDATED_NEVER = 2
} hr_consolidated;

typedef struct hr_open_options {
    uint32_t struct_size;
    hr_consolidated consolidated;
    int32_t zarr_format; /* 2, 3, or 0 = whichever is there (3 first) */
} hr_open_options;

#define HR_OPEN_OPTIONS_INIT HR_INIT(hr_open_options)

/* Open the array or group at a URL: a path or file:// URL (%XX decoded) of a Zarr
 * directory or a TIFF file. Behind a file, "#ifd=1" names another directory of its main
 * chain, "#level=2" an overview of its first image (0 is the image; masks do not count,
 * SubIFDs do), "#stack" all pages of the main chain as one array, "#ifd=1,level=2" and
 * "#stack,level=2" overviews of these. Metadata is read and
 * checked now, on the host; no chunk is touched. `options` may be NULL. Caller owns *out.
 * Errors: HR_ERR_NOT_FOUND, HR_ERR_IO, HR_ERR_METADATA, HR_ERR_UNSUPPORTED (names the
 * extension), HR_ERR_OVERFLOW for a document above metadata_max_nbytes. Any thread. */
HR_API HR_NODISCARD hr_status hr_open(hr_context *context, const char *url,
                                      const hr_open_options *options, hr_node **out,
                                      hr_error *err);
/* The same below `path` ("" = root, "a/b", "c.tif#ifd=1") of a store, which the node
 * holds. */
HR_API HR_NODISCARD hr_status hr_open_store(hr_store *store, const char *path,
                                            const hr_open_options *options, hr_node **out,
                                            hr_error *err);
/* Open a member of a group by its relative path ("" is the group itself), through the
 * group's consolidated metadata where it has some, with the options that the group was
 * opened with. Errors: as hr_open. Caller owns *out. Any thread. */
HR_API HR_NODISCARD hr_status hr_node_open(hr_node *group, const char *path,
                                           hr_node **out, hr_error *err);
/* A node holds its store. NULL is accepted. */
HR_API hr_node *hr_node_ref(hr_node *node);
HR_API void hr_node_unref(hr_node *node);

typedef enum hr_node_kind {
    HR_NODE_ARRAY = 1,
    HR_NODE_GROUP = 2,
    HR_NODE_UNREADABLE = 3, /* in lists: metadata are there, but say neither */
} hr_node_kind;

/* Everything about a node; all pointers borrowed, valid while the node is held. The
 * fields after `attributes_json` are zero for a group. Sizes are in elements. */
typedef struct hr_node_info {
    uint32_t struct_size;
    hr_node_kind kind;
    const char *format;          /* "zarr2", "zarr3", "tiff", "bigtiff" */
    const char *url;             /* of the store, then the path inside it */
    const char *attributes_json; /* an object, "{}" when there are none */

    hr_dtype dtype;
    int32_t ndim;
    const int64_t *shape;
    const int64_t *chunk_shape;  /* innermost chunk; the longest one per axis where the
                                    grid is rectilinear */
    const int64_t *shard_shape;  /* outermost chunk, or NULL without shards */
    const int64_t *grid_shape;   /* number of innermost chunks per axis */
    int32_t is_rectilinear;      /* chunk lengths vary along some axis */
    const char *codecs_json;     /* JSON list, outermost first, as stored */
    const char *fill_value_json; /* as stored: "0", "\"NaN\"", "null" */
    const void *fill_value;      /* dtype.itemsize bytes, little-endian; never NULL */
    const char *const *dimension_names; /* ndim entries, each may be NULL; or NULL */
} hr_node_info;

#define HR_NODE_INFO_INIT HR_INIT(hr_node_info)

/* `info` must have its struct_size set (HR_NODE_INFO_INIT). Any thread. */
HR_API HR_NODISCARD hr_status hr_node_describe(const hr_node *node, hr_node_info *info,
                                               hr_error *err);

/* Extent along `axis` of innermost chunk number `i` as it lies in the array:
 * first element and number of elements (clipped to the shape). Errors: HR_ERR_SELECTION
 * where there is no such axis or chunk. Any thread. */
HR_API HR_NODISCARD hr_status hr_node_chunk_extent(const hr_node *node, int32_t axis,
                                                   int64_t i, int64_t *start,
                                                   int64_t *count, hr_error *err);

/* One member of a group. */
typedef struct hr_member {
    const char *path;  /* relative to the group, "a" or "a/b" */
    hr_node_kind kind; /* HR_NODE_UNREADABLE: to open it gives the error */
} hr_member;

typedef struct hr_member_list hr_member_list;

/* Members of a group in byte order of their paths; direct ones, or all below it when
 * `recursive`. From consolidated metadata, else by listing the store, where one member's
 * malformed metadata hide no other. Errors: HR_ERR_IO, HR_ERR_OVERFLOW for groups nested
 * deeper than 64. Caller owns *out, which stays as it is whatever happens to the store.
 * Any thread. */
HR_API HR_NODISCARD hr_status hr_node_list(const hr_node *group, int32_t recursive,
                                           hr_member_list **out, hr_error *err);
HR_API size_t hr_member_list_size(const hr_member_list *list);
/* Member i, borrowed from the list; zeros past the end. */
HR_API hr_member hr_member_list_get(const hr_member_list *list, size_t i);
HR_API void hr_member_list_free(hr_member_list *list); /* NULL is accepted */

#ifdef __cplusplus
}
#endif
#endif
