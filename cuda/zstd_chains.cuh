/* Zstandard's sequences: following the chains of states.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A block of three warps takes up to HR_K_ZSTD_CHAINS zstd blocks. A lane makes each of
 * their tables; then a lane of the first warp follows each block's chain, which is all
 * that has to be done one after the other: how long that takes is how long the kernel
 * takes. What the states stood for goes to the other warps, which turn it into sequences
 * and bring the bits to come into shared memory. Offsets that repeat one from before the
 * block are written down as such, and settled by hr_k_zstd_offsets_kernel. */
#ifndef HR_CUDA_ZSTD_CHAINS_CUH
#define HR_CUDA_ZSTD_CHAINS_CUH

#include "zstd_writer.cuh"

/* What lanes know of a block. */
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
                   chains.lengths, code, b.block, b.src, b.src_nbytes);
}

/* In interval g group g is followed, the one before it decoded, and the one before that
 * finished. */
static __device__ __forceinline__ uint32_t zstd_nintervals(uint32_t n) {
    return (n + ZSTD_GROUP - 1) / ZSTD_GROUP + 2;
}

/* Eight sequences; once more if one of them was far, as hardly any is. */
static __device__ __forceinline__ void zstd_follow_some(zstd_chain &chain,
                                                        zstd_record *records) {
    const zstd_chain before = chain;
    bool is_wrong = false;
    HR_UNROLL
    for (uint32_t k = 0; k < 8; k++) {
        is_wrong |= chain.step<false>(records[k * HR_K_ZSTD_CHAINS]);
    }
    if (is_wrong) {
        chain = before;
        chain.load<true>();
        HR_NO_UNROLL
        for (uint32_t k = 0; k < 8; k++) {
            (void)chain.step<true>(records[k * HR_K_ZSTD_CHAINS]);
        }
    }
}

/* The first warp's part of an interval. */
static __device__ __forceinline__ void zstd_follow(zstd_chains &chains, zstd_chain &chain,
                                                   uint32_t lane, uint32_t n,
                                                   uint32_t g) {
    if (g * ZSTD_GROUP < n) {
        zstd_record *records = &chains.records[g & 1][0][lane];
        HR_NO_UNROLL
        for (uint32_t i = 0; i < ZSTD_GROUP; i += 8) {
            zstd_follow_some(chain, records + i * HR_K_ZSTD_CHAINS);
        }
        chains.firsts[g & 1][lane] = chain.first();
    }
}

typedef zstd_feed<ZSTD_RING_NUNITS, zstd_writer::PARTS> zstd_ring_feed;

/* In turn, warps that write bring bits, too. */
static __device__ __forceinline__ bool zstd_is_decoding(uint32_t warp, uint32_t g) {
    return (g + warp) % 2 == 0;
}

static __device__ __forceinline__ void zstd_bring(zstd_chains &chains,
                                                  const zstd_place &place,
                                                  zstd_ring_feed &feed, uint32_t chain,
                                                  uint32_t n, uint32_t g, bool is_ours) {
    if (g == 0 || (g - 1) * ZSTD_GROUP >= n) {
        return;
    }
    const int32_t current = chains.firsts[(g - 1) & 1][chain] >> 7;
    if (is_ours) {
        feed.bring(place, chains.rings[chain] + 16, current);
    } else {
        feed.pass(current);
    }
}

/* The other warps' part: four lanes for each chain, warps by turns. */
static __device__ __forceinline__ void zstd_write(zstd_chains &chains,
                                                  zstd_writer &writer, uint32_t warp,
                                                  uint32_t n, uint32_t g) {
    if (zstd_is_decoding(warp, g)) {
        const uint32_t left = g > 0 ? n - min((g - 1) * ZSTD_GROUP, n) : 0;
        writer.decode(chains, (g - 1) & 1, min(left, ZSTD_GROUP), left <= ZSTD_GROUP);
    } else if (g >= 2) {
        const uint32_t done = (g - 2) * ZSTD_GROUP;
        writer.finish(chains.tallies[writer.chain], min(n - min(done, n), ZSTD_GROUP),
                      done);
    }
}

/* By a lane for each chain. */
static __device__ __forceinline__ void zstd_tell(const zstd_chains &chains,
                                                 uint32_t chain, uint32_t n,
                                                 const zstd_place &place,
                                                 hr_k_zstd_result *result) {
    const zstd_tally &tally = chains.tallies[chain];
    const bool is_good = n > 0 && chains.ends[chain] == place.begin;
    result->sequences_code = tally.code != 0 ? tally.code : is_good ? 0 : HR_K_BAD_CODE;
    result->nbytes = tally.nbytes;
    HR_UNROLL
    for (uint32_t k = 0; k < 3; k++) {
        result->offsets[k] = tally.last[k];
    }
}

