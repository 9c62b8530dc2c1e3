/* Grids of chunks. SPDX-License-Identifier: Apache-2.0 */
#include "format/array.h"

#include <string.h>

#include "core/checked.h"

/* Smaller parts cost more in reads than they save. */
#define SMALLEST_PART_NBYTES (16 << 10)

int64_t hr__grid_find(const hr__grid_axis *g, int64_t i) {
    if (g->starts == NULL) {
        return i / g->chunk;
    }
    int64_t low = 0, high = g->nchunks; /* starts[low] ≤ i < starts[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (g->starts[middle] <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t hr__grid_start(const hr__grid_axis *g, int64_t chunk) {
    return g->starts == NULL ? chunk * g->chunk : g->starts[chunk];
}

int64_t hr__grid_length(const hr__grid_axis *g, int64_t chunk) {
    return g->starts == NULL ? g->chunk : g->starts[chunk + 1] - g->starts[chunk];
}

hr_status hr__array_chain(const hr__array *a, const int64_t *coords,
                          const hr__chain **chain, hr_error *err) {
    if (a->chain_for == NULL) {
        bool is_edge = a->edge_chain != NULL &&
                       coords[a->edge_axis] == a->grid[a->edge_axis].nchunks - 1;
        *chain = is_edge ? a->edge_chain : &a->chain;
        return HR_OK;
    }
    int64_t shape[HR_MAX_NDIM];
    for (int32_t i = 0; i < a->ndim; i++) {
        shape[i] = hr__grid_length(&a->grid[i], coords[i]);
    }
    return a->chain_for(a, shape, chain, err);
}

/* The largest divisor of n that is at most `most`; where that is below `least`, the next
 * larger divisor. */
static int64_t part_length(int64_t n, int64_t least, int64_t most) {
    int64_t below = 1;
    int64_t above = n;
    for (int64_t d = 1; d <= most && d <= n / d; d++) {
        if (n % d != 0) {
            continue;
        }
        below = d > below ? d : below;
        if (n / d > most) {
            above = n / d < above ? n / d : above;
        } else {
            below = n / d > below ? n / d : below;
        }
    }
    return below >= least ? below : above;
}

/* Whole trailing axes of the stored order, a part of one axis, and single steps along the
 * leading ones are contiguous. */
static void choose_part(const hr__array *a, uint64_t target_nbytes, int64_t *shape) {
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        shape[axis] = 1;
    }
    uint64_t unit = a->chain.decoded.nbytes / a->chain.decoded.nelems;
    int32_t i = a->ndim - 1;
    for (; i > 0; i--) {
        uint64_t length = (uint64_t)a->grid[a->order[i]].chunk;
        if (length > target_nbytes / unit) {
            break;
        }
        shape[a->order[i]] = (int64_t)length;
        unit *= length;
    }
    uint64_t least_nbytes = SMALLEST_PART_NBYTES;
    if (least_nbytes > target_nbytes / 4) {
        least_nbytes = target_nbytes / 4;
    }
    uint64_t least = least_nbytes / unit + (least_nbytes % unit != 0);
    uint64_t most = target_nbytes < unit ? 1 : target_nbytes / unit;
    shape[a->order[i]] =
        part_length(a->grid[a->order[i]].chunk, (int64_t)least, (int64_t)most);
}

static bool may_split(const hr__array *a, uint64_t target_nbytes) {
    const hr__spec *decoded = &a->chain.decoded;
    if (a->ndim == 0 || a->nlevels >= HR__MAX_LEVELS || a->chain_for != NULL ||
        !hr__chain_is_raw(&a->chain) || decoded->nelems == 0 ||
        decoded->nbytes == HR__SIZE_UNKNOWN || decoded->nbytes <= target_nbytes) {
        return false;
    }
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        if (a->grid[axis].starts != NULL) {
            return false;
        }
    }
    return true;
}

void hr__array_split_raw(hr__array *a, uint64_t target_nbytes) {
    if (!may_split(a, target_nbytes)) {
        return;
    }
    hr__level level = {.is_split = true, .ninner = 1};
    choose_part(a, target_nbytes, level.shape);
    memcpy(level.order, a->order, sizeof level.order);
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        level.counts[axis] = a->grid[axis].chunk / level.shape[axis];
        level.ninner *= (uint64_t)level.counts[axis];
    }
    if (level.ninner == 1) {
        return;
    }
    level.part_nbytes = a->chain.decoded.nbytes / level.ninner;
    for (int32_t i = 0; i < a->ndim; i++) {
        hr__grid_axis *g = &a->grid[a->order[i]];
        g->chunk = level.shape[a->order[i]];
        g->nchunks = hr__ceil_div_i64(g->length, g->chunk);
        a->chain.decoded.shape[i] = g->chunk;
    }
    a->levels[a->nlevels++] = level;
    a->chain.ncodecs = 0;
    a->chain.codecs = NULL;
    a->chain.decoded.nelems /= level.ninner;
    a->chain.decoded.nbytes = a->chain.decoded.max_nbytes = level.part_nbytes;
    a->chain.encoded = hr__spec_bytes(level.part_nbytes);
}
