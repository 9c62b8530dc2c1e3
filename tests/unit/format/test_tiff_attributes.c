/* What a TIFF says for people: where it lies, and what its numbers mean.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "tiff_opened.h"

enum { ASCII = 2, SHORT = 3, DOUBLE = 12 };
#define COUNT(x) (sizeof(x) / sizeof((x)[0]))
#define NUMBERS(id_, x)                                                                  \
    { .id = id_, .type = DOUBLE, .count = COUNT(x), .values = x }
#define WORDS(id_, x)                                                                    \
    { .id = id_, .type = SHORT, .count = COUNT(x), .values = x }
#define TEXT(id_, x)                                                                     \
    { .id = id_, .type = ASCII, .count = sizeof(x), .values = x }

/* Attributes of a small image with these tags; the caller puts them. */
static json_object *attributes_of(const tiff_extra *extra, size_t n, int64_t nsamples,
                                  const char *nodata) {
    static const uint8_t image[64];
    tiff_spec s = {.width = 3,
                   .height = 2,
                   .nsamples = nsamples,
                   .bits = 16,
                   .nodata = nodata,
                   .extra = extra,
                   .nextra = n};
    tiff_file f;
    tiff_start(&f, true, true);
    tiff_add(&f, &s, image);
    if (open_fragment(&f, NULL) != HR_OK) {
        fail_msg("%s", opened.err.message);
    }
    tiff_free(&f);
    json_object *a = json_tokener_parse(opened.node.attributes_json);
    assert_non_null(a);
    return a;
}

static void assert_member(json_object *object, const char *name, const char *want) {
    json_object *value = NULL;
    bool has = json_object_object_get_ex(object, name, &value);
    const char *got =
        has ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN) : "absent";
    if (strcmp(got, want) != 0) {
        fail_msg("%s is %s, expected %s", name, got, want);
    }
}

static const uint16_t area_keys[] = {1, 1, 0,    4, 1024, 0,    1,    1, 1025, 0,
                                     1, 1, 2048, 0, 1,    4326, 3072, 0, 1,    32633};
static const uint16_t point_keys[] = {
    1, 1, 0, 4, 1025, 0, 1, 2, 2048, 0, 1, 4326, 1026, 34737, 7, 0, 2059, 34736, 1, 1};
static const double scale[] = {0.25, 0.5, 0};
static const double points[] = {2, 4, 0, 100, 50, 0};

static void tie_points_and_scales_make_a_transform(void **state) {
    (void)state;
    const tiff_extra extra[] = {NUMBERS(33550, scale), NUMBERS(33922, points),
                                WORDS(34735, area_keys)};
    json_object *a = attributes_of(extra, COUNT(extra), 1, NULL);
    assert_member(a, "GeoTransform", "[99.5,0.25,0.0,52.0,0.0,-0.5]");
    assert_member(a, "AREA_OR_POINT", "\"Area\"");
    assert_member(a, "EPSG", "32633");
    assert_member(a, "ModelTiepoint", "[2.0,4.0,0.0,100.0,50.0,0.0]");
    assert_member(a, "GeoKeys",
                  "{\"GTModelTypeGeoKey\":1,\"GTRasterTypeGeoKey\":1,"
                  "\"GeodeticCRSGeoKey\":4326,\"ProjectedCRSGeoKey\":32633}");
    json_object_put(a);
}

static void places_of_centres_are_moved_to_corners(void **state) {
    (void)state;
    static const double numbers[] = {1, 298.25};
    const tiff_extra extra[] = {NUMBERS(33550, scale), NUMBERS(33922, points),
                                WORDS(34735, point_keys), TEXT(34737, "WGS 84|rest|"),
                                NUMBERS(34736, numbers)};
    json_object *a = attributes_of(extra, COUNT(extra), 1, NULL);
    assert_member(a, "GeoTransform", "[99.375,0.25,0.0,52.25,0.0,-0.5]");
    assert_member(a, "AREA_OR_POINT", "\"Point\"");
    assert_member(a, "EPSG", "4326");
    json_object *k = NULL;
    assert_true(json_object_object_get_ex(a, "GeoKeys", &k));
    assert_member(k, "GTCitationGeoKey", "\"WGS 84\"");
    assert_member(k, "EllipsoidInvFlatteningGeoKey", "298.25");
    json_object_put(a);
}

static void matrices_may_turn_the_image(void **state) {
    (void)state;
    static const double matrix[16] = {1, 2, 0, 10, 3, 4, 0, 20};
    const tiff_extra extra[] = {NUMBERS(34264, matrix)};
    json_object *a = attributes_of(extra, 1, 1, NULL);
    assert_member(a, "GeoTransform", "[10.0,1.0,2.0,20.0,3.0,4.0]");
    assert_member(a, "AREA_OR_POINT", "absent");
    json_object_put(a);
}

