/* Tags for people, as JSON. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/utf8.h"
#include "format/tiff/internal.h"

json_object *hr__tiff_json_text(const char *bytes, uint64_t nbytes) {
    size_t n = strnlen(bytes, nbytes);
    if (n > INT32_MAX / 2) {
        return NULL;
    }
    if (hr__is_utf8((const uint8_t *)bytes, n)) {
        return json_object_new_string_len(bytes, (int)n);
    }
    char *text = malloc(2 * n + 1);
    size_t made = 0;
    if (text == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned c = (uint8_t)bytes[i];
        if (c >= 0x80) {
            text[made++] = (char)(0xC0 | c >> 6);
        }
        text[made++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3F) : c);
    }
    json_object *json = json_object_new_string_len(text, (int)made);
    free(text);
    return json;
}

json_object *hr__tiff_json_number(double value) {
    if (isfinite(value)) {
        return json_object_new_double(value);
    }
    return json_object_new_string(isnan(value) ? "NaN"
                                  : value > 0  ? "Infinity"
                                               : "-Infinity");
}

void hr__tiff_json_list(json_object *object, const char *name, const double *values,
                        uint64_t n) {
    if (n == 0) {
        return;
    }
    json_object *list = json_object_new_array();
    for (uint64_t i = 0; i < n; i++) {
        json_object_array_add(list, hr__tiff_json_number(values[i]));
    }
    json_object_object_add(object, name, list);
}

enum { RGB = 2 };

static const char *photometric_name(uint32_t value) {
    static const char *const names[] = {
        "white is zero",     "black is zero", "RGB",    "palette",
        "transparency mask", "CMYK",          "YCbCr",  "",
        "CIE Lab",           "ICC Lab",       "ITU Lab"};
    return value < sizeof names / sizeof names[0] ? names[value] : "";
}

static void add_photometric(json_object *attributes, uint32_t value) {
    const char *name = photometric_name(value);
    json_object_object_add(attributes, "photometric",
                           name[0] != '\0' ? json_object_new_string(name)
                                           : json_object_new_int64(value));
}

static hr_status add_text(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                          const char *name, json_object *attributes, hr_error *err) {
    char *text;
    uint64_t nbytes;
    HR__TRY(hr__tiff_bytes(file, ifd, tag, &text, &nbytes, err));
    if (text != NULL) {
        json_object_object_add(attributes, name, hr__tiff_json_text(text, nbytes));
    }
    return HR_OK;
}

/* Integers as a list: red, green and blue of a palette one after the other, or what the
 * samples beyond the colours are (1 and 2: opacity). */
static hr_status add_uints(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                           const char *name, json_object *attributes, hr_error *err) {
    uint64_t *values;
    uint64_t n;
    HR__TRY(hr__tiff_uints(file, ifd, tag, UINT64_MAX, &values, &n, err));
    json_object *list = n > 0 ? json_object_new_array() : NULL;
    for (uint64_t i = 0; i < n; i++) {
        json_object_array_add(list, json_object_new_int64((int64_t)values[i]));
    }
    if (n > 0) {
        json_object_object_add(attributes, name, list);
    }
    return HR_OK;
}

static hr_status add_number(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                            hr__tiff_tag tag, const char *name, json_object *attributes,
                            hr_error *err) {
    double *values;
    uint64_t n;
    HR__TRY(hr__tiff_doubles(file, ifd, tag, &values, &n, err));
    if (n > 0) {
        json_object_object_add(attributes, name, hr__tiff_json_number(values[0]));
    }
    return HR_OK;
}

static hr_status add_uint(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                          const char *name, json_object *attributes, hr_error *err) {
    uint64_t value;
    HR__TRY(hr__tiff_uint(file, ifd, tag, UINT64_MAX, &value, err));
    if (value != UINT64_MAX) {
        json_object_object_add(attributes, name, json_object_new_int64((int64_t)value));
    }
    return HR_OK;
}

/* Sizes of an image with overviews, itself the first, as "level=" counts them. */
static hr_status add_levels(const hr__tiff_image *image, bool is_overview,
                            const hr__tiff_layout *layout, json_object *attributes,
                            hr_error *err) {
    uint64_t sizes[1 + HR__TIFF_MAX_LEVELS][2] = {
        {(uint64_t)layout->height, (uint64_t)layout->width}};
    size_t n = 0;
    if (!is_overview) {
        HR__TRY(hr__tiff_levels(image, sizes + 1, &n, err));
    }
    json_object *list = n > 0 ? json_object_new_array() : NULL;
    for (size_t i = 0; n > 0 && i <= n; i++) {
        json_object *size = json_object_new_array();
        json_object_array_add(size, json_object_new_int64((int64_t)sizes[i][0]));
        json_object_array_add(size, json_object_new_int64((int64_t)sizes[i][1]));
        json_object_array_add(list, size);
    }
    if (n > 0) {
        json_object_object_add(attributes, "levels", list);
    }
    return HR_OK;
}

