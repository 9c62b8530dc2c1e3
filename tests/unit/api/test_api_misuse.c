/* What no caller should do, and many will. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture.h"
#include "probe.h"

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_node *group, *array;
    hr_error err;
} world;

static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 3;
    w->err = HR_ERROR_INIT;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    const char *group = "{\"zarr_format\":3,\"node_type\":\"group\"}";
    put(w->store, "zarr.json", group, strlen(group));
    put_plain_array(w->store, "a");
    assert_int_equal(hr_open_store(w->store, "", NULL, &w->group, &w->err), HR_OK);
    assert_int_equal(hr_node_open(w->group, "a", &w->array, &w->err), HR_OK);
    *state = w;
    return 0;
}

static int end_world(void **state) {
    world *w = *state;
    hr_node_unref(w->array);
    hr_node_unref(w->group);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    free(w);
    return 0;
}

static const int64_t whole[] = {NROWS, NCOLS};

static hr_status submit(world *w, const hr_request *r, size_t n, hr_batch **b) {
    return hr_read_submit(w->context, r, n, NULL, NULL, b, &w->err);
}

#define REFUSED(call) assert_int_equal(call, HR_ERR_ARGUMENT)

static void null_is_refused_or_harmless(void **state) {
    world *w = *state;
    hr_error *err = &w->err;
    hr_store *store;
    hr_node *node;
    hr_member_list *list;
    hr_batch *batch;
    hr_dtype dtype;
    hr_device device;
    int32_t ndim;
    int64_t n;
    int64_t shape[HR_MAX_NDIM];
    hr_selection all = {.kind = HR_SELECT_ALL};
    hr_tensor tensor = {.data = NULL};
    hr_request r = HR_REQUEST_INIT;
    REFUSED(hr_context_create(NULL, NULL, err));
    REFUSED(hr_store_open_directory(NULL, "/", &store, err));
    REFUSED(hr_store_open_directory(w->context, NULL, &store, err));
    REFUSED(hr_store_open_directory(w->context, "/", NULL, NULL));
    REFUSED(hr_store_create_memory(NULL, &store, err));
    REFUSED(hr_store_create_memory(w->context, NULL, err));
    REFUSED(hr_store_set(NULL, "k", "v", 1, err));
    REFUSED(hr_store_set(w->store, NULL, "v", 1, err));
    REFUSED(hr_store_set(w->store, "k", NULL, 1, err));
    REFUSED(hr_open(NULL, "/", NULL, &node, err));
    REFUSED(hr_open(w->context, NULL, NULL, &node, err));
    REFUSED(hr_open(w->context, "/", NULL, NULL, err));
    REFUSED(hr_open_store(NULL, "", NULL, &node, err));
    REFUSED(hr_open_store(w->store, NULL, NULL, &node, err));
    REFUSED(hr_open_store(w->store, "", NULL, NULL, err));
    REFUSED(hr_node_open(NULL, "a", &node, err));
    REFUSED(hr_node_open(w->group, NULL, &node, err));
    REFUSED(hr_node_open(w->group, "a", NULL, err));
    REFUSED(hr_node_open(w->array, "a", &node, err)); /* no group */
    REFUSED(hr_node_describe(NULL, NULL, err));
    REFUSED(hr_node_describe(w->array, NULL, err));
    REFUSED(hr_node_chunk_extent(NULL, 0, 0, &n, &n, err));
    REFUSED(hr_node_chunk_extent(w->array, 0, 0, NULL, &n, err));
    REFUSED(hr_node_chunk_extent(w->array, 0, 0, &n, NULL, err));
    REFUSED(hr_node_list(NULL, 0, &list, err));
    REFUSED(hr_node_list(w->group, 0, NULL, err));
    REFUSED(hr_selection_shape(NULL, &all, &ndim, shape, err));
    REFUSED(hr_selection_shape(w->group, &all, &ndim, shape, err));
    REFUSED(hr_selection_shape(w->array, NULL, &ndim, shape, err));
    REFUSED(hr_selection_shape(w->array, &all, NULL, shape, err));
    REFUSED(hr_selection_shape(w->array, &all, &ndim, NULL, err));
    REFUSED(hr_read_submit(NULL, &r, 1, NULL, NULL, &batch, err));
    REFUSED(hr_read_submit(w->context, NULL, 1, NULL, NULL, &batch, err));
    REFUSED(hr_read_submit(w->context, &r, 1, NULL, NULL, NULL, err));
    REFUSED(hr_read_submit(w->context, &r, 1, NULL, NULL, &batch, err)); /* no array */
    REFUSED(hr_batch_wait(NULL, 0, err));
    REFUSED(hr_batch_wait_on_stream(NULL, NULL, err));
    REFUSED(hr_batch_error(NULL, 0, err));
    REFUSED(hr_batch_get_stats(NULL, NULL, err));
    REFUSED(hr_read(NULL, &all, &tensor, err));
    REFUSED(hr_read(w->array, NULL, NULL, err));
    REFUSED(hr_dtype_parse(NULL, &dtype, err));
    REFUSED(hr_dtype_parse("<i4", NULL, err));
    REFUSED(hr_device_parse(NULL, &device, err));
    REFUSED(hr_device_parse("cpu", NULL, err));
    REFUSED(hr_device_describe((hr_device){0}, NULL, err));
    assert_int_equal(hr_batch_poll(NULL), 1);
    assert_int_equal(hr_member_list_size(NULL), 0);
    assert_null(hr_member_list_get(NULL, 0).path);
    assert_int_equal(hr_codec_list(0, NULL), 0);
    assert_true(hr_dtype_format(NULL, NULL, 0) > 0);
    hr_dtype i4 = r.dst.dtype;
    assert_int_equal(hr_dtype_parse("<i4", &i4, err), HR_OK);
    assert_int_equal(hr_dtype_format(&i4, NULL, 10), 3);
    hr_batch_get_progress(NULL, NULL, NULL);
    hr_batch_cancel(NULL);
    assert_null(hr_batch_ref(NULL));
    assert_null(hr_node_ref(NULL));
    assert_null(hr_store_ref(NULL));
    assert_null(hr_context_ref(NULL));
    hr_batch_unref(NULL);
    hr_node_unref(NULL);
    hr_store_unref(NULL);
    hr_context_unref(NULL);
    hr_member_list_free(NULL);
}

