/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/store_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "kern/store_case.h"

#define NSAMPLES 5
#define NRUNS 5 /* of a sample */
#define NCONTENTS 4
#define BLOCK_NBYTES (256 << 10)
#define PATTERN 0xAA

/* Where a chunk's rows of items go. */
typedef enum layout {
    LAYOUT_DENSE,      /* one run on both sides */
    LAYOUT_WIDE,       /* into rows twice as long */
    LAYOUT_CROPPED,    /* without the first item of each row */
    LAYOUT_TRANSPOSED, /* rows become columns */
    LAYOUT_EVERY_OTHER /* item of a row */
} layout;

/* What happens to the numbers. */
typedef enum treatment { AS_THEY_ARE, MASKED, DIVIDED } treatment;

typedef struct bench {
    const char *name, *from, *to;
    uint32_t shuffle;
    layout layout;
    treatment treatment;
    uint32_t chunk_kib; /* 0: 1024 */
} bench;

/* A bench made ready: chunks, tasks and tiles on the device. */
typedef struct setup {
    store_case contents[NCONTENTS];
    uint64_t nchunks, chunk_nbytes, dst_nbytes; /* of a chunk */
    hr__devptr chunks, dst, tasks, tiles;
    hr_k_store_batch batch;
} setup;

static void must(bool promise, const char *what) {
    if (!promise) {
        printf("%s\n", what);
        exit(EXIT_FAILURE);
    }
}

static void *must_alloc(uint64_t nbytes) {
    void *p = malloc(nbytes);
    must(p != NULL, "no memory");
    return p;
}

static void make_types(const bench *b, store_case *c) {
    static const uint8_t fill[8] = {0xFF, 0x7F}, nan[4] = {0, 0, 0xC0, 0x7F};
    const hr_dtype f32 = hr__dtype(HR_KIND_FLOAT, 4), f64 = hr__dtype(HR_KIND_FLOAT, 8);
    hr_k_store *s = &c->store;
    must(hr_dtype_parse(b->from, &c->from, NULL) == HR_OK &&
             hr_dtype_parse(b->to, &c->to, NULL) == HR_OK,
         "no such type");
    bool can = hr__kstore_begin(s, &c->from);
    if (b->treatment == MASKED) {
        can = can && hr__kstore_mark(s, HR_K_MARK, fill) && hr__kstore_cast(s, &f32) &&
              hr__kstore_scale(s, HR_K_MUL_ADD, 0.01, 273.15) &&
              hr__kstore_mark(s, HR_K_REPLACE, nan);
    } else if (b->treatment == DIVIDED) {
        can = can && hr__kstore_cast(s, &f64) &&
              hr__kstore_scale(s, HR_K_DIV_ADD, 100, 273.15);
    }
    c->has_arithmetic = b->treatment != AS_THEY_ARE;
    must(can && hr__kstore_end(s, &c->from, &c->to), "no such store");
}

/* A chunk of rows of about as many items as there are rows, a multiple of 64. */
static void make_loops(const bench *b, store_case *c) {
    uint64_t from = c->from.itemsize, to = c->to.itemsize, row = 64;
    uint64_t nbytes = (uint64_t)(b->chunk_kib > 0 ? b->chunk_kib : 1024) << 10;
    while ((row + 64) * (row + 64) * from <= nbytes) {
        row += 64;
    }
    uint64_t nrows = nbytes / from / row, n = row;
    hr_k_dim rows = {.n = nrows, .src_step = (int64_t)(row * from)};
    hr_k_dim items = {.src_step = (int64_t)from, .dst_step = (int64_t)to};
    scatter_case *l = &c->loops;
    if (b->layout == LAYOUT_CROPPED) {
        l->copy.src = from;
        n--;
    } else if (b->layout == LAYOUT_EVERY_OTHER) {
        items.src_step *= 2;
        n /= 2;
    }
    rows.dst_step = (int64_t)(n * to) * (b->layout == LAYOUT_WIDE ? 2 : 1);
    l->dst_nbytes = nrows * (uint64_t)rows.dst_step;
    if (b->layout == LAYOUT_TRANSPOSED) {
        rows.dst_step = (int64_t)to;
        items.dst_step = (int64_t)(nrows * to);
    }
    items.n = n;
    l->copy.nitems = nrows * n;
    l->copy.itemsize = (uint32_t)from;
    l->copy.ndim = 2;
    l->copy.dims[0] = rows;
    l->copy.dims[1] = items;
    c->chunk_nbytes = l->src_nbytes = nrows * row * from;
}

