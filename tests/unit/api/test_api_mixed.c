/* Batches of every kind at once, over a store that fails now and then: each ends and
 * gives
 * what it says. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "fixture.h"
#include "probe.h"

enum { N = 48, CHUNK = 512, NTHREADS = 4, NBATCHES = 60, UNDER_WAY = 6, GUARD = 64 };
#define NBYTES ((size_t)N * CHUNK)
#define PATTERN 0xE7
#define FILL 9

static struct world {
    uint8_t encoded[N][CHUNK + 64];
    size_t nbytes[N];
    hr_context *context;
    hr_node *arrays[2][2]; /* of a store that fails or not; raw or zlib */
    atomic_long nopen;
} world;

/* A thread's own, so that one seed gives one choice. */
static _Thread_local uint64_t seed = 1;

static uint64_t draw(uint64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

static uint8_t element_at(int64_t i) {
    return (uint8_t)(i / 16 + i / CHUNK * 3 + 10);
}

/* --- the store: keys are "<fails><is zlib>/…" --- */

typedef struct value {
    const uint8_t *bytes;
    size_t nbytes;
    uint8_t raw[CHUNK];
    bool fails;
} value;

static size_t put_meta(bool is_zlib, char *out, size_t room) {
    return (size_t)snprintf(
        out, room,
        "{\"zarr_format\":2,\"shape\":[%d],\"chunks\":[%d],\"dtype\":\"|u1\",\"filters\":"
        "null,\"fill_value\":%d,\"order\":\"C\",\"compressor\":%s}",
        N * CHUNK, CHUNK, FILL, is_zlib ? "{\"id\":\"zlib\",\"level\":1}" : "null");
}

static hr_status mixed_open(void *user, const char *key, const hr_read_context *reading,
                            hr_custom_value *out, hr_error *err) {
    (void)user;
    (void)err;
    static const uint64_t claims[] = {0, CHUNK / 2, CHUNK + 700, UINT64_MAX};
    const bool is_zlib = key[1] == '1';
    const uint64_t fault = key[0] == '1' && reading != NULL ? draw(40) : 40;
    const bool is_meta = strcmp(key + 3, ".zarray") == 0;
    if (!is_meta && (key[3] < '0' || key[3] > '9')) {
        return HR_ERR_NOT_FOUND;
    }
    if (fault < 2) {
        return fault == 0 ? HR_ERR_NOT_FOUND : HR_ERR_TIMEOUT;
    }
    value *v = calloc(1, sizeof *v);
    v->fails = key[0] == '1';
    v->bytes = v->raw;
    if (is_meta) {
        v->nbytes = put_meta(is_zlib, (char *)v->raw, sizeof v->raw);
    } else {
        const int i = atoi(key + 3);
        for (int64_t k = 0; k < CHUNK; k++) {
            v->raw[k] = element_at((int64_t)i * CHUNK + k);
        }
        v->bytes = is_zlib ? world.encoded[i] : v->raw;
        v->nbytes = is_zlib ? world.nbytes[i] : CHUNK;
    }
    *out = (hr_custom_value){.handle = v, .nbytes = v->nbytes, .version = 1};
    if (fault >= 2 && fault < 6) {
        out->nbytes = claims[fault - 2];
    }
    (void)atomic_fetch_add(&world.nopen, 1);
    return HR_OK;
}

static hr_status mixed_read(void *user, void *handle, uint64_t offset, uint64_t nbytes,
                            void *dst, const hr_read_context *reading, uint64_t *nread,
                            hr_error *err) {
    (void)user;
    const value *v = handle;
    const uint64_t fault = v->fails && reading != NULL ? draw(20) : 20;
    const uint64_t there = offset < v->nbytes ? v->nbytes - offset : 0;
    memcpy(dst, v->bytes + offset, nbytes < there ? nbytes : there);
    *nread = nbytes < there ? nbytes : there;
    if (draw(16) == 0) {
        (void)usleep((useconds_t)draw(500));
    }
    switch (fault) {
    case 0:
        memset(err, 0xFF, sizeof *err);
        return HR_ERR_IO;
    case 1:
        *nread += 1;
        return HR_OK;
    case 2:
        return HR_ERR_CANCELLED;
    case 3:
        return (hr_status)4711;
    default:
        return HR_OK;
    }
}

static void mixed_close(void *user, void *handle) {
    (void)user;
    free(handle);
    (void)atomic_fetch_sub(&world.nopen, 1);
}

/* --- batches --- */

/* One under way. */
typedef struct read {
    hr_batch *batch;
    bool fails, is_cancelled, fills;
    int64_t start, stop;
    uint8_t memory[NBYTES + 2 * GUARD];
    atomic_int ncalls; /* of its callback */
    bool is_called;
} read_state;

static void count_call(void *user) {
    (void)atomic_fetch_add((atomic_int *)user, 1);
}

static const char *start_read(read_state *r) {
    static const hr_device devices[] = {{.type = HR_DEVICE_CPU},
                                        {.type = HR_DEVICE_SIMT},
                                        {.type = HR_DEVICE_SIMT, .index = 1}};
    const uint64_t ndevices = has_simt() ? 3 : 1;
    r->fails = draw(3) == 0;
    r->start = draw(4) == 0 ? 0 : (int64_t)draw(NBYTES);
    const uint64_t most = NBYTES - (uint64_t)r->start, few = 3 * CHUNK;
    r->stop = r->start + 1 + (int64_t)draw(r->start == 0 || most < few ? most : few);
    r->is_cancelled = false;
    memset(r->memory, PATTERN, sizeof r->memory);
    const int64_t shape[] = {r->stop - r->start};
    const hr_axis axis = {.start = r->start, .stop = r->stop, .step = 1};
    hr_request q = HR_REQUEST_INIT;
    q.array = world.arrays[r->fails][draw(2)];
    q.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axis};
    q.dst = (hr_tensor){.data = r->memory + GUARD,
                        .device = devices[draw(ndevices)],
                        .dtype = {.kind = HR_KIND_UINT, .itemsize = 1},
                        .ndim = 1,
                        .shape = shape};
    hr_read_options o = HR_READ_OPTIONS_INIT;
    o.on_error = (hr_on_error)draw(3);
    r->fills = o.on_error == HR_ON_ERROR_FILL;
    atomic_store(&r->ncalls, 0);
    if (hr_read_submit(world.context, &q, 1, NULL, &o, &r->batch, NULL) != HR_OK) {
        return "submit";
    }
    r->is_called = draw(2) == 0;
    return r->is_called &&
                   hr_batch_on_done(r->batch, count_call, &r->ncalls, NULL) != HR_OK
               ? "on_done"
               : NULL;
}

