/* Zstandard's frames, drawn: valid ones, of every kind that RFC 8878 allows and most that
 * no encoder writes. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_ZSTD_WRITER_H
#define HR_KERN_ZSTD_WRITER_H

#include <stdbool.h>
#include <stdint.h>

/* What frames may be like: groups of modes, and a bit for each that is to be reached. */
#define ZSTD_MODES(X)                                                                    \
    X(FRAMES, 0xE)         /* how many there are */                                      \
    X(SKIPPABLE, 0xFFFF)   /* which magic number */                                      \
    X(SEGMENT, 3)          /* with a window, single */                                   \
    X(WINDOW, 7)           /* holds the frame, is smaller, is the largest there is */    \
    X(CONTENT_SIZE, 0x117) /* its width in bytes */                                      \
    X(DICTIONARY_ID, 0x17) /* likewise */                                                \
    X(UNUSED_BIT, 3)       /* of the descriptor */                                       \
    X(CHECKSUM, 3)         /* without, with */                                           \
    X(BLOCK, 7)            /* its kind; one that is empty; one of 128 KiB */             \
    X(EMPTY_BLOCK, 7)                                                                    \
    X(LARGEST_BLOCK, 7)                                                                  \
    X(RAW_LITERALS, 11) /* by the format of their sizes */                               \
    X(SAME_LITERALS, 11)                                                                 \
    X(CODED_LITERALS, 15)                                                                \
    X(TREELESS_LITERALS, 15)                                                             \
    X(TREE_WEIGHTS, 7) /* plain, in a code of 32 states, of 64 */                        \
    X(TREE_DEPTH, 0xFFE)                                                                 \
    X(TREE_SYMBOLS, 0x1FE) /* the logarithm of how many */                               \
    X(NSEQUENCES, 0x1F)    /* none; in 1 to 3 bytes; in 2 where 1 would do */            \
    X(LENGTH_TABLE, 15)    /* predefined, one symbol, described, repeated */             \
    X(OFFSET_TABLE, 15)                                                                  \
    X(MATCH_TABLE, 15)                                                                   \
    X(LENGTH_STATES, 0x3E0) /* the logarithm of how many */                              \
    X(OFFSET_STATES, 0x1E0)                                                              \
    X(MATCH_STATES, 0x3E0)                                                               \
    X(COUNTS, 0xFF) /* a set, as zstd_fse_put returns it */                              \
    X(LENGTH_CODE, (UINT64_C(1) << 36) - 1)                                              \
    X(OFFSET_CODE, (UINT64_C(1) << 18) - 1)                                              \
    X(MATCH_CODE, (UINT64_C(1) << 53) - 1)                                               \
    X(REPEAT, 15)         /* which offset; 3: the last less one */                       \
    X(EARLIER_REPEAT, 15) /* likewise, of a block's first sequence */                    \
    X(MATCH, 15)          /* overlaps; has offset 1, the window, the frame so far */

#define ZSTD_MODE(name, wanted) ZSTD_##name,
typedef enum zstd_group { ZSTD_MODES(ZSTD_MODE) ZSTD_NGROUPS } zstd_group;

/* A stream, what it makes, and which modes it has. */
typedef struct zstd_drawn {
    uint8_t *stream, *raw;
    uint32_t stream_nbytes, raw_nbytes;
    uint64_t reached[ZSTD_NGROUPS];
} zstd_drawn;

/* Always the same for a number. Every eighth makes more than a block can, every 256th 4
 * MiB. */
void zstd_draw(uint64_t number, zstd_drawn *out);
/* One that makes so many bytes. */
void zstd_draw_sized(uint64_t number, uint32_t nbytes, zstd_drawn *out);
void zstd_drawn_free(zstd_drawn *d);
/* libzstd makes the same of it. */
bool zstd_agrees(const zstd_drawn *d);

/* The streams from number 0 on that reach all modes. */
#define ZSTD_ENOUGH 120
/* Prints which modes are missing; how many groups have such. */
uint32_t zstd_print_missing(const uint64_t reached[ZSTD_NGROUPS]);

#endif
