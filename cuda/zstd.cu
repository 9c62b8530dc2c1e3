/* Zstandard. SPDX-License-Identifier: Apache-2.0
 *
 * Kernels, one after the other: sequences, literals, offsets, this file's, which executes
 * the streams, and checksums. Its tiles only take sequences that are certainly good; all
 * others, long or wrong, come one at a time. */
#include "kernel_abi.h"
#include "lz_team.cuh"
#include "simt.h"
#include "zstd_chains.cuh"
#include "zstd_checksums.cuh"
#include "zstd_code.cuh"
#include "zstd_literals.cuh"
#include "zstd_made.cuh"
#include "zstd_sequences.cuh"

/* Sequences per lane and tile. */
#define ZSTD_SHARE 4

template <class C> class zstd_parser {
    typedef typename C::Parsers Group;
    static constexpr uint32_t MOST = Group::THREADS * ZSTD_SHARE;

    /* What the threads of the group tell each other. */
    struct board {
        uint32_t task;
        uint32_t cut;               /* the first sequence that is not of the tile */
        uint32_t nbytes, nliterals; /* of the tile */
        uint32_t sums[3 * Group::WARPS], index_sums[Group::WARPS];
    };

    const Group group;
    const hr_k_zstd &params;
    board *const shared;

    uint32_t task, produced, ring_begin, code;
    uint64_t src, dst;
    uint32_t src_nbytes, dst_nbytes;
    uint32_t block, last_block; /* the one that comes next, and the stream's end */
    /* Of the block: */
    uint32_t where, frame_begin;
    uint32_t sequence, nsequences;
    uint32_t literals_left, repeats_left; /* that follow the sequences */
    uint64_t literals;                    /* their address */

  public:
    static constexpr uint32_t SCRATCH = sizeof(board);

    __device__ __forceinline__ zstd_parser(const hr_k_decode &, uint8_t *scratch,
                                           const hr_k_zstd &p)
        : params(p), shared((board *)scratch) {}

    __device__ __forceinline__ bool take() {
        group.sync();
        if (group.rank == 0) {
            shared->task = atomicAdd(hr_global<uint32_t>(params.streams.counter), 1);
        }
        group.sync();
        task = shared->task;
        if (task >= params.streams.ntasks) {
            return false;
        }
        const hr_k_task *t = lz_task(params.streams, task);
        src = t->src;
        dst = t->dst;
        src_nbytes = t->src_nbytes;
        dst_nbytes = t->dst_nbytes;
        block = hr_global<const uint32_t>(params.first_blocks)[task];
        last_block = hr_global<const uint32_t>(params.first_blocks)[task + 1];
        produced = ring_begin = code = where = 0;
        sequence = nsequences = literals_left = repeats_left = 0;
        return true;
    }

    __device__ __forceinline__ void next(const lz_buffer &buffer, lz_step &step) {
        step = {};
        step.task = task;
        step.at = produced;
        step.ring_begin = ring_begin;
        while (code == 0) {
            if (sequence < nsequences) {
                if (make_tile(buffer, step) || take_one(step)) {
                    return;
                }
            } else if (literals_left > 0) {
                take_literals(step);
                return;
            } else if (block < last_block) {
                enter();
            } else {
                code = produced == dst_nbytes ? 0 : HR_K_TOO_SHORT;
                where = code == 0 ? 0 : src_nbytes;
                break;
            }
        }
        step.kind = LZ_FINISH;
        step.code = code;
        step.where = where;
    }

  private:
    /* The next block, unless the kernels before found it wrong. */
    __device__ __forceinline__ void enter() {
        const hr_k_zstd_block *b = zstd_block(params, block);
        const hr_k_zstd_result *r = zstd_result(params, block);
        block++;
        where = b->at;
        code = r->literals_code != 0 ? r->literals_code : r->sequences_code;
        if (code != 0) {
            return;
        }
        literals = zstd_makes_literals(b) ? b->made_literals : src + b->literals;
        literals_left = b->nliterals;
        repeats_left = 0;
        if (b->kind == HR_K_ZSTD_RLE && literals_left > 0) {
            repeats_left = literals_left - 1;
            literals_left = 1;
        }
        sequence = 0;
        nsequences = b->nsequences;
        frame_begin = r->frame_begin;
    }

    /* Of the block; looked up anew for each tile, which costs less than to keep it. */
    __device__ __forceinline__ zstd_made sequences() const {
        return {zstd_block(params, block - 1), zstd_result(params, block - 1)};
    }

    /* before: bytes of the frame before the match. */
    static __device__ __forceinline__ bool reaches_back(uint32_t offset,
                                                        uint32_t before) {
        return offset - 1 < before;
    }

    /* A tile from the next sequences; false if not even the first can be taken. */
    __device__ __forceinline__ bool make_tile(const lz_buffer &buffer, lz_step &step) {
        const uint32_t first = sequence + group.rank * ZSTD_SHARE;
        zstd_sequence mine[ZSTD_SHARE];
        const zstd_made made = sequences();
        uint32_t sums[3] = {0, 0, 0}; /* parts, bytes, literals */
        uint32_t cut = 0xFFFFFFFF;
        HR_UNROLL
        for (uint32_t i = 0; i < ZSTD_SHARE; i++) {
            mine[i] = {0, 0, 1};
            if (first + i < nsequences && cut == 0xFFFFFFFF) {
                mine[i] = made.load(first + i);
                if (max(mine[i].nliterals, mine[i].nmatch) > C::LONGEST ||
                    mine[i].offset == 0) {
                    mine[i] = {0, 0, 1};
                    cut = first + i;
                }
            }
            sums[0] += count_parts(mine[i]);
            sums[1] += mine[i].nliterals + mine[i].nmatch;
            sums[2] += mine[i].nliterals;
        }
        const uint32_t own[3] = {sums[0], sums[1], sums[2]};
        group.sum_up(sums, shared->sums);
        const uint32_t before = sums[1] - own[1];
        cut = min(cut, find_far(mine, first, before));
        if (own[0] > 0 && (sums[0] > C::PARTS || sums[1] > C::OUTPUT - LZ_ROW ||
                           sums[2] > C::STRETCH)) {
            cut = min(cut, first);
        }
        const uint32_t end = min(agree(cut), min(sequence + MOST, nsequences));
        if (end == sequence) {
            return false;
        }
        tell_totals(mine, first, end, before, sums[2] - own[2]);
        const lz_tile tile = begin_tile(buffer);
        put_parts(mine, first, end, buffer, tile, sums[0] - own[0], before,
                  sums[2] - own[2]);
        group.sync();
        step.kind = LZ_TILE;
        step.nbytes = shared->nbytes;
        lz_index<C::WORDS>(group, tile,
                           lz_position(dst + produced) - tile.base + step.nbytes,
                           shared->index_sums);
        produced += step.nbytes;
        literals += shared->nliterals;
        literals_left -= shared->nliterals;
        sequence = end;
        return true;
    }

    static __device__ __forceinline__ uint32_t count_parts(const zstd_sequence &q) {
        return (q.nliterals > 0 ? 1 : 0) +
               (q.nmatch > 0 ? lz_count_pieces<C::SINGLES>(q.offset, q.nmatch) : 0);
    }

    /* The first of a lane's sequences that reaches before the frame. */
    __device__ __forceinline__ uint32_t find_far(const zstd_sequence (&mine)[ZSTD_SHARE],
                                                 uint32_t first, uint32_t before) const {
        uint32_t end = produced - frame_begin + before, cut = 0xFFFFFFFF;
        HR_UNROLL
        for (uint32_t i = 0; i < ZSTD_SHARE; i++) {
            end += mine[i].nliterals;
            if (mine[i].nmatch > 0 && !reaches_back(mine[i].offset, end)) {
                cut = min(cut, first + i);
            }
            end += mine[i].nmatch;
        }
        return cut;
    }

    /* The least of all lanes'. */
    __device__ __forceinline__ uint32_t agree(uint32_t cut) {
        if (group.rank == 0) {
            shared->cut = 0xFFFFFFFF;
        }
        cut = hr_warp_min(cut);
        group.sync();
        if (group.lane == 0 && cut != 0xFFFFFFFF) {
            atomicMin(&shared->cut, cut);
        }
        group.sync();
        return shared->cut;
    }

    /* By the lane with the tile's last sequence. */
    __device__ __forceinline__ void tell_totals(const zstd_sequence (&mine)[ZSTD_SHARE],
                                                uint32_t first, uint32_t end,
                                                uint32_t nbytes, uint32_t nliterals) {
        if (first < end && end - first <= ZSTD_SHARE) {
            HR_UNROLL
            for (uint32_t i = 0; i < ZSTD_SHARE; i++) {
                if (first + i < end) {
                    nbytes += mine[i].nliterals + mine[i].nmatch;
                    nliterals += mine[i].nliterals;
                }
            }
            shared->nbytes = nbytes;
            shared->nliterals = nliterals;
        }
        group.sync();
    }

    /* Clear the tile and bring its literals. */
    __device__ __forceinline__ lz_tile begin_tile(const lz_buffer &buffer) {
        const uint32_t n = shared->nliterals;
        const lz_range range = {literals, literals + n};
        for (uint32_t i = group.rank; i < C::WORDS; i += Group::THREADS) {
            buffer.words[i] = {0, 0};
        }
        HR_NO_UNROLL
        for (uint32_t i = group.rank * 16; i < n; i += Group::THREADS * 16) {
            if (n - i >= 16) {
                *(hr_u128 *)(buffer.bytes + i) = lz_load_u128(literals + i, range);
            } else {
                for (uint32_t k = i; k < n; k++) {
                    buffer.bytes[k] = (uint8_t)lz_load_u8(literals + k);
                }
            }
        }
        group.sync();
        return {buffer.parts, buffer.words, lz_base(lz_position(dst + produced))};
    }

    __device__ __forceinline__ void put_parts(const zstd_sequence (&mine)[ZSTD_SHARE],
                                              uint32_t first, uint32_t end,
                                              const lz_buffer &buffer,
                                              const lz_tile &tile, uint32_t index,
                                              uint32_t before, uint32_t literal) {
        uint32_t at = lz_position(dst + produced) - tile.base + before;
        HR_UNROLL
        for (uint32_t i = 0; i < ZSTD_SHARE; i++) {
            const zstd_sequence &q = mine[i];
            if (first + i < end) {
                if (q.nliterals > 0) {
                    lz_put_literals(tile, index++, at, buffer.bytes_at + literal);
                }
                at += q.nliterals;
                literal += q.nliterals;
                index = lz_put_match<C::SINGLES>(tile, index, at, q.offset, q.nmatch);
                at += q.nmatch;
            }
        }
    }

    /* The next sequence, of any length, or what is wrong with it. */
    __device__ __forceinline__ bool take_one(lz_step &step) {
        const zstd_sequence q = sequences().load(sequence);
        if (!reaches_back(q.offset, produced + q.nliterals - frame_begin)) {
            code = HR_K_BAD_OFFSET;
            return false;
        }
        sequence++;
        copy(step, q.nliterals, q.nmatch, q.offset);
        return true;
    }

    /* What follows the last sequence. */
    __device__ __forceinline__ void take_literals(lz_step &step) {
        copy(step, literals_left, repeats_left, 1);
        repeats_left = 0;
    }

    __device__ __forceinline__ void copy(lz_step &step, uint32_t nliterals,
                                         uint32_t nmatch, uint32_t offset) {
        step.kind = LZ_COPY;
        step.literals = literals;
        step.nliterals = nliterals;
        step.nmatch = nmatch;
        step.offset = offset;
        literals += nliterals;
        literals_left -= nliterals;
        produced += nliterals + nmatch;
        ring_begin = produced;
    }
};

