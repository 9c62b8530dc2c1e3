/* Zstandard's bits, brought into shared memory ahead of their use.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_ZSTD_FEED_CUH
#define HR_CUDA_ZSTD_FEED_CUH

#include "zstd_code.cuh"

/* Where bits lie that are read from their end: places count bits from `base` on, and the
 * next bit is the one below. */
struct zstd_place {
    uint64_t base;  /* 16 bytes aligned */
    lz_range range; /* what may be read */
    int32_t begin, end;
    int32_t first_whole; /* of the units of 16 bytes from `base` on, those in the range */
    uint32_t nwhole;
    bool has_end;

    __device__ __forceinline__ zstd_place(uint64_t first, uint32_t nbytes,
                                          const lz_range &around)
        : range(around) {
        const uint32_t last = lz_load_u8(first + nbytes - 1);
        base = first & ~UINT64_C(15);
        begin = (int32_t)(first - base) * 8;
        end = begin + (int32_t)(nbytes - 1) * 8 + (int32_t)zstd_log2(last | 1);
        first_whole = base < range.begin ? 1 : 0;
        nwhole = (uint32_t)((range.end - base) / 16) - (uint32_t)first_whole;
        has_end = last != 0;
    }
};

/* Brings units of 16 bytes, downwards, to where they have their turns in a ring; each of
 * NLANES lanes those that are its own. Before the ring is a copy of its last unit: who
 * reads downwards from a place in it need not look for its end. */
template <uint32_t NUNITS, uint32_t NLANES> struct zstd_feed {
    int32_t next;

    __device__ __forceinline__ zstd_feed(const zstd_place &place, uint32_t lane)
        : next((place.end - 1) >> 7) {
        next -= (int32_t)(((uint32_t)next - lane) % NLANES);
    }

    /* All that the ring takes when units above `current` are done with; or nothing, as
     * others do. */
    __device__ __forceinline__ void pass(int32_t current) {
        const int32_t most = next - last_of(current) + (int32_t)NLANES - 1;
        next -= most > 0 ? (int32_t)((uint32_t)most / NLANES * NLANES) : 0;
    }
    __device__ __forceinline__ void bring(const zstd_place &place, uint8_t *ring,
                                          int32_t current) {
        const int32_t last = last_of(current);
        HR_NO_UNROLL
        for (; next > last; next -= (int32_t)NLANES) {
            const uint64_t at = place.base + (uint64_t)next * 16;
            const uint32_t turn = (uint32_t)next % NUNITS;
            const bool is_last = turn == NUNITS - 1;
            if ((uint32_t)(next - place.first_whole) < place.nwhole) {
                hr_copy_ahead(ring + turn * 16, at, true);
                hr_copy_ahead(ring - 16, at, is_last);
            } else {
                bring_part(place.range, at, ring + turn * 16,
                           is_last ? ring - 16 : nullptr);
            }
        }
    }

  private:
    static __device__ __forceinline__ int32_t last_of(int32_t current) {
        const int32_t below = current - (int32_t)NUNITS;
        return below < -1 ? -1 : below;
    }
    static __device__ __forceinline__ void bring_part(const lz_range &range, uint64_t at,
                                                      uint8_t *to, uint8_t *copy) {
        HR_NO_UNROLL
        for (uint32_t i = 0; i < 16; i++) {
            const bool is_in = at + i >= range.begin && at + i < range.end;
            const uint8_t byte = is_in ? (uint8_t)lz_load_u8(at + i) : 0;
            to[i] = byte;
            if (copy != nullptr) {
                copy[i] = byte;
            }
        }
    }
};

#endif