static bool is_intact(const read_state *r, hr_status status) {
    const size_t n = (size_t)(r->stop - r->start);
    bool ok = true;
    for (size_t i = 0; i < sizeof r->memory; i++) {
        const uint8_t got = r->memory[i];
        const bool is_inside = i >= GUARD && i < GUARD + n;
        const uint8_t want =
            is_inside ? element_at(r->start + (int64_t)(i - GUARD)) : PATTERN;
        const bool is_told = !is_inside || status == HR_OK ||
                             (r->fills && status != HR_ERR_CANCELLED && !r->is_cancelled);
        ok &= !is_told || got == want || (is_inside && r->fails && got == FILL);
    }
    return ok;
}

/* Nothing is written any more, however it ended. */
static bool stays(read_state *r) {
    memset(r->memory, PATTERN, sizeof r->memory);
    (void)usleep((useconds_t)draw(200));
    size_t i = 0;
    while (i < sizeof r->memory && r->memory[i] == PATTERN) {
        i++;
    }
    return i == sizeof r->memory;
}

static const char *judge(const read_state *r, hr_status status, const hr_error *err) {
    if (status != HR_OK && err->message[0] == '\0') {
        return "no message";
    }
    if (status != HR_OK && !r->fails &&
        !(r->is_cancelled && status == HR_ERR_CANCELLED)) {
        return "a sound array fails";
    }
    return is_intact(r, status) ? NULL : "wrong elements";
}