/* Clear the rings, and bring what symbols stand for. */
static __device__ __forceinline__ void zstd_prepare(zstd_chains &chains) {
    hr_u128 *rings = (hr_u128 *)chains.rings;
    for (uint32_t i = threadIdx.x; i < sizeof chains.rings / 16;
         i += HR_K_ZSTD_SEQUENCES_THREADS) {
        rings[i] = {};
    }
    const uint32_t i = threadIdx.x;
    if (i < 64) {
        chains.lengths[0][i] = i < 36 ? zstd_literal_lengths[i] : 0;
        chains.lengths[1][i] = i < 53 ? zstd_match_lengths[i] : 0;
    }
}

/* Blocks whose tables are made. */
static __device__ __forceinline__ void zstd_run_chains(zstd_chains &chains,
                                                       const zstd_block_lane &b,
                                                       uint32_t warp, uint32_t lane) {
    const uint32_t mine = lane % HR_K_ZSTD_CHAINS;
    const zstd_place place(b.src + b.block->sequences, b.block->sequences_nbytes,
                           {b.src, b.src + b.src_nbytes});
    const uint32_t logs[3] = {chains.logs[0][mine], chains.logs[1][mine],
                              chains.logs[2][mine]};
    const bool is_good = b.is_on && place.has_end && logs[0] != ZSTD_NO_TABLE &&
                         logs[1] != ZSTD_NO_TABLE && logs[2] != ZSTD_NO_TABLE;
    const uint32_t n = is_good ? b.block->nsequences : 0;
    const uint32_t nintervals = zstd_nintervals(hr_warp_max(n));
    zstd_ring_feed feed(place, lane / HR_K_ZSTD_CHAINS);
    if (warp == 1 && n > 0) {
        feed.bring(place, chains.rings[mine] + 16, (place.end - 1) >> 7);
    } else {
        feed.pass((place.end - 1) >> 7);
    }
    hr_copies_wait();
    __syncthreads();
    zstd_chain chain(chains, mine, place);
    zstd_writer writer(lane, b.block);
    if (warp == 0 && n > 0) {
        chain.begin(logs);
    }
    HR_NO_UNROLL
    for (uint32_t g = 0; g < nintervals; g++) {
        if (warp == 0) {
            zstd_follow(chains, chain, mine, n, g);
        } else {
            zstd_bring(chains, place, feed, mine, n, g, !zstd_is_decoding(warp, g));
            __syncwarp();
            zstd_write(chains, writer, warp, n, g);
        }
        hr_copies_commit();
        hr_copies_wait_but<1>();
        __syncwarp();
        __syncthreads();
    }
    if (b.is_on && warp == 1 && lane < HR_K_ZSTD_CHAINS) {
        zstd_tell(chains, mine, n, place, b.result);
    }
}

extern "C" __global__ void __launch_bounds__(HR_K_ZSTD_SEQUENCES_THREADS)
    hr_k_zstd_sequences_kernel(const __grid_constant__ hr_k_zstd p) {
    zstd_chains &chains = *(zstd_chains *)hr_shared();
    hr_let_next_begin(); /* literals do not need sequences */
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t mine = lane % HR_K_ZSTD_CHAINS;
    const uint32_t *numbers = hr_global<const uint32_t>(p.with_sequences);
    HR_NO_UNROLL
    for (uint32_t first = blockIdx.x * p.nchains; first < p.nwith_sequences;
         first += gridDim.x * p.nchains) {
        const bool is_there = mine < p.nchains && first + mine < p.nwith_sequences;
        const bool is_first = lane < HR_K_ZSTD_CHAINS; /* of those for a block */
        const uint32_t number = numbers[is_there ? first + mine : first];
        const hr_k_zstd_block *block = zstd_block(p, number);
        const hr_k_task *task =
            hr_global<const hr_k_task>(p.streams.tasks) + block->stream;
        const zstd_block_lane b = {block, zstd_result(p, number), task->src,
                                   task->src_nbytes, is_there && (warp > 0 || is_first)};
        __syncthreads();
        zstd_prepare(chains);
        if (warp == 1 && is_first) {
            chains.tallies[mine] = zstd_begin_tally(block);
        }
        __syncthreads();
        if (is_there && is_first) {
            zstd_build_tables(chains, b, mine, warp);
        }
        __syncthreads();
        zstd_run_chains(chains, b, warp, lane);
    }
}

#endif
