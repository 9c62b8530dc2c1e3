/* A selection in pieces of bounded size. SPDX-License-Identifier: Apache-2.0 */
#include "pieces.h"

static int64_t min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Selected elements that lie in one chunk, about. */
static int64_t per_chunk(const cli_axis *axis, int64_t chunk) {
    int64_t step = axis->step < 0 ? -axis->step : axis->step;
    int64_t n = axis->kind == HR_AXIS_SLICE ? (chunk - 1) / step + 1 : chunk;
    return min64(axis->count, n);
}

static int32_t first_kept_axis(const cli_selection *selection) {
    int32_t k = 0;
    while (k < selection->ndim && selection->axes[k].count <= 1) {
        k++;
    }
    return k;
}

void cli_pieces_begin(cli_pieces *pieces, const cli_selection *selection,
                      const int64_t *chunk_shape, uint64_t itemsize,
                      uint64_t budget_nbytes, bool in_order) {
    *pieces = (cli_pieces){.selection = selection};
    int32_t lead = first_kept_axis(selection);
    double nbytes = (double)itemsize;
    for (int32_t k = 0; k < selection->ndim; k++) {
        const cli_axis *axis = &selection->axes[k];
        bool may_cut = !in_order || k == lead;
        nbytes *= (double)(may_cut ? per_chunk(axis, chunk_shape[k]) : axis->count);
        pieces->is_done = pieces->is_done || axis->count == 0;
    }
    if (pieces->is_done) {
        return;
    }
    for (int32_t k = selection->ndim - 1; k >= 0; k--) {
        const cli_axis *axis = &selection->axes[k];
        double room = (double)budget_nbytes / nbytes; /* in times the piece of now */
        double all = (double)axis->count / (double)per_chunk(axis, chunk_shape[k]);
        if ((in_order && k != lead) || room >= all) {
            nbytes *= in_order && k != lead ? 1 : all;
            continue;
        }
        int64_t nchunks = room < 1 ? 1 : (int64_t)room;
        pieces->border[k] = nchunks * chunk_shape[k];
        nbytes *= (double)nchunks;
    }
}

/* Selected elements from `at` to the next cut. */
static int64_t run_length(const cli_axis *axis, int64_t at, int64_t border) {
    int64_t left = axis->count - at;
    if (border == 0 || axis->kind == HR_AXIS_INTEGER) {
        return left;
    }
    if (axis->kind == HR_AXIS_INDICES) {
        return min64(left, border);
    }
    int64_t element = axis->start + at * axis->step;
    int64_t offset = element % border;
    int64_t n = axis->step > 0 ? (border - 1 - offset) / axis->step + 1
                               : offset / -axis->step + 1;
    return min64(left, n);
}

bool cli_pieces_next(cli_pieces *pieces, cli_selection *piece) {
    if (pieces->is_done) {
        return false;
    }
    const cli_selection *whole = pieces->selection;
    *piece = (cli_selection){.ndim = whole->ndim};
    for (int32_t k = 0; k < whole->ndim; k++) {
        const cli_axis *axis = &whole->axes[k];
        pieces->run[k] = run_length(axis, pieces->at[k], pieces->border[k]);
        piece->axes[k] = cli_axis_part(axis, pieces->at[k], pieces->run[k]);
    }
    int32_t k = whole->ndim - 1;
    for (; k >= 0; k--) {
        pieces->at[k] += pieces->run[k];
        if (pieces->at[k] < whole->axes[k].count) {
            break;
        }
        pieces->at[k] = 0;
    }
    pieces->is_done = k < 0;
    return true;
}
