/* Zstandard's sequences as they lie between decoding and execution.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Mostly a word: offset, match, literals, from the lowest bit on, in bits that the host
 * chose by how far offsets reach. Offsets that repeat one from before the block count
 * down from the highest that there can be. What does not fit is long, and stands in 64
 * bits: its word says where, with all bits for literals set. */
#ifndef HR_CUDA_ZSTD_MADE_CUH
#define HR_CUDA_ZSTD_MADE_CUH

#include "zstd_code.cuh"

struct zstd_sequence {
    uint32_t nliterals, nmatch, offset;
};

#define ZSTD_LONG_OFFSET_BITS 28
#define ZSTD_LONG_MATCH_BITS 18

static __device__ __forceinline__ uint64_t zstd_pack_long(const zstd_sequence &q) {
    return (q.offset & ((1U << ZSTD_LONG_OFFSET_BITS) - 1)) |
           (uint64_t)q.nmatch << ZSTD_LONG_OFFSET_BITS |
           (uint64_t)q.nliterals << (ZSTD_LONG_OFFSET_BITS + ZSTD_LONG_MATCH_BITS);
}
static __device__ __forceinline__ zstd_sequence zstd_unpack_long(uint64_t all) {
    return {(uint32_t)(all >> (ZSTD_LONG_OFFSET_BITS + ZSTD_LONG_MATCH_BITS)),
            (uint32_t)(all >> ZSTD_LONG_OFFSET_BITS) & ((1U << ZSTD_LONG_MATCH_BITS) - 1),
            (uint32_t)all & ((1U << ZSTD_LONG_OFFSET_BITS) - 1)};
}

/* How a block's words are to be read. */
struct zstd_layout {
    uint32_t offset_bits, match_bits, farthest;

    __device__ __forceinline__ zstd_layout(const hr_k_zstd_block *b)
        : offset_bits(b->offset_bits), match_bits(b->match_bits), farthest(b->farthest) {}
    __device__ __forceinline__ uint32_t most_literals() const {
        return 0xFFFFFFFF >> offset_bits >> match_bits;
    }
    __device__ __forceinline__ uint32_t most_match() const {
        return (1U << match_bits) - 1;
    }
    __device__ __forceinline__ uint32_t most_offset() const {
        return (1U << offset_bits) - 1;
    }
    __device__ __forceinline__ bool is_long(const zstd_sequence &q) const {
        return q.nliterals >= most_literals() || q.nmatch > most_match();
    }
    /* Its offset is its code, and it is not long. */
    __device__ __forceinline__ bool is_usual(const zstd_sequence &q) const {
        return q.offset <= farthest && !is_long(q);
    }
    /* Of an offset from before the block, or one that is too far, too. */
    __device__ __forceinline__ uint32_t code_of(uint32_t offset) const {
        const uint32_t which = offset >> 25 & 3;
        const uint32_t less = ZSTD_NO_LESS - (offset & (2 * ZSTD_NO_LESS - 1));
        const uint32_t down = which * HR_K_ZSTD_MOST_SEQUENCES + less;
        return offset <= farthest             ? offset
               : (offset & ZSTD_EARLIER) != 0 ? most_offset() - down
                                              : 0;
    }
    /* With the code of its offset. */
    __device__ __forceinline__ uint32_t pack(const zstd_sequence &q) const {
        return q.offset | q.nmatch << offset_bits |
               q.nliterals << (offset_bits + match_bits);
    }
    __device__ __forceinline__ uint32_t pack_place(uint32_t place) const {
        return place | most_literals() << (offset_bits + match_bits);
    }
};

/* The sequences of a block. */
struct zstd_made {
    uint64_t words, longs; /* addresses */
    zstd_layout layout;
    uint32_t earlier[3];

    __device__ __forceinline__ zstd_made(const hr_k_zstd_block *b,
                                         const hr_k_zstd_result *r)
        : words(b->made_words), longs(b->made_longs),
          layout(b), earlier{r->offsets[0], r->offsets[1], r->offsets[2]} {}

    /* An offset of 0 is wrong. */
    __device__ __forceinline__ zstd_sequence load(uint32_t i) const {
        const uint32_t word = hr_global<const uint32_t>(words)[i];
        const uint32_t lengths = word >> layout.offset_bits;
        zstd_sequence q = {lengths >> layout.match_bits, lengths & layout.most_match(),
                           word & layout.most_offset()};
        if (q.nliterals == layout.most_literals()) {
            q = zstd_unpack_long(hr_global<const uint64_t>(longs)[q.offset]);
            q.offset = zstd_offset(q.offset, earlier);
        } else if (q.offset > layout.farthest) {
            const uint32_t down = layout.most_offset() - q.offset;
            const uint32_t which = down / HR_K_ZSTD_MOST_SEQUENCES;
            q.offset = zstd_offset(zstd_earlier(which), earlier) -
                       (down - which * HR_K_ZSTD_MOST_SEQUENCES);
        }
        return q;
    }
};

#endif
