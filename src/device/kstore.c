/* SPDX-License-Identifier: Apache-2.0 */
#include "device/kstore.h"

#include <string.h>

#include "core/checked.h"
#include "device/geometry.h"
#include "device/kstore_cells.h"

static const uint8_t number_nbytes[HR_K_NNUMBERS] = {
    [HR_K_BOOL] = 1, [HR_K_I8] = 1,  [HR_K_I16] = 2, [HR_K_I32] = 4, [HR_K_I64] = 8,
    [HR_K_U8] = 1,   [HR_K_U16] = 2, [HR_K_U32] = 4, [HR_K_U64] = 8, [HR_K_F16] = 2,
    [HR_K_BF16] = 2, [HR_K_F32] = 4, [HR_K_F64] = 8, [HR_K_C64] = 8, [HR_K_C128] = 16};

static bool is_unit(uint32_t unit, uint64_t itemsize) {
    return unit == 1 || ((unit == 2 || unit == 4 || unit == 8) && itemsize % unit == 0);
}

static bool is_complex(uint32_t number) {
    return number == HR_K_C64 || number == HR_K_C128;
}

/* --- checks --- */

static bool step_fits(const hr_k_step *step, uint32_t before) {
    switch (step->code) {
    case HR_K_CAST:
        return step->number > HR_K_RAW && step->number < HR_K_NNUMBERS;
    case HR_K_DIV_ADD:
    case HR_K_MUL_ADD:
        return step->number == before && before >= HR_K_F16 && before <= HR_K_F64;
    case HR_K_MARK:
    case HR_K_REPLACE:
        return step->number == before && !is_complex(before);
    default:
        return false;
    }
}

static bool numbers_fit(const hr_k_store *s) {
    if (s->from >= HR_K_NNUMBERS || s->nsteps > HR_K_MAX_STEPS) {
        return false;
    }
    if (s->from == HR_K_RAW) {
        return s->to == HR_K_RAW && s->nsteps == 0 &&
               is_unit(s->from_unit, s->copy.itemsize);
    }
    uint32_t number = s->from;
    for (uint32_t i = 0; i < s->nsteps; i++) {
        if (!step_fits(&s->steps[i], number)) {
            return false;
        }
        number = s->steps[i].number;
    }
    return number == s->to && s->copy.itemsize == number_nbytes[s->from] &&
           is_unit(s->from_unit, s->copy.itemsize) &&
           is_unit(s->to_unit, number_nbytes[s->to]);
}

static hr_status check(const hr_k_store *s, hr_error *err) {
    HR__TRY(hr__loops_check(&s->copy, err));
    if (!numbers_fit(s)) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "store from number %u to number %u in %u steps does not fit "
                        "together, or not items of %u bytes",
                        s->from, s->to, s->nsteps, s->copy.itemsize);
    }
    if (s->shuffle > HR_K_BITS_SHUFFLED || s->typesize == 0 ||
        (s->shuffle != HR_K_PLAIN && s->block_nbytes == 0)) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "store with shuffle %u of typesize %u in blocks of %llu bytes",
                        s->shuffle, s->typesize, (unsigned long long)s->block_nbytes);
    }
    if (s->shuffle != HR_K_PLAIN && s->chunk_nbytes > UINT32_MAX) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "a shuffled chunk of %llu bytes on a device, which takes %u",
                        (unsigned long long)s->chunk_nbytes, UINT32_MAX);
    }
    return HR_OK;
}

/* --- the source --- */

/* How the i-th kind of block is shuffled. */
static void set_block(hr_k_source *source, uint32_t i, uint32_t nbytes,
                      uint32_t typesize) {
    uint32_t n = nbytes / typesize;
    source->stride[i] = n;
    source->shuffled_nbytes[i] = n * typesize;
    if (source->shuffle == HR_K_BITS_SHUFFLED) {
        source->stride[i] = n / HR__KSTORE_BITS_GROUP;
        source->shuffled_nbytes[i] = n % HR__KSTORE_BITS_GROUP == 0 ? n * typesize : 0;
    }
}

