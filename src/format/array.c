/* Grids of chunks. SPDX-License-Identifier: Apache-2.0 */
#include "format/array.h"

int64_t hr__grid_find(const hr__grid_axis *g, int64_t i) {
    if (g->starts == NULL) {
        return i / g->chunk;
    }
    int64_t low = 0, high = g->nchunks; /* starts[low] ≤ i < starts[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (g->starts[middle] <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t hr__grid_start(const hr__grid_axis *g, int64_t chunk) {
    return g->starts == NULL ? chunk * g->chunk : g->starts[chunk];
}

int64_t hr__grid_length(const hr__grid_axis *g, int64_t chunk) {
    return g->starts == NULL ? g->chunk : g->starts[chunk + 1] - g->starts[chunk];
}