static void make_content(const bench *b, store_case *c, uint64_t seed) {
    memset(c, 0, sizeof *c);
    make_types(b, c);
    make_loops(b, c);
    c->store.shuffle = b->shuffle;
    c->store.typesize = (uint32_t)c->from.itemsize;
    c->store.block_nbytes = BLOCK_NBYTES / c->from.itemsize * c->from.itemsize;
    c->plain = must_alloc(c->chunk_nbytes);
    c->shuffled = must_alloc(c->chunk_nbytes);
    for (uint64_t i = 0; i < c->chunk_nbytes; i++) {
        c->plain[i] = (uint8_t)random_next(&seed);
    }
    store_shuffle(&c->store, c->plain, c->shuffled, c->chunk_nbytes);
}

static uint64_t align(uint64_t nbytes) {
    return (nbytes + 255) / 256 * 256;
}

static void make_batch(runner *r, setup *s) {
    uint32_t n = (uint32_t)s->nchunks;
    hr_error err = HR_ERROR_INIT;
    hr_k_store_task *tasks = must_alloc(n * sizeof *tasks);
    for (uint32_t i = 0; i < n; i++) {
        const store_case *c = &s->contents[i % NCONTENTS];
        hr_k_store store = c->store;
        store.chunk = s->chunks + i * s->chunk_nbytes;
        store.chunk_nbytes = c->chunk_nbytes;
        store.copy = scatter_case_bind(&c->loops, 0, s->dst + i * s->dst_nbytes, 0);
        must(hr__kstore_lower(&store, &tasks[i], &err) == HR_OK, err.message);
    }
    must(hr__kstore_list(tasks, n, NULL, &s->batch, &err) == HR_OK, err.message);
    uint64_t ntiles = (uint64_t)s->batch.nmoving + s->batch.nconverting;
    hr_k_store_tile *tiles = must_alloc(ntiles * sizeof *tiles);
    must(hr__kstore_list(tasks, n, tiles, &s->batch, &err) == HR_OK, err.message);
    s->batch.tasks = runner_alloc(r, n * sizeof *tasks);
    s->batch.tiles = runner_alloc(r, ntiles * sizeof *tiles);
    runner_upload(r, s->batch.tasks, tasks, n * sizeof *tasks);
    runner_upload(r, s->batch.tiles, tiles, ntiles * sizeof *tiles);
    runner_sync(r);
    free(tasks);
    free(tiles);
}

static void prepare(runner *r, const bench *b, uint64_t nbytes, setup *s) {
    for (uint64_t i = 0; i < NCONTENTS; i++) {
        make_content(b, &s->contents[i], i);
    }
    const store_case *c = &s->contents[0];
    uint64_t out = c->loops.copy.nitems * c->to.itemsize;
    s->nchunks = nbytes / out > 0 ? nbytes / out : 1;
    s->chunk_nbytes = align(c->chunk_nbytes);
    s->dst_nbytes = align(c->loops.dst_nbytes);
    s->chunks = runner_alloc(r, s->nchunks * s->chunk_nbytes);
    s->dst = runner_alloc(r, s->nchunks * s->dst_nbytes + 256);
    for (uint64_t i = 0; i < s->nchunks; i++) {
        runner_upload(r, s->chunks + i * s->chunk_nbytes,
                      s->contents[i % NCONTENTS].shuffled, c->chunk_nbytes);
    }
    uint8_t pattern = PATTERN;
    uint64_t all = s->nchunks * s->dst_nbytes;
    hr_k_fill fill = {.where = {.src = s->dst + all,
                                .dst = s->dst,
                                .nitems = all,
                                .itemsize = 1,
                                .ndim = 1,
                                .dims = {{.n = all, .dst_step = 1}}}};
    runner_upload(r, s->dst + all, &pattern, 1);
    runner_launch(r, HR__KERNEL_FILL, &fill);
    runner_sync(r);
    make_batch(r, s);
}

