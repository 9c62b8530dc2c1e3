/* Running sums along rows, as TIFF's predictors want them. SPDX-License-Identifier: Apache-2.0
 *
 * A row is a warp's. An item is added to the one `stride` before it; the first ones of a
 * row stay as they are. */
#ifndef HR_CUDA_FILTERS_ROWS_CUH
#define HR_CUDA_FILTERS_ROWS_CUH

#include "filters_slot.cuh"

/* Their bytes, the last one first. */
static __device__ __forceinline__ uint8_t reversed(uint8_t item) {
    return item;
}
static __device__ __forceinline__ uint16_t reversed(uint16_t item) {
    return (uint16_t)__byte_perm(item, 0, 0x0001);
}
static __device__ __forceinline__ uint32_t reversed(uint32_t item) {
    return __byte_perm(item, 0, 0x0123);
}
static __device__ __forceinline__ uint64_t reversed(uint64_t item) {
    return (uint64_t)reversed((uint32_t)item) << 32 | reversed((uint32_t)(item >> 32));
}

template <class Item>
static __device__ __forceinline__ Item load_row_item(const Item *item, bool high_first) {
    return high_first ? reversed(*item) : *item;
}

/* What items of NBYTES are added up in; bits above an item's do not matter. */
template <uint32_t NBYTES> struct hr_row_item {
    typedef uint32_t sum;

    static __device__ __forceinline__ sum get(const hr_u128 &slot, uint32_t i) {
        return slot.word[i * NBYTES / 4] >> i * NBYTES % 4 * 8;
    }
    static __device__ __forceinline__ void put(hr_u128 *slot, uint32_t i, sum value) {
        constexpr uint32_t ONES = UINT32_C(0xFFFFFFFF) >> (32 - 8 * NBYTES);
        const uint32_t shift = i * NBYTES % 4 * 8;
        uint32_t *word = &slot->word[i * NBYTES / 4];
        *word = (*word & ~(ONES << shift)) | (value & ONES) << shift;
    }
    static __device__ __forceinline__ void reverse(hr_u128 *slot) {
        constexpr uint32_t ORDER = NBYTES == 1 ? 0x3210 : NBYTES == 2 ? 0x2301 : 0x0123;
        HR_UNROLL
        for (uint32_t w = 0; w < 4; w++) {
            slot->word[w] = __byte_perm(slot->word[w], 0, ORDER);
        }
    }
};

template <> struct hr_row_item<8> {
    typedef uint64_t sum;

    static __device__ __forceinline__ sum get(const hr_u128 &slot, uint32_t i) {
        return (sum)slot.word[2 * i + 1] << 32 | slot.word[2 * i];
    }
    static __device__ __forceinline__ void put(hr_u128 *slot, uint32_t i, sum value) {
        slot->word[2 * i] = (uint32_t)value;
        slot->word[2 * i + 1] = (uint32_t)(value >> 32);
    }
    static __device__ __forceinline__ void reverse(hr_u128 *slot) {
        put(slot, 0, reversed(get(*slot, 0)));
        put(slot, 1, reversed(get(*slot, 1)));
    }
};

/* A lane takes SLOTS slots a turn: whole pixels of STRIDE items, once to add them up and,
 * when it knows what comes before, once to write the sums. The row begins in its first
 * slot, whole pixels from that one's begin. */
template <uint32_t NBYTES, uint32_t STRIDE, uint32_t SLOTS>
static __device__ __forceinline__ void sum_row(uint64_t begin, uint64_t end,
                                               uint32_t lane, bool high_first) {
    typedef hr_row_item<NBYTES> Item;
    typedef typename Item::sum Sum;
    constexpr uint32_t ITEMS = 16 / NBYTES, TURN = 32 * 16 * SLOTS;
    static_assert(SLOTS * ITEMS % STRIDE == 0, "whole pixels");
    const uint64_t first = begin - begin % 16;
    Sum before[STRIDE] = {};
    hr_u128 next[SLOTS];
    HR_UNROLL
    for (uint32_t s = 0; s < SLOTS; s++) {
        next[s] = load_slot(first + (lane * SLOTS + s) * 16, end, begin);
    }
    HR_NO_UNROLL
    for (uint64_t turn = first; turn < end; turn += TURN) {
        const uint64_t at = turn + lane * SLOTS * 16;
        hr_u128 slot[SLOTS];
        Sum sum[STRIDE] = {};
        HR_UNROLL
        for (uint32_t s = 0; s < SLOTS; s++) {
            slot[s] = next[s];
            if (high_first) {
                Item::reverse(&slot[s]);
            }
        }
        HR_UNROLL
        for (uint32_t i = 0; i < SLOTS * ITEMS; i++) {
            sum[i % STRIDE] += Item::get(slot[i / ITEMS], i % ITEMS);
        }
        HR_UNROLL
        for (uint32_t s = 0; s < SLOTS; s++) {
            next[s] = load_slot(at + TURN + s * 16, end, begin);
        }
        HR_UNROLL
        for (uint32_t k = 0; k < STRIDE; k++) {
            sum[k] = before[k] + sum_lanes(sum[k], lane) - sum[k];
        }
        HR_UNROLL
        for (uint32_t i = 0; i < SLOTS * ITEMS; i++) {
            sum[i % STRIDE] += Item::get(slot[i / ITEMS], i % ITEMS);
            Item::put(&slot[i / ITEMS], i % ITEMS, sum[i % STRIDE]);
        }
        HR_UNROLL
        for (uint32_t s = 0; s < SLOTS; s++) {
            store_slot(at + s * 16, end, slot[s], begin);
        }
        HR_UNROLL
        for (uint32_t k = 0; k < STRIDE; k++) {
            before[k] = __shfl_sync(0xFFFFFFFF, sum[k], 31);
        }
    }
}

