/* Zstandard's sequences: the tables of their codes, and the offsets in the end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_ZSTD_SEQUENCES_CUH
#define HR_CUDA_ZSTD_SEQUENCES_CUH

#include "zstd_code.cuh"

#define ZSTD_NO_TABLE UINT32_MAX

/* What symbols stand for: the least length | extra bits << 20. */
static __device__ const uint32_t zstd_literal_lengths[36] = {0,
                                                             1,
                                                             2,
                                                             3,
                                                             4,
                                                             5,
                                                             6,
                                                             7,
                                                             8,
                                                             9,
                                                             10,
                                                             11,
                                                             12,
                                                             13,
                                                             14,
                                                             15,
                                                             16 | 1 << 20,
                                                             18 | 1 << 20,
                                                             20 | 1 << 20,
                                                             22 | 1 << 20,
                                                             24 | 2 << 20,
                                                             28 | 2 << 20,
                                                             32 | 3 << 20,
                                                             40 | 3 << 20,
                                                             48 | 4 << 20,
                                                             64 | 6 << 20,
                                                             128 | 7 << 20,
                                                             256 | 8 << 20,
                                                             512 | 9 << 20,
                                                             1024 | 10 << 20,
                                                             2048 | 11 << 20,
                                                             4096 | 12 << 20,
                                                             8192 | 13 << 20,
                                                             16384 | 14 << 20,
                                                             32768 | 15 << 20,
                                                             65536 | 16 << 20};
static __device__ const uint32_t zstd_match_lengths[53] = {3,
                                                           4,
                                                           5,
                                                           6,
                                                           7,
                                                           8,
                                                           9,
                                                           10,
                                                           11,
                                                           12,
                                                           13,
                                                           14,
                                                           15,
                                                           16,
                                                           17,
                                                           18,
                                                           19,
                                                           20,
                                                           21,
                                                           22,
                                                           23,
                                                           24,
                                                           25,
                                                           26,
                                                           27,
                                                           28,
                                                           29,
                                                           30,
                                                           31,
                                                           32,
                                                           33,
                                                           34,
                                                           35 | 1 << 20,
                                                           37 | 1 << 20,
                                                           39 | 1 << 20,
                                                           41 | 1 << 20,
                                                           43 | 2 << 20,
                                                           47 | 2 << 20,
                                                           51 | 3 << 20,
                                                           59 | 3 << 20,
                                                           67 | 4 << 20,
                                                           83 | 4 << 20,
                                                           99 | 5 << 20,
                                                           131 | 7 << 20,
                                                           259 | 8 << 20,
                                                           515 | 9 << 20,
                                                           1027 | 10 << 20,
                                                           2051 | 11 << 20,
                                                           4099 | 12 << 20,
                                                           8195 | 13 << 20,
                                                           16387 | 14 << 20,
                                                           32771 | 15 << 20,
                                                           65539 | 16 << 20};

/* Counts of the predefined tables; 255: less than one. */
static __device__ const uint8_t zstd_predefined[3][53] = {
    {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,   1,   2,   2,
     2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, 255, 255, 255, 255},
    {1, 1, 1, 1, 1, 1, 2, 2, 2, 1,   1,   1,   1,   1,  1,
     1, 1, 1, 1, 1, 1, 1, 1, 1, 255, 255, 255, 255, 255},
    {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,   1,   1,   1,   1,   1,   1,  1,
     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,   1,   1,   1,   1,   1,   1,  1,
     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 255, 255, 255, 255, 255, 255, 255}};

static __device__ __forceinline__ uint32_t zstd_max_symbol(uint32_t code) {
    return code == 0 ? 35 : code == 1 ? 31 : 52;
}

/* Of literals and of matches, for each symbol. */
typedef uint32_t zstd_lengths[2][64];

/* What entries of the three tables say of a symbol, so that a sum of three says it all:
 * in bits 16 to 21 how many extra bits there are, an offset's symbol being that itself;
 * in bits 5 to 15 the literals' symbol, so many times the matches', and that of these. */
#define ZSTD_NMATCHES 53

struct zstd_said {
    const zstd_lengths &lengths;
    uint32_t code;
    __device__ __forceinline__ uint32_t operator()(uint32_t symbol) const {
        if (code == 1) {
            return symbol << 16;
        }
        const uint32_t nextra = lengths[code / 2][symbol] >> 20;
        return nextra << 16 | (code == 0 ? symbol * ZSTD_NMATCHES : symbol) << 5;
    }
};
static __device__ __forceinline__ uint32_t zstd_said_literal(uint32_t sum) {
    return (sum >> 5 & 2047) / ZSTD_NMATCHES;
}
static __device__ __forceinline__ uint32_t zstd_said_match(uint32_t sum) {
    return (sum >> 5 & 2047) % ZSTD_NMATCHES;
}
static __device__ __forceinline__ uint32_t zstd_said_nextra(uint32_t sum) {
    return sum >> 16 & 63;
}

