/* The simt device: who leaves an allocation is told.
 * SPDX-License-Identifier: Apache-2.0 */
#include "simt_fixture.h"

#include <string.h>

#include "device/kstore.h"

static void expect_broken(fixture *f, hr__stream s, const char *message) {
    hr_error err = HR_ERROR_INIT;
    hr__devptr p = 0;
    assert_int_equal(f->ops->stream_sync(f->d, s, &err), HR_ERR_DEVICE);
    assert_non_null(strstr(err.message, message));
    err = HR_ERROR_INIT; /* and so on for ever */
    assert_int_equal(f->ops->alloc(f->d, 16, &p, &err), HR_ERR_DEVICE);
    assert_non_null(strstr(err.message, message));
    assert_int_equal(p, 0);
    f->ops->stream_destroy(f->d, s);
}

static void a_copy_out_of_bounds_breaks_the_device(void **state) {
    fixture *f = *state;
    hr__devptr p;
    hr__stream s;
    uint8_t host[65] = {0};
    OK(alloc(f->d, 64, &p, NULL));
    OK(stream_create(f->d, &s, NULL));
    OK(copy_to_device(f->d, s, p, host, 65, NULL));
    expect_broken(f, s, "a copy's write of 65 bytes");
}

static void a_kernel_out_of_bounds_breaks_the_device(void **state) {
    fixture *f = *state;
    hr__devptr src, dst;
    hr__stream s;
    OK(alloc(f->d, 64, &src, NULL));
    OK(alloc(f->d, 64, &dst, NULL));
    OK(stream_create(f->d, &s, NULL));
    hr_k_scatter params = copy_of(src, dst, 16);
    params.dims[0].src_step = -4;
    params.dims[0].src0 = 56; /* the last item is one before the first */
    OK(launch(f->d, s, HR__KERNEL_SCATTER, &params, NULL));
    expect_broken(f, s, "a kernel's read");
}

static void a_list_out_of_bounds_breaks_the_device(void **state) {
    fixture *f = *state;
    hr__devptr src, dst, list;
    hr__stream s;
    const int64_t numbers[] = {0, 15, 16};
    OK(alloc(f->d, 64, &src, NULL));
    OK(alloc(f->d, 64, &dst, NULL));
    OK(alloc(f->d, sizeof numbers, &list, NULL));
    OK(stream_create(f->d, &s, NULL));
    hr_k_scatter params = copy_of(src, dst, 2);
    params.dims[0].dst_list = list;
    OK(copy_to_device(f->d, s, list, numbers, sizeof numbers, NULL));
    OK(launch(f->d, s, HR__KERNEL_SCATTER, &params, NULL));
    OK(stream_sync(f->d, s, NULL));
    params = copy_of(src, dst, 3);
    params.dims[0].dst_list = list;
    OK(launch(f->d, s, HR__KERNEL_SCATTER, &params, NULL));
    expect_broken(f, s, "a kernel's write");
}

/* One store of 16 shuffled items from 64 bytes at `chunk` to `dst`, launched. */
static void launch_store(fixture *f, hr__stream s, hr__devptr chunk, hr__devptr dst,
                         int64_t src0, uint32_t tile) {
    const hr_dtype f32 = hr__dtype(HR_KIND_FLOAT, 4);
    hr_k_store store;
    hr_k_store_task task;
    hr_k_store_batch batch = {0};
    assert_true(hr__kstore_begin(&store, &f32) && hr__kstore_end(&store, &f32, &f32));
    store.chunk = chunk;
    store.chunk_nbytes = store.block_nbytes = 64;
    store.shuffle = HR_K_BYTES_SHUFFLED;
    store.typesize = 4;
    store.copy = copy_of(0, dst, 16);
    store.copy.dims[0].src0 = src0;
    assert_int_equal(hr__kstore_lower(&store, &task, NULL), HR_OK);
    const hr_k_store_tile tiles[] = {{.task = 0, .tile = tile}};
    assert_int_equal(hr__kstore_list(&task, 1, NULL, &batch, NULL), HR_OK);
    assert_int_equal(batch.nmoving, 1);
    OK(alloc(f->d, sizeof task, &batch.tasks, NULL));
    OK(alloc(f->d, sizeof tiles, &batch.tiles, NULL));
    OK(copy_to_device(f->d, NULL, batch.tasks, &task, sizeof task, NULL));
    OK(copy_to_device(f->d, NULL, batch.tiles, tiles, sizeof tiles, NULL));
    OK(launch(f->d, s, HR__KERNEL_STORE, &batch, NULL));
}

