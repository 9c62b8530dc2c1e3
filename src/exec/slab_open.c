/* Slabs: opening, taking room, closing. SPDX-License-Identifier: Apache-2.0 */
#include "exec/run.h"
#include "exec/slab.h"
#include "exec/slab_flush.h"
#include "exec/slab_tables.h"

/* --- room --- */

static bool fits(uint64_t used, uint64_t promised, uint64_t wanted, uint64_t all) {
    return used <= all && promised <= all - used && wanted <= all - used - promised;
}

/* Beside what is promised to users. */
static bool has_room(const hr__slab *slab, hr__need promised, hr__need need) {
    const hr__twin *p = &slab->slot->payload;
    return fits(slab->used, promised.payload, need.payload, p->pinned_nbytes) &&
           fits(slab->scratch, promised.scratch, need.scratch,
                p->device_nbytes - p->pinned_nbytes);
}

uint8_t *hr__slab_reserve(hr__slab *slab, uint64_t nbytes, uint64_t *offset) {
    *offset = hr__slab_aligned(slab->used);
    slab->used = *offset + nbytes;
    return slab->slot->payload.pinned + *offset;
}

/* The slab's lock is held, or nobody else knows it yet. */
static void take_part(hr__slab *slab, hr__need need, uint64_t nbytes,
                      hr__slab_part *part) {
    *part = (hr__slab_part){.slab = slab, .promised = need};
    part->promised.payload -= nbytes;
    (void)hr__slab_reserve(slab, nbytes, &part->offset);
    slab->promised.payload += part->promised.payload;
    slab->promised.scratch += part->promised.scratch;
}

bool hr__slab_fits(const hr__slab_part *part, const hr__kernel_chain *kernels,
                   const hr__leaves *leaves) {
    const hr__slab *slab = part->slab;
    const hr__need others = {.scratch = slab->promised.scratch - part->promised.scratch};
    return has_room(slab, others,
                    (hr__need){.scratch = hr__slab_whole_need(kernels, leaves)});
}

/* --- open ones; the run's lock is held --- */

static void take_out(hr__run *run, hr__slab *slab) {
    hr__slab **at = &run->slabs;
    while (*at != slab) {
        at = &(*at)->next;
    }
    *at = slab->next;
    slab->next = NULL;
    slab->is_closed = true;
}

/* A part of an open slab. One without room whose users are done goes to `full`, to be
 * flushed. A slab that others are adding to is passed over: better another than to wait.
 */
static bool find_part(hr__run *run, const hr__ring *ring, hr__need need, uint64_t nbytes,
                      hr__slab_part *part, hr__slab **full) {
    for (hr__slab *s = run->slabs, *next; s != NULL; s = next) {
        next = s->next;
        if (s->ring != ring || s->nusers >= run->nsharers ||
            pthread_mutex_trylock(&s->lock) != 0) {
            continue;
        }
        bool found = has_room(s, s->promised, need);
        bool is_full = !found && !has_room(s, (hr__need){0}, need);
        if (found) {
            take_part(s, need, nbytes, part);
            s->nusers++;
        }
        hr__slab_unlock(s);
        if (found) {
            return true;
        }
        if (is_full) {
            take_out(run, s);
        }
        if (is_full && s->nusers == 0) {
            s->next = *full;
            *full = s;
        }
    }
    return false;
}

static void flush_list(hr__slab *list) {
    for (hr__slab *next; list != NULL; list = next) {
        next = list->next;
        hr__slab_flush(list);
    }
}

/* Those in use are flushed by their users. */
void hr__slab_flush_all(hr__run *run) {
    hr__slab *list = NULL;
    pthread_mutex_lock(&run->lock);
    while (run->slabs != NULL) {
        hr__slab *s = run->slabs;
        take_out(run, s);
        if (s->nusers == 0) {
            s->next = list;
            list = s;
        }
    }
    pthread_mutex_unlock(&run->lock);
    flush_list(list);
    hr__slab_launch_gathered(run);
}

/* --- new ones --- */

/* Who leaves the run meanwhile flushes what was opened since. */
static hr_status flush_and_wait(hr__run *run, hr__ring *ring, hr__need need,
                                hr__ring_slot **out, hr_error *err) {
    pthread_mutex_lock(&run->lock);
    run->nwaiting++;
    pthread_mutex_unlock(&run->lock);
    hr__slab_flush_all(run);
    const hr_status status = hr__ring_acquire(ring, need, true, out, err);
    pthread_mutex_lock(&run->lock);
    run->nwaiting--;
    pthread_mutex_unlock(&run->lock);
    return status;
}

/* Never for others while holding slots that only a flush would free. */
static hr_status wait_for_slot(hr__run *run, hr__ring *ring, hr__need need,
                               hr__ring_slot **out, hr_error *err) {
    const uint64_t start = hr__clock_ns();
    hr_status status = HR_OK;
    while (status == HR_OK && *out == NULL && hr__ring_land(ring)) {
        status = hr__ring_acquire(ring, need, false, out, err);
    }
    if (status == HR_OK && *out == NULL) {
        status = flush_and_wait(run, ring, need, out, err);
    }
    atomic_fetch_add(&run->wait_ns, hr__clock_ns() - start);
    return status;
}

