/* Ways through symbols of a Deflate block from wherever they may begin.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where nearly all codes have one length, as those of random bytes have, a decoder that
 * starts at a wrong bit never falls in step. Then each lane finds out for every bit of
 * its segment where symbols that begin there leave it, from the last bit to the first: a
 * symbol's way is that of the bit behind it. Then the true way takes one look a lane. */
#ifndef HR_CUDA_DEFLATE_EXITS_CUH
#define HR_CUDA_DEFLATE_EXITS_CUH

#include "deflate_walk.cuh"

/* Bits behind a segment's end where ways may leave it, and a number for those that end
 * before: with the block, or at what is no symbol. */
static constexpr uint32_t DEFLATE_EXITS = 64, DEFLATE_NO_EXIT = DEFLATE_EXITS - 1;
static_assert(DEFLATE_SYMBOL_NBITS < DEFLATE_EXITS, "no symbol is longer");

/* In shared memory: a byte for each lane and each of the last bits that were treated, and
 * for each warp what its lanes make of each first bit. The bytes of lanes are apart by
 * other than a multiple of the banks. */
template <uint32_t THREADS> struct deflate_exits {
    uint8_t of_lane[DEFLATE_EXITS][THREADS + 4];
    uint8_t of_warp[THREADS / 32][DEFLATE_EXITS];
};

/* Bits of the symbol at the beginning of `low`, two bits early; 0 if it is none, or the
 * block's end. */
template <uint32_t LOG>
static __device__ __forceinline__ uint32_t deflate_behind(const deflate_tables<LOG> &t,
                                                          const deflate_lookup<LOG> &look,
                                                          uint32_t low, uint32_t high) {
    uint32_t e = look.literal(low), f = 0, more = 0;
    if (!deflate_is_literal(e)) {
        more = __funnelshift_r(low, high, e);
        f = look.distance(more);
    }
    bool is_good = true;
    if (((e & DEFLATE_IS_SPECIAL) | (f & DEFLATE_IS_NO_DISTANCE)) != 0) {
        is_good = deflate_look_closer(t, low, high, e, more, f);
    }
    return is_good ? (e & 31) + (f & 31) : 0;
}

/* Note the lane's exits, from `begin` to `end`, in bits of the input. (A call, so that it
 * takes no registers from what goes on.) input_at, tables_at, exits_at: in shared memory.
 */
template <uint32_t LOG, uint32_t THREADS>
static __device__ HR_NO_INLINE void
deflate_note_exits(uint32_t rank, uint32_t input_at, uint32_t tables_at,
                   uint32_t exits_at, uint32_t begin, uint32_t end) {
    constexpr uint32_t AT_ONCE = 4;
    const deflate_tables<LOG> &t =
        *(const deflate_tables<LOG> *)(hr_shared() + tables_at);
    deflate_exits<THREADS> &exits = *(deflate_exits<THREADS> *)(hr_shared() + exits_at);
    const deflate_lookup<LOG> look = {hr_shared_name(t.literals),
                                      hr_shared_name(t.distances)};
    const uint32_t origin = 8 * hr_shared_name(hr_shared() + input_at) - DEFLATE_BEFORE;
    const uint32_t first = origin + begin, last = origin + end;
    uint32_t at = last; /* all from here on are noted */
    HR_NO_UNROLL
    while (at > first) {
        const uint32_t word = (at - 1) >> 3 & ~3U, least = max(first, word << 3);
        const uint32_t a = hr_load_named(word), b = hr_load_named(word + 4);
        const uint32_t c = hr_load_named(word + 8);
        HR_NO_UNROLL
        while (at > least) {
            uint32_t next[AT_ONCE], found[AT_ONCE];
            HR_UNROLL
            for (uint32_t i = 0; i < AT_ONCE; i++) {
                const uint32_t low = __funnelshift_r(a, b, at - 1 - i);
                next[i] = deflate_behind(t, look, low, __funnelshift_r(b, c, at - 1 - i));
            }
            HR_UNROLL
            for (uint32_t i = 0; i < AT_ONCE; i++) {
                const uint32_t n = next[i];
                next[i] += at - 1 - i;
                found[i] = n == 0 ? DEFLATE_NO_EXIT : next[i] - last;
                if (n != 0 && next[i] < last) {
                    found[i] = exits.of_lane[(next[i] - first) % DEFLATE_EXITS][rank];
                }
            }
            HR_UNROLL
            for (uint32_t i = 1; i < AT_ONCE; i++) {
                HR_UNROLL
                for (uint32_t k = 0; k < i; k++) { /* those are not noted yet */
                    found[i] = next[i] == at - 1 - k ? found[k] : found[i];
                }
            }
            HR_UNROLL
            for (uint32_t i = 0; i < AT_ONCE; i++) {
                if (at - i > least) {
                    exits.of_lane[(at - 1 - i - first) % DEFLATE_EXITS][rank] =
                        (uint8_t)found[i];
                }
            }
            at = at - least > AT_ONCE ? at - AT_ONCE : least;
        }
    }
    exits.of_lane[DEFLATE_NO_EXIT][rank] = DEFLATE_NO_EXIT;
}

/* Where the true way, from the first lane's first bit on, enters the lane's segment:
 * counted from its begin, or NO_EXIT. The group leaves in step. */
template <class Group>
static __device__ __forceinline__ uint32_t
deflate_enter(const Group &group, deflate_exits<Group::THREADS> &exits) {
    const uint32_t first = group.warp * 32;
    uint32_t ways[2] = {group.lane, group.lane + 32};
    __syncwarp();
    HR_NO_UNROLL
    for (uint32_t i = 0; i < 32; i++) {
        HR_UNROLL
        for (uint32_t k = 0; k < 2; k++) {
            ways[k] = exits.of_lane[ways[k]][first + i] % DEFLATE_EXITS;
        }
    }
    HR_UNROLL
    for (uint32_t k = 0; k < 2; k++) {
        exits.of_warp[group.warp][group.lane + 32 * k] = (uint8_t)ways[k];
    }
    group.sync();
    uint32_t way = 0, mine = 0;
    HR_NO_UNROLL
    for (uint32_t w = 0; w < group.warp; w++) {
        way = exits.of_warp[w][way];
    }
    HR_NO_UNROLL
    for (uint32_t i = 0; i < 32; i++) {
        mine = i == group.lane ? way : mine;
        way = exits.of_lane[way][first + i] % DEFLATE_EXITS;
    }
    group.sync();
    return mine;
}

#endif
