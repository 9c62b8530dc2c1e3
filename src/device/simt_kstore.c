/* SPDX-License-Identifier: Apache-2.0 */
#include "device/simt_kstore.h"

#include <stddef.h>

#include "core/checked.h"
#include "device/kstore.h"

/* The tile's two loops, the outer ones, a cell's slots, a slot's runs. */
#define MAX_LOOPS (HR_K_MAX_DIMS - 1 + 4)

static hr_k_dim dim_of(const hr_k_axis *a) {
    return (hr_k_dim){.n = a->n,
                      .src_step = (int64_t)a->src_step,
                      .dst_step = (int64_t)a->dst_step,
                      .src_list = a->src_list,
                      .dst_list = a->dst_list};
}

static int32_t list_loops(const hr_k_store_task *t, hr_k_dim dims[MAX_LOOPS]) {
    int32_t n = 0;
    dims[n++] = dim_of(&t->tiles.along);
    dims[n++] = dim_of(&t->tiles.across);
    for (uint32_t i = 0; i < t->tiles.nouter; i++) {
        dims[n++] = dim_of(&t->tiles.outer[i]);
    }
    if (t->nslots > 1) {
        dims[n++] = (hr_k_dim){.n = t->nslots,
                               .src_step = (int64_t)t->slot_src_step,
                               .dst_step = (int64_t)t->slot_dst_step};
    }
    dims[n++] =
        (hr_k_dim){.n = t->out_nbytes >> t->log_run, .dst_step = (int64_t)t->run_step};
    return n;
}

static hr_status check_task(const hr__simt_memory *m, const hr_k_store_task *t,
                            hr_error *err) {
    const hr_k_source *source = &t->source;
    hr_k_dim dims[MAX_LOOPS];
    hr__simt_extent e;
    int32_t n = list_loops(t, dims);
    HR__TRY(hr__simt_memory_extent(m, dims, n, true, &e, err));
    HR__TRY(hr__simt_memory_check(m, t->tiles.dst + (uint64_t)e.first,
                                  (uint64_t)e.last - (uint64_t)e.first +
                                      (UINT64_C(1) << t->log_run),
                                  "a store's write", err));
    HR__TRY(hr__simt_memory_extent(m, dims, n, false, &e, err));
    uint64_t first = t->tiles.src + (uint64_t)e.first, end;
    uint64_t nbytes = (uint64_t)e.last - (uint64_t)e.first + t->slot_nbytes;
    if (!hr__add_u64(first, nbytes, &end) || end > source->nbytes) {
        return hr__fail(err, HR_ERR_DEVICE,
                        "a store's read of %llu bytes at %llu leaves its chunk of %llu",
                        (unsigned long long)nbytes, (unsigned long long)first,
                        (unsigned long long)source->nbytes);
    }
    return hr__simt_memory_check(m, source->chunk, source->nbytes, "a store's read", err);
}

hr_status hr__simt_kstore_check(const hr__simt_memory *m, const hr_k_store_batch *b,
                                hr_error *err) {
    const hr_k_store_task *tasks = (const hr_k_store_task *)(uintptr_t)b->tasks;
    const hr_k_store_tile *tiles = (const hr_k_store_tile *)(uintptr_t)b->tiles;
    uint64_t ntiles = (uint64_t)b->nmoving + b->nconverting;
    HR__TRY(hr__simt_memory_check(m, b->tiles, ntiles * sizeof *tiles, "a store's tiles",
                                  err));
    for (uint64_t i = 0; i < ntiles; i++) {
        const hr_k_store_task *t = &tasks[tiles[i].task];
        bool is_known = i > 0 && tiles[i - 1].task == tiles[i].task;
        if (!is_known) {
            HR__TRY(
                hr__simt_memory_check(m, (uintptr_t)t, sizeof *t, "a store's task", err));
        }
        if (tiles[i].tile >= t->tiles.ntiles ||
            hr__kstore_converts(t) != (i >= b->nmoving)) {
            return hr__fail(err, HR_ERR_DEVICE, "a store lists a tile it does not have");
        }
        if (!is_known) {
            HR__TRY(check_task(m, t, err));
        }
    }
    return HR_OK;
}
