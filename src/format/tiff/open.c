/* One array of a TIFF. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/json_number.h"
#include "format/tiff/internal.h"

static hr_status key_of(const hr__array *a, const int64_t *outer, char *buf,
                        size_t capacity, hr_error *err) {
    const hr__tiff_node *node = a->format_data;
    (void)outer;
    int n = snprintf(buf, capacity, "%s", node->key);
    return n >= 0 && (size_t)n < capacity
               ? HR_OK
               : hr__fail(err, HR_ERR_OVERFLOW, "store key is longer than %zu bytes",
                          capacity);
}

/* GDAL writes numbers in C's way, and what C made of NaN in its time. */
static json_object *parse_nodata(const char *text) {
    static const char *const nans[] = {"nan", "-nan",    "NaN",     "-NaN",
                                       "NAN", "1.#QNAN", "-1.#IND", "-1.#QNAN"};
    char trimmed[64];
    size_t first = strspn(text, " \t\n");
    size_t n = strcspn(text + first, " \t\n");
    if (n == 0 || n >= sizeof trimmed) {
        return NULL;
    }
    memcpy(trimmed, text + first, n);
    trimmed[n] = '\0';
    for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++) {
        if (strcmp(trimmed, nans[i]) == 0) {
            return json_object_new_string("NaN");
        }
    }
    if (strcmp(trimmed, "inf") == 0 || strcmp(trimmed, "-inf") == 0) {
        return json_object_new_string(trimmed[0] == '-' ? "-Infinity" : "Infinity");
    }
    json_object *value = NULL;
    return hr__json_parse(trimmed, n, &value, NULL) == HR_OK ? value : NULL;
}

/* As Zarr writes complex numbers. */
static const char *complex_json(hr__arena *arena, const char *real) {
    size_t nbytes = strlen(real) + sizeof "[,0]";
    char *json = hr__arena_alloc(arena, nbytes);
    if (json != NULL) {
        (void)snprintf(json, nbytes, "[%s,0]", real);
    }
    return json;
}

/* Blocks that are not there have the value that says so, where the type has it (as a
 * real part): then *nodata is that value, which the caller owns. */
static hr_status read_nodata(const hr__tiff_image *image, const hr__tiff_image *base,
                             hr__tiff_node *node, json_object **nodata, hr_error *err) {
    char *text;
    uint64_t nbytes;
    hr__array *a = &node->array;
    hr__arena *arena = image->file->arena;
    uint8_t *fill = hr__arena_alloc(arena, a->dtype.itemsize);
    if (fill == NULL) {
        return hr__fail_memory(err, a->dtype.itemsize);
    }
    a->fill = fill;
    node->fill_value_json = "0";
    HR__TRY(hr__tiff_bytes(image->file, &image->ifd, HR__TIFF_GDAL_NODATA, &text, &nbytes,
                           err));
    if (text == NULL) {
        HR__TRY(hr__tiff_bytes(base->file, &base->ifd, HR__TIFF_GDAL_NODATA, &text,
                               &nbytes, err));
    }
    json_object *value = text == NULL ? NULL : parse_nodata(text);
    bool is_complex = a->dtype.kind == HR_KIND_COMPLEX;
    const hr_dtype real = hr__dtype(HR_KIND_FLOAT, a->dtype.itemsize / 2);
    if (value != NULL && hr__json_number(value, is_complex ? &real : &a->dtype, fill)) {
        const char *json = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
        node->fill_value_json =
            is_complex ? complex_json(arena, json) : hr__arena_strdup(arena, json);
        *nodata = value;
    } else {
        json_object_put(value);
    }
    return node->fill_value_json == NULL ? hr__fail_memory(err, 0) : HR_OK;
}

static hr_status name_axes(hr__arena *arena, const hr__tiff_layout *l,
                           const hr__tiff_stack *stack, hr__tiff_node *node,
                           hr_error *err) {
    const char **names = hr__arena_array(arena, HR_MAX_NDIM, sizeof *names);
    if (names == NULL) {
        return hr__fail_memory(err, HR_MAX_NDIM * sizeof *names);
    }
    int32_t n = 0;
    for (int32_t i = 0; i < stack->naxes; i++) {
        names[n++] = stack->names[i];
    }
    if (l->is_planar) {
        names[n++] = "band";
    }
    if (l->depth > 1) {
        names[n++] = "z";
    }
    names[n++] = "y";
    names[n++] = "x";
    names[n] = "band";
    node->dimension_names = names;
    return HR_OK;
}

/* A file beside that is no TIFF is as good as none. */
static hr_status open_files(const hr__byte_source *source, const hr__byte_source *beside,
                            uint64_t max_nbytes, hr__arena *arena, hr__tiff_file files[2],
                            hr_error *err) {
    HR__TRY(hr__tiff_file_open(source, max_nbytes, arena, &files[0], err));
    if (beside != NULL) {
        hr_status status = hr__tiff_file_open(beside, max_nbytes, arena, &files[1], NULL);
        if (status == HR_ERR_MEMORY) {
            return hr__fail_memory(err, 0);
        }
        files[0].beside = status == HR_OK ? &files[1] : NULL;
    }
    return HR_OK;
}

hr_status hr__tiff_open(const hr__byte_source *source, const hr__byte_source *beside,
                        const char *key, const char *fragment, uint64_t max_nbytes,
                        hr__arena *arena, hr__tiff_node *node, hr_error *err) {
    hr__tiff_file files[2] = {{0}};
    hr__tiff_image image, base;
    hr__tiff_layout layout;
    hr__tiff_stack stack = {0};
    HR__TRY(open_files(source, beside, max_nbytes, arena, files, err));
    HR__TRY(hr__tiff_image_find(&files[0], fragment, &image, &base, err));
    HR__TRY(hr__tiff_layout_read(image.file, &image.ifd, &layout, err));
    if (fragment != NULL && strcmp(fragment, "stack") == 0) {
        HR__TRY(hr__tiff_stack_read(image.file, &image.ifd, &layout, &stack, err));
    }
    HR__TRY(hr__tiff_chains(image.file, &image.ifd, &layout, &stack, node, err));
    HR__TRY(name_axes(arena, &layout, &stack, node, err));
    json_object *nodata = NULL;
    hr_status status = read_nodata(&image, &base, node, &nodata, err);
    if (status == HR_OK) {
        status = hr__tiff_attributes(&image, &base, &layout, nodata, node, err);
    }
    json_object_put(nodata);
    HR__TRY(status);
    node->is_big = image.file->is_big;
    node->key = image.file == &files[0] ? hr__arena_strdup(arena, key)
                                        : hr__arena_printf(arena, "%s.ovr", key);
    node->array.key = key_of;
    node->array.format_data = node;
    return node->key == NULL ? hr__fail_memory(err, strlen(key) + 1) : HR_OK;
}
