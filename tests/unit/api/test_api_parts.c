/* Parts of chunks: no more is read and decoded than is wanted. With the argument "cuda"
 * on a GPU instead of the kernels' stand-in on the CPU.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <blosc.h>
#include <cmocka.h>

#include "fixture.h"

enum { D0 = 100, D1 = 80, D2 = 70, C0 = 50, C1 = 40, C2 = 70, MOST = 4096 };
#define CHUNK (C0 * C1 * C2) /* elements of two bytes: 280 kB */

typedef struct layout {
    const char *name, *dtype, *order, *compressor;
    const char *cname; /* NULL: not compressed */
    int shuffle;
    size_t blocksize;
} layout;

static const layout layouts[] = {
    {"lz4", "<u2", "C", "{\"id\":\"blosc\"}", "lz4", BLOSC_SHUFFLE, 16384},
    {"bits", ">u2", "F", "{\"id\":\"blosc\"}", "zstd", BLOSC_BITSHUFFLE, 8192},
    {"plain", "<u2", "C", "{\"id\":\"blosc\"}", "blosclz", BLOSC_NOSHUFFLE, 5000},
    {"raw", "<u2", "C", "null", NULL, 0, 0},
    {"turned", ">u2", "F", "null", NULL, 0, 0},
};
enum { NARRAYS = sizeof layouts / sizeof *layouts };

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_node *arrays[NARRAYS];
    hr_device device;
    void *memory; /* on the device; NULL: there is none */
    uint16_t out[MOST];
    hr_batch_stats stats;
    hr_error err;
} world;

static uint16_t value(int a, int64_t i, int64_t j, int64_t k) {
    return (uint16_t)(a * 7001 + i * 601 + j * 31 + k / 2);
}

static void put_chunk(world *w, int a, int64_t i0, int64_t j0) {
    const layout *x = &layouts[a];
    static uint8_t raw[2 * CHUNK], packed[2 * CHUNK + BLOSC_MAX_OVERHEAD];
    for (int64_t e = 0; e < CHUNK; e++) {
        int64_t i = e / (C1 * C2), j = e / C2 % C1, k = e % C2;
        int64_t at = x->order[0] == 'C' ? e : i + C0 * (j + C1 * k);
        uint16_t v = value(a, i0 + i, j0 + j, k);
        raw[2 * at + (x->dtype[0] == '>')] = (uint8_t)v;
        raw[2 * at + (x->dtype[0] == '<')] = (uint8_t)(v >> 8);
    }
    char key[32];
    (void)snprintf(key, sizeof key, "%s/%d.%d.0", x->name, (int)(i0 / C0),
                   (int)(j0 / C1));
    if (x->cname == NULL) {
        put(w->store, key, raw, sizeof raw);
        return;
    }
    int n = blosc_compress_ctx(5, x->shuffle, 2, sizeof raw, raw, packed, sizeof packed,
                               x->cname, x->blocksize, 1);
    assert_true(n > 0);
    put(w->store, key, packed, (size_t)n);
}

static void put_array(world *w, int a) {
    const layout *x = &layouts[a];
    char meta[512], key[32];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":2,\"shape\":[%d,%d,%d],\"chunks\":[%d,%d,%d],"
                   "\"dtype\":\"%s\",\"compressor\":%s,\"filters\":null,\"fill_value\":0,"
                   "\"order\":\"%s\"}",
                   D0, D1, D2, C0, C1, C2, x->dtype, x->compressor, x->order);
    (void)snprintf(key, sizeof key, "%s/.zarray", x->name);
    put(w->store, key, meta, strlen(meta));
    for (int i = 0; i < 4; i++) {
        put_chunk(w, a, i / 2 * C0, i % 2 * C1);
    }
    assert_int_equal(hr_open_store(w->store, x->name, NULL, &w->arrays[a], &w->err),
                     HR_OK);
}

static int32_t device_type = HR_DEVICE_SIMT;

static int begin(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->err = HR_ERROR_INIT;
    w->device = (hr_device){device_type, 0};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    for (int a = 0; a < NARRAYS; a++) {
        put_array(w, a);
    }
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe(w->device, &info, NULL) == HR_OK) {
        assert_int_equal(
            hr_memory_alloc(w->context, w->device, sizeof w->out, &w->memory, &w->err),
            HR_OK);
    }
    *state = w;
    return 0;
}

static int end(void **state) {
    world *w = *state;
    hr_memory_free(w->context, w->device, w->memory);
    for (int a = 0; a < NARRAYS; a++) {
        hr_node_unref(w->arrays[a]);
    }
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    free(w);
    return 0;
}

static hr_status read_it(world *w, int a, const hr_selection *selection, bool on_device) {
    int64_t shape[HR_MAX_NDIM];
    hr_request r = HR_REQUEST_INIT;
    hr_batch *b = NULL;
    r.array = w->arrays[a];
    r.selection = *selection;
    assert_int_equal(hr_selection_shape(r.array, selection, &r.dst.ndim, shape, &w->err),
                     HR_OK);
    r.dst.shape = shape;
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 2};
    r.dst.data = on_device ? w->memory : w->out;
    r.dst.device = on_device ? w->device : (hr_device){HR_DEVICE_CPU, 0};
    size_t nbytes = sizeof w->out[0];
    for (int32_t i = 0; i < r.dst.ndim; i++) {
        nbytes *= (size_t)shape[i];
    }
    memset(w->out, 0xA5, sizeof w->out);
    w->stats = HR_BATCH_STATS_INIT;
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err), HR_OK);
    hr_status status = hr_batch_wait(b, -1, &w->err);
    assert_int_equal(hr_batch_get_stats(b, &w->stats, &w->err), HR_OK);
    hr_batch_unref(b);
    if (on_device && status == HR_OK) {
        status =
            hr_memory_to_host(w->context, w->device, w->out, w->memory, nbytes, &w->err);
    }
    return status;
}

