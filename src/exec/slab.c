/* Slabs: collecting chunks for a device. SPDX-License-Identifier: Apache-2.0 */
#include "exec/slab.h"

#include <string.h>

#include "core/checked.h"
#include "exec/run.h"
#include "exec/slab_flush.h"
#include "exec/slab_store.h"

static uint64_t aligned(uint64_t n) {
    return (n + HR__SLAB_ALIGNMENT - 1) / HR__SLAB_ALIGNMENT * HR__SLAB_ALIGNMENT;
}

/* --- opening and closing --- */

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
}

static hr_status make_slab(hr__run *run, hr__ring *ring, hr__need need, hr__slab **out,
                           hr_error *err) {
    hr__device *d = ring->device;
    hr__slab *slab = hr__calloc(&run->context->allocator, sizeof *slab);
    if (slab == NULL) {
        return hr__fail_memory(err, sizeof *slab);
    }
    void *saved = NULL;
    hr_status status = d->ops->enter(d, &saved, err);
    if (status == HR_OK) {
        status = hr__ring_acquire(ring, need, false, &slab->slot, err);
        if (status == HR_OK && slab->slot == NULL) {
            /* Never wait while holding slots that only a flush would free. */
            hr__slab_flush_all(run);
            status = hr__ring_acquire(ring, need, true, &slab->slot, err);
        }
        d->ops->leave(d, saved);
    }
    if (status != HR_OK) {
        hr__free(&run->context->allocator, slab, sizeof *slab);
        return status;
    }
    slab->run = run;
    slab->ring = ring;
    for (int i = 0; i < HR__SLOT_VECS; i++) {
        slab->slot->vecs[i].n = 0;
    }
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
    bool is_full = slab->used >= run->slab_nbytes ||
                   slab->scratch >= usual.scratch - usual.scratch / 4;
    if (is_full || hr__ring_is_wanted(slab->ring)) {
        hr__slab_flush(slab);
        return;
    }
    pthread_mutex_lock(&run->lock);
    slab->next = run->slabs;
    run->slabs = slab;
    pthread_mutex_unlock(&run->lock);
}

uint8_t *hr__slab_reserve(hr__slab *slab, uint64_t nbytes, uint64_t *offset) {
    *offset = aligned(slab->used);
    slab->used = *offset + nbytes;
    return slab->slot->payload.pinned + *offset;
}

/* --- adding --- */

static bool is_on(const hr__run *run, const hr__use *use, const hr__ring *ring) {
    return run->targets[use->request].ring == ring;
}

uint64_t hr__slab_lists_room(const hr__run *run, const hr__ring *ring,
                             const hr__chunk *chunk) {
    uint64_t room = 0;
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        for (int32_t i = 0; i < u->ndim && is_on(run, u, ring); i++) {
            const hr__piece *p = u->dims[i].piece;
            uint64_t list = hr__slab_room((uint64_t)p->n * sizeof(int64_t));
            room += (p->src_list != NULL ? list : 0) + (p->dst_list != NULL ? list : 0);
        }
    }
    return room;
}

static hr_status add_stores(hr__slab *slab, const hr__chunk *chunk,
                            const hr__decoded *decoded, bool standing, hr_error *err) {
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        if (!is_on(slab->run, u, slab->ring)) {
            continue;
        }
        hr_k_store store;
        HR__TRY(hr__slab_store(slab, u, decoded, &store, err));
        if (standing) { /* one item for all places */
            store.copy.src = 0;
            for (int32_t i = 0; i < store.copy.ndim; i++) {
                store.copy.dims[i].src_step = 0;
                store.copy.dims[i].src_list = 0;
            }
        }
        HR__TRY(hr__slab_push_store(slab, HR__SLAB_STORES, &store, err));
    }
    return HR_OK;
}

/* Where the decoded bytes can be made: at their destination, if that is all that would
 * be done with them. */
static hr__devptr final_place(const hr__slab *slab, const hr__chunk *chunk,
                              const hr__kernel_chain *kernels, const hr__leaves *leaves) {
    const hr_dtype *from = &kernels->items;
    const hr__target *t = &slab->run->targets[chunk->uses->request];
    if (!chunk->is_whole || leaves->stored || leaves->mode != HR__SHUFFLE_NONE ||
        kernels->steps.n > 0 || t->steps != NULL || !hr__dtype_equal(from, &t->dtype)) {
        return 0;
    }
    hr__copy copy;
    hr__copy_from_use(chunk->uses, from->itemsize, &copy);
    return hr__copy_is_contiguous(&copy, from->itemsize)
               ? (hr__devptr)(uintptr_t)t->data + (uint64_t)copy.dst_offset
               : 0;
}

