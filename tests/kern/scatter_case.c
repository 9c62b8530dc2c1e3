/* Random strided copies and what they should give. SPDX-License-Identifier: Apache-2.0 */
#include "kern/scatter_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_ITEMS 30000

static bool chance(uint64_t *random, uint64_t one_in) {
    return random_below(random, one_in) == 0;
}

static void shuffle(int32_t *order, int32_t n, uint64_t *random) {
    for (int32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (int32_t i = n - 1; i > 0; i--) {
        int32_t k = (int32_t)random_below(random, (uint64_t)i + 1);
        int32_t swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
}

static void make_shape(scatter_case *c, uint64_t *random) {
    hr_k_scatter *s = &c->copy;
    s->ndim = (int32_t)random_below(random, HR_K_MAX_DIMS + 1);
    s->nitems = 1;
    int32_t longest = s->ndim > 0 ? (int32_t)random_below(random, (uint64_t)s->ndim) : 0;
    for (int32_t i = 0; i < s->ndim; i++) {
        uint64_t most = MOST_ITEMS / s->nitems, n = 1 + random_below(random, 5);
        if (i == longest || chance(random, 4)) {
            n = 1 + random_below(random, chance(random, 2) ? 70 : 9000);
        }
        s->dims[i].n = n < most ? n : most;
        s->nitems *= s->dims[i].n;
    }
    if (s->ndim > 0 && chance(random, 60)) {
        s->dims[random_below(random, (uint64_t)s->ndim)].n = 0;
        s->nitems = 0;
    }
}

/* Reserve a list of n numbers: distinct ones below nslots, or any. */
static uint64_t make_list(scatter_case *c, uint64_t n, uint64_t nslots, bool distinct,
                          uint64_t *random) {
    int64_t *list = c->lists + c->nlists;
    uint64_t start = c->nlists;
    c->nlists += n;
    if (!distinct) {
        for (uint64_t k = 0; k < n; k++) {
            list[k] = (int64_t)random_below(random, nslots);
        }
        return start + 1;
    }
    uint64_t k = 0;
    for (uint64_t slot = 0; k < n;
         slot++) { /* every n-of-nslots subset, then its order */
        if (random_below(random, nslots - slot) < n - k) {
            list[k++] = (int64_t)slot;
        }
    }
    for (uint64_t i = n; i-- > 1;) {
        uint64_t other = random_below(random, i + 1);
        int64_t swap = list[i];
        list[i] = list[other];
        list[other] = swap;
    }
    return start + 1;
}

/* Lay the loops out on one side, innermost first in a random order. */
static uint64_t make_side(scatter_case *c, bool is_dst, uint64_t *random) {
    hr_k_scatter *s = &c->copy;
    uint64_t unit = UINT64_C(1) << random_below(random, 5);
    bool is_dense = chance(random, 3);
    int32_t order[HR_K_MAX_DIMS];
    shuffle(order, s->ndim, random);
    if (chance(random, 2)) {
        for (int32_t i = 0; i < s->ndim; i++) {
            order[i] = s->ndim - 1 - i;
        }
    }
    uint64_t extent = is_dst ? c->dst_itemsize : s->itemsize;
    for (int32_t i = 0; i < s->ndim; i++) {
        hr_k_dim *d = &s->dims[order[i]];
        uint64_t step = extent, nslots = d->n, list = 0;
        if (!is_dense && chance(random, 2)) {
            step = (step + unit * random_below(random, 5) + unit - 1) / unit * unit;
        }
        if (d->n > 0 && chance(random, 6) && c->nlists + d->n <= MOST_LIST_ENTRIES) {
            nslots += random_below(random, 4);
            list = make_list(c, d->n, nslots, is_dst, random);
        }
        bool is_still = !is_dst && list == 0 && chance(random, 12);
        bool is_reversed = list == 0 && chance(random, 5);
        int64_t signed_step = is_still ? 0 : (int64_t)step * (is_reversed ? -1 : 1);
        uint64_t length = is_still || nslots == 0 ? 0 : (nslots - 1) * step;
        int64_t start = is_reversed && !is_still ? (int64_t)length : 0;
        *(is_dst ? &d->dst0 : &d->src0) = start;
        *(is_dst ? &d->dst_step : &d->src_step) = signed_step;
        *(is_dst ? &d->dst_list : &d->src_list) = list;
        extent = length + extent;
    }
    uint64_t offset = chance(random, 2) ? 0 : unit * random_below(random, 9);
    *(is_dst ? &s->dst : &s->src) = offset;
    return offset + extent;
}

void scatter_case_make(scatter_case *c, int64_t *lists, uint64_t *random) {
    static const uint32_t sizes[] = {1, 2, 4, 8, 12, 16, 24, 32, 48};
    memset(c, 0, sizeof *c);
    c->lists = lists;
    c->is_fill = chance(random, 5);
    c->copy.itemsize = c->dst_itemsize = chance(random, 2)
                                             ? 1 + (uint32_t)random_below(random, 17)
                                             : sizes[random_below(random, 9)];
    make_shape(c, random);
    c->dst_nbytes = make_side(c, true, random);
    c->src_nbytes = make_side(c, false, random);
    if (c->is_fill) { /* the loops' source side must not matter */
        c->src_nbytes = c->copy.src + c->copy.itemsize;
    }
}

/* The loops one inside the other in the given order, a gap behind one of them at most. */
static uint64_t make_dense_side(scatter_case *c, bool is_dst, const int32_t *order,
                                uint64_t *random) {
    hr_k_scatter *s = &c->copy;
    uint64_t itemsize = is_dst ? c->dst_itemsize : s->itemsize, extent = itemsize;
    uint64_t gap = chance(random, 3) ? itemsize * random_below(random, 17) : 0;
    uint64_t offset = chance(random, 4) ? itemsize * random_below(random, 17) : 0;
    int32_t gap_at = s->ndim > 0 ? (int32_t)random_below(random, (uint64_t)s->ndim) : 0;
    for (int32_t i = 0; i < s->ndim; i++) {
        hr_k_dim *d = &s->dims[order[i]];
        *(is_dst ? &d->dst_step : &d->src_step) = (int64_t)extent;
        extent = extent * d->n + (i == gap_at ? gap : 0);
    }
    *(is_dst ? &s->dst : &s->src) = offset;
    return offset + extent;
}

/* A chunk in C order to a destination in C order, or in any. */
static void make_dense(scatter_case *c, uint64_t *random) {
    hr_k_scatter *s = &c->copy;
    int32_t order[HR_K_MAX_DIMS] = {0};
    s->nitems = 1;
    for (int32_t i = 0; i < s->ndim; i++) {
        order[i] = s->ndim - 1 - i;
        if (i == s->ndim - 1 && !chance(random, 3)) {
            s->dims[i].n = (s->dims[i].n + 15) / 16 * 16;
        }
        s->nitems *= s->dims[i].n;
    }
    c->src_nbytes = make_dense_side(c, false, order, random);
    if (chance(random, 3)) {
        shuffle(order, s->ndim, random);
    }
    c->dst_nbytes = make_dense_side(c, true, order, random);
}

void scatter_case_make_sized(scatter_case *c, int64_t *lists, uint32_t src_itemsize,
                             uint32_t dst_itemsize, bool dense, uint64_t *random) {
    memset(c, 0, sizeof *c);
    c->lists = lists;
    c->copy.itemsize = src_itemsize;
    c->dst_itemsize = dst_itemsize;
    make_shape(c, random);
    if (dense) {
        make_dense(c, random);
    } else {
        c->dst_nbytes = make_side(c, true, random);
        c->src_nbytes = make_side(c, false, random);
    }
}

hr_k_scatter scatter_case_bind(const scatter_case *c, uint64_t src, uint64_t dst,
                               uint64_t lists) {
    hr_k_scatter s = c->copy;
    s.src += src;
    s.dst += dst;
    for (int32_t i = 0; i < s.ndim; i++) {
        uint64_t *bound[] = {&s.dims[i].src_list, &s.dims[i].dst_list};
        for (int k = 0; k < 2; k++) {
            *bound[k] = *bound[k] == 0 ? 0 : lists + (*bound[k] - 1) * sizeof(int64_t);
        }
    }
    return s;
}

static int64_t offset_of(const scatter_case *c, uint64_t list, int64_t start,
                         int64_t step, uint64_t k) {
    return list != 0 ? c->lists[list - 1 + k] * step : start + (int64_t)k * step;
}

void scatter_case_at(const scatter_case *c, uint64_t item, int64_t *from, int64_t *to) {
    const hr_k_scatter *s = &c->copy;
    *from = (int64_t)s->src;
    *to = (int64_t)s->dst;
    for (int32_t i = s->ndim; i-- > 0;) {
        const hr_k_dim *d = &s->dims[i];
        uint64_t k = item % d->n;
        item /= d->n;
        if (!c->is_fill) {
            *from += offset_of(c, d->src_list, d->src0, d->src_step, k);
        }
        *to += offset_of(c, d->dst_list, d->dst0, d->dst_step, k);
    }
}

void scatter_case_reference(const scatter_case *c, const uint8_t *src, uint8_t *dst) {
    for (uint64_t item = 0; item < c->copy.nitems; item++) {
        int64_t from, to;
        scatter_case_at(c, item, &from, &to);
        memcpy(dst + to, src + from, c->copy.itemsize);
    }
}

void scatter_case_print(const scatter_case *c) {
    const hr_k_scatter *s = &c->copy;
    printf("%s of %" PRIu64 " items of %" PRIu32 " bytes, src+%" PRIu64 " dst+%" PRIu64
           "\n",
           c->is_fill ? "fill" : "copy", s->nitems, s->itemsize, s->src, s->dst);
    for (int32_t i = 0; i < s->ndim; i++) {
        const hr_k_dim *d = &s->dims[i];
        printf("  %" PRIu64 ": src %" PRId64 " + k*%" PRId64 "%s, dst %" PRId64
               " + k*%" PRId64 "%s\n",
               d->n, d->src0, d->src_step, d->src_list ? " (list)" : "", d->dst0,
               d->dst_step, d->dst_list ? " (list)" : "");
    }
}
