/* Reading files that are not in the page cache, in several ways.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_HOST_COLD_H
#define BENCH_HOST_COLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One read: `nbytes` of a file, to their place in the output. */
typedef struct piece {
    uint64_t file, offset;
    uint8_t *dst;
} piece;

/* An array on disk, and what is to be read of it. Byte i of the array is part of a number
 * that says where it is. */
typedef struct data_set {
    const char *title;
    char path[4096];
    bool is_shard; /* one file; else a file for each file_nbytes */
    uint64_t file_nbytes, nfiles, piece_nbytes, npieces;
    piece *pieces;
    uint8_t *out;
    uint64_t out_nbytes;
} data_set;

/* Element that a piece begins at. */
uint64_t piece_start(const data_set *s, const piece *p);
void file_path(const data_set *s, uint64_t i, char path[8192]);

/* cold_data.c. They end the program where something fails. */
void data_write(const data_set *s); /* unless it is there */
void data_evict(const data_set *s); /* from the page cache */
void data_load(const data_set *s);  /* into it */
void data_check(const data_set *s); /* what was read, and wipe it out */

/* One way to read. */
typedef enum method { LIBRARY, THREADS, URING, URING_REGISTERED } method;

typedef struct way {
    const char *title;
    method method;
    bool is_direct;
    uint32_t nthreads, depth; /* reads that each thread has under way; 1 but for URING */
} way;

/* cold_ways.c. Seconds that it took to read all pieces. */
double read_all(const data_set *s, const way *w);
bool has_uring(void);

#endif