static hr_status start_slab(hr__run *run, hr__ring *ring, hr__ring_slot *slot,
                            hr__slab **out, hr_error *err) {
    for (int i = 0; i < HR__SLOT_VECS; i++) {
        slot->vecs[i].n = 0;
    }
    slot->past = NULL;
    slot->owner = run;
    hr__slab *slab =
        hr__vec_push(&ring->allocator, &slot->vecs[HR__SLAB_ITSELF], sizeof *slab);
    if (slab == NULL) {
        hr__ring_give_back(ring, slot);
        return hr__fail_memory(err, sizeof *slab);
    }
    *slab = (hr__slab){.run = run, .ring = ring, .slot = slot, .nusers = 1};
    (void)pthread_mutex_init(&slab->lock, NULL);
    *out = slab;
    return HR_OK;
}

/* *out stays NULL where only waiting helps and `wait` is false. */
static hr_status make_slab(hr__run *run, hr__ring *ring, hr__need need, bool wait,
                           hr__slab **out, hr_error *err) {
    hr__device *d = ring->device;
    hr__ring_slot *slot = NULL;
    void *saved = NULL;
    HR__TRY(d->ops->enter(d, &saved, err));
    hr_status status = wait ? wait_for_slot(run, ring, need, &slot, err)
                            : hr__ring_acquire(ring, need, false, &slot, err);
    if (status == HR_OK && slot != NULL) {
        status = start_slab(run, ring, slot, out, err);
    }
    d->ops->leave(d, saved);
    return status;
}

/* Others may fill it, too. */
static void publish(hr__run *run, hr__slab *slab, hr__need need, uint64_t nbytes,
                    hr__slab_part *part) {
    take_part(slab, need, nbytes, part);
    pthread_mutex_lock(&run->lock);
    slab->next = run->slabs;
    run->slabs = slab;
    pthread_mutex_unlock(&run->lock);
}

/* A new slab's part. Its slab stays NULL where only waiting helps and `wait` is false. */
static hr_status open_new(hr__run *run, hr__ring *ring, hr__need need, uint64_t nbytes,
                          bool wait, hr__slab_part *part, hr_error *err) {
    hr__slab *slab = NULL;
    HR__TRY(make_slab(run, ring, need, wait, &slab, err));
    if (slab != NULL) {
        publish(run, slab, need, nbytes, part);
    }
    return HR_OK;
}

/* An open slab's part, or a new slab's if there is one to be had at once. */
static hr_status open_now(hr__run *run, hr__ring *ring, hr__need need, uint64_t nbytes,
                          hr__slab_part *part, hr_error *err) {
    hr__slab *full = NULL;
    pthread_mutex_lock(&run->lock);
    bool found = find_part(run, ring, need, nbytes, part, &full);
    pthread_mutex_unlock(&run->lock);
    flush_list(full);
    return found ? HR_OK : open_new(run, ring, need, nbytes, false, part, err);
}

hr_status hr__slab_open(hr__run *run, hr__ring *ring, hr__need need, uint64_t nbytes,
                        hr__slab_part *out, hr_error *err) {
    hr__slab_part part = {0};
    const bool is_shared = run->nsharers > 1;
    if (is_shared) { /* one makes a slab, and the others find it */
        pthread_mutex_lock(&run->opening);
    }
    hr_status status = open_now(run, ring, need, nbytes, &part, err);
    if (is_shared) {
        pthread_mutex_unlock(&run->opening);
    }
    HR__TRY(status);
    if (part.slab == NULL) {
        HR__TRY(open_new(run, ring, need, nbytes, true, &part, err));
    }
    *out = part;
    return HR_OK;
}

void hr__slab_close(const hr__slab_part *part) {
    hr__slab *slab = part->slab;
    hr__run *run = slab->run;
    hr__need usual = slab->ring->usual;
    hr__slab_lock(slab);
    slab->promised.payload -= part->promised.payload;
    slab->promised.scratch -= part->promised.scratch;
    bool is_full = slab->used + slab->elsewhere >= run->slab_nbytes ||
                   slab->scratch >= usual.scratch - usual.scratch / 4 ||
                   hr__slab_tables_nbytes(slab) >= usual.payload / HR__TABLES_SHARE / 2;
    hr__slab_unlock(slab);
    const bool is_wanted = hr__ring_is_starved(slab->ring);
    pthread_mutex_lock(&run->lock);
    if ((is_full || is_wanted) && !slab->is_closed) {
        take_out(run, slab);
    }
    slab->nusers--;
    bool is_last = slab->is_closed && slab->nusers == 0;
    pthread_mutex_unlock(&run->lock);
    if (is_last) {
        hr__slab_flush(slab);
    }
    if (is_wanted) {
        hr__slab_launch_gathered(run);
    }
}
