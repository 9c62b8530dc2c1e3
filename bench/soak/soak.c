/* Mixed batches from many threads for as long as asked, with cancels, errors and forks;
 * fails where a result is wrong or the process grows. SPDX-License-Identifier: Apache-2.0
 *
 * usage: soak [--minutes M] [--batches N] [--threads N] [--device cpu|simt|cuda:0]
 *             [--no-forks]
 * --batches: end after so many instead, without looking at growth. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <headrace/memory.h>

#include "../measure.h"
#include "arrays.h"
#include "usage.h"

enum { MAX_REQUESTS = 3, NSAMPLES = 24 };
#define REQUEST_NBYTES (SOAK_LENGTH * sizeof(uint16_t))

typedef struct soak {
    double minutes;
    long nbatches_wanted; /* 0: by time */
    int nthreads;
    bool forks;
    hr_device device;
    hr_context *context;
    hr_node *arrays[SOAK_NARRAYS];
    atomic_bool stop;
    atomic_long nbatches, ncancelled, nfailed, nwrong, worst_cancel_us;
} soak;

typedef struct member {
    soak *all;
    uint64_t random;
    void *memory[2]; /* on the host; on the device */
} member;

static uint32_t draw(member *m, uint32_t n) {
    m->random = m->random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(m->random >> 33) % n;
}

static void complain(soak *s, const char *what, const hr_error *err) {
    if (atomic_fetch_add(&s->nwrong, 1) < 20) {
        (void)fprintf(stderr, "soak: %s: %s\n", what, err != NULL ? err->message : "");
    }
}

/* --- one batch --- */

typedef struct task {
    int array;
    hr_axis axis;
    int64_t shape[1];
    uint16_t *out; /* on the host, or where it is copied to from the device */
} task;

typedef struct trial {
    task tasks[MAX_REQUESTS];
    size_t n;
    bool on_device, is_cancelled;
    hr_read_options options;
} trial;

static void draw_trial(member *m, trial *t, hr_request *requests) {
    const soak *s = m->all;
    *t = (trial){.n = 1 + draw(m, MAX_REQUESTS),
                 .on_device = s->device.type != HR_DEVICE_CPU && draw(m, 2) == 0,
                 .is_cancelled = draw(m, 8) == 0,
                 .options = HR_READ_OPTIONS_INIT};
    t->options.on_error = (hr_on_error)draw(m, 3);
    for (size_t i = 0; i < t->n; i++) {
        task *k = &t->tasks[i];
        int64_t start = draw(m, SOAK_LENGTH), n = 1 + draw(m, SOAK_LENGTH);
        int64_t stop = start + n < SOAK_LENGTH ? start + n : SOAK_LENGTH;
        k->array = (int)draw(m, SOAK_NARRAYS);
        k->axis =
            (hr_axis){.kind = HR_AXIS_SLICE, .start = start, .stop = stop, .step = 1};
        k->shape[0] = stop - start;
        k->out = (uint16_t *)m->memory[0] + i * SOAK_LENGTH;
        requests[i] = HR_REQUEST_INIT;
        requests[i].array = s->arrays[k->array];
        requests[i].selection =
            (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &k->axis};
        requests[i].dst = (hr_tensor){
            .data = t->on_device ? (uint8_t *)m->memory[1] + i * REQUEST_NBYTES
                                 : (void *)k->out,
            .device = t->on_device ? s->device : (hr_device){.type = HR_DEVICE_CPU},
            .dtype = {.kind = HR_KIND_UINT, .byte_order = HR_LITTLE, .itemsize = 2},
            .ndim = 1,
            .shape = k->shape};
    }
}

static bool meets_damage(const task *k) {
    for (int64_t c = k->axis.start / SOAK_CHUNK; c * SOAK_CHUNK < k->axis.stop; c++) {
        if (soak_is_damaged(k->array, c)) {
            return true;
        }
    }
    return false;
}

static void check_result(member *m, const trial *t, size_t i, hr_batch *b,
                         bool is_stopped) {
    soak *s = m->all;
    const task *k = &t->tasks[i];
    hr_error err = HR_ERROR_INIT;
    hr_status status = hr_batch_error(b, i, &err);
    bool may_be_cut = t->is_cancelled || is_stopped;
    if (status != HR_OK) {
        if (!(status == HR_ERR_CANCELLED && may_be_cut) &&
            !(status == HR_ERR_DATA && meets_damage(k))) {
            complain(s, "a request failed", &err);
        }
        return;
    }
    if (meets_damage(k)) {
        complain(s, "damage was not noticed", NULL);
        return;
    }
    if (t->on_device &&
        hr_memory_to_host(s->context, s->device, k->out,
                          (uint8_t *)m->memory[1] + i * REQUEST_NBYTES,
                          (uint64_t)k->shape[0] * sizeof(uint16_t), &err) != HR_OK) {
        complain(s, "copying back", &err);
        return;
    }
    for (int64_t e = 0; e < k->shape[0]; e++) {
        if (k->out[e] != soak_element(k->array, k->axis.start + e)) {
            complain(s, "an element is wrong", NULL);
            return;
        }
    }
}

