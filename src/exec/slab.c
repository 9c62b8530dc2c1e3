/* Slabs: adding chunks. SPDX-License-Identifier: Apache-2.0 */
#include "exec/slab.h"

#include <string.h>

#include "core/checked.h"
#include "device/kstore.h"
#include "exec/run.h"
#include "exec/slab_flush.h"
#include "exec/slab_store.h"
#include "exec/slab_tables.h"

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

/* Where the chunk's items can be made: at their destination, if that is all that would be
 * done with them. */
static hr__devptr final_place(const hr__slab *slab, const hr__chunk *chunk,
                              const hr__kernel_chain *kernels) {
    const hr_dtype *from = &kernels->items;
    const hr__target *t = &slab->run->targets[chunk->uses->request];
    if (!chunk->is_whole || kernels->steps.n > 0 || t->steps != NULL ||
        !hr__dtype_equal(from, &t->dtype)) {
        return 0;
    }
    hr__copy copy;
    hr__copy_from_use(chunk->uses, from->itemsize, &copy);
    return hr__copy_is_contiguous(&copy, from->itemsize)
               ? (hr__devptr)(uintptr_t)t->data + (uint64_t)copy.dst_offset
               : 0;
}

hr__devptr hr__slab_reserve_scratch(hr__slab *slab, uint64_t nbytes) {
    const hr__twin *p = &slab->slot->payload;
    uint64_t at = hr__slab_aligned(p->pinned_nbytes + slab->scratch);
    slab->scratch = at - p->pinned_nbytes + nbytes;
    return p->device + at;
}

static uint16_t wrapper_of(const hr__leaf *l) {
    int wrapper = l->wrapper == HR__DEFLATE_GZIP ? HR_K_DEFLATE_GZIP : HR_K_DEFLATE_ZLIB;
    return (uint16_t)(l->format != HR__LEAF_DEFLATE ? HR_K_DEFLATE_RAW
                      : l->skips_checksum           ? wrapper | HR_K_DEFLATE_UNCHECKED
                                                    : wrapper);
}

static hr_status push_leaves(hr__slab *slab, const hr__leaves *leaves, hr__devptr src,
                             hr__devptr dst, uint32_t status_index, hr_error *err) {
    const hr__leaf *items = leaves->leaves.items;
    for (size_t i = 0; i < leaves->leaves.n; i++) {
        const hr__leaf *l = &items[i];
        if (l->format == HR__LEAF_COPY) {
            hr_k_store copy =
                hr__slab_store_bytes(dst + l->dst, src + l->src, l->dst_nbytes);
            HR__TRY(hr__slab_push_store(slab, HR__SLAB_COPIES, &copy, err));
            continue;
        }
        hr__devptr scratch =
            l->scratch_nbytes > 0 ? hr__slab_reserve_scratch(slab, l->scratch_nbytes) : 0;
        hr_k_task task = {.src = src + l->src,
                          .dst = dst + l->dst,
                          .src_nbytes = l->src_nbytes,
                          .dst_nbytes = l->dst_nbytes,
                          .status_index = status_index,
                          .size_nbytes = (uint16_t)l->size_nbytes,
                          .wrapper = wrapper_of(l)};
        HR__TRY(l->format == HR__LEAF_ZSTD
                    ? hr__slab_push_zstd(slab, l, leaves, &task, scratch, err)
                    : hr__slab_push_task(slab, l->format, &task, err));
    }
    return HR_OK;
}

/* What leaves make, in `place` or, where that is 0, in scratch; stored bytes stay where
 * they are unless a place is given or they are shuffled, which is read best from aligned
 * memory. */
static hr_status decode_leaves(hr__slab *slab, const hr__leaves *leaves, hr__devptr src,
                               uint32_t status_index, hr__decoded *decoded,
                               hr_error *err) {
    if (leaves->stored && leaves->mode == HR__SHUFFLE_NONE) {
        decoded->chunk = src + leaves->stored_at;
        return HR_OK;
    }
    if (decoded->chunk == 0) {
        decoded->chunk = hr__slab_reserve_scratch(slab, decoded->nbytes);
    }
    if (leaves->stored) {
        hr_k_store copy = hr__slab_store_bytes(decoded->chunk, src + leaves->stored_at,
                                               decoded->nbytes);
        return hr__slab_push_store(slab, HR__SLAB_COPIES, &copy, err);
    }
    return push_leaves(slab, leaves, src, decoded->chunk, status_index, err);
}

/* Unless they already are: plain items of `to` in `place`. */
static hr_status lay_out(hr__slab *slab, const hr_dtype *to, hr__devptr place,
                         hr__decoded *decoded, hr_error *err) {
    if (decoded->chunk == place) {
        return HR_OK;
    }
    hr_k_store store;
    HR__TRY(hr__slab_store_items(decoded, to, place, &store, err));
    decoded->chunk = place;
    decoded->mode = HR__SHUFFLE_NONE;
    return hr__slab_push_store(slab, HR__SLAB_LAYOUTS, &store, err);
}

