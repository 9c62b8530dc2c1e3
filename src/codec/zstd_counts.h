/* Normalised counts, as Zstandard writes its tables down.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_ZSTD_COUNTS_H
#define HR_CODEC_ZSTD_COUNTS_H

#include <stdint.h>

typedef struct hr__zstd_limits {
    uint32_t max_symbol, max_log;
} hr__zstd_limits;

/* The bytes that a description takes of the n at src; 0 if it is malformed: not inside
 * them, beyond the limits, or counts that do not add up to 2^log. */
uint32_t hr__zstd_counts_nbytes(const uint8_t *src, uint32_t n,
                                const hr__zstd_limits *limits);

#endif
