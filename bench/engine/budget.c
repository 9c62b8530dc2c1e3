/* A read many times larger than the scratch. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include <headrace/memory.h>

#include "driver.h"
#include "engine.h"

#define MIB (UINT64_C(1) << 20)
#define BUDGET (64 * MIB)

typedef struct meter {
    driver driver;
    int ordinal;
    atomic_bool stop;
    atomic_size_t device, device_most, pinned, pinned_most;
    size_t least_free; /* of the whole device */
} meter;

static void add(atomic_size_t *now, atomic_size_t *most, size_t n) {
    const size_t sum = atomic_fetch_add(now, n) + n;
    size_t seen = atomic_load(most);
    while (sum > seen && !atomic_compare_exchange_weak(most, &seen, sum)) {
    }
}

static void *hook_alloc(void *user, hr_device device, size_t nbytes, void *stream) {
    (void)device;
    (void)stream;
    meter *m = user;
    uint64_t ptr = 0;
    if (m->driver.alloc(&ptr, nbytes) != 0) {
        return NULL;
    }
    add(&m->device, &m->device_most, nbytes);
    return (void *)(uintptr_t)ptr;
}

static void hook_free(void *user, hr_device device, void *ptr, size_t nbytes,
                      void *stream) {
    (void)device;
    (void)stream;
    meter *m = user;
    atomic_fetch_sub(&m->device, nbytes);
    (void)m->driver.release((uint64_t)(uintptr_t)ptr);
}

static void *hook_alloc_pinned(void *user, hr_device device, size_t nbytes) {
    (void)device;
    meter *m = user;
    void *ptr = NULL;
    if (m->driver.alloc_pinned(&ptr, nbytes, 1) != 0) {
        return NULL;
    }
    add(&m->pinned, &m->pinned_most, nbytes);
    return ptr;
}

static void hook_free_pinned(void *user, hr_device device, void *ptr, size_t nbytes) {
    (void)device;
    meter *m = user;
    atomic_fetch_sub(&m->pinned, nbytes);
    (void)m->driver.release_pinned(ptr);
}

static void *watch(void *user) {
    meter *m = user;
    driver_use(&m->driver, m->ordinal);
    while (!atomic_load(&m->stop)) {
        size_t left, total;
        driver_must(m->driver.memory_info(&left, &total), "cuMemGetInfo");
        m->least_free = left < m->least_free ? left : m->least_free;
        (void)nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    return NULL;
}

static void read_within(engine *e, meter *m) {
    const hr_device_allocator hooks = {.struct_size = sizeof hooks,
                                       .user = m,
                                       .alloc = hook_alloc,
                                       .free = hook_free,
                                       .alloc_pinned = hook_alloc_pinned,
                                       .free_pinned = hook_free_pinned};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.scratch_nbytes = o.device_scratch_nbytes = BUDGET;
    o.device_allocator = &hooks;
    engine_open(e, MIB, &o);
    const uint64_t nbytes = array_nbytes(&e->array);
    const part all = engine_whole(e, engine_alloc(e, e->device, nbytes));
    const part some = {
        .nrows = 256, .ncolumns = ARRAY_COLUMNS, .device = e->device, .data = all.data};
    (void)engine_read(e, &some, 1); /* kernels are loaded */
    size_t before, total;
    driver_must(m->driver.memory_info(&before, &total), "cuMemGetInfo");
    const size_t held = atomic_load(&m->device);
    m->least_free = before;
    atomic_store(&m->stop, false);
    pthread_t watcher;
    driver_must(pthread_create(&watcher, NULL, watch, m), "pthread_create");
    const double seconds = engine_read(e, &all, 1);
    atomic_store(&m->stop, true);
    (void)pthread_join(watcher, NULL);
    engine_check(e, &all);
    const size_t most = atomic_load(&m->device_most),
                 pinned = atomic_load(&m->pinned_most);
    printf("budget   %s: %.1f GiB in %.3f s, %.1f GB/s; scratch at most %.1f MiB on the "
           "device, %.1f MiB pinned, of %.0f MiB; the device had %.1f MiB less free\n",
           e->codec, (double)nbytes / 1073741824.0, seconds,
           (double)nbytes / seconds * 1e-9, (double)most / (double)MIB,
           (double)pinned / (double)MIB, (double)BUDGET / (double)MIB,
           ((double)before + (double)held - (double)m->least_free) / (double)MIB);
    if (most > BUDGET || pinned > BUDGET) {
        engine_fail("a budget was exceeded", NULL);
    }
    hr_memory_free(e->context, e->device, all.data);
    engine_close(e);
}

void run_budget(engine *e) {
    meter m = {.ordinal = e->device.index};
    driver_open(&m.driver);
    driver_use(&m.driver, m.ordinal);
    read_within(e, &m);
}
