/* Waiting, polling, cancelling, and threads that are not there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "probe.h"

/* An allocator that holds up, or refuses, the threads of the pool. */
typedef struct gate {
    probe probe;
    pthread_t main;
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool closed, refuses;
} gate;

static void *gate_alloc(void *user, size_t nbytes) {
    gate *g = user;
    bool refused = false;
    if (!pthread_equal(pthread_self(), g->main)) {
        (void)pthread_mutex_lock(&g->lock);
        while (g->closed) {
            (void)pthread_cond_wait(&g->opened, &g->lock);
        }
        refused = g->refuses;
        (void)pthread_mutex_unlock(&g->lock);
    }
    return refused ? NULL : probe_alloc(&g->probe, nbytes);
}

static void gate_free(void *user, void *ptr, size_t nbytes) {
    probe_free(&((gate *)user)->probe, ptr, nbytes);
}

static void set_gate(gate *g, bool closed, bool refuses) {
    (void)pthread_mutex_lock(&g->lock);
    g->closed = closed;
    g->refuses = refuses;
    (void)pthread_cond_broadcast(&g->opened);
    (void)pthread_mutex_unlock(&g->lock);
}

typedef struct world {
    gate gate;
    hr_context *context;
    hr_store *store;
    hr_node *array;
    double out[NROWS][NCOLS]; /* not the array's type: nothing is read straight into it */
    hr_error err;
} world;

static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    w->gate = (gate){.probe = {.refuse_from = -1}, .main = pthread_self()};
    (void)pthread_mutex_init(&w->gate.lock, NULL);
    (void)pthread_cond_init(&w->gate.opened, NULL);
    hr_allocator a = {.struct_size = sizeof a,
                      .user = &w->gate,
                      .alloc = gate_alloc,
                      .free = gate_free};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    o.allocator = &a;
    w->err = HR_ERROR_INIT;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    put_plain_array(w->store, "a");
    assert_int_equal(hr_open_store(w->store, "a", NULL, &w->array, &w->err), HR_OK);
    *state = w;
    (void)alarm(60); /* what hangs fails */
    return 0;
}

static int end_world(void **state) {
    world *w = *state;
    (void)alarm(0);
    hr_node_unref(w->array);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    assert_int_equal(atomic_load(&w->gate.probe.nlive), 0);
    (void)pthread_mutex_destroy(&w->gate.lock);
    (void)pthread_cond_destroy(&w->gate.opened);
    free(w);
    return 0;
}

static const int64_t whole[] = {NROWS, NCOLS};

static hr_request cast_request(hr_node *array, void *out) {
    hr_request r = request(array, out, 2, whole);
    assert_int_equal(hr_dtype_parse("<f8", &r.dst.dtype, NULL), HR_OK);
    r.allow_cast = 1;
    return r;
}

static hr_batch *submit(world *w) {
    hr_request r = cast_request(w->array, w->out);
    hr_batch *b = NULL;
    memset(w->out, 0, sizeof w->out);
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err), HR_OK);
    return b;
}

static bool is_right(double out[NROWS][NCOLS]) {
    for (int i = 0; i < NROWS; i++) {
        for (int j = 0; j < NCOLS; j++) {
            if (out[i][j] != expected(i, j)) {
                return false;
            }
        }
    }
    return true;
}

static double seconds(clockid_t clock) {
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void a_deadline_is_kept_and_costs_no_time(void **state) {
    world *w = *state;
    set_gate(&w->gate, true, false);
    hr_batch *b = submit(w); /* more objects than threads: there is work to begin with */
    static const int64_t timeouts[] = {0, 1, 1000, 1000000, 400000000};
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        double before = seconds(CLOCK_MONOTONIC);
        assert_int_equal(hr_batch_wait(b, timeouts[i], &w->err), HR_ERR_TIMEOUT);
        double waited = seconds(CLOCK_MONOTONIC) - before;
        assert_true(waited >= (double)timeouts[i] * 1e-9 && waited < 5);
    }
    assert_true(seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu < 0.2);
    assert_int_equal(hr_batch_poll(b), 0);
    assert_int_equal(hr_batch_error(b, 0, &w->err), HR_ERR_TIMEOUT);
    set_gate(&w->gate, false, false);
    assert_int_equal(hr_batch_wait(b, INT64_MAX, &w->err), HR_OK);
    assert_int_equal(hr_batch_poll(b), 1);
    assert_int_equal(hr_batch_wait(b, 0, &w->err), HR_OK);
    assert_true(is_right(w->out));
    hr_batch_unref(b);
}

static void *open_later(void *arg) {
    (void)usleep(100000);
    set_gate(arg, false, false);
    return NULL;
}

static void a_cancelled_batch_ends_early(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        void *fresh = NULL; /* whose threads have no memory yet, and must ask for some */
        assert_int_equal(make_world(&fresh), 0);
        world *w = fresh;
        set_gate(&w->gate, true, false);
        hr_batch *b = submit(w);
        (void)usleep(i % 2 == 0 ? 0 : 20000);
        hr_batch_cancel(b);
        assert_int_equal(hr_batch_wait(b, 1000000, &w->err), HR_ERR_TIMEOUT);
        pthread_t opener;
        assert_int_equal(pthread_create(&opener, NULL, open_later, &w->gate), 0);
        if (i < 2) {
            assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_ERR_CANCELLED);
            assert_int_equal(hr_batch_error(b, 0, &w->err), HR_ERR_CANCELLED);
        }
        hr_batch_unref(b); /* waits for who is inside */
        memset(w->out, 0, sizeof w->out);
        (void)pthread_join(opener, NULL);
        b = submit(w);
        assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
        assert_true(is_right(w->out));
        hr_batch_unref(b);
        assert_int_equal(end_world(&fresh), 0);
    }
}

