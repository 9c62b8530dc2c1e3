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

/* Sequences between two barriers. When a group begins, bits are there that were brought
 * two groups ago, for what the ring had room for then: three groups have to fit, and 32
 * bytes. A state takes up to 9 bits, or 8, an offset up to 31 more; and lengths no more
 * than 1,000 all together, which is where 96 of them make a block of 128 KiB, each having
 * fewer extra bits than itself has. That is 499 bytes. (If they make more, the block is
 * refused, whatever follows.) */
#define ZSTD_GROUP 16

/* The 64 bits from where a sequence begins, the sum of its entries, and the complement of
 * the place of the first bit. */
struct alignas(16) zstd_record {
    uint32_t bits[2], sum, past;
};

/* Of a block, behind the groups so far. */
struct zstd_tally {
    uint32_t last[3]; /* offsets */
    uint32_t nliterals, nbytes, code, nlongs;
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

/* A chain. How long a step takes is a matter of what waits for what, and of how many
 * instructions shift and select: a multiprocessor takes two clocks for each, while
 * products and addresses go beside them. So entries are laid out to be summed up. */
struct zstd_chain {
    uint32_t ring;                       /* names in shared memory: of its last word, */
    uint32_t literals, offsets, matches; /* of tables */
    uint32_t past;     /* the complement of the next bit's place: what funnel shifts take
                          to have it in front */
    uint32_t words[4]; /* from the one with that bit on, downwards; the last if far */
    uint32_t literal, offset, match; /* entries */

    __device__ __forceinline__ zstd_chain(const zstd_chains &chains, uint32_t lane,
                                          const zstd_place &place)
        : ring(hr_shared_name(chains.rings[lane] + 16 + ZSTD_RING_NBYTES - 4)),
          literals(hr_shared_name(chains.tables + lane * ZSTD_TABLES_STRIDE)),
          offsets(literals + ZSTD_TABLE_OFFSETS * 4),
          matches(literals + ZSTD_TABLE_MATCHES * 4), past((uint32_t)-place.end),
          literal(0), offset(0), match(0) {}

    __device__ __forceinline__ int32_t first() const {
        return (int32_t)~past;
    }
    template <bool IS_FAR = false> __device__ __forceinline__ void load() {
        const uint32_t at = ring - (past >> 3 & (ZSTD_RING_NBYTES - 4));
        HR_UNROLL
        for (uint32_t i = 0; i < (IS_FAR ? 4 : 3); i++) {
            words[i] = hr_load_named(at - 4 * i);
        }
    }
    /* The next n bits, n < 32. */
    __device__ __forceinline__ uint32_t take(uint32_t n) {
        load();
        const uint32_t bits = __funnelshift_l(words[1], words[0], past);
        past += n;
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
    /* Funnel shifts look at the low five bits of how far. The next entries are what is
     * waited for, so they are loaded first, and what was found is written last. True if
     * it is wrong, as states' bits lie 32 behind the first or more: to be done again with
     * IS_FAR. */
    template <bool IS_FAR> __device__ __forceinline__ bool step(zstd_record &record) {
        const uint32_t x0 = __funnelshift_l(words[1], words[0], past);
        const uint32_t x1 = __funnelshift_l(words[2], words[1], past);
        const uint32_t sum = literal + offset + match, nextra = sum >> 16;
        const bool is_far = (sum & 32U << 16) != 0;
        uint32_t bits = __funnelshift_l(x1, x0, nextra);
        if (IS_FAR && is_far) {
            bits = __funnelshift_l(__funnelshift_l(words[3], words[2], past), x1, nextra);
        }
        const uint32_t begin = past;
        past = hr_dot4(sum & 0x003F001F, 0x00010001, past);
        const uint32_t l = __funnelshift_l(bits, 0, literal);
        const uint32_t m = __funnelshift_l(__funnelshift_l(0, bits, literal), 0, match);
        const uint32_t o =
            __funnelshift_l(__funnelshift_l(0, bits, literal + match), 0, offset);
        literal = follow(literals, literal, l);
        match = follow(matches, match, m);
        offset = follow(offsets, offset, o);
        load<IS_FAR>();
        record = {{x0, x1}, sum, begin};
        return !IS_FAR && is_far;
    }
};

#endif
