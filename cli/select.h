/* NumPy-like selections as text. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SELECT_H
#define CLI_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <headrace/read.h>

/* One axis, resolved against the array's length: every index is in [0, length). */
typedef struct cli_axis {
    hr_axis_kind kind;
    int64_t start;    /* slice; or the integer */
    int64_t step;     /* slice; never 0 */
    int64_t count;    /* selected elements; 1 for an integer */
    int64_t *indices; /* list; count of them, inside the selection's storage */
} cli_axis;

/* A selection with one entry per axis of the array. */
typedef struct cli_selection {
    int32_t ndim;
    cli_axis axes[HR_MAX_NDIM];
    int64_t *storage; /* the numbers of all lists; owned */
} cli_selection;

typedef struct cli_select_error {
    size_t column; /* 1 = first byte of the text */
    char message[160];
} cli_select_error;

/* Parse `text` against an array of `shape`. NULL or blank text selects everything.
 * False with *error set on bad syntax, on too many axes and on an index out of bounds.
 * On success free with cli_select_free. */
bool cli_select_parse(const char *text, int32_t ndim, const int64_t *shape,
                      cli_selection *out, cli_select_error *error);
void cli_select_free(cli_selection *selection);

/* `count` ≥ 1 of the selected elements of an axis, from number `first` on. */
cli_axis cli_axis_part(const cli_axis *axis, int64_t first, int64_t count);
/* Keep every `step`-th selected element. */
void cli_axis_thin(cli_axis *axis, int64_t step);

/* Shape of the result: integers drop their axis. Returns its number of axes. */
int32_t cli_select_shape(const cli_selection *selection, int64_t shape[HR_MAX_NDIM]);

/* As the library takes it. The result borrows `axes` and the selection's storage. */
hr_selection cli_select_request(const cli_selection *selection,
                                hr_axis axes[HR_MAX_NDIM]);

#endif
