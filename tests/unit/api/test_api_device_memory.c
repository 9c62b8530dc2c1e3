/* Memory of devices: hooks, caps, and none left. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <blosc.h>
#include <cmocka.h>

#include "fixture.h"

#define KIB ((size_t)1024)
#define CHUNK (16 * KIB)
enum { NCHUNKS = 192 }; /* 3 MiB */

/* Before each block, whose alignment it keeps. */
typedef struct header {
    size_t nbytes;
    void *stream;
} header;
#define HEADER_NBYTES 256

typedef struct pool {
    atomic_size_t live_nbytes, peak_nbytes;
    atomic_long ncalls, nlive, nwrong;
    long refuse_from; /* −1: none */
    bool refuse_all_after;
} pool;

static void *take(pool *p, hr_device device, size_t nbytes, void *stream) {
    long i = atomic_fetch_add(&p->ncalls, 1);
    if (p->refuse_from >= 0 &&
        (i == p->refuse_from || (p->refuse_all_after && i > p->refuse_from))) {
        return NULL;
    }
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, HEADER_NBYTES, HEADER_NBYTES + nbytes), 0);
    memcpy(memory, &(header){.nbytes = nbytes, .stream = stream}, sizeof(header));
    memset((uint8_t *)memory + HEADER_NBYTES, 0xA5, nbytes);
    size_t live = atomic_fetch_add(&p->live_nbytes, nbytes) + nbytes;
    size_t peak = atomic_load(&p->peak_nbytes);
    while (live > peak && !atomic_compare_exchange_weak(&p->peak_nbytes, &peak, live)) {
    }
    atomic_fetch_add(&p->nlive, 1);
    atomic_fetch_add(&p->nwrong, nbytes == 0 || device.type != HR_DEVICE_SIMT);
    return (uint8_t *)memory + HEADER_NBYTES;
}

static void give(pool *p, hr_device device, void *ptr, size_t nbytes, void *stream) {
    uint8_t *memory = (uint8_t *)ptr - HEADER_NBYTES;
    header h;
    memcpy(&h, memory, sizeof h);
    atomic_fetch_add(&p->nwrong, h.nbytes != nbytes || h.stream != stream ||
                                     device.type != HR_DEVICE_SIMT);
    atomic_fetch_sub(&p->live_nbytes, nbytes);
    atomic_fetch_sub(&p->nlive, 1);
    free(memory);
}

typedef struct world {
    pool device[2], pinned[2]; /* of simt:0 and simt:1 */
    hr_context *context;
    hr_store *store;
    hr_node *arrays[2]; /* raw, Blosc */
    uint8_t *data, *out;
    int ndestroyed;
    hr_error err;
} world;

static void *device_alloc(void *user, hr_device device, size_t nbytes, void *stream) {
    pool *p = &((world *)user)->device[device.index];
    atomic_fetch_add(&p->nwrong, stream == NULL);
    return take(p, device, nbytes, stream);
}

static void device_free(void *user, hr_device device, void *ptr, size_t nbytes,
                        void *stream) {
    give(&((world *)user)->device[device.index], device, ptr, nbytes, stream);
}

static void *pinned_alloc(void *user, hr_device device, size_t nbytes) {
    return take(&((world *)user)->pinned[device.index], device, nbytes, NULL);
}

static void pinned_free(void *user, hr_device device, void *ptr, size_t nbytes) {
    give(&((world *)user)->pinned[device.index], device, ptr, nbytes, NULL);
}

static void count_destroyed(void *user) {
    world *w = user;
    w->ndestroyed++;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(atomic_load(&w->device[i].nlive), 0);
        assert_int_equal(atomic_load(&w->pinned[i].nlive), 0);
    }
}