static hr_status push_sum(hr__slab *slab, const hr__stage *stage, hr__devptr place,
                          hr__decoded *decoded, hr_error *err) {
    const bool is_reversed =
        decoded->chunk == place && !hr__dtype_equal(decoded->from, &stage->items);
    HR__TRY(lay_out(slab, &stage->items, place, decoded, err));
    uint32_t nbytes =
        stage->row > 0 ? stage->component_nbytes : (uint32_t)stage->items.itemsize;
    hr_k_filter_task task = {.dst = place,
                             .kind = stage->row > 0 ? HR_K_FILTER_ROWS
                                     : hr__dtype_is_integer(&stage->items)
                                         ? HR_K_FILTER_INTEGERS
                                         : HR_K_FILTER_FLOATS,
                             .number = hr__kstore_number(&stage->items),
                             .nitems = stage->nbytes / nbytes,
                             .nbytes = nbytes,
                             .high_first = is_reversed,
                             .row = stage->row,
                             .stride = stage->stride};
    return hr__slab_push_filter(slab, HR__STAGE_SUM, &task, err);
}

/* Each item by itself: scaled where it stands, or cast from items elsewhere. */
static hr_status push_items(hr__slab *slab, const hr__stage *stage, hr__devptr place,
                            uint32_t status_index, hr__decoded *decoded, hr_error *err) {
    const bool is_cast = stage->kind == HR__STAGE_CAST;
    const hr_dtype *from = is_cast ? &stage->from : &stage->items;
    hr_k_filter_task task = {
        .src = is_cast ? hr__slab_reserve_scratch(slab, decoded->nbytes) : place,
        .dst = place,
        .kind = is_cast ? HR_K_FILTER_CAST : HR_K_FILTER_SCALE,
        .number = hr__kstore_number(&stage->items),
        .nitems = stage->nbytes / stage->items.itemsize,
        .nbytes = (uint32_t)stage->items.itemsize,
        .width = 8 * (uint32_t)from->itemsize,
        .status_index = status_index,
        .a = stage->scale,
        .b = stage->offset,
        .from = hr__kstore_number(from),
        .rounding = stage->rounding,
        .out_of_range = stage->out_of_range,
        .nmapped = stage->nmapped};
    memcpy(task.mapped, stage->mapped, sizeof task.mapped);
    HR__TRY(lay_out(slab, from, task.src, decoded, err));
    return hr__slab_push_filter(slab, HR__STAGE_UNPACK, &task, err);
}

static hr_status push_unpack(hr__slab *slab, const hr__stage *stage, hr__devptr place,
                             uint32_t status_index, const hr__decoded *decoded,
                             hr_error *err) {
    const hr_dtype bytes = hr__dtype(HR_KIND_UINT, 1);
    hr__decoded packed = *decoded;
    packed.from = &bytes;
    if (packed.mode != HR__SHUFFLE_NONE) {
        HR__TRY(lay_out(slab, &bytes, hr__slab_reserve_scratch(slab, packed.nbytes),
                        &packed, err));
    }
    hr_k_filter_task task = {.src = packed.chunk + stage->packed_at,
                             .dst = place,
                             .nitems = stage->nbytes / stage->component_nbytes,
                             .nbytes = stage->component_nbytes,
                             .width = stage->width,
                             .first_bit = stage->first_bit,
                             .is_signed = stage->is_signed,
                             .high_first = stage->high_first,
                             .row = stage->row,
                             .status_index = status_index};
    if (stage->check_value >= 0) {
        task.check = packed.chunk + stage->check_at;
        task.check_value = (uint32_t)stage->check_value;
    }
    return hr__slab_push_filter(slab, stage->kind, &task, err);
}

/* A stage that works in place can do so where leaves lay items down: the order of bytes
 * does not matter to sums of rows. */
static bool is_in_place(const hr__stage *stage, const hr_dtype *laid) {
    return stage->kind == HR__STAGE_SUM && stage->row > 0
               ? hr__dtype_same_kind(laid, &stage->items)
               : (stage->kind == HR__STAGE_SUM || stage->kind == HR__STAGE_SCALE) &&
                     hr__dtype_equal(laid, &stage->items);
}

