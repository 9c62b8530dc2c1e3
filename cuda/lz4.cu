/* LZ4 blocks. SPDX-License-Identifier: Apache-2.0
 *
 * Tiles only take sequences that are certainly good; all others, long or wrong, come one
 * at a time to lz4_parser::read_one, which alone says what is wrong with a stream. */
#include "kernel_abi.h"
#include "lz4_parse.cuh"
#include "lz_team.cuh"
#include "simt.h"

template <class C> class lz4_parser {
    typedef typename C::Parsers Group;

    /* What the threads of the group tell each other. */
    struct board {
        uint32_t task;
        uint32_t cut;                  /* the first lane that ends the tile; see parse */
        uint32_t end, nbytes, is_last; /* of the tile */
        uint32_t sums[2 * Group::WARPS], index_sums[Group::WARPS];
        uint16_t shortcuts[Group::THREADS];
    };

    const Group group;
    const hr_k_decode &params;
    board *const shared;

    bool is_over;
    uint32_t task, consumed, produced, ring_begin, code;
    uint64_t src, dst;
    uint32_t src_nbytes, dst_nbytes;

  public:
    static constexpr uint32_t SCRATCH = sizeof(board);

    __device__ __forceinline__ lz4_parser(const hr_k_decode &p, uint8_t *scratch)
        : params(p), shared((board *)scratch) {}

    __device__ __forceinline__ bool take() {
        group.sync();
        if (group.rank == 0) {
            shared->task = atomicAdd(hr_global<uint32_t>(params.counter), 1);
        }
        group.sync();
        task = shared->task;
        if (task >= params.ntasks) {
            return false;
        }
        const hr_k_task *t = lz_task(params, task);
        src = t->src;
        dst = t->dst;
        src_nbytes = t->src_nbytes;
        dst_nbytes = t->dst_nbytes;
        consumed = produced = ring_begin = code = 0;
        is_over = false;
        return true;
    }

    __device__ __forceinline__ void next(const lz_buffer &buffer, lz_step &step) {
        step = {};
        step.task = task;
        step.at = produced;
        step.ring_begin = ring_begin;
        if (!is_over) {
            const lz4_stretch stretch = stage(buffer);
            if ((begins_inside(stretch) && parse(buffer, stretch, step)) ||
                read_one(step)) {
                return;
            }
        }
        step.kind = LZ_FINISH;
        step.code = code;
        step.where = consumed;
    }

  private:
    __device__ __forceinline__ void finish() {
        is_over = true;
        code = produced == dst_nbytes ? 0 : HR_K_TOO_SHORT;
    }

    /* 16 aligned bytes, zeros where the stream is not. */
    __device__ __forceinline__ hr_u128 load_aligned(uint64_t at) const {
        const uint64_t end = src + src_nbytes;
        if (at >= src && at + 16 <= end) {
            return *hr_global<const hr_u128>(at);
        }
        hr_u128 v = {};
        HR_UNROLL
        for (uint32_t i = 0; i < 16; i++) {
            if (at + i >= src && at + i < end) {
                v.word[i / 4] |= lz_load_u8(at + i) << (i % 4 * 8);
            }
        }
        return v;
    }

    /* Bring the next stretch of the stream, from the 16 bytes that `consumed` lies in. */
    __device__ __forceinline__ lz4_stretch stage(const lz_buffer &buffer) {
        const uint64_t first = src + consumed, base = first & ~UINT64_C(15);
        const uint32_t begin = (uint32_t)(first - base), left = src_nbytes - consumed;
        HR_NO_UNROLL
        for (uint32_t i = group.rank * 16; i < C::STRETCH + 16;
             i += Group::THREADS * 16) {
            *(hr_u128 *)(buffer.bytes + i) = load_aligned(base + i);
        }
        for (uint32_t i = group.rank; i < C::WORDS; i += Group::THREADS) {
            buffer.words[i] = {0, 0};
        }
        if (group.rank == 0) {
            shared->cut = 0xFFFFFFFF;
        }
        group.sync();
        const bool is_last = left <= C::STRETCH - begin;
        return {buffer.bytes, begin, is_last ? begin + left : C::STRETCH, is_last};
    }

    __device__ __forceinline__ bool begins_inside(const lz4_stretch &s) const {
        lz4_sequence q;
        return s.begin < s.end && lz4_read<C::LONGEST>(s, s.begin, q) != LZ4_NOT_INSIDE;
    }

    /* A tile from the stretch; false if not even its first sequence can be taken. */
    __device__ __forceinline__ bool parse(const lz_buffer &buffer, const lz4_stretch &s,
                                          lz_step &step) {
        const uint32_t segment = group.rank * C::SEGMENT;
        lz4_make_exits<C>(s, buffer.exits, segment);
        __syncwarp();
        uint32_t chain_end;
        const uint32_t entry =
            lz4_find_entry<C>(group, s, buffer.exits, shared->shortcuts, chain_end);
        const lz4_count mine = lz4_count_parts<C>(s, entry, segment + C::SEGMENT);
        __syncwarp();

        uint32_t sums[2] = {mine.nparts, mine.nbytes};
        group.sum_up(sums, shared->sums);
        const bool is_kept = cut_tile(mine, entry, sums, chain_end);
        const uint32_t position = lz_position(dst + produced), base = lz_base(position);
        const lz_tile tile = {buffer.parts, buffer.words, base};
        if (is_kept && mine.nbytes > 0) {
            const uint32_t end = position - base + sums[1];
            lz4_put_parts<C>(s, entry, buffer.bytes_at, tile, sums[0] - mine.nparts,
                             end - mine.nbytes, end);
        }
        group.sync();
        if (shared->end == s.begin) {
            return false;
        }
        step.kind = LZ_TILE;
        step.nbytes = shared->nbytes;
        lz_index<C::WORDS>(group, tile, position - base + step.nbytes,
                           shared->index_sums);
        produced += step.nbytes;
        consumed += shared->end - s.begin;
        if (shared->is_last) {
            finish();
        } else {
            prefetch();
        }
        return true;
    }

    /* End the tile before the first lane that does not fit, or after what the first lane
     * can take that stops. Is the lane's output in the tile? */
    __device__ __forceinline__ bool cut_tile(const lz4_count &mine, uint32_t entry,
                                             const uint32_t (&sums)[2],
                                             uint32_t chain_end) {
        const uint32_t before = sums[1] - mine.nbytes;
        const bool is_over_full =
            mine.nbytes > 0 &&
            (sums[0] > C::PARTS || sums[1] > C::OUTPUT - LZ_ROW ||
             sums[1] > dst_nbytes - produced ||
             mine.reach > (int32_t)(min(produced, UINT32_C(65536)) + before));
        const bool stops = mine.stop != LZ4_NO_ENTRY;
        uint32_t cut = is_over_full ? 2 * group.rank
                       : stops      ? 2 * group.rank + 1
                                    : 0xFFFFFFFF;
        cut = hr_warp_min(cut);
        if (Group::WARPS > 1) {
            if (group.lane == 0 && cut != 0xFFFFFFFF) {
                atomicMin(&shared->cut, cut);
            }
            group.sync();
            cut = shared->cut;
        } else {
            group.sync(); /* the exits are done with: parts take their place */
        }
        const bool is_mine = cut >> 1 == group.rank;
        if (is_mine || (cut == 0xFFFFFFFF && group.rank == Group::THREADS - 1)) {
            shared->end = cut == 0xFFFFFFFF ? chain_end
                          : is_over_full    ? entry
                                            : mine.stop;
            shared->nbytes = is_mine && is_over_full ? before : sums[1];
            shared->is_last = is_mine && !is_over_full && mine.is_last;
        }
        return group.rank < cut >> 1 || (is_mine && !is_over_full);
    }

    /* The length bytes at `at`, 16 a step while they are 255. False if the stream ends
     * before. (The lanes do the same: nvcc 13.0 never ends on a vote in this loop.) */
    __device__ __forceinline__ bool read_more(uint32_t &at, uint64_t &n) const {
        const lz_range stream = {src, src + src_nbytes};
        while (src_nbytes - at >= 16) {
            const hr_u128 v = lz_load_u128(src + at, stream);
            if ((v.word[0] & v.word[1] & v.word[2] & v.word[3]) != 0xFFFFFFFF) {
                break;
            }
            at += 16;
            n += 16 * 255;
        }
        uint32_t more = 255;
        while (more == 255 && at < src_nbytes) {
            more = lz_load_u8(src + at++);
            n += more;
        }
        return more != 255;
    }

    /* The next sequence, of any length, or what is wrong with it. */
    __device__ __forceinline__ uint32_t judge(lz4_sequence &q) const {
        uint32_t at = consumed;
        if (at == src_nbytes) {
            return HR_K_TRUNCATED;
        }
        const uint32_t token = lz_load_u8(src + at++);
        uint64_t n = token >> 4;
        if ((n == 15 && !read_more(at, n)) || n > src_nbytes - at) {
            return HR_K_TRUNCATED;
        }
        if (n > dst_nbytes - produced) {
            return HR_K_TOO_LONG;
        }
        q.literals = at;
        q.nliterals = (uint32_t)n;
        q.end = at += q.nliterals;
        q.offset = q.nmatch = 0;
        if (at == src_nbytes) {
            return 0;
        }
        if (src_nbytes - at < 2) {
            return HR_K_TRUNCATED;
        }
        q.offset = lz_load_u8(src + at) | lz_load_u8(src + at + 1) << 8;
        at += 2;
        n = token & 15;
        if (n == 15 && !read_more(at, n)) {
            return HR_K_TRUNCATED;
        }
        n += 4;
        const uint32_t made = produced + q.nliterals;
        if (q.offset == 0 || q.offset > made) {
            return HR_K_BAD_OFFSET;
        }
        if (n > dst_nbytes - made) {
            return HR_K_TOO_LONG;
        }
        q.nmatch = (uint32_t)n;
        q.end = at;
        return 0;
    }

    __device__ __forceinline__ bool read_one(lz_step &step) {
        lz4_sequence q;
        code = judge(q);
        if (code != 0) {
            return false;
        }
        step.kind = LZ_COPY;
        step.literals = src + q.literals;
        step.nliterals = q.nliterals;
        step.nmatch = q.nmatch;
        step.offset = q.offset;
        consumed = q.end;
        produced += q.nliterals + q.nmatch;
        ring_begin = produced;
        if (q.offset == 0) {
            finish();
        }
        return true;
    }

    __device__ __forceinline__ void prefetch() const {
        const uint32_t ahead = group.rank * 128;
        if (ahead < C::STRETCH && ahead < src_nbytes - consumed) {
            hr_prefetch(src + consumed + ahead);
        }
    }
};

