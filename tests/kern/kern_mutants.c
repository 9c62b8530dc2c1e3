/* Damaged chunks among good ones, through the whole library.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Chunks of real c-blosc output, of TIFF's codecs, or drawn zstd streams are damaged and
 * read in batches. On
 * the device a good one must be exact, and a damaged one end as on the host: with the
 * same bytes, or with an error that names its key and its codec. After each batch a known
 * chunk is read. */
#include <blosc.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kern/args.h"
#include "kern/chunk_reads.h"
#include "kern/encode.h"
#include "kern/random.h"
#include "kern/zstd_writer.h"
#include "support/stricter.h"

#define NTEMPLATES 64

/* encode: NULL for c-blosc, which chooses what is inside, and for what is drawn. */
typedef struct mutant_codec {
    const char *name, *json;
    encode_function *encode;
    bool is_drawn; /* no encoder: the data come with the stream */
} mutant_codec;

static const mutant_codec codecs[] = {
    {"blosc",
     "{\"id\":\"blosc\",\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":1,\"blocksize\":0}",
     NULL, false},
    {"zstd", "{\"id\":\"zstd\"}", NULL, true},
    {"tiff_lzw", "{\"id\":\"tiff_lzw\"}", encode_lzw, false},
    {"tiff_packbits", "{\"id\":\"tiff_packbits\"}", encode_packbits, false},
};
#define MOST_ENCODED(nbytes) (2 * (nbytes) + 200)

typedef struct template {
    uint8_t *raw, *encoded;
    uint32_t nbytes; /* encoded */
}
template;

typedef struct tally {
    uint64_t nmutants, nrefused, nhost_only, nstricter, nfailures;
} tally;

/* Runs, ramps and noise, so that every kind of token appears. */
static void fill(uint8_t *raw, uint64_t nbytes, uint64_t *random) {
    for (uint64_t i = 0; i < nbytes;) {
        uint64_t kind = random_below(random, 4), n = 1 + random_below(random, 600);
        uint8_t byte = (uint8_t)random_next(random);
        for (; n > 0 && i < nbytes; n--, i++) {
            raw[i] = kind == 0            ? byte
                     : kind == 1          ? (uint8_t)(byte + i / 4)
                     : kind == 2 && i > 9 ? raw[i - 1 - byte % 9]
                                          : (uint8_t)random_next(random);
        }
    }
}

static template draw(uint64_t chunk_nbytes, uint64_t *random) {
    zstd_drawn d;
    zstd_draw_sized(random_next(random), (uint32_t)chunk_nbytes, &d);
    while (d.stream_nbytes > MOST_ENCODED(chunk_nbytes)) {
        zstd_drawn_free(&d);
        zstd_draw_sized(random_next(random), (uint32_t)chunk_nbytes, &d);
    }
    return (template){d.raw, d.stream, d.stream_nbytes};
}

static template make(const mutant_codec *codec, uint64_t chunk_nbytes, uint64_t *random) {
    static const char *const names[] = {"lz4",     "lz4",    "lz4",  "lz4hc", "zstd",
                                        "blosclz", "snappy", "zlib", "zstd"};
    size_t room = MOST_ENCODED(chunk_nbytes);
    if (codec->is_drawn) {
        return draw(chunk_nbytes, random);
    }
    template t = {.raw = malloc(chunk_nbytes), .encoded = malloc(room)};
    if (t.raw == NULL || t.encoded == NULL) {
        exit(EXIT_FAILURE);
    }
    fill(t.raw, chunk_nbytes, random);
    if (codec->encode != NULL) {
        t.nbytes =
            codec->encode(t.raw, (uint32_t)chunk_nbytes, t.encoded, (uint32_t)room);
        return t;
    }
    size_t typesize = 1 + random_below(random, 17);
    size_t blocksize = random_below(random, 2) * ((size_t)128 << random_below(random, 9));
    int level = (int)random_below(random, 10), shuffle = (int)random_below(random, 3);
    const char *name = names[random_below(random, sizeof names / sizeof *names)];
    int n = blosc_compress_ctx(level, shuffle, typesize, chunk_nbytes, t.raw, t.encoded,
                               room, name, blocksize, 1);
    if (n <= 0) { /* a c-blosc without that codec */
        n = blosc_compress_ctx(level, shuffle, typesize, chunk_nbytes, t.raw, t.encoded,
                               room, "lz4", blocksize, 1);
    }
    t.nbytes = n > 0 ? (uint32_t)n : 0;
    return t;
}

