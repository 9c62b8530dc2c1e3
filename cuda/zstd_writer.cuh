/* Zstandard's sequences: from what states stood for to lengths and offsets.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_ZSTD_WRITER_CUH
#define HR_CUDA_ZSTD_WRITER_CUH

#include "zstd_chain.cuh"
#include "zstd_made.cuh"

/* The last three offsets. */
struct zstd_offsets {
    uint32_t last[3];

    /* value: as coded; above 3 an offset. */
    __device__ __forceinline__ uint32_t next(uint32_t value, bool no_literals) {
        const uint32_t which = value - 1 + (no_literals ? 1 : 0);
        const bool is_new = value > 3;
        uint32_t offset = which == 1 ? last[1] : which == 2 ? last[2] : last[0];
        offset -= which == 3 ? 1 : 0;
        offset = is_new ? min(value - 3, ZSTD_FAR) : offset;
        last[2] = is_new || which >= 2 ? last[1] : last[2];
        last[1] = is_new || which >= 1 ? last[0] : last[1];
        last[0] = offset;
        return offset;
    }
};

static __device__ __forceinline__ zstd_tally zstd_begin_tally(const hr_k_zstd_block *b) {
    return {{zstd_earlier(0), zstd_earlier(1), zstd_earlier(2)}, 0, b->nliterals, 0, 0};
}

/* Turns records of blocks into sequences: four lanes for each, a quarter of a group each.
 * Two warps have the groups in turn, first to decode, then to finish them. */
struct zstd_writer {
    static constexpr uint32_t PARTS = 32 / HR_K_ZSTD_CHAINS, SHARE = ZSTD_GROUP / PARTS;

    uint32_t part, chain;
    /* Of the chain's block, looked up before, as a look takes long: */
    const hr_k_zstd_block *block;
    zstd_layout layout;
    uint64_t words; /* address */
    uint32_t nliterals, max_nbytes;
    /* Of the lane's share of a group: */
    zstd_offsets mine;
    uint32_t offsets[SHARE], lengths[SHARE][2], sums[2];

    __device__ __forceinline__ zstd_writer(uint32_t lane, const hr_k_zstd_block *b)
        : part(lane / HR_K_ZSTD_CHAINS), chain(lane % HR_K_ZSTD_CHAINS), block(b),
          layout(b), words(b->made_words), nliterals(b->nliterals),
          max_nbytes(b->max_nbytes) {}

    /* n records. The place behind the block's last one goes to chains.ends. No branches:
     * what one record waits for overlaps with what others do. */
    __device__ __forceinline__ void decode(zstd_chains &chains, uint32_t buffer,
                                           uint32_t n, bool is_last) {
        const uint32_t first = part * SHARE;
        uint32_t values[SHARE], end = 0;
        HR_UNROLL
        for (uint32_t i = 0; i < SHARE; i++) {
            const zstd_record r = chains.records[buffer][first + i][chain];
            const uint32_t literal = chains.lengths[0][zstd_said_literal(r.sum)];
            const uint32_t match = chains.lengths[1][zstd_said_match(r.sum)];
            const uint32_t all = zstd_said_nextra(r.sum);
            const uint32_t nextra = all - (literal >> 20), width = nextra - (match >> 20);
            const uint32_t near = __funnelshift_l(r.bits[1], r.bits[0], nextra);
            const uint32_t far = __funnelshift_l(0, r.bits[1], nextra);
            const uint32_t rest = nextra < 32 ? near : far;
            values[i] =
                __funnelshift_l(0, 1, width) + __funnelshift_l(r.bits[0], 0, width);
            lengths[i][0] = (literal & 0xFFFFF) + __funnelshift_l(rest, 0, literal >> 20);
            lengths[i][1] = (match & 0xFFFFF) +
                            __funnelshift_l(__funnelshift_l(r.bits[1], r.bits[0], width),
                                            0, match >> 20);
            end = first + i + 1 == n ? r.past + all : end;
        }
        if (is_last && n - 1 - first < SHARE) {
            chains.ends[chain] = -(int32_t)end;
        }
        add_up(values, n - min(first, n));
    }

    static_assert(SHARE == 4, "stored at once");

