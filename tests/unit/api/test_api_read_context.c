/* What custom stores are told of a read. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"
#include "support/forward_store.h"

/* What was told, a line for each chunk of a call. */
typedef struct diary {
    pthread_mutex_t lock;
    char text[16384];
} diary;

typedef struct world {
    hr_context *context;
    hr_store *memory, *store;
    forward forward;
    diary diary;
    hr_node *array;
    int32_t out[4][NROWS * NCOLS];
} world;

static world w;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...) {
    size_t used = strlen(w.diary.text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(w.diary.text + used, sizeof w.diary.text - used, format, args);
    va_end(args);
}

static void note_axis(const hr_axis *a) {
    if (a->kind == HR_AXIS_INDICES) {
        note(" list");
        for (uint64_t i = 0; i < a->nindices; i++) {
            note("%s%" PRId64, i > 0 ? "," : " ", a->indices[i]);
        }
    } else if (a->stop == HR_NONE) {
        note(" %" PRId64 "::%" PRId64, a->start, a->step);
    } else {
        note(" %" PRId64 ":%" PRId64 ":%" PRId64, a->start, a->stop, a->step);
    }
    note(" (%" PRIu64 ")", a->nindices);
}

static void note_uses(const hr_read_context *reading, const hr_read_chunk *chunk) {
    uint64_t n = 0;
    for (hr_read_use use = HR_READ_USE_INIT;
         hr_read_context_next_use(reading, chunk, &use) != 0; n++) {
        char dtype[16];
        (void)hr_dtype_format(&use.dtype, dtype, sizeof dtype);
        note("; request %d for %s, %s on %d%s, %d of", (int)use.request,
             use.user != NULL ? (const char *)use.user : "nobody", dtype,
             (int)use.device.type, use.is_packed ? " packed" : "", (int)use.nelems);
        for (int32_t i = 0; i < use.naxes; i++) {
            note_axis(&use.axes[i]);
        }
        note("%s", use.kind == HR_SELECT_POINTS ? " points" : "");
    }
    assert_int_equal(n, chunk->nuses);
}

static void note_chunks(const char *call, const hr_read_context *reading) {
    if (reading == NULL) {
        note("%s for nothing\n", call);
        return;
    }
    hr_read_info info = HR_READ_INFO_INIT;
    assert_int_equal(hr_read_context_describe(reading, &info, NULL), HR_OK);
    uint64_t n = 0;
    for (hr_read_chunk chunk = HR_READ_CHUNK_INIT;
         hr_read_context_next_chunk(reading, &chunk) != 0; n++) {
        note("%s", call);
        for (int32_t i = 0; i < info.array->ndim; i++) {
            note(" %" PRId64 "+%" PRId64, chunk.start[i], chunk.shape[i]);
        }
        note_uses(reading, &chunk);
        note("%s%s\n", info.strict ? " strict" : "",
             info.skip_checksums ? " unchecked" : "");
    }
    assert_int_equal(n, info.nchunks);
}

static void on_open(void *probe, const char *key, const hr_read_context *reading) {
    diary *d = probe;
    pthread_mutex_lock(&d->lock);
    note_chunks(key, reading);
    pthread_mutex_unlock(&d->lock);
}

static void on_read(void *probe, const hr_read_context *reading, uint64_t offset,
                    uint64_t nbytes) {
    diary *d = probe;
    char call[64];
    (void)snprintf(call, sizeof call, "read %d+%d", (int)offset, (int)nbytes);
    pthread_mutex_lock(&d->lock);
    note_chunks(call, reading);
    pthread_mutex_unlock(&d->lock);
}

static int set_up(void **state) {
    (void)state;
    memset(&w, 0, sizeof w);
    assert_int_equal(hr_context_create(NULL, &w.context, NULL), HR_OK);
    assert_int_equal(hr_store_create_memory(w.context, &w.memory, NULL), HR_OK);
    w.forward.on_open = on_open;
    w.forward.on_read = on_read;
    w.forward.probe = &w.diary;
    pthread_mutex_init(&w.diary.lock, NULL);
    put_plain_array(w.memory, "a");
    w.store = forward_create(w.context, w.memory, &w.forward);
    assert_int_equal(hr_open_store(w.store, "a", NULL, &w.array, NULL), HR_OK);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(atomic_load(&w.forward.ntold), 0);
    hr_node_unref(w.array);
    hr_store_unref(w.memory);
    hr_store_unref(w.store);
    hr_context_unref(w.context);
    pthread_mutex_destroy(&w.diary.lock);
    return 0;
}

static hr_request axes_request(int i, char *user, const hr_axis *axes, int32_t ndim,
                               const int64_t *shape) {
    hr_request r = request(w.array, w.out[i], ndim, shape);
    r.selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = axes};
    r.user = user;
    return r;
}