/* Which directory of the file says what of the first image, or of an overview, counts. */
static hr_status add_mask(const hr__tiff_image *image, const hr__tiff_image *base,
                          const hr__tiff_layout *layout, json_object *attributes,
                          hr_error *err) {
    uint64_t number = 0;
    if (image->file == base->file && base->ifd.at == base->file->first_ifd) {
        HR__TRY(hr__tiff_mask(image->file, layout->width, layout->height, &number, err));
    }
    if (number > 0) {
        json_object_object_add(attributes, "mask_ifd",
                               json_object_new_int64((int64_t)number));
    }
    return HR_OK;
}

/* A broken tag that no pixel depends on is left out. */
static hr_status leave_out(hr_status status) {
    return status == HR_ERR_METADATA || status == HR_ERR_OVERFLOW ? HR_OK : status;
}

/* Where the base lies, cut into as many pixels as this image has. */
static hr_status add_place(const hr__tiff_image *base, bool is_overview,
                           const hr__tiff_layout *layout, json_object *attributes,
                           hr_error *err) {
    uint64_t width, height;
    HR__TRY(hr__tiff_uint(base->file, &base->ifd, HR__TIFF_WIDTH, 0, &width, err));
    HR__TRY(hr__tiff_uint(base->file, &base->ifd, HR__TIFF_LENGTH, 0, &height, err));
    const double pixel[2] = {(double)width / (double)layout->width,
                             (double)height / (double)layout->height};
    return hr__tiff_geo(base->file, &base->ifd, pixel, is_overview, attributes, err);
}

typedef hr_status add_tag(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                          const char *name, json_object *attributes, hr_error *err);

static const struct {
    const char *name;
    add_tag *add;
    hr__tiff_tag tag;
    bool is_own; /* an overview has its own, not that of its base */
} shown[] = {
    {"extra_samples", add_uints, HR__TIFF_EXTRA_SAMPLES, true},
    {"color_map", add_uints, HR__TIFF_COLOR_MAP, true},
    {"document_name", add_text, HR__TIFF_DOCUMENT_NAME, false},
    {"description", add_text, HR__TIFF_DESCRIPTION, false},
    {"software", add_text, HR__TIFF_SOFTWARE, false},
    {"date_time", add_text, HR__TIFF_DATE_TIME, false},
    {"artist", add_text, HR__TIFF_ARTIST, false},
    {"host_computer", add_text, HR__TIFF_HOST_COMPUTER, false},
    {"copyright", add_text, HR__TIFF_COPYRIGHT, false},
    {"x_resolution", add_number, HR__TIFF_X_RESOLUTION, false},
    {"y_resolution", add_number, HR__TIFF_Y_RESOLUTION, false},
    {"resolution_unit", add_uint, HR__TIFF_RESOLUTION_UNIT, false},
    {"min_sample_value", add_uint, HR__TIFF_MIN_SAMPLE_VALUE, false},
    {"max_sample_value", add_uint, HR__TIFF_MAX_SAMPLE_VALUE, false},
};

static hr_status fill(const hr__tiff_image *image, const hr__tiff_image *base,
                      const hr__tiff_layout *layout, json_object *attributes,
                      hr_error *err) {
    uint64_t orientation = 1;
    bool is_overview = base->file != image->file || base->ifd.at != image->ifd.at;
    bool is_rgb = layout->compression == HR__TIFF_JPEG && /* its chroma is undone */
                  layout->photometric == HR__TIFF_YCBCR;
    add_photometric(attributes, is_rgb ? RGB : layout->photometric);
    HR__TRY(leave_out(hr__tiff_uint(image->file, &image->ifd, HR__TIFF_ORIENTATION, 1,
                                    &orientation, err)));
    if (orientation != 1) {
        json_object_object_add(attributes, "orientation",
                               json_object_new_int64((int64_t)orientation));
    }
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        const hr__tiff_image *of = shown[i].is_own ? image : base;
        HR__TRY(leave_out(shown[i].add(of->file, &of->ifd, shown[i].tag, shown[i].name,
                                       attributes, err)));
    }
    HR__TRY(leave_out(add_levels(image, is_overview, layout, attributes, err)));
    HR__TRY(leave_out(add_mask(image, base, layout, attributes, err)));
    HR__TRY(leave_out(hr__tiff_structure(base->file, attributes, err)));
    HR__TRY(leave_out(
        hr__tiff_gdal(base->file, &base->ifd, layout->nsamples, attributes, err)));
    return leave_out(add_place(base, is_overview, layout, attributes, err));
}

hr_status hr__tiff_attributes(const hr__tiff_image *image, const hr__tiff_image *base,
                              const hr__tiff_layout *layout, json_object *nodata,
                              hr__tiff_node *node, hr_error *err) {
    json_object *attributes = json_object_new_object();
    hr_status status = attributes == NULL ? hr__fail_memory(err, 0)
                                          : fill(image, base, layout, attributes, err);
    if (status == HR_OK && nodata != NULL) {
        json_object_object_add(attributes, "_FillValue", json_object_get(nodata));
    }
    if (status == HR_OK) {
        node->attributes_json = hr__arena_strdup(
            image->file->arena,
            json_object_to_json_string_ext(
                attributes, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
        status = node->attributes_json == NULL ? hr__fail_memory(err, 0) : HR_OK;
    }
    json_object_put(attributes);
    return status;
}
