/* What a slab has collected, and the tables that it becomes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "exec/slab_tables.h"

#include <string.h>

#include "device/kstore.h"
#include "device/lz_regime.h"
#include "exec/run.h"
#include "exec/slab_zstd.h"

hr__vec *hr__slab_vec(hr__slab *slab, int which) {
    return &slab->slot->vecs[which];
}

static void *push(hr__slab *slab, int which, size_t size, hr_error *err) {
    void *place = hr__vec_push(&slab->ring->allocator, hr__slab_vec(slab, which), size);
    if (place == NULL) {
        (void)hr__fail_memory(err, size);
    }
    return place;
}

hr_status hr__slab_push_store(hr__slab *slab, hr__slab_turn turn, const hr_k_store *store,
                              hr_error *err) {
    hr__slab_store_task *s = push(slab, HR__SLAB_STORE_TASKS, sizeof *s, err);
    if (s == NULL) {
        return HR_ERR_MEMORY;
    }
    s->turn = turn;
    slab->is_shuffled |= store->shuffle != HR_K_PLAIN;
    hr_status status = hr__kstore_lower(store, &s->task, err);
    if (status != HR_OK) {
        hr__slab_vec(slab, HR__SLAB_STORE_TASKS)->n--;
    }
    return status;
}

hr_status hr__slab_push_chunk(hr__slab *slab, const hr__chunk *chunk,
                              uint32_t *status_index, hr_error *err) {
    hr__slab_chunk *place = push(slab, HR__SLAB_CHUNKS, sizeof *place, err);
    if (place == NULL) {
        return HR_ERR_MEMORY;
    }
    place->chunk = chunk;
    *status_index = (uint32_t)hr__slab_vec(slab, HR__SLAB_CHUNKS)->n - 1;
    return HR_OK;
}

hr_status hr__slab_push_task(hr__slab *slab, hr__leaf_format format,
                             const hr_k_task *task, hr_error *err) {
    hr__slab_task *t = push(slab, HR__SLAB_TASKS, sizeof *t, err);
    if (t == NULL) {
        return HR_ERR_MEMORY;
    }
    *t = (hr__slab_task){.format = format, .task = *task};
    hr__slab_nvcomp_count(slab, format, task);
    return HR_OK;
}

hr_status hr__slab_push_zstd(hr__slab *slab, const hr__leaf *leaf,
                             const hr__leaves *leaves, const hr_k_task *task,
                             hr__devptr scratch, hr_error *err) {
    const hr__zstd_block *blocks = leaves->zstd_blocks.items;
    hr__kzstd_stream *stream = push(slab, HR__SLAB_ZSTD_STREAMS, sizeof *stream, err);
    if (stream == NULL) {
        return HR_ERR_MEMORY;
    }
    *stream = (hr__kzstd_stream){
        .task = *task,
        .first_block = (uint32_t)hr__slab_vec(slab, HR__SLAB_ZSTD_BLOCKS)->n,
        .nblocks = leaf->nblocks};
    for (uint32_t i = 0; i < leaf->nblocks; i++) {
        if (push(slab, HR__SLAB_ZSTD_BLOCKS, sizeof(hr_k_zstd_block), err) == NULL) {
            hr__slab_vec(slab, HR__SLAB_ZSTD_BLOCKS)->n = stream->first_block;
            hr__slab_vec(slab, HR__SLAB_ZSTD_STREAMS)->n--;
            return HR_ERR_MEMORY;
        }
    }
    hr_k_zstd_block *pushed = hr__slab_vec(slab, HR__SLAB_ZSTD_BLOCKS)->items;
    hr__slab_zstd_blocks(&blocks[leaf->first_block], leaf->nblocks, task, scratch,
                         &pushed[stream->first_block]);
    return HR_OK;
}

hr_status hr__slab_push_filter(hr__slab *slab, hr__stage_kind kind,
                               const hr_k_filter_task *task, hr_error *err) {
    hr__slab_filter *f = push(slab, HR__SLAB_FILTERS, sizeof *f, err);
    if (f == NULL) {
        return HR_ERR_MEMORY;
    }
    *f = (hr__slab_filter){.kind = kind, .task = *task};
    return HR_OK;
}

/* The items of one vec behind those of the other. */
static hr_status append(hr__slab *slab, hr__slab *other, int which, size_t size,
                        hr_error *err) {
    const hr__vec *from = hr__slab_vec(other, which);
    for (size_t i = 0; i < from->n; i++) {
        void *item = push(slab, which, size, err);
        if (item == NULL) {
            return HR_ERR_MEMORY;
        }
        memcpy(item, (const uint8_t *)from->items + i * size, size);
    }
    return HR_OK;
}

