/* SPDX-License-Identifier: Apache-2.0 */
#include "device/geometry.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/checked.h"

/* Threads along the destination's fastest loop when the source is fastest along another:
 * both sides of a transposition then touch whole 32-byte sectors. */
#define LOG_TRANSPOSE_THREADS 3
#define SLOT_NBYTES 16
#define LOG_WARP 5

/* The last axis counts bytes: make it count the widest items that fit and are aligned. */
static uint32_t widen_items(hr__loops *l) {
    hr_k_axis *item = &l->axes[l->naxes - 1];
    uint64_t bits = 16 | l->src | l->dst | item->n;
    for (uint32_t i = 0; i + 1 < l->naxes; i++) {
        bits |= l->axes[i].src_step | l->axes[i].dst_step;
    }
    uint32_t width = (uint32_t)(bits & (0 - bits));
    item->n /= width;
    item->src_step *= width;
    item->dst_step *= width;
    if (item->n == 1 && l->naxes > 1) {
        l->naxes--;
    }
    return width;
}

/* The loop that shares a tile with x: the one that is fastest in the source, if that is
 * not x; else the innermost that fills the tile, or the longest. */
static hr_k_axis take_y(hr__loops *l, const hr_k_axis *x, uint32_t log_items,
                        bool *transposed) {
    *transposed = false;
    if (l->naxes == 0) {
        return (hr_k_axis){.n = 1};
    }
    uint32_t best = l->naxes - 1;
    uint64_t step = hr__magnitude(x->src_step);
    for (uint32_t i = l->naxes; i-- > 0;) {
        const hr_k_axis *a = &l->axes[i];
        if (a->src_list == 0 && a->src_step != 0 && hr__magnitude(a->src_step) < step) {
            step = hr__magnitude(a->src_step);
            best = i;
            *transposed = true;
        }
    }
    uint32_t log_tile = HR_K_LOG_THREADS + log_items, log_x = hr__ceil_log2(x->n);
    uint64_t wanted = log_x < log_tile ? UINT64_C(1) << (log_tile - log_x) : 1;
    for (uint32_t i = l->naxes; i-- > 0 && !*transposed && l->axes[best].n < wanted;) {
        best = l->axes[i].n > l->axes[best].n ? i : best;
    }
    return hr__loops_take(l, best);
}

static uint64_t count_tiles(uint64_t n, uint32_t log_tile) {
    return ((n - 1) >> log_tile) + 1;
}

/* How many times the tiles' room exceeds the items: 1 is perfect. */
static double waste(uint64_t n, uint32_t log_tile) {
    return (double)count_tiles(n, log_tile) * (double)(UINT64_C(1) << log_tile) /
           (double)n;
}

/* Threads along x of a transposition: those that write a sector. Where narrow items are
 * read one by one, so many would leave the sectors read unused. */
static uint32_t log_transpose_threads(const hr_k_axis *x, const hr_k_axis *y) {
    const bool has_slots = y->src_step >= SLOT_NBYTES;
    const uint32_t more = x->dst_step == 1 || x->dst_step == 2 ? 2 : 0;
    return LOG_TRANSPOSE_THREADS + (has_slots ? more : 0);
}

/* Lay threads and items along x and y so that few lie outside. Many threads along x are
 * better (whole sectors, long runs), so fewer must save an eighth. */
static void choose_tile(hr_k_tiles *t, const hr_k_axis *x, const hr_k_axis *y,
                        uint32_t log_items, bool transposed) {
    uint32_t log_x = hr__ceil_log2(x->n), log_y = hr__ceil_log2(y->n);
    uint32_t most = HR_K_LOG_THREADS, least = LOG_WARP;
    if (transposed) {
        const uint32_t spare = HR_K_LOG_THREADS - log_transpose_threads(x, y);
        most -= log_y < spare ? log_y : spare;
        least = most;
    }
    least = log_x < least ? log_x : least;
    double best = 0;
    for (uint32_t threads_x = most + 1; threads_x-- > least;) {
        for (uint32_t along_y = 0; along_y < 2; along_y++) {
            uint32_t tile_x = threads_x + (along_y ? 0 : log_items);
            uint32_t tile_y = HR_K_LOG_THREADS - threads_x + (along_y ? log_items : 0);
            double cost = waste(x->n, tile_x) * waste(y->n, tile_y);
            if (best == 0 || cost < best * 0.875) {
                best = cost;
                t->log_threads_x = threads_x;
                t->items_along_y = along_y;
                t->log_tile_x = tile_x;
                t->log_tile_y = tile_y;
            }
        }
    }
    t->along = t->items_along_y ? *y : *x;
    t->across = t->items_along_y ? *x : *y;
    t->log_item_step =
        t->items_along_y ? HR_K_LOG_THREADS - t->log_threads_x : t->log_threads_x;
    t->src_item_step = t->along.src_step << t->log_item_step;
    t->dst_item_step = t->along.dst_step << t->log_item_step;
    t->has_lists = hr__axis_has_list(x) || hr__axis_has_list(y);
}

