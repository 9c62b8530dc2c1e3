/* Undoing byte and bit shuffles. SPDX-License-Identifier: Apache-2.0
 *
 * src and dst hold nbytes each and do not overlap. */
#ifndef HR_CODEC_SHUFFLE_KERNELS_H
#define HR_CODEC_SHUFFLE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* src holds the first bytes of all whole items, then their second bytes, …; bytes after
 * the last whole item stand as they are. typesize ≥ 1. */
void hr__unshuffle(size_t typesize, size_t nbytes, const uint8_t *src, uint8_t *dst);

/* src holds the lowest bits of the first bytes of all items, eight items to a byte with
 * the first in the lowest bit, then their second bits, …. Blosc 1's rule for the rest: a
 * number of items that is no multiple of 8 is not shuffled at all. 1 ≤ typesize ≤ 255. */
void hr__bitunshuffle(size_t typesize, size_t nbytes, const uint8_t *src, uint8_t *dst);

#endif
