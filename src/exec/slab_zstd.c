/* Zstandard in slabs. SPDX-License-Identifier: Apache-2.0 */
#include "exec/slab_zstd.h"

_Static_assert(HR__ZSTD_MOST_NBYTES == HR_K_ZSTD_MAX_NBYTES &&
                   HR__ZSTD_MOST_SEQUENCES == HR_K_ZSTD_MOST_SEQUENCES &&
                   (int)HR__ZSTD_CODED == HR_K_ZSTD_CODED &&
                   (int)HR__ZSTD_DESCRIBED == HR_K_ZSTD_DESCRIBED,
               "kernel_abi.h disagrees");

static uint32_t frame_nbytes(const hr__zstd_block *b) {
    return b->content_nbytes == HR__SIZE_UNKNOWN      ? HR_K_ZSTD_ANY
           : b->content_nbytes < HR_K_ZSTD_MAX_NBYTES ? (uint32_t)b->content_nbytes
                                                      : HR_K_ZSTD_MAX_NBYTES;
}

static hr_k_zstd_block block_of(const hr__zstd_block *b) {
    hr_k_zstd_block k = {.at = b->at,
                         .begins_frame = b->begins_frame,
                         .kind = (uint32_t)b->kind,
                         .literals_kind = (uint32_t)b->literals_kind,
                         .literals = b->literals,
                         .literals_nbytes = b->literals_nbytes,
                         .nliterals = b->nliterals,
                         .nstreams = b->nstreams,
                         .tree = b->tree,
                         .nsequences = b->nsequences,
                         .sequences = b->sequences,
                         .sequences_nbytes = b->sequences_nbytes,
                         .max_nbytes = b->max_nbytes,
                         .frame_nbytes = frame_nbytes(b),
                         .has_checksum = b->has_checksum,
                         .checksum = b->checksum};
    for (int code = 0; code < HR__ZSTD_NCODES; code++) {
        k.table_kinds[code] = (uint32_t)b->tables[code].kind;
        k.tables[code] = b->tables[code].at;
    }
    return k;
}

void hr__slab_zstd_blocks(const hr__zstd_block *blocks, uint32_t n, const hr_k_task *task,
                          hr__devptr scratch, hr_k_zstd_block *out) {
    hr__devptr literals = task->dst + task->dst_nbytes;
    for (uint32_t i = n; i-- > 0;) {
        literals -= hr__zstd_made_literals(&blocks[i]);
        out[i] = block_of(&blocks[i]);
        out[i].made_literals = literals;
    }
    for (uint32_t i = 0; i < n; i++) {
        const hr__zstd_room room = hr__zstd_room_of(&blocks[i], task->dst_nbytes);
        out[i].made_words = scratch;
        out[i].made_longs = scratch + room.longs;
        out[i].most_longs = room.most_longs;
        out[i].farthest = room.farthest;
        out[i].offset_bits = room.offset_bits;
        out[i].match_bits = room.match_bits;
        scratch += room.nbytes;
    }
}