hr_k_divisor hr__divisor_of(uint32_t d) {
    uint32_t log = hr__ceil_log2(d);
    uint64_t factor = (((UINT64_C(1) << log) - d) << 32) / d + 1;
    return (hr_k_divisor){.divisor = d,
                          .factor = (uint32_t)factor,
                          .shift1 = log < 1 ? log : 1,
                          .shift2 = log < 1 ? 0 : log - 1};
}

static hr_status number_tiles(hr_k_tiles *t, uint64_t nx, uint64_t ny, hr_error *err) {
    uint64_t tiles_x = count_tiles(nx, t->log_tile_x);
    uint64_t tiles_y = count_tiles(ny, t->log_tile_y);
    uint64_t n;
    bool fits = hr__mul_u64(tiles_x, tiles_y, &n);
    for (uint32_t i = 0; fits && i < t->nouter; i++) {
        fits = hr__mul_u64(n, t->outer[i].n, &n);
    }
    if (!fits || n > UINT32_MAX) {
        return hr__fail(err, HR_ERR_OVERFLOW, "a copy needs more than 2^32 - 1 tiles");
    }
    t->tiles_x = hr__divisor_of((uint32_t)tiles_x);
    t->tiles_y = hr__divisor_of((uint32_t)tiles_y);
    t->ntiles = (uint32_t)n;
    return HR_OK;
}

hr_status hr__geometry_lay_out(const hr__loops *loops, uint32_t log_items,
                               hr_k_tiles *tiles, hr_error *err) {
    hr__loops l = *loops;
    hr_k_tiles t = {.src = l.src, .dst = l.dst};
    bool transposed;
    hr_k_axis x = hr__loops_take(&l, l.naxes - 1);
    hr_k_axis y = take_y(&l, &x, log_items, &transposed);
    choose_tile(&t, &x, &y, log_items, transposed);
    t.nouter = l.naxes;
    memcpy(t.outer, l.axes, l.naxes * sizeof *l.axes);
    HR__TRY(number_tiles(&t, x.n, y.n, err));
    *tiles = t;
    return HR_OK;
}

static hr_status make_tiles(const hr_k_scatter *s, hr_k_tiles *tiles, hr_error *err) {
    HR__TRY(hr__loops_check(s, err));
    hr_k_tiles t = {.width = 1};
    if (s->nitems > 0) {
        hr__loops l;
        hr__loops_sort(s, &l);
        l.axes[l.naxes++] = (hr_k_axis){.n = s->itemsize, .src_step = 1, .dst_step = 1};
        hr__loops_merge(&l);
        uint32_t width = widen_items(&l);
        HR__TRY(hr__geometry_lay_out(&l, HR_K_LOG_ITEMS(width), &t, err));
        t.width = width;
    }
    *tiles = t;
    return HR_OK;
}

/* A fill is a scatter whose source stands still. */
static hr_k_scatter fill_as_scatter(const hr_k_fill *fill) {
    hr_k_scatter s = fill->where;
    for (int32_t i = 0; i < HR_K_MAX_DIMS; i++) {
        s.dims[i].src0 = 0;
        s.dims[i].src_step = 0;
        s.dims[i].src_list = 0;
    }
    return s;
}

hr_status hr__geometry_tiles(hr__kernel kernel, const void *params, hr_k_tiles *tiles,
                             hr_error *err) {
    switch (kernel) {
    case HR__KERNEL_SCATTER:
        return make_tiles(params, tiles, err);
    case HR__KERNEL_FILL: {
        hr_k_scatter s = fill_as_scatter(params);
        return make_tiles(&s, tiles, err);
    }
    default:
        return hr__fail(err, HR_ERR_ARGUMENT, "no kernel %d", (int)kernel);
    }
}

uint32_t hr__geometry_log_width(const hr_k_tiles *tiles) {
    return hr__ceil_log2(tiles->width);
}