static int verify(runner *r, const setup *s) {
    uint64_t n = s->dst_nbytes;
    uint8_t *want[NCONTENTS], *got = must_alloc(n);
    int nwrong = 0;
    for (uint64_t i = 0; i < NCONTENTS; i++) {
        want[i] = must_alloc(n);
        memset(want[i], PATTERN, n);
        store_case_reference(&s->contents[i], want[i]);
    }
    for (uint64_t i = 0; i < s->nchunks; i++) {
        runner_download(r, got, s->dst + i * n, n);
        store_case_forgive(&s->contents[i % NCONTENTS], want[i % NCONTENTS], got);
        nwrong += memcmp(got, want[i % NCONTENTS], n) != 0;
    }
    for (uint64_t i = 0; i < NCONTENTS; i++) {
        free(want[i]);
    }
    free(got);
    return nwrong;
}

static int measure(runner *r, const bench *b, uint64_t nbytes) {
    setup s = {.nchunks = 0};
    double samples[NSAMPLES];
    prepare(r, b, nbytes, &s);
    runner_launch(r, HR__KERNEL_STORE, &s.batch);
    int nwrong = verify(r, &s);
    for (int i = 0; i < NSAMPLES; i++) {
        double start = now_s();
        for (int k = 0; k < NRUNS; k++) {
            runner_launch(r, HR__KERNEL_STORE, &s.batch);
        }
        runner_sync(r);
        samples[i] = (now_s() - start) / NRUNS;
    }
    const store_case *c = &s.contents[0];
    double out = (double)(s.nchunks * c->loops.copy.nitems * c->to.itemsize);
    printf("%-44s %8.1f GB/s out%s\n", b->name, out / median_of(samples, NSAMPLES) / 1e9,
           nwrong > 0 ? "  WRONG" : "");
    r->ops->free(r->device, s.chunks);
    r->ops->free(r->device, s.dst);
    r->ops->free(r->device, s.batch.tasks);
    r->ops->free(r->device, s.batch.tiles);
    for (uint64_t i = 0; i < NCONTENTS; i++) {
        store_case_free(&s.contents[i]);
    }
    return nwrong > 0;
}

