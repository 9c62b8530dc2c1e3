/* Probing for nodes, and consolidated metadata. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/zarr_docs.h"

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define ZARRAY                                                                           \
    "{\"zarr_format\":2,\"shape\":[1],\"chunks\":[1],\"dtype\":\"|u1\",\"order\":\"C\"," \
    "\"compressor\":null,\"filters\":null,\"fill_value\":1}"
#define ZGROUP "{\"zarr_format\":2}"
#define ARRAY                                                                            \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[1],\"data_type\":\"uint8\","  \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[1]}},"     \
    "\"chunk_key_encoding\":\"default\",\"fill_value\":2,\"codecs\":[\"bytes\"],"        \
    "\"attributes\":{\"from\":\"%s\"}}"
#define GROUP(more) "{\"zarr_format\":3,\"node_type\":\"group\"" more "}"
#define EMPTY                                                                            \
    ",\"consolidated_metadata\":{\"kind\":\"inline\",\"must_understand\":false,"         \
    "\"metadata\":{}}"

static hr_open_options options(hr_consolidated mode, int32_t format) {
    hr_open_options o = HR_OPEN_OPTIONS_INIT;
    o.consolidated = mode;
    o.zarr_format = format;
    return o;
}

static void v3_is_looked_for_first(void **state) {
    (void)state;
    const zarr_doc docs[] = {{"x/zarr.json", GROUP("")},  {"x/.zarray", ZARRAY},
                             {"x/.zgroup", ZGROUP},       {"g/.zgroup", ZGROUP},
                             {"g/.zattrs", "{\"a\": 1}"}, {NULL, NULL}};
    zarr_opened o;
    hr_open_options v2 = options(HR_CONSOLIDATED_AUTO, 2);
    hr_open_options v3 = options(HR_CONSOLIDATED_AUTO, 3);
    zarr_open_at(&o, docs, "x", NULL, NULL);
    zarr_assert_ok(&o);
    assert_int_equal(o.node.format, 3);
    assert_int_equal(o.node.kind, HR_NODE_GROUP);
    assert_int_equal(o.ngets, 1);
    zarr_close(&o);
    zarr_open_at(&o, docs, "x", &v2, NULL);
    zarr_assert_ok(&o);
    assert_int_equal(o.node.format, 2);
    assert_int_equal(o.node.kind, HR_NODE_ARRAY);
    zarr_close(&o);
    zarr_open_at(&o, docs, "g", NULL, NULL);
    zarr_assert_ok(&o);
    assert_int_equal(o.node.format, 2);
    assert_int_equal(o.node.kind, HR_NODE_GROUP);
    assert_string_equal(o.node.attributes_json, "{\"a\":1}");
    zarr_close(&o);
    zarr_open_at(&o, docs, "g", &v3, NULL);
    assert_int_equal(o.ngets, 1);
    zarr_assert_fails(&o, HR_ERR_NOT_FOUND, "no Zarr v3 array or group at \"g\"");
    zarr_open_at(&o, docs, "", NULL, NULL);
    assert_int_equal(o.ngets, 3);
    zarr_assert_fails(&o, HR_ERR_NOT_FOUND, "no Zarr array or group is here");
    hr_open_options v4 = options(HR_CONSOLIDATED_AUTO, 4);
    zarr_open_at(&o, docs, "g", &v4, NULL);
    zarr_assert_fails(&o, HR_ERR_ARGUMENT, "zarr_format is 4");
}

static hr_status fail_io(void *user, const char *key, hr__arena *arena, char **text,
                         size_t *nbytes, hr_error *err) {
    (void)user, (void)arena, (void)text, (void)nbytes;
    return hr__fail(err, HR_ERR_IO, "cannot read %s", key);
}

static void failures_of_the_source_end_the_search(void **state) {
    (void)state;
    hr__doc_source source = {.get = fail_io};
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr__zarr_node node;
    hr_node_kind kind;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__zarr_open(&source, "a", NULL, NULL, &arena, &node, &err),
                     HR_ERR_IO);
    assert_string_equal(err.message, "cannot read a/zarr.json");
    assert_int_equal(hr__zarr_probe_kind(&source, "a", &arena, &kind, &err), HR_ERR_IO);
    hr__arena_free(&arena);
}

static void kinds_are_probed(void **state) {
    (void)state;
    char array[1024];
    (void)snprintf(array, sizeof array, ARRAY, "");
    const zarr_doc docs[] = {{"a/zarr.json", array},       {"b/zarr.json", GROUP("")},
                             {"c/.zarray", ZARRAY},        {"d/.zgroup", ZGROUP},
                             {"e/zarr.json", "{\"x\":1}"}, {NULL, NULL}};
    static const struct {
        const char *path;
        hr_status status;
        hr_node_kind kind;
    } rows[] = {
        {"a", HR_OK, HR_NODE_ARRAY}, {"b", HR_OK, HR_NODE_GROUP},
        {"c", HR_OK, HR_NODE_ARRAY}, {"d", HR_OK, HR_NODE_GROUP},
        {"e", HR_ERR_METADATA, 0},   {"f", HR_ERR_NOT_FOUND, 0},
    };
    zarr_opened o = {.docs = docs};
    hr__arena_init(&o.arena, &hr__malloc_allocator);
    hr__doc_source source = zarr_source(&o);
    for (size_t i = 0; i < COUNT(rows); i++) {
        hr_node_kind kind = 0;
        hr_error err = HR_ERROR_INIT;
        assert_int_equal(
            hr__zarr_probe_kind(&source, rows[i].path, &o.arena, &kind, &err),
            rows[i].status);
        assert_int_equal(err.status, rows[i].status);
        assert_int_equal(kind, rows[i].kind);
    }
    hr__arena_free(&o.arena);
}

static void check_list(const hr__zarr_node *node, bool recursive, const char *expected) {
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    hr_member *members;
    size_t n;
    hr_error err = HR_ERROR_INIT;
    char got[256] = "";
    assert_int_equal(
        hr__zarr_consolidated_list(node, recursive, &arena, &members, &n, &err), HR_OK);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s%s",
                       i > 0 ? " " : "", members[i].path,
                       members[i].kind == HR_NODE_GROUP ? "/" : "");
    }
    assert_string_equal(got, expected);
    hr__arena_free(&arena);
}

/* A store whose root holds consolidated metadata of g, g/a, g-b and g/h/c; the store has
 * a node `new` besides, and other attributes in g/a. */