static void put_chunks(world *w, const char *path, const char *compressor) {
    char meta[512], key[64];
    uint8_t *encoded = malloc(CHUNK + BLOSC_MAX_OVERHEAD);
    assert_non_null(encoded);
    (void)snprintf(
        meta, sizeof meta,
        "{\"zarr_format\":2,\"shape\":[%zu],\"chunks\":[%zu],\"dtype\":\"|u1\","
        "\"compressor\":%s,\"filters\":null,\"fill_value\":0,\"order\":\"C\"}",
        NCHUNKS * CHUNK, CHUNK, compressor);
    (void)snprintf(key, sizeof key, "%s/.zarray", path);
    put(w->store, key, meta, strlen(meta));
    for (size_t i = 0; i < NCHUNKS; i++) {
        const uint8_t *raw = w->data + i * CHUNK;
        int n = (int)CHUNK;
        if (strcmp(compressor, "null") == 0) {
            memcpy(encoded, raw, CHUNK);
        } else {
            n = blosc_compress_ctx(5, BLOSC_SHUFFLE, 4, CHUNK, raw, encoded,
                                   CHUNK + BLOSC_MAX_OVERHEAD, "lz4", 0, 1);
        }
        assert_true(n > 0);
        (void)snprintf(key, sizeof key, "%s/%zu", path, i);
        put(w->store, key, encoded, (size_t)n);
    }
    free(encoded);
}

static void open_world(world *w, size_t pinned_nbytes, size_t device_nbytes) {
    hr_device_allocator hooks = {.struct_size = sizeof hooks,
                                 .user = w,
                                 .alloc = device_alloc,
                                 .free = device_free,
                                 .alloc_pinned = pinned_alloc,
                                 .free_pinned = pinned_free,
                                 .destroy = count_destroyed};
    w->ndestroyed = 0;
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    o.scratch_nbytes = pinned_nbytes;
    o.device_scratch_nbytes = device_nbytes;
    o.device_allocator = &hooks;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    put_chunks(w, "raw", "null");
    put_chunks(w, "blosc", "{\"id\":\"blosc\",\"cname\":\"lz4\",\"shuffle\":1}");
    assert_int_equal(hr_open_store(w->store, "raw", NULL, &w->arrays[0], &w->err), HR_OK);
    assert_int_equal(hr_open_store(w->store, "blosc", NULL, &w->arrays[1], &w->err),
                     HR_OK);
}

static void close_world(world *w) {
    hr_node_unref(w->arrays[0]);
    hr_node_unref(w->arrays[1]);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    assert_int_equal(w->ndestroyed, 1); /* after all that frees */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(atomic_load(&w->device[i].nwrong), 0);
        assert_int_equal(atomic_load(&w->pinned[i].nwrong), 0);
    }
}

static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    w->err = HR_ERROR_INIT;
    for (int i = 0; i < 2; i++) {
        w->device[i].refuse_from = w->pinned[i].refuse_from = -1;
    }
    w->data = malloc(NCHUNKS * CHUNK);
    w->out = malloc(NCHUNKS * CHUNK);
    assert_true(w->data != NULL && w->out != NULL);
    for (size_t i = 0; i < NCHUNKS * CHUNK; i++) {
        w->data[i] = (uint8_t)(i / 16 + i / 4096);
    }
    *state = w;
    return 0;
}

static int end_world(void **state) {
    world *w = *state;
    free(w->data);
    free(w->out);
    free(w);
    return 0;
}

static void need_simt(void) {
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe((hr_device){.type = HR_DEVICE_SIMT}, &info, NULL) != HR_OK) {
        print_message("skipped: built without the simt device\n");
        skip();
    }
}

/* The first nchunks, of which what arrives is checked. */
static hr_status read_chunks(world *w, int which, size_t nchunks) {
    const int64_t shape[] = {(int64_t)(nchunks * CHUNK)};
    const hr_axis axis = {.kind = HR_AXIS_SLICE, .start = 0, .stop = shape[0], .step = 1};
    hr_request r = HR_REQUEST_INIT;
    hr_batch *b = NULL;
    r.array = w->arrays[which];
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axis};
    r.dst = (hr_tensor){.data = w->out, .ndim = 1, .shape = shape};
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    r.dst.device.type = HR_DEVICE_SIMT;
    memset(w->out, 0x55, nchunks * CHUNK);
    hr_status status = hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err);
    if (status == HR_OK) {
        status = hr_batch_wait(b, -1, &w->err);
        hr_batch_unref(b);
    }
    assert_true(status != HR_OK || memcmp(w->out, w->data, nchunks * CHUNK) == 0);
    return status;
}

