/* Where an image lies, as text. SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <string.h>

#include <json-c/json.h>

#include "report.h"

#define LABEL "  %-11s "

static json_object *member(json_object *object, const char *name) {
    json_object *value = NULL;
    (void)json_object_object_get_ex(object, name, &value);
    return value;
}

/* The numbers of a list, at most so many; returns how many there are in all. */
static size_t numbers(json_object *list, double *out, size_t most) {
    size_t n =
        json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < n && i < most; i++) {
        out[i] = json_object_get_double(json_object_array_get_idx(list, i));
    }
    return n;
}

static int64_t length_of(const hr_node_info *info, const char *axis) {
    for (int32_t k = 0; k < info->ndim && info->dimension_names != NULL; k++) {
        const char *name = info->dimension_names[k];
        if (name != NULL && strcmp(name, axis) == 0) {
            return info->shape[k];
        }
    }
    return 0;
}

static void print_numbers(const char *label, const double *values, size_t n) {
    printf(LABEL, label);
    for (size_t i = 0; i < n; i++) {
        printf("%s%.15g", i == 0 ? "(" : ", ", values[i]);
    }
    puts(")");
}

static void print_reference(json_object *attributes) {
    static const char *const citations[] = {"ProjectedCitationGeoKey", "GTCitationGeoKey",
                                            "GeodeticCitationGeoKey"};
    json_object *epsg = member(attributes, "EPSG"), *name = NULL;
    json_object *keys = member(attributes, "GeoKeys");
    for (size_t i = 0; i < sizeof citations / sizeof citations[0] && name == NULL; i++) {
        name = member(keys, citations[i]);
    }
    if (epsg == NULL && name == NULL) {
        return;
    }
    printf(LABEL, "reference");
    if (epsg != NULL) {
        printf("EPSG:%s%s", json_object_get_string(epsg), name != NULL ? ", " : "");
    }
    if (name != NULL) {
        cli_put_text(stdout, json_object_get_string(name));
    }
    puts("");
}

static void print_corners(const double t[6], double width, double height) {
    const struct {
        const char *name;
        double x, y;
    } corners[] = {{"upper left", 0, 0},
                   {"lower left", 0, height},
                   {"upper right", width, 0},
                   {"lower right", width, height},
                   {"center", width / 2, height / 2}};
    for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
        const double x = corners[i].x, y = corners[i].y;
        const double place[2] = {t[0] + x * t[1] + y * t[2], t[3] + x * t[4] + y * t[5]};
        print_numbers(corners[i].name, place, 2);
    }
}

static void print_transform(const hr_node_info *info, json_object *attributes) {
    double t[6];
    if (numbers(member(attributes, "GeoTransform"), t, 6) != 6) {
        return;
    }
    if (t[2] != 0 || t[4] != 0) {
        print_numbers("transform", t, 6);
    } else {
        const double origin[2] = {t[0], t[3]}, pixel[2] = {t[1], t[5]};
        print_numbers("origin", origin, 2);
        print_numbers("pixel size", pixel, 2);
    }
    print_corners(t, (double)length_of(info, "x"), (double)length_of(info, "y"));
}

/* Tie points beyond the one that makes a transform. */
static void print_points(json_object *attributes) {
    json_object *list = member(attributes, "ModelTiepoint");
    size_t n = numbers(list, NULL, 0) / 6;
    for (size_t i = 0; i < n && n > 1; i++) {
        double p[6];
        char label[32];
        for (size_t k = 0; k < 6; k++) {
            p[k] = json_object_get_double(json_object_array_get_idx(list, 6 * i + k));
        }
        (void)snprintf(label, sizeof label, "GCP[%zu]", i);
        printf(LABEL "(%.15g, %.15g) -> (%.15g, %.15g, %.15g)\n", label, p[0], p[1], p[3],
               p[4], p[5]);
    }
}

static void print_polynomials(json_object *attributes) {
    static const struct {
        const char *name;
        size_t n;
    } parts[] = {{"ERR_BIAS", 1},        {"ERR_RAND", 1},        {"LINE_OFF", 1},
                 {"SAMP_OFF", 1},        {"LAT_OFF", 1},         {"LONG_OFF", 1},
                 {"HEIGHT_OFF", 1},      {"LINE_SCALE", 1},      {"SAMP_SCALE", 1},
                 {"LAT_SCALE", 1},       {"LONG_SCALE", 1},      {"HEIGHT_SCALE", 1},
                 {"LINE_NUM_COEFF", 20}, {"LINE_DEN_COEFF", 20}, {"SAMP_NUM_COEFF", 20},
                 {"SAMP_DEN_COEFF", 20}};
    enum { NVALUES = 92 };
    double values[NVALUES], *at = values;
    if (numbers(member(attributes, "RPC"), values, NVALUES) != NVALUES) {
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        printf(LABEL "%s", i == 0 ? "RPC" : "", parts[i].name);
        for (size_t k = 0; k < parts[i].n; k++) {
            printf("%c%.15g", k == 0 ? '=' : ' ', *at++);
        }
        puts("");
    }
}

static void print_overviews(json_object *attributes) {
    json_object *levels = member(attributes, "levels");
    size_t n = numbers(levels, NULL, 0);
    for (size_t i = 1; i < n; i++) {
        double size[2] = {0};
        (void)numbers(json_object_array_get_idx(levels, i), size, 2);
        if (i == 1) {
            printf(LABEL, "overviews");
        }
        printf("%.0fx%.0f%s", size[1], size[0], i + 1 < n ? ", " : "\n");
    }
}

void cli_place_print(const hr_node_info *info) {
    if (strstr(info->format, "tiff") == NULL) {
        return;
    }
    json_object *attributes = json_tokener_parse(info->attributes_json);
    print_reference(attributes);
    print_transform(info, attributes);
    print_points(attributes);
    print_polynomials(attributes);
    print_overviews(attributes);
    (void)json_object_put(attributes);
}
