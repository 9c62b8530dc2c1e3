/* Memory of the slots of a ring. SPDX-License-Identifier: Apache-2.0 */
#include "exec/ring_memory.h"

static void twin_free(hr__device *d, hr__stream stream, const hr__twin *t) {
    hr__device_free(d, t->device, t->device_nbytes, stream);
    hr__device_free_pinned(d, t->pinned, t->pinned_nbytes);
}

static hr_status twin_allocate(hr__device *d, hr__stream stream, hr__need need,
                               hr__twin *out, hr_error *err) {
    void *pinned = NULL;
    hr__twin t = {.pinned_nbytes = need.payload,
                  .device_nbytes = need.payload + need.scratch};
    HR__TRY(hr__device_alloc_pinned(d, t.pinned_nbytes, &pinned, err));
    t.pinned = pinned;
    hr_status status = hr__device_alloc(d, t.device_nbytes, stream, &t.device, err);
    if (status != HR_OK) {
        hr__device_free_pinned(d, pinned, t.pinned_nbytes);
        return status;
    }
    *out = t;
    return HR_OK;
}

static void slot_destroy(hr__ring *ring, hr__ring_slot *s) {
    hr__device *d = ring->device;
    twin_free(d, s->stream, &s->payload);
    twin_free(d, s->stream, &s->tables);
    d->ops->event_destroy(d, s->event);
    d->ops->event_destroy(d, s->copied);
    for (int i = 0; i < HR__SLOT_MARKS; i++) {
        d->ops->event_destroy(d, s->marks[i]);
    }
    if (s->stream != NULL) {
        d->ops->stream_destroy(d, s->stream);
    }
    for (int i = 0; i < HR__SLOT_VECS; i++) {
        hr__vec_free(&ring->allocator, &s->vecs[i]);
    }
}

static hr_status slot_create(hr__ring *ring, hr__need need, hr__ring_slot *out,
                             hr_error *err) {
    hr__device *d = ring->device;
    hr__ring_slot s = {.state = HR__SLOT_HELD};
    HR__TRY(d->ops->stream_create(d, &s.stream, err));
    hr_status status = d->ops->event_create(d, &s.event, err);
    if (status == HR_OK) {
        status = d->ops->event_create(d, &s.copied, err);
    }
    for (int i = 0; i < HR__SLOT_MARKS && status == HR_OK; i++) {
        status = d->ops->event_create(d, &s.marks[i], err);
    }
    if (status == HR_OK) {
        status = twin_allocate(d, s.stream, need, &s.payload, err);
    }
    if (status != HR_OK) {
        slot_destroy(ring, &s);
        return status;
    }
    *out = s;
    return HR_OK;
}

static void charge(hr__ring *ring, hr__need need) {
    ring->pinned_used += need.payload;
    ring->device_used += need.payload + need.scratch;
}

static void uncharge(hr__ring *ring, uint64_t pinned_nbytes, uint64_t device_nbytes) {
    ring->pinned_used -= pinned_nbytes;
    ring->device_used -= device_nbytes;
}

void hr__ring_slot_release(hr__ring *ring, hr__ring_slot *s) {
    hr__ring_slot gone = *s;
    *s = (hr__ring_slot){0};
    pthread_mutex_unlock(&ring->lock);
    slot_destroy(ring, &gone);
    pthread_mutex_lock(&ring->lock);
    uncharge(ring, gone.payload.pinned_nbytes + gone.tables.pinned_nbytes,
             gone.payload.device_nbytes + gone.tables.device_nbytes);
    pthread_cond_broadcast(&ring->changed);
}

hr_status hr__ring_slot_allocate(hr__ring *ring, hr__ring_slot *s, hr__need need,
                                 hr_error *err) {
    const hr__twin size = {.pinned_nbytes = need.payload,
                           .device_nbytes = need.payload + need.scratch};
    hr__ring_slot made = {0};
    *s = (hr__ring_slot){.state = HR__SLOT_HELD, .payload = size};
    charge(ring, need);
    pthread_mutex_unlock(&ring->lock);
    hr_status status = slot_create(ring, need, &made, err);
    pthread_mutex_lock(&ring->lock);
    *s = made;
    if (status != HR_OK) {
        uncharge(ring, size.pinned_nbytes, size.device_nbytes);
    }
    return status;
}

void hr__ring_tables_release(hr__ring *ring, hr__ring_slot *s) {
    const hr__twin gone = s->tables;
    s->tables = (hr__twin){0};
    pthread_mutex_unlock(&ring->lock);
    twin_free(ring->device, s->stream, &gone);
    pthread_mutex_lock(&ring->lock);
    uncharge(ring, gone.pinned_nbytes, gone.device_nbytes);
    pthread_cond_broadcast(&ring->changed);
}

hr_status hr__ring_tables_allocate(hr__ring *ring, hr__ring_slot *s, hr__need need,
                                   hr_error *err) {
    charge(ring, need);
    pthread_mutex_unlock(&ring->lock);
    hr_status status = twin_allocate(ring->device, s->stream, need, &s->tables, err);
    pthread_mutex_lock(&ring->lock);
    if (status != HR_OK) {
        uncharge(ring, need.payload, need.payload + need.scratch);
    }
    return status;
}