hr_status hr__slab_take_over(hr__slab *slab, hr__slab *other, hr_error *err) {
    static const size_t sizes[HR__SLAB_ITSELF] = {
        [HR__SLAB_CHUNKS] = sizeof(hr__slab_chunk),
        [HR__SLAB_TASKS] = sizeof(hr__slab_task),
        [HR__SLAB_ZSTD_STREAMS] = sizeof(hr__kzstd_stream),
        [HR__SLAB_ZSTD_BLOCKS] = sizeof(hr_k_zstd_block),
        [HR__SLAB_FILTERS] = sizeof(hr__slab_filter),
        [HR__SLAB_STORE_TASKS] = sizeof(hr__slab_store_task)};
    const hr__vec *vecs = slab->slot->vecs;
    const uint32_t nchunks = (uint32_t)vecs[HR__SLAB_CHUNKS].n;
    const uint32_t nblocks = (uint32_t)vecs[HR__SLAB_ZSTD_BLOCKS].n;
    const size_t ntasks = vecs[HR__SLAB_TASKS].n;
    const size_t nstreams = vecs[HR__SLAB_ZSTD_STREAMS].n;
    const size_t nfilters = vecs[HR__SLAB_FILTERS].n;
    for (int which = 0; which < HR__SLAB_ITSELF; which++) {
        HR__TRY(append(slab, other, which, sizes[which], err));
    }
    hr__slab_task *tasks = vecs[HR__SLAB_TASKS].items;
    for (size_t i = ntasks; i < vecs[HR__SLAB_TASKS].n; i++) {
        tasks[i].task.status_index += nchunks;
        hr__slab_nvcomp_count(slab, tasks[i].format, &tasks[i].task);
    }
    hr__kzstd_stream *streams = vecs[HR__SLAB_ZSTD_STREAMS].items;
    for (size_t i = nstreams; i < vecs[HR__SLAB_ZSTD_STREAMS].n; i++) {
        streams[i].task.status_index += nchunks;
        streams[i].first_block += nblocks;
    }
    hr__slab_filter *filters = vecs[HR__SLAB_FILTERS].items;
    for (size_t i = nfilters; i < vecs[HR__SLAB_FILTERS].n; i++) {
        filters[i].task.status_index += nchunks;
    }
    slab->is_shuffled |= other->is_shuffled;
    hr__slab_vec(other, HR__SLAB_CHUNKS)->n = 0; /* with the others, of no use any more */
    return HR_OK;
}

/* --- the tables --- */

#define WHOLE_CHUNKS 8
/* Of scratch that slabs share, unless one stream wants more. */
#define SHARED_NBYTES (UINT64_C(64) << 20)

static uint64_t place(hr__slab_tables *t, uint64_t nbytes) {
    uint64_t at = t->nbytes;
    t->nbytes =
        (at + nbytes + HR__SLAB_ALIGNMENT - 1) / HR__SLAB_ALIGNMENT * HR__SLAB_ALIGNMENT;
    return at;
}

hr__kzstd_batch hr__slab_zstd_batch(hr__slab *slab) {
    return (hr__kzstd_batch){
        .streams = hr__slab_vec(slab, HR__SLAB_ZSTD_STREAMS)->items,
        .blocks = hr__slab_vec(slab, HR__SLAB_ZSTD_BLOCKS)->items,
        .nstreams = (uint32_t)hr__slab_vec(slab, HR__SLAB_ZSTD_STREAMS)->n,
        .nblocks = (uint32_t)hr__slab_vec(slab, HR__SLAB_ZSTD_BLOCKS)->n};
}

