/* LZ streams, parsed by many lanes at once, whatever the codec.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A stretch of the stream lies in shared memory, a segment of it for every lane. A lane
 * walks its segment backwards and notes for every byte where a chain of sequences that
 * starts there would leave the segment. The true chain then takes one step per segment,
 * and every lane knows where it enters its own: exact, whatever the stream holds.
 *
 * Tiles only take sequences that are certainly good; all others, long or wrong, come one
 * at a time to read_one, where the codec's judge alone says what is wrong with a stream.
 */
#ifndef HR_CUDA_LZ_PARSER_CUH
#define HR_CUDA_LZ_PARSER_CUH

#include "lz_input.cuh"
#include "lz_parts.cuh"
#include "lz_team.cuh"

/* Matches from farther back are copied. */
#define LZ_FARTHEST (UINT32_C(1) << 28)

#define LZ_NO_ENTRY UINT32_C(0xFFFFFFFF)

/* So many sequences are read one by one, at most, to come to the next long one. */
#define LZ_PATIENCE 16

/* Where the true chain, from s.begin, enters the lane's segment, or LZ_NO_ENTRY, and
 * where it leaves the last segment. Each warp prepares its segments: where chains from
 * its first 32 bytes leave them. Then all walk over warps, then each over its segments.
 * exits and shortcuts (one per thread) lie in shared memory. */
template <class C, class Group>
static __device__ __forceinline__ uint32_t lz_find_entry(const Group &group,
                                                         const lz_stretch &s,
                                                         const uint16_t *exits,
                                                         uint16_t *shortcuts,
                                                         uint32_t &chain_end) {
    constexpr uint32_t WARP_SEGMENT = 32 * C::SEGMENT;
    uint32_t at = s.begin;
    if (Group::WARPS > 1) {
        const uint32_t mine_end = (group.warp + 1) * WARP_SEGMENT;
        uint32_t exit = group.warp * WARP_SEGMENT + group.lane;
        while (exit < mine_end) {
            exit = exits[exit];
        }
        shortcuts[group.rank] = (uint16_t)exit;
        group.sync();
        uint32_t enters = at;
        HR_NO_UNROLL
        for (uint32_t w = 0; w < Group::WARPS; w++) {
            const uint32_t begin = w * WARP_SEGMENT, end = begin + WARP_SEGMENT;
            enters = w == group.warp ? at : enters;
            if (at < begin + 32) {
                at = shortcuts[w * 32 + (at - begin)];
            }
            while (at < end) {
                at = exits[at];
            }
        }
        chain_end = at;
        at = enters;
    }
    const uint32_t segment = group.rank * C::SEGMENT;
    const uint32_t mine_end = (group.warp + 1) * WARP_SEGMENT;
    uint32_t entry = LZ_NO_ENTRY;
    while (at < mine_end) {
        if (at >= segment && at < segment + C::SEGMENT) {
            entry = at;
        }
        at = exits[at];
    }
    if (Group::WARPS == 1) {
        chain_end = at;
    }
    return entry;
}

/* What a lane's part of the chain amounts to. */
struct lz_count {
    uint32_t nparts, nbytes;
    uint32_t stop; /* a sequence that the tile cannot take, or LZ_NO_ENTRY */
    int32_t reach; /* bytes needed before the lane's own output */
    lz_element stop_kind;
};

/* F: the codec's streams.
 *   ENDS_ANYWHERE                 a stream may end behind a match, or be empty
 *   FIRST_MASK                    the bits of a stream's first byte that count
 *   read<LONGEST>(s, at, q)       the sequence at `at` < s.end, if it lies inside, is no
 *                                 longer than LONGEST and its offset can be right
 *   make_exits<C>, put_parts<C>   see lz4_parse.cuh
 *   judge(input, at, made, q)     the sequence at `at`, of any length: 0, or a code */