int store_bench(runner *r, uint64_t nbytes) {
    static const bench benches[] = {
        {"plain, f32", "<f4", "<f4", .shuffle = HR_K_PLAIN},
        {"unshuffle, u16", "<u2", "<u2", .shuffle = HR_K_BYTES_SHUFFLED},
        {"unshuffle, f32", "<f4", "<f4", .shuffle = HR_K_BYTES_SHUFFLED},
        {"unshuffle, f64", "<f8", "<f8", .shuffle = HR_K_BYTES_SHUFFLED},
        {"unshuffle, complex128", "<c16", "<c16", .shuffle = HR_K_BYTES_SHUFFLED},
        {"unshuffle, 3 bytes", "|V3", "|V3", .shuffle = HR_K_BYTES_SHUFFLED},
        {"unshuffle, 12 bytes", "|V12", "|V12", .shuffle = HR_K_BYTES_SHUFFLED},
        {"unshuffle, f32, chunks of 64 KiB", "<f4", "<f4", .shuffle = HR_K_BYTES_SHUFFLED,
         .chunk_kib = 64},
        {"unshuffle, f32, big-endian", ">f4", "<f4", .shuffle = HR_K_BYTES_SHUFFLED},
        {"unshuffle, f32, into longer rows", "<f4", "<f4", .shuffle = HR_K_BYTES_SHUFFLED,
         .layout = LAYOUT_WIDE},
        {"unshuffle, f32, cropped by an item", "<f4", "<f4",
         .shuffle = HR_K_BYTES_SHUFFLED, .layout = LAYOUT_CROPPED},
        {"unshuffle, f32, every other item", "<f4", "<f4", .shuffle = HR_K_BYTES_SHUFFLED,
         .layout = LAYOUT_EVERY_OTHER},
        {"bitunshuffle, u8", "|u1", "|u1", .shuffle = HR_K_BITS_SHUFFLED},
        {"bitunshuffle, u16", "<u2", "<u2", .shuffle = HR_K_BITS_SHUFFLED},
        {"bitunshuffle, f32", "<f4", "<f4", .shuffle = HR_K_BITS_SHUFFLED},
        {"bitunshuffle, f64", "<f8", "<f8", .shuffle = HR_K_BITS_SHUFFLED},
        {"bitunshuffle, f32, into longer rows", "<f4", "<f4",
         .shuffle = HR_K_BITS_SHUFFLED, .layout = LAYOUT_WIDE},
        {"bitunshuffle, f32, cropped by an item", "<f4", "<f4",
         .shuffle = HR_K_BITS_SHUFFLED, .layout = LAYOUT_CROPPED},
        {"transposed, plain, u8", "|u1", "|u1", .shuffle = HR_K_PLAIN,
         .layout = LAYOUT_TRANSPOSED},
        {"transposed, plain, f32", "<f4", "<f4", .shuffle = HR_K_PLAIN,
         .layout = LAYOUT_TRANSPOSED},
        {"transposed, unshuffle, u16", "<u2", "<u2", .shuffle = HR_K_BYTES_SHUFFLED,
         .layout = LAYOUT_TRANSPOSED},
        {"transposed, unshuffle, f32", "<f4", "<f4", .shuffle = HR_K_BYTES_SHUFFLED,
         .layout = LAYOUT_TRANSPOSED},
        {"transposed, unshuffle, f64", "<f8", "<f8", .shuffle = HR_K_BYTES_SHUFFLED,
         .layout = LAYOUT_TRANSPOSED},
        {"transposed, bitunshuffle, f32", "<f4", "<f4", .shuffle = HR_K_BITS_SHUFFLED,
         .layout = LAYOUT_TRANSPOSED},
        {"cast, u8 to f32", "|u1", "<f4", .shuffle = HR_K_PLAIN},
        {"cast, i16 to f32", "<i2", "<f4", .shuffle = HR_K_PLAIN},
        {"cast, f32 to f16", "<f4", "<f2", .shuffle = HR_K_PLAIN},
        {"cast, f32 to bfloat16", "<f4", "bfloat16", .shuffle = HR_K_PLAIN},
        {"cast, f64 to f32", "<f8", "<f4", .shuffle = HR_K_PLAIN},
        {"cast, f32 to f64", "<f4", "<f8", .shuffle = HR_K_PLAIN},
        {"cast, f64 to i32", "<f8", "<i4", .shuffle = HR_K_PLAIN},
        {"unshuffle and cast, f64 to f32", "<f8", "<f4", .shuffle = HR_K_BYTES_SHUFFLED},
        {"unshuffle and cast, f32 to f16", "<f4", "<f2", .shuffle = HR_K_BYTES_SHUFFLED},
        {"bitunshuffle and cast, u16 to f32", "<u2", "<f4",
         .shuffle = HR_K_BITS_SHUFFLED},
        {"unshuffle, mask and scale, i16 to f32", "<i2", "<f4",
         .shuffle = HR_K_BYTES_SHUFFLED, .treatment = MASKED},
        {"unshuffle, x / scale + offset, i16 to f64", "<i2", "<f8",
         .shuffle = HR_K_BYTES_SHUFFLED, .treatment = DIVIDED},
    };
    int nwrong = 0;
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
        nwrong += measure(r, &benches[i], nbytes);
    }
    return nwrong;
}