/* However the caller waits, a batch ends, also where the threads can have no memory, or
 * where there can be no threads. */
static void without_memory_for_the_threads_a_batch_still_ends(void **state) {
    world *w = *state;
    set_gate(&w->gate, false, true);
    for (int i = 0; i < 20; i++) {
        hr_batch *b = submit(w);
        while (i % 2 == 0 ? hr_batch_poll(b) == 0
                          : hr_batch_wait(b, 1000, NULL) == HR_ERR_TIMEOUT) {
            (void)usleep(100);
        }
        assert_int_equal(hr_batch_error(b, 0, &w->err), HR_ERR_MEMORY);
        assert_true(w->err.message[0] != '\0' && strncmp(w->err.key, "a/c/", 4) == 0);
        hr_batch_unref(b);
    }
    set_gate(&w->gate, false, false);
    hr_batch *b = submit(w);
    assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
    assert_true(is_right(w->out));
    hr_batch_unref(b);
}

static void without_threads_a_batch_still_ends(void **state) {
    world *w = *state;
    pthread_attr_t usual;
    pthread_attr_t absurd;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_getattr_default_np(&absurd), 0);
    assert_int_equal(pthread_attr_setstacksize(&absurd, (size_t)1 << 50), 0);
    assert_int_equal(pthread_setattr_default_np(&absurd), 0);
    hr_batch *b = submit(w);
    assert_int_equal(hr_batch_poll(b), 1);
    assert_int_equal(hr_batch_wait(b, 0, &w->err), HR_OK);
    assert_true(is_right(w->out));
    hr_batch_unref(b);
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
}

typedef struct crowd {
    hr_context *context;
    hr_node *array;
} crowd;

/* One of many: reads in every way that there is. Returns what went wrong. */
static void *read_often(void *arg) {
    crowd *c = arg;
    double out[NROWS][NCOLS];
    hr_request r = cast_request(c->array, out);
    for (int i = 0; i < 60; i++) {
        hr_batch *b = NULL;
        memset(out, 0, sizeof out);
        if (hr_read_submit(c->context, &r, 1, NULL, NULL, &b, NULL) != HR_OK) {
            return "submit";
        }
        if (i % 4 == 0) {
            hr_batch_cancel(b);
        }
        hr_status status = HR_OK;
        if (i % 3 == 0) {
            while ((status = hr_batch_wait(b, 100000, NULL)) == HR_ERR_TIMEOUT) {
            }
        } else {
            status = hr_batch_wait(b, -1, NULL);
        }
        hr_batch_unref(b);
        if (status == HR_OK ? !is_right(out) : i % 4 != 0 || status != HR_ERR_CANCELLED) {
            return "result";
        }
    }
    return NULL;
}

static void sixty_four_threads_share_a_context(void **state) {
    world *w = *state;
    enum { N = 64 };
    pthread_t threads[N];
    crowd c = {.context = w->context, .array = w->array};
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, &c), 0);
    }
    for (int i = 0; i < N; i++) {
        void *problem = NULL;
        (void)pthread_join(threads[i], &problem);
        assert_null(problem);
    }
}

static int count_entries(const char *path) {
    DIR *d = opendir(path);
    assert_non_null(d);
    int n = 0;
    while (readdir(d) != NULL) {
        n++;
    }
    (void)closedir(d);
    return n;
}

static void contexts_leave_nothing_behind(void **state) {
    (void)state;
    int nfds = count_entries("/proc/self/fd");
    for (int i = 0; i < 200; i++) {
        void *fresh = NULL;
        assert_int_equal(make_world(&fresh), 0);
        world *w = fresh;
        hr_batch *b = submit(w);
        if (i % 2 == 0) {
            assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
        }
        hr_batch_unref(b);
        hr_request r = cast_request(w->array, w->out);
        r.dst.device.type = HR_DEVICE_SIMT;
        if (i % 10 == 0 &&
            hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err) == HR_OK) {
            assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
            hr_batch_unref(b);
        }
        assert_int_equal(end_world(&fresh), 0);
    }
    assert_int_equal(count_entries("/proc/self/fd"), nfds);
    /* the kernel may list a thread for a moment after it was joined */
    for (int i = 0; i < 1000 && count_entries("/proc/self/task") > 4; i++) {
        (void)usleep(1000);
    }
    assert_in_range(count_entries("/proc/self/task"), 3, 4); /* ".", "..", us */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_deadline_is_kept_and_costs_no_time),
        cmocka_unit_test(a_cancelled_batch_ends_early),
        TEST(without_memory_for_the_threads_a_batch_still_ends),
        TEST(without_threads_a_batch_still_ends),
        TEST(sixty_four_threads_share_a_context),
        cmocka_unit_test(contexts_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