static void read_requests(const hr_request *requests, size_t n,
                          const hr_read_options *options) {
    hr_batch *batch = NULL;
    hr_error err = HR_ERROR_INIT;
    if (hr_read_submit(w.context, requests, n, NULL, options, &batch, &err) != HR_OK ||
        hr_batch_wait(batch, -1, &err) != HR_OK) {
        fail_msg("%s", err.message);
    }
    hr_batch_unref(batch);
}

static int count_lines(void) {
    int n = 0;
    for (const char *p = w.diary.text; (p = strchr(p, '\n')) != NULL; p++) {
        n++;
    }
    return n;
}

/* One of the lines, whole. */
static void assert_noted(const char *line) {
    char framed[1024], text[sizeof w.diary.text + 1];
    (void)snprintf(framed, sizeof framed, "\n%s\n", line);
    (void)snprintf(text, sizeof text, "\n%s", w.diary.text);
    if (strstr(text, framed) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", line, w.diary.text);
    }
}

static char first[] = "the first", second[] = "the second";

static void slices_with_steps_are_told_per_chunk(void **state) {
    (void)state;
    const hr_axis axes[2] = {{.start = 8, .stop = HR_NONE, .step = -3},
                             {.kind = HR_AXIS_INTEGER, .start = 2}};
    const int64_t shape[1] = {3}; /* rows 8, 5, 2 of column 2 */
    hr_request r = axes_request(0, first, axes, 1, shape);
    read_requests(&r, 1, NULL);
    assert_int_equal(w.out[0][1], element(5, 2));
#define USE "; request 0 for the first, <i4 on 1, 1 of "
    assert_noted("a/c/2/0 8+4 0+5" USE "0:1:1 (1) 2:3:1 (1)");
    assert_noted("a/c/1/0 4+4 0+5" USE "1:2:1 (1) 2:3:1 (1)");
    assert_noted("a/c/0/0 0+4 0+5" USE "2:3:1 (1) 2:3:1 (1)");
    assert_noted("read 0+80 4+4 0+5" USE "1:2:1 (1) 2:3:1 (1)");
    assert_int_equal(count_lines(), 6);
}

static void slices_backwards_end_before_the_first_element(void **state) {
    (void)state;
    const hr_axis axes[2] = {{.start = 3, .stop = HR_NONE, .step = -1},
                             {.start = 0, .stop = 5, .step = 2}};
    const int64_t shape[2] = {4, 3};
    hr_request r = axes_request(0, NULL, axes, 2, shape);
    const hr_read_options o = {.struct_size = sizeof o, .strict = 1, .skip_checksums = 1};
    read_requests(&r, 1, &o);
    assert_noted("a/c/0/0 0+4 0+5; request 0 for nobody, <i4 on 1, 12 of "
                 "3::-1 (4) 0:5:2 (3) strict unchecked");
    assert_int_equal(count_lines(), 2);
}