static void a_store_out_of_bounds_breaks_the_device(void **state) {
    fixture *f = *state;
    hr__devptr chunk, dst;
    hr__stream s;
    OK(stream_create(f->d, &s, NULL));
    OK(alloc(f->d, 80, &chunk, NULL));
    OK(alloc(f->d, 64, &dst, NULL));
    launch_store(f, s, chunk, dst, 0, 0);
    OK(stream_sync(f->d, s, NULL));
    launch_store(f, s, chunk, dst + 4, 0, 0);
    expect_broken(f, s, "a store's write of 64 bytes");
}

static void a_store_out_of_its_chunk_breaks_the_device(void **state) {
    fixture *f = *state;
    hr__devptr chunk, dst;
    hr__stream s;
    OK(stream_create(f->d, &s, NULL));
    OK(alloc(f->d, 80, &chunk, NULL));
    OK(alloc(f->d, 64, &dst, NULL));
    launch_store(f, s, chunk, dst, 4, 0); /* still inside of the allocation */
    expect_broken(f, s, "leaves its chunk of 64");
}

static void a_store_with_a_wrong_tile_breaks_the_device(void **state) {
    fixture *f = *state;
    hr__devptr chunk, dst;
    hr__stream s;
    OK(stream_create(f->d, &s, NULL));
    OK(alloc(f->d, 64, &chunk, NULL));
    OK(alloc(f->d, 64, &dst, NULL));
    launch_store(f, s, chunk, dst, 0, 1);
    expect_broken(f, s, "a tile it does not have");
}

/* 64 bits at src become as many bytes at dst. */
static void launch_unpack(fixture *f, hr__stream s, hr__devptr src, hr__devptr dst) {
    const hr_k_filter_task task = {
        .src = src, .dst = dst, .nitems = 64, .nbytes = 1, .width = 1};
    hr_k_filter filter = {.ntasks = 1, .ntiles = 1, .kinds = 1};
    OK(alloc(f->d, sizeof task, &filter.tasks, NULL));
    OK(copy_to_device(f->d, NULL, filter.tasks, &task, sizeof task, NULL));
    OK(launch(f->d, s, HR__KERNEL_UNPACK, &filter, NULL));
}

static void a_filter_out_of_bounds_breaks_the_device(void **state) {
    static const struct {
        uint64_t src, dst;
        const char *message;
    } cases[] = {{0, 32, "a filter's write"},
                 {1, 0, "a filter's read"},
                 {0, 8, "expected a multiple of 16"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture *f = *state;
        hr__devptr src, dst;
        hr__stream s;
        OK(stream_create(f->d, &s, NULL));
        OK(alloc(f->d, 8, &src, NULL));
        OK(alloc(f->d, 80, &dst, NULL));
        launch_unpack(f, s, src, dst);
        OK(stream_sync(f->d, s, NULL));
        launch_unpack(f, s, src + cases[i].src, dst + cases[i].dst);
        expect_broken(f, s, cases[i].message);
        assert_int_equal(close_device(state), 0);
        assert_int_equal(open_device(state), 0);
    }
}

static void freeing_what_was_not_allocated_breaks_the_device(void **state) {
    fixture *f = *state;
    hr__devptr p;
    hr__stream s;
    OK(stream_create(f->d, &s, NULL));
    OK(alloc(f->d, 64, &p, NULL));
    f->ops->free(f->d, p + 1);
    expect_broken(f, s, "no allocation");
}

int main(void) {
    if (hr__device_find(HR_DEVICE_SIMT) == NULL) {
        print_message("skipped: this build has no simt device\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        TEST(a_copy_out_of_bounds_breaks_the_device),
        TEST(a_kernel_out_of_bounds_breaks_the_device),
        TEST(a_list_out_of_bounds_breaks_the_device),
        TEST(a_store_out_of_bounds_breaks_the_device),
        TEST(a_filter_out_of_bounds_breaks_the_device),
        TEST(a_store_out_of_its_chunk_breaks_the_device),
        TEST(a_store_with_a_wrong_tile_breaks_the_device),
        TEST(freeing_what_was_not_allocated_breaks_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
