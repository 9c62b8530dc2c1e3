/* Rectilinear chunk grids. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/zarr_docs.h"

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define RECTILINEAR(shapes)                                                              \
    "{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\",\"chunk_"          \
    "shapes\":" shapes "}}"

static void check_starts(const hr__grid_axis *g, const int64_t *starts, int64_t n) {
    assert_int_equal(g->nchunks, n);
    assert_non_null(g->starts);
    for (int64_t i = 0; i <= n; i++) {
        assert_int_equal(g->starts[i], starts[i]);
    }
}

static void the_forms_of_the_specification_are_read(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "shape", "[6,6,6,6,6]", "chunk_grid",
            RECTILINEAR("[4,[1,2,3],[[4,2]],[[1,3],3],[4,4,4]]"));
    zarr_assert_ok(&o);
    const hr__array *a = &o.node.array;
    assert_true(o.node.is_rectilinear);
    assert_int_equal(a->nlevels, 0);
    assert_int_equal(a->outer[0].chunk, 4);
    assert_int_equal(a->outer[0].nchunks, 2);
    assert_null(a->outer[0].starts);
    check_starts(&a->outer[1], (const int64_t[]){0, 1, 3, 6}, 3);
    assert_int_equal(a->outer[1].chunk, 3);
    assert_null(a->outer[2].starts); /* equal lengths make a regular axis */
    assert_int_equal(a->outer[2].chunk, 4);
    assert_int_equal(a->outer[2].nchunks, 2);
    check_starts(&a->outer[3], (const int64_t[]){0, 1, 2, 3, 6}, 4);
    assert_int_equal(a->outer[4].nchunks, 2); /* the third holds nothing */
    assert_ptr_equal(a->grid[3].starts, a->outer[3].starts);
    assert_int_equal(o.node.chunk_shape[1], 3);
    zarr_close(&o);
}

static void edges_may_overflow_the_array(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "shape", "[10]", "chunk_grid", RECTILINEAR("[[3,[6,9],100]]"));
    zarr_assert_ok(&o);
    check_starts(&o.node.array.outer[0], (const int64_t[]){0, 3, 9, 15}, 3);
    assert_int_equal(o.node.array.outer[0].chunk, 6);
    zarr_close(&o);
    ZARR_V3(&o, "shape", "[10]", "chunk_grid", RECTILINEAR("[[3,100]]"));
    zarr_assert_ok(&o);
    check_starts(&o.node.array.outer[0], (const int64_t[]){0, 3, 103}, 2);
    zarr_close(&o);
    ZARR_V3(&o, "shape", "[0]", "chunk_grid", RECTILINEAR("[[3,5]]"));
    zarr_assert_ok(&o);
    assert_int_equal(o.node.array.outer[0].nchunks, 0);
    assert_int_equal(o.node.array.outer[0].chunk, 3);
    zarr_close(&o);
}

static void a_run_of_equal_chunks_costs_nothing(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "shape", "[4611686018427387904]", "chunk_grid",
            RECTILINEAR("[[[2,9223372036854775807]]]"));
    zarr_assert_ok(&o);
    assert_false(o.node.is_rectilinear);
    assert_null(o.node.array.chain_for);
    assert_int_equal(o.node.array.outer[0].nchunks, (int64_t)1 << 61);
    zarr_close(&o);
    ZARR_V3(&o, "shape", "[4611686018427387904]", "chunk_grid",
            RECTILINEAR("[[1,[2,9223372036854775807]]]"));
    zarr_assert_fails(&o, HR_ERR_UNSUPPORTED, "at most 1048576");
}

