/* Sending a slab off, and what comes back. SPDX-License-Identifier: Apache-2.0 */
#include "exec/slab_flush.h"

#include <inttypes.h>
#include <string.h>

#include "device/lz_regime.h"
#include "exec/run.h"
#include "exec/slab_tables.h"

/* --- launching --- */

static hr_status launch_stores(hr__slab *slab, const hr__slab_tables *t,
                               hr__slab_turn turn, hr_error *err) {
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

/* So many streams at a time as have scratch of their own; a team gets those of them that
 * cannot be decoded so. */
static hr_status launch_whole(hr__slab *slab, const hr_k_decode *decode,
                              const hr_k_task *tasks, hr_error *err) {
    hr__device *d = slab->ring->device;
    for (uint32_t i = 0, n; i < decode->ntasks; i += n) {
        for (n = 1; i + n < decode->ntasks && tasks[i + n].scratch > tasks[i].scratch;) {
            n++;
        }
        hr_k_decode some = *decode;
        some.tasks += i * sizeof *tasks;
        some.ntasks = n;
        const hr_k_whole whole = hr__lz_whole(&some, tasks + i);
        HR__TRY(d->ops->launch(d, slab->slot->stream, HR__KERNEL_LZ4_WHOLE, &whole, err));
        HR__TRY(d->ops->launch(d, slab->slot->stream, HR__KERNEL_LZ4, &some, err));
    }
    return HR_OK;
}

static hr_status launch_leaves(hr__slab *slab, const hr__slab_tables *t, hr_error *err) {
    static const struct {
        hr__kernel kernel;
        uint32_t (*choose)(const hr_k_task *, uint32_t, bool, const hr__lz_machine *);
    } decoders[HR__NLEAF_FORMATS] = {
        [HR__LEAF_LZ4] = {HR__KERNEL_LZ4, hr__lz_choose_team},
        [HR__LEAF_SNAPPY] = {HR__KERNEL_SNAPPY, hr__snappy_choose_team},
        [HR__LEAF_BLOSCLZ] = {HR__KERNEL_BLOSCLZ, hr__lz_choose_team},
        [HR__LEAF_PACKBITS] = {HR__KERNEL_PACKBITS, hr__packbits_choose_team},
        [HR__LEAF_DEFLATE] = {HR__KERNEL_DEFLATE, hr__deflate_choose_team},
        [HR__LEAF_LZW] = {HR__KERNEL_LZW,
                          hr__lzw_choose_team}}; /* others have no tasks */
    hr__device *d = slab->ring->device;
    const hr__lz_machine machine = share_of(d);
    hr__devptr base = slab->slot->tables.device;
    const hr_k_task *tasks = (const hr_k_task *)(slab->slot->tables.pinned + t->tasks);
    uint64_t first = 0;
    for (int f = 0; f < HR__NLEAF_FORMATS; f++) {
        hr_k_decode decode = {.tasks = base + t->tasks + first * sizeof(hr_k_task),
                              .counter = base + t->zeros + (uint64_t)f * sizeof(uint32_t),
                              .status = base + t->status,
                              .ntasks = t->ntasks[f]};
        if (hr__slab_nvcomp_takes(slab, (hr__leaf_format)f)) {
            HR__TRY(hr__slab_nvcomp_launch(slab, (hr__leaf_format)f, err));
        } else if (decode.ntasks > 0 && decoders[f].choose != NULL) {
            decode.team = decoders[f].choose(tasks + first, decode.ntasks,
                                             slab->is_shuffled, &machine);
            HR__TRY(f == HR__LEAF_LZ4 && slab->shares
                        ? launch_whole(slab, &decode, tasks + first, err)
                        : d->ops->launch(d, slab->slot->stream, decoders[f].kernel,
                                         &decode, err));
        }
        first += t->ntasks[f];
    }
    return HR_OK;
}

static hr_status launch_zstd(hr__slab *slab, hr__slab_tables *t, hr_error *err) {
    hr__device *d = slab->ring->device;
    const hr__kzstd_batch zstd = hr__slab_zstd_batch(slab);
    if (zstd.nstreams == 0) {
        return HR_OK;
    }
    const hr__lz_machine machine = share_of(d);
    const hr_k_task *tasks =
        (const hr_k_task *)(slab->slot->tables.pinned + t->zstd + t->zstd_tables.tasks);
    t->zstd_params.streams.status = slab->slot->tables.device + t->status;
    t->zstd_params.streams.team =
        hr__zstd_choose_team(tasks, zstd.nstreams, slab->is_shuffled, &machine);
    return d->ops->launch(d, slab->slot->stream, HR__KERNEL_ZSTD, &t->zstd_params, err);
}

static hr_status launch_filters(hr__slab *slab, const hr__slab_tables *t, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__devptr base = slab->slot->tables.device;
    hr_k_filter filter = {.tasks = base + t->sums,
                          .status = base + t->status,
                          .ntasks = t->nsums,
                          .ntiles = t->nsum_tiles,
                          .kinds = t->sum_kinds};
    if (t->nsums > 0) {
        HR__TRY(d->ops->launch(d, slab->slot->stream, HR__KERNEL_SUM, &filter, err));
    }
    filter.tasks = base + t->unpacks;
    filter.ntasks = t->nunpacks;
    filter.ntiles = t->nunpack_tiles;
    filter.kinds = t->unpack_kinds;
    return t->nunpacks == 0
               ? HR_OK
               : d->ops->launch(d, slab->slot->stream, HR__KERNEL_UNPACK, &filter, err);
}

/* Written to the pinned side by a kernel: a copy would stand in the queue of the copy
 * engine until the decoders are done, and with it the copies of slabs behind it whose
 * streams share that queue. */
static hr_status bring_statuses(hr__slab *slab, const hr__slab_tables *t, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__ring_slot *slot = slab->slot;
    uint64_t n = hr__slab_vec(slab, HR__SLAB_CHUNKS)->n;
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

/* A stage of the device begins. */
static hr_status mark(hr__slab *slab, hr_stage stage, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__ring_slot *slot = slab->slot;
    return d->ops->event_record(d, slot->marks[stage - HR_STAGE_COPY], slot->stream, err);
}

static hr_status copy_up(hr__slab *slab, uint64_t tables_nbytes, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__ring_slot *slot = slab->slot;
    HR__TRY(mark(slab, HR_STAGE_COPY, err));
    HR__TRY(d->ops->copy_to_device(d, slot->stream, slot->payload.device,
                                   slot->payload.pinned, slab->used, err));
    HR__TRY(d->ops->copy_to_device(d, slot->stream, slot->tables.device,
                                   slot->tables.pinned, tables_nbytes, err));
    atomic_fetch_add(&slab->run->copied_nbytes, slab->used + tables_nbytes);
    return HR_OK;
}

static hr_status launch_all(hr__slab *slab, hr__slab_tables *t, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__ring_slot *slot = slab->slot;
    const hr__run *run = slab->run;
    for (uint32_t i = 0; i < run->nstarts; i++) {
        if (run->starts[i].ring == slab->ring) {
            HR__TRY(d->ops->stream_wait(d, slot->stream, run->starts[i].event, err));
        }
    }
    HR__TRY(copy_up(slab, t->nbytes, err));
    HR__TRY(mark(slab, HR_STAGE_KERNELS, err));
    HR__TRY(launch_stores(slab, t, HR__SLAB_COPIES, err));
    HR__TRY(launch_leaves(slab, t, err));
    HR__TRY(launch_zstd(slab, t, err));
    HR__TRY(launch_stores(slab, t, HR__SLAB_LAYOUTS, err));
    HR__TRY(launch_filters(slab, t, err));
    HR__TRY(mark(slab, HR_STAGE_STORE, err));
    HR__TRY(launch_stores(slab, t, HR__SLAB_STORES, err));
    return bring_statuses(slab, t, err);
}

static hr_status send(hr__slab *slab, hr__slab_tables *t, hr_error *err) {
    hr__need need = {0};
    hr__slab_lay_out(slab, t);
    need.payload = t->nbytes;
    HR__TRY(hr__slab_nvcomp_temp(slab, &need.scratch, err));
    HR__TRY(hr__ring_grow_tables(slab->ring, slab->slot, need, err));
    hr_status status = hr__slab_fill(slab, t, err);
    if (status == HR_OK) {
        status = launch_all(slab, t, err);
    }
    if (slab->shares) {
        const hr_status left = hr__ring_share_leave(slab->ring, slab->slot, err);
        status = status == HR_OK ? left : status;
    }
    return status;
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
    case HR_K_NO_STRING:
        return "has a code of a string that it has not made";
    case HR_K_BAD_WRAPPER:
        return "has a wrong header or trailer, or bytes behind it";
    default:
        return "is malformed";
    }
}

static void report_no_value(hr__run *run, const hr__chunk *chunk, uint32_t item) {
    hr_error err = HR_ERROR_INIT;
    (void)hr__fail(&err, HR_ERR_DATA,
                   "item %" PRIu32 " has no value in the type of its filter", item);
    hr__error_add_codec(&err, chunk->object->array->chain.codecs[0].name);
    hr__run_report(run, chunk, &err);
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
    if (status >> 32 == HR_K_NO_VALUE) {
        report_no_value(run, chunk, (uint32_t)status);
        return;
    }
    if (status >> 32 == HR__STATUS_NVCOMP) {
        hr__slab_nvcomp_report(run, chunk, (uint32_t)status);
        return;
    }
    if (status >> 32 == HR_K_BAD_CHECKSUM) {
        (void)hr__fail(&err, HR_ERR_CHECKSUM,
                       "checksum of what a stream makes does not match, near its byte "
                       "%" PRIu32,
                       (uint32_t)status);
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
    const hr__slab_chunk *chunks = slot->vecs[HR__SLAB_CHUNKS].items;
    if (err == NULL && slab->is_sent) {
        hr__stages_landed(run, slab->ring, slot);
    }
    if (err != NULL) {
        hr__run_fail_ring(run, slab->ring, err);
    } else if (slot->vecs[HR__SLAB_CHUNKS].n > 0) {
        hr__slab_nvcomp_landed(slab, slot->tables.pinned + slab->status_at);
    }
    for (size_t i = 0; err == NULL && i < slot->vecs[HR__SLAB_CHUNKS].n; i++) {
        uint64_t status;
        memcpy(&status, slot->tables.pinned + slab->status_at + i * sizeof status,
               sizeof status);
        if (status == HR_K_BY_WHOLE) {
            atomic_fetch_add(&run->ndecoded_whole, 1);
        } else if (status != 0) {
            report_chunk(run, chunks[i].chunk, status);
        }
    }
}

void hr__slab_flush(hr__slab *slab) {
    hr__run *run = slab->run;
    hr__ring *ring = slab->ring;
    hr__ring_slot *slot = slab->slot;
    hr__device *d = ring->device;
    hr__slab_tables t = {0};
    void *saved = NULL;
    hr_error err = HR_ERROR_INIT;
    const uint64_t start = hr__clock_ns();
    atomic_fetch_add(&run->nslabs, 1);
    bool entered = d->ops->enter(d, &saved, &err) == HR_OK;
    slab->is_sent = entered && send(slab, &t, &err) == HR_OK;
    if (!slab->is_sent) {
        hr__run_fail_ring(run, ring, &err);
        slot->vecs[HR__SLAB_CHUNKS].n = 0; /* no statuses to look at */
    }
    slab->status_at = t.status;
    slot->past = landed;
    slot->user = slab;
    (void)hr__stages_lap(&run->stages, HR_STAGE_QUEUE, start);
    hr__ring_give_back(ring, slot);
    if (entered) {
        d->ops->leave(d, saved);
    }
}