static const zarr_doc *v3_store(void) {
    static char stale[1024];
    static char fresh[1024];
    static char root[8192];
    static zarr_doc docs[] = {{"zarr.json", root},
                              {"new/zarr.json", fresh},
                              {"g/a/zarr.json", fresh},
                              {"g/zarr.json", GROUP(EMPTY)},
                              {"g/h/zarr.json", GROUP(",\"consolidated_metadata\":null")},
                              {NULL, NULL}};
    (void)snprintf(stale, sizeof stale, ARRAY, "consolidated");
    (void)snprintf(fresh, sizeof fresh, ARRAY, "store");
    (void)snprintf(root, sizeof root,
                   GROUP(",\"attributes\":{\"r\":1},\"consolidated_metadata\":{"
                         "\"kind\":\"inline\",\"must_understand\":false,\"metadata\":{"
                         "\"g\":%s,\"g/h/c\":%s,\"g-b\":%s,\"g/a\":%s,\"g/h\":%s}}"),
                   GROUP(EMPTY), stale, stale, stale, GROUP(EMPTY));
    return docs;
}

static void v3_consolidated_metadata_serves_the_members(void **state) {
    (void)state;
    const zarr_doc *docs = v3_store();
    zarr_opened root;
    zarr_opened o;
    zarr_open_at(&root, docs, "", NULL, NULL);
    zarr_assert_ok(&root);
    assert_non_null(root.node.consolidated);
    assert_string_equal(root.node.attributes_json, "{\"r\":1}");
    check_list(&root.node, false, "g/ g-b");
    check_list(&root.node, true, "g/ g-b g/a g/h/ g/h/c");

    zarr_open_at(&o, docs, "g/a", NULL, root.node.consolidated);
    zarr_assert_ok(&o);
    assert_int_equal(o.ngets, 0);
    assert_string_equal(o.node.attributes_json, "{\"from\":\"consolidated\"}");
    assert_ptr_equal(o.node.consolidated, root.node.consolidated);
    zarr_close(&o);

    /* what the root has is handed down; the group's own empty one means nothing */
    zarr_open_at(&o, docs, "g", NULL, root.node.consolidated);
    zarr_assert_ok(&o);
    assert_int_equal(o.ngets, 0);
    assert_ptr_equal(o.node.consolidated, root.node.consolidated);
    check_list(&o.node, false, "a h/");
    check_list(&o.node, true, "a h/ h/c");
    zarr_close(&o);
    zarr_close(&root);

    zarr_open_at(&o, docs, "g", NULL, NULL);
    zarr_assert_ok(&o);
    assert_null(o.node.consolidated);
    zarr_close(&o);
    zarr_open_at(&o, docs, "g/h", NULL, NULL);
    zarr_assert_ok(&o);
    assert_null(o.node.consolidated);
    zarr_close(&o);
}