static void change(uint8_t *bytes, uint32_t *n, const template *other, uint64_t *random) {
    static const uint32_t lies[] = {0, 1, 0x7FFFFFFF, 0x80000000U, UINT32_MAX};
    uint32_t at = *n == 0 ? 0 : (uint32_t)random_below(random, *n);
    uint32_t lie = random_below(random, 2) == 0
                       ? lies[random_below(random, sizeof lies / sizeof *lies)]
                       : (uint32_t)random_below(random, 70000);
    switch (random_below(random, 6)) {
    case 0: /* the end is missing */
        *n = at;
        break;
    case 1: /* a piece of another chunk */
        for (uint32_t k = 0; at + k < *n && at + k < other->nbytes && k < 40; k++) {
            bytes[at + k] = other->encoded[at + k];
        }
        break;
    case 2: /* a number of the header, or of the table of blocks */
        at = 4 * (uint32_t)random_below(random, 8);
        memcpy(bytes + at, &lie, at + sizeof lie <= *n ? sizeof lie : 0);
        break;
    case 3:
        bytes[at < 4 ? at : at % 4] ^= (uint8_t)(1U << random_below(random, 8));
        break;
    default:
        bytes[at] ^= (uint8_t)(1 + random_below(random, 255));
        break;
    }
}

static bool names_chunk(const hr_error *err, const char *codec, uint64_t i) {
    char key[32];
    (void)snprintf(key, sizeof key, "/%" PRIu64, i);
    const char *end = strrchr(err->key, '/');
    bool is_empty = strstr(err->message, "chunk is empty") != NULL; /* no codec saw it */
    return (is_empty || strcmp(err->codec, codec) == 0) &&
           strcmp(end != NULL ? end : err->key, end != NULL ? key : key + 1) == 0;
}

static void fail(tally *t, uint64_t i, const char *what, const hr_error *device,
                 const hr_error *host) {
    if (t->nfailures++ < 10) {
        printf("FAILED: chunk %" PRIu64 ": %s\n  device: %s %s [%s] %s\n  host: %s %s\n",
               i, what, hr_status_name(device->status), device->key, device->codec,
               device->message, hr_status_name(host->status), host->message);
    }
}

static void compare(tally *t, const char *codec, uint64_t i, uint64_t nbytes,
                    const uint8_t *raw, const chunk_results *device,
                    const chunk_results *host) {
    const hr_error *d = &device->errors[i], *h = &host->errors[i];
    const uint8_t *got = device->bytes + i * nbytes, *want = host->bytes + i * nbytes;
    if (raw != NULL && (d->status != HR_OK || memcmp(got, raw, nbytes) != 0)) {
        fail(t, i, "a good chunk is not exact", d, h);
    } else if (h->status == HR_OK && is_stricter(d)) {
        t->nstricter++;
    } else if ((d->status == HR_OK) != (h->status == HR_OK)) {
        fail(t, i, "the host ends otherwise", d, h);
    } else if (d->status == HR_OK && memcmp(got, want, nbytes) != 0) {
        fail(t, i, "bytes differ from the host's", d, h);
    } else if (d->status != HR_OK && !names_chunk(d, codec, i)) {
        fail(t, i, "the error does not name chunk and codec", d, h);
    }
    t->nmutants += raw == NULL;
    t->nrefused += d->status != HR_OK;
}

