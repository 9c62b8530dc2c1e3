/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/slab_nvcomp.h"

#include <inttypes.h>
#include <string.h>

#include "exec/run.h"
#include "exec/slab.h"

/* Arrays of a batch, in this order, each of 8-byte items but for the last. */
enum { SRCS, SRC_NBYTES, DSTS, DST_NBYTES, MADE_NBYTES, STATUSES };

static uint64_t array_at(uint64_t n, int array) {
    return (uint64_t)array * n * sizeof(uint64_t);
}

static uint64_t results_nwords(uint64_t n) {
    return n + (n + 1) / 2;
}

static uint64_t arrays_nbytes(uint64_t n) {
    return array_at(n, MADE_NBYTES) + results_nwords(n) * sizeof(uint64_t);
}

/* NULL: not for nvCOMP. */
static hr__nvcomp_batch *batch_of(hr__slab *slab, hr__leaf_format format) {
    hr__nvcomp_batch *batches = slab->nvcomp.batches;
    return format == HR__LEAF_LZ4      ? &batches[HR__NVCOMP_LZ4]
           : format == HR__LEAF_SNAPPY ? &batches[HR__NVCOMP_SNAPPY]
                                       : NULL;
}

bool hr__slab_nvcomp_takes(const hr__slab *slab, hr__leaf_format format) {
    return (format == HR__LEAF_LZ4 || format == HR__LEAF_SNAPPY) &&
           hr__nvcomp_serves(&slab->run->context->nvcomp, slab->ring->device->id.type);
}

bool hr__slab_nvcomp_takes_any(const hr__slab *slab, const hr__leaves *leaves) {
    const hr__leaf *items = leaves->leaves.items;
    for (size_t i = 0; i < leaves->leaves.n && !leaves->stored; i++) {
        if (hr__slab_nvcomp_takes(slab, items[i].format)) {
            return true;
        }
    }
    return false;
}

void hr__slab_nvcomp_count(hr__slab *slab, hr__leaf_format format,
                           const hr_k_task *task) {
    hr__nvcomp_batch *b = batch_of(slab, format);
    if (b == NULL || !hr__slab_nvcomp_takes(slab, format)) {
        return;
    }
    b->library = &slab->run->context->nvcomp;
    b->format = format == HR__LEAF_LZ4 ? HR__NVCOMP_LZ4 : HR__NVCOMP_SNAPPY;
    b->n++;
    b->total_nbytes += task->dst_nbytes;
    b->most_nbytes =
        task->dst_nbytes > b->most_nbytes ? task->dst_nbytes : b->most_nbytes;
}

uint64_t hr__slab_nvcomp_nbytes(const hr__slab *slab) {
    uint64_t nbytes = 0;
    for (int f = 0; f < HR__NVCOMP_NFORMATS; f++) {
        nbytes += arrays_nbytes(slab->nvcomp.batches[f].n);
    }
    return nbytes;
}

/* One piece of memory: a slab's batches come after each other. */
hr_status hr__slab_nvcomp_temp(hr__slab *slab, uint64_t *nbytes, hr_error *err) {
    uint64_t most = 0;
    for (int f = 0; f < HR__NVCOMP_NFORMATS; f++) {
        hr__nvcomp_batch *b = &slab->nvcomp.batches[f];
        if (b->n > 0) {
            HR__TRY(hr__nvcomp_temp(b, &b->temp_nbytes, err));
        }
        most = b->temp_nbytes > most ? b->temp_nbytes : most;
    }
    *nbytes = most;
    return HR_OK;
}

