/* Symbols of a Deflate block, parsed by many lanes at once.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a symbol begins in a Huffman code only the symbol before it tells. But a decoder
 * that starts at a wrong bit soon falls in step with the right one. So each lane gets a
 * segment of the input, and starts some way before it; where the lane before leaves its
 * own segment shows whether that was right, and if not, the lane goes again from there,
 * until all agree with those before them. The first lane always starts right, so each
 * round settles one more at least: data that never falls in step costs time, and is right
 * too.
 *
 * Tiles only take symbols that are certainly good; the rest comes one at a time from one
 * lane, which alone says what is wrong with a stream. */
#ifndef HR_CUDA_DEFLATE_TILES_CUH
#define HR_CUDA_DEFLATE_TILES_CUH

#include "deflate_exits.cuh"
#include "deflate_team.cuh"

template <class C> class deflate_tiles {
  protected:
    typedef typename C::Parsers Group;
    typedef deflate_desk<C::INPUT, C::LOG> desk;
    static constexpr uint32_t NONE = 0xFFFFFFFF;

    /* What the threads of the group tell each other, and what they decode with. */
    struct board : desk {
        uint32_t task;
        uint32_t cut;         /* the first lane that ends the tile; see cut_tile */
        uint32_t end, nbytes; /* of the tile */
        uint32_t is_end;      /* … of the block, too */
        uint32_t parts_at;    /* in the buffer, behind the literals */
        uint32_t block_begin; /* where its symbols begin: low bits of `consumed` */
        uint32_t expected;    /* bits of them; 0: not known yet */
        uint32_t is_bad;      /* the tile holds a match from too far */
        uint32_t code;
        uint32_t again[3];  /* has some warp to go again? in three rounds in turns */
        uint32_t gives_up;  /* some warp, see agree */
        uint32_t nstubborn; /* tiles whose lanes are not expected to fall in step */
        uint32_t exits[Group::WARPS];
        uint32_t sums[2 * Group::WARPS], index_sums[Group::WARPS];
    };
    static_assert(sizeof(deflate_header_room<Group::THREADS>) <= C::ROOM_NBYTES,
                  "headers are read in a buffer");
    typedef deflate_exits<Group::THREADS> exits; /* in a buffer before parts are */
    static_assert(!C::EXITS || sizeof(exits) <= C::ROOM_NBYTES, "a buffer has room");
    /* So many tiles are taken by ways from all bits behind one that needed it. */
    static constexpr uint32_t STUBBORN_TILES = 15;
    static constexpr uint32_t PATIENCE = 32; /* walks of a warp; see agree */

    const Group group;
    board *const shared;

    uint64_t src, dst;
    uint32_t src_nbytes, dst_nbytes;
    uint64_t consumed; /* bits */
    uint32_t produced, code;
    uint32_t floor; /* of the output: matches do not reach before it */
    bool is_over;   /* the block */
    uint32_t nlanes, segment, lead;

    __device__ __forceinline__ deflate_tiles(uint8_t *scratch)
        : shared((board *)scratch) {}

    /* A place in the input is brought to `begin`; the stream ends at `end`. In bits. */
    struct place {
        uint32_t begin, end;
    };

    /* Bring `nbytes` of the stream, from the 16 bytes on that `consumed` lies in. */
    __device__ __forceinline__ place stage(uint32_t nbytes) const {
        const uint64_t first = src + (consumed >> 3), base = first & ~UINT64_C(15);
        const uint64_t left = (uint64_t)src_nbytes * 8 - consumed;
        const lz_range stream = {src, src + src_nbytes};
        HR_NO_UNROLL
        for (uint32_t i = group.rank * 16; i < nbytes; i += Group::THREADS * 16) {
            *(hr_u128 *)((uint8_t *)shared->input + i) =
                lz_load_aligned(base + i, stream);
        }
        place p;
        p.begin = (uint32_t)(first - base) * 8 + (uint32_t)(consumed & 7);
        p.end = left < 8 * C::INPUT ? p.begin + (uint32_t)left : p.begin + 8 * C::INPUT;
        return p;
    }

    /* A tile of symbols. True if it makes bytes. */
    __device__ __forceinline__ bool make_tile(const lz_buffer &buffer, lz_step &step) {
        const place p = stage(C::INPUT);
        clear_words(buffer);
        if (group.rank == 0) {
            shared->cut = NONE;
            shared->is_bad = shared->code = 0;
            begin_to_agree();
        }
        group.sync();
        choose_segment();
        const uint32_t position = lz_position(dst + produced);
        const uint32_t base = lz_base(position);
        if (!parse(buffer, base, p)) {
            parse_one_by_one(buffer, base, p);
            code = shared->code;
        }
        step.kind = LZ_TILE;
        step.nbytes = shared->nbytes;
        const lz_tile tile = tile_of(buffer, shared->parts_at, base);
        lz_index<C::WORDS>(group, tile, position - tile.base + step.nbytes,
                           shared->index_sums);
        consumed += shared->end - p.begin;
        produced += step.nbytes;
        is_over = shared->is_end != 0;
        if (C::EVEN && is_over && group.rank == 0) {
            const uint32_t nbits = (uint32_t)consumed - shared->block_begin;
            shared->expected = nbits + nbits / 32;
        }
        prefetch();
        return step.nbytes > 0;
    }

    /* Blocks of a stream are about as long: what is expected of this one, and a bit more,
     * is shared by as many tiles as it takes. */
    __device__ __forceinline__ void choose_segment() {
        constexpr uint32_t LEAST = C::BITS / 4 > 96 ? C::BITS / 4 : 96;
        uint32_t bits = C::BITS;
        if (C::EVEN) {
            const uint32_t done = (uint32_t)consumed - shared->block_begin;
            if (done < shared->expected) {
                const uint32_t left = shared->expected - done;
                const uint32_t nlanes_all =
                    (left - 1) / (C::BITS * Group::THREADS) * Group::THREADS +
                    Group::THREADS;
                bits = min(max(left / nlanes_all + 1, LEAST), C::BITS);
            }
        }
        segment = bits - bits % shared->header.period;
    }

    static __device__ __forceinline__ lz_tile tile_of(const lz_buffer &buffer,
                                                      uint32_t parts_at, uint32_t base) {
        return {(uint32_t *)(buffer.bytes + parts_at), buffer.words, base};
    }

    __device__ __forceinline__ void begin_to_agree() const {
        shared->again[0] = shared->again[1] = shared->again[2] = 0;
        shared->gives_up = 0;
    }

    __device__ __forceinline__ void clear_words(const lz_buffer &buffer) const {
        for (uint32_t i = group.rank; i < C::WORDS; i += Group::THREADS) {
            buffer.words[i] = {0, 0};
        }
    }

  private:
    /* By all lanes. False if not one symbol was taken, or one that is not right. */
    __device__ __forceinline__ bool parse(const lz_buffer &buffer, uint32_t base,
                                          const place &p) {
        /* Symbols that begin before the limit end in the stream. */
        const uint32_t limit =
            p.end > DEFLATE_SYMBOL_NBITS ? p.end - DEFLATE_SYMBOL_NBITS : 0;
        if (limit <= p.begin) {
            return false;
        }
        nlanes = min(nlanes, (limit - p.begin + segment - 1) / segment);
        bool is_on = group.rank < nlanes;
        const uint32_t begin = min(p.begin + group.rank * segment, limit);
        const uint32_t end = min(begin + segment, limit);
        deflate_lane k = {};
        deflate_sink sink = {};
        uint32_t entry = begin;
        if (is_on && group.rank > 0 && !is_stubborn()) {
            k.at = group.rank * segment <= lead ? p.begin : begin - lead;
            deflate_walk<C, DEFLATE_FOLLOW>(shared->input, shared->tables, begin, k,
                                            sink);
            entry = k.stop == DEFLATE_RUNS_ON ? k.at : begin;
        }
        __syncwarp();
        settle(*(exits *)buffer.bytes, begin, end, is_on, entry, k);
        uint32_t sums[2] = {k.counts, k.nbytes};
        group.sum_up(sums, shared->sums);
        const bool is_kept = cut_tile(is_on, entry, k, sums);
        if (is_kept && k.nbytes > 0) {
            const lz_tile tile = tile_of(buffer, shared->parts_at, base);
            const uint32_t at = lz_position(dst + produced) - base;
            const uint32_t before = sums[0] - k.counts; /* parts and literals */
            sink.part = hr_shared_name(tile.parts + 1) + 4 * (before & 0xFFFF);
            sink.literal = hr_shared_name(buffer.bytes) + (before >> 16);
            sink.words = hr_shared_name(tile.words);
            sink.at = at + sums[1] - k.nbytes;
            sink.base = base;
            sink.shared = hr_shared_name(hr_shared());
            sink.farthest = min(produced - floor, DEFLATE_FARTHEST) - at;
            const uint32_t put_end = k.stop == DEFLATE_RUNS_ON ? end : k.at;
            k.at = entry;
            if (!deflate_walk<C, DEFLATE_PUT>(shared->input, shared->tables, put_end, k,
                                              sink)) {
                shared->is_bad = 1;
            }
        }
        group.sync();
        return shared->is_bad == 0 && shared->end != p.begin;
    }

    __device__ __forceinline__ bool is_stubborn() const {
        return C::EXITS && shared->nstubborn > 0;
    }

    /* Each lane's entry becomes the true one; its symbols are counted from there. */
    __device__ __forceinline__ void settle(exits &room, uint32_t begin, uint32_t end,
                                           bool &is_on, uint32_t &entry,
                                           deflate_lane &k) {
        if (!C::EXITS) {
            agree<false>(is_on, end, entry, k);
        } else if (is_stubborn() || !agree<true>(is_on, end, entry, k)) {
            find_entry(room, begin, end, is_on, entry);
            agree<false>(is_on, end, entry, k);
        }
    }

    /* By ways from all bits. Behind the end of the true one no lane is on. */
    __device__ __forceinline__ void find_entry(exits &room, uint32_t begin, uint32_t end,
                                               bool &is_on, uint32_t &entry) const {
        group.sync();
        if (group.rank == 0) {
            begin_to_agree();
            shared->nstubborn =
                shared->nstubborn == 0 ? STUBBORN_TILES : shared->nstubborn - 1;
        }
        if (is_on) {
            deflate_note_exits<C::LOG, Group::THREADS>(
                group.rank, shared_at(shared->input), shared_at(&shared->tables),
                shared_at(&room), begin, end);
        }
        const uint32_t enters = deflate_enter(group, room);
        is_on = is_on && enters != DEFLATE_NO_EXIT;
        entry = begin + enters;
    }

    static __device__ __forceinline__ uint32_t shared_at(const void *place) {
        return (uint32_t)((const uint8_t *)place - hr_shared());
    }

    /* Count, and go again until each lane starts where the one before it leaves; false if
     * that takes too long and MAY_GIVE_UP. */
    template <bool MAY_GIVE_UP>
    __device__ __forceinline__ bool agree(bool is_on, uint32_t end, uint32_t &entry,
                                          deflate_lane &k) {
        deflate_sink none = {};
        uint32_t enters = entry; /* where the lane before the warp's first one leaves */
        uint32_t exit = NONE, nwalks = 0;
        bool goes = is_on;
        HR_NO_UNROLL
        for (uint32_t round = 0;; round = round == 2 ? 0 : round + 1) {
            HR_NO_UNROLL
            while (__any_sync(0xFFFFFFFF, goes)) {
                if (MAY_GIVE_UP && nwalks++ == PATIENCE) {
                    shared->gives_up = 1;
                    break;
                }
                if (goes) {
                    k.at = entry;
                    deflate_walk<C, DEFLATE_COUNT>(shared->input, shared->tables, end, k,
                                                   none);
                    exit = k.stop == DEFLATE_RUNS_ON ? k.at : NONE;
                }
                __syncwarp();
                uint32_t before = __shfl_up_sync(0xFFFFFFFF, exit, 1);
                before = group.lane == 0 ? enters : before;
                goes = is_on && before != NONE && before != entry;
                entry = goes ? before : entry;
            }
            if (Group::WARPS == 1 || !pass_on(round, is_on, exit, enters, entry, goes)) {
                return !MAY_GIVE_UP || shared->gives_up == 0;
            }
        }
    }

    /* Tell the next warp where the last lane leaves. Has some warp to go again? */
    __device__ __forceinline__ bool pass_on(uint32_t round, bool is_on, uint32_t exit,
                                            uint32_t &enters, uint32_t &entry,
                                            bool &goes) {
        if (group.lane == 31) {
            shared->exits[group.warp] = exit;
        }
        if (group.rank == 0) {
            shared->again[round == 2 ? 0 : round + 1] = 0;
        }
        group.sync();
        if (group.lane == 0 && group.warp > 0 && is_on && shared->gives_up == 0) {
            const uint32_t before = shared->exits[group.warp - 1];
            goes = before != NONE && before != entry;
            if (goes) {
                enters = entry = before;
                shared->again[round] = 1;
            }
        }
        group.sync();
        return shared->again[round] != 0;
    }

    /* End the tile before the first lane that does not fit, or after what the first lane
     * can take that stops. Is the lane's output in the tile? */
    __device__ __forceinline__ bool cut_tile(bool is_on, uint32_t entry,
                                             const deflate_lane &k,
                                             const uint32_t (&sums)[2]) {
        const bool is_over_full =
            4 * (sums[0] & 0xFFFF) + (sums[0] >> 16) > C::ROOM_NBYTES ||
            sums[1] > C::OUTPUT - LZ_ROW || sums[1] > dst_nbytes - produced;
        uint32_t cut = !is_on                      ? NONE
                       : is_over_full              ? 2 * group.rank
                       : k.stop != DEFLATE_RUNS_ON ? 2 * group.rank + 1
                                                   : NONE;
        cut = hr_warp_min(cut);
        if (Group::WARPS > 1) {
            if (group.lane == 0 && cut != NONE) {
                atomicMin(&shared->cut, cut);
            }
            group.sync();
            cut = shared->cut;
        }
        const bool is_mine = cut >> 1 == group.rank;
        if (is_mine || (cut == NONE && group.rank == nlanes - 1)) {
            const bool is_whole = cut == NONE || (cut & 1) != 0;
            shared->end = is_whole ? k.at : entry;
            shared->nbytes = sums[1] - (is_whole ? 0 : k.nbytes);
            shared->parts_at =
                (((sums[0] - (is_whole ? 0 : k.counts)) >> 16) + 3) & ~UINT32_C(3);
            shared->is_end = is_whole && k.stop == DEFLATE_AT_END;
        }
        const bool is_kept =
            is_on && (group.rank < cut >> 1 || (is_mine && (cut & 1) != 0));
        group.sync();
        /* Behind a cut all lanes worked in vain: the next tile has few more. */
        const bool is_short = cut != NONE && shared->is_end == 0;
        nlanes = min(is_short ? max(8, cut & ~1U) + 2 : 4 * nlanes, Group::THREADS);
        return is_kept;
    }

    /* By one lane, which stops before what is wrong: where that is the first symbol, it
     * tells. */
    __device__ __forceinline__ void parse_one_by_one(const lz_buffer &buffer,
                                                     uint32_t base, const place &p) {
        constexpr uint32_t LITERALS = C::ROOM_NBYTES / 4, PARTS = C::PARTS - LITERALS / 4;
        const lz_tile tile = tile_of(buffer, LITERALS, base);
        group.sync();
        clear_words(buffer);
        group.sync();
        if (group.rank == 0) {
            const uint32_t first = lz_position(dst + produced) - tile.base;
            uint32_t at = p.begin, nparts = 0, nbytes = 0, nliterals = 0;
            bool was_literal = false;
            deflate_one q = {};
            HR_NO_UNROLL
            while (q.is_end == 0 && at < 8 * C::INPUT - 128 && nparts + 9 <= PARTS &&
                   nbytes + 258 <= C::OUTPUT - LZ_ROW && nliterals < LITERALS) {
                deflate_read_one(shared->input, shared->tables, at, p.end,
                                 produced - floor + nbytes,
                                 dst_nbytes - produced - nbytes, q);
                if (q.code != 0) {
                    shared->code = at == p.begin ? q.code : 0;
                    break;
                }
                at = q.end;
                if (q.is_literal) {
                    if (!was_literal) {
                        lz_put_literals(tile, nparts++, first + nbytes,
                                        buffer.bytes_at + nliterals);
                    }
                    buffer.bytes[nliterals++] = (uint8_t)q.literal;
                } else if (q.nbytes > 0) {
                    nparts = lz_put_match<C::SINGLES>(tile, nparts, first + nbytes,
                                                      q.offset, q.nbytes);
                }
                was_literal = q.is_literal != 0;
                nbytes += q.nbytes;
            }
            shared->end = at;
            shared->nbytes = nbytes;
            shared->parts_at = LITERALS;
            shared->is_end = q.code == 0 && q.is_end != 0;
        }
        group.sync();
    }

    __device__ __forceinline__ void prefetch() const {
        const uint32_t ahead = group.rank * 128, at = (uint32_t)(consumed >> 3);
        if (ahead < C::INPUT_NBYTES && ahead < src_nbytes - at) {
            hr_prefetch(src + at + ahead);
        }
    }
};

#endif
