/* CUDA devices over a stand-in for the driver: whose context is current, what a driver
 * that is missing something or fails leads to. SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_cuda.h"
#include "fixture.h"

enum { OUT_OF_MEMORY = 2, OPERATING_SYSTEM = 304, ILLEGAL_ADDRESS = 700 };

static const hr_device cuda = {.type = HR_DEVICE_CUDA};
static const int64_t shape[] = {NROWS, NCOLS};
#define NBYTES (sizeof(int32_t) * NROWS * NCOLS)

static fake_cuda *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library == NULL ? NULL : dlsym(library, "hr_fake_cuda");
}

/* What a process is told whose driver lacks something, or whose cuInit gives `init`. */
static void assert_refused(const char *path, int init, const char *message) {
    pid_t child = fork(); /* a process opens the driver once */
    if (child == 0) {
        fake_cuda *f = load(path);
        hr_error err = HR_ERROR_INIT;
        hr_device_info info = HR_DEVICE_INFO_INIT;
        hr_context *context = NULL;
        void *ptr = NULL;
        bool good = f != NULL;
        if (good) {
            atomic_store(&f->init, init);
            good = hr_device_describe(cuda, &info, &err) == HR_ERR_DEVICE &&
                   strcmp(err.message, message) == 0 && err.device_code == init &&
                   hr_context_create(NULL, &context, &err) == HR_OK &&
                   hr_memory_alloc(context, cuda, 1, &ptr, &err) == HR_ERR_DEVICE &&
                   strcmp(err.message, message) == 0 && atomic_load(&f->ncalls) == 0;
        }
        hr_context_unref(context);
        if (!good) {
            print_message("%s, not %s\n", err.message, message);
        }
        _exit(good ? 0 : 1);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
}

static void a_driver_that_lacks_a_function_is_named_too_old(void **state) {
    (void)state;
    assert_refused(HR_FAKE_CUDA_OLD, 0,
                   "CUDA driver too old: libcuda.so.1 has no cuEventElapsedTime");
}

static void what_cuinit_says_is_passed_on(void **state) {
    (void)state;
    assert_refused(HR_FAKE_CUDA, 100, "cuInit: CUDA_ERROR_NO_DEVICE (no device)");
    assert_refused(HR_FAKE_CUDA, 35,
                   "cuInit: CUDA_ERROR_INSUFFICIENT_DRIVER (insufficient driver)");
    assert_refused(HR_FAKE_CUDA, 999, "cuInit: CUDA_ERROR_UNKNOWN (unknown error)");
    assert_refused(HR_FAKE_CUDA, 12345, "cuInit: unknown CUDA error (no description)");
}

typedef struct world {
    fake_cuda *driver;
    char own;          /* its address is the caller's context */
    atomic_long nhost; /* the library's blocks of host memory */
    hr_context *context;
    hr_store *store;
    hr_node *array;
    hr_error err;
} world;

/* From now on: calls from the n-th on, `count` of them, fail. */
static void fail_calls(world *w, long n, long count, int error) {
    atomic_store(&w->driver->ncalls, 0);
    atomic_store(&w->driver->failed, NULL);
    atomic_store(&w->driver->error, error);
    atomic_store(&w->driver->fail_from, n);
    atomic_store(&w->driver->fail_to, count > LONG_MAX - n ? LONG_MAX : n + count);
}

static void *host_alloc(void *user, size_t nbytes) {
    void *ptr = NULL;
    if (posix_memalign(&ptr, 64, nbytes) != 0) {
        return NULL;
    }
    atomic_fetch_add(&((world *)user)->nhost, 1);
    return ptr;
}

static void host_free(void *user, void *ptr, size_t nbytes) {
    (void)nbytes;
    atomic_fetch_sub(&((world *)user)->nhost, ptr != NULL);
    free(ptr);
}

static void open_world(world *w) {
    const hr_allocator allocator = {.struct_size = sizeof allocator,
                                    .user = w,
                                    .alloc = host_alloc,
                                    .free = host_free};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.allocator = &allocator;
    o.nthreads = 2;
    w->err = HR_ERROR_INIT;
    atomic_store(&w->driver->nswept, 0);
    atomic_store(&w->driver->nwrong, 0);
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_store_create_memory(w->context, &w->store, &w->err), HR_OK);
    put_plain_array(w->store, "a");
    assert_int_equal(hr_open_store(w->store, "a", NULL, &w->array, &w->err), HR_OK);
}

static void close_world(world *w) {
    hr_node_unref(w->array);
    hr_store_unref(w->store);
    hr_context_unref(w->context);
    assert_int_equal(atomic_load(&w->nhost), 0);
    assert_int_equal(atomic_load(&w->driver->nretained), 0);
    assert_int_equal(atomic_load(&w->driver->nlive), 0);
    assert_int_equal(atomic_load(&w->driver->depth), 1); /* of any thread */
}

