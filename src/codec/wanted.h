/* Which bytes of a chunk somebody wants. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_WANTED_H
#define HR_CODEC_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HR__WANTED_NBITS 1024

/* Of the decoded chunk, by granules. What is not wanted need not be made, and may hold
 * anything. */
typedef struct hr__wanted {
    uint64_t granule_nbytes;
    uint64_t bits[HR__WANTED_NBITS / 64];
} hr__wanted;

static inline bool hr__wanted_has(const hr__wanted *w, uint64_t granule) {
    return (w->bits[granule / 64] >> granule % 64 & 1) != 0;
}

/* Is any of the bytes lo to hi − 1 wanted? NULL: all are. */
static inline bool hr__wanted_any(const hr__wanted *w, uint64_t lo, uint64_t hi) {
    if (w == NULL) {
        return true;
    }
    uint64_t g = lo / w->granule_nbytes;
    while (g * w->granule_nbytes < hi && !hr__wanted_has(w, g)) {
        g++;
    }
    return g * w->granule_nbytes < hi;
}

#endif