template <class C, class F>
static __device__ __forceinline__ lz_count lz_count_parts(const lz_stretch &s,
                                                          uint32_t entry,
                                                          uint32_t segment_end) {
    lz_count c = {0, 0, LZ_NO_ENTRY, 0, LZ_SEQUENCE};
    lz_sequence q;
    for (uint32_t at = entry; at < segment_end; at = q.end) {
        lz_element kind = LZ_NOT_INSIDE;
        if (at < s.end) {
            kind = F::template read<C::LONGEST>(s, at, q);
        }
        if (kind < LZ_SEQUENCE) {
            c.stop = at;
            c.stop_kind = kind;
            break;
        }
        c.nparts += q.nliterals > 0;
        c.nbytes += q.nliterals;
        if (q.nmatch > 0) {
            const int32_t reach = (int32_t)(q.offset - c.nbytes);
            c.reach = reach > c.reach ? reach : c.reach;
            c.nparts += lz_count_pieces<C::SINGLES>(q.offset, q.nmatch);
            c.nbytes += q.nmatch;
        }
        if (kind == LZ_LAST) {
            c.stop_kind = LZ_LAST;
            c.stop = q.end;
            break;
        }
    }
    return c;
}

template <class C, class F> class lz_parser {
  protected:
    typedef typename C::Parsers Group;

    /* What the threads of the group tell each other. */
    struct board {
        uint32_t task;
        uint32_t cut;         /* the first lane that ends the tile; see parse */
        uint32_t end, nbytes; /* of the tile */
        lz_element stop_kind;
        uint32_t sums[2 * Group::WARPS], index_sums[Group::WARPS];
        uint16_t shortcuts[Group::THREADS];
    };

    const Group group;
    const hr_k_decode &params;
    board *const shared;

    bool is_over;
    /* Sequences to read one by one: since a tile ended at a long one, and as long as
     * others follow soon. How soon is learned: a tile is dear to end early. */
    uint32_t nruns, patience;
    uint32_t task, consumed, produced, ring_begin, code;
    uint64_t src, dst;
    uint32_t src_nbytes, dst_nbytes;

  public:
    static constexpr uint32_t SCRATCH = sizeof(board);

    __device__ __forceinline__ lz_parser(const hr_k_decode &p, uint8_t *scratch)
        : params(p), shared((board *)scratch) {}

    __device__ __forceinline__ bool take() {
        task = lz_take(group, params, shared->task);
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
        nruns = 0;
        patience = LZ_PATIENCE;
        if (F::ENDS_ANYWHERE && src_nbytes == 0) {
            finish();
        }
        return true;
    }

    __device__ __forceinline__ void next(const lz_buffer &buffer, lz_step &step) {
        begin(step);
        if (is_over || !(nruns > 0 ? read_run(step) : read_tile(buffer, step))) {
            end(step);
        }
    }

  protected:
    __device__ __forceinline__ void begin(lz_step &step) const {
        step = {};
        step.task = task;
        step.at = produced;
        step.ring_begin = ring_begin;
    }
    __device__ __forceinline__ void end(lz_step &step) const {
        step.kind = LZ_FINISH;
        step.code = code;
        step.where = consumed;
    }

    __device__ __forceinline__ void finish() {
        is_over = true;
        code = produced == dst_nbytes ? 0 : HR_K_TOO_SHORT;
    }

    __device__ __forceinline__ bool read_tile(const lz_buffer &buffer, lz_step &step) {
        const lz_stretch stretch = stage(buffer);
        return (begins_inside(stretch) && parse(buffer, stretch, step)) || read_one(step);
    }

    __device__ __forceinline__ bool read_run(lz_step &step) {
        const bool is_good = read_one(step);
        if (produced - step.at > C::LONGEST) {
            nruns = patience = LZ_PATIENCE;
        } else if (--nruns == 0) {
            patience = (patience + 1) / 2;
        }
        return is_good;
    }

    /* Bring the next stretch of the stream, from the 16 bytes that `consumed` lies in. */
    __device__ __forceinline__ lz_stretch stage(const lz_buffer &buffer) {
        const uint64_t first = src + consumed, base = first & ~UINT64_C(15);
        const uint32_t begin = (uint32_t)(first - base), left = src_nbytes - consumed;
        const lz_range stream = {src, src + src_nbytes};
        HR_NO_UNROLL
        for (uint32_t i = group.rank * 16; i < C::STRETCH + 16;
             i += Group::THREADS * 16) {
            *(hr_u128 *)(buffer.bytes + i) = lz_load_aligned(base + i, stream);
        }
        if constexpr (C::WORDS > 0) {
            for (uint32_t i = group.rank; i < C::WORDS; i += Group::THREADS) {
                buffer.words[i] = {0, 0};
            }
        }
        if (group.rank == 0) {
            shared->cut = 0xFFFFFFFF;
            if (F::FIRST_MASK != 255 && consumed == 0) {
                buffer.bytes[begin] &= F::FIRST_MASK; /* which this thread has brought */
            }
        }
        group.sync();
        const bool is_last = left <= C::STRETCH - begin;
        return {buffer.bytes, begin, is_last ? begin + left : C::STRETCH, is_last};
    }

    __device__ __forceinline__ bool begins_inside(const lz_stretch &s) const {
        lz_sequence q;
        return s.begin < s.end &&
               F::template read<C::LONGEST>(s, s.begin, q) >= LZ_SEQUENCE;
    }

    /* A tile from the stretch; false if not even its first sequence can be taken. */
    __device__ __forceinline__ bool parse(const lz_buffer &buffer, const lz_stretch &s,
                                          lz_step &step) {
        const uint32_t segment = group.rank * C::SEGMENT;
        F::template make_exits<C>(s, buffer.exits, segment);
        __syncwarp();
        uint32_t chain_end;
        const uint32_t entry =
            lz_find_entry<C>(group, s, buffer.exits, shared->shortcuts, chain_end);
        const lz_count mine = lz_count_parts<C, F>(s, entry, segment + C::SEGMENT);
        __syncwarp();

        uint32_t sums[2] = {mine.nparts, mine.nbytes};
        group.sum_up(sums, shared->sums);
        const bool is_kept = cut_tile(mine, entry, sums, chain_end);
        const uint32_t position = lz_position(dst + produced), base = lz_base(position);
        const lz_tile tile = {buffer.parts, buffer.words, base};
        if (is_kept && mine.nbytes > 0) {
            const uint32_t end = position - base + sums[1];
            F::template put_parts<C>(s, entry, segment + C::SEGMENT, buffer.bytes_at,
                                     tile, sums[0] - mine.nparts, end - mine.nbytes, end);
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
        if (shared->stop_kind == LZ_LAST) {
            finish();
        } else {
            nruns = shared->stop_kind == LZ_LONG ? patience : 0;
            prefetch();
        }
        return true;
    }

    /* End the tile before the first lane that does not fit, or after what the first lane
     * can take that stops. Is the lane's output in the tile? */
    __device__ __forceinline__ bool cut_tile(const lz_count &mine, uint32_t entry,
                                             const uint32_t (&sums)[2],
                                             uint32_t chain_end) {
        const uint32_t before = sums[1] - mine.nbytes;
        const bool is_over_full =
            mine.nbytes > 0 &&
            (sums[0] > C::PARTS || sums[1] > C::OUTPUT - LZ_ROW ||
             sums[1] > dst_nbytes - produced ||
             mine.reach > (int32_t)(min(produced, LZ_FARTHEST) + before));
        const bool stops = mine.stop != LZ_NO_ENTRY;
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
            shared->stop_kind = is_mine && !is_over_full ? mine.stop_kind : LZ_SEQUENCE;
        }
        return group.rank < cut >> 1 || (is_mine && !is_over_full);
    }

    __device__ __forceinline__ bool read_one(lz_step &step) {
        lz_sequence q;
        const lz_input input = {src, src_nbytes, dst_nbytes};
        code = F::judge(input, consumed, produced, q);
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
        if (q.end == src_nbytes && (F::ENDS_ANYWHERE || q.nmatch == 0)) {
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

#endif
