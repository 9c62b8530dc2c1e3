/* SPDX-License-Identifier: Apache-2.0 */
#include "device/simt_memory.h"

#include <inttypes.h>
#include <string.h>

#include "core/checked.h"
#include "device/kstore.h"

typedef struct hr__simt_block {
    struct hr__simt_block *next;
    uint8_t *data;
    uint64_t nbytes;
} block;

void *hr__simt_memory_alloc(hr__simt_memory *m, uint64_t nbytes) {
    block *b = hr__alloc(m->allocator, sizeof *b);
    if (b == NULL) {
        return NULL;
    }
    b->data = hr__alloc(m->allocator, nbytes);
    if (b->data == NULL) {
        hr__free(m->allocator, b, sizeof *b);
        return NULL;
    }
    memset(b->data, HR__SIMT_POISON, nbytes);
    b->nbytes = nbytes;
    b->next = m->blocks;
    m->blocks = b;
    return b->data;
}

static void free_block(hr__simt_memory *m, block **link) {
    block *b = *link;
    *link = b->next;
    hr__free(m->allocator, b->data, b->nbytes);
    hr__free(m->allocator, b, sizeof *b);
}

hr_status hr__simt_memory_free(hr__simt_memory *m, void *ptr, hr_error *err) {
    for (block **link = &m->blocks; *link != NULL; link = &(*link)->next) {
        if ((*link)->data == ptr) {
            free_block(m, link);
            return HR_OK;
        }
    }
    return hr__fail(err, HR_ERR_DEVICE, "freeing %p, which is no allocation", ptr);
}

void hr__simt_memory_free_all(hr__simt_memory *m) {
    while (m->blocks != NULL) {
        free_block(m, &m->blocks);
    }
}

hr_status hr__simt_memory_check(const hr__simt_memory *m, uint64_t address,
                                uint64_t nbytes, const char *what, hr_error *err) {
    uint64_t end;
    bool fits = hr__add_u64(address, nbytes, &end);
    for (const block *b = m->blocks; fits && b != NULL; b = b->next) {
        uint64_t first = (uint64_t)(uintptr_t)b->data, last = first + b->nbytes;
        bool overlaps = address < last && first < end;
        fits = !overlaps || (first <= address && end <= last);
    }
    if (!fits) {
        return hr__fail(err, HR_ERR_DEVICE,
                        "%s of %llu bytes at 0x%llx leaves its allocation", what,
                        (unsigned long long)nbytes, (unsigned long long)address);
    }
    return HR_OK;
}

static bool widen_by_list(const int64_t *list, uint64_t n, int64_t step,
                          hr__simt_extent *e) {
    hr__simt_extent sum = {INT64_MAX, INT64_MIN};
    for (uint64_t k = 0; k < n; k++) {
        int64_t at;
        if (!hr__mul_i64(list[k], step, &at)) {
            return false;
        }
        sum.first = at < sum.first ? at : sum.first;
        sum.last = at > sum.last ? at : sum.last;
    }
    return hr__add_i64(e->first, sum.first, &e->first) &&
           hr__add_i64(e->last, sum.last, &e->last);
}

static bool widen_by_steps(int64_t start, uint64_t n, int64_t step, hr__simt_extent *e) {
    int64_t length;
    if (n - 1 > INT64_MAX || !hr__mul_i64((int64_t)(n - 1), step, &length) ||
        !hr__add_i64(e->first, start, &e->first) ||
        !hr__add_i64(e->last, start, &e->last)) {
        return false;
    }
    return length < 0 ? hr__add_i64(e->first, length, &e->first)
                      : hr__add_i64(e->last, length, &e->last);
}