static void check_known(chunk_reads *c, tally *t, const template *known,
                        uint64_t nbytes) {
    chunk_results r = {0};
    chunk_reads_put(c, "known", 0, known->encoded, known->nbytes);
    chunk_reads_run(c, "known", true, false, &r);
    if (r.errors[0].status != HR_OK || memcmp(r.bytes, known->raw, nbytes) != 0) {
        fail(t, 0, "the known chunk after a batch", &r.errors[0], &r.errors[0]);
    }
    chunk_results_free(&r);
}

static void run_batch(chunk_reads *c, uint64_t n, uint64_t largest, uint64_t seed,
                      tally *t) {
    template templates[NTEMPLATES];
    uint64_t random = seed, nbytes = 1 + random_below(&random, largest);
    const mutant_codec *codec = &codecs[random_below(&random, 3)];
    codec += codec->encode != NULL && random_below(&random, 2);
    const uint8_t **raws = calloc(n, sizeof *raws);
    uint8_t *bytes = malloc(MOST_ENCODED(nbytes) + 4);
    if (raws == NULL || bytes == NULL) {
        exit(EXIT_FAILURE);
    }
    for (int i = 0; i < NTEMPLATES; i++) {
        templates[i] = make(codec, nbytes, &random);
    }
    chunk_reads_describe(c, "mutants", codec->json, n, nbytes);
    chunk_reads_describe(c, "known", codec->json, 1, nbytes);
    for (uint64_t i = 0; i < n; i++) {
        const template *from = &templates[random_below(&random, NTEMPLATES)];
        const template *other = &templates[random_below(&random, NTEMPLATES)];
        uint32_t nencoded = from->nbytes;
        memcpy(bytes, from->encoded, nencoded);
        raws[i] = i % 8 == 0 ? from->raw : NULL;
        for (uint64_t k = i % 8 == 0 ? 0 : 1 + random_below(&random, 3); k > 0; k--) {
            change(bytes, &nencoded, other, &random);
        }
        chunk_reads_put(c, "mutants", i, bytes, nencoded);
    }
    chunk_results device = {0}, host = {0};
    chunk_reads_run(c, "mutants", true, false, &device);
    chunk_reads_run(c, "mutants", false, false, &host);
    for (uint64_t i = 0; i < n; i++) {
        compare(t, codec->name, i, nbytes, raws[i], &device, &host);
    }
    t->nhost_only += device.stats.ndecoded_cpu;
    check_known(c, t, &templates[0], nbytes);
    chunk_results_free(&device);
    chunk_results_free(&host);
    for (int i = 0; i < NTEMPLATES; i++) {
        free(templates[i].raw);
        free(templates[i].encoded);
    }
    free(bytes);
    free(raws);
}

int main(int argc, char **argv) {
    uint64_t seed = (uint64_t)time(NULL), nmutants = 4096, batch = 4096, largest = 65536;
    const kern_option options[] = {{"--seed", &seed},
                                   {"--mutants", &nmutants},
                                   {"--batch", &batch},
                                   {"--largest", &largest},
                                   {NULL, NULL}};
    chunk_reads c;
    tally t = {0};
    chunk_reads_open(&c, kern_args(argc, argv, options));
    time_t start = time(NULL);
    for (uint64_t at = seed; t.nmutants < nmutants && t.nfailures == 0; at++) {
        run_batch(&c, batch, largest, at, &t);
        if (t.nfailures > 0) {
            printf("again by --seed %" PRIu64 " --mutants 1 --batch %" PRIu64
                   " --largest %" PRIu64 "\n",
                   at, batch, largest);
        }
    }
    printf("%" PRIu64 " mutants from seed %" PRIu64 " in %.0f s: %" PRIu64
           " chunks refused (%" PRIu64 " that the host takes), %" PRIu64
           " decoded by the host; %" PRIu64 " failures\n",
           t.nmutants, seed, difftime(time(NULL), start), t.nrefused, t.nstricter,
           t.nhost_only, t.nfailures);
    chunk_reads_close(&c);
    return t.nfailures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
