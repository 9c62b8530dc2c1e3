/* What c-blosc writes, read on a device and on the host. SPDX-License-Identifier: Apache-2.0
 *
 * Every inner codec, level, shuffle, item size and size of block, with lengths that leave
 * tails: the device's bytes, the host's and the original are the same. A strict read may
 * only refuse chunks that the plain read had the host decode, and says why. */
#include <blosc.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kern/args.h"
#include "kern/chunk_reads.h"
#include "kern/random.h"

typedef struct sweep {
    chunk_reads reads;
    uint64_t random, nchunks, nrefused, nfailures;
    uint64_t nlevels; /* of ten, for each of the others */
} sweep;

static const char *const names[] = {"lz4", "lz4hc", "blosclz", "snappy", "zlib", "zstd"};
static const uint32_t typesizes[] = {1,  2,  3,  4,  5,  6,  7,  8,   9,   10,
                                     11, 12, 13, 14, 15, 16, 17, 255, 256, 300};
static const size_t blocksizes[] = {0, 128, 1024, 4096};
static const uint32_t lengths[] = {1, 15, 127, 1003, 4096, 9999, 20011};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Items that count upwards with some noise: each codec compresses them, some levels and
 * sizes not, and then c-blosc stores them. */
static void fill(uint8_t *raw, uint32_t nbytes, uint32_t typesize, uint64_t *random) {
    uint64_t noise = random_below(random, 4) == 0 ? 1 : 20;
    for (uint32_t i = 0; i < nbytes; i++) {
        uint32_t item = i / typesize, byte = i % typesize;
        bool is_noise = random_below(random, noise) == 0;
        raw[i] = (uint8_t)(is_noise    ? random_next(random)
                           : byte == 0 ? item
                           : byte == 1 ? item >> 8
                                       : byte);
    }
}

static void check(sweep *s, const char *name, uint32_t nbytes, uint64_t n,
                  const uint8_t *raw) {
    chunk_results results[3] = {{0}};
    chunk_reads_run(&s->reads, "sweep", true, false, &results[0]);
    chunk_reads_run(&s->reads, "sweep", false, false, &results[1]);
    chunk_reads_run(&s->reads, "sweep", true, true, &results[2]);
    uint64_t nrefused = 0;
    for (uint64_t i = 0; i < n; i++) {
        const hr_error *strict = &results[2].errors[i];
        bool refused = strict->status == HR_ERR_STRICT;
        nrefused += refused;
        for (int k = 0; k < 3; k++) {
            const chunk_results *r = &results[k];
            bool right = r->errors[i].status == HR_OK &&
                         memcmp(r->bytes + i * nbytes, raw + i * nbytes, nbytes) == 0;
            if (!right && !(k == 2 && refused) && s->nfailures++ < 10) {
                printf("FAILED: %s, %u bytes, read %d of chunk %" PRIu64 ": %s %s\n",
                       name, nbytes, k, i, hr_status_name(r->errors[i].status),
                       r->errors[i].message);
            }
        }
        if (refused && s->nfailures++ < 10) { /* every one has a kernel */
            printf("FAILED: %s, %u bytes: strict refuses: %s\n", name, nbytes,
                   strict->message);
        }
    }
    if (nrefused != results[0].stats.ndecoded_cpu && s->nfailures++ < 10) {
        printf("FAILED: %s, %u bytes: strict refuses %" PRIu64
               " chunks, the host had %" PRIu64 "\n",
               name, nbytes, nrefused, results[0].stats.ndecoded_cpu);
    }
    s->nchunks += n;
    s->nrefused += nrefused;
    for (int k = 0; k < 3; k++) {
        chunk_results_free(&results[k]);
    }
}

/* All chunks of one inner codec and one length: one array. */
static void run(sweep *s, const char *name, uint32_t nbytes) {
    uint64_t most = COUNT(typesizes) * COUNT(blocksizes) * 3 * s->nlevels, n = 0;
    uint8_t *raw = malloc(most * nbytes), *encoded = malloc(nbytes + BLOSC_MAX_OVERHEAD);
    if (raw == NULL || encoded == NULL) {
        exit(EXIT_FAILURE);
    }
    for (uint64_t i = 0; i < most; i++) {
        uint32_t typesize = typesizes[i % COUNT(typesizes)];
        size_t blocksize = blocksizes[i / COUNT(typesizes) % COUNT(blocksizes)];
        if (strcmp(name, "zlib") == 0 && blocksize == 128 && i % 8 != 0) {
            continue; /* a header and tables for each stream: simt takes a millisecond */
        }
        int shuffle = (int)(i / (most / 3 / s->nlevels) % 3);
        int level = (int)((i + i / COUNT(typesizes) + i / (most / s->nlevels)) % 10);
        fill(raw + n * nbytes, nbytes, typesize, &s->random);
        int nencoded =
            blosc_compress_ctx(level, shuffle, typesize, nbytes, raw + n * nbytes,
                               encoded, nbytes + BLOSC_MAX_OVERHEAD, name, blocksize, 1);
        if (nencoded > 0) {
            chunk_reads_put(&s->reads, "sweep", n++, encoded, (uint64_t)nencoded);
        }
    }
    if (n == 0) {
        printf("skipped: this c-blosc has no %s\n", name);
    } else {
        chunk_reads_describe(&s->reads, "sweep",
                             "{\"id\":\"blosc\",\"cname\":\"lz4\",\"clevel\":5,"
                             "\"shuffle\":1,\"blocksize\":0}",
                             n, nbytes);
        check(s, name, nbytes, n, raw);
    }
    free(raw);
    free(encoded);
}

int main(int argc, char **argv) {
    sweep s = {.random = (uint64_t)time(NULL), .nlevels = 1};
    const kern_option options[] = {
        {"--seed", &s.random}, {"--levels", &s.nlevels}, {NULL, NULL}};
    const char *device = kern_args(argc, argv, options);
    chunk_reads_open(&s.reads, device);
    printf("seed %" PRIu64 "\n", s.random);
    for (size_t i = 0; i < COUNT(names); i++) {
        for (size_t k = 0; k < COUNT(lengths) && s.nlevels > 0; k++) {
            run(&s, names[i], lengths[k]);
        }
    }
    printf("%" PRIu64 " chunks, %" PRIu64 " of them for the host; %" PRIu64 " failures\n",
           s.nchunks, s.nrefused, s.nfailures);
    chunk_reads_close(&s.reads);
    return s.nfailures == 0 && s.nchunks > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
