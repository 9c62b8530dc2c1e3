/* A block of sequences, drawn. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_ZSTD_BLOCK_H
#define HR_KERN_ZSTD_BLOCK_H

#include "kern/zstd_codes.h"
#include "kern/zstd_writer.h"

/* That a block makes, at most. */
#define ZSTD_BLOCK_NBYTES (UINT32_C(128) << 10)

/* What blocks take over from those before, and what they have reached. */
typedef struct zstd_memory {
    bool has_tree, has_tables;
    zstd_tree tree;
    zstd_fse tables[3]; /* of literal lengths, offsets, match lengths */
    uint32_t offsets[3];
    uint64_t reached[ZSTD_NGROUPS];
} zstd_memory;

typedef struct zstd_frame {
    uint64_t random;
    zstd_bytes out;
    uint8_t *raw;         /* of the frame: room for all that it makes */
    uint32_t made;        /* of that */
    uint64_t window;      /* how far offsets reach */
    uint32_t block_limit; /* bytes of a block, at most */
    zstd_memory memory;
} zstd_frame;

void zstd_reach(zstd_memory *m, zstd_group group, uint32_t mode);

/* The content of a block that makes up to so many bytes: appended to out and to the raw
 * bytes. It may be too large for a block. */
void zstd_write_block(zstd_frame *f, zstd_bytes *out, uint32_t nbytes);

/* Its literals' section: n of them, which are drawn. */
void zstd_write_literals(zstd_frame *f, zstd_bytes *out, uint8_t *literals, uint32_t n);

#endif
