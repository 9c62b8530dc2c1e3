/* Long runs of an LZ stream, straight from memory to memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All threads of a group write 16 aligned bytes at a time; where they come from is a
 * `source`: place(k) says where the k-th byte comes from, sum adds places up, byte and
 * chunk give the byte or the 16 bytes of a place. */
#ifndef HR_CUDA_LZ_COPY_CUH
#define HR_CUDA_LZ_COPY_CUH

#include "simt.h"

/* Memory that may be read. */
struct lz_range {
    uint64_t begin, end;
};

static __device__ __forceinline__ uint32_t lz_load_u8(uint64_t at) {
    return *hr_global<const uint8_t>(at);
}

/* 16 bytes of the range, at any alignment: by whole words if those lie in it too. */
static __device__ __forceinline__ hr_u128 lz_load_u128(uint64_t at,
                                                       const lz_range &range) {
    const uint64_t words = at & ~UINT64_C(3);
    const uint32_t shift = (uint32_t)(at & 3) * 8;
    hr_u128 v = {};
    if (words >= range.begin && words + (shift != 0 ? 20 : 16) <= range.end) {
        const uint32_t *w = hr_global<const uint32_t>(words);
        const uint32_t last = shift != 0 ? w[4] : 0;
        v.word[0] = __funnelshift_r(w[0], w[1], shift);
        v.word[1] = __funnelshift_r(w[1], w[2], shift);
        v.word[2] = __funnelshift_r(w[2], w[3], shift);
        v.word[3] = __funnelshift_r(w[3], last, shift);
    } else {
        HR_UNROLL
        for (uint32_t i = 0; i < 16; i++) {
            v.word[i / 4] |= lz_load_u8(at + i) << (i % 4 * 8);
        }
    }
    return v;
}

/* 16 aligned bytes, zeros where the range is not. */
static __device__ __forceinline__ hr_u128 lz_load_aligned(uint64_t at,
                                                          const lz_range &range) {
    if (at >= range.begin && at + 16 <= range.end) {
        return *hr_global<const hr_u128>(at);
    }
    hr_u128 v = {};
    HR_UNROLL
    for (uint32_t i = 0; i < 16; i++) {
        if (at + i >= range.begin && at + i < range.end) {
            v.word[i / 4] |= lz_load_u8(at + i) << (i % 4 * 8);
        }
    }
    return v;
}

/* One byte over and over. */
struct lz_same {
    uint32_t word;

    __device__ __forceinline__ uint32_t place(uint32_t) const {
        return 0;
    }
    __device__ __forceinline__ uint32_t sum(uint32_t, uint32_t) const {
        return 0;
    }
    __device__ __forceinline__ uint32_t byte(uint32_t) const {
        return word & 255;
    }
    __device__ __forceinline__ hr_u128 chunk(uint32_t) const {
        return {{word, word, word, word}};
    }
};

/* What lies at an address. */
struct lz_straight {
    uint64_t at;
    lz_range range;

    __device__ __forceinline__ uint32_t place(uint32_t k) const {
        return k;
    }
    __device__ __forceinline__ uint32_t sum(uint32_t place, uint32_t more) const {
        return place + more;
    }
    __device__ __forceinline__ uint32_t byte(uint32_t place) const {
        return lz_load_u8(at + place);
    }
    __device__ __forceinline__ hr_u128 chunk(uint32_t place) const {
        return lz_load_u128(at + place, range);
    }
};

/* The `period` bytes at an address over and over: a match that overlaps itself reads only
 * what was there before it, so no thread waits for another. */
struct lz_periodic {
    uint64_t at;
    uint32_t period;
    lz_range range;

    __device__ __forceinline__ uint32_t place(uint32_t k) const {
        return k % period;
    }
    __device__ __forceinline__ uint32_t sum(uint32_t place, uint32_t more) const {
        const uint32_t both = place + more;
        return both >= period ? both - period : both;
    }
    __device__ __forceinline__ uint32_t byte(uint32_t place) const {
        return lz_load_u8(at + place);
    }
    __device__ __forceinline__ hr_u128 chunk(uint32_t place) const {
        if (place + 16 <= period) {
            return lz_load_u128(at + place, range);
        }
        hr_u128 v = {};
        HR_UNROLL
        for (uint32_t i = 0; i < 16; i++) {
            v.word[i / 4] |= lz_load_u8(at + place) << (i % 4 * 8);
            place = place + 1 == period ? 0 : place + 1;
        }
        return v;
    }
};

/* A period that divides 16: every chunk is the same. */
struct lz_pattern {
    lz_periodic bytes;
    hr_u128 all;

    __device__ __forceinline__ uint32_t place(uint32_t k) const {
        return bytes.place(k);
    }
    __device__ __forceinline__ uint32_t sum(uint32_t place, uint32_t) const {
        return place;
    }
    __device__ __forceinline__ uint32_t byte(uint32_t place) const {
        return bytes.byte(place);
    }
    __device__ __forceinline__ hr_u128 chunk(uint32_t) const {
        return all;
    }
};

