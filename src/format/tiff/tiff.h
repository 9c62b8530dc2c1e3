/* TIFF, BigTIFF and COG to array descriptions. SPDX-License-Identifier: Apache-2.0
 *
 * An image file directory (IFD) is an array of one outer chunk, the file, in which tables
 * say where tiles or strips lie; those are the chunks. Pure but for the byte source. */
#ifndef HR_FORMAT_TIFF_TIFF_H
#define HR_FORMAT_TIFF_TIFF_H

#include <headrace/node.h>

#include "format/array.h"

/* The bytes of a file. */
typedef struct hr__byte_source {
    void *user;
    uint64_t nbytes;
    /* All of them, or an error. */
    hr_status (*read)(void *user, uint64_t offset, uint64_t nbytes, void *dst,
                      hr_error *err);
} hr__byte_source;

typedef struct hr__tiff_node {
    bool is_big; /* BigTIFF */
    hr__array array;
    hr__placement placement;
    hr__tables tables; /* of one image */
    hr__chain edge_chain;
    int64_t chunk_shape[HR_MAX_NDIM]; /* of a tile or strip, as hr_node_info gives it */
    const char *key;                  /* of the file in the store */
    const char *attributes_json, *codecs_json, *fill_value_json;
    const char *const *dimension_names;
} hr__tiff_node;

/* Does the file begin as a TIFF does? */
bool hr__tiff_detect(const hr__byte_source *source);

/* Open one array of the file: that of the first IFD, or what `fragment` says ("ifd=1": of
 * the main chain; "level=2": the second overview, also "ifd=1,level=2" and
 * "stack,level=2"; "stack": the pages of the main chain,
 * or those that ImageJ lets follow upon the first; NULL). `beside`: a file whose key has
 * ".ovr" behind it, where overviews are that the image itself has none of; NULL without
 * one. Everything lives in the arena; the node must not move afterwards. A tag may take
 * max_nbytes. Errors: HR_ERR_METADATA, HR_ERR_UNSUPPORTED, HR_ERR_NOT_FOUND for an IFD
 * that is not there, HR_ERR_OVERFLOW, those of the source; they name the file that they
 * are of. */
hr_status hr__tiff_open(const hr__byte_source *source, const hr__byte_source *beside,
                        const char *key, const char *fragment, uint64_t max_nbytes,
                        hr__arena *arena, hr__tiff_node *node, hr_error *err);

#endif