/* Sizes that were never set must not be believed: the record is right before memory that
 * is not there. */
static void absurd_struct_sizes_are_refused(void **state) {
    world *w = *state;
    static const uint32_t sizes[] = {0, 1, 3, 4097, 0x7FFFFFFF, 0xA5A5A5A5, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hr_context *context;
        hr_node *node;
        hr_batch *batch;
        hr_context_options *co = calloc(1, sizeof *co);
        hr_open_options *oo = calloc(1, sizeof *oo);
        hr_read_options *ro = calloc(1, sizeof *ro);
        hr_request *rq = calloc(1, sizeof *rq);
        hr_allocator *a = calloc(1, sizeof *a);
        probe p = {.refuse_from = -1};
        *a = probe_allocator(&p);
        co->struct_size = oo->struct_size = ro->struct_size = rq->struct_size =
            a->struct_size = sizes[i];
        REFUSED(hr_context_create(co, &context, &w->err));
        *co = HR_CONTEXT_OPTIONS_INIT;
        co->allocator = a;
        REFUSED(hr_context_create(co, &context, &w->err));
        REFUSED(hr_open_store(w->store, "a", oo, &node, &w->err));
        REFUSED(hr_read_submit(w->context, NULL, 0, NULL, ro, &batch, &w->err));
        REFUSED(submit(w, rq, 1, &batch));
        free(co);
        free(oo);
        free(ro);
        free(rq);
        free(a);
    }
    int32_t out[NROWS][NCOLS];
    hr_request two[2] = {request(w->array, out, 2, whole),
                         request(w->array, out, 2, whole)};
    two[1].struct_size = UINT32_MAX;
    hr_batch *batch;
    REFUSED(submit(w, two, 2, &batch));
    assert_non_null(strstr(w->err.message, "request 1"));
    hr_error small = {.struct_size = 3};
    REFUSED(hr_read(NULL, NULL, NULL, &small));
    assert_int_equal(small.status, HR_OK); /* too short to be told */
}