static void await(member *m, hr_batch *b, bool is_cancelled) {
    soak *s = m->all;
    double start = now_s();
    hr_status status = HR_ERR_TIMEOUT;
    int fd = -1;
    if (draw(m, 3) == 0 && hr_batch_get_fd(b, &fd, NULL) == HR_OK) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        (void)poll(&p, 1, -1);
    }
    int64_t slice = draw(m, 2) == 0 ? -1 : 1000000;
    while (status == HR_ERR_TIMEOUT) {
        status = hr_batch_wait(b, slice, NULL);
    }
    long us = (long)((now_s() - start) * 1e6), worst = atomic_load(&s->worst_cancel_us);
    while (is_cancelled && us > worst &&
           !atomic_compare_exchange_weak(&s->worst_cancel_us, &worst, us)) {
    }
    atomic_fetch_add(&s->ncancelled, status == HR_ERR_CANCELLED);
    atomic_fetch_add(&s->nfailed, status == HR_ERR_DATA);
}

static void run_trial(member *m) {
    soak *s = m->all;
    hr_request requests[MAX_REQUESTS];
    hr_error err = HR_ERROR_INIT;
    hr_batch *b = NULL;
    trial t;
    draw_trial(m, &t, requests);
    if (hr_read_submit(s->context, requests, t.n, NULL, &t.options, &b, &err) != HR_OK) {
        complain(s, "submit", &err);
        return;
    }
    if (t.is_cancelled) {
        (void)usleep(draw(m, 500));
        hr_batch_cancel(b);
    }
    if (draw(m, 16) != 0) { /* else it is dropped under way */
        await(m, b, t.is_cancelled);
        bool is_stopped = false;
        for (size_t i = 0; i < t.n; i++) {
            is_stopped |=
                t.options.on_error == HR_ON_ERROR_STOP && meets_damage(&t.tasks[i]);
        }
        for (size_t i = 0; i < t.n; i++) {
            check_result(m, &t, i, b, is_stopped);
        }
    }
    hr_batch_unref(b);
    long n = atomic_fetch_add(&s->nbatches, 1) + 1;
    if (s->nbatches_wanted > 0 && n >= s->nbatches_wanted) {
        atomic_store(&s->stop, true);
    }
}

static void *run_member(void *user) {
    member *m = user;
    soak *s = m->all;
    hr_error err = HR_ERROR_INIT;
    m->memory[0] = malloc(MAX_REQUESTS * REQUEST_NBYTES);
    if (m->memory[0] == NULL ||
        (s->device.type != HR_DEVICE_CPU &&
         hr_memory_alloc(s->context, s->device, MAX_REQUESTS * REQUEST_NBYTES,
                         &m->memory[1], &err) != HR_OK)) {
        complain(s, "memory for results", &err);
    } else {
        while (!atomic_load(&s->stop)) {
            run_trial(m);
        }
    }
    hr_memory_free(s->context, s->device, m->memory[1]);
    free(m->memory[0]);
    return NULL;
}

/* --- beside them --- */

/* A child reads into host memory. */
static void fork_once(soak *s, uint64_t seed) {
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(120);
        member m = {.all = s, .random = seed};
        s->device.type = HR_DEVICE_CPU;
        atomic_store(&s->nwrong, 0);
        m.memory[0] = malloc(MAX_REQUESTS * REQUEST_NBYTES);
        for (int i = 0; i < 3 && m.memory[0] != NULL; i++) {
            run_trial(&m);
        }
        _exit(atomic_load(&s->nwrong) > 0 ? 1 : 0);
    }
    int result = 0;
    if (pid < 0 || waitpid(pid, &result, 0) != pid || !WIFEXITED(result) ||
        WEXITSTATUS(result) != 0) {
        complain(s, "a forked child failed", NULL);
    }
}

static usage sample(soak *s, double start) {
    usage u = usage_now(s->device);
    (void)printf("%7.0f s  %9ld batches  %8ld cancelled  %8ld with errors  RSS %7ld KiB  "
                 "device %7ld KiB  %3ld descriptors  %3ld threads\n",
                 now_s() - start, atomic_load(&s->nbatches), atomic_load(&s->ncancelled),
                 atomic_load(&s->nfailed), u.rss_kib, u.device_kib, u.nfds, u.nthreads);
    (void)fflush(stdout);
    return u;
}

static usage highest(const usage *u, int n) {
    usage h = u[0];
    for (int i = 1; i < n; i++) {
        h.rss_kib = u[i].rss_kib > h.rss_kib ? u[i].rss_kib : h.rss_kib;
        h.device_kib = u[i].device_kib > h.device_kib ? u[i].device_kib : h.device_kib;
        h.nfds = u[i].nfds > h.nfds ? u[i].nfds : h.nfds;
        h.nthreads = u[i].nthreads > h.nthreads ? u[i].nthreads : h.nthreads;
    }
    return h;
}

/* The last third against the second; the first is for warming up. Descriptors of files
 * being read come and go: one per thread. */
