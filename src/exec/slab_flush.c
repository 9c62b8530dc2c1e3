/* Sending slabs off. SPDX-License-Identifier: Apache-2.0 */
#include "exec/slab_flush.h"

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

/* Slabs share the device: as a rule it has eight queues, and each is a slab's. Those of a
 * small read are few. */
#define SHARING 8
#define SHARING_OF_SMALL_READ 4

static hr__lz_machine share_of(const hr__slab *slab) {
    const hr__device *d = slab->ring->device;
    const bool is_small = slab->run->nsharers > 1;
    uint32_t share = d->nmultiprocessors / (is_small ? SHARING_OF_SMALL_READ : SHARING);
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
    const hr__lz_machine machine = share_of(slab);
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
    const hr__lz_machine machine = share_of(slab);
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

static hr_status copy_up(hr__slab *slab, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__ring_slot *slot = slab->slot;
    const hr__run *run = slab->run;
    for (uint32_t i = 0; i < run->nstarts; i++) {
        if (run->starts[i].ring == slab->ring) {
            HR__TRY(d->ops->stream_wait(d, slot->stream, run->starts[i].event, err));
        }
    }
    HR__TRY(mark(slab, HR_STAGE_COPY, err));
    HR__TRY(d->ops->copy_to_device(d, slot->stream, slot->payload.device,
                                   slot->payload.pinned, slab->used, err));
    atomic_fetch_add(&slab->run->copied_nbytes, slab->used);
    return d->ops->event_record(d, slot->copied, slot->stream, err);
}

static hr_status launch_all(hr__slab *slab, hr__slab_tables *t, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__ring_slot *slot = slab->slot;
    HR__TRY(d->ops->copy_to_device(d, slot->stream, slot->tables.device,
                                   slot->tables.pinned, t->nbytes, err));
    atomic_fetch_add(&slab->run->copied_nbytes, t->nbytes);
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

/* What the slab has and, once their bytes are there, what it took over from others. */
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

/* --- slabs that are decoded together --- */

/* Have one slab decode what others hold. */
static hr_status lead(hr__slab *slab, hr__slab *others, hr_error *err) {
    hr__device *d = slab->ring->device;
    for (hr__slab *s = others; s != NULL; s = s->next) {
        HR__TRY(hr__slab_take_over(slab, s, err));
        HR__TRY(d->ops->stream_wait(d, slab->slot->stream, s->slot->copied, err));
        s->slot->last = slab->slot->stream;
    }
    return HR_OK;
}

/* The slab ends with it. */
static void give_back(hr__slab *slab, const hr__slab_tables *t, bool is_led,
                      const hr_error *err) {
    slab->is_sent = err->status == HR_OK;
    if (!slab->is_sent) {
        slab->slot->vecs[HR__SLAB_CHUNKS].n = 0; /* no statuses to look at */
    }
    slab->is_led = is_led;
    slab->status_at = t->status;
    slab->slot->past = hr__slab_landed;
    slab->slot->user = slab;
    hr__ring_give_back(slab->ring, slab->slot);
}

/* Slabs of one ring, all copied up; or just one that could not be. */
static void launch_group(hr__slab *group, hr_error *err) {
    hr__slab *others = group->next;
    hr__slab_tables t = {0};
    if (err->status == HR_OK && lead(group, others, err) == HR_OK) {
        (void)send(group, &t, err);
    }
    if (err->status != HR_OK) {
        hr__run_fail_ring(group->run, group->ring, err);
    }
    for (hr__slab *next; others != NULL; others = next) {
        next = others->next;
        give_back(others, &t, true, err);
    }
    give_back(group, &t, false, err); /* last: its stream is the others', too */
}

/* So many make a launch: one alone leaves most of the device idle. */
#define GATHERED 3

/* Those of the slab's ring, in the order in which they were gathered. NULL: not enough
 * yet. By the run's lock. */
static hr__slab *take_gathered(hr__run *run, const hr__ring *ring, uint32_t least) {
    uint32_t n = 0;
    uint64_t tables_nbytes = 0;
    for (const hr__slab *s = run->gathered; s != NULL; s = s->next) {
        n += s->ring == ring;
        tables_nbytes += s->ring == ring ? hr__slab_tables_nbytes(s) : 0;
    }
    if (n < least && tables_nbytes < ring->usual.payload / HR__TABLES_SHARE / 2) {
        return NULL;
    }
    hr__slab *taken = NULL;
    for (hr__slab **at = &run->gathered; *at != NULL;) {
        hr__slab *s = *at;
        if (s->ring == ring) {
            *at = s->next;
            s->next = taken;
            taken = s;
        } else {
            at = &s->next;
        }
    }
    return taken;
}

/* Zstandard's kernels come one after the other, and the driver's few queues keep those of
 * one slab behind those of another. */
static bool gathers(const hr__slab *slab) {
    return slab->slot->vecs[HR__SLAB_ZSTD_STREAMS].n > 0;
}

void hr__slab_flush(hr__slab *slab) {
    hr__run *run = slab->run;
    hr__device *d = slab->ring->device;
    hr__slab *group = slab;
    void *saved = NULL;
    hr_error err = HR_ERROR_INIT;
    const uint64_t start = hr__clock_ns();
    atomic_fetch_add(&run->nslabs, 1);
    (void)pthread_mutex_destroy(&slab->lock); /* nobody else knows it any more */
    bool entered = d->ops->enter(d, &saved, &err) == HR_OK;
    slab->next = NULL;
    if (entered && copy_up(slab, &err) == HR_OK && gathers(slab)) {
        pthread_mutex_lock(&run->lock);
        slab->next = run->gathered;
        run->gathered = slab;
        group = take_gathered(run, slab->ring, GATHERED);
        pthread_mutex_unlock(&run->lock);
    }
    if (group != NULL) {
        launch_group(group, &err);
    }
    (void)hr__stages_lap(&run->stages, HR_STAGE_QUEUE, start);
    if (entered) {
        d->ops->leave(d, saved);
    }
}

void hr__slab_launch_gathered(hr__run *run) {
    for (uint32_t i = 0; i < run->nstarts; i++) {
        hr__ring *ring = run->starts[i].ring;
        hr__device *d = ring->device;
        pthread_mutex_lock(&run->lock);
        hr__slab *group = take_gathered(run, ring, 1);
        pthread_mutex_unlock(&run->lock);
        if (group == NULL) {
            continue;
        }
        void *saved = NULL;
        hr_error err = HR_ERROR_INIT;
        bool entered = d->ops->enter(d, &saved, &err) == HR_OK;
        launch_group(group, &err);
        if (entered) {
            d->ops->leave(d, saved);
        }
    }
}
