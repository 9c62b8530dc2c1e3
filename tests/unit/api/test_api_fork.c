/* Forks amid reads by several threads. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "support/sanitizers.h"

enum { NARRAYS = 3, LENGTH = 12 };

typedef struct world {
    hr_context *context;
    hr_store *store;
    hr_node *group;
    hr_node *arrays[NARRAYS];
    atomic_bool stop;
} world;

static void put_json(hr_store *store, const char *key, const char *grid,
                     const char *codecs) {
    char meta[1024];
    (void)snprintf(meta, sizeof meta,
                   "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[12],"
                   "\"data_type\":\"uint8\",\"chunk_grid\":%s,\"chunk_key_encoding\":"
                   "{\"name\":\"default\"},\"codecs\":[%s],\"fill_value\":0}",
                   grid, codecs);
    put(store, key, meta, strlen(meta));
}

/* Element i is i: whole chunks, chunks of many lengths, chunks in shards. */
static void put_arrays(hr_store *store) {
    const char *group = "{\"zarr_format\":3,\"node_type\":\"group\"}";
    const char *plain = "{\"name\":\"bytes\"}";
    uint8_t shard[6 + 3 * 16];
    uint8_t values[LENGTH];
    for (uint8_t i = 0; i < LENGTH; i++) {
        values[i] = i;
    }
    put(store, "zarr.json", group, strlen(group));
    put_json(store, "plain/zarr.json",
             "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[6]}}", plain);
    put_json(store, "uneven/zarr.json",
             "{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\","
             "\"chunk_shapes\":[[1,2,3,6]]}}",
             plain);
    put_json(store, "shards/zarr.json",
             "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[6]}}",
             "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],"
             "\"codecs\":[{\"name\":\"bytes\"}],\"index_codecs\":[{\"name\":\"bytes\","
             "\"configuration\":{\"endian\":\"little\"}}]}}");
    put(store, "uneven/c/0", values, 1);
    put(store, "uneven/c/1", values + 1, 2);
    put(store, "uneven/c/2", values + 3, 3);
    put(store, "uneven/c/3", values + 6, 6);
    for (uint8_t s = 0; s < 2; s++) {
        memset(shard, 0, sizeof shard);
        memcpy(shard, values + 6 * s, 6);
        for (uint8_t i = 0; i < 3; i++) {
            shard[6 + 16 * i] = (uint8_t)(2 * i);
            shard[6 + 16 * i + 8] = 2;
        }
        put(store, s == 0 ? "shards/c/0" : "shards/c/1", shard, sizeof shard);
        put(store, s == 0 ? "plain/c/0" : "plain/c/1", values + 6 * s, 6);
    }
}

static bool reads_right(world *w) {
    static const int64_t shape[] = {LENGTH};
    uint8_t out[NARRAYS][LENGTH];
    hr_request r[NARRAYS];
    hr_batch *b = NULL;
    memset(out, 0xFF, sizeof out);
    for (int k = 0; k < NARRAYS; k++) {
        r[k] = HR_REQUEST_INIT;
        r[k].array = w->arrays[k];
        r[k].dst = (hr_tensor){.data = out[k], .ndim = 1, .shape = shape};
        r[k].dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    }
    bool ok = hr_read_submit(w->context, r, NARRAYS, NULL, NULL, &b, NULL) == HR_OK &&
              hr_batch_wait(b, -1, NULL) == HR_OK;
    for (int i = 0; ok && i < NARRAYS * LENGTH; i++) {
        ok = out[i / LENGTH][i % LENGTH] == i % LENGTH;
    }
    hr_batch_unref(b);
    return ok;
}

/* Everything that takes a lock. */
static bool uses_everything(world *w) {
    hr_member_list *list = NULL;
    hr_node *again = NULL;
    bool ok = reads_right(w) && hr_store_set(w->store, "k", "v", 1, NULL) == HR_OK &&
              hr_node_list(w->group, 1, &list, NULL) == HR_OK &&
              hr_member_list_size(list) == NARRAYS &&
              hr_node_open(w->group, "uneven", &again, NULL) == HR_OK;
    hr_member_list_free(list);
    hr_node_unref(again);
    return ok;
}

