/* Who decodes a Deflate stream. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_DEFLATE_TEAM_CUH
#define HR_CUDA_DEFLATE_TEAM_CUH

#include "deflate_check.cuh"
#include "deflate_header.cuh"
#include "lz_team.cuh"

/* What a team of Deflate's agrees on beside an LZ team (whose segment is its room for
 * literals: of 8 bits, or of 7 where data is shuffled):
 *   BITS      segment of a lane, in bits
 *   LEAD      bits before it that a lane starts at
 *   LOG       of the table of literals and lengths
 *   TIMES     how much longer output is than input, at most, before a tile is cut */
template <uint32_t PARSE, uint32_t MAKE, uint32_t BITS_, uint32_t LEAD_, uint32_t LOG_,
          uint32_t TIMES, uint32_t WINDOW_, uint32_t RING_, bool SINGLES_,
          uint32_t BLOCKS_>
struct deflate_team
    : lz_team<PARSE, MAKE, SINGLES_ ? BITS_ * 9 / 64 : BITS_ / 8, WINDOW_, RING_,
              (PARSE * 4 * BITS_ * 11 / 16 + 63) / 64 * 64,
              (PARSE * 4 * BITS_ * TIMES + 1023) / 1024 * 1024, SINGLES_, BLOCKS_> {
    static constexpr bool CHECKS = true;
    static constexpr uint32_t BITS = BITS_, LEAD = LEAD_, LOG = LOG_;
    static constexpr uint32_t INPUT_NBYTES = PARSE * 4 * BITS;
    static constexpr uint32_t INPUT = INPUT_NBYTES + 64 > DEFLATE_HEADER_NBYTES
                                          ? INPUT_NBYTES + 64
                                          : DEFLATE_HEADER_NBYTES;
    static constexpr uint32_t MOST_OF_LANE =
        deflate_team::OUTPUT - LZ_ROW - 259; /* and a literal and a match */
    static_assert(INPUT % 16 == 0, "it is brought by 16 bytes");
    static_assert(BITS * 4 <= deflate_team::PARTS, "one lane's parts fit in a tile");
    static_assert(BITS > 24 + DEFLATE_SYMBOL_NBITS && LEAD > 24, "less than a period");
    static_assert(deflate_team::PARTS + BITS * 4 < 65536 &&
                      deflate_team::STRETCH + BITS < 65536,
                  "they are summed up in 16 bits");

    /* Have the nbytes from `begin` on the checksum? check: its kind, as the wrapper's, in
     * the high half. room_at: free bytes in shared memory. Asked of the first thread that
     * makes output. (A call, so that it takes no registers from what goes on.) */
    static __device__ HR_NO_INLINE bool is_right(uint64_t begin, uint32_t nbytes,
                                                 uint64_t check, uint32_t room_at) {
        struct room {
            deflate_crc_tables tables;
            uint64_t sums[2 * deflate_team::Makers::WARPS];
        };
        static_assert(sizeof(room) <= deflate_team::STRETCH + deflate_team::PARTS * 4,
                      "a buffer has room");
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