static uint32_t next(uint64_t *random) {
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*random >> 33);
}

/* Up to 16 places along an axis, and the selection that gives them. */
static int64_t choose(uint64_t *random, int64_t length, int64_t *places, hr_axis *axis) {
    int64_t n = 1 + next(random) % 16;
    int64_t start = next(random) % (uint32_t)length;
    if (next(random) % 4 == 0) {
        for (int64_t i = 0; i < n; i++) {
            places[i] = next(random) % (uint32_t)length;
        }
        *axis = (hr_axis){
            .kind = HR_AXIS_INDICES, .indices = places, .nindices = (uint64_t)n};
        return n;
    }
    int64_t step = 1 + next(random) % 7;
    bool down = next(random) % 3 == 0;
    int64_t most = (down ? start : length - 1 - start) / step + 1;
    n = n < most ? n : most;
    step = down ? -step : step;
    for (int64_t i = 0; i < n; i++) {
        places[i] = start + i * step;
    }
    int64_t stop = start + n * step;
    *axis = (hr_axis){.start = start, .stop = stop < 0 ? HR_NONE : stop, .step = step};
    return n;
}

static void any_selection_gives_its_elements(void **state) {
    world *w = *state;
    uint64_t random = 5;
    for (int turn = 0; turn < 120; turn++) {
        int64_t places[3][16], n[3];
        hr_axis axes[3];
        const int64_t lengths[] = {D0, D1, D2};
        for (int i = 0; i < 3; i++) {
            n[i] = choose(&random, lengths[i], places[i], &axes[i]);
        }
        const hr_selection s = {.kind = HR_SELECT_AXES, .naxes = 3, .axes = axes};
        int a = turn % NARRAYS;
        bool on_device = w->memory != NULL && next(&random) % 2 == 0;
        assert_int_equal(read_it(w, a, &s, on_device), HR_OK);
        for (int64_t e = 0; e < n[0] * n[1] * n[2]; e++) {
            assert_int_equal(w->out[e],
                             value(a, places[0][e / (n[1] * n[2])],
                                   places[1][e / n[2] % n[1]], places[2][e % n[2]]));
        }
    }
}

static void any_points_give_their_elements(void **state) {
    world *w = *state;
    uint64_t random = 9;
    for (int turn = 0; turn < 40; turn++) {
        int64_t points[64][3];
        uint64_t n = 1 + next(&random) % 64;
        for (uint64_t i = 0; i < n; i++) {
            points[i][0] = next(&random) % D0;
            points[i][1] = next(&random) % D1;
            points[i][2] = next(&random) % D2;
        }
        const hr_selection s = {
            .kind = HR_SELECT_POINTS, .npoints = n, .points = points[0]};
        int a = turn % NARRAYS;
        assert_int_equal(read_it(w, a, &s, w->memory != NULL && turn % 2 == 0), HR_OK);
        for (uint64_t i = 0; i < n; i++) {
            assert_int_equal(w->out[i],
                             value(a, points[i][0], points[i][1], points[i][2]));
        }
    }
}

/* Three rows of one plane: a block or two of Blosc, bytes of an uncompressed chunk. */
static void little_is_read_and_decoded_for_little(void **state) {
    world *w = *state;
    hr_axis axes[] = {{.kind = HR_AXIS_INTEGER, .start = 20}, {.start = 3, .stop = 6}};
    const hr_selection s = {.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes};
    for (int on_device = 0; on_device <= (w->memory != NULL); on_device++) {
        assert_int_equal(read_it(w, 0, &s, on_device), HR_OK);
        assert_true(w->stats.decoded_nbytes <= 65536); /* of 280000 */
        assert_int_equal(read_it(w, 3, &s, on_device), HR_OK);
        assert_true(w->stats.read_nbytes <= 2048);
    }
}

/* Some far apart: each by itself, and nothing of what is between. */
static void what_is_far_apart_is_read_apart(void **state) {
    world *w = *state;
    const int64_t points[] = {0, 0, 0, 0, 30, 0, 20, 0, 0, 49, 39, 69};
    const hr_selection s = {.kind = HR_SELECT_POINTS, .npoints = 4, .points = points};
    assert_int_equal(read_it(w, 3, &s, false), HR_OK);
    assert_true(w->stats.nreads >= 3 && w->stats.read_nbytes <= 8192);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(w->out[i],
                         value(3, points[3 * i], points[3 * i + 1], points[3 * i + 2]));
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "cuda") == 0) {
        device_type = HR_DEVICE_CUDA;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_selection_gives_its_elements),
        cmocka_unit_test(any_points_give_their_elements),
        cmocka_unit_test(little_is_read_and_decoded_for_little),
        cmocka_unit_test(what_is_far_apart_is_read_apart),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