    /* All lanes: what was decoded, to its place behind `done` others. */
    __device__ __forceinline__ void finish(zstd_tally &tally, uint32_t n, uint32_t done) {
        uint32_t last[3] = {tally.last[0], tally.last[1], tally.last[2]};
        uint32_t before[3];
        compose(last, before);
        __syncwarp();
        add(tally);
        if (part == 0) {
            HR_UNROLL
            for (uint32_t k = 0; k < 3; k++) {
                tally.last[k] = last[k];
            }
        }
        const uint32_t first = part * SHARE;
        if (first < n) {
            store(tally, done + first, min(n - first, SHARE), before);
        }
    }

  private:
    /* The first n of the share: their offsets, and the sums of their lengths. */
    __device__ __forceinline__ void add_up(const uint32_t (&values)[SHARE], uint32_t n) {
        mine = {{zstd_earlier(0), zstd_earlier(1), zstd_earlier(2)}};
        sums[0] = sums[1] = 0;
        HR_UNROLL
        for (uint32_t i = 0; i < SHARE; i++) {
            zstd_offsets then = mine;
            offsets[i] = then.next(values[i], lengths[i][0] == 0);
            HR_UNROLL
            for (uint32_t k = 0; k < 3; k++) {
                mine.last[k] = i < n ? then.last[k] : mine.last[k];
            }
            sums[0] += i < n ? lengths[i][0] : 0;
            sums[1] += i < n ? lengths[i][1] : 0;
        }
    }
    __device__ __forceinline__ void add(zstd_tally &tally) {
        HR_UNROLL
        for (uint32_t d = HR_K_ZSTD_CHAINS; d < 32; d <<= 1) {
            sums[0] += __shfl_xor_sync(0xFFFFFFFF, sums[0], d);
            sums[1] += __shfl_xor_sync(0xFFFFFFFF, sums[1], d);
        }
        if (part == 0) {
            tally.nliterals += sums[0];
            tally.nbytes += sums[1];
            tally.code = tally.code != 0               ? tally.code
                         : tally.nliterals > nliterals ? HR_K_BAD_CODE
                         : tally.nbytes > max_nbytes   ? HR_K_TOO_LONG
                                                       : 0;
        }
    }
    /* The offsets before each lane's share, from what all the shares do to them; and the
     * last ones behind all. */
    __device__ __forceinline__ void compose(uint32_t (&last)[3],
                                            uint32_t (&before)[3]) const {
        HR_UNROLL
        for (uint32_t p = 0; p < PARTS; p++) {
            uint32_t next[3];
            HR_UNROLL
            for (uint32_t k = 0; k < 3; k++) {
                before[k] = p == 0 || part == p ? last[k] : before[k];
                next[k] = zstd_offset(
                    __shfl_sync(0xFFFFFFFF, mine.last[k], p * HR_K_ZSTD_CHAINS + chain),
                    last);
            }
            HR_UNROLL
            for (uint32_t k = 0; k < 3; k++) {
                last[k] = next[k];
            }
        }
    }
    /* The lane's share, or as many as are left, as the block's sequences from `at` on. */
    __device__ __forceinline__ void store(zstd_tally &tally, uint32_t at, uint32_t n,
                                          const uint32_t (&before)[3]) {
        uint32_t *to = hr_global<uint32_t>(words) + at;
        bool are_usual = n == SHARE;
        HR_UNROLL
        for (uint32_t i = 0; i < SHARE; i++) {
            offsets[i] = zstd_offset(offsets[i], before);
            are_usual &= layout.is_usual(sequence(i));
        }
        if (are_usual) {
            *(hr_u128 *)to = {{layout.pack(sequence(0)), layout.pack(sequence(1)),
                               layout.pack(sequence(2)), layout.pack(sequence(3))}};
            return;
        }
        HR_UNROLL
        for (uint32_t i = 0; i < SHARE; i++) {
            if (i < n) {
                to[i] = layout.is_long(sequence(i))
                            ? layout.pack_place(store_long(tally, sequence(i)))
                            : layout.pack({lengths[i][0], lengths[i][1],
                                           layout.code_of(offsets[i])});
            }
        }
    }
    __device__ __forceinline__ zstd_sequence sequence(uint32_t i) const {
        return {lengths[i][0], lengths[i][1], offsets[i]};
    }
    /* Its place. There is no room for it only if the block makes more than it may. */
    __device__ __forceinline__ uint32_t store_long(zstd_tally &tally,
                                                   const zstd_sequence &q) const {
        const uint32_t place = atomicAdd(&tally.nlongs, 1);
        if (place >= block->most_longs) {
            return 0;
        }
        hr_global<uint64_t>(block->made_longs)[place] = zstd_pack_long(q);
        return place;
    }
};

#endif
