/* SPDX-License-Identifier: Apache-2.0 */
#include "device/kstore_cells.h"

#include <stdbool.h>

#include "core/checked.h"

#define MAX_GROUP 4  /* numbers that are converted together */
#define ROWS_GROUP 4 /* items whose bytes share words */

/* Elements that are contiguous in the source: `length` of them at a time, `most` in a
 * slot; bits: what the places of all such runs are aligned to. */
typedef struct run {
    uint32_t axis; /* naxes: none */
    hr__kstore_element e;
    uint32_t most;
    uint64_t length, bits;
} run;

/* The loop along which elements are contiguous in the source, best the last: its number,
 * or naxes. */
static uint32_t find_axis(const hr__loops *l, hr__kstore_element e) {
    for (uint32_t i = l->naxes; i-- > 0;) {
        if (!hr__axis_has_list(&l->axes[i]) && l->axes[i].src_step == e.from) {
            return i;
        }
    }
    return l->naxes;
}

static run find_run(const hr__loops *l, hr__kstore_element e, const hr_k_store_task *t) {
    const uint32_t axis = find_axis(l, e), widest = e.from > e.to ? e.from : e.to;
    run r = {.axis = axis,
             .e = e,
             .most = HR__KSTORE_SLOT_NBYTES / widest,
             .length = axis < l->naxes ? l->axes[axis].n : 1,
             .bits = l->src | (t->source.shuffle == HR_K_PLAIN ? t->source.chunk : 0)};
    if (t->nsteps > 0 && r.most > MAX_GROUP) {
        r.most = MAX_GROUP;
    }
    for (uint32_t i = 0; i < l->naxes; i++) {
        r.bits |= i == axis ? 0 : l->axes[i].src_step;
    }
    return r;
}

/* Elements in a slot: as many as divide the run and keep slots aligned. */
static uint32_t group_size(const run *r) {
    uint32_t n = hr__lowest_bit(r->length | r->most);
    while (n > 1 && r->bits % ((uint64_t)n * r->e.from) != 0) {
        n /= 2;
    }
    return n;
}

static bool is_power_of_two(uint32_t n, uint32_t most) {
    return n != 0 && (n & (n - 1)) == 0 && n <= most;
}

/* Can cells be so large, whose items are gathered from rows `width` bytes at a time? */
static bool cell_fits(const hr_k_source *s, const run *r, uint32_t cell, uint32_t width) {
    const bool has_others = s->last_block > 0;
    const uint64_t rows = s->chunk | s->stride[1] | (has_others ? s->stride[0] : 0);
    const bool is_aligned =
        rows % width == 0 && (!has_others || s->block_nbytes.divisor % cell == 0);
    const uint32_t all = cell / r->e.from;
    return (width == 1 || is_aligned) && cell % r->e.from == 0 && r->bits % cell == 0 &&
           r->length % all == 0 &&
           all <= hr__lowest_bit(all | r->most) * HR_K_STORE_SLOTS;
}

/* Returns elements in a slot. */
static uint32_t deal_cell(const run *r, uint32_t cell, uint32_t path,
                          hr_k_store_task *t) {
    const uint32_t all = cell / r->e.from, n = hr__lowest_bit(all | r->most);
    t->path = path;
    t->nslots = all / n;
    return n;
}

/* Each chooses a path and returns elements in a slot. */
static uint32_t choose_bits(const run *r, hr_k_store_task *t) {
    const uint32_t typesize = t->source.typesize.divisor,
                   cell = HR__KSTORE_BITS_GROUP * typesize;
    if (is_power_of_two(typesize, 8)) {
        const uint32_t wide = typesize <= 2 ? 4 : 8 / typesize;
        if (cell_fits(&t->source, r, cell * wide, wide)) {
            return deal_cell(r, cell * wide, HR_K_PATH_BITS, t);
        }
        if (cell_fits(&t->source, r, cell, 1)) {
            return deal_cell(r, cell, HR_K_PATH_BITS, t);
        }
        if (r->e.from == typesize) {
            t->path = HR_K_PATH_BIT_ITEM;
            return 1;
        }
    }
    return hr__lowest_bit(r->length | r->most);
}

static uint32_t choose_bytes(const run *r, hr_k_store_task *t) {
    const uint32_t typesize = t->source.typesize.divisor, cell = ROWS_GROUP * typesize;
    const uint32_t n = group_size(r);
    if (typesize == 16 && cell_fits(&t->source, r, cell, ROWS_GROUP)) {
        return deal_cell(r, cell, HR_K_PATH_ROWS, t);
    }
    if (r->bits % ((uint64_t)n * r->e.from) == 0 && typesize > 1 &&
        is_power_of_two(typesize, 16) && n * r->e.from % typesize == 0) {
        t->path = HR_K_PATH_PLANES;
        return n;
    }
    return hr__lowest_bit(r->length | r->most);
}

static uint32_t choose_plain(const run *r, hr_k_store_task *t) {
    const uint32_t n = group_size(r);
    if (r->bits % ((uint64_t)n * r->e.from) == 0) {
        t->path = HR_K_PATH_PLAIN;
        return n;
    }
    return hr__lowest_bit(r->length | r->most);
}

static uint32_t choose_path(const run *r, hr_k_store_task *t) {
    t->by_pairs = t->nsteps > 0 && r->most <= MAX_GROUP / 2;
    t->nslots = 1;
    t->path = HR_K_PATH_ANYTHING;
    return t->source.shuffle == HR_K_PLAIN           ? choose_plain(r, t)
           : t->source.shuffle == HR_K_BITS_SHUFFLED ? choose_bits(r, t)
                                                     : choose_bytes(r, t);
}

void hr__kstore_make_cells(hr__loops *l, hr__kstore_element e, hr_k_store_task *t) {
    const run r = find_run(l, e, t);
    const uint32_t n = choose_path(&r, t);
    uint32_t run_nbytes = e.to;
    uint64_t bits = l->dst;
    t->slot_nbytes = n * e.from;
    t->out_nbytes = n * e.to;
    if (r.axis < l->naxes) {
        hr_k_axis *a = &l->axes[r.axis];
        t->run_step = a->dst_step;
        if (n == 1 || a->dst_step == e.to) {
            run_nbytes = t->out_nbytes;
            t->run_step = 0;
        }
        t->slot_src_step = t->slot_nbytes;
        t->slot_dst_step = n * a->dst_step;
        a->n /= (uint64_t)n * t->nslots;
        a->src_step *= (uint64_t)n * t->nslots;
        a->dst_step *= (uint64_t)n * t->nslots;
        bits |= t->run_step | (t->nslots > 1 ? t->slot_dst_step : 0);
    }
    for (uint32_t i = 0; i < l->naxes; i++) {
        bits |= l->axes[i].dst_step;
    }
    t->log_run = hr__ceil_log2(run_nbytes);
    t->write_nbytes = hr__lowest_bit(bits | run_nbytes);
}
