/* Zstandard in slabs. SPDX-License-Identifier: Apache-2.0 */
#include "exec/slab_zstd.h"

_Static_assert(HR__ZSTD_MOST_NBYTES == HR_K_ZSTD_MAX_NBYTES &&
                   (int)HR__ZSTD_CODED == HR_K_ZSTD_CODED &&
                   (int)HR__ZSTD_DESCRIBED == HR_K_ZSTD_DESCRIBED,
               "kernel_abi.h disagrees");

static uint32_t frame_nbytes(const hr__zstd_block *b) {
    return b->content_nbytes == HR__SIZE_UNKNOWN      ? HR_K_ZSTD_ANY
           : b->content_nbytes < HR_K_ZSTD_MAX_NBYTES ? (uint32_t)b->content_nbytes
                                                      : HR_K_ZSTD_MAX_NBYTES;
}

hr_k_zstd_block hr__slab_zstd_block(const hr__zstd_block *b, hr__devptr *scratch) {
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
                         .checksum = b->checksum,
                         .made_sequences = *scratch,
                         .made_literals = *scratch + hr__zstd_sequences_room(b)};
    for (int code = 0; code < HR__ZSTD_NCODES; code++) {
        k.table_kinds[code] = (uint32_t)b->tables[code].kind;
        k.tables[code] = b->tables[code].at;
    }
    *scratch = k.made_literals + hr__zstd_literals_room(b);
    return k;
}
