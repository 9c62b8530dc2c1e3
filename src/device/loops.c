/* SPDX-License-Identifier: Apache-2.0 */
#include "device/loops.h"

#include <string.h>

#include "core/checked.h"

hr_status hr__loops_check(const hr_k_scatter *s, hr_error *err) {
    if (s->ndim < 0 || s->ndim > HR_K_MAX_DIMS || s->itemsize == 0) {
        return hr__fail(
            err, HR_ERR_ARGUMENT,
            "copy of %d loops and items of %u bytes, expected 0 to %d and 1 or "
            "more",
            s->ndim, s->itemsize, HR_K_MAX_DIMS);
    }
    uint64_t n = 1;
    bool fits = true, empty = false;
    for (int32_t i = 0; i < s->ndim; i++) {
        empty = empty || s->dims[i].n == 0;
        fits = fits && hr__mul_u64(n, s->dims[i].n, &n);
    }
    if (empty ? s->nitems != 0 : !fits || n != s->nitems) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "copy of %llu items whose loops count others",
                        (unsigned long long)s->nitems);
    }
    return HR_OK;
}

/* One loop as an axis that starts at 0; the starts go to src and dst. Runs upward in the
 * destination where its order is free to choose. */
static void add_loop(hr__loops *l, const hr_k_dim *d) {
    hr_k_axis a = {d->n, (uint64_t)d->src_step, (uint64_t)d->dst_step, d->src_list,
                   d->dst_list};
    l->src += a.src_list == 0 ? (uint64_t)d->src0 : 0;
    l->dst += a.dst_list == 0 ? (uint64_t)d->dst0 : 0;
    if (hr__axis_has_list(&a)) {
        l->axes[l->naxes++] = a;
        return;
    }
    if (a.n == 1) {
        return;
    }
    if (a.dst_step > INT64_MAX) {
        l->src += (a.n - 1) * a.src_step;
        l->dst += (a.n - 1) * a.dst_step;
        a.src_step = 0 - a.src_step;
        a.dst_step = 0 - a.dst_step;
    }
    l->axes[l->naxes++] = a;
}

/* Longest destination steps outermost; a step of 0 is no order at all and goes there too.
 */
void hr__loops_sort(const hr_k_scatter *s, hr__loops *l) {
    *l = (hr__loops){.src = s->src, .dst = s->dst};
    for (int32_t i = 0; i < s->ndim; i++) {
        add_loop(l, &s->dims[i]);
    }
    for (uint32_t i = 1; i < l->naxes; i++) {
        hr_k_axis a = l->axes[i];
        uint64_t key = hr__magnitude(a.dst_step) - 1;
        uint32_t k = i;
        for (; k > 0 && hr__magnitude(l->axes[k - 1].dst_step) - 1 < key; k--) {
            l->axes[k] = l->axes[k - 1];
        }
        l->axes[k] = a;
    }
}

/* Does `outer` continue where `inner` ends, on both sides? */
static bool continues(const hr_k_axis *outer, const hr_k_axis *inner) {
    uint64_t n;
    return !hr__axis_has_list(outer) && !hr__axis_has_list(inner) &&
           hr__mul_u64(outer->n, inner->n, &n) &&
           outer->src_step == inner->n * inner->src_step &&
           outer->dst_step == inner->n * inner->dst_step;
}

void hr__loops_merge(hr__loops *l) {
    uint32_t last = l->naxes - 1; /* the merged axes are last … naxes − 1 */
    for (uint32_t i = last; i-- > 0;) {
        if (continues(&l->axes[i], &l->axes[last])) {
            l->axes[last].n *= l->axes[i].n;
        } else {
            l->axes[--last] = l->axes[i];
        }
    }
    l->naxes -= last;
    memmove(l->axes, l->axes + last, l->naxes * sizeof *l->axes);
}

hr_k_axis hr__loops_take(hr__loops *l, uint32_t i) {
    hr_k_axis a = l->axes[i];
    l->naxes--;
    memmove(l->axes + i, l->axes + i + 1, (l->naxes - i) * sizeof *l->axes);
    return a;
}
