/* Who decodes a Deflate stream. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_DEFLATE_TEAM_CUH
#define HR_CUDA_DEFLATE_TEAM_CUH

#include "deflate_check.cuh"
#include "deflate_header.cuh"
#include "lz_team.cuh"

/* What a team of Deflate's agrees on beside an LZ team:
 *   BITS      segment of a lane, in bits
 *   LEAD      bits before it that a lane starts at
 *   LOG       of the table of literals and lengths
 *   ROOM      of a tile, for parts and literals together: so many words to 16 bytes of
 *             input
 *   TIMES     how much longer output is than input, at most, before a tile is cut
 *   EVEN      tiles share evenly what a block is expected to have */
template <uint32_t PARSE, uint32_t MAKE, uint32_t BITS_, uint32_t LEAD_, uint32_t LOG_,
          uint32_t ROOM, uint32_t TIMES, uint32_t WINDOW_, uint32_t RING_, bool SINGLES_,
          bool EVEN_, uint32_t BLOCKS_>
struct deflate_team
    : lz_team<PARSE, MAKE, 0, WINDOW_, RING_,
              (PARSE * 4 * BITS_ * ROOM / 16 + 63) / 64 * 64,
              (PARSE * 4 * BITS_ * TIMES + 1023) / 1024 * 1024, SINGLES_, BLOCKS_> {
    static constexpr bool CHECKS = true;
    static constexpr uint32_t BITS = BITS_, LEAD = LEAD_, LOG = LOG_;
    static constexpr bool EVEN = EVEN_;
    /* Ways from every bit where lanes stay out of step: bytes that are shuffled are
     * random by the row. */
    static constexpr bool EXITS = SINGLES_ && PARSE >= 8;
    static constexpr uint32_t ROOM_NBYTES = 4 * deflate_team::PARTS;
    static constexpr uint32_t INPUT_NBYTES = PARSE * 4 * BITS;
    static constexpr uint32_t INPUT = INPUT_NBYTES + 64 > DEFLATE_HEADER_NBYTES
                                          ? INPUT_NBYTES + 64
                                          : DEFLATE_HEADER_NBYTES;
    static constexpr uint32_t MOST_OF_LANE =
        deflate_team::OUTPUT - LZ_ROW - 259; /* and a literal and a match */
    static_assert(INPUT % 16 == 0, "it is brought by 16 bytes");
    static_assert(BITS * 17 <= ROOM_NBYTES, "what one lane makes fits in a tile");
    static_assert(BITS > 24 + DEFLATE_SYMBOL_NBITS && LEAD > 24, "less than a period");
    static_assert(ROOM_NBYTES + BITS * 4 < 65536, "both are summed up in 16 bits");

    /* Have the nbytes from `begin` on the checksum? check: its kind, as the wrapper's, in
     * the high half. room_at: free bytes in shared memory. Asked of the first thread that
     * makes output. (A call, so that it takes no registers from what goes on.) */
    static __device__ HR_NO_INLINE bool is_right(uint64_t begin, uint32_t nbytes,
                                                 uint64_t check, uint32_t room_at) {
        struct room {
            deflate_crc_tables tables;
            uint64_t sums[2 * deflate_team::Makers::WARPS];
        };
        static_assert(sizeof(room) <= ROOM_NBYTES, "a buffer has room");
        const typename deflate_team::Makers group;
        room &r = *(room *)(hr_shared() + room_at);
        const uint32_t actual =
            (uint32_t)(check >> 32) == HR_K_DEFLATE_GZIP
                ? deflate_crc(group, begin, nbytes, r.tables, (uint32_t *)r.sums)
                : deflate_adler(group, begin, nbytes, r.sums);
        return actual == (uint32_t)check;
    }
};

#endif
