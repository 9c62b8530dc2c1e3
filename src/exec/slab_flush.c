/* Sending a slab off, and what comes back. SPDX-License-Identifier: Apache-2.0 */
#include "exec/slab_flush.h"

#include <inttypes.h>
#include <string.h>

#include "device/kstore.h"
#include "device/kzstd.h"
#include "device/lz_regime.h"
#include "exec/run.h"
#include "exec/slab_zstd.h"

enum {
    CHUNKS = 0,
    TASKS,
    ZSTD_STREAMS,
    ZSTD_BLOCKS,
    FILTERS,
    STORES
}; /* the slot's vecs */

/* With a status word of its own. */
typedef struct slab_chunk {
    const hr__chunk *chunk;
} slab_chunk;

typedef struct slab_task {
    hr__leaf_format format;
    hr_k_task task;
} slab_task;

typedef struct slab_filter {
    hr__stage_kind kind;
    hr_k_filter_task task;
} slab_filter;

typedef struct slab_store {
    hr__slab_turn turn;
    hr_k_store_task task;
} slab_store;

static hr__vec *vec_of(hr__slab *slab, int which) {
    return &slab->slot->vecs[which];
}

static void *push(hr__slab *slab, int which, size_t size, hr_error *err) {
    void *place = hr__vec_push(&slab->ring->allocator, vec_of(slab, which), size);
    if (place == NULL) {
        (void)hr__fail_memory(err, size);
    }
    return place;
}

hr_status hr__slab_push_store(hr__slab *slab, hr__slab_turn turn, const hr_k_store *store,
                              hr_error *err) {
    slab_store *s = push(slab, STORES, sizeof *s, err);
    if (s == NULL) {
        return HR_ERR_MEMORY;
    }
    s->turn = turn;
    slab->is_shuffled |= store->shuffle != HR_K_PLAIN;
    hr_status status = hr__kstore_lower(store, &s->task, err);
    if (status != HR_OK) {
        vec_of(slab, STORES)->n--;
    }
    return status;
}

hr_status hr__slab_push_chunk(hr__slab *slab, const hr__chunk *chunk,
                              uint32_t *status_index, hr_error *err) {
    slab_chunk *place = push(slab, CHUNKS, sizeof *place, err);
    if (place == NULL) {
        return HR_ERR_MEMORY;
    }
    place->chunk = chunk;
    *status_index = (uint32_t)vec_of(slab, CHUNKS)->n - 1;
    return HR_OK;
}

hr_status hr__slab_push_task(hr__slab *slab, hr__leaf_format format,
                             const hr_k_task *task, hr_error *err) {
    slab_task *t = push(slab, TASKS, sizeof *t, err);
    if (t == NULL) {
        return HR_ERR_MEMORY;
    }
    *t = (slab_task){.format = format, .task = *task};
    hr__slab_nvcomp_count(slab, format, task);
    return HR_OK;
}

hr_status hr__slab_push_zstd(hr__slab *slab, const hr__leaf *leaf,
                             const hr__leaves *leaves, const hr_k_task *task,
                             hr__devptr scratch, hr_error *err) {
    const hr__zstd_block *blocks = leaves->zstd_blocks.items;
    hr__kzstd_stream *stream = push(slab, ZSTD_STREAMS, sizeof *stream, err);
    if (stream == NULL) {
        return HR_ERR_MEMORY;
    }
    *stream = (hr__kzstd_stream){.task = *task,
                                 .first_block = (uint32_t)vec_of(slab, ZSTD_BLOCKS)->n,
                                 .nblocks = leaf->nblocks};
    for (uint32_t i = 0; i < leaf->nblocks; i++) {
        hr_k_zstd_block *b = push(slab, ZSTD_BLOCKS, sizeof *b, err);
        if (b == NULL) {
            vec_of(slab, ZSTD_BLOCKS)->n = stream->first_block;
            vec_of(slab, ZSTD_STREAMS)->n--;
            return HR_ERR_MEMORY;
        }
        *b = hr__slab_zstd_block(&blocks[leaf->first_block + i], &scratch);
    }
    return HR_OK;
}