static void many_tie_points_are_shown_and_make_no_transform(void **state) {
    (void)state;
    static const double many[12] = {0, 0, 0, 5, 6, 0, 1, 1, 0, 7, 8, 0};
    const tiff_extra extra[] = {NUMBERS(33550, scale), NUMBERS(33922, many)};
    json_object *a = attributes_of(extra, 2, 1, NULL);
    assert_member(a, "GeoTransform", "absent");
    assert_member(a, "ModelTiepoint",
                  "[0.0,0.0,0.0,5.0,6.0,0.0,1.0,1.0,0.0,7.0,8.0,0.0]");
    json_object_put(a);
}

static void keys_that_point_outside_are_null(void **state) {
    (void)state;
    static const uint16_t keys[] = {1,    1,     0, 5, 1026, 34737, 60000, 0,
                                    2057, 34736, 1, 9, 2058, 34736, 9,     0,
                                    9999, 0,     1, 7, 3072, 1,     1,     1};
    const tiff_extra extra[] = {WORDS(34735, keys), TEXT(34737, "abc")};
    json_object *a = attributes_of(extra, 2, 1, NULL);
    assert_member(a, "GeoKeys",
                  "{\"GTCitationGeoKey\":null,\"EllipsoidSemiMajorAxisGeoKey\":null,"
                  "\"EllipsoidSemiMinorAxisGeoKey\":null,\"9999\":7,"
                  "\"ProjectedCRSGeoKey\":null}");
    assert_member(a, "EPSG", "absent");
    json_object_put(a);
}

static void metadata_of_gdal_are_read(void **state) {
    (void)state;
    static const char xml[] =
        "<GDALMetadata>\n <Item name=\"A &lt;B&gt;\">x &amp; y</Item>"
        "<Item name='OFFSET' sample=\"0\" role='offset'>-5</Item>\n"
        "<Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.25</Item>"
        "<Item name=\"empty\"/></GDALMetadata>";
    const tiff_extra extra[] = {TEXT(42112, xml)};
    json_object *a = attributes_of(extra, 1, 1, NULL);
    assert_member(a, "scale_factor", "0.25");
    assert_member(a, "add_offset", "-5.0");
    assert_member(a, "GDAL_METADATA",
                  "[{\"name\":\"A <B>\",\"value\":\"x & y\"},"
                  "{\"name\":\"OFFSET\",\"sample\":\"0\",\"role\":\"offset\",\"value\":"
                  "\"-5\"},{\"name\":\"SCALE\",\"sample\":\"0\",\"role\":\"scale\","
                  "\"value\":\"0.25\"},{\"name\":\"empty\",\"value\":\"\"}]");
    json_object_put(a);
    a = attributes_of(extra, 1, 2, NULL);
    assert_member(a, "scales", "[0.25,1.0]");
    assert_member(a, "offsets", "[-5.0,0.0]");
    assert_member(a, "scale_factor", "absent");
    json_object_put(a);
}

static void broken_metadata_of_gdal_do_no_harm(void **state) {
    (void)state;
    static const char *const texts[] = {
        "<Item",
        "<Item name=\"",
        "<Item name=\"x",
        "<Item name=\"x\">y",
        "<Item>",
        "<Item sample=\"-1\" role=\"scale\">1</Item>",
        "<Item sample=\"99999999999999999999\" role=\"scale\">1</Item>",
        "<Item sample=\"0\" role=\"scale\">what</Item>",
        "<Item sample=\"0\" role=\"scale\">\"1\"</Item>",
        "&amp",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        const tiff_extra extra[] = {
            {.id = 42112, .type = ASCII, .count = strlen(texts[i]), .values = texts[i]}};
        json_object *a = attributes_of(extra, 1, 1, NULL);
        assert_member(a, "scale_factor", "absent");
        json_object_put(a);
    }
}

static void texts_and_fill_values_are_shown(void **state) {
    (void)state;
    static const uint16_t alpha[] = {2};
    const tiff_extra extra[] = {TEXT(270, "caf\xE9 \"x\""), TEXT(305, "caf\xC3\xA9"),
                                WORDS(338, alpha)};
    json_object *a = attributes_of(extra, 3, 2, "7");
    assert_member(a, "description", "\"café \\\"x\\\"\"");
    assert_member(a, "software", "\"café\"");
    assert_member(a, "extra_samples", "[2]");
    assert_member(a, "_FillValue", "7");
    assert_member(a, "photometric", "\"black is zero\"");
    json_object_put(a);
    a = attributes_of(extra, 3, 2, "70000");
    assert_member(a, "_FillValue", "absent");
    json_object_put(a);
}

