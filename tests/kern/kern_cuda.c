/* How the cuda device behaves beside others in a process.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each scenario runs in a process of its own, since CUDA can be broken and cannot be used
 * after a fork. Exits with 77 where there is no device. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/kernel_abi.h"
#include "kern/device_run.h"

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);         \
            return EXIT_FAILURE;                                                         \
        }                                                                                \
    } while (0)

/* The test's own view of the driver. */
typedef int (*get_current_fn)(void **context);
typedef int (*primary_state_fn)(int device, unsigned *flags, int *active);
typedef int (*context_create_fn)(void **context, unsigned flags, int device);

static void *driver_symbol(const char *name) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return driver == NULL ? NULL : dlsym(driver, name);
}

static void *current_context(void) {
    get_current_fn get;
    void *symbol = driver_symbol("cuCtxGetCurrent"), *context = NULL;
    memcpy(&get, &symbol, sizeof get);
    return symbol != NULL && get(&context) == 0 ? context : NULL;
}

static int describing_creates_no_context(void) {
    const hr__device_ops *ops = hr__device_find(HR_DEVICE_CUDA);
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr_error err = HR_ERROR_INIT;
    CHECK(ops->describe(0, &info, &err) == HR_OK);
    printf("%s, %s, compute capability %d.%d, %llu MiB, kernels: %d\n", info.name,
           info.driver, info.compute_major, info.compute_minor,
           (unsigned long long)info.memory_nbytes >> 20, info.has_kernels);
    CHECK(info.has_kernels == 1);
    primary_state_fn state;
    void *symbol = driver_symbol("cuDevicePrimaryCtxGetState");
    unsigned flags;
    int active = 1;
    CHECK(symbol != NULL);
    memcpy(&state, &symbol, sizeof state);
    CHECK(state(0, &flags, &active) == 0 && active == 0);
    CHECK(ops->describe(999, &info, &err) == HR_ERR_DEVICE);
    CHECK(strstr(err.message, "cuda:999") != NULL);
    return EXIT_SUCCESS;
}

static int the_current_context_is_put_back(void) {
    runner r;
    runner_open(&r, "cuda");
    void *primary = current_context();
    CHECK(primary != NULL);
    r.ops->leave(r.device, r.saved);
    CHECK(current_context() == NULL);

    context_create_fn create;
    void *symbol = driver_symbol("cuCtxCreate_v2"), *own = NULL;
    CHECK(symbol != NULL);
    memcpy(&create, &symbol, sizeof create);
    CHECK(create(&own, 0, 0) == 0);
    CHECK(own != primary && current_context() == own);
    CHECK(r.ops->enter(r.device, &r.saved, NULL) == HR_OK);
    CHECK(current_context() == primary);
    r.ops->leave(r.device, r.saved);
    CHECK(current_context() == own);
    CHECK(r.ops->enter(r.device, &r.saved, NULL) == HR_OK);
    runner_close(&r);
    CHECK(current_context() == own);
    return EXIT_SUCCESS;
}

static int a_broken_context_is_named(void) {
    runner r;
    runner_open(&r, "cuda");
    hr_k_scatter params = {.src = 4096, .dst = 8192, .nitems = 1, .itemsize = 4};
    runner_launch(&r, HR__KERNEL_SCATTER, &params);
    hr_error err = HR_ERROR_INIT;
    CHECK(r.ops->stream_sync(r.device, r.stream, &err) == HR_ERR_DEVICE);
    printf("%s\n", err.message);
    CHECK(err.device_code == 700);
    CHECK(strstr(err.message, "CUDA_ERROR_ILLEGAL_ADDRESS") != NULL);
    CHECK(strstr(err.message, "broken the process's CUDA context") != NULL);
    hr__device *second;
    err = HR_ERROR_INIT;
    CHECK(r.ops->open(0, &hr__malloc_allocator, &second, &err) == HR_ERR_DEVICE);
    CHECK(strstr(err.message, "broken the process's CUDA context") != NULL);
    runner_close(&r);
    return EXIT_SUCCESS;
}

static int running_out_of_memory_is_survived(void) {
    runner r;
    runner_open(&r, "cuda");
    hr__devptr p = 0;
    hr_error err = HR_ERROR_INIT;
    CHECK(r.ops->alloc(r.device, UINT64_C(1) << 50, &p, &err) == HR_ERR_MEMORY);
    printf("%s\n", err.message);
    CHECK(err.device_code == 2 && p == 0);
    CHECK(r.ops->alloc(r.device, 1 << 20, &p, &err) == HR_OK);
    r.ops->free(r.device, p);
    runner_close(&r);
    return EXIT_SUCCESS;
}