/* Leaves, then the stage. It needs its items aligned. */
static hr_status add_staged(hr__slab *slab, const hr__chunk *chunk,
                            const hr__kernel_chain *kernels, const hr__leaves *leaves,
                            hr__devptr src, hr__decoded *decoded, hr_error *err) {
    const hr__stage *stage = &kernels->stage;
    hr__devptr place = stage->has_planes ? 0 : final_place(slab, chunk, kernels);
    bool is_final = place != 0 && place % HR__SLAB_ALIGNMENT == 0;
    uint32_t status_index;
    if (!is_final) {
        place = hr__slab_reserve_scratch(slab, stage->nbytes);
    }
    if (!leaves->stored && leaves->mode == HR__SHUFFLE_NONE &&
        is_in_place(stage, &kernels->laid)) {
        decoded->chunk = place;
    }
    HR__TRY(hr__slab_push_chunk(slab, chunk, &status_index, err));
    HR__TRY(decode_leaves(slab, leaves, src, status_index, decoded, err));
    HR__TRY(stage->kind == HR__STAGE_SUM ? push_sum(slab, stage, place, decoded, err)
            : stage->kind == HR__STAGE_UNPACK
                ? push_unpack(slab, stage, place, status_index, decoded, err)
                : push_items(slab, stage, place, status_index, decoded, err));
    if (is_final) {
        return HR_OK;
    }
    hr__decoded staged = {.chunk = place,
                          .nbytes = stage->nbytes,
                          .typesize = 1,
                          .block_nbytes = stage->nbytes,
                          .from = &kernels->items,
                          .steps = &kernels->steps};
    if (stage->has_planes) {
        staged.mode = HR__SHUFFLE_BYTES;
        staged.typesize = (uint32_t)stage->items.itemsize;
        staged.block_nbytes = stage->row;
    }
    return add_stores(slab, chunk, &staged, false, err);
}

hr_status hr__slab_add_leaves(hr__slab *slab, const hr__chunk *chunk,
                              const hr__kernel_chain *kernels, const hr__leaves *leaves,
                              hr__devptr src, hr_error *err) {
    hr__decoded decoded = {.nbytes = kernels->laid_nbytes,
                           .mode = leaves->mode,
                           .typesize = leaves->typesize,
                           .block_nbytes = leaves->block_nbytes,
                           .from = &kernels->laid,
                           .steps = &kernels->steps};
    if (kernels->stage.kind != HR__STAGE_NONE) {
        return add_staged(slab, chunk, kernels, leaves, src, &decoded, err);
    }
    bool is_final = !leaves->stored && leaves->mode == HR__SHUFFLE_NONE;
    uint32_t status_index = 0;
    decoded.chunk = is_final ? final_place(slab, chunk, kernels) : 0;
    is_final = decoded.chunk != 0;
    if (!leaves->stored) {
        HR__TRY(hr__slab_push_chunk(slab, chunk, &status_index, err));
    }
    HR__TRY(decode_leaves(slab, leaves, src, status_index, &decoded, err));
    return is_final ? HR_OK : add_stores(slab, chunk, &decoded, false, err);
}

static uint64_t scratch_need(const hr__kernel_chain *kernels, bool is_shuffled) {
    const hr__stage *stage = &kernels->stage;
    uint64_t laid = hr__slab_room(kernels->laid_nbytes), need = laid;
    if (stage->kind == HR__STAGE_NONE) {
        return need;
    }
    if (!is_shuffled && is_in_place(stage, &kernels->laid)) {
        return hr__slab_room(stage->nbytes);
    }
    bool fits = hr__add_u64(need, laid, &need) && /* packed bits twice, if shuffled */
                hr__add_u64(need, hr__slab_room(stage->nbytes), &need);
    return fits ? need : UINT64_MAX;
}

uint64_t hr__slab_scratch_need(const hr__kernel_chain *kernels) {
    return scratch_need(kernels, kernels->may_shuffle);
}

uint64_t hr__slab_whole_need(const hr__kernel_chain *kernels, const hr__leaves *leaves) {
    uint64_t need = scratch_need(kernels, leaves->mode != HR__SHUFFLE_NONE);
    uint64_t aligning = (uint64_t)leaves->leaves.n * HR__SLAB_ALIGNMENT;
    bool fits = hr__add_u64(need, leaves->scratch_nbytes, &need) &&
                hr__add_u64(need, leaves->scratch_nbytes > 0 ? aligning : 0, &need);
    return fits ? need : UINT64_MAX;
}

uint64_t hr__slab_most_need(const hr__kernel_chain *kernels) {
    hr__leaves leaves = {.mode =
                             kernels->may_shuffle ? HR__SHUFFLE_BYTES : HR__SHUFFLE_NONE};
    return hr__mul_u64(kernels->laid_nbytes, kernels->scratch_ratio,
                       &leaves.scratch_nbytes)
               ? hr__slab_whole_need(kernels, &leaves)
               : UINT64_MAX;
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
                               uint64_t nbytes, hr_error *err) {
    hr_dtype items = settle_items(slab, chunk->object->array, offset, nbytes);
    hr__decoded decoded = {.chunk = slab->slot->payload.device + offset,
                           .nbytes = nbytes,
                           .block_nbytes = nbytes,
                           .typesize = 1,
                           .from = &items};
    return add_stores(slab, chunk, &decoded, false, err);
}

hr_status hr__slab_add_fill(hr__slab *slab, const hr__chunk *chunk, uint64_t offset,
                            hr_error *err) {
    const hr__array *array = chunk->object->array;
    hr__decoded decoded = {.chunk = slab->slot->payload.device + offset,
                           .nbytes = array->dtype.itemsize,
                           .block_nbytes = array->dtype.itemsize,
                           .typesize = 1,
                           .from = &array->dtype};
    return add_stores(slab, chunk, &decoded, true, err);
}
