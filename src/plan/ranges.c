/* Byte ranges to read. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/checked.h"
#include "plan/plan.h"

static int compare_offsets(const void *x, const void *y) {
    const hr__chunk *a = *(hr__chunk *const *)x;
    const hr__chunk *b = *(hr__chunk *const *)y;
    if (a->offset != b->offset) {
        return a->offset < b->offset ? -1 : 1;
    }
    return (a->nbytes > b->nbytes) - (a->nbytes < b->nbytes);
}

static void sort_by_offset(hr__chunk **chunks, uint64_t n) {
    for (uint64_t i = 1; i < n; i++) {
        if (compare_offsets(&chunks[i - 1], &chunks[i]) > 0) {
            qsort(chunks, n, sizeof(void *), compare_offsets);
            return;
        }
    }
}

/* Does the range, grown to reach `end`, keep within the limits? */
static bool may_grow(const hr__range *range, uint64_t offset, uint64_t end,
                     uint64_t gap_nbytes, uint64_t max_nbytes) {
    if (range->nbytes == UINT64_MAX) {
        return false;
    }
    uint64_t range_end = range->offset + range->nbytes;
    if (end <= range_end) {
        return true;
    }
    return (offset <= range_end || offset - range_end <= gap_nbytes) &&
           end - range->offset <= max_nbytes;
}

hr_status hr__plan_ranges(hr__chunk **chunks, uint64_t nchunks, uint64_t gap_nbytes,
                          uint64_t max_nbytes, hr__range *ranges, uint64_t *nranges) {
    sort_by_offset(chunks, nchunks);
    uint64_t n = 0;
    hr__chunk **tail = NULL;
    for (uint64_t i = 0; i < nchunks; i++) {
        hr__chunk *c = chunks[i];
        bool is_all = c->nbytes == UINT64_MAX;
        uint64_t end = UINT64_MAX;
        if (!is_all && !hr__add_u64(c->offset, c->nbytes, &end)) {
            return HR_ERR_OVERFLOW;
        }
        hr__range *range = &ranges[n == 0 ? 0 : n - 1];
        if (n > 0 && !is_all && may_grow(range, c->offset, end, gap_nbytes, max_nbytes)) {
            if (end - range->offset > range->nbytes) {
                range->nbytes = end - range->offset;
            }
        } else {
            range = &ranges[n++];
            *range = (hr__range){.offset = c->offset, .nbytes = c->nbytes};
            tail = &range->chunks;
        }
        c->next = NULL;
        *tail = c;
        tail = &c->next;
    }
    for (uint64_t i = 0; i < n; i++) {
        ranges[i].next = i + 1 < n ? &ranges[i + 1] : NULL;
    }
    *nranges = n;
    return HR_OK;
}
