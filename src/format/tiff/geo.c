/* Where an image lies. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "format/tiff/internal.h"

enum {
    RASTER_TYPE = 1025,
    GEODETIC_CRS = 2048,
    PROJECTED_CRS = 3072,
    POINT = 2, /* a raster type: the place of a pixel is that of its centre */
    USER_DEFINED = 32767
};

/* --- keys --- */

typedef struct key_name {
    uint16_t id;
    const char *name;
} key_name;

static const key_name key_names[] = {
    {1024, "GTModelTypeGeoKey"},
    {1025, "GTRasterTypeGeoKey"},
    {1026, "GTCitationGeoKey"},
    {2048, "GeodeticCRSGeoKey"},
    {2049, "GeodeticCitationGeoKey"},
    {2050, "GeodeticDatumGeoKey"},
    {2051, "PrimeMeridianGeoKey"},
    {2052, "GeogLinearUnitsGeoKey"},
    {2053, "GeogLinearUnitSizeGeoKey"},
    {2054, "GeogAngularUnitsGeoKey"},
    {2055, "GeogAngularUnitSizeGeoKey"},
    {2056, "EllipsoidGeoKey"},
    {2057, "EllipsoidSemiMajorAxisGeoKey"},
    {2058, "EllipsoidSemiMinorAxisGeoKey"},
    {2059, "EllipsoidInvFlatteningGeoKey"},
    {2060, "GeogAzimuthUnitsGeoKey"},
    {2061, "PrimeMeridianLongitudeGeoKey"},
    {2062, "GeogTOWGS84GeoKey"},
    {3072, "ProjectedCRSGeoKey"},
    {3073, "ProjectedCitationGeoKey"},
    {3074, "ProjectionGeoKey"},
    {3075, "ProjMethodGeoKey"},
    {3076, "ProjLinearUnitsGeoKey"},
    {3077, "ProjLinearUnitSizeGeoKey"},
    {3078, "ProjStdParallel1GeoKey"},
    {3079, "ProjStdParallel2GeoKey"},
    {3080, "ProjNatOriginLongGeoKey"},
    {3081, "ProjNatOriginLatGeoKey"},
    {3082, "ProjFalseEastingGeoKey"},
    {3083, "ProjFalseNorthingGeoKey"},
    {3084, "ProjFalseOriginLongGeoKey"},
    {3085, "ProjFalseOriginLatGeoKey"},
    {3086, "ProjFalseOriginEastingGeoKey"},
    {3087, "ProjFalseOriginNorthingGeoKey"},
    {3088, "ProjCenterLongGeoKey"},
    {3089, "ProjCenterLatGeoKey"},
    {3090, "ProjCenterEastingGeoKey"},
    {3091, "ProjCenterNorthingGeoKey"},
    {3092, "ProjScaleAtNatOriginGeoKey"},
    {3093, "ProjScaleAtCenterGeoKey"},
    {3094, "ProjAzimuthAngleGeoKey"},
    {3095, "ProjStraightVertPoleLongGeoKey"},
    {3096, "ProjRectifiedGridAngleGeoKey"},
    {4096, "VerticalGeoKey"},
    {4097, "VerticalCitationGeoKey"},
    {4098, "VerticalDatumGeoKey"},
    {4099, "VerticalUnitsGeoKey"},
};

static const char *name_of(uint64_t id, char *number, size_t capacity) {
    for (size_t i = 0; i < sizeof key_names / sizeof key_names[0]; i++) {
        if (key_names[i].id == id) {
            return key_names[i].name;
        }
    }
    (void)snprintf(number, capacity, "%llu", (unsigned long long)id);
    return number;
}

typedef struct keys {
    uint64_t *directory, ndirectory; /* four numbers for a header and for each key */
    double *doubles;
    uint64_t ndoubles;
    char *text;
    uint64_t ntext;
} keys;

/* The value of a key: in the directory, or in one of the two tags beside it. */
static json_object *value_of(const keys *k, const uint64_t *key) {
    uint64_t place = key[1], count = key[2], at = key[3];
    if (place == 0) {
        return json_object_new_int64((int64_t)at);
    }
    if (place == HR__TIFF_GEO_DOUBLES && at < k->ndoubles && count <= k->ndoubles - at) {
        if (count == 1) {
            return hr__tiff_json_number(k->doubles[at]);
        }
        json_object *list = json_object_new_array();
        for (uint64_t i = 0; i < count; i++) {
            json_object_array_add(list, hr__tiff_json_number(k->doubles[at + i]));
        }
        return list;
    }
    if (place == HR__TIFF_GEO_TEXT && at < k->ntext && count <= k->ntext - at) {
        count -= count > 0 && k->text[at + count - 1] == '|'; /* which ends each text */
        return hr__tiff_json_text(k->text + at, count);
    }
    return NULL;
}