/* Bytes of a run before its first aligned chunk. */
static __device__ __forceinline__ uint32_t lz_head(uint64_t dst, uint32_t nbytes) {
    return min((uint32_t)(0 - dst) & 15, nbytes);
}

template <class Group, class Source>
static __device__ __forceinline__ void lz_write(const Group &group, uint64_t dst,
                                                uint32_t nbytes, const Source &source) {
    const uint32_t head = lz_head(dst, nbytes);
    const uint32_t nchunks = (nbytes - head) / 16, body = head + nchunks * 16;
    if (group.rank < head) {
        const uint32_t byte = source.byte(source.place(group.rank));
        *hr_global<uint8_t>(dst + group.rank) = (uint8_t)byte;
    }
    uint32_t place = source.place(head + group.rank * 16);
    const uint32_t ahead = source.place(Group::THREADS * 16);
    HR_NO_UNROLL
    for (uint32_t i = group.rank; i < nchunks; i += Group::THREADS) {
        *hr_global<hr_u128>(dst + head + i * 16) = source.chunk(place);
        place = source.sum(place, ahead);
    }
    if (group.rank < nbytes - body) {
        const uint32_t k = body + group.rank;
        *hr_global<uint8_t>(dst + k) = (uint8_t)source.byte(source.place(k));
    }
}

/* nbytes from src, which dst may reach into from before: then all read before any write,
 * so much at a time. The group leaves in step. */
template <class Group>
static __device__ __forceinline__ void lz_move(const Group &group, uint64_t dst,
                                               uint32_t nbytes, uint64_t src) {
    if (src - dst >= nbytes) {
        lz_write(group, dst, nbytes, lz_straight{src, {src, src + nbytes}});
        group.sync();
        return;
    }
    while (src != dst && nbytes > 0) {
        const uint32_t head = lz_head(dst, nbytes), most = (nbytes - head) / 16;
        const uint32_t nchunks = min(most, Group::THREADS), body = head + nchunks * 16;
        const uint32_t end = nchunks == most ? nbytes : body;
        const uint32_t chunk = head + group.rank * 16, tail = body + group.rank;
        const lz_straight from = {src, {src, src + nbytes}};
        const uint32_t first = group.rank < head ? from.byte(group.rank) : 0;
        const hr_u128 middle = group.rank < nchunks ? from.chunk(chunk) : hr_u128{};
        const uint32_t last = tail < end ? from.byte(tail) : 0;
        group.sync();
        if (group.rank < head) {
            *hr_global<uint8_t>(dst + group.rank) = (uint8_t)first;
        }
        if (group.rank < nchunks) {
            *hr_global<hr_u128>(dst + chunk) = middle;
        }
        if (tail < end) {
            *hr_global<uint8_t>(dst + tail) = (uint8_t)last;
        }
        group.sync();
        src += end;
        dst += end;
        nbytes -= end;
    }
}

/* The same for no more than MOST bytes: one by one, all read before the first is written.
 */
template <uint32_t MOST, class Group, class Source>
static __device__ __forceinline__ void
lz_write_short(const Group &group, uint64_t dst, uint32_t nbytes, const Source &source) {
    constexpr uint32_t SHARE = (MOST + Group::THREADS - 1) / Group::THREADS;
    const uint32_t ahead = source.place(Group::THREADS);
    uint32_t byte[SHARE] = {}, place = source.place(group.rank);
    HR_UNROLL
    for (uint32_t i = 0; i < SHARE; i++) {
        if (group.rank + i * Group::THREADS < nbytes) {
            byte[i] = source.byte(place);
        }
        place = source.sum(place, ahead);
    }
    HR_UNROLL
    for (uint32_t i = 0; i < SHARE; i++) {
        const uint32_t k = group.rank + i * Group::THREADS;
        if (k < nbytes) {
            *hr_global<uint8_t>(dst + k) = (uint8_t)byte[i];
        }
    }
}

/* nbytes to dst from `offset` before it, which is not before `begin`. */
template <class Group>
static __device__ __forceinline__ void lz_write_match(const Group &group, uint64_t begin,
                                                      uint64_t dst, uint32_t offset,
                                                      uint32_t nbytes) {
    const lz_range made = {begin, dst};
    const lz_periodic periodic = {dst - offset, offset, made};
    if (offset >= nbytes) {
        const lz_straight straight = {dst - offset, made};
        lz_write(group, dst, nbytes, straight);
    } else if (offset <= 16 && 16 % offset == 0 && nbytes >= 16) {
        const uint32_t first = periodic.place(lz_head(dst, nbytes));
        const lz_pattern pattern = {periodic, periodic.chunk(first)};
        lz_write(group, dst, nbytes, pattern);
    } else {
        lz_write(group, dst, nbytes, periodic);
    }
}

#endif