hr_status hr__simt_memory_extent(const hr__simt_memory *m, const hr_k_dim *dims,
                                 int32_t ndim, bool is_dst, hr__simt_extent *out,
                                 hr_error *err) {
    hr__simt_extent e = {0, 0};
    bool fits = true;
    for (int32_t i = 0; fits && i < ndim; i++) {
        const hr_k_dim *d = &dims[i];
        uint64_t list = is_dst ? d->dst_list : d->src_list;
        int64_t step = is_dst ? d->dst_step : d->src_step;
        if (list != 0) {
            uint64_t nbytes;
            if (!hr__mul_u64(d->n, sizeof(int64_t), &nbytes)) {
                nbytes = UINT64_MAX;
            }
            HR__TRY(hr__simt_memory_check(m, list, nbytes, "a kernel's list", err));
            fits = widen_by_list((const int64_t *)(uintptr_t)list, d->n, step, &e);
        } else {
            fits = widen_by_steps(is_dst ? d->dst0 : d->src0, d->n, step, &e);
        }
    }
    if (!fits) {
        return hr__fail(err, HR_ERR_DEVICE, "a kernel's loops do not fit in memory");
    }
    *out = e;
    return HR_OK;
}

static hr_status check_side(const hr__simt_memory *m, const hr_k_scatter *s, bool is_dst,
                            hr_error *err) {
    hr__simt_extent e;
    HR__TRY(hr__simt_memory_extent(m, s->dims, s->ndim, is_dst, &e, err));
    return hr__simt_memory_check(m, (is_dst ? s->dst : s->src) + (uint64_t)e.first,
                                 (uint64_t)e.last - (uint64_t)e.first + s->itemsize,
                                 is_dst ? "a kernel's write" : "a kernel's read", err);
}

hr_status hr__simt_memory_check_kernel(const hr__simt_memory *m, hr__kernel kernel,
                                       const void *params, hr_error *err) {
    const hr_k_scatter *s =
        kernel == HR__KERNEL_FILL ? &((const hr_k_fill *)params)->where : params;
    if (s->nitems == 0) {
        return HR_OK;
    }
    HR__TRY(check_side(m, s, true, err));
    return kernel == HR__KERNEL_FILL
               ? hr__simt_memory_check(m, s->src, s->itemsize, "a kernel's read", err)
               : check_side(m, s, false, err);
}

hr_status hr__simt_memory_check_decode(const hr__simt_memory *m,
                                       const hr_k_decode *params, hr_error *err) {
    if (params->ntasks == 0) {
        return HR_OK;
    }
    const hr_k_task *tasks = (const hr_k_task *)(uintptr_t)params->tasks;
    HR__TRY(hr__simt_memory_check(m, params->tasks, params->ntasks * sizeof *tasks,
                                  "a decoder's tasks", err));
    HR__TRY(hr__simt_memory_check(m, params->counter, sizeof(uint32_t),
                                  "a decoder's counter", err));
    for (uint32_t i = 0; i < params->ntasks; i++) {
        const hr_k_task *t = &tasks[i];
        HR__TRY(hr__simt_memory_check(m, t->src, t->src_nbytes, "a decoder's read", err));
        HR__TRY(
            hr__simt_memory_check(m, t->dst, t->dst_nbytes, "a decoder's write", err));
        HR__TRY(hr__simt_memory_check(m,
                                      params->status + t->status_index * sizeof(uint64_t),
                                      sizeof(uint64_t), "a decoder's status", err));
    }
    return HR_OK;
}

hr_status hr__simt_memory_check_whole(const hr__simt_memory *m, const hr_k_whole *params,
                                      hr_error *err) {
    HR__TRY(hr__simt_memory_check_decode(m, &params->streams, err));
    const hr_k_task *tasks = (const hr_k_task *)(uintptr_t)params->streams.tasks;
    for (uint32_t i = 0; i < params->streams.ntasks; i++) {
        const hr_k_task *t = &tasks[i];
        HR__TRY(hr__simt_memory_check(m, t->scratch,
                                      HR_K_WHOLE_ROOM(t->src_nbytes, t->dst_nbytes),
                                      "a decoder's scratch", err));
    }
    return HR_OK;
}

