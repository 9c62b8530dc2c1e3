/* Arrays in files whose chunks repeat, so that large ones take little room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_ENGINE_ARRAY_H
#define HR_BENCH_ENGINE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

enum { ARRAY_COLUMNS = 2048, ARRAY_NDISTINCT = 61 };
#define ARRAY_ROW_NBYTES (ARRAY_COLUMNS * sizeof(uint16_t))

/* uint16 of shape (nchunks · rows of a chunk, ARRAY_COLUMNS), chunk i of it a link to
 * chunk i % ARRAY_NDISTINCT. */
typedef struct array {
    const char *folder, *codec; /* "raw", "zstd", "lz4" (Blosc, shuffled) */
    uint16_t noise;             /* so many values are equally likely */
    uint64_t nchunks, chunk_nbytes;
    uint8_t *distinct; /* the decoded bytes of the first ARRAY_NDISTINCT */
    char path[512];
} array;

/* Write one into a folder that exists. False: errno says why. Free it with array_free in
 * any case. */
bool array_write(array *a);
void array_free(array *a);
uint64_t array_nbytes(const array *a);
/* Do these rows, from `row` on, hold what they should? They are columns
 * column … column + ncolumns of the array. */
bool array_holds(const array *a, const uint8_t *bytes, uint64_t row, uint64_t nrows,
                 uint64_t column, uint64_t ncolumns);

#endif
