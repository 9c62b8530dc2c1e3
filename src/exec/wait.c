/* Waiting for a run, and ending it. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "exec/run.h"

static struct timespec deadline_after(int64_t timeout_ns) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += timeout_ns / 1000000000;
    t.tv_nsec += timeout_ns % 1000000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

/* Sleep until done or, without a deadline, until there is work to help with; false once
 * the time is up. */
static bool sleep_for_change(hr__run *run, int64_t timeout_ns,
                             const struct timespec *deadline) {
    int rc = 0;
    bool helps = timeout_ns < 0;
    pthread_mutex_lock(&run->lock);
    while (rc != ETIMEDOUT && !atomic_load(&run->done) &&
           !(helps && (run->ready != NULL || run->next_object != NULL))) {
        rc = helps ? pthread_cond_wait(&run->changed, &run->lock)
                   : pthread_cond_timedwait(&run->changed, &run->lock, deadline);
    }
    pthread_mutex_unlock(&run->lock);
    return rc != ETIMEDOUT;
}

hr_status hr__target_error(const hr__target *t, hr_error *err) {
    const hr_status status = (hr_status)atomic_load(&t->status);
    if (t->error != NULL) {
        hr__error_copy(err, t->error);
        return status;
    }
    return status == HR_OK ? HR_OK : hr__fail(err, status, "no memory to say more");
}

hr_status hr__run_wait(hr__run *run, int64_t timeout_ns, hr_error *err) {
    if (run->generation != hr__fork_generation()) {
        return hr__fail(err, HR_ERR_FORKED, "the batch belongs to the parent process");
    }
    struct timespec deadline = {0};
    if (timeout_ns >= 0) {
        deadline = deadline_after(timeout_ns);
    }
    while (!atomic_load(&run->done)) {
        if (timeout_ns < 0) { /* a piece may take long: help only without a deadline */
            atomic_store(&run->stages.is_helped, true);
            hr__pool_help(run->context->pool, &run->job);
        }
        if (!atomic_load(&run->done) && !sleep_for_change(run, timeout_ns, &deadline)) {
            return hr__fail(err, HR_ERR_TIMEOUT, "the batch is not done yet");
        }
    }
    const hr__target *failed = run->stopped_by;
    for (size_t i = 0; i < run->ntargets && failed == NULL; i++) {
        failed = atomic_load(&run->targets[i].status) != HR_OK ? &run->targets[i] : NULL;
    }
    if (failed == NULL) {
        return HR_OK;
    }
    return hr__target_error(failed, err);
}

hr_status hr__run_on_done(hr__run *run, void (*fn)(void *user), void *user,
                          hr_error *err) {
    pthread_mutex_lock(&run->lock);
    bool is_second = run->on_done != NULL;
    if (!is_second) {
        run->on_done = fn;
        run->on_done_user = user;
    }
    bool done = atomic_load(&run->done); /* set under the lock, or before the run began */
    pthread_mutex_unlock(&run->lock);
    if (is_second) {
        return hr__fail(err, HR_ERR_ARGUMENT, "the batch has a callback already");
    }
    if (done) {
        fn(user);
    }
    return HR_OK;
}

hr_status hr__run_fd(hr__run *run, int *out, hr_error *err) {
    int error = 0;
    pthread_mutex_lock(&run->lock);
    if (run->done_fd < 0) {
        run->done_fd = eventfd(atomic_load(&run->done), EFD_CLOEXEC | EFD_NONBLOCK);
        error = run->done_fd < 0 ? errno : 0;
    }
    int fd = run->done_fd;
    pthread_mutex_unlock(&run->lock);
    if (fd < 0) {
        return hr__fail_errno(err, HR_ERR_IO, error, "cannot make an eventfd");
    }
    *out = fd;
    return HR_OK;
}

/* Not helping: who does the last piece waits for the devices. */
static void wait_until_queued(hr__run *run) {
    pthread_mutex_lock(&run->lock);
    while (!atomic_load(&run->queued) && !atomic_load(&run->done)) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    pthread_mutex_unlock(&run->lock);
}

hr_status hr__run_wait_on_stream(hr__run *run, void *stream, hr_error *err) {
    if (run->generation != hr__fork_generation()) {
        return hr__fail(err, HR_ERR_FORKED, "the batch belongs to the parent process");
    }
    wait_until_queued(run);
    for (uint32_t i = 0; i < run->nstarts && !atomic_load(&run->done); i++) {
        hr__device *d = run->starts[i].ring->device;
        void *saved = NULL;
        HR__TRY(d->ops->enter(d, &saved, err));
        hr_status status = hr__ring_order(run->starts[i].ring, run, stream, err);
        d->ops->leave(d, saved);
        HR__TRY(status);
    }
    return HR_OK;
}

void hr__run_cancel(hr__run *run) {
    atomic_store(&run->cancelled, true);
}

void hr__run_finish(hr__run *run) {
    if (run->generation == hr__fork_generation()) {
        hr__run_cancel(run);
        (void)hr__run_wait(run, -1, NULL);
        hr__pool_retire(run->context->pool, &run->job);
        hr__run_destroy_starts(run);
        pthread_cond_destroy(&run->changed);
        pthread_mutex_destroy(&run->lock);
        pthread_mutex_destroy(&run->opening);
    }
    if (run->done_fd >= 0) {
        (void)close(run->done_fd); /* a forked child has its own */
    }
    hr__vec_free(&run->context->allocator, &run->failed);
}