static void modes_say_where_metadata_may_come_from(void **state) {
    (void)state;
    const zarr_doc *docs = v3_store();
    hr_open_options never = options(HR_CONSOLIDATED_NEVER, 0);
    hr_open_options must = options(HR_CONSOLIDATED_MUST, 0);
    hr_open_options v2 = options(HR_CONSOLIDATED_MUST, 2);
    zarr_opened root;
    zarr_opened o;
    zarr_open_at(&o, docs, "", &never, NULL);
    zarr_assert_ok(&o);
    assert_null(o.node.consolidated);
    zarr_close(&o);
    zarr_open_at(&root, docs, "", &must, NULL);
    zarr_assert_ok(&root);
    const hr__consolidated *c = root.node.consolidated;
    zarr_open_at(&o, docs, "g/a", &never, c);
    zarr_assert_ok(&o);
    assert_string_equal(o.node.attributes_json, "{\"from\":\"store\"}");
    zarr_close(&o);
    zarr_open_at(&o, docs, "new", NULL, c); /* it is younger than the snapshot */
    zarr_assert_ok(&o);
    assert_null(o.node.consolidated);
    zarr_close(&o);
    zarr_open_at(&o, docs, "new", &must, c);
    assert_int_equal(o.ngets, 0);
    zarr_assert_fails(&o, HR_ERR_NOT_FOUND, "\"new\" is not in the consolidated");
    zarr_open_at(&o, docs, "new", &must, NULL);
    zarr_assert_fails(&o, HR_ERR_METADATA, "has no consolidated metadata");
    zarr_open_at(&o, docs, "g/h", &must, NULL);
    zarr_assert_fails(&o, HR_ERR_METADATA, "has no consolidated metadata");
    zarr_open_at(&o, docs, "g/a", &v2, c);
    zarr_assert_fails(&o, HR_ERR_NOT_FOUND, "no Zarr v2");
    zarr_open_at(&o, docs, "g/missing", NULL, c);
    zarr_assert_fails(&o, HR_ERR_NOT_FOUND, "\"g/missing\"");
    zarr_close(&root);
}

#define ZMETADATA                                                                        \
    "{\"zarr_consolidated_format\":1,\"metadata\":{\".zgroup\":" ZGROUP                  \
    ",\".zattrs\":{},\"a/.zarray\":" ZARRAY ",\"a/.zattrs\":{\"k\":1},"                  \
    "\"b/.zgroup\":" ZGROUP ",\"b/c/.zarray\":" ZARRAY ",\"b/c/0\":{},"                  \
    "\"implicit/d/.zgroup\":" ZGROUP ",\"b-e/.zgroup\":" ZGROUP                          \
    ",\"lost/.zattrs\":{}},\"record_size\":9}"