hr_status hr__slab_push_filter(hr__slab *slab, hr__stage_kind kind,
                               const hr_k_filter_task *task, hr_error *err) {
    slab_filter *f = push(slab, FILTERS, sizeof *f, err);
    if (f == NULL) {
        return HR_ERR_MEMORY;
    }
    *f = (slab_filter){.kind = kind, .task = *task};
    return HR_OK;
}

/* --- the tables that go up behind the payload --- */

typedef struct tables {
    uint64_t tasks;                   /* hr_k_task, by format, longest first */
    uint64_t nvcomp;                  /* its arrays */
    uint64_t sums, unpacks;           /* hr_k_filter_task */
    uint64_t stores[HR__SLAB_NTURNS]; /* hr_k_store_task */
    uint64_t tiles[HR__SLAB_NTURNS];  /* hr_k_store_tile */
    uint64_t zstd;                    /* as of zstd_tables */
    uint64_t zeros; /* counters, one per format; those of zstd; then the status words */
    uint64_t zstd_zeros;
    uint64_t status;
    hr__kzstd_tables zstd_tables;
    hr_k_zstd zstd_params;
    uint64_t nbytes;
    uint32_t ntasks[HR__NLEAF_FORMATS];
    uint32_t nsums, nunpacks, nunpack_tiles;
    uint32_t nstores[HR__SLAB_NTURNS];
    uint64_t ntiles[HR__SLAB_NTURNS];
    hr_k_store_batch batches[HR__SLAB_NTURNS];
} tables;

static uint64_t place(tables *t, uint64_t nbytes) {
    uint64_t at = t->nbytes;
    t->nbytes =
        (at + nbytes + HR__SLAB_ALIGNMENT - 1) / HR__SLAB_ALIGNMENT * HR__SLAB_ALIGNMENT;
    return at;
}

static hr__kzstd_batch zstd_batch_of(hr__slab *slab) {
    return (hr__kzstd_batch){.streams = vec_of(slab, ZSTD_STREAMS)->items,
                             .blocks = vec_of(slab, ZSTD_BLOCKS)->items,
                             .nstreams = (uint32_t)vec_of(slab, ZSTD_STREAMS)->n,
                             .nblocks = (uint32_t)vec_of(slab, ZSTD_BLOCKS)->n};
}

