/* Zstandard's sequences: following the chains of states.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A block of two warps takes HR_K_ZSTD_CHAINS zstd blocks. A lane makes each of their
 * tables; then a lane of the first warp follows each block's chain, which is all that has
 * to be done one after the other: how long that takes is how long the kernel takes. What
 * the states stood for goes to the second warp, which turns it into sequences and brings
 * the bits to come into shared memory. Offsets that repeat one from before the block are
 * written down as such, and settled by hr_k_zstd_offsets_kernel. */
#ifndef HR_CUDA_ZSTD_CHAINS_CUH
#define HR_CUDA_ZSTD_CHAINS_CUH

#include "zstd_feed.cuh"
#include "zstd_sequences.cuh"

/* Tables of literal lengths, offsets and match lengths of a block. The gaps keep lanes
 * that make tables apart in the banks. */
#define ZSTD_TABLE_OFFSETS 520
#define ZSTD_TABLE_MATCHES 784
#define ZSTD_TABLES_STRIDE 1297

/* Bits of a block that are at hand: units of 16 bytes, which take turns. */
#define ZSTD_RING_NUNITS 32
#define ZSTD_RING_NBYTES (ZSTD_RING_NUNITS * 16)

/* Sequences between two barriers. They take 60 + 26 bits at most: not half of the ring.
 */
#define ZSTD_GROUP 16

/* The 64 bits from where a sequence begins, its symbols, and where that is. */
struct alignas(16) zstd_record {
    uint32_t bits[2], symbols;
    int32_t position;
};

struct alignas(16) zstd_chains {
    uint8_t rings[HR_K_ZSTD_CHAINS][ZSTD_RING_NBYTES];
    union {
        zstd_record records[2][ZSTD_GROUP][HR_K_ZSTD_CHAINS];
        uint16_t counts[3 * HR_K_ZSTD_CHAINS][66]; /* apart in the banks, too */
    };
    uint32_t lengths[2][64]; /* of literals, of matches */
    int32_t positions[2][HR_K_ZSTD_CHAINS];
    int32_t ends[HR_K_ZSTD_CHAINS];     /* places behind the last sequences */
    uint32_t logs[3][HR_K_ZSTD_CHAINS]; /* ZSTD_NO_TABLE: it is wrong */
    uint32_t tables[HR_K_ZSTD_CHAINS * ZSTD_TABLES_STRIDE];
};

/* A chain. */
struct zstd_chain {
    const uint8_t *shared;
    uint32_t ring; /* in shared memory */
    const uint32_t *tables;
    int32_t position;
    uint32_t words[4];               /* from the one with the next bit on, downwards */
    uint32_t literal, offset, match; /* entries */

    __device__ __forceinline__ void load() {
        const uint32_t at = (uint32_t)(position - 1) >> 3;
        HR_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            words[i] = *(const uint32_t *)(shared + (ring | ((at - 4 * i) &
                                                             (ZSTD_RING_NBYTES - 4))));
        }
    }
    /* The next n bits, n < 32. */
    __device__ __forceinline__ uint32_t take(uint32_t n) {
        load();
        const uint32_t bits =
            __funnelshift_l(words[1], words[0], 0U - (uint32_t)position);
        position -= (int32_t)n;
        return __funnelshift_l(bits, 0, n);
    }
    __device__ __forceinline__ void begin(const uint32_t (&logs)[3]) {
        literal = tables[take(logs[0])];
        offset = tables[ZSTD_TABLE_OFFSETS + take(logs[1])];
        match = tables[ZSTD_TABLE_MATCHES + take(logs[2])];
        load();
    }
    /* Funnel shifts look at the low five bits of how far, where entries have theirs. */
    __device__ __forceinline__ void step(zstd_record &record) {
        const uint32_t shift = 0U - (uint32_t)position;
        const uint32_t x0 = __funnelshift_l(words[1], words[0], shift);
        const uint32_t x1 = __funnelshift_l(words[2], words[1], shift);
        const uint32_t x2 = __funnelshift_l(words[3], words[2], shift);
        const uint32_t sum = literal + offset + match, nextra = sum >> 5;
        const uint32_t near = __funnelshift_l(x1, x0, nextra);
        const uint32_t far = __funnelshift_l(x2, x1, nextra);
        const uint32_t bits = (sum & (32U << 5)) != 0 ? far : near;
        const uint32_t l = __funnelshift_l(bits, 0, literal);
        const uint32_t m = __funnelshift_l(__funnelshift_l(0, bits, literal), 0, match);
        const uint32_t o =
            __funnelshift_l(__funnelshift_l(0, bits, literal + match), 0, offset);
        record = {{x0, x1},
                  __byte_perm(__byte_perm(literal, match, 0x0062), offset, 0x0610),
                  position};
        position -= (int32_t)((nextra & 127) + (sum & 31));
        const uint32_t *literals = tables + zstd_base(literal);
        const uint32_t *matches = tables + ZSTD_TABLE_MATCHES + zstd_base(match);
        const uint32_t *offsets = tables + ZSTD_TABLE_OFFSETS + zstd_base(offset);
        literal = literals[l];
        match = matches[m];
        offset = offsets[o];
        load();
    }
};

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