static void v2_consolidated_metadata_serves_the_members(void **state) {
    (void)state;
    const zarr_doc docs[] = {{"s/.zgroup", ZGROUP},
                             {"s/.zattrs", "{\"own\":1}"},
                             {"s/.zmetadata", ZMETADATA},
                             {"s/b/c/.zarray", "not read"},
                             {"t/.zgroup", ZGROUP},
                             {"u/.zarray", ZARRAY},
                             {NULL, NULL}};
    hr_open_options must = options(HR_CONSOLIDATED_MUST, 0);
    hr_open_options never = options(HR_CONSOLIDATED_NEVER, 2);
    zarr_opened root;
    zarr_opened o;
    zarr_open_at(&root, docs, "s", &must, NULL);
    zarr_assert_ok(&root);
    assert_string_equal(root.node.attributes_json, "{\"own\":1}");
    check_list(&root.node, false, "a b/ b-e/");
    check_list(&root.node, true, "a b/ b-e/ b/c implicit/d/");
    const hr__consolidated *c = root.node.consolidated;
    zarr_open_at(&o, docs, "s/a", NULL, c);
    zarr_assert_ok(&o);
    assert_int_equal(o.ngets, 0);
    assert_int_equal(o.node.format, 2);
    assert_string_equal(o.node.attributes_json, "{\"k\":1}");
    zarr_close(&o);
    zarr_open_at(&o, docs, "s/b/c", NULL, c);
    zarr_assert_ok(&o);
    assert_string_equal(o.node.attributes_json, "{}");
    zarr_close(&o);
    zarr_open_at(&o, docs, "s/b", NULL, c);
    zarr_assert_ok(&o);
    assert_int_equal(o.node.kind, HR_NODE_GROUP);
    check_list(&o.node, true, "c");
    zarr_close(&o);
    zarr_open_at(&o, docs, "s/b/c", NULL, NULL);
    zarr_assert_fails(&o, HR_ERR_METADATA, "JSON");
    zarr_open_at(&o, docs, "sx", NULL, c); /* no part of s, though it begins like it */
    zarr_assert_fails(&o, HR_ERR_NOT_FOUND, "\"sx\"");
    zarr_close(&root);
    zarr_open_at(&o, docs, "s", &never, NULL);
    zarr_assert_ok(&o);
    assert_null(o.node.consolidated);
    zarr_close(&o);
    zarr_open_at(&o, docs, "t", &must, NULL);
    zarr_assert_fails(&o, HR_ERR_METADATA, "\"t\" has no consolidated metadata");
    zarr_open_at(&o, docs, "u", &must, NULL);
    zarr_assert_fails(&o, HR_ERR_METADATA, "\"u\" has no consolidated metadata");
    zarr_open_at(&o, docs, "t", NULL, NULL);
    zarr_assert_ok(&o);
    assert_null(o.node.consolidated);
    zarr_close(&o);
}

static void wrong_consolidated_metadata_is_named(void **state) {
    (void)state;
#define META(json) "{\"zarr_consolidated_format\":1,\"metadata\":" json "}"
    static const struct {
        const char *text, *message;
    } v2[] = {
        {"[]", "zarr_consolidated_format"},
        {"{\"zarr_consolidated_format\":2,\"metadata\":{}}", "is 2, expected 1"},
        {META("[]"), "metadata of the consolidated metadata is []"},
        {META("null"), "missing"},
        {META("{\"a/.zarray\":7}"), "\"a/.zarray\" is 7"},
        {META("{\"a//.zarray\":{}}"), "relative path"},
        {META("{\"../.zarray\":{}}"), "relative path"},
        {META("{\"a/./b/.zgroup\":{}}"), "relative path"},
    };
    zarr_opened o;
    for (size_t i = 0; i < COUNT(v2); i++) {
        const zarr_doc docs[] = {
            {".zgroup", ZGROUP}, {".zmetadata", v2[i].text}, {NULL, NULL}};
        zarr_open_at(&o, docs, "", NULL, NULL);
        assert_string_equal(o.err.key, ".zmetadata");
        zarr_assert_fails(&o, HR_ERR_METADATA, v2[i].message);
    }
    static const struct {
        const char *json, *message;
        hr_status status;
    } v3[] = {
        {"7", "missing", HR_ERR_METADATA},
        {"{\"metadata\":[]}", "is []", HR_ERR_METADATA},
        {"{\"kind\":\"file\",\"metadata\":{\"a\":{}}}", "\"file\"", HR_ERR_UNSUPPORTED},
        {"{\"metadata\":{\"a\":7}}", "is 7", HR_ERR_METADATA},
        {"{\"metadata\":{\"a\":{\"zarr_format\":3}}}", "node_type", HR_ERR_METADATA},
        {"{\"metadata\":{\"a\":{\"zarr_format\":2}}}", "zarr_format is 2",
         HR_ERR_METADATA},
        {"{\"metadata\":{\"a/../b\":" GROUP("") "}}", "relative path", HR_ERR_METADATA},
        {"{\"metadata\":{\"a/\":" GROUP("") "}}", "relative path", HR_ERR_METADATA},
    };
    for (size_t i = 0; i < COUNT(v3); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, GROUP(",\"consolidated_metadata\":%s"),
                       v3[i].json);
        zarr_open_text(&o, "zarr.json", text);
        zarr_assert_fails(&o, v3[i].status, v3[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v3_is_looked_for_first),
        cmocka_unit_test(failures_of_the_source_end_the_search),
        cmocka_unit_test(kinds_are_probed),
        cmocka_unit_test(v3_consolidated_metadata_serves_the_members),
        cmocka_unit_test(modes_say_where_metadata_may_come_from),
        cmocka_unit_test(v2_consolidated_metadata_serves_the_members),
        cmocka_unit_test(wrong_consolidated_metadata_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
