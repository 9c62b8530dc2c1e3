/* How fast files come that are not in the page cache, and that are: by the library, by
 * threads, by io_uring. SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_cold FOLDER [MIB [REPEATS]]
 *
 * Writes MIB (default 1024) of each data set into FOLDER once, reads each in every way,
 * first with its files thrown out of the page cache, then with them in it, checks the
 * bytes, and prints medians in GB/s as a table. */
#include "cold.h"
#include "../measure.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
enum { REPEATS_MAX = 99 };

static const way ways[] = {
    {"headrace, buffered", LIBRARY, false, 2, 1},
    {"headrace, buffered", LIBRARY, false, 16, 1},
    {"headrace, direct", LIBRARY, true, 2, 1},
    {"headrace, direct", LIBRARY, true, 16, 1},
    {"pread", THREADS, false, 2, 1},
    {"pread", THREADS, false, 16, 1},
    {"pread, O_DIRECT", THREADS, true, 2, 1},
    {"pread, O_DIRECT", THREADS, true, 16, 1},
    {"pread, O_DIRECT", THREADS, true, 64, 1},
    {"io_uring", URING, false, 2, 16},
    {"io_uring, O_DIRECT", URING, true, 1, 32},
    {"io_uring, O_DIRECT", URING, true, 2, 8},
    {"io_uring, O_DIRECT", URING, true, 2, 32},
    {"io_uring, O_DIRECT, registered buffers", URING_REGISTERED, true, 2, 32},
};

enum { NWAYS = sizeof ways / sizeof *ways, NWAYS_WITHOUT_URING = 9 };

static double gb_per_s(const data_set *s, double *seconds, int n) {
    return (double)(s->npieces * s->piece_nbytes) / median_of(seconds, (size_t)n) * 1e-9;
}

/* The ways take turns, so that what else the machine does is the same for all. */
static void compare_ways(const data_set *s, int repeats) {
    static double cold[NWAYS][REPEATS_MAX], cached[NWAYS][REPEATS_MAX];
    const size_t n = has_uring() ? NWAYS : NWAYS_WITHOUT_URING;
    for (int k = 0; k < repeats; k++) {
        for (size_t i = 0; i < n; i++) {
            data_evict(s);
            cold[i][k] = read_all(s, &ways[i]);
            data_check(s);
            data_load(s);
            cached[i][k] = read_all(s, &ways[i]);
            data_check(s);
        }
    }
    printf("\n| %s | threads | under way | cold | cached |\n|---|---|---|---|---|\n",
           s->title);
    for (size_t i = 0; i < n; i++) {
        const way *w = &ways[i];
        printf("| %s | %u | %u | %.2f | %.2f |\n", w->title, w->nthreads,
               w->nthreads * w->depth, gb_per_s(s, cold[i], repeats),
               gb_per_s(s, cached[i], repeats));
    }
    (void)fflush(stdout);
}

/* Every step-th piece of the array, in order. */
static void choose_pieces(data_set *s, uint64_t step) {
    s->npieces = s->nfiles * s->file_nbytes / s->piece_nbytes / step;
    s->pieces = calloc(s->npieces, sizeof *s->pieces);
    if (s->pieces == NULL) {
        err(1, "pieces");
    }
    for (uint64_t i = 0; i < s->npieces; i++) {
        const uint64_t at = i * step * s->piece_nbytes;
        s->pieces[i] = (piece){.file = at / s->file_nbytes,
                               .offset = at % s->file_nbytes,
                               .dst = s->out + i * s->piece_nbytes};
    }
}

int main(int argc, char **argv) {
    const long mib = argc > 2 ? strtol(argv[2], NULL, 10) : 1024;
    const long repeats = argc > 3 ? strtol(argv[3], NULL, 10) : 3;
    if (argc < 2 || mib < 16 || repeats < 1 || repeats > REPEATS_MAX) {
        errx(1, "usage: bench_cold FOLDER [MIB [REPEATS]]");
    }
    const uint64_t nbytes = (uint64_t)mib / 4 * 4 * MIB;
    const struct {
        const char *title, *name;
        bool is_shard;
        uint64_t file_nbytes, piece_nbytes, step;
    } sets[] = {
        {"files of 64 KiB", "64k", false, 64 * KIB, 64 * KIB, 1},
        {"files of 1 MiB", "1m", false, MIB, MIB, 1},
        {"files of 4 MiB", "4m", false, 4 * MIB, 4 * MIB, 1},
        {"one file, 1 MiB at a time", "large", true, nbytes, MIB, 1},
        {"one file, every fourth 64 KiB", "small", true, nbytes, 64 * KIB, 4},
    };
    uint8_t *out = mmap(NULL, nbytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (out == MAP_FAILED) {
        err(1, "%ld MiB", mib);
    }
    (void)mkdir(argv[1], 0777);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        data_set s = {.title = sets[i].title,
                      .is_shard = sets[i].is_shard,
                      .file_nbytes = sets[i].file_nbytes,
                      .nfiles = nbytes / sets[i].file_nbytes,
                      .piece_nbytes = sets[i].piece_nbytes,
                      .out = out,
                      .out_nbytes = nbytes};
        (void)snprintf(s.path, sizeof s.path, "%s/%s", argv[1], sets[i].name);
        choose_pieces(&s, sets[i].step);
        data_write(&s);
        compare_ways(&s, (int)repeats);
        free(s.pieces);
    }
    (void)munmap(out, nbytes);
    return 0;
}
