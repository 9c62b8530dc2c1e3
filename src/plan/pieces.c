/* Cutting a selection along one axis by the grid. SPDX-License-Identifier: Apache-2.0 */
#include "core/checked.h"
#include "plan/build.h"

/* A list goes as several arithmetic pieces where these are at least this long on average:
 * each costs a copy of its own, but one that moves rows. */
#define LONG_RUN 8

uint64_t hr__slice_max_cuts(const hr__grid_axis *g, const hr__axis_range *range) {
    int64_t n = range->n;
    int64_t first = hr__grid_find(g, range->start);
    int64_t last = hr__grid_find(g, range->start + (n - 1) * range->step);
    int64_t most = (last > first ? last - first : first - last) + 1;
    return (uint64_t)(most < n ? most : n);
}

/* How many steps from element `at` of a chunk on stay in it. */
static int64_t steps_left(int64_t at, int64_t length, int64_t step) {
    int64_t left = step > 0 ? length - 1 - at : at;
    return step == 1 ? left : left / (step > 0 ? step : -step);
}

static hr__cut *cut_slice(const hr__grid_axis *g, const hr__axis_range *range,
                          hr__arena *arena, int64_t *ncuts) {
    int64_t n = range->n;
    int64_t step = range->step;
    hr__cut *cuts = hr__arena_array(arena, hr__slice_max_cuts(g, range), sizeof *cuts);
    if (cuts == NULL) {
        return NULL;
    }
    hr__cut *cut = cuts;
    int64_t chunk = 0;
    for (int64_t done = 0; done < n; cut++) {
        int64_t at = range->start + done * step;
        chunk = done > 0 && step == 1 ? chunk + 1 : hr__grid_find(g, at);
        int64_t src0 = at - hr__grid_start(g, chunk);
        int64_t room = steps_left(src0, hr__grid_length(g, chunk), step);
        int64_t count = room < n - done ? room + 1 : n - done;
        *cut = (hr__cut){.chunk = chunk,
                         .piece = {.n = count,
                                   .src0 = src0,
                                   .src_step = count > 1 ? step : 1,
                                   .dst0 = done,
                                   .dst_step = 1}};
        done += count;
    }
    *ncuts = cut - cuts;
    return cuts;
}

static bool is_arithmetic(const int64_t *list, int64_t n) {
    for (int64_t i = 2; i < n; i++) {
        if (list[i] - list[i - 1] != list[1] - list[0]) {
            return false;
        }
    }
    return true;
}

hr__piece hr__piece_of(const int64_t *src, const int64_t *dst, int64_t n) {
    return (hr__piece){.n = n,
                       .src0 = src[0],
                       .src_step = n > 1 ? src[1] - src[0] : 1,
                       .dst0 = dst[0],
                       .dst_step = n > 1 ? dst[1] - dst[0] : 1,
                       .src_list = is_arithmetic(src, n) ? NULL : src,
                       .dst_list = is_arithmetic(dst, n) ? NULL : dst};
}

/* How many elements from the first on have constant steps. */
static int64_t run_length(const int64_t *src, const int64_t *dst, int64_t n) {
    int64_t k = n < 2 ? n : 2;
    while (k < n && src[k] - src[k - 1] == src[1] - src[0] &&
           dst[k] - dst[k - 1] == dst[1] - dst[0]) {
        k++;
    }
    return k;
}

static bool has_long_runs(const int64_t *src, const int64_t *dst, int64_t n) {
    int64_t nruns = 0;
    for (int64_t k = 0; k < n; k += run_length(src + k, dst + k, n - k)) {
        nruns++;
    }
    return nruns == 1 || nruns <= n / LONG_RUN;
}

/* Pieces of one chunk's part of a list; returns the end of them. */
static hr__cut *cut_group(hr__cut *cut, int64_t chunk, const int64_t *src,
                          const int64_t *dst, int64_t n) {
    if (!has_long_runs(src, dst, n)) {
        *cut = (hr__cut){.chunk = chunk, .piece = hr__piece_of(src, dst, n)};
        return cut + 1;
    }
    for (int64_t k = 0; k < n; cut++) {
        int64_t length = run_length(src + k, dst + k, n - k);
        *cut = (hr__cut){.chunk = chunk, .piece = hr__piece_of(src + k, dst + k, length)};
        k += length;
    }
    return cut;
}

static hr__cut *cut_sorted(const hr__item *items, int64_t n, hr__arena *arena,
                           int64_t *ncuts) {
    int64_t *src = hr__arena_array(arena, (size_t)n, 2 * sizeof *src);
    if (src == NULL) {
        return NULL;
    }
    int64_t *dst = src + n;
    int64_t ngroups = 0;
    for (int64_t i = 0; i < n; i++) {
        src[i] = items[i].src;
        dst[i] = items[i].dst;
        ngroups += i == 0 || items[i].key != items[i - 1].key;
    }
    size_t most = (size_t)(ngroups + n / LONG_RUN);
    hr__cut *cuts = hr__arena_array(arena, most, sizeof *cuts);
    if (cuts == NULL) {
        return NULL;
    }
    hr__cut *cut = cuts;
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && items[end].key == items[i].key; end++) {
        }
        cut = cut_group(cut, (int64_t)items[i].key, src + i, dst + i, end - i);
    }
    *ncuts = cut - cuts;
    return cuts;
}

static hr__cut *cut_list(const hr__grid_axis *g, const hr__axis_range *range,
                         hr__arena *arena, int64_t *ncuts) {
    int64_t n = range->n;
    uint64_t nbytes = 0;
    hr__item *items = NULL;
    if (hr__mul_u64((uint64_t)n, 2 * sizeof *items, &nbytes)) {
        items = hr__alloc(arena->allocator, nbytes);
    }
    if (items == NULL) {
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t index = range->indices[i];
        index += index < 0 ? g->length : 0;
        int64_t chunk = hr__grid_find(g, index);
        items[i] = (hr__item){
            .key = (uint64_t)chunk, .src = index - hr__grid_start(g, chunk), .dst = i};
    }
    const hr__item *sorted = hr__items_sort(items, items + n, n);
    hr__cut *cuts = cut_sorted(sorted, n, arena, ncuts);
    hr__free(arena->allocator, items, nbytes);
    return cuts;
}

hr__cut *hr__axis_cut(const hr__grid_axis *g, const hr__axis_range *range,
                      hr__arena *arena, int64_t *ncuts) {
    return range->indices != NULL ? cut_list(g, range, arena, ncuts)
                                  : cut_slice(g, range, arena, ncuts);
}