static void wrong_edges_are_named(void **state) {
    (void)state;
    static const struct {
        const char *grid, *message;
        hr_status status;
    } rows[] = {
        {RECTILINEAR("[[3,6]]"), "covers 9 elements, expected at least 10",
         HR_ERR_METADATA},
        {RECTILINEAR("[[]]"), "covers 0 elements", HR_ERR_METADATA},
        {RECTILINEAR("[[0,10]]"), "chunk_shapes[0][0] is 0", HR_ERR_METADATA},
        {RECTILINEAR("[[10,0]]"), "chunk_shapes[0][1] is 0", HR_ERR_METADATA},
        {RECTILINEAR("[[-1,10]]"), "chunk_shapes[0][0] is -1", HR_ERR_METADATA},
        {RECTILINEAR("[[2.5,10]]"), "chunk_shapes[0][0] is 2.5", HR_ERR_METADATA},
        {RECTILINEAR("[[[5,0]]]"), "chunk_shapes[0][0] is [5,0]", HR_ERR_METADATA},
        {RECTILINEAR("[[[5,2,1]]]"), "chunk_shapes[0][0] is [5,2,1]", HR_ERR_METADATA},
        {RECTILINEAR("[[[[5],2]]]"), "chunk_shapes[0][0]", HR_ERR_METADATA},
        {RECTILINEAR("[0]"), "chunk_shapes[0] is 0", HR_ERR_METADATA},
        {RECTILINEAR("[\"4\"]"), "chunk_shapes[0] is \"4\"", HR_ERR_METADATA},
        {RECTILINEAR("[4,4]"), "expected a list of 1", HR_ERR_METADATA},
        {RECTILINEAR("4"), "chunk_shapes is 4", HR_ERR_METADATA},
        {RECTILINEAR("[[3,9223372036854775807]]"), "beyond", HR_ERR_METADATA},
        {"{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"x\"}}", "kind",
         HR_ERR_UNSUPPORTED},
        {"{\"name\":\"rectilinear\",\"configuration\":{}}", "kind", HR_ERR_METADATA},
        {"\"rectilinear\"", "no configuration", HR_ERR_METADATA},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        zarr_opened o;
        ZARR_V3(&o, "chunk_grid", rows[i].grid);
        zarr_assert_fails(&o, rows[i].status, rows[i].message);
    }
}

static void each_shape_has_its_own_chain(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "shape", "[6,5]", "chunk_grid", RECTILINEAR("[[1,2,3],2]"), "codecs",
            "[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}},"
            "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}},\"crc32c\"]",
            "fill_value", "7");
    zarr_assert_ok(&o);
    const hr__array *a = &o.node.array;
    hr_error err = HR_ERROR_INIT;
    const hr__chain *one;
    const hr__chain *again;
    const hr__chain *two;
    assert_non_null(a->chain_for);
    assert_int_equal(a->chain.decoded.nbytes, 24); /* the longest */
    assert_int_equal(a->chain_for(a, (const int64_t[]){1, 2}, &one, &err), HR_OK);
    assert_int_equal(a->chain_for(a, (const int64_t[]){3, 2}, &two, &err), HR_OK);
    assert_int_equal(a->chain_for(a, (const int64_t[]){1, 2}, &again, &err), HR_OK);
    assert_ptr_equal(one, again);
    assert_ptr_not_equal(one, two);
    assert_int_equal(one->decoded.nbytes, 8);
    assert_int_equal(one->encoded.nbytes, 12);
    assert_int_equal(one->decoded.shape[0], 2);
    assert_int_equal(one->decoded.shape[1], 1);
    assert_int_equal(one->decoded.dtype.byte_order, HR_BIG);
    assert_memory_equal(one->decoded.fill, "\0\0\0\7", 4);
    assert_int_equal(two->decoded.shape[1], 3);
    zarr_close(&o);
}

static void *ask_for_chains(void *user) {
    const hr__array *a = user;
    for (int64_t i = 0; i < 300; i++) {
        const int64_t shape[] = {1 + i % 3};
        const hr__chain *chain;
        if (a->chain_for(a, shape, &chain, NULL) != HR_OK ||
            chain->decoded.shape[0] != shape[0]) {
            return user;
        }
    }
    return NULL;
}

static void chains_are_made_by_many_threads(void **state) {
    (void)state;
    zarr_opened o;
    ZARR_V3(&o, "shape", "[6]", "chunk_grid", RECTILINEAR("[[1,2,3]]"));
    zarr_assert_ok(&o);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_chains, &o.node.array),
                         0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    zarr_close(&o);
}

static void many_shapes_keep_theirs(void **state) {
    (void)state;
    enum { N = 5000 };
    static const hr__chain *chains[N];
    zarr_opened o;
    ZARR_V3(&o, "shape", "[6]", "chunk_grid", RECTILINEAR("[[1,2,3]]"));
    zarr_assert_ok(&o);
    const hr__array *a = &o.node.array;
    for (int64_t i = 0; i < 2 * N; i++) {
        const int64_t shape[] = {1 + i % N};
        const hr__chain *chain;
        assert_int_equal(a->chain_for(a, shape, &chain, NULL), HR_OK);
        assert_int_equal(chain->decoded.shape[0], shape[0]);
        if (i < N) {
            chains[i] = chain;
        }
        assert_ptr_equal(chain, chains[i % N]);
    }
    zarr_close(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_forms_of_the_specification_are_read),
        cmocka_unit_test(edges_may_overflow_the_array),
        cmocka_unit_test(a_run_of_equal_chunks_costs_nothing),
        cmocka_unit_test(wrong_edges_are_named),
        cmocka_unit_test(each_shape_has_its_own_chain),
        cmocka_unit_test(chains_are_made_by_many_threads),
        cmocka_unit_test(many_shapes_keep_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