void hr__slab_nvcomp_fill(hr__slab *slab, hr__leaf_format format, const hr_k_task *tasks,
                          uint64_t *at) {
    const hr__twin *tables = &slab->slot->tables;
    hr__nvcomp_batch *b = batch_of(slab, format);
    if (b == NULL || b->n == 0) {
        return;
    }
    uint64_t *arrays = (uint64_t *)(tables->pinned + *at);
    for (uint64_t i = 0; i < b->n; i++) {
        arrays[SRCS * b->n + i] = tasks[i].src - tasks[i].size_nbytes;
        arrays[SRC_NBYTES * b->n + i] =
            (uint64_t)tasks[i].src_nbytes + tasks[i].size_nbytes;
        arrays[DSTS * b->n + i] = tasks[i].dst;
        arrays[DST_NBYTES * b->n + i] = tasks[i].dst_nbytes;
    }
    memset(arrays + MADE_NBYTES * b->n, 0, results_nwords(b->n) * sizeof(uint64_t));
    const hr__devptr device = tables->device + *at;
    b->srcs = device + array_at(b->n, SRCS);
    b->src_nbytes = device + array_at(b->n, SRC_NBYTES);
    b->dsts = device + array_at(b->n, DSTS);
    b->dst_nbytes = device + array_at(b->n, DST_NBYTES);
    b->made_nbytes = device + array_at(b->n, MADE_NBYTES);
    b->statuses = device + array_at(b->n, STATUSES);
    b->temp = b->temp_nbytes == 0 ? 0 : tables->device + tables->pinned_nbytes;
    slab->nvcomp.tasks[b->format] = tasks;
    slab->nvcomp.results[b->format] = *at + array_at(b->n, MADE_NBYTES);
    *at += arrays_nbytes(b->n);
}

hr_status hr__slab_nvcomp_launch(hr__slab *slab, hr__leaf_format format, hr_error *err) {
    hr__device *d = slab->ring->device;
    hr__ring_slot *slot = slab->slot;
    const hr__nvcomp_batch *b = batch_of(slab, format);
    if (b == NULL || b->n == 0) {
        return HR_OK;
    }
    const int64_t step = sizeof(uint64_t);
    const uint64_t n = results_nwords(b->n), results = slab->nvcomp.results[b->format];
    const hr_k_scatter words = {.src = slot->tables.device + results,
                                .dst =
                                    (uint64_t)(uintptr_t)(slot->tables.pinned + results),
                                .nitems = n,
                                .itemsize = sizeof(uint64_t),
                                .ndim = 1,
                                .dims = {{.n = n, .src_step = step, .dst_step = step}}};
    HR__TRY(d->ops->launch(d, slot->stream, HR__KERNEL_NVCOMP, b, err));
    return d->ops->launch(d, slot->stream, HR__KERNEL_SCATTER, &words, err);
}

static void settle(const hr__slab *slab, const hr__nvcomp_batch *b, uint8_t *statuses) {
    const hr_k_task *tasks = slab->nvcomp.tasks[b->format];
    const uint8_t *results = slab->slot->tables.pinned + slab->nvcomp.results[b->format];
    for (uint64_t i = 0; i < b->n; i++) {
        uint64_t made;
        uint32_t status;
        memcpy(&made, results + i * sizeof made, sizeof made);
        memcpy(&status, results + b->n * sizeof made + i * sizeof status, sizeof status);
        if (status != 0 || made != tasks[i].dst_nbytes) {
            const uint64_t word = (uint64_t)HR__STATUS_NVCOMP << 32 | status;
            memcpy(statuses + tasks[i].status_index * sizeof word, &word, sizeof word);
        }
    }
}

void hr__slab_nvcomp_landed(hr__slab *slab, uint8_t *statuses) {
    for (int f = 0; f < HR__NVCOMP_NFORMATS; f++) {
        if (slab->nvcomp.batches[f].n > 0) {
            settle(slab, &slab->nvcomp.batches[f], statuses);
        }
    }
}

void hr__slab_nvcomp_report(hr__run *run, const hr__chunk *chunk, uint32_t status) {
    const hr__chain *chain = &chunk->object->array->chain;
    hr_error err = HR_ERROR_INIT;
    (void)hr__fail(&err, HR_ERR_DATA,
                   "nvCOMP: compressed stream is malformed or of the wrong size (status "
                   "%" PRIu32 ")",
                   status);
    hr__error_add_codec(&err, chain->codecs[chain->ncodecs - 1].name);
    hr__run_report(run, chunk, &err);
}