/* Teams: as for LZ4. The segment only says how many literals a tile has room for. */
template <class Team> struct zstd_team : Team { static constexpr bool MOVES = true; };
typedef zstd_team<lz_team<4, 0, 32, 1024, 8192, 2048, 16384, false, 8>> zstd_team_w4;
typedef zstd_team<lz_team<2, 0, 32, 256, 0, 1024, 8192, true, 16>> zstd_team_w2s;
typedef zstd_team<lz_team<32, 0, 32, 8192, 65536, 8192, 65536, false, 1>> zstd_team_w32;
typedef zstd_team<lz_team<4, 4, 32, 1024, 8192, 2048, 16384, true, 4>> zstd_team_p4s;
typedef zstd_team<lz_team<8, 8, 32, 2048, 16384, 4096, 32768, false, 2>> zstd_team_p8;
typedef zstd_team<lz_team<16, 16, 32, 2048, 65536, 8192, 65536, true, 1>> zstd_team_p16s;

static_assert(sizeof(zstd_trees) == HR_K_ZSTD_LITERALS_SHARED_NBYTES &&
                  sizeof(zstd_chains) == HR_K_ZSTD_SEQUENCES_SHARED_NBYTES,
              "kernel_abi.h disagrees");

#define ZSTD_KERNEL(name, threads, shared_nbytes)                                        \
    static_assert(zstd_team_##name::THREADS == threads, "kernel_abi.h disagrees");       \
    static_assert(lz_layout<zstd_team_##name>::SCRATCH +                                 \
                          zstd_parser<zstd_team_##name>::SCRATCH ==                      \
                      shared_nbytes,                                                     \
                  "kernel_abi.h disagrees");                                             \
    extern "C" __global__ void __launch_bounds__(threads, zstd_team_##name::BLOCKS)      \
        hr_k_zstd_##name##_kernel(const __grid_constant__ hr_k_zstd p) {                 \
        lz_run<zstd_team_##name, zstd_parser<zstd_team_##name>>(p.streams, p);           \
    }

HR_K_ZSTD_TEAMS(ZSTD_KERNEL)