static const char *end_read(read_state *r) {
    static const int64_t timeouts[] = {-1, 1000000, INT64_C(60000000000)};
    hr_error err = HR_ERROR_INIT;
    const uint64_t way = draw(8);
    if (way == 0) { /* cancelled and waited for by the release */
        hr_batch_unref(r->batch);
    } else {
        if (way == 1) {
            hr_batch_cancel(r->batch);
            r->is_cancelled = true;
        }
        const int64_t timeout = timeouts[draw(3)];
        while (hr_batch_wait(r->batch, timeout, &err) == HR_ERR_TIMEOUT) {
        }
        const hr_status status = hr_batch_error(r->batch, 0, &err);
        const char *problem = judge(r, status, &err);
        hr_batch_unref(r->batch);
        if (problem != NULL) {
            return problem;
        }
    }
    r->batch = NULL;
    if (r->is_called && atomic_load(&r->ncalls) != 1) {
        return "callback";
    }
    return stays(r) ? NULL : "written after the end";
}

typedef struct member {
    pthread_t thread;
    uint64_t seed;
    char problem[256]; /* none: "" */
} member;

static void *read_mixed(void *arg) {
    member *m = arg;
    const char *problem = NULL;
    read_state *reads = calloc(UNDER_WAY, sizeof *reads);
    seed = m->seed;
    for (int i = 0; i < NBATCHES && problem == NULL; i++) {
        read_state *r = &reads[draw(UNDER_WAY)];
        problem = r->batch != NULL ? end_read(r) : NULL;
        problem = problem == NULL ? start_read(r) : problem;
    }
    for (int i = 0; i < UNDER_WAY; i++) {
        const char *last =
            reads[i].batch != NULL && problem == NULL ? end_read(&reads[i]) : NULL;
        problem = problem != NULL ? problem : last;
    }
    (void)snprintf(m->problem, sizeof m->problem, "%s", problem != NULL ? problem : "");
    free(reads);
    return NULL;
}

static void open_arrays(void) {
    const hr_custom_store functions = {.abi_version = HR_CUSTOM_STORE_VERSION,
                                       .open = mixed_open,
                                       .read = mixed_read,
                                       .close = mixed_close};
    hr_store *store = NULL;
    assert_int_equal(hr_store_create_custom(world.context, &functions, &store, NULL),
                     HR_OK);
    for (int k = 0; k < 4; k++) {
        const char path[] = {(char)('0' + k / 2), (char)('0' + k % 2), '\0'};
        assert_int_equal(
            hr_open_store(store, path, NULL, &world.arrays[k / 2][k % 2], NULL), HR_OK);
    }
    hr_store_unref(store);
}

static void every_batch_ends_and_gives_what_it_says(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 4; round++) {
        probe memory = {.refuse_from = -1};
        const hr_allocator a = probe_allocator(&memory);
        hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
        o.allocator = &a;
        o.nthreads = 1 + round % 3;
        o.scratch_nbytes = round % 2 == 0 ? 0 : 16 << 10; /* a slot or two */
        o.device_scratch_nbytes = round % 2 == 0 ? 0 : 64 << 10;
        o.chunk_cache_nbytes = round < 2 ? 0 : NBYTES / 2;
        o.encoded_cache_nbytes = round < 2 ? 0 : NBYTES / 2;
        assert_int_equal(hr_context_create(&o, &world.context, NULL), HR_OK);
        open_arrays();
        member members[NTHREADS] = {0};
        for (uint32_t i = 0; i < NTHREADS; i++) {
            members[i].seed = 100 * round + i;
            assert_int_equal(
                pthread_create(&members[i].thread, NULL, read_mixed, &members[i]), 0);
        }
        for (uint32_t i = 0; i < NTHREADS; i++) {
            (void)pthread_join(members[i].thread, NULL);
            assert_string_equal(members[i].problem, "");
        }
        for (int k = 0; k < 4; k++) {
            hr_node_unref(world.arrays[k / 2][k % 2]);
        }
        hr_context_unref(world.context);
        assert_int_equal(atomic_load(&memory.nlive), 0);
        assert_int_equal(atomic_load(&world.nopen), 0);
    }
}

int main(void) {
    for (int i = 0; i < N; i++) {
        uint8_t raw[CHUNK];
        uLongf n = sizeof world.encoded[i];
        for (int64_t k = 0; k < CHUNK; k++) {
            raw[k] = element_at((int64_t)i * CHUNK + k);
        }
        if (compress(world.encoded[i], &n, raw, CHUNK) != Z_OK) {
            return 1;
        }
        world.nbytes[i] = n;
    }
    (void)alarm(300); /* what hangs fails */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_batch_ends_and_gives_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