static void a_read_many_times_larger_stays_within_the_caps(void **state) {
    world *w = *state;
    need_simt();
    static const size_t pinned[] = {96 * KIB, 256 * KIB},
                        device[] = {320 * KIB, 512 * KIB};
    for (int i = 0; i < 2; i++) {
        open_world(w, pinned[i], device[i]);
        for (int which = 0; which < 2; which++) {
            if (read_chunks(w, which, NCHUNKS) != HR_OK) {
                fail_msg("%s", w->err.message);
            }
        }
        assert_in_range(atomic_load(&w->pinned[0].peak_nbytes), CHUNK, pinned[i]);
        assert_in_range(atomic_load(&w->device[0].peak_nbytes), CHUNK, device[i]);
        atomic_store(&w->pinned[0].peak_nbytes, 0);
        atomic_store(&w->device[0].peak_nbytes, 0);
        close_world(w);
    }
}

/* The caps are each device's: one batch for two. */
static void every_device_stays_within_the_caps(void **state) {
    world *w = *state;
    need_simt();
    enum { PINNED = 96 << 10, DEVICE = 320 << 10 };
    const int64_t shape[] = {NCHUNKS * CHUNK};
    uint8_t *more = malloc(NCHUNKS * CHUNK);
    hr_request r[2] = {HR_REQUEST_INIT, HR_REQUEST_INIT};
    hr_batch *b = NULL;
    assert_non_null(more);
    open_world(w, PINNED, DEVICE);
    for (int i = 0; i < 2; i++) {
        r[i].array = w->arrays[1];
        r[i].dst = (hr_tensor){.data = i == 0 ? w->out : more, .ndim = 1, .shape = shape};
        r[i].dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
        r[i].dst.device = (hr_device){.type = HR_DEVICE_SIMT, .index = i};
    }
    assert_int_equal(hr_read_submit(w->context, r, 2, NULL, NULL, &b, &w->err), HR_OK);
    assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
    hr_batch_unref(b);
    assert_memory_equal(w->out, w->data, NCHUNKS * CHUNK);
    assert_memory_equal(more, w->data, NCHUNKS * CHUNK);
    for (int i = 0; i < 2; i++) {
        assert_in_range(atomic_load(&w->pinned[i].peak_nbytes), CHUNK, PINNED);
        assert_in_range(atomic_load(&w->device[i].peak_nbytes), CHUNK, DEVICE);
    }
    close_world(w);
    free(more);
}

/* Every allocation in turn is refused. Returns how many there are. */
static long torture(world *w, pool *p, int which, bool all_after) {
    enum { SOME = 24 };
    long n = 0;
    for (bool refused = true; refused; n++) {
        p->refuse_from = n;
        p->refuse_all_after = all_after;
        atomic_store(&p->ncalls, 0);
        open_world(w, 512 * KIB, 2048 * KIB);
        hr_status status = read_chunks(w, which, SOME);
        refused = atomic_load(&p->ncalls) > n;
        if (status != HR_OK && !(all_after && status == HR_ERR_MEMORY)) {
            fail_msg("%s", w->err.message);
        }
        assert_true(status == HR_OK || w->err.message[0] != '\0');
        p->refuse_from = -1;
        assert_int_equal(read_chunks(w, which, SOME), HR_OK); /* as if nothing was */
        close_world(w);
    }
    return n - 1;
}

static void what_is_refused_once_is_made_up_for_and_else_an_error(void **state) {
    world *w = *state;
    need_simt();
    for (int which = 0; which < 2; which++) {
        for (int all_after = 0; all_after <= 1; all_after++) {
            assert_in_range(torture(w, &w->device[0], which, all_after), 2, 1000);
            assert_in_range(torture(w, &w->pinned[0], which, all_after), 2, 1000);
        }
    }
}

static void half_a_pair_of_hooks_is_refused(void **state) {
    world *w = *state;
    hr_device_allocator hooks = {.struct_size = sizeof hooks,
                                 .user = w,
                                 .alloc = device_alloc,
                                 .destroy = count_destroyed};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.device_allocator = &hooks;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_ERR_ARGUMENT);
    assert_int_equal(w->ndestroyed, 0); /* what failed has nothing to give back */
    hooks =
        (hr_device_allocator){.struct_size = sizeof hooks, .free_pinned = pinned_free};
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_ERR_ARGUMENT);
    hooks = (hr_device_allocator){.struct_size = sizeof hooks};
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    hr_context_unref(w->context);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_read_many_times_larger_stays_within_the_caps),
        TEST(every_device_stays_within_the_caps),
        TEST(what_is_refused_once_is_made_up_for_and_else_an_error),
        TEST(half_a_pair_of_hooks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