uint64_t hr__slab_tables_nbytes(const hr__slab *slab) {
    static const size_t sizes[HR__SLAB_ITSELF] = {
        [HR__SLAB_CHUNKS] = sizeof(uint64_t),
        [HR__SLAB_TASKS] = sizeof(hr_k_task),
        [HR__SLAB_ZSTD_STREAMS] = sizeof(hr_k_task),
        [HR__SLAB_ZSTD_BLOCKS] = sizeof(hr_k_zstd_block) + sizeof(hr_k_zstd_result),
        [HR__SLAB_FILTERS] = sizeof(hr_k_filter_task),
        [HR__SLAB_STORE_TASKS] = sizeof(hr_k_store_task) + sizeof(hr_k_store_tile)};
    uint64_t nbytes = 0;
    for (int i = 0; i < HR__SLAB_ITSELF; i++) {
        nbytes += slab->slot->vecs[i].n * sizes[i];
    }
    return nbytes;
}

void hr__slab_lay_out(hr__slab *slab, hr__slab_tables *t) {
    *t = (hr__slab_tables){0};
    const hr__slab_task *tasks = hr__slab_vec(slab, HR__SLAB_TASKS)->items;
    const hr__slab_store_task *stores = hr__slab_vec(slab, HR__SLAB_STORE_TASKS)->items;
    size_t ntasks = hr__slab_vec(slab, HR__SLAB_TASKS)->n;
    for (size_t i = 0; i < ntasks; i++) {
        t->ntasks[tasks[i].format]++;
    }
    for (size_t i = 0; i < hr__slab_vec(slab, HR__SLAB_STORE_TASKS)->n; i++) {
        t->nstores[stores[i].turn]++;
        t->ntiles[stores[i].turn] += stores[i].task.tiles.ntiles;
    }
    const hr__slab_filter *filters = hr__slab_vec(slab, HR__SLAB_FILTERS)->items;
    for (size_t i = 0; i < hr__slab_vec(slab, HR__SLAB_FILTERS)->n; i++) {
        t->nsums += filters[i].kind == HR__STAGE_SUM;
        t->nunpacks += filters[i].kind == HR__STAGE_UNPACK;
    }
    t->tasks = place(t, ntasks * sizeof(hr_k_task));
    t->nvcomp = place(t, hr__slab_nvcomp_nbytes(slab));
    t->sums = place(t, t->nsums * sizeof(hr_k_filter_task));
    t->unpacks = place(t, t->nunpacks * sizeof(hr_k_filter_task));
    for (int turn = 0; turn < HR__SLAB_NTURNS; turn++) {
        t->stores[turn] = place(t, t->nstores[turn] * sizeof(hr_k_store_task));
        t->tiles[turn] = place(t, t->ntiles[turn] * sizeof(hr_k_store_tile));
    }
    const hr__kzstd_batch zstd = hr__slab_zstd_batch(slab);
    hr__kzstd_lay_out(&zstd, &t->zstd_tables);
    t->zstd = place(t, t->zstd_tables.nbytes);
    t->zeros = place(t, HR__NLEAF_FORMATS * sizeof(uint32_t));
    t->zstd_zeros = place(t, t->zstd_tables.zeros_nbytes);
    t->status = place(t, hr__slab_vec(slab, HR__SLAB_CHUNKS)->n * sizeof(uint64_t));
}

/* A few large LZ4 streams, decoded by the whole device, if scratch can be had for that:
 * so many at a time as it serves. Of a read of many chunks the slabs on their way share
 * the device better. */
static hr_status share_device(hr__slab *slab, hr_k_task *tasks, uint32_t n,
                              hr_error *err) {
    const hr__device *d = slab->ring->device;
    const hr__lz_machine machine = {d->nmultiprocessors, d->block_shared_nbytes};
    if (slab->run->plan.nchunks > WHOLE_CHUNKS ||
        !hr__lz_is_for_whole(tasks, n, slab->is_shuffled, &machine)) {
        return HR_OK;
    }
    uint64_t most = 0, total = 0, nbytes = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t room = hr__slab_aligned(hr__lz_whole_room(&tasks[i]));
        most = room > most ? room : most;
        total += room;
    }
    hr__devptr scratch;
    HR__TRY(hr__ring_share(slab->ring, slab->slot, most,
                           total < SHARED_NBYTES ? total : SHARED_NBYTES, &scratch,
                           &nbytes, err));
    slab->shares = scratch != 0;
    for (uint32_t i = 0; i < n && slab->shares; i++) {
        const uint64_t room = hr__slab_aligned(hr__lz_whole_room(&tasks[i]));
        at = room > nbytes - at ? 0 : at;
        tasks[i].scratch = scratch + at;
        at += room;
    }
    return HR_OK;
}