/* Turns records of a block into sequences: four lanes, each a quarter of a group. */
struct zstd_writer {
    static constexpr uint32_t PARTS = 32 / HR_K_ZSTD_CHAINS, SHARE = ZSTD_GROUP / PARTS;

    uint32_t part;
    uint32_t last[3]; /* offsets, behind the groups so far */
    uint32_t nliterals, nbytes, code;

    __device__ __forceinline__ zstd_writer(const hr_k_zstd_block *b, uint32_t lane)
        : part(lane / HR_K_ZSTD_CHAINS), last{zstd_earlier(0), zstd_earlier(1),
                                              zstd_earlier(2)},
          nliterals(0), nbytes(b->nliterals), code(0) {}

    /* n records of a group; all lanes. The place behind the block's last one goes to
     * *ends. */
    __device__ __forceinline__ void put(const zstd_chains &chains, uint32_t buffer,
                                        uint32_t chain, uint32_t n, bool is_last,
                                        const hr_k_zstd_block *b, uint64_t to,
                                        int32_t *ends) {
        const uint32_t first = part * SHARE;
        zstd_offsets mine = {{zstd_earlier(0), zstd_earlier(1), zstd_earlier(2)}};
        uint32_t offsets[SHARE], lengths[SHARE][2], sums[2] = {0, 0};
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
                *ends = r.position - (int32_t)(nextra + (literal >> 20));
            }
        }
        add(sums, b);
        uint32_t before[3] = {last[0], last[1], last[2]};
        compose(mine, chain, before);
        HR_UNROLL
        for (uint32_t i = 0; i < SHARE; i += 2) {
            store(to + (uint64_t)(first + i) * 8, n - min(first + i, n), before,
                  &offsets[i], &lengths[i]);
        }
    }

  private:
    __device__ __forceinline__ void add(uint32_t (&sums)[2], const hr_k_zstd_block *b) {
        HR_UNROLL
        for (uint32_t d = HR_K_ZSTD_CHAINS; d < 32; d <<= 1) {
            sums[0] += __shfl_xor_sync(0xFFFFFFFF, sums[0], d);
            sums[1] += __shfl_xor_sync(0xFFFFFFFF, sums[1], d);
        }
        nliterals += sums[0];
        nbytes += sums[1];
        code = code != 0                  ? code
               : nliterals > b->nliterals ? HR_K_BAD_CODE
               : nbytes > b->max_nbytes   ? HR_K_TOO_LONG
                                          : 0;
    }
    /* The offsets before each lane's share, from what all the shares do to them. */
    __device__ __forceinline__ void compose(const zstd_offsets &mine, uint32_t chain,
                                            uint32_t (&before)[3]) {
        HR_UNROLL
        for (uint32_t p = 0; p < PARTS; p++) {
            uint32_t next[3];
            HR_UNROLL
            for (uint32_t k = 0; k < 3; k++) {
                before[k] = part == p ? last[k] : before[k];
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

/* What the lanes of both warps know of a block. */
struct zstd_block_lane {
    const hr_k_zstd_block *block;
    hr_k_zstd_result *result;
    uint64_t src;
    uint32_t src_nbytes;
    bool is_on;
};

static __device__ __forceinline__ void zstd_build_tables(zstd_chains &chains,
                                                         const zstd_block_lane &b,
                                                         uint32_t mine, uint32_t code) {
    const uint32_t at = mine * ZSTD_TABLES_STRIDE + (code == 0   ? 0
                                                     : code == 1 ? ZSTD_TABLE_OFFSETS
                                                                 : ZSTD_TABLE_MATCHES);
    chains.logs[code][mine] =
        zstd_build(chains.tables + at, chains.counts[code * HR_K_ZSTD_CHAINS + mine],
                   code, b.block, b.src, b.src_nbytes);
}

/* Both warps, from different places. */
static __device__ __forceinline__ void zstd_meet() {
    __syncthreads();
}

/* The first warp, once rings hold the first bits. */
static __device__ __forceinline__ void zstd_follow(zstd_chains &chains, uint32_t lane,
                                                   const zstd_place &place, uint32_t n,
                                                   uint32_t ngroups) {
    zstd_chain chain = {(const uint8_t *)&chains,
                        lane * ZSTD_RING_NBYTES,
                        chains.tables + lane * ZSTD_TABLES_STRIDE,
                        place.end,
                        {},
                        0,
                        0,
                        0};
    if (n > 0) {
        const uint32_t logs[3] = {chains.logs[0][lane], chains.logs[1][lane],
                                  chains.logs[2][lane]};
        chain.begin(logs);
    }
    HR_NO_UNROLL
    for (uint32_t g = 0; g <= ngroups; g++) {
        if (g * ZSTD_GROUP < n) {
            zstd_record *records = &chains.records[g & 1][0][lane];
            HR_NO_UNROLL
            for (uint32_t i = 0; i < ZSTD_GROUP; i += 8) {
                HR_UNROLL
                for (uint32_t k = 0; k < 8; k++) {
                    chain.step(records[(i + k) * HR_K_ZSTD_CHAINS]);
                }
            }
            chains.positions[g & 1][lane] = chain.position;
        }
        zstd_meet();
    }
}

/* The second warp: four lanes for each chain. */
static __device__ __forceinline__ void
zstd_write(zstd_chains &chains, uint32_t lane, const zstd_block_lane &b,
           const zstd_place &place, zstd_feed<ZSTD_RING_NUNITS, zstd_writer::PARTS> &feed,
           uint32_t n, uint32_t ngroups) {
    const uint32_t chain = lane % HR_K_ZSTD_CHAINS;
    zstd_writer writer(b.block, lane);
    HR_NO_UNROLL
    for (uint32_t g = 0; g <= ngroups; g++) {
        if (g > 0) {
            const uint32_t done = (g - 1) * ZSTD_GROUP;
            const uint32_t left = n - min(done, n);
            if (left > 0) {
                feed.bring(place, chains.rings[chain],
                           (chains.positions[(g - 1) & 1][chain] - 1) >> 7);
            }
            __syncwarp();
            writer.put(chains, (g - 1) & 1, chain, min(left, ZSTD_GROUP),
                       left <= ZSTD_GROUP, b.block,
                       b.block->made_sequences + (uint64_t)done * 8, &chains.ends[chain]);
        }
        hr_copies_wait();
        zstd_meet();
    }
    if (b.is_on && writer.part == 0) {
        const bool is_good = n > 0 && chains.ends[chain] == place.begin;
        b.result->sequences_code = writer.code != 0 ? writer.code
                                   : is_good        ? 0
                                                    : HR_K_BAD_CODE;
        b.result->nbytes = writer.nbytes;
        HR_UNROLL
        for (uint32_t k = 0; k < 3; k++) {
            b.result->offsets[k] = writer.last[k];
        }
    }
}

/* Clear the rings, and bring what symbols stand for. */
static __device__ __forceinline__ void zstd_prepare(zstd_chains &chains) {
    hr_u128 *rings = (hr_u128 *)chains.rings;
    for (uint32_t i = threadIdx.x; i < sizeof chains.rings / 16; i += 64) {
        rings[i] = {};
    }
    const uint32_t i = threadIdx.x;
    chains.lengths[0][i] = i < 36 ? zstd_literal_lengths[i] : 0;
    chains.lengths[1][i] = i < 53 ? zstd_match_lengths[i] : 0;
}

extern "C" __global__ void __launch_bounds__(64)
    hr_k_zstd_sequences_kernel(const __grid_constant__ hr_k_zstd p) {
    zstd_chains &chains = *(zstd_chains *)hr_shared();
    const uint32_t lane = threadIdx.x % 32, mine = lane % HR_K_ZSTD_CHAINS;
    const uint32_t *numbers = hr_global<const uint32_t>(p.with_sequences);
    HR_NO_UNROLL
    for (uint32_t first = blockIdx.x * HR_K_ZSTD_CHAINS; first < p.nwith_sequences;
         first += gridDim.x * HR_K_ZSTD_CHAINS) {
        const bool is_there = first + mine < p.nwith_sequences;
        const uint32_t number = numbers[is_there ? first + mine : first];
        const hr_k_zstd_block *block = zstd_block(p, number);
        const hr_k_task *task =
            hr_global<const hr_k_task>(p.streams.tasks) + block->stream;
        const zstd_block_lane b = {
            block, zstd_result(p, number), task->src, task->src_nbytes,
            is_there && (threadIdx.x >= 32 || lane < HR_K_ZSTD_CHAINS)};
        __syncthreads();
        zstd_prepare(chains);
        if (is_there && threadIdx.x < 3 * HR_K_ZSTD_CHAINS) {
            zstd_build_tables(chains, b, mine, threadIdx.x / HR_K_ZSTD_CHAINS);
        }
        __syncthreads();
        const zstd_place place(b.src + block->sequences, block->sequences_nbytes,
                               {b.src, b.src + b.src_nbytes});
        const bool is_good = b.is_on && place.has_end &&
                             chains.logs[0][mine] != ZSTD_NO_TABLE &&
                             chains.logs[1][mine] != ZSTD_NO_TABLE &&
                             chains.logs[2][mine] != ZSTD_NO_TABLE;
        const uint32_t n = is_good ? block->nsequences : 0;
        const uint32_t most = hr_warp_max(n);
        const uint32_t ngroups = (most + ZSTD_GROUP - 1) / ZSTD_GROUP;
        zstd_feed<ZSTD_RING_NUNITS, zstd_writer::PARTS> feed(place,
                                                             lane / HR_K_ZSTD_CHAINS);
        if (threadIdx.x >= 32 && n > 0) {
            feed.bring(place, chains.rings[mine], (place.end - 1) >> 7);
        }
        hr_copies_wait();
        __syncthreads();
        if (threadIdx.x < 32) {
            zstd_follow(chains, mine, place, n, ngroups);
        } else {
            zstd_write(chains, lane, b, place, feed, n, ngroups);
        }
    }
    hr_wait_for_last();
}

#endif