static void every_request_that_shares_a_chunk_is_told(void **state) {
    (void)state;
    const hr_axis one[2] = {{.start = 0, .stop = 2}, {.start = 4, .stop = 6}};
    const int64_t rows[] = {1, 0, 3, 9};
    const hr_axis other[2] = {{.kind = HR_AXIS_INDICES, .indices = rows, .nindices = 3},
                              {.start = 0, .stop = 1}};
    const int64_t shapes[2][2] = {{2, 2}, {3, 1}};
    hr_request r[3] = {axes_request(0, first, one, 2, shapes[0]),
                       axes_request(1, second, other, 2, shapes[1]),
                       axes_request(2, NULL, one, 2, shapes[0])};
    assert_int_equal(hr_dtype_parse("<i8", &r[1].dst.dtype, NULL), HR_OK);
    r[1].allow_cast = 1;
    hr_packing packing = HR_PACKING_INIT;
    assert_int_equal(hr_dtype_parse("<f4", &r[2].dst.dtype, NULL), HR_OK);
    r[2].packing = &packing;
    read_requests(r, 3, NULL);
    assert_noted("a/c/0/0 0+4 0+5"
                 "; request 2 for nobody, <f4 on 1 packed, 2 of 0:2:1 (2) 4:5:1 (1)"
                 "; request 1 for the second, <i8 on 1, 3 of list 1,0,3 (3) 0:1:1 (1)"
                 "; request 0 for the first, <i4 on 1, 2 of 0:2:1 (2) 4:5:1 (1)");
    assert_noted("a/c/0/1 0+4 5+5"
                 "; request 2 for nobody, <f4 on 1 packed, 2 of 0:2:1 (2) 0:1:1 (1)"
                 "; request 0 for the first, <i4 on 1, 2 of 0:2:1 (2) 0:1:1 (1)");
    assert_int_equal(count_lines(), 4);
}

static void repeats_and_points_are_told(void **state) {
    (void)state;
    const int64_t rows[] = {7, 7};
    const hr_axis axes[2] = {{.kind = HR_AXIS_INDICES, .indices = rows, .nindices = 2},
                             {.start = 11, .stop = 12}};
    const int64_t shapes[2][2] = {{2, 1}, {4}};
    const int64_t points[] = {9, 0, 8, 4, 9, 2, -1, -1};
    hr_request r[2] = {axes_request(0, first, axes, 2, shapes[0]),
                       request(w.array, w.out[1], 1, shapes[1])};
    r[1].selection =
        (hr_selection){.kind = HR_SELECT_POINTS, .npoints = 4, .points = points};
    read_requests(r, 2, NULL);
    assert_noted("a/c/1/2 4+4 10+5; request 0 for the first, <i4 on 1, 2 of "
                 "3:4:0 (2) 1:2:1 (1)");
    assert_noted("a/c/2/0 8+4 0+5; request 1 for nobody, <i4 on 1, 3 of "
                 "list 5,4,7 (3) points");
    assert_noted("a/c/2/2 8+4 10+5; request 1 for nobody, <i4 on 1, 1 of "
                 "6:7:1 (1) points");
}

/* uint16 [12] in shards of [6] with inner chunks of [2]: element i is i. */
static void put_shards(void) {
    static const char meta[] =
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[12],\"data_type\":"
        "\"uint16\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{"
        "\"chunk_shape\":[6]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
        "\"fill_value\":0,\"codecs\":[{\"name\":\"sharding_indexed\",\"configuration\":{"
        "\"chunk_shape\":[2],\"codecs\":[{\"name\":\"bytes\",\"configuration\":{"
        "\"endian\":\"little\"}}],\"index_codecs\":[{\"name\":\"bytes\","
        "\"configuration\":{\"endian\":\"little\"}}]}}]}";
    put(w.memory, "s/zarr.json", meta, sizeof meta - 1);
    for (uint16_t k = 0; k < 2; k++) {
        uint8_t shard[12 + 3 * 16];
        for (uint16_t i = 0; i < 6; i++) {
            const uint16_t value = (uint16_t)(6 * k + i);
            memcpy(shard + 2 * (size_t)i, &value, 2);
        }
        for (uint64_t i = 0; i < 3; i++) {
            const uint64_t pair[2] = {4 * i, 4};
            memcpy(shard + 12 + 16 * i, pair, 16);
        }
        char key[16];
        (void)snprintf(key, sizeof key, "s/c/%d", k);
        put(w.memory, key, shard, sizeof shard);
    }
}