static void lay_out(hr__slab *slab, tables *t) {
    *t = (tables){0};
    const slab_task *tasks = vec_of(slab, TASKS)->items;
    const slab_store *stores = vec_of(slab, STORES)->items;
    size_t ntasks = vec_of(slab, TASKS)->n;
    for (size_t i = 0; i < ntasks; i++) {
        t->ntasks[tasks[i].format]++;
    }
    for (size_t i = 0; i < vec_of(slab, STORES)->n; i++) {
        t->nstores[stores[i].turn]++;
        t->ntiles[stores[i].turn] += stores[i].task.tiles.ntiles;
    }
    const slab_filter *filters = vec_of(slab, FILTERS)->items;
    for (size_t i = 0; i < vec_of(slab, FILTERS)->n; i++) {
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
    const hr__kzstd_batch zstd = zstd_batch_of(slab);
    hr__kzstd_lay_out(&zstd, &t->zstd_tables);
    t->zstd = place(t, t->zstd_tables.nbytes);
    t->zeros = place(t, HR__NLEAF_FORMATS * sizeof(uint32_t));
    t->zstd_zeros = place(t, t->zstd_tables.zeros_nbytes);
    t->status = place(t, vec_of(slab, CHUNKS)->n * sizeof(uint64_t));
}

/* By format, each longest first. */
static void fill_tasks(hr__slab *slab, const tables *t, hr_k_task *out) {
    const slab_task *tasks = vec_of(slab, TASKS)->items;
    hr_k_task *end[HR__NLEAF_FORMATS], *at = out;
    for (int f = 0; f < HR__NLEAF_FORMATS; f++) {
        end[f] = at;
        at += t->ntasks[f];
    }
    for (size_t i = 0; i < vec_of(slab, TASKS)->n; i++) {
        *end[tasks[i].format]++ = tasks[i].task;
    }
    uint64_t nvcomp = t->nvcomp;
    for (int f = 0; f < HR__NLEAF_FORMATS; f++) {
        hr_k_task *first = end[f] - t->ntasks[f];
        hr__lz_sort_tasks(first, t->ntasks[f]);
        hr__slab_nvcomp_fill(slab, (hr__leaf_format)f, first, &nvcomp);
    }
}

/* Tiles are counted here, for the tasks begin with what is counted. */
static void fill_filters(hr__slab *slab, tables *t, uint8_t *base) {
    const slab_filter *filters = vec_of(slab, FILTERS)->items;
    hr_k_filter_task *sums = (hr_k_filter_task *)(base + t->sums);
    hr_k_filter_task *unpacks = (hr_k_filter_task *)(base + t->unpacks);
    for (size_t i = 0; i < vec_of(slab, FILTERS)->n; i++) {
        hr_k_filter_task task = filters[i].task;
        if (filters[i].kind == HR__STAGE_SUM) {
            *sums++ = task;
            continue;
        }
        task.first_tile = t->nunpack_tiles;
        t->nunpack_tiles += hr__kfilter_tiles(&task);
        *unpacks++ = task;
    }
}

static hr_status fill_tables(hr__slab *slab, tables *t, hr_error *err) {
    uint8_t *base = slab->slot->tables.pinned;
    const slab_store *stores = vec_of(slab, STORES)->items;
    fill_tasks(slab, t, (hr_k_task *)(base + t->tasks));
    fill_filters(slab, t, base);
    const hr__kzstd_batch zstd = zstd_batch_of(slab);
    hr__devptr device = slab->slot->tables.device;
    hr__kzstd_fill(&zstd, &t->zstd_tables, base + t->zstd, device + t->zstd,
                   device + t->zstd_zeros, &t->zstd_params);
    uint32_t at[HR__SLAB_NTURNS] = {0};
    for (size_t i = 0; i < vec_of(slab, STORES)->n; i++) {
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

/* --- launching --- */

static hr_status launch_stores(hr__slab *slab, const tables *t, hr__slab_turn turn,
                               hr_error *err) {
    hr__device *d = slab->ring->device;
    const hr_k_store_batch *batch = &t->batches[turn];
    return batch->nmoving + batch->nconverting == 0
               ? HR_OK
               : d->ops->launch(d, slab->slot->stream, HR__KERNEL_STORE, batch, err);
}

/* Slabs share the device: as a rule it has eight queues, and each is a slab's. */
#define SHARING 8

static hr__lz_machine share_of(const hr__device *d) {
    uint32_t share = d->nmultiprocessors / SHARING;
    return (hr__lz_machine){.nmultiprocessors = share > 0 ? share : 1,
                            .block_shared_nbytes = d->block_shared_nbytes};
}

static hr_status launch_leaves(hr__slab *slab, const tables *t, hr_error *err) {
    static const hr__kernel kernels[HR__NLEAF_FORMATS] = {
        [HR__LEAF_LZ4] = HR__KERNEL_LZ4,
        [HR__LEAF_SNAPPY] = HR__KERNEL_SNAPPY,
        [HR__LEAF_BLOSCLZ] = HR__KERNEL_BLOSCLZ}; /* copies are stores */
    hr__device *d = slab->ring->device;
    const hr__lz_machine machine = share_of(d);
    hr__devptr base = slab->slot->tables.device;
    const hr_k_task *tasks = (const hr_k_task *)(slab->slot->tables.pinned + t->tasks);
    uint64_t first = 0;
    for (int f = 0; f < HR__NLEAF_FORMATS; f++) {
        hr_k_decode decode = {.tasks = base + t->tasks + first * sizeof(hr_k_task),
                              .counter = base + t->zeros + (uint64_t)f * sizeof(uint32_t),
                              .status = base + t->status,
                              .ntasks = t->ntasks[f],
                              .team = hr__lz_choose_team(tasks + first, t->ntasks[f],
                                                         slab->is_shuffled, &machine)};
        if (hr__slab_nvcomp_takes(slab, (hr__leaf_format)f)) {
            HR__TRY(hr__slab_nvcomp_launch(slab, (hr__leaf_format)f, err));
        } else if (decode.ntasks > 0) {
            HR__TRY(d->ops->launch(d, slab->slot->stream, kernels[f], &decode, err));
        }
        first += t->ntasks[f];
    }
    return HR_OK;
}

static hr_status launch_zstd(hr__slab *slab, tables *t, hr_error *err) {
    hr__device *d = slab->ring->device;
    const hr__kzstd_batch zstd = zstd_batch_of(slab);
    if (zstd.nstreams == 0) {
        return HR_OK;
    }
    t->zstd_params.streams.status = slab->slot->tables.device + t->status;
    t->zstd_params.streams.team =
        hr__kzstd_choose_team(&zstd, share_of(d).nmultiprocessors);
    return d->ops->launch(d, slab->slot->stream, HR__KERNEL_ZSTD, &t->zstd_params, err);
}

static hr_status launch_filters(hr__slab *slab, const tables *t, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__devptr base = slab->slot->tables.device;
    hr_k_filter filter = {
        .tasks = base + t->sums, .status = base + t->status, .ntasks = t->nsums};
    if (t->nsums > 0) {
        HR__TRY(d->ops->launch(d, slab->slot->stream, HR__KERNEL_SUM, &filter, err));
    }
    filter.tasks = base + t->unpacks;
    filter.ntasks = t->nunpacks;
    filter.ntiles = t->nunpack_tiles;
    return t->nunpacks == 0
               ? HR_OK
               : d->ops->launch(d, slab->slot->stream, HR__KERNEL_UNPACK, &filter, err);
}

/* Written to the pinned side by a kernel: a copy would stand in the queue of the copy
 * engine until the decoders are done, and with it the copies of slabs behind it whose
 * streams share that queue. */
static hr_status bring_statuses(hr__slab *slab, const tables *t, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__ring_slot *slot = slab->slot;
    uint64_t n = vec_of(slab, CHUNKS)->n;
    const int64_t step = sizeof(uint64_t);
    const hr_k_scatter words = {
        .src = slot->tables.device + t->status,
        .dst = (uint64_t)(uintptr_t)(slot->tables.pinned + t->status),
        .nitems = n,
        .itemsize = sizeof(uint64_t),
        .ndim = 1,
        .dims = {{.n = n, .src_step = step, .dst_step = step}}};
    return n == 0 ? HR_OK
                  : d->ops->launch(d, slot->stream, HR__KERNEL_SCATTER, &words, err);
}

static hr_status send(hr__slab *slab, tables *t, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__ring_slot *slot = slab->slot;
    hr__run *run = slab->run;
    hr__need need = {0};
    lay_out(slab, t);
    need.payload = t->nbytes;
    HR__TRY(hr__slab_nvcomp_temp(slab, &need.scratch, err));
    HR__TRY(hr__ring_grow_tables(slab->ring, slot, need, err));
    HR__TRY(fill_tables(slab, t, err));
    for (uint32_t i = 0; i < run->nstarts; i++) {
        if (run->starts[i].ring == slab->ring) {
            HR__TRY(d->ops->stream_wait(d, slot->stream, run->starts[i].event, err));
        }
    }
    HR__TRY(d->ops->copy_to_device(d, slot->stream, slot->payload.device,
                                   slot->payload.pinned, slab->used, err));
    HR__TRY(d->ops->copy_to_device(d, slot->stream, slot->tables.device,
                                   slot->tables.pinned, t->nbytes, err));
    atomic_fetch_add(&run->copied_nbytes, slab->used + t->nbytes);
    HR__TRY(launch_stores(slab, t, HR__SLAB_COPIES, err));
    HR__TRY(launch_leaves(slab, t, err));
    HR__TRY(launch_zstd(slab, t, err));
    HR__TRY(launch_stores(slab, t, HR__SLAB_LAYOUTS, err));
    HR__TRY(launch_filters(slab, t, err));
    HR__TRY(launch_stores(slab, t, HR__SLAB_STORES, err));
    return bring_statuses(slab, t, err);
}

/* --- afterwards --- */

static const char *reason_of(uint64_t status) {
    switch (status >> 32) {
    case HR_K_TRUNCATED:
        return "ends within a sequence";
    case HR_K_BAD_OFFSET:
        return "refers to bytes before its output";
    case HR_K_TOO_LONG:
        return "makes more bytes than expected";
    case HR_K_TOO_SHORT:
        return "makes fewer bytes than expected";
    case HR_K_BAD_CODE:
        return "has malformed entropy-coded bits";
    default:
        return "is malformed";
    }
}

static void report_padding(hr__run *run, const hr__chunk *chunk) {
    hr_error err = HR_ERROR_INIT;
    (void)hr__fail(&err, HR_ERR_DATA, "packed bits are not as many as the elements");
    hr__error_add_codec(&err, "packbits");
    hr__run_report(run, chunk, &err);
}

static void report_chunk(hr__run *run, const hr__chunk *chunk, uint64_t status) {
    const hr__chain *chain = &chunk->object->array->chain;
    hr_error err = HR_ERROR_INIT;
    if (status >> 32 == HR_K_BAD_PADDING) {
        report_padding(run, chunk);
        return;
    }
    if (status >> 32 == HR__STATUS_NVCOMP) {
        hr__slab_nvcomp_report(run, chunk, (uint32_t)status);
        return;
    }
    if (status >> 32 == HR_K_BAD_CHECKSUM) {
        (void)hr__fail(&err, HR_ERR_CHECKSUM, "zstd frame's checksum does not match");
    } else {
        (void)hr__fail(&err, HR_ERR_DATA, "compressed stream %s, near its byte %" PRIu32,
                       reason_of(status), (uint32_t)status);
    }
    hr__error_add_codec(&err, chain->codecs[chain->ncodecs - 1].name);
    hr__run_report(run, chunk, &err);
}

/* The statuses lie at the end of the tables: the last thing placed there. */
static void landed(void *user, hr__ring_slot *slot, const hr_error *err) {
    hr__slab *slab = user;
    hr__run *run = slab->run;
    const slab_chunk *chunks = slot->vecs[CHUNKS].items;
    if (err != NULL) {
        hr__run_fail_ring(run, slab->ring, err);
    } else if (slot->vecs[CHUNKS].n > 0) {
        hr__slab_nvcomp_landed(slab, slot->tables.pinned + slab->status_at);
    }
    for (size_t i = 0; err == NULL && i < slot->vecs[CHUNKS].n; i++) {
        uint64_t status;
        memcpy(&status, slot->tables.pinned + slab->status_at + i * sizeof status,
               sizeof status);
        if (status != 0) {
            report_chunk(run, chunks[i].chunk, status);
        }
    }
    hr__free(&run->context->allocator, slab, sizeof *slab);
}

void hr__slab_flush(hr__slab *slab) {
    hr__run *run = slab->run;
    hr__ring *ring = slab->ring;
    hr__ring_slot *slot = slab->slot;
    hr__device *d = ring->device;
    tables t = {0};
    void *saved = NULL;
    hr_error err = HR_ERROR_INIT;
    atomic_fetch_add(&run->nslabs, 1);
    bool entered = d->ops->enter(d, &saved, &err) == HR_OK;
    if (!entered || send(slab, &t, &err) != HR_OK) {
        hr__run_fail_ring(run, ring, &err);
        slot->vecs[CHUNKS].n = 0; /* no statuses to look at */
    }
    slab->status_at = t.status;
    slot->past = landed;
    slot->user = slab;
    hr__ring_give_back(ring, slot);
    if (entered) {
        d->ops->leave(d, saved);
    }
}