static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->driver = load(HR_FAKE_CUDA);
    assert_non_null(w->driver);
    w->driver->push(&w->own);
    fail_calls(w, 0, 0, 0);
    *state = w;
    return 0;
}

static int end_world(void **state) {
    world *w = *state;
    assert_ptr_equal(w->driver->pop(), &w->own);
    free(w);
    return 0;
}

static void need_kernels(void) {
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr_device_describe(cuda, &info, &err), HR_OK);
    if (!info.has_kernels) {
        print_message("skipped: built without kernels, so no device is opened\n");
        skip();
    }
}

/* The status, of a call after which the caller's context is the current one. */
static hr_status as_found(world *w, hr_status status) {
    void *top = w->driver->pop();
    assert_ptr_equal(top, &w->own);
    w->driver->push(top);
    return status;
}

static hr_status read_to(world *w, hr_device device, void *dst) {
    hr_request r = request(w->array, dst, 2, shape);
    hr_batch *b = NULL;
    r.dst.device = device;
    hr_status status =
        as_found(w, hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err));
    if (status != HR_OK) {
        return status;
    }
    status = as_found(w, hr_batch_wait_on_stream(b, NULL, &w->err));
    hr_status waited =
        as_found(w, hr_batch_wait(b, -1, status == HR_OK ? &w->err : NULL));
    hr_batch_unref(b);
    (void)as_found(w, HR_OK);
    return status == HR_OK ? waited : status;
}

/* Every public call that comes to a device. The first failure. */
static hr_status use_device(world *w) {
    hr_device_info info = HR_DEVICE_INFO_INIT;
    uint8_t bytes[NBYTES];
    void *dst = NULL;
    w->err = HR_ERROR_INIT;
    hr_status status = as_found(w, hr_device_describe(cuda, &info, &w->err));
    if (status == HR_OK) {
        status = as_found(w, hr_memory_alloc(w->context, cuda, NBYTES, &dst, &w->err));
    }
    if (status == HR_OK) {
        status = read_to(w, cuda, dst);
    }
    if (status == HR_OK) {
        status =
            as_found(w, hr_memory_to_host(w->context, cuda, bytes, dst, NBYTES, &w->err));
    }
    hr_memory_free(w->context, cuda, dst);
    return as_found(w, status);
}

static void assert_host_reads(world *w) {
    int32_t out[NROWS * NCOLS];
    assert_int_equal(read_to(w, (hr_device){.type = HR_DEVICE_CPU}, out), HR_OK);
    for (int64_t i = 0; i < NROWS * NCOLS; i++) {
        assert_int_equal(out[i], expected(i / NCOLS, i % NCOLS));
    }
}

static void a_device_is_described_without_a_context(void **state) {
    world *w = *state;
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(as_found(w, hr_device_describe(cuda, &info, &err)), HR_OK);
    assert_string_equal(info.name, "stand-in");
    assert_string_equal(info.driver, "CUDA 13.0");
    assert_int_equal(info.compute_major, 12);
    assert_int_equal(atomic_load(&w->driver->nretained), 0);
}

static void describing_fails_with_any_call_of_it(void **state) {
    world *w = *state;
    hr_device_info info = HR_DEVICE_INFO_INIT;
    long n = 0;
    for (bool reached = true; reached; n++) {
        hr_error err = HR_ERROR_INIT;
        fail_calls(w, n, 1, OPERATING_SYSTEM);
        hr_status status = as_found(w, hr_device_describe(cuda, &info, &err));
        reached = atomic_load(&w->driver->failed) != NULL;
        assert_int_equal(status, reached ? HR_ERR_DEVICE : HR_OK);
        assert_int_equal(err.device_code, reached ? OPERATING_SYSTEM : 0);
    }
    assert_in_range(n, 8, 20);
}

static void the_callers_context_stays_current(void **state) {
    world *w = *state;
    need_kernels();
    open_world(w);
    for (int i = 0; i < 3; i++) {
        if (use_device(w) != HR_OK) {
            fail_msg("%s", w->err.message);
        }
    }
    close_world(w);
    assert_int_equal(w->driver->nswept + w->driver->nwrong, 0);
}