static void *use_often(void *arg) {
    world *w = arg;
    bool ok = true;
    while (ok && !atomic_load(&w->stop)) {
        ok = uses_everything(w);
    }
    return ok ? NULL : "a thread of the parent read wrong values";
}

static void release(world *w) {
    for (int k = 0; k < NARRAYS; k++) {
        hr_node_unref(w->arrays[k]);
    }
    hr_node_unref(w->group);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
}

static int child(world *w) {
    (void)alarm(60); /* a hang kills */
    for (int i = 0; i < 3; i++) {
        if (!uses_everything(w)) {
            return 1;
        }
    }
    release(w);
    return 0;
}

static void open_world(world *w, uint32_t nthreads) {
    static const char *const names[NARRAYS] = {"plain", "uneven", "shards"};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = nthreads;
    assert_int_equal(hr_context_create(&o, &w->context, NULL), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, NULL), HR_OK);
    put_arrays(w->store);
    assert_int_equal(hr_open_store(w->store, "", NULL, &w->group, NULL), HR_OK);
    for (int k = 0; k < NARRAYS; k++) {
        assert_int_equal(hr_node_open(w->group, names[k], &w->arrays[k], NULL), HR_OK);
    }
}

static void children_of_a_busy_process_read(void **state) {
    (void)state;
    SKIP_UNDER_TSAN();
    SKIP_UNDER_ASAN();
    enum { NTHREADS = 4, NCHILDREN = 100 };
    world w = {.stop = false};
    open_world(&w, 3);
    pthread_t threads[NTHREADS];
    for (int i = 0; i < NTHREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_often, &w), 0);
    }
    for (int i = 0; i < NCHILDREN; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            _exit(child(&w));
        }
        int result = -1;
        assert_int_equal(waitpid(pid, &result, 0), pid);
        assert_true(WIFEXITED(result));
        assert_int_equal(WEXITSTATUS(result), 0);
    }
    atomic_store(&w.stop, true);
    for (int i = 0; i < NTHREADS; i++) {
        void *problem = NULL;
        (void)pthread_join(threads[i], &problem);
        assert_null(problem);
    }
    release(&w);
}

/* Whichever way the child asks, it hears at once that the batch is not its own. */
static void a_batch_of_the_parent_ends_in_the_child(void **state) {
    (void)state;
    SKIP_UNDER_TSAN();
    SKIP_UNDER_ASAN();
    world w = {.stop = false};
    open_world(&w, 1);
    uint8_t out[LENGTH];
    static const int64_t shape[] = {LENGTH};
    hr_request r = HR_REQUEST_INIT;
    r.array = w.arrays[0];
    r.dst = (hr_tensor){.data = out, .ndim = 1, .shape = shape};
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    for (int i = 0; i < 20; i++) {
        hr_batch *b = NULL;
        assert_int_equal(hr_read_submit(w.context, &r, 1, NULL, NULL, &b, NULL), HR_OK);
        pid_t pid = fork();
        if (pid == 0) {
            (void)alarm(60);
            while (hr_batch_poll(b) == 0) {
            }
            hr_batch_cancel(b);
            bool ok = hr_batch_wait(b, -1, NULL) == HR_ERR_FORKED &&
                      hr_batch_wait(b, 1, NULL) == HR_ERR_FORKED &&
                      hr_batch_wait_on_stream(b, NULL, NULL) == HR_ERR_FORKED &&
                      hr_batch_error(b, 0, NULL) == HR_ERR_FORKED;
            hr_batch_unref(b);
            release(&w);
            _exit(ok ? 0 : 1);
        }
        int result = -1;
        assert_int_equal(waitpid(pid, &result, 0), pid);
        assert_true(WIFEXITED(result));
        assert_int_equal(WEXITSTATUS(result), 0);
        assert_int_equal(hr_batch_wait(b, -1, NULL), HR_OK);
        hr_batch_unref(b);
    }
    release(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_of_a_busy_process_read),
        cmocka_unit_test(a_batch_of_the_parent_ends_in_the_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