/* Teams: warps to parse and make, segment, window, ring, parts, output, singles, blocks.
 * Those with an s are for data with long ways to follow, as byte-shuffled data is. */
typedef lz_team<1, 0, 36, 128, 1024, 512, 6144, true, 32> lz4_team_w1s;
typedef lz_team<2, 0, 36, 256, 2048, 1024, 12288, false, 16> lz4_team_w2;
typedef lz_team<2, 0, 36, 256, 2048, 1024, 12288, true, 16> lz4_team_w2s;
typedef lz_team<4, 0, 36, 1024, 4096, 2048, 24576, false, 9> lz4_team_w4;
typedef lz_team<4, 0, 36, 512, 4096, 2048, 24576, true, 9> lz4_team_w4s;
typedef lz_team<8, 0, 36, 2048, 8192, 4096, 49152, false, 4> lz4_team_w8;
typedef lz_team<4, 4, 36, 512, 8192, 2048, 24576, true, 4> lz4_team_p4s;
typedef lz_team<16, 16, 36, 4096, 65536, 8192, 65536, false, 1> lz4_team_p16;
typedef lz_team<16, 16, 36, 2048, 65536, 8192, 65536, true, 1> lz4_team_p16s;

#define LZ4_KERNEL(name, threads, shared_nbytes)                                         \
    static_assert(lz4_team_##name::THREADS == threads, "kernel_abi.h disagrees");        \
    static_assert(lz_layout<lz4_team_##name>::SCRATCH +                                  \
                          lz4_parser<lz4_team_##name>::SCRATCH ==                        \
                      shared_nbytes,                                                     \
                  "kernel_abi.h disagrees");                                             \
    extern "C" __global__ void __launch_bounds__(threads, lz4_team_##name::BLOCKS)       \
        hr_k_lz4_##name##_kernel(const __grid_constant__ hr_k_decode p) {                \
        lz_run<lz4_team_##name, lz4_parser<lz4_team_##name>>(p);                         \
    }

HR_K_LZ4_TEAMS(LZ4_KERNEL)