static bool is_flat(const soak *s, const usage *u) {
    const usage before = highest(u + NSAMPLES / 3, NSAMPLES / 3);
    const usage after = highest(u + 2 * NSAMPLES / 3, NSAMPLES / 3);
    bool flat = after.rss_kib <= before.rss_kib + before.rss_kib / 20 + 1024 &&
                after.device_kib <= before.device_kib + before.device_kib / 20 + 1024 &&
                after.nfds <= before.nfds + 2 * s->nthreads &&
                after.nthreads <= before.nthreads;
    (void)printf("%s: highest of the second and of the last third: RSS %ld, %ld KiB; "
                 "device %ld, %ld KiB; %ld, %ld descriptors; %ld, %ld threads\n",
                 flat ? "flat" : "NOT FLAT", before.rss_kib, after.rss_kib,
                 before.device_kib, after.device_kib, before.nfds, after.nfds,
                 before.nthreads, after.nthreads);
    return flat;
}

static bool watch(soak *s) {
    usage u[NSAMPLES];
    double start = now_s();
    uint64_t seed = 77;
    if (s->nbatches_wanted > 0) {
        while (!atomic_load(&s->stop)) {
            (void)usleep(10000);
        }
        (void)sample(s, start);
        return true;
    }
    for (int i = 0; i < NSAMPLES; i++) {
        while (now_s() < start + s->minutes * 60 * (i + 1) / NSAMPLES) {
            if (s->forks) {
                fork_once(s, seed++);
            }
            (void)usleep(200000);
        }
        u[i] = sample(s, start);
    }
    atomic_store(&s->stop, true);
    return is_flat(s, u);
}

static bool run(soak *s, const char *folder) {
    member *members = calloc((size_t)s->nthreads, sizeof *members);
    pthread_t *threads = calloc((size_t)s->nthreads, sizeof *threads);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    hr_error err = HR_ERROR_INIT;
    char path[1024];
    o.scratch_nbytes = 8 << 20;
    o.device_scratch_nbytes = 32 << 20;
    o.device_allocator = s->device.type == HR_DEVICE_SIMT ? &usage_counting : NULL;
    bool ok = members != NULL && threads != NULL && soak_write(folder) &&
              hr_context_create(&o, &s->context, &err) == HR_OK;
    for (int k = 0; ok && k < SOAK_NARRAYS; k++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, soak_names[k]);
        ok = hr_open(s->context, path, NULL, &s->arrays[k], &err) == HR_OK;
    }
    if (!ok) {
        (void)fprintf(stderr, "soak: %s\n", err.message);
    }
    int nstarted = 0;
    for (int i = 0; ok && i < s->nthreads; i++) {
        members[i] = (member){.all = s, .random = (uint64_t)i + 1};
        ok = pthread_create(&threads[i], NULL, run_member, &members[i]) == 0;
        nstarted += ok;
    }
    ok = ok && watch(s);
    atomic_store(&s->stop, true);
    for (int i = 0; i < nstarted; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    for (int k = 0; k < SOAK_NARRAYS; k++) {
        hr_node_unref(s->arrays[k]);
    }
    hr_context_unref(s->context);
    free(threads);
    free(members);
    return ok && atomic_load(&s->nwrong) == 0;
}

static bool read_arguments(soak *s, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--no-forks") == 0) {
            s->forks = false;
        } else if (strcmp(argv[i], "--minutes") == 0 && ++i < argc) {
            s->minutes = strtod(value, NULL);
        } else if (strcmp(argv[i], "--batches") == 0 && ++i < argc) {
            s->nbatches_wanted = strtol(value, NULL, 10);
        } else if (strcmp(argv[i], "--threads") == 0 && ++i < argc) {
            s->nthreads = (int)strtol(value, NULL, 10);
        } else if (strcmp(argv[i], "--device") != 0 || ++i >= argc ||
                   hr_device_parse(value, &s->device, NULL) != HR_OK) {
            return false;
        }
    }
    return s->nthreads > 0 && s->minutes > 0 && s->nbatches_wanted >= 0;
}

int main(int argc, char **argv) {
    soak s = {
        .minutes = 30, .nthreads = 8, .forks = true, .device = {.type = HR_DEVICE_CPU}};
    char folder[] = "/tmp/headrace-soak-XXXXXX", command[64];
    if (!read_arguments(&s, argc, argv)) {
        (void)fprintf(stderr, "usage: soak [--minutes M] [--batches N] [--threads N] "
                              "[--device cpu|simt|cuda:0] [--no-forks]\n");
        return 2;
    }
    if (mkdtemp(folder) == NULL) {
        perror("soak");
        return 1;
    }
    bool ok = run(&s, folder);
    (void)printf(
        "%ld batches, %ld cancelled (the slowest %.1f ms after the call), %ld with "
        "errors, %ld wrong\n",
        atomic_load(&s.nbatches), atomic_load(&s.ncancelled),
        (double)atomic_load(&s.worst_cancel_us) / 1000, atomic_load(&s.nfailed),
        atomic_load(&s.nwrong));
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0) { /* NOLINT(cert-env33-c): a folder of ours */
        ok = false;
    }
    return ok ? 0 : 1;
}