/* By format, each longest first. */
static hr_status fill_tasks(hr__slab *slab, const hr__slab_tables *t, hr_k_task *out,
                            hr_error *err) {
    const hr__slab_task *tasks = hr__slab_vec(slab, HR__SLAB_TASKS)->items;
    hr_k_task *end[HR__NLEAF_FORMATS], *at = out;
    for (int f = 0; f < HR__NLEAF_FORMATS; f++) {
        end[f] = at;
        at += t->ntasks[f];
    }
    for (size_t i = 0; i < hr__slab_vec(slab, HR__SLAB_TASKS)->n; i++) {
        *end[tasks[i].format]++ = tasks[i].task;
    }
    uint64_t nvcomp = t->nvcomp;
    for (int f = 0; f < HR__NLEAF_FORMATS; f++) {
        hr_k_task *first = end[f] - t->ntasks[f];
        hr__lz_sort_tasks(first, t->ntasks[f]);
        if (f == HR__LEAF_LZ4 && !hr__slab_nvcomp_takes(slab, HR__LEAF_LZ4)) {
            HR__TRY(share_device(slab, first, t->ntasks[f], err));
        }
        hr__slab_nvcomp_fill(slab, (hr__leaf_format)f, first, &nvcomp);
    }
    return HR_OK;
}

/* Tiles are counted here, for the tasks begin with what is counted. */
static void fill_filters(hr__slab *slab, hr__slab_tables *t, uint8_t *base) {
    const hr__slab_filter *filters = hr__slab_vec(slab, HR__SLAB_FILTERS)->items;
    hr_k_filter_task *sums = (hr_k_filter_task *)(base + t->sums);
    hr_k_filter_task *unpacks = (hr_k_filter_task *)(base + t->unpacks);
    for (size_t i = 0; i < hr__slab_vec(slab, HR__SLAB_FILTERS)->n; i++) {
        hr_k_filter_task task = filters[i].task;
        if (filters[i].kind == HR__STAGE_SUM) {
            t->sum_kinds |= 1U << task.kind;
            task.first_tile = t->nsum_tiles;
            t->nsum_tiles += hr__ksum_tiles(&task);
            *sums++ = task;
            continue;
        }
        t->unpack_kinds |= 1U << task.kind;
        task.first_tile = t->nunpack_tiles;
        t->nunpack_tiles += hr__kfilter_tiles(&task);
        *unpacks++ = task;
    }
}

hr_status hr__slab_fill(hr__slab *slab, hr__slab_tables *t, hr_error *err) {
    uint8_t *base = slab->slot->tables.pinned;
    const hr__slab_store_task *stores = hr__slab_vec(slab, HR__SLAB_STORE_TASKS)->items;
    HR__TRY(fill_tasks(slab, t, (hr_k_task *)(base + t->tasks), err));
    fill_filters(slab, t, base);
    const hr__kzstd_batch zstd = hr__slab_zstd_batch(slab);
    hr__devptr device = slab->slot->tables.device;
    hr__kzstd_fill(&zstd, &t->zstd_tables, base + t->zstd, device + t->zstd,
                   device + t->zstd_zeros, &t->zstd_params);
    uint32_t at[HR__SLAB_NTURNS] = {0};
    for (size_t i = 0; i < hr__slab_vec(slab, HR__SLAB_STORE_TASKS)->n; i++) {
        hr__slab_turn turn = stores[i].turn;
        ((hr_k_store_task *)(base + t->stores[turn]))[at[turn]++] = stores[i].task;
    }
    for (int turn = 0; turn < HR__SLAB_NTURNS; turn++) {
        HR__TRY(hr__kstore_list(
            (const hr_k_store_task *)(base + t->stores[turn]), t->nstores[turn],
            (hr_k_store_tile *)(base + t->tiles[turn]), &t->batches[turn], err));
        t->batches[turn].tasks = slab->slot->tables.device + t->stores[turn];
        t->batches[turn].tiles = slab->slot->tables.device + t->tiles[turn];
    }
    memset(base + t->zeros, 0, t->nbytes - t->zeros);
    return HR_OK;
}