static hr_k_source make_source(const hr_k_store *s) {
    hr_k_source source = {.chunk = s->chunk, .nbytes = s->chunk_nbytes};
    if (s->shuffle == HR_K_PLAIN || s->chunk_nbytes == 0 ||
        (s->shuffle == HR_K_BYTES_SHUFFLED && s->typesize == 1)) {
        return source;
    }
    uint32_t nbytes = (uint32_t)s->chunk_nbytes;
    uint32_t block = s->block_nbytes < nbytes ? (uint32_t)s->block_nbytes : nbytes;
    source.shuffle = s->shuffle;
    source.last_block = (nbytes - 1) / block;
    set_block(&source, 0, block, s->typesize);
    set_block(&source, 1, nbytes - source.last_block * block, s->typesize);
    source.block_nbytes = hr__divisor_of(block);
    source.typesize = hr__divisor_of(s->typesize);
    return source;
}

/* --- numbers and elements --- */

/* Complex to complex is a conversion of their parts. */
static bool goes_by_parts(const hr_k_store *s) {
    bool by_parts = is_complex(s->from) && s->nsteps > 0;
    for (uint32_t i = 0; i < s->nsteps; i++) {
        by_parts = by_parts && is_complex(s->steps[i].number);
    }
    return by_parts;
}

static uint32_t part_of(uint32_t number) {
    return number == HR_K_C64 ? HR_K_F32 : HR_K_F64;
}

/* Can the kernel take the short way (store_small.cuh)? */
static bool is_small(const hr_k_store_task *t) {
    bool small = number_nbytes[t->from] <= 4 && t->nsteps > 0;
    for (uint32_t i = 0; i < t->nsteps && small; i++) {
        const hr_k_step *s = &t->steps[i];
        bool scales = s->code == HR_K_DIV_ADD || s->code == HR_K_MUL_ADD;
        small = number_nbytes[s->number] <= 4 && (!scales || s->number == HR_K_F32);
    }
    return small;
}

/* Is the only step a cast that the kernel has a way of its own for? */
static uint32_t find_direct(const hr_k_store_task *t) {
    static const uint8_t direct[HR_K_NNUMBERS][HR_K_NNUMBERS] = {
#define DIRECT(from, to) [HR_K_##from][HR_K_##to] = HR_K_DIRECT_##from##_##to,
        HR_K_DIRECT_CASTS(DIRECT)
#undef DIRECT
    };
    return t->nsteps == 1 && t->to_unit == 1 ? direct[t->from][t->to] : HR_K_NOT_DIRECT;
}

static void set_numbers(const hr_k_store *s, hr_k_store_task *t) {
    bool by_parts = goes_by_parts(s);
    t->from = by_parts ? part_of(s->from) : s->from;
    t->to = by_parts ? part_of(s->to) : s->to;
    t->from_unit = s->from_unit;
    t->to_unit = s->to_unit;
    t->nsteps = s->nsteps;
    for (uint32_t i = 0; i < s->nsteps; i++) {
        t->steps[i] = s->steps[i];
        if (by_parts) {
            t->steps[i].number = part_of(s->steps[i].number);
        }
    }
    t->is_small = is_small(t);
    t->direct = find_direct(t);
    t->either_part = is_complex(t->from) && s->steps[0].code == HR_K_CAST &&
                     s->steps[0].number == HR_K_BOOL;
}

/* What items are made of; bytes that only move come in as wide pieces as possible. */
static hr__kstore_element find_element(const hr_k_store *s, const hr_k_store_task *t) {
    if (t->nsteps > 0) {
        return (hr__kstore_element){number_nbytes[t->from], number_nbytes[t->to]};
    }
    uint32_t nbytes = t->from_unit > 1
                          ? t->from_unit
                          : hr__lowest_bit(s->copy.itemsize | HR__KSTORE_SLOT_NBYTES);
    return (hr__kstore_element){nbytes, nbytes};
}