static void absurd_destinations_are_refused(void **state) {
    world *w = *state;
    int32_t out[NROWS][NCOLS];
    hr_batch *b = NULL;
    hr_request good = request(w->array, out, 2, whole);
    static const int32_t ndims[] = {-1, INT32_MIN, HR_MAX_NDIM + 1, INT32_MAX};
    for (size_t i = 0; i < sizeof ndims / sizeof *ndims; i++) {
        hr_request r = good;
        r.dst.ndim = ndims[i];
        REFUSED(submit(w, &r, 1, &b));
    }
    static const int64_t lengths[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 62, 0, 11};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int64_t shape[] = {lengths[i], NCOLS};
        hr_request r = good;
        r.dst.shape = shape;
        hr_status s = submit(w, &r, 1, &b);
        assert_true(s == HR_ERR_OVERFLOW || s == HR_ERR_SHAPE);
    }
    static const int64_t strides[] = {INT64_MIN, INT64_MAX, -INT64_MAX, (int64_t)1 << 62};
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        int64_t both[] = {strides[i], 4};
        hr_request r = good;
        r.dst.strides_nbytes = both;
        assert_int_equal(submit(w, &r, 1, &b), HR_ERR_OVERFLOW);
    }
    hr_request r = good;
    r.dst.shape = NULL;
    REFUSED(submit(w, &r, 1, &b));
    r = good;
    r.dst.device.type = 99;
    assert_int_equal(submit(w, &r, 1, &b), HR_ERR_UNSUPPORTED);
    r = good;
    r.array = w->group;
    REFUSED(submit(w, &r, 1, &b));
    assert_null(b);
}

static void absurd_types_are_refused(void **state) {
    world *w = *state;
    uint8_t *out = calloc(NROWS * NCOLS, 64);
    hr_batch *b = NULL;
    static const uint64_t sizes[] = {0, 3, 5, 12, 32, 1 << 20, UINT64_MAX};
    for (unsigned kind = 0; kind < 256; kind++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            hr_request r = request(w->array, out, 2, whole);
            r.dst.dtype = (hr_dtype){.kind = (uint8_t)kind, .itemsize = sizes[i]};
            r.allow_cast = 1;
            hr_status s = submit(w, &r, 1, &b);
            assert_true(s == HR_ERR_DTYPE || s == HR_ERR_ARGUMENT);
        }
    }
    hr_request r = request(w->array, out, 2, whole);
    r.dst.dtype.byte_order = 7;
    REFUSED(submit(w, &r, 1, &b));
    hr_field nameless = {.dtype = r.dst.dtype};
    r.dst.dtype = (hr_dtype){
        .kind = HR_KIND_STRUCT, .itemsize = 4, .fields = &nameless, .nfields = 1};
    REFUSED(submit(w, &r, 1, &b));
    assert_null(b);
    free(out);
}

static void absurd_selections_are_refused(void **state) {
    world *w = *state;
    int32_t ndim;
    int64_t shape[HR_MAX_NDIM];
    static const int64_t far[] = {INT64_MAX, INT64_MIN + 1, -(int64_t)NROWS - 1, NROWS};
    hr_selection s = {.kind = (hr_selection_kind)77};
    REFUSED(hr_selection_shape(w->array, &s, &ndim, shape, &w->err));
    s = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1};
    REFUSED(hr_selection_shape(w->array, &s, &ndim, shape, &w->err));
    s.naxes = -5;
    assert_int_equal(hr_selection_shape(w->array, &s, &ndim, shape, &w->err),
                     HR_ERR_SELECTION);
    s = (hr_selection){.kind = HR_SELECT_MASK};
    REFUSED(hr_selection_shape(w->array, &s, &ndim, shape, &w->err));
    s = (hr_selection){.kind = HR_SELECT_POINTS, .npoints = UINT64_MAX};
    assert_int_equal(hr_selection_shape(w->array, &s, &ndim, shape, &w->err),
                     HR_ERR_OVERFLOW);
    s.npoints = 1;
    REFUSED(hr_selection_shape(w->array, &s, &ndim, shape, &w->err));
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        int64_t at[] = {far[i], 0};
        hr_axis list = {.kind = HR_AXIS_INDICES, .indices = at, .nindices = 1};
        hr_axis one = {.kind = HR_AXIS_INTEGER, .start = far[i]};
        hr_selection bad[] = {{.kind = HR_SELECT_AXES, .naxes = 1, .axes = &list},
                              {.kind = HR_SELECT_AXES, .naxes = 1, .axes = &one},
                              {.kind = HR_SELECT_BLOCKS, .naxes = 1, .axes = &one},
                              {.kind = HR_SELECT_POINTS, .npoints = 1, .points = at}};
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            assert_int_equal(hr_selection_shape(w->array, &bad[k], &ndim, shape, &w->err),
                             HR_ERR_SELECTION);
        }
        for (size_t k = 0; k < sizeof far / sizeof *far; k++) { /* slices are clipped */
            hr_axis slice = {
                .kind = HR_AXIS_SLICE, .start = far[i], .stop = far[k], .step = far[k]};
            s = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &slice};
            assert_int_equal(hr_selection_shape(w->array, &s, &ndim, shape, &w->err),
                             HR_OK);
            assert_in_range(shape[0], 0, NROWS);
        }
    }
    hr_axis endless = {.kind = HR_AXIS_INDICES, .nindices = UINT64_MAX};
    s = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &endless};
    assert_int_equal(hr_selection_shape(w->array, &s, &ndim, shape, &w->err),
                     HR_ERR_OVERFLOW);
}