static void shards_are_told_by_their_inner_chunks(void **state) {
    (void)state;
    put_shards();
    hr_node_unref(w.array);
    assert_int_equal(hr_open_store(w.store, "s", NULL, &w.array, NULL), HR_OK);
    const hr_axis axes[1] = {{.start = 3, .stop = 12, .step = 2}};
    const int64_t shape[1] = {5};
    hr_request r = axes_request(0, first, axes, 1, shape);
    r.selection.naxes = 1;
    assert_int_equal(hr_dtype_parse("<u2", &r.dst.dtype, NULL), HR_OK);
    read_requests(&r, 1, NULL);
#undef USE
#define USE "; request 0 for the first, <u2 on 1, 1 of 1:2:1 (1)"
    assert_noted("s/c/0 2+2" USE);
    assert_noted("s/c/0 4+2" USE);
    assert_noted("s/c/1 6+2" USE);
    assert_noted("read 12+48 2+2" USE); /* the index, for all that it is asked for */
    assert_noted("read 4+8 2+2" USE);   /* two chunks in one range */
    assert_noted("read 4+8 4+2" USE);
    assert_noted("read 0+12 10+2" USE);
    assert_int_equal(count_lines(), 5 + 5 + 5);
}

static void devices_are_told(void **state) {
    (void)state;
    const hr_device simt = {.type = HR_DEVICE_SIMT};
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe(simt, &info, NULL) != HR_OK) {
        print_message("skipped: built without the simt device\n");
        skip();
    }
    void *memory = NULL;
    assert_int_equal(hr_memory_alloc(w.context, simt, 8, &memory, NULL), HR_OK);
    const hr_axis axes[2] = {{.start = 0, .stop = 2}, {.start = 0, .stop = 1}};
    const int64_t shape[2] = {2, 1};
    hr_request r = axes_request(0, first, axes, 2, shape);
    r.dst.device = simt;
    r.dst.data = memory;
    read_requests(&r, 1, NULL);
    hr_memory_free(w.context, simt, memory);
    assert_noted("a/c/0/0 0+4 0+5; request 0 for the first, <i4 on 3, 2 of "
                 "0:2:1 (2) 0:1:1 (1)");
    assert_noted("read 0+80 0+4 0+5; request 0 for the first, <i4 on 3, 2 of "
                 "0:2:1 (2) 0:1:1 (1)");
}

static void nothing_is_told_of_nothing(void **state) {
    (void)state;
    hr_read_info info = HR_READ_INFO_INIT;
    hr_read_chunk chunk = HR_READ_CHUNK_INIT;
    hr_read_use use = HR_READ_USE_INIT;
    assert_int_equal(hr_read_context_describe(NULL, &info, NULL), HR_ERR_ARGUMENT);
    assert_int_equal(hr_read_context_next_chunk(NULL, &chunk), 0);
    assert_int_equal(hr_read_context_next_use(NULL, &chunk, &use), 0);
    assert_null(chunk.at);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(slices_with_steps_are_told_per_chunk),
        TEST(slices_backwards_end_before_the_first_element),
        TEST(every_request_that_shares_a_chunk_is_told),
        TEST(repeats_and_points_are_told),
        TEST(shards_are_told_by_their_inner_chunks),
        TEST(devices_are_told),
        TEST(nothing_is_told_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
