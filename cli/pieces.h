/* A selection in pieces of bounded size. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PIECES_H
#define CLI_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "select.h"

typedef struct cli_pieces {
    const cli_selection *selection; /* borrowed */
    int64_t border[HR_MAX_NDIM];    /* array elements from cut to cut; 0 = no cut */
    int64_t at[HR_MAX_NDIM];        /* selected element where the next piece begins */
    int64_t run[HR_MAX_NDIM];       /* selected elements of it */
    bool is_done;
} cli_pieces;

/* Cut along chunk borders, so that few chunks are decoded twice, into pieces of about
 * budget_nbytes, but one chunk at least. With `in_order` only the first axis that the
 * result keeps is cut: the results of the pieces, one after the other, are the whole. */
void cli_pieces_begin(cli_pieces *pieces, const cli_selection *selection,
                      const int64_t *chunk_shape, uint64_t itemsize,
                      uint64_t budget_nbytes, bool in_order);
/* The next piece; its lists are borrowed from the selection (nothing to free). */
bool cli_pieces_next(cli_pieces *pieces, cli_selection *piece);

#endif