/* Ten thousand requests into one place: any of them may win, and all are right. */
static void many_requests_into_the_same_memory(void **state) {
    world *w = *state;
    enum { N = 10000 };
    int32_t out[NROWS][NCOLS];
    hr_request *r = calloc(N, sizeof *r);
    for (int i = 0; i < N; i++) {
        r[i] = request(w->array, out, 2, whole);
    }
    memset(out, 0x55, sizeof out);
    hr_batch *b = NULL;
    assert_int_equal(submit(w, r, N, &b), HR_OK);
    assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
    hr_batch_stats stats = HR_BATCH_STATS_INIT;
    assert_int_equal(hr_batch_get_stats(b, &stats, &w->err), HR_OK);
    assert_int_equal(stats.nchunks, 9);
    for (int i = 0; i < N; i += 999) {
        assert_int_equal(hr_batch_error(b, (size_t)i, &w->err), HR_OK);
    }
    REFUSED(hr_batch_error(b, N, &w->err));
    REFUSED(hr_batch_error(b, SIZE_MAX, &w->err));
    hr_batch_unref(b);
    free(r);
    for (int i = 0; i < NROWS; i++) {
        for (int j = 0; j < NCOLS; j++) {
            assert_int_equal(out[i][j], expected(i, j));
        }
    }
}

static void references_go_in_any_order(void **state) {
    (void)state;
    for (int order = 0; order < 120; order++) {
        world *w;
        void *fresh = NULL;
        assert_int_equal(make_world(&fresh), 0);
        w = fresh;
        int32_t out[NROWS][NCOLS];
        hr_request r = request(w->array, out, 2, whole);
        hr_batch *b = NULL;
        assert_int_equal(submit(w, &r, 1, &b), HR_OK);
        int left[5] = {0, 1, 2, 3, 4};
        for (int n = 5, code = order; n > 0; code /= n, n--) {
            int at = code % n;
            switch (left[at]) {
            case 0:
                hr_context_unref(w->context);
                break;
            case 1:
                hr_store_unref(w->store);
                break;
            case 2:
                hr_node_unref(w->group);
                break;
            case 3:
                hr_node_unref(w->array);
                break;
            default:
                hr_batch_unref(b);
            }
            left[at] = left[n - 1];
        }
        free(w);
    }
}

/* A group opened through itself over and over leaves no chain of groups behind, whose end
 * would be a long recursion. */
static void a_group_opened_through_itself(void **state) {
    (void)state;
    hr_error err = HR_ERROR_INIT;
    probe p = {.refuse_from = -1};
    hr_allocator a = probe_allocator(&p);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.allocator = &a;
    hr_context *context;
    hr_store *store;
    assert_int_equal(hr_context_create(&o, &context, &err), HR_OK);
    assert_int_equal(hr_store_create_memory(context, &store, &err), HR_OK);
    const char *group =
        "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":"
        "{\"kind\":\"inline\",\"must_understand\":false,\"metadata\":{\"b\":"
        "{\"zarr_format\":3,\"node_type\":\"group\"}}}}";
    put(store, "zarr.json", group, strlen(group));
    hr_node *node;
    long nlive = 0;
    assert_int_equal(hr_open_store(store, "", NULL, &node, &err), HR_OK);
    for (int i = 0; i < 100; i++) {
        hr_node *next;
        assert_int_equal(hr_node_open(node, i == 0 ? "b" : "", &next, &err), HR_OK);
        hr_node_unref(node);
        node = next;
        nlive = i == 10 ? atomic_load(&p.nlive) : nlive;
    }
    assert_int_equal(atomic_load(&p.nlive), nlive);
    hr_node_unref(node);
    hr_store_unref(store);
    hr_context_unref(context);
    assert_int_equal(atomic_load(&p.nlive), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(null_is_refused_or_harmless),
        TEST(absurd_struct_sizes_are_refused),
        TEST(absurd_destinations_are_refused),
        TEST(absurd_types_are_refused),
        TEST(absurd_selections_are_refused),
        TEST(many_requests_into_the_same_memory),
        cmocka_unit_test(references_go_in_any_order),
        cmocka_unit_test(a_group_opened_through_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