/* A copy between two events, in ns; 0: it failed. */
static uint64_t time_copy(runner *r, hr__devptr dst, const void *src, uint64_t nbytes,
                          hr__event from, hr__event to) {
    uint64_t ns = 0;
    const bool ok =
        r->ops->event_record(r->device, from, r->stream, NULL) == HR_OK &&
        r->ops->copy_to_device(r->device, r->stream, dst, src, nbytes, NULL) == HR_OK &&
        r->ops->event_record(r->device, to, r->stream, NULL) == HR_OK &&
        r->ops->event_sync(r->device, to, NULL) == HR_OK &&
        r->ops->event_elapsed(r->device, from, to, &ns, NULL) == HR_OK;
    return ok ? ns : 0;
}

static int events_tell_the_time(void) {
    runner r;
    runner_open(&r, "cuda");
    const uint64_t nbytes = UINT64_C(64) << 20;
    hr__devptr dst = runner_alloc(&r, nbytes);
    hr__event from = NULL, to = NULL;
    void *src = NULL;
    uint64_t back = 1;
    CHECK(r.ops->alloc_pinned(r.device, nbytes, &src, NULL) == HR_OK);
    CHECK(r.ops->event_create(r.device, &from, NULL) == HR_OK);
    CHECK(r.ops->event_create(r.device, &to, NULL) == HR_OK);
    (void)time_copy(&r, dst, src, nbytes, from, to);
    const uint64_t whole = time_copy(&r, dst, src, nbytes, from, to);
    const uint64_t part = time_copy(&r, dst, src, nbytes / 16, from, to);
    printf("64 MiB up in %.3f ms, a sixteenth in %.3f ms\n", (double)whole * 1e-6,
           (double)part * 1e-6);
    CHECK(part > 0 && part < whole && whole < 10 * UINT64_C(1000000000));
    CHECK(r.ops->event_elapsed(r.device, to, from, &back, NULL) == HR_OK && back == 0);
    r.ops->event_destroy(r.device, from);
    r.ops->event_destroy(r.device, to);
    r.ops->free_pinned(r.device, src);
    r.ops->free(r.device, dst);
    runner_close(&r);
    return EXIT_SUCCESS;
}

static int wait_for(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                    : EXIT_FAILURE;
}

static int use_parents_device(runner *r) {
    hr_error err = HR_ERROR_INIT;
    void *saved;
    hr__device *own;
    CHECK(r->ops->enter(r->device, &saved, &err) == HR_ERR_FORKED);
    CHECK(strstr(err.message, "spawn") != NULL);
    CHECK(r->ops->open(0, &hr__malloc_allocator, &own, &err) == HR_ERR_FORKED);
    CHECK(r->ops->describe(0, &r->info, &err) == HR_ERR_FORKED);
    r->ops->close(r->device);
    return EXIT_SUCCESS;
}

static int a_forked_child_is_told_to_spawn(void) {
    runner r;
    runner_open(&r, "cuda");
    (void)fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int failed = use_parents_device(&r);
        (void)fflush(stdout);
        _exit(failed);
    }
    CHECK(wait_for(child) == EXIT_SUCCESS);
    hr__devptr p = runner_alloc(&r, 1024); /* the parent goes on */
    r.ops->free(r.device, p);
    runner_close(&r);
    return EXIT_SUCCESS;
}

static int device_is_there(void) {
    runner r;
    runner_open(&r, "cuda"); /* exits where it is not */
    runner_close(&r);
    return EXIT_SUCCESS;
}

static int run(const char *name, int (*scenario)(void)) {
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        exit(scenario());
    }
    int status = child < 0 ? EXIT_FAILURE : wait_for(child);
    printf("%s: %s\n", name,
           status == EXIT_SUCCESS   ? "ok"
           : status == EXIT_SKIPPED ? "skipped"
                                    : "FAILED");
    return status;
}

int main(void) {
    static const struct {
        const char *name;
        int (*scenario)(void);
    } scenarios[] = {
        {"describing_creates_no_context", describing_creates_no_context},
        {"the_current_context_is_put_back", the_current_context_is_put_back},
        {"a_broken_context_is_named", a_broken_context_is_named},
        {"running_out_of_memory_is_survived", running_out_of_memory_is_survived},
        {"events_tell_the_time", events_tell_the_time},
        {"a_forked_child_is_told_to_spawn", a_forked_child_is_told_to_spawn},
    };
    int status = run("device_is_there", device_is_there);
    if (status != EXIT_SUCCESS) {
        return status;
    }
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        status |= run(scenarios[i].name, scenarios[i].scenario);
    }
    return status == EXIT_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}
