/* Bringing a decoded chunk to its destinations on devices.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host decodes (and converts) into a pinned slot; one copy brings it up, with the
 * index lists that the copy needs behind it; a kernel scatters it. */
#include <inttypes.h>
#include <string.h>

#include "core/checked.h"
#include "cuda/kernel_abi.h"
#include "exec/run.h"
#include "exec/scatter.h"

#define LIST_ALIGNMENT 16

/* Bytes of the index lists of a copy. */
static uint64_t lists_nbytes(const hr__copy *copy) {
    uint64_t n = 0;
    for (int32_t i = 0; i < copy->nloops; i++) {
        const hr__loop *l = &copy->loops[i];
        n += l->src_list != NULL ? (uint64_t)l->n : 0;
        n += l->dst_list != NULL ? (uint64_t)l->n : 0;
    }
    return n * sizeof(int64_t);
}

static uint64_t put_list(hr__slot_buffer *slot, uint64_t *used, const int64_t *list,
                         int64_t n) {
    if (list == NULL) {
        return 0;
    }
    uint64_t at = *used;
    memcpy(slot->pinned + at, list, (size_t)n * sizeof *list);
    *used += (uint64_t)n * sizeof *list;
    return slot->device + at;
}

/* The copy as the kernel's block; lists go into the slot behind `used`. */
static void fill_block(const hr__copy *copy, hr__slot_buffer *slot, uint64_t *used,
                       uint64_t itemsize, uint8_t *dst, hr_k_scatter *k) {
    *k = (hr_k_scatter){.src = slot->device + (uint64_t)copy->src_offset,
                        .dst = (uint64_t)(uintptr_t)dst + (uint64_t)copy->dst_offset,
                        .nitems = 1,
                        .itemsize = (uint32_t)itemsize,
                        .ndim = copy->nloops};
    for (int32_t i = 0; i < copy->nloops; i++) {
        const hr__loop *l = &copy->loops[i];
        k->nitems *= (uint64_t)l->n;
        k->dims[i] = (hr_k_dim){.n = (uint64_t)l->n,
                                .src_step = l->src_step,
                                .dst_step = l->dst_step,
                                .src_list = put_list(slot, used, l->src_list, l->n),
                                .dst_list = put_list(slot, used, l->dst_list, l->n)};
    }
    if (k->ndim == 0) {
        k->ndim = 1;
        k->dims[0].n = 1;
    }
}

/* The chunk's items as the destination wants them, in pinned memory. */
static void stage_items(const hr__target *t, uint8_t *pinned, const uint8_t *bytes,
                        uint64_t nitems, const hr_dtype *from) {
    hr__copy copy = {.nloops = 1,
                     .loops = {{.n = (int64_t)nitems,
                                .src_step = (int64_t)from->itemsize,
                                .dst_step = (int64_t)t->dtype.itemsize}}};
    hr__scatter(&copy, pinned, &t->dtype, bytes, from);
}

static hr_status launch(hr__device *d, hr__slot_buffer *slot, hr__kernel kernel,
                        const hr_k_scatter *k, uint64_t used, hr_error *err) {
    HR__TRY(
        d->ops->copy_to_device(d, slot->stream, slot->device, slot->pinned, used, err));
    hr_k_fill fill = {.where = *k};
    return d->ops->launch(d, slot->stream, kernel,
                          kernel == HR__KERNEL_FILL ? (const void *)&fill : k, err);
}

/* What one use of a chunk sends up. */
typedef struct cargo {
    const uint8_t *bytes;
    uint64_t nitems;
    const hr_dtype *from;
    hr__kernel kernel;
} cargo;

/* A fill reads its one item wherever the loops are. */
static void forget_source(hr__copy *copy) {
    copy->src_offset = 0;
    for (int32_t i = 0; i < copy->nloops; i++) {
        copy->loops[i].src_step = 0;
        copy->loops[i].src_list = NULL;
    }
}

static hr_status deliver_use(hr__run *run, const hr__use *use, const cargo *c,
                             hr_error *err) {
    const hr__target *t = &run->targets[use->request];
    hr__device *d = t->ring->device;
    uint64_t itemsize = t->dtype.itemsize;
    hr__copy copy;
    hr__copy_from_use(use, itemsize, &copy);
    if (c->kernel == HR__KERNEL_FILL) {
        forget_source(&copy);
    }
    if (copy.nloops > HR_K_MAX_DIMS || itemsize > UINT32_MAX) {
        return hr__fail(
            err, HR_ERR_UNSUPPORTED,
            "a selection with %d separate loops into device memory (at most %d)",
            copy.nloops, HR_K_MAX_DIMS);
    }
    uint64_t nbytes; /* of the items; then of the slot */
    uint64_t used;
    if (!hr__mul_u64(c->nitems, itemsize, &nbytes) ||
        !hr__add_u64(nbytes, LIST_ALIGNMENT + lists_nbytes(&copy), &used)) {
        return hr__fail(err, HR_ERR_OVERFLOW, "chunk too large for staging");
    }
    hr__slot_buffer *slot = NULL;
    HR__TRY(hr__ring_acquire(t->ring, used, &slot, err));
    stage_items(t, slot->pinned, c->bytes, c->nitems, c->from);
    used = (nbytes + LIST_ALIGNMENT - 1) / LIST_ALIGNMENT * LIST_ALIGNMENT;
    hr_k_scatter block;
    fill_block(&copy, slot, &used, itemsize, t->data, &block);
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < run->nstarts && status == HR_OK; i++) {
        if (run->starts[i].ring == t->ring) {
            status = d->ops->stream_wait(d, slot->stream, run->starts[i].event, err);
        }
    }
    if (status == HR_OK) {
        status = launch(d, slot, c->kernel, &block, used, err);
    }
    atomic_fetch_add(&run->copied_nbytes, used);
    hr_status given = hr__ring_give_back(t->ring, slot, status == HR_OK ? err : NULL);
    return status != HR_OK ? status : given;
}

hr_status hr__stage_deliver(hr__run *run, const hr__chunk *chunk, const uint8_t *bytes,
                            uint64_t nbytes, const hr_dtype *from, hr_error *err) {
    const hr__array *array = chunk->object->array;
    cargo c = {.bytes = array->fill,
               .nitems = 1,
               .from = &array->dtype,
               .kernel = HR__KERNEL_FILL};
    if (bytes != NULL) {
        c = (cargo){.bytes = bytes,
                    .nitems = from->itemsize > 0 ? nbytes / from->itemsize : 0,
                    .from = from,
                    .kernel = HR__KERNEL_SCATTER};
    }
    hr_status status = HR_OK;
    for (const hr__use *u = chunk->uses; u != NULL && status == HR_OK; u = u->next) {
        hr__ring *ring = run->targets[u->request].ring;
        if (ring == NULL) {
            continue;
        }
        void *saved = NULL;
        HR__TRY(ring->device->ops->enter(ring->device, &saved, err));
        status = deliver_use(run, u, &c, err);
        ring->device->ops->leave(ring->device, saved);
    }
    return status;
}
