/* Zstandard's sequences: a chain of states, and what its lanes share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_ZSTD_CHAIN_CUH
#define HR_CUDA_ZSTD_CHAIN_CUH

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

/* The 64 bits from where a sequence begins, its symbols, and the place of the first. */
struct alignas(16) zstd_record {
    uint32_t bits[2], symbols;
    int32_t first;
};

/* Of a block, behind the groups so far. */
struct zstd_tally {
    uint32_t last[3]; /* offsets */
    uint32_t nliterals, nbytes, code;
};

struct alignas(16) zstd_chains {
    uint8_t rings[HR_K_ZSTD_CHAINS][16 + ZSTD_RING_NBYTES];
    union {
        zstd_record records[2][ZSTD_GROUP][HR_K_ZSTD_CHAINS];
        uint16_t counts[3 * HR_K_ZSTD_CHAINS][66]; /* apart in the banks, too */
    };
    zstd_lengths lengths;
    zstd_tally tallies[HR_K_ZSTD_CHAINS];
    int32_t firsts[2][HR_K_ZSTD_CHAINS]; /* places of the bits behind groups */
    int32_t ends[HR_K_ZSTD_CHAINS];      /* places behind the last sequences */
    uint32_t logs[3][HR_K_ZSTD_CHAINS];  /* ZSTD_NO_TABLE: it is wrong */
    uint32_t tables[HR_K_ZSTD_CHAINS * ZSTD_TABLES_STRIDE];
};

/* A chain. How long a step takes is a matter of what waits for what: entries give their
 * sum, the sum where the next bits lie, and its bits the next entries. */
struct zstd_chain {
    uint32_t ring;                       /* names in shared memory */
    uint32_t literals, offsets, matches; /* tables */
    int32_t first;                       /* the place of the next bit */
    uint32_t words[4];                   /* from the one with that bit on, downwards */
    uint32_t literal, offset, match;     /* entries */

    __device__ __forceinline__ zstd_chain(const zstd_chains &chains, uint32_t lane,
                                          const zstd_place &place)
        : ring(hr_shared_name(chains.rings[lane] + 16)),
          literals(hr_shared_name(chains.tables + lane * ZSTD_TABLES_STRIDE)),
          offsets(literals + ZSTD_TABLE_OFFSETS * 4),
          matches(literals + ZSTD_TABLE_MATCHES * 4), first(place.end - 1), literal(0),
          offset(0), match(0) {}

    __device__ __forceinline__ void load() {
        const uint32_t at = ring + ((uint32_t)first >> 3 & (ZSTD_RING_NBYTES - 4));
        HR_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            words[i] = hr_load_named(at - 4 * i);
        }
    }
    /* The next n bits, n < 32. */
    __device__ __forceinline__ uint32_t take(uint32_t n) {
        load();
        const uint32_t bits = __funnelshift_l(words[1], words[0], ~(uint32_t)first);
        first -= (int32_t)n;
        return __funnelshift_l(bits, 0, n);
    }
    __device__ __forceinline__ void begin(const uint32_t (&logs)[3]) {
        literal = hr_load_named_word(literals, take(logs[0]));
        offset = hr_load_named_word(offsets, take(logs[1]));
        match = hr_load_named_word(matches, take(logs[2]));
        load();
    }
    /* The entry behind another, whose base stands where it counts bytes. */
    static __device__ __forceinline__ uint32_t follow(uint32_t table, uint32_t entry,
                                                      uint32_t bits) {
        return hr_load_named_word(table + (entry >> 21), bits);
    }
    /* Funnel shifts look at the low five bits of how far. The next words are loaded
     * before the record is written, or they would be waited for, too. */
    __device__ __forceinline__ void step(zstd_record &record) {
        const uint32_t shift = ~(uint32_t)first;
        const uint32_t x0 = __funnelshift_l(words[1], words[0], shift);
        const uint32_t x1 = __funnelshift_l(words[2], words[1], shift);
        const uint32_t x2 = __funnelshift_l(words[3], words[2], shift);
        const uint32_t sum = literal + offset + match;
        const uint32_t near = __funnelshift_l(x1, x0, sum);
        const uint32_t far = __funnelshift_l(x2, x1, sum);
        const uint32_t bits = (sum & 32) != 0 ? far : near;
        const int32_t begin = first;
        first -= (int32_t)((sum & 127) + (sum >> 16 & 31));
        load();
        record = {{x0, x1},
                  __byte_perm(__byte_perm(literal, match, 0x0051), offset, 0x0510),
                  begin};
        const uint32_t nl = literal >> 16, nm = match >> 16;
        const uint32_t l = __funnelshift_l(bits, 0, nl);
        const uint32_t m = __funnelshift_l(__funnelshift_l(0, bits, nl), 0, nm);
        const uint32_t o =
            __funnelshift_l(__funnelshift_l(0, bits, nl + nm), 0, offset >> 16);
        literal = follow(literals, literal, l);
        match = follow(matches, match, m);
        offset = follow(offsets, offset, o);
    }
};

#endif
