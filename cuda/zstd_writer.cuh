/* Zstandard's sequences: from what states stood for to lengths and offsets.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_ZSTD_WRITER_CUH
#define HR_CUDA_ZSTD_WRITER_CUH

#include "zstd_chain.cuh"

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
    return {{zstd_earlier(0), zstd_earlier(1), zstd_earlier(2)}, 0, b->nliterals, 0};
}

/* Turns records of blocks into sequences: four lanes for each, a quarter of a group each.
 * Two warps have the groups in turn, first to decode, then to finish them. */
struct zstd_writer {
    static constexpr uint32_t PARTS = 32 / HR_K_ZSTD_CHAINS, SHARE = ZSTD_GROUP / PARTS;

    uint32_t part, chain;
    /* Of the lane's share of a group: */
    zstd_offsets mine;
    uint32_t offsets[SHARE], lengths[SHARE][2], sums[2];

    __device__ __forceinline__ zstd_writer(uint32_t lane)
        : part(lane / HR_K_ZSTD_CHAINS), chain(lane % HR_K_ZSTD_CHAINS) {}

    /* n records. The place behind the block's last one goes to chains.ends. */
    __device__ __forceinline__ void decode(zstd_chains &chains, uint32_t buffer,
                                           uint32_t n, bool is_last) {
        const uint32_t first = part * SHARE;
        mine = {{zstd_earlier(0), zstd_earlier(1), zstd_earlier(2)}};
        sums[0] = sums[1] = 0;
        HR_UNROLL
        for (uint32_t i = 0; i < SHARE; i++) {
            const zstd_record r = chains.records[buffer][first + i][chain];
            const uint32_t literal = chains.lengths[0][r.symbols & 63];
            const uint32_t match = chains.lengths[1][r.symbols >> 8 & 63];
            const uint32_t width = r.symbols >> 16 & 31; /* of the offset */
            const uint32_t nextra = width + (match >> 20);
            const uint32_t value = (1U << width) + __funnelshift_l(r.bits[0], 0, width);
            const uint32_t rest = nextra < 32
                                      ? __funnelshift_l(r.bits[1], r.bits[0], nextra)
                                      : __funnelshift_l(0, r.bits[1], nextra);
            lengths[i][0] = (literal & 0xFFFFF) + __funnelshift_l(rest, 0, literal >> 20);
            lengths[i][1] = (match & 0xFFFFF) +
                            __funnelshift_l(__funnelshift_l(r.bits[1], r.bits[0], width),
                                            0, match >> 20);
            if (first + i < n) {
                offsets[i] = mine.next(value, lengths[i][0] == 0);
                sums[0] += lengths[i][0];
                sums[1] += lengths[i][1];
            }
            if (is_last && first + i + 1 == n) {
                chains.ends[chain] = r.first + 1 - (int32_t)(nextra + (literal >> 20));
            }
        }
    }

    /* All lanes: what was decoded, to its place. */
    __device__ __forceinline__ void finish(zstd_tally &tally, uint32_t n,
                                           const hr_k_zstd_block *b, uint64_t to) {
        uint32_t last[3] = {tally.last[0], tally.last[1], tally.last[2]};
        uint32_t before[3];
        compose(last, before);
        __syncwarp();
        add(tally, b);
        if (part == 0) {
            HR_UNROLL
            for (uint32_t k = 0; k < 3; k++) {
                tally.last[k] = last[k];
            }
        }
        const uint32_t first = part * SHARE;
        HR_UNROLL
        for (uint32_t i = 0; i < SHARE; i += 2) {
            store(to + (uint64_t)(first + i) * 8, n - min(first + i, n), before,
                  &offsets[i], &lengths[i]);
        }
    }

  private:
    __device__ __forceinline__ void add(zstd_tally &tally, const hr_k_zstd_block *b) {
        HR_UNROLL
        for (uint32_t d = HR_K_ZSTD_CHAINS; d < 32; d <<= 1) {
            sums[0] += __shfl_xor_sync(0xFFFFFFFF, sums[0], d);
            sums[1] += __shfl_xor_sync(0xFFFFFFFF, sums[1], d);
        }
        if (part == 0) {
            tally.nliterals += sums[0];
            tally.nbytes += sums[1];
            tally.code = tally.code != 0                  ? tally.code
                         : tally.nliterals > b->nliterals ? HR_K_BAD_CODE
                         : tally.nbytes > b->max_nbytes   ? HR_K_TOO_LONG
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
    static __device__ __forceinline__ uint64_t pack(const uint32_t (&before)[3],
                                                    uint32_t offset,
                                                    const uint32_t (&lengths)[2]) {
        return (zstd_offset(offset, before) & ((1U << ZSTD_OFFSET_BITS) - 1)) |
               (uint64_t)lengths[1] << ZSTD_OFFSET_BITS |
               (uint64_t)lengths[0] << (ZSTD_OFFSET_BITS + 18);
    }
    /* Two sequences, or as many as are left. */
    static __device__ __forceinline__ void store(uint64_t to, uint32_t nleft,
                                                 const uint32_t (&before)[3],
                                                 const uint32_t *offsets,
                                                 const uint32_t (*lengths)[2]) {
        if (nleft == 0) {
            return;
        }
        const uint64_t one = pack(before, offsets[0], lengths[0]);
        if (nleft == 1) {
            *hr_global<uint64_t>(to) = one;
            return;
        }
        const uint64_t two = pack(before, offsets[1], lengths[1]);
        *hr_global<hr_u128>(to) = {
            {(uint32_t)one, (uint32_t)(one >> 32), (uint32_t)two, (uint32_t)(two >> 32)}};
    }
};

#endif