static void assert_named_broken(world *w, hr_status status) {
    assert_int_equal(status, HR_ERR_DEVICE);
    assert_int_equal(w->err.device_code, ILLEGAL_ADDRESS);
    assert_non_null(strstr(w->err.message, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_non_null(strstr(w->err.message, "has broken the process's CUDA context"));
}

static void a_context_broken_elsewhere_is_named_and_the_host_goes_on(void **state) {
    world *w = *state;
    need_kernels();
    for (int spared = 0; spared <= 1; spared++) {
        void *dst = NULL;
        uint8_t byte;
        open_world(w);
        assert_int_equal(hr_memory_alloc(w->context, cuda, NBYTES, &dst, &w->err), HR_OK);
        assert_int_equal(read_to(w, cuda, dst), HR_OK);
        atomic_store(&w->driver->stack_is_spared, spared);
        fail_calls(w, 0, LONG_MAX, ILLEGAL_ADDRESS);
        void *more = NULL;
        assert_named_broken(w, hr_memory_alloc(w->context, cuda, 1, &more, &w->err));
        assert_named_broken(w, read_to(w, cuda, dst));
        assert_named_broken(w,
                            hr_memory_to_host(w->context, cuda, &byte, dst, 1, &w->err));
        assert_host_reads(w);
        hr_memory_free(w->context, cuda, dst);
        close_world(w);
        assert_true(!spared || w->driver->nswept + w->driver->nwrong == 0);
        fail_calls(w, 0, 0, 0);
    }
    atomic_store(&w->driver->stack_is_spared, 0);
}

static bool is_one_of(const char *call, const char *const names[], size_t n) {
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        found = found || strcmp(call, names[i]) == 0;
    }
    return found;
}

/* Calls that may fail without the read failing: what they say came too late, or is the
 * answer to a question; and memory may be had by asking for less. */
static bool may_be_ignored(const char *call, int error) {
    static const char *const makers[] = {"cuMemAlloc", "cuMemHostAlloc", "cuEventCreate",
                                         "cuStreamCreate"};
    static const char *const names[] = {"cuCtxPushCurrent",   "cuCtxPopCurrent",
                                        "cuMemFree",          "cuMemFreeHost",
                                        "cuStreamDestroy",    "cuEventDestroy",
                                        "cuModuleUnload",     "cuDevicePrimaryCtxRelease",
                                        "cuFuncSetAttribute", "cuEventElapsedTime"};
    return is_one_of(call, names, sizeof names / sizeof *names) ||
           (error == OUT_OF_MEMORY &&
            is_one_of(call, makers, sizeof makers / sizeof *makers));
}

/* Every call of a small read fails in turn, or is the first of which all fail. */
static void torture(world *w, long count, int error) {
    long n = 0;
    for (bool reached = true; reached; n++) {
        fail_calls(w, n, count, error);
        open_world(w);
        hr_status status = use_device(w);
        const char *call = atomic_load(&w->driver->failed);
        reached = call != NULL;
        if (!reached && status != HR_OK) {
            fail_msg("%s", w->err.message);
        } else if (reached && status == HR_OK && !may_be_ignored(call, error)) {
            fail_msg("call %ld, %s, failed unnoticed", n, call);
        }
        assert_int_equal(w->err.device_code, status == HR_OK ? 0 : error);
        assert_host_reads(w);
        if (count == 1) {
            fail_calls(w, 0, 0, 0);
            assert_int_equal(use_device(w), HR_OK); /* as if nothing was */
        } else if (reached) {
            assert_named_broken(w, use_device(w));
        }
        close_world(w);
        bool is_outside = reached && strcmp(call, "cuCtxPushCurrent") == 0;
        if (!is_outside && w->driver->nswept + w->driver->nwrong > 0) {
            fail_msg("call %ld, %s: %d left behind, %d wrong", n, call ? call : "none",
                     w->driver->nswept, w->driver->nwrong);
        }
    }
    fail_calls(w, 0, 0, 0);
    assert_in_range(n, 100, 10000);
}

static void any_call_may_fail_once(void **state) {
    need_kernels();
    torture(*state, 1, OPERATING_SYSTEM);
}

static void memory_may_run_out_at_any_call(void **state) {
    need_kernels();
    torture(*state, 1, OUT_OF_MEMORY);
}

static void any_call_may_be_the_first_of_a_broken_context(void **state) {
    world *w = *state;
    need_kernels();
    atomic_store(&w->driver->stack_is_spared, 1);
    torture(w, LONG_MAX, ILLEGAL_ADDRESS);
    atomic_store(&w->driver->stack_is_spared, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        /* These two before this process opens the driver itself. */
        cmocka_unit_test(a_driver_that_lacks_a_function_is_named_too_old),
        cmocka_unit_test(what_cuinit_says_is_passed_on),
        TEST(a_device_is_described_without_a_context),
        TEST(describing_fails_with_any_call_of_it),
        TEST(the_callers_context_stays_current),
        TEST(a_context_broken_elsewhere_is_named_and_the_host_goes_on),
        TEST(any_call_may_fail_once),
        TEST(memory_may_run_out_at_any_call),
        TEST(any_call_may_be_the_first_of_a_broken_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
