/* One array of a TIFF. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* A part of a number: what of `accepted` is at *from, at the end of the text made. */
static size_t take(const char **from, const char *accepted, size_t most, char *to) {
    size_t n = strspn(*from, accepted);
    n = n < most ? n : most;
    memcpy(to, *from, n);
    to[n] = '\0';
    *from += n;
    return n;
}

enum { NUMBER_MAX = 80 };

/* A number in C's way as JSON has it: "+5", ".5" and "5." are none there. What stands
 * behind it does not count, as for GDAL. */
static bool json_of_number(const char *text, char out[NUMBER_MAX]) {
    static const char digits[] = "0123456789";
    char whole[32], fraction[32], sign[2], power[8];
    bool is_negative = *text == '-';
    text += *text == '-' || *text == '+';
    size_t nwhole = take(&text, digits, sizeof whole - 1, whole);
    size_t nfraction = 0;
    if (*text == '.') {
        text++;
        nfraction = take(&text, digits, sizeof fraction - 1, fraction);
        text += strspn(text, digits);
    }
    int n = snprintf(out, NUMBER_MAX, "%s%s%s%s", is_negative ? "-" : "",
                     nwhole > 0 ? whole : "0", nfraction > 0 ? "." : "",
                     nfraction > 0 ? fraction : "");
    if (*text == 'e' || *text == 'E') {
        text++;
        (void)take(&text, "+-", 1, sign);
        if (take(&text, digits, sizeof power - 1, power) > 0) {
            (void)snprintf(out + n, NUMBER_MAX - (size_t)n, "e%s%s", sign, power);
        }
    }
    return nwhole + nfraction > 0;
}

/* GDAL writes numbers in C's way, and what C made of those that are none in its time. */
static json_object *parse_nodata(const char *text) {
    static const struct {
        const char *name;
        const char *json;
    } names[] = {{"nan", "NaN"},
                 {"1.#QNAN", "NaN"},
                 {"1.#IND", "NaN"},
                 {"inf", "Infinity"},
                 {"1.#INF", "Infinity"}};
    char number[NUMBER_MAX];
    text += strspn(text, " \t\n");
    const char *unsigned_text = text + (*text == '-' || *text == '+');
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncasecmp(unsigned_text, names[i].name, strlen(names[i].name)) == 0) {
            bool is_negative = *text == '-' && names[i].json[0] == 'I';
            return json_object_new_string(is_negative ? "-Infinity" : names[i].json);
        }
    }
    json_object *value = NULL;
    if (!json_of_number(text, number) ||
        hr__json_parse(number, strlen(number), &value, NULL) != HR_OK) {
        return NULL;
    }
    if (!isfinite(json_object_get_double(value))) {
        json_object *infinite = hr__tiff_json_number(json_object_get_double(value));
        json_object_put(value);
        return infinite;
    }
    return value;
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
                            const char *key, uint64_t max_nbytes, hr__arena *arena,
                            hr__tiff_file files[2], hr_error *err) {
    HR__TRY(hr__tiff_file_open(source, max_nbytes, arena, &files[0], err));
    files[0].key = hr__arena_strdup(arena, key);
    bool has_keys = files[0].key != NULL;
    if (beside != NULL) {
        hr_status status = hr__tiff_file_open(beside, max_nbytes, arena, &files[1], NULL);
        if (status == HR_ERR_MEMORY) {
            return hr__fail_memory(err, 0);
        }
        files[0].beside = status == HR_OK ? &files[1] : NULL;
        files[1].key = hr__arena_printf(arena, "%s.ovr", key);
        has_keys = has_keys && files[1].key != NULL;
    }
    return has_keys ? HR_OK : hr__fail_memory(err, strlen(key) + 1);
}

/* Hamamatsu's files of more than 4 GiB have the upper halves of offsets behind their
 * directories. */
static hr_status check_ndpi(const hr__tiff_image *image, hr_error *err) {
    const hr__tiff_file *file = image->file;
    return !file->is_big && file->source->nbytes > UINT32_MAX &&
                   hr__tiff_find(&image->ifd, HR__TIFF_NDPI_FORMAT) != NULL
               ? hr__fail(err, HR_ERR_UNSUPPORTED,
                          "NDPI of %" PRIu64 " bytes, beyond offsets of 32 bits",
                          file->source->nbytes)
               : HR_OK;
}

static hr_status read_image(const hr__tiff_image *image, const hr__tiff_image *base,
                            const hr__tiff_choice *choice, hr__tiff_node *node,
                            hr_error *err) {
    hr__tiff_layout layout;
    hr__tiff_stack stack = {0};
    HR__TRY(check_ndpi(image, err));
    HR__TRY(hr__tiff_layout_read(image->file, &image->ifd, &layout, err));
    if (choice->is_stack) {
        HR__TRY(hr__tiff_stack_read(base, image, &layout, choice->level, &stack, err));
    }
    HR__TRY(hr__tiff_chains(image->file, &image->ifd, &layout, &stack, node, err));
    HR__TRY(name_axes(image->file->arena, &layout, &stack, node, err));
    json_object *nodata = NULL;
    hr_status status = read_nodata(image, base, node, &nodata, err);
    if (status == HR_OK) {
        status = hr__tiff_attributes(image, base, &layout, nodata, node, err);
    }
    json_object_put(nodata);
    HR__TRY(status);
    node->key = image->file->key;
    node->is_big = image->file->is_big;
    node->array.key = key_of;
    node->array.format_data = node;
    return HR_OK;
}

hr_status hr__tiff_open(const hr__byte_source *source, const hr__byte_source *beside,
                        const char *key, const char *fragment, uint64_t max_nbytes,
                        hr__arena *arena, hr__tiff_node *node, hr_error *err) {
    hr__tiff_file files[2] = {{0}};
    hr__tiff_image image, base;
    hr__tiff_choice choice;
    HR__TRY(hr__tiff_choice_parse(fragment, &choice, err));
    HR__TRY(open_files(source, beside, key, max_nbytes, arena, files, err));
    HR__TRY(hr__tiff_choice_find(&choice, &files[0], &image, &base, err));
    hr_status status = read_image(&image, &base, &choice, node, err);
    if (status != HR_OK) {
        hr__error_add_place(err, NULL, image.file->key, 0);
    }
    return status;
}
