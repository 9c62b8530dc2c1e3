/* A TIFF opened and read where memory ends at any point. SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"
#include "probe.h"
#include "support/tiff_maker.h"

static tiff_file make_file(void) {
    static const uint8_t image[20 * 30 * 3 * 4];
    static const double scale[] = {1, 1, 0}, point[] = {0, 0, 0, 5, 6, 0};
    static const char xml[] = "<Item name=\"x\" sample=\"1\" role=\"scale\">2</Item>";
    const tiff_extra extra[] = {{33550, 12, 3, scale},
                                {33922, 12, 6, point},
                                {42112, 2, sizeof xml, xml},
                                {270, 2, 5, "caf\xE9"}};
    const tiff_spec s = {.width = 20,
                         .height = 30,
                         .nsamples = 3,
                         .is_planar = true,
                         .bits = 32,
                         .format = 3,
                         .compression = 5,
                         .predictor = 3,
                         .block_height = 7,
                         .nodata = "-1",
                         .extra = extra,
                         .nextra = 4};
    tiff_spec small = s;
    small.width = 10;
    small.subfile_type = 1;
    tiff_file f;
    tiff_start(&f, true, true);
    tiff_add(&f, &s, image);
    tiff_add(&f, &small, image);
    return f;
}

static hr_status open_and_read(hr_context *context, hr_store *store) {
    static uint8_t out[20 * 30 * 3 * 4];
    hr_node *node = NULL;
    hr_error err = HR_ERROR_INIT;
    hr_node_info info = HR_NODE_INFO_INIT;
    hr_status status = hr_open_store(store, "x.tif#level=0", NULL, &node, &err);
    if (status == HR_OK) {
        assert_int_equal(hr_node_describe(node, &info, NULL), HR_OK);
        const hr_request r = whole_request(node, &info, out, HR_DEVICE_CPU);
        hr_batch *b = NULL;
        status = hr_read_submit(context, &r, 1, NULL, NULL, &b, &err);
        if (status == HR_OK) {
            status = hr_batch_wait(b, -1, &err);
        }
        hr_batch_unref(b);
    }
    assert_true(status == HR_OK || err.message[0] != '\0');
    hr_node_unref(node);
    return status;
}

static void memory_may_end_anywhere(void **state) {
    (void)state;
    tiff_file f = make_file();
    hr_status status = HR_ERR_MEMORY;
    long i = 0;
    for (; status != HR_OK && i < 2000; i++) {
        probe p = {.refuse_from = -1};
        hr_allocator a = probe_allocator(&p);
        hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
        hr_context *context = NULL;
        hr_store *store = NULL;
        o.allocator = &a;
        o.nthreads = 1;
        assert_int_equal(hr_context_create(&o, &context, NULL), HR_OK);
        assert_int_equal(hr_store_create_memory(context, &store, NULL), HR_OK);
        put(store, "x.tif", f.bytes, f.nbytes);
        atomic_store(&p.refuse_from, atomic_load(&p.ncalls) + i);
        status = open_and_read(context, store);
        assert_true(status == HR_OK || status == HR_ERR_MEMORY);
        atomic_store(&p.refuse_from, -1);
        hr_store_unref(store);
        hr_context_unref(context);
        assert_int_equal(atomic_load(&p.nlive), 0);
    }
    print_message("%ld allocations\n", i - 1);
    assert_int_equal(status, HR_OK);
    assert_true(i > 5); /* arenas ask for few large pieces */
    tiff_free(&f);
}

/* --- scratch of predicted tiles --- */

#define TILE INT64_C(256)

/* Two tiles side by side, of noise, so that none can be decoded where it is to lie. */
static tiff_file make_tiles(unsigned compression, unsigned predictor, uint8_t *image) {
    const unsigned nbytes = predictor == 3 ? 4 : 2;
    uint64_t random = 3;
    for (size_t i = 0; i < (size_t)(2 * TILE * TILE * nbytes); i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        image[i] = (uint8_t)(random >> 56);
    }
    const tiff_spec s = {.width = 2 * TILE,
                         .height = TILE,
                         .is_tiled = true,
                         .block_width = TILE,
                         .block_height = TILE,
                         .bits = 8 * nbytes,
                         .format = predictor == 3 ? 3 : 1,
                         .compression = compression,
                         .predictor = predictor};
    tiff_file f;
    tiff_start(&f, false, false);
    tiff_add(&f, &s, image);
    return f;
}

static hr_status read_strictly(const tiff_file *f, uint64_t device_scratch_nbytes,
                               uint8_t *out, hr_error *err) {
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    hr_store *store = NULL;
    hr_node *node = NULL;
    hr_node_info info = HR_NODE_INFO_INIT;
    hr_batch *b = NULL;
    hr_read_options strictly = HR_READ_OPTIONS_INIT;
    o.nthreads = 1;
    o.device_scratch_nbytes = device_scratch_nbytes;
    strictly.strict = true;
    assert_int_equal(hr_context_create(&o, &context, err), HR_OK);
    assert_int_equal(hr_store_create_memory(context, &store, err), HR_OK);
    put(store, "x.tif", f->bytes, f->nbytes);
    assert_int_equal(hr_open_store(store, "x.tif", NULL, &node, err), HR_OK);
    assert_int_equal(hr_node_describe(node, &info, err), HR_OK);
    const hr_request r = whole_request(node, &info, out, HR_DEVICE_SIMT);
    assert_int_equal(hr_read_submit(context, &r, 1, NULL, &strictly, &b, err), HR_OK);
    const hr_status status = hr_batch_wait(b, -1, err);
    hr_batch_unref(b);
    hr_node_unref(node);
    hr_store_unref(store);
    hr_context_unref(context);
    return status;
}

/* What sums are made in place of takes no more than itself, beside its encoded bytes and
 * what its codec wants. */
static void predicted_tiles_need_scratch_for_one_of_themselves(void **state) {
    (void)state;
    static uint8_t image[2 * TILE * TILE * 4], out[sizeof image];
    static const struct {
        unsigned compression, predictor;
        double beside; /* of the tile */
    } cases[] = {{5, 2, 1.5}, {8, 2, 1.1}, {8, 3, 1.1}, {50000, 2, 2.1}};
    if (!has_simt()) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_error err = HR_ERROR_INIT;
        tiff_file f = make_tiles(cases[i].compression, cases[i].predictor, image);
        const size_t nbytes = sizeof image / (cases[i].predictor == 3 ? 1 : 2);
        const double scratch = (double)nbytes / 2 * (1 + cases[i].beside);
        if (read_strictly(&f, (uint64_t)scratch, out, &err) != HR_OK) {
            fail_msg("compression %u, predictor %u: %s", cases[i].compression,
                     cases[i].predictor, err.message);
        }
        assert_memory_equal(out, image, nbytes);
        tiff_free(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_may_end_anywhere),
        cmocka_unit_test(predicted_tiles_need_scratch_for_one_of_themselves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