/* A key's number, where it has one that is not 0. */
static uint64_t number_of(const keys *k, uint64_t id) {
    for (uint64_t i = 4; i + 4 <= k->ndirectory; i += 4) {
        if (k->directory[i] == id && k->directory[i + 1] == 0) {
            return k->directory[i + 3];
        }
    }
    return 0;
}

static hr_status read_keys(hr__tiff_file *file, const hr__tiff_ifd *ifd, keys *k,
                           hr_error *err) {
    HR__TRY(hr__tiff_uints(file, ifd, HR__TIFF_GEO_KEYS, UINT16_MAX, &k->directory,
                           &k->ndirectory, err));
    HR__TRY(hr__tiff_doubles(file, ifd, HR__TIFF_GEO_DOUBLES, &k->doubles, &k->ndoubles,
                             err));
    HR__TRY(hr__tiff_bytes(file, ifd, HR__TIFF_GEO_TEXT, &k->text, &k->ntext, err));
    uint64_t nkeys = k->ndirectory >= 4 ? k->directory[3] : 0;
    if (nkeys < k->ndirectory / 4) {
        k->ndirectory = 4 * (nkeys + 1);
    }
    return HR_OK;
}

static void add_keys(const keys *k, json_object *attributes) {
    char number[24];
    if (k->ndirectory < 8) {
        return;
    }
    json_object *object = json_object_new_object();
    for (uint64_t i = 4; i + 4 <= k->ndirectory; i += 4) {
        const char *name = name_of(k->directory[i], number, sizeof number);
        json_object_object_add(object, name, value_of(k, k->directory + i));
    }
    json_object_object_add(attributes, "GeoKeys", object);
    uint64_t projected = number_of(k, PROJECTED_CRS);
    uint64_t geodetic = number_of(k, GEODETIC_CRS);
    uint64_t epsg = projected != 0 ? projected : geodetic;
    if (epsg != 0 && epsg != USER_DEFINED) {
        json_object_object_add(attributes, "EPSG", json_object_new_int64((int64_t)epsg));
    }
}

/* --- the transform --- */

typedef struct place_tags {
    double *scale, *points, *matrix;
    uint64_t nscale, npoints, nmatrix;
} place_tags;

/* From pixels to places: x = t[0] + column·t[1] + row·t[2], y = t[3] + column·t[4] +
 * row·t[5], for the corner of the first pixel. */
static bool transform_of(const place_tags *p, bool is_point, double *t) {
    if (p->nmatrix == 16) {
        const double *m = p->matrix;
        const double made[6] = {m[3], m[0], m[1], m[7], m[4], m[5]};
        memcpy(t, made, sizeof made);
    } else if (p->nscale >= 2 && p->npoints == 6) {
        const double *s = p->scale, *q = p->points;
        const double made[6] = {q[3] - q[0] * s[0], s[0], 0,
                                q[4] + q[1] * s[1], 0,    -s[1]};
        memcpy(t, made, sizeof made);
    } else {
        return false;
    }
    if (is_point) {
        t[0] -= 0.5 * t[1] + 0.5 * t[2];
        t[3] -= 0.5 * t[4] + 0.5 * t[5];
    }
    return true;
}

hr_status hr__tiff_geo(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                       const double pixel[2], bool is_overview, json_object *attributes,
                       hr_error *err) {
    keys k = {0};
    place_tags p = {0};
    double *rpc, t[6];
    uint64_t nrpc;
    HR__TRY(read_keys(file, ifd, &k, err));
    HR__TRY(hr__tiff_doubles(file, ifd, HR__TIFF_PIXEL_SCALE, &p.scale, &p.nscale, err));
    HR__TRY(hr__tiff_doubles(file, ifd, HR__TIFF_TIE_POINTS, &p.points, &p.npoints, err));
    HR__TRY(
        hr__tiff_doubles(file, ifd, HR__TIFF_TRANSFORMATION, &p.matrix, &p.nmatrix, err));
    HR__TRY(hr__tiff_doubles(file, ifd, HR__TIFF_RPC, &rpc, &nrpc, err));
    bool is_point = number_of(&k, RASTER_TYPE) == POINT;
    if (transform_of(&p, is_point, t)) {
        t[1] *= pixel[0];
        t[2] *= pixel[1];
        t[4] *= pixel[0];
        t[5] *= pixel[1];
        hr__tiff_json_list(attributes, "GeoTransform", t, 6);
    }
    if (k.ndirectory >= 8) {
        json_object_object_add(attributes, "AREA_OR_POINT",
                               json_object_new_string(is_point ? "Point" : "Area"));
    }
    add_keys(&k, attributes);
    if (is_overview) {
        return HR_OK;
    }
    hr__tiff_json_list(attributes, "ModelPixelScale", p.scale, p.nscale);
    hr__tiff_json_list(attributes, "ModelTiepoint", p.points, p.npoints);
    hr__tiff_json_list(attributes, "ModelTransformation", p.matrix, p.nmatrix);
    hr__tiff_json_list(attributes, "RPC", rpc, nrpc);
    return HR_OK;
}