/* Make the table of a block's code; its log. */
static __device__ __forceinline__ uint32_t zstd_build(uint32_t *table, uint16_t *counts,
                                                      const zstd_lengths &lengths,
                                                      uint32_t code,
                                                      const hr_k_zstd_block *b,
                                                      uint64_t src, uint32_t src_nbytes) {
    const zstd_said said = {lengths, code};
    const uint32_t max_symbol = zstd_max_symbol(code);
    uint32_t log = code == 1 ? 5 : 6;
    if (b->table_kinds[code] == HR_K_ZSTD_SINGLE) {
        const uint32_t symbol = min(lz_load_u8(src + b->tables[code]), max_symbol);
        table[0] = zstd_entry(0, said(symbol), 0);
        return 0;
    }
    if (b->table_kinds[code] == HR_K_ZSTD_PREDEFINED) {
        for (uint32_t i = 0; i <= max_symbol; i++) {
            const uint32_t n = zstd_predefined[code][i];
            counts[i] = (uint16_t)(n == 255 ? 0xFFFF : n);
        }
    } else {
        zstd_forward in = {src + b->tables[code], src + src_nbytes, 0};
        log = zstd_read_counts(in, counts, max_symbol, code == 1 ? 8 : 9);
        if (log == 0) {
            return ZSTD_NO_TABLE;
        }
    }
    zstd_make_table(table, counts, max_symbol, log, said);
    return log;
}

static __device__ __forceinline__ bool zstd_makes_literals(const hr_k_zstd_block *b) {
    return b->kind == HR_K_ZSTD_CODED && b->literals_kind != HR_K_ZSTD_RAW;
}

/* A thread goes through the blocks of a stream: places in the output, and offsets. */
extern "C" __global__ void __launch_bounds__(32)
    hr_k_zstd_offsets_kernel(const __grid_constant__ hr_k_zstd p) {
    const uint32_t *firsts = hr_global<const uint32_t>(p.first_blocks);
    HR_NO_UNROLL
    for (uint32_t s = blockIdx.x * 32 + threadIdx.x; s < p.streams.ntasks;
         s += gridDim.x * 32) {
        const hr_k_task *task = hr_global<const hr_k_task>(p.streams.tasks) + s;
        const uint64_t dst = task->dst;
        const uint32_t dst_nbytes = task->dst_nbytes;
        uint32_t at = 0, frame = 0, last[3] = {1, 4, 8};
        for (uint32_t i = firsts[s]; i < firsts[s + 1]; i++) {
            const hr_k_zstd_block *b = zstd_block(p, i);
            hr_k_zstd_result *result = zstd_result(p, i), r = *result;
            const uint32_t nsequences = b->nsequences, nliterals = b->nliterals;
            const uint32_t begins_frame = b->begins_frame, expected = b->frame_nbytes;
            if (begins_frame != 0) {
                frame = at;
                last[0] = 1;
                last[1] = 4;
                last[2] = 8;
            }
            uint32_t behind[3];
            for (uint32_t k = 0; k < 3; k++) {
                behind[k] = nsequences > 0 ? zstd_offset(r.offsets[k], last) : last[k];
            }
            for (uint32_t k = 0; k < 3; k++) {
                r.offsets[k] = last[k];
                last[k] = behind[k];
            }
            const uint32_t nbytes = nsequences > 0 ? r.nbytes : nliterals;
            /* Of later blocks: they are not to be reached. */
            const uint32_t nlater = (uint32_t)(dst + dst_nbytes - b->made_literals) -
                                    (zstd_makes_literals(b) ? nliterals : 0);
            r.begin = at;
            r.frame_begin = frame;
            bool is_good = (r.literals_code | r.sequences_code) == 0;
            if (is_good &&
                (nbytes > dst_nbytes - at || nlater > dst_nbytes - at - nbytes)) {
                r.sequences_code = HR_K_TOO_LONG;
                is_good = false;
            }
            const uint32_t frame_nbytes = at - frame + nbytes;
            if (is_good && expected != HR_K_ZSTD_ANY && expected != frame_nbytes) {
                r.sequences_code =
                    frame_nbytes < expected ? HR_K_TOO_SHORT : HR_K_TOO_LONG;
                is_good = false;
            }
            r.nbytes = is_good ? nbytes : r.nbytes;
            *result = r;
            if (!is_good) {
                break; /* nobody goes on behind it */
            }
            at += nbytes;
        }
    }
}

#endif