static void make_loops(const hr_k_store *s, hr__kstore_element e, hr__loops *l) {
    hr__loops_sort(&s->copy, l);
    uint64_t n = s->copy.itemsize / e.from;
    if (n > 1 || l->naxes == 0) {
        l->axes[l->naxes++] = (hr_k_axis){.n = n, .src_step = e.from, .dst_step = e.to};
    }
    hr__loops_merge(l);
}

/* Are a cell's slots filled together? */
static bool is_gathered(const hr_k_store_task *t) {
    return t->path == HR_K_PATH_BITS || t->path == HR_K_PATH_ROWS;
}

/* Cells of a thread in a tile: narrow ones are many, so that finding the tile does not
 * cost more than moving it. */
static uint32_t choose_log_cells(const hr_k_store_task *t) {
    if (hr__kstore_converts(t)) {
        return is_gathered(t) ? 1 : 3;
    }
    uint32_t cell_nbytes = t->slot_nbytes * t->nslots;
    return cell_nbytes <= 8 ? 4 : 7 - hr__ceil_log2(cell_nbytes);
}

static hr_status lay_out(const hr__loops *l, hr_k_store_task *t, hr_error *err) {
    t->log_cells = choose_log_cells(t);
    HR__TRY(hr__geometry_lay_out(l, t->log_cells, &t->tiles, err));
    const bool by_list = hr__axis_has_list(&t->tiles.along);
    t->ncells_at_once = 1;
    if (!is_gathered(t)) {
        t->slot_src_step = t->tiles.src_item_step;
        t->slot_dst_step = t->tiles.dst_item_step;
        t->ncells_at_once = by_list ? 1 : HR_K_STORE_SLOTS;
    }
    return HR_OK;
}

hr_status hr__kstore_lower(const hr_k_store *s, hr_k_store_task *task, hr_error *err) {
    HR__TRY(check(s, err));
    hr_k_store_task t = {.source = make_source(s)};
    set_numbers(s, &t);
    if (s->copy.nitems > 0) {
        hr__loops l;
        hr__kstore_element e = find_element(s, &t);
        make_loops(s, e, &l);
        hr__kstore_make_cells(&l, e, &t);
        HR__TRY(lay_out(&l, &t, err));
    }
    *task = t;
    return HR_OK;
}

/* --- batches --- */

static uint64_t list_tiles(const hr_k_store_task *tasks, uint32_t n, bool converting,
                           hr_k_store_tile *tiles) {
    uint64_t ntiles = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (hr__kstore_converts(&tasks[i]) != converting) {
            continue;
        }
        for (uint32_t k = 0; tiles != NULL && k < tasks[i].tiles.ntiles; k++) {
            tiles[ntiles + k] = (hr_k_store_tile){.task = i, .tile = k};
        }
        ntiles += tasks[i].tiles.ntiles;
    }
    return ntiles;
}

hr_status hr__kstore_list(const hr_k_store_task *tasks, uint32_t n,
                          hr_k_store_tile *tiles, hr_k_store_batch *batch,
                          hr_error *err) {
    uint64_t nmoving = list_tiles(tasks, n, false, NULL);
    uint64_t nconverting = list_tiles(tasks, n, true, NULL);
    if (nmoving + nconverting > UINT32_MAX) {
        return hr__fail(err, HR_ERR_OVERFLOW, "%u stores need more than 2^32 - 1 tiles",
                        n);
    }
    if (tiles != NULL) {
        (void)list_tiles(tasks, n, false, tiles);
        (void)list_tiles(tasks, n, true, tiles + nmoving);
    }
    batch->nmoving = (uint32_t)nmoving;
    batch->nconverting = (uint32_t)nconverting;
    return HR_OK;
}