static hr__devptr reserve_scratch(hr__slab *slab, uint64_t nbytes) {
    const hr__twin *p = &slab->slot->payload;
    uint64_t at = aligned(p->pinned_nbytes + slab->scratch);
    slab->scratch = at - p->pinned_nbytes + nbytes;
    return p->device + at;
}

static hr_status push_leaves(hr__slab *slab, const hr__chunk *chunk,
                             const hr__leaves *leaves, hr__devptr src, hr__devptr dst,
                             hr_error *err) {
    uint32_t status_index;
    HR__TRY(hr__slab_push_chunk(slab, chunk, &status_index, err));
    const hr__leaf *items = leaves->leaves.items;
    for (size_t i = 0; i < leaves->leaves.n; i++) {
        const hr__leaf *l = &items[i];
        if (l->format == HR__LEAF_COPY) {
            hr_k_store copy =
                hr__slab_store_bytes(dst + l->dst, src + l->src, l->dst_nbytes);
            HR__TRY(hr__slab_push_store(slab, HR__SLAB_COPIES, &copy, err));
            continue;
        }
        hr_k_task task = {.src = src + l->src,
                          .dst = dst + l->dst,
                          .src_nbytes = l->src_nbytes,
                          .dst_nbytes = l->dst_nbytes,
                          .status_index = status_index};
        HR__TRY(hr__slab_push_task(slab, l->format, &task, err));
    }
    return HR_OK;
}

hr_status hr__slab_add_leaves(hr__slab *slab, const hr__chunk *chunk,
                              const hr__kernel_chain *kernels, const hr__leaves *leaves,
                              uint64_t offset, hr_error *err) {
    hr__devptr src = slab->slot->payload.device + offset;
    hr__decoded decoded = {.nbytes = kernels->laid_nbytes,
                           .mode = leaves->mode,
                           .typesize = leaves->typesize,
                           .block_nbytes = leaves->block_nbytes,
                           .from = &kernels->items,
                           .steps = &kernels->steps};
    if (leaves->stored && leaves->mode == HR__SHUFFLE_NONE) {
        decoded.chunk = src + leaves->stored_at;
        return add_stores(slab, chunk, &decoded, false, err);
    }
    decoded.chunk = final_place(slab, chunk, kernels, leaves);
    bool is_final = decoded.chunk != 0;
    if (!is_final) {
        decoded.chunk = reserve_scratch(slab, decoded.nbytes);
    }
    if (leaves->stored) { /* shuffled: to aligned memory first */
        hr_k_store copy =
            hr__slab_store_bytes(decoded.chunk, src + leaves->stored_at, decoded.nbytes);
        HR__TRY(hr__slab_push_store(slab, HR__SLAB_COPIES, &copy, err));
    } else {
        HR__TRY(push_leaves(slab, chunk, leaves, src, decoded.chunk, err));
    }
    return is_final ? HR_OK : add_stores(slab, chunk, &decoded, false, err);
}

/* Kernels do not reverse the fields of structures: the host does, in the payload. */
static hr_dtype settle_items(hr__slab *slab, const hr__array *a, uint64_t offset,
                             uint64_t nbytes) {
    hr_dtype items = a->stored;
    if (items.kind == HR_KIND_STRUCT && items.byte_order == HR_BIG) {
        uint8_t *bytes = slab->slot->payload.pinned + offset;
        hr__dtype_swap(&items, bytes, bytes, nbytes / items.itemsize);
        items = a->dtype;
    }
    return items;
}

hr_status hr__slab_add_decoded(hr__slab *slab, const hr__chunk *chunk, uint64_t offset,
                               hr_error *err) {
    uint64_t nbytes = slab->used - offset;
    hr_dtype items = settle_items(slab, chunk->object->array, offset, nbytes);
    hr__decoded decoded = {.chunk = slab->slot->payload.device + offset,
                           .nbytes = nbytes,
                           .block_nbytes = nbytes,
                           .typesize = 1,
                           .from = &items};
    return add_stores(slab, chunk, &decoded, false, err);
}

hr_status hr__slab_add_fill(hr__slab *slab, const hr__chunk *chunk, hr_error *err) {
    const hr__array *array = chunk->object->array;
    uint64_t offset;
    uint8_t *item = hr__slab_reserve(slab, array->dtype.itemsize, &offset);
    memcpy(item, array->fill, array->dtype.itemsize);
    hr__decoded decoded = {.chunk = slab->slot->payload.device + offset,
                           .nbytes = array->dtype.itemsize,
                           .block_nbytes = array->dtype.itemsize,
                           .typesize = 1,
                           .from = &array->dtype};
    return add_stores(slab, chunk, &decoded, true, err);
}