/* Tables, and the scratch of every block. */
hr_status hr__simt_memory_check_zstd(const hr__simt_memory *m, const hr_k_zstd *params,
                                     hr_error *err) {
    HR__TRY(hr__simt_memory_check_decode(m, &params->streams, err));
    const uint32_t ntasks = params->streams.ntasks;
    if (ntasks == 0) {
        return HR_OK;
    }
    HR__TRY(hr__simt_memory_check(m, params->first_blocks,
                                  (ntasks + UINT64_C(1)) * sizeof(uint32_t),
                                  "a decoder's first blocks", err));
    const uint32_t n = ((const uint32_t *)(uintptr_t)params->first_blocks)[ntasks];
    const hr_k_zstd_block *blocks = (const hr_k_zstd_block *)(uintptr_t)params->blocks;
    HR__TRY(hr__simt_memory_check(m, params->blocks, n * sizeof *blocks,
                                  "a decoder's blocks", err));
    HR__TRY(hr__simt_memory_check(m, params->results, n * sizeof(hr_k_zstd_result),
                                  "a decoder's results", err));
    HR__TRY(hr__simt_memory_check(m, params->with_literals,
                                  params->nwith_literals * sizeof(uint32_t),
                                  "a decoder's list of literals", err));
    HR__TRY(hr__simt_memory_check(m, params->with_sequences,
                                  params->nwith_sequences * sizeof(uint32_t),
                                  "a decoder's list of sequences", err));
    HR__TRY(hr__simt_memory_check(m, params->with_checksums,
                                  params->nwith_checksums * sizeof(uint32_t),
                                  "a decoder's list of checksums", err));
    for (uint32_t i = 0; i < n; i++) {
        const hr_k_zstd_block *b = &blocks[i];
        bool is_made = b->kind == HR_K_ZSTD_CODED && b->literals_kind != HR_K_ZSTD_RAW;
        HR__TRY(hr__simt_memory_check(m, b->made_literals, is_made ? b->nliterals : 0,
                                      "a decoder's literals", err));
        HR__TRY(hr__simt_memory_check(m, b->made_words, b->nsequences * sizeof(uint32_t),
                                      "a decoder's sequences", err));
        HR__TRY(hr__simt_memory_check(m, b->made_longs, b->most_longs * sizeof(uint64_t),
                                      "a decoder's long sequences", err));
    }
    return HR_OK;
}

static hr_status check_filter(const hr__simt_memory *m, hr__kernel kernel,
                              const hr_k_filter_task *t, hr_error *err) {
    HR__TRY(
        hr__simt_memory_check(m, t->dst, t->nitems * t->nbytes, "a filter's write", err));
    if (t->dst % 16 != 0) {
        return hr__fail(err, HR_ERR_DEVICE,
                        "a filter's items lie at %#" PRIx64 ", expected a multiple of 16",
                        t->dst);
    }
    if (kernel == HR__KERNEL_SUM) {
        bool is_right = t->kind != HR_K_FILTER_ROWS ||
                        (t->row > 0 && t->stride > 0 && t->nitems % t->row == 0);
        return is_right ? HR_OK
                        : hr__fail(err, HR_ERR_DEVICE,
                                   "rows of %" PRIu64 " items, of %" PRIu64 " in all",
                                   t->row, t->nitems);
    }
    if (t->kind != HR_K_FILTER_BITS && (t->width == 0 || t->src % (t->width / 8) != 0)) {
        return hr__fail(err, HR_ERR_DEVICE,
                        "a filter reads items of %" PRIu32 " bits at %#" PRIx64, t->width,
                        t->src);
    }
    return hr__simt_memory_check(m, t->src, hr__kfilter_src_nbytes(t), "a filter's read",
                                 err);
}

hr_status hr__simt_memory_check_filter(const hr__simt_memory *m, hr__kernel kernel,
                                       const hr_k_filter *params, hr_error *err) {
    const hr_k_filter_task *tasks = (const hr_k_filter_task *)(uintptr_t)params->tasks;
    HR__TRY(hr__simt_memory_check(m, params->tasks, params->ntasks * sizeof *tasks,
                                  "a filter's tasks", err));
    for (uint32_t i = 0; i < params->ntasks; i++) {
        HR__TRY(check_filter(m, kernel, &tasks[i], err));
    }
    return HR_OK;
}