/* Loads of a lane that are under way at once, where it takes one item at a time. */
static constexpr uint32_t ROW_AHEAD = 4;

/* Up to 31 items to a pixel, at any place: 32 items at a time. */
template <uint32_t NBYTES, class Item>
static __device__ __forceinline__ void sum_narrow_row(Item *items, uint64_t nitems,
                                                      uint32_t stride, uint32_t lane,
                                                      bool high_first) {
    typedef typename hr_row_item<NBYTES>::sum Sum;
    const uint32_t from = 32 - stride + lane % stride; /* what the 32 before carry on */
    Sum before = 0;
    HR_NO_UNROLL
    for (uint64_t turn = 0; turn < nitems; turn += 32 * ROW_AHEAD) {
        Sum sum[ROW_AHEAD];
        HR_UNROLL
        for (uint32_t k = 0; k < ROW_AHEAD; k++) {
            const uint64_t i = turn + k * 32 + lane;
            sum[k] = i < nitems ? load_row_item(items + i, high_first) : 0;
        }
        HR_NO_UNROLL
        for (uint32_t distance = stride; distance < 32; distance *= 2) {
            HR_UNROLL
            for (uint32_t k = 0; k < ROW_AHEAD; k++) {
                const Sum other = __shfl_up_sync(0xFFFFFFFF, sum[k], distance);
                sum[k] += lane >= distance ? other : 0;
            }
        }
        HR_UNROLL
        for (uint32_t k = 0; k < ROW_AHEAD; k++) {
            const uint64_t i = turn + k * 32 + lane;
            sum[k] += __shfl_sync(0xFFFFFFFF, before, from);
            before = sum[k];
            if (i < nitems) {
                items[i] = (Item)sum[k];
            }
        }
    }
}

/* 32 and more: some of a pixel's items at a time, a lane to each, pixel by pixel. */
template <uint32_t NBYTES, class Item>
static __device__ __forceinline__ void sum_wide_row(Item *items, uint64_t nitems,
                                                    uint64_t stride, uint32_t lane,
                                                    bool high_first) {
    typedef typename hr_row_item<NBYTES>::sum Sum;
    HR_NO_UNROLL
    for (uint64_t kind = lane; kind < stride; kind += 32) {
        Sum before = 0;
        HR_NO_UNROLL
        for (uint64_t at = kind; at < nitems; at += stride * ROW_AHEAD) {
            Sum sum[ROW_AHEAD];
            HR_UNROLL
            for (uint32_t k = 0; k < ROW_AHEAD; k++) {
                const uint64_t i = at + k * stride;
                sum[k] = i < nitems ? load_row_item(items + i, high_first) : 0;
            }
            HR_UNROLL
            for (uint32_t k = 0; k < ROW_AHEAD; k++) {
                const uint64_t i = at + k * stride;
                before += sum[k];
                if (i < nitems) {
                    items[i] = (Item)before;
                }
            }
        }
    }
}

template <uint32_t NBYTES, class Item>
static __device__ __forceinline__ void sum_row_of(const hr_k_filter_task &t,
                                                  uint64_t begin, uint32_t lane) {
    const uint64_t end = begin + t.row * NBYTES;
    const bool high_first = t.high_first != 0;
    const uint32_t stride = t.stride <= 4 ? (uint32_t)t.stride : 0;
    const bool has_phase = stride != 0 && begin % 16 % (stride * NBYTES) == 0;
    if (has_phase && stride == 1) {
        sum_row<NBYTES, 1, 1>(begin, end, lane, high_first);
    } else if (has_phase && stride == 2) {
        sum_row<NBYTES, 2, 1>(begin, end, lane, high_first);
    } else if (has_phase && stride == 3) {
        sum_row<NBYTES, 3, 3>(begin, end, lane, high_first);
    } else if (has_phase && stride == 4 && NBYTES < 8) {
        sum_row < NBYTES, NBYTES<8 ? 4 : 1, 1>(begin, end, lane, high_first);
    } else if (t.stride < 32) {
        sum_narrow_row<NBYTES>(hr_global<Item>(begin), t.row, (uint32_t)t.stride, lane,
                               high_first);
    } else {
        sum_wide_row<NBYTES>(hr_global<Item>(begin), t.row, t.stride, lane, high_first);
    }
}

/* Some rows of a task. */
static __device__ __forceinline__ void sum_rows(const hr_k_filter_task &t,
                                                uint32_t tile) {
    const uint64_t nrows = t.nitems / t.row, first = (uint64_t)tile * HR_K_SUM_ROWS;
    const uint64_t end = first + HR_K_SUM_ROWS < nrows ? first + HR_K_SUM_ROWS : nrows;
    const uint32_t lane = threadIdx.x & 31;
    HR_NO_UNROLL
    for (uint64_t row = first + (threadIdx.x >> 5); row < end;
         row += HR_K_SUM_THREADS / 32) {
        const uint64_t begin = t.dst + row * t.row * t.nbytes;
        switch (t.nbytes) {
        case 1:
            sum_row_of<1, uint8_t>(t, begin, lane);
            break;
        case 2:
            sum_row_of<2, uint16_t>(t, begin, lane);
            break;
        case 4:
            sum_row_of<4, uint32_t>(t, begin, lane);
            break;
        default:
            sum_row_of<8, uint64_t>(t, begin, lane);
            break;
        }
    }
}

#endif
