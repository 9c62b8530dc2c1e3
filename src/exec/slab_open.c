/* Slabs: opening, taking room, closing. SPDX-License-Identifier: Apache-2.0 */
#include "exec/run.h"
#include "exec/slab.h"
#include "exec/slab_flush.h"
#include "exec/slab_tables.h"

static bool has_room(const hr__slab *slab, hr__need need) {
    const hr__twin *p = &slab->slot->payload;
    uint64_t scratch = p->device_nbytes - p->pinned_nbytes;
    return need.payload <= p->pinned_nbytes - slab->used &&
           need.scratch <= scratch - slab->scratch;
}

static hr__slab *take_open(hr__run *run, const hr__ring *ring) {
    hr__slab *found = NULL;
    pthread_mutex_lock(&run->lock);
    for (hr__slab **at = &run->slabs; *at != NULL && found == NULL;) {
        if (ring == NULL || (*at)->ring == ring) {
            found = *at;
            *at = found->next;
        } else {
            at = &(*at)->next;
        }
    }
    pthread_mutex_unlock(&run->lock);
    return found;
}

void hr__slab_flush_all(hr__run *run) {
    for (hr__slab *s = take_open(run, NULL); s != NULL; s = take_open(run, NULL)) {
        hr__slab_flush(s);
    }
    hr__slab_launch_gathered(run);
}

/* Never for others while holding slots that only a flush would free. */
static hr_status wait_for_slot(hr__run *run, hr__ring *ring, hr__need need,
                               hr__ring_slot **out, hr_error *err) {
    hr_status status = HR_OK;
    while (status == HR_OK && *out == NULL && hr__ring_land(ring)) {
        status = hr__ring_acquire(ring, need, false, out, err);
    }
    if (status == HR_OK && *out == NULL) {
        hr__slab_flush_all(run);
        status = hr__ring_acquire(ring, need, true, out, err);
    }
    return status;
}

static hr_status make_slab(hr__run *run, hr__ring *ring, hr__need need, hr__slab **out,
                           hr_error *err) {
    hr__device *d = ring->device;
    hr__ring_slot *slot = NULL;
    hr__slab *slab = NULL;
    void *saved = NULL;
    HR__TRY(d->ops->enter(d, &saved, err));
    hr_status status = hr__ring_acquire(ring, need, false, &slot, err);
    if (status == HR_OK && slot == NULL) {
        const uint64_t start = hr__clock_ns();
        status = wait_for_slot(run, ring, need, &slot, err);
        atomic_fetch_add(&run->wait_ns, hr__clock_ns() - start);
    }
    if (status == HR_OK) {
        for (int i = 0; i < HR__SLOT_VECS; i++) {
            slot->vecs[i].n = 0;
        }
        slot->past = NULL;
        slab = hr__vec_push(&ring->allocator, &slot->vecs[HR__SLAB_ITSELF], sizeof *slab);
        if (slab == NULL) {
            status = hr__fail_memory(err, sizeof *slab);
            hr__ring_give_back(ring, slot);
        }
    }
    d->ops->leave(d, saved);
    HR__TRY(status);
    *slab = (hr__slab){.run = run, .ring = ring, .slot = slot};
    *out = slab;
    return HR_OK;
}

hr_status hr__slab_open(hr__run *run, hr__ring *ring, hr__need need, hr__slab **out,
                        hr_error *err) {
    hr__slab *slab = take_open(run, ring);
    if (slab != NULL && !has_room(slab, need)) {
        hr__slab_flush(slab);
        slab = NULL;
    }
    if (slab == NULL) {
        return make_slab(run, ring, need, out, err);
    }
    *out = slab;
    return HR_OK;
}

void hr__slab_close(hr__slab *slab) {
    hr__run *run = slab->run;
    hr__need usual = slab->ring->usual;
    bool is_full = slab->used + slab->elsewhere >= run->slab_nbytes ||
                   slab->scratch >= usual.scratch - usual.scratch / 4 ||
                   hr__slab_tables_nbytes(slab) >= usual.payload / HR__TABLES_SHARE / 2;
    const bool is_wanted = hr__ring_is_starved(slab->ring);
    if (is_full || is_wanted) {
        hr__slab_flush(slab);
        if (is_wanted) {
            hr__slab_launch_gathered(run);
        }
        return;
    }
    pthread_mutex_lock(&run->lock);
    slab->next = run->slabs;
    run->slabs = slab;
    pthread_mutex_unlock(&run->lock);
}

uint8_t *hr__slab_reserve(hr__slab *slab, uint64_t nbytes, uint64_t *offset) {
    *offset = hr__slab_aligned(slab->used);
    slab->used = *offset + nbytes;
    return slab->slot->payload.pinned + *offset;
}

bool hr__slab_fits(const hr__slab *slab, const hr__kernel_chain *kernels,
                   const hr__leaves *leaves) {
    return has_room(slab, (hr__need){.scratch = hr__slab_whole_need(kernels, leaves)});
}