static void overviews_lie_where_their_image_does(void **state) {
    (void)state;
    static const uint8_t image[64];
    static const char xml[] = "<Item name=\"S\" sample=\"0\" role=\"scale\">2</Item>";
    const tiff_extra extra[] = {NUMBERS(33550, scale), NUMBERS(33922, points),
                                WORDS(34735, point_keys), TEXT(42112, xml)};
    const tiff_spec s = {.width = 6,
                         .height = 4,
                         .bits = 16,
                         .nodata = "7",
                         .extra = extra,
                         .nextra = COUNT(extra)};
    const tiff_spec small = {.width = 3, .height = 1, .bits = 16, .subfile_type = 1};
    tiff_file f;
    tiff_start(&f, false, false);
    tiff_add(&f, &s, image);
    tiff_add(&f, &small, image);
    assert_int_equal(open_fragment(&f, "level=1"), HR_OK);
    json_object *a = json_tokener_parse(opened.node.attributes_json);
    assert_member(a, "GeoTransform", "[99.375,0.5,0.0,52.25,0.0,-2.0]");
    assert_member(a, "EPSG", "4326");
    assert_member(a, "scale_factor", "2.0");
    assert_member(a, "_FillValue", "7");
    assert_member(a, "ModelTiepoint", "absent");
    json_object_put(a);
    assert_int_equal(open_fragment(&f, "ifd=1"), HR_OK);
    a = json_tokener_parse(opened.node.attributes_json);
    assert_member(a, "GeoTransform", "absent");
    assert_member(a, "_FillValue", "absent");
    json_object_put(a);
    tiff_free(&f);
}

/* Nobody's pixels depend on it. */
static void broken_tags_are_left_out(void **state) {
    (void)state;
    static const uint8_t image[64];
    static const unsigned tags[] = {270, 338, 33922, 34735, 42112};
    static const uint16_t words[] = {1, 2, 3, 4, 5, 6};
    tiff_extra extra[COUNT(tags)];
    for (size_t i = 0; i < COUNT(tags); i++) {
        extra[i] = (tiff_extra)WORDS(tags[i], words);
    }
    const tiff_spec s = {
        .width = 3, .height = 2, .bits = 16, .extra = extra, .nextra = COUNT(tags)};
    tiff_file f;
    tiff_start(&f, false, false);
    tiff_add(&f, &s, image);
    for (size_t i = 0; i < COUNT(tags); i++) {
        tiff_put(&f, tiff_value_at(&f, tags[i]), 4, f.nbytes - 2);
        tiff_put(&f, tiff_entry(&f, tags[i]) + 2, 2, i == 0 || i == 4 ? 2 : 3);
    }
    assert_int_equal(open_fragment(&f, NULL), HR_OK);
    assert_string_equal(opened.node.attributes_json,
                        "{\"photometric\":\"black is zero\"}");
    tiff_free(&f);
}

static int close_all(void **state) {
    (void)state;
    hr__arena_free(&opened.arena);
    return 0;
}

static int open_all(void **state) {
    (void)state;
    hr__arena_init(&opened.arena, &hr__malloc_allocator);
    return 0;
}

static void nodata_are_read_as_c_reads_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"7", "7"},        {" 255 ", "255"},   {"+5", "5"},          {"5.", "5"},
        {"5.0", "5.0"},    {".5e1", "0.5e1"},  {"2.55E2", "2.55e2"}, {"7 metres", "7"},
        {"0.5", "absent"}, {"-1", "absent"},   {"65536", "absent"},  {"nan", "absent"},
        {"", "absent"},    {"none", "absent"}, {"1.#INF", "absent"}, {"1e999", "absent"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_object *a = attributes_of(NULL, 0, 1, cases[i].text);
        assert_member(a, "_FillValue", cases[i].want);
        json_object_put(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodata_are_read_as_c_reads_numbers),
        cmocka_unit_test(tie_points_and_scales_make_a_transform),
        cmocka_unit_test(places_of_centres_are_moved_to_corners),
        cmocka_unit_test(matrices_may_turn_the_image),
        cmocka_unit_test(many_tie_points_are_shown_and_make_no_transform),
        cmocka_unit_test(keys_that_point_outside_are_null),
        cmocka_unit_test(metadata_of_gdal_are_read),
        cmocka_unit_test(broken_metadata_of_gdal_do_no_harm),
        cmocka_unit_test(texts_and_fill_values_are_shown),
        cmocka_unit_test(overviews_lie_where_their_image_does),
        cmocka_unit_test(broken_tags_are_left_out),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
