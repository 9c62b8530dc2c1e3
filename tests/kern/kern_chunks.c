/* How fast the chunks of an array are decoded that are in the device's memory already.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: kern_chunks simt|cuda ARRAY_DIRECTORY
 *
 * For every team of the LZ4 decoder, and for more and fewer chunks at once: GB/s of
 * output of the decoder alone (and the copies of stored streams), and of the decoder and
 * the store into rows that are apart.
 * Every output is compared with what the host decodes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/node.h"
#include "bench/measure.h"
#include "codec/leaves.h"
#include "device/kstore.h"
#include "device/lz_regime.h"
#include "device/teams.h"
#include "exec/slab_store.h"
#include "kern/device_run.h"

#define NSAMPLES 5
#define ALIGNMENT 256

typedef struct bench {
    runner runner;
    const hr__array *array;
    const char *path;
    hr__kernel_chain kernels;
    hr__worker worker;
    uint64_t nchunks, nbytes; /* of a decoded chunk */
    uint64_t row_nbytes, nrows;
    uint8_t *encoded; /* all, each from an aligned place */
    uint64_t encoded_nbytes, *at, *sizes;
    hr__devptr src, scratch, dst, tasks, control;
    hr_k_task *host_tasks;
    uint64_t *first_task; /* of a chunk, and one past the last */
    hr__vec copies;       /* of hr_k_store_task, of streams stored as they are */
    uint64_t *first_copy;
    hr_k_store_task *host_stores;
} bench;

/* Stores in device memory. */
typedef struct store_batch {
    hr_k_store_batch params;
    hr__devptr stores, tiles;
} store_batch;

static void must(bool promise, const char *what) {
    if (!promise) {
        printf("%s\n", what);
        exit(EXIT_FAILURE);
    }
}

static void *must_alloc(uint64_t nbytes) {
    void *p = calloc(1, nbytes == 0 ? 1 : nbytes);
    must(p != NULL, "no memory");
    return p;
}

static uint64_t align(uint64_t nbytes) {
    return (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* --- the chunks --- */

static FILE *open_chunk(const bench *b, uint64_t i) {
    const hr__array *a = b->array;
    int64_t coords[HR_MAX_NDIM];
    for (int32_t k = a->ndim; k-- > 0;) {
        coords[k] = (int64_t)(i % (uint64_t)a->outer[k].nchunks);
        i /= (uint64_t)a->outer[k].nchunks;
    }
    char key[1024], path[4096];
    hr_error err = HR_ERROR_INIT;
    must(a->key(a, coords, key, sizeof key, &err) == HR_OK, err.message);
    (void)snprintf(path, sizeof path, "%s/%s", b->path, key);
    FILE *f = fopen(path, "rb");
    must(f != NULL, path);
    return f;
}

static void load_chunks(bench *b) {
    b->at = must_alloc(b->nchunks * sizeof *b->at);
    b->sizes = must_alloc(b->nchunks * sizeof *b->sizes);
    b->encoded = must_alloc(b->nchunks * align(b->array->chain.encoded.max_nbytes));
    for (uint64_t i = 0; i < b->nchunks; i++) {
        FILE *f = open_chunk(b, i);
        b->at[i] = b->encoded_nbytes;
        b->sizes[i] =
            fread(b->encoded + b->at[i], 1, b->array->chain.encoded.max_nbytes, f);
        (void)fclose(f);
        b->encoded_nbytes += align(b->sizes[i]);
    }
}

static hr__decode chunk_of(bench *b, uint64_t i) {
    return (hr__decode){
        .worker = &b->worker, .src = b->encoded + b->at[i], .src_nbytes = b->sizes[i]};
}

/* --- what the device is to do --- */

static void make_store(const bench *b, const hr__leaves *leaves, uint64_t i) {
    hr_k_store s;
    hr_error err = HR_ERROR_INIT;
    const hr_dtype *type = &b->array->stored;
    must(hr__kstore_begin(&s, type) && hr__kstore_end(&s, type, type), "no store");
    int64_t item = (int64_t)type->itemsize, row = (int64_t)b->row_nbytes;
    s.chunk = b->scratch + i * align(b->nbytes);
    s.chunk_nbytes = b->nbytes;
    s.block_nbytes = leaves->block_nbytes;
    s.shuffle = leaves->mode == HR__SHUFFLE_BYTES  ? HR_K_BYTES_SHUFFLED
                : leaves->mode == HR__SHUFFLE_BITS ? HR_K_BITS_SHUFFLED
                                                   : HR_K_PLAIN;
    s.typesize = leaves->typesize;
    s.copy.dst = b->dst + i * 2 * b->nbytes;
    s.copy.nitems = b->nbytes / type->itemsize;
    s.copy.ndim = 2;
    s.copy.dims[0] = (hr_k_dim){.n = b->nrows, .src_step = row, .dst_step = 2 * row};
    s.copy.dims[1] = (hr_k_dim){
        .n = b->row_nbytes / type->itemsize, .src_step = item, .dst_step = item};
    must(hr__kstore_lower(&s, &b->host_stores[i], &err) == HR_OK, err.message);
}

static void add_copy(bench *b, hr__devptr dst, hr__devptr src, uint64_t nbytes) {
    const hr_k_store s = hr__slab_store_bytes(dst, src, nbytes);
    hr_k_store_task *t = hr__vec_push(&hr__malloc_allocator, &b->copies, sizeof *t);
    must(t != NULL && hr__kstore_lower(&s, t, NULL) == HR_OK, "no copy");
}

static void add_tasks(bench *b, const hr__leaves *leaves, uint64_t i, uint64_t *n) {
    const hr__leaf *l = leaves->leaves.items;
    b->host_tasks = realloc(b->host_tasks, (*n + leaves->leaves.n) * sizeof(hr_k_task));
    must(b->host_tasks != NULL, "no memory");
    b->first_task[i] = *n;
    b->first_copy[i] = b->copies.n;
    for (size_t k = 0; k < leaves->leaves.n; k++) {
        hr__devptr src = b->src + b->at[i] + l[k].src;
        hr__devptr dst = b->scratch + i * align(b->nbytes) + l[k].dst;
        if (l[k].format == HR__LEAF_COPY) {
            add_copy(b, dst, src, l[k].dst_nbytes);
            continue;
        }
        must(l[k].format == HR__LEAF_LZ4, "only LZ4 streams are measured here");
        b->host_tasks[(*n)++] = (hr_k_task){.src = src,
                                            .dst = dst,
                                            .src_nbytes = l[k].src_nbytes,
                                            .dst_nbytes = l[k].dst_nbytes,
                                            .status_index = (uint32_t)i};
    }
    b->first_task[i + 1] = *n;
    b->first_copy[i + 1] = b->copies.n;
}

static void make_work(bench *b) {
    uint64_t n = 0;
    hr__leaves leaves = {.allocator = &hr__malloc_allocator};
    b->first_task = must_alloc((b->nchunks + 1) * sizeof *b->first_task);
    b->first_copy = must_alloc((b->nchunks + 1) * sizeof *b->first_copy);
    b->host_stores = must_alloc(b->nchunks * sizeof *b->host_stores);
    for (uint64_t i = 0; i < b->nchunks; i++) {
        hr_error err = HR_ERROR_INIT;
        hr__decode d = chunk_of(b, i);
        must(hr__chain_leaves(&b->array->chain, &b->kernels, &d, &leaves, &err) == HR_OK,
             err.message);
        must(!leaves.stored, "a stored chunk");
        add_tasks(b, &leaves, i, &n);
        make_store(b, &leaves, i);
    }
    hr__vec_free(&hr__malloc_allocator, &leaves.leaves);
}

static void prepare(bench *b) {
    runner *r = &b->runner;
    load_chunks(b);
    b->src = runner_alloc(r, b->encoded_nbytes);
    b->scratch = runner_alloc(r, b->nchunks * align(b->nbytes));
    b->dst = runner_alloc(r, b->nchunks * 2 * b->nbytes);
    b->control = runner_alloc(r, (b->nchunks + NSAMPLES + 1) * sizeof(uint64_t));
    runner_upload(r, b->src, b->encoded, b->encoded_nbytes);
    make_work(b);
    b->tasks = runner_alloc(r, b->first_task[b->nchunks] * sizeof(hr_k_task));
    runner_sync(r);
}

/* --- measuring --- */

static store_batch upload_stores(bench *b, const hr_k_store_task *stores, uint32_t n) {
    runner *r = &b->runner;
    hr_k_store_batch p = {0};
    must(hr__kstore_list(stores, n, NULL, &p, NULL) == HR_OK, "?");
    uint64_t ntiles = (uint64_t)p.nmoving + p.nconverting;
    hr_k_store_tile *tiles = must_alloc(ntiles * sizeof *tiles);
    must(hr__kstore_list(stores, n, tiles, &p, NULL) == HR_OK, "?");
    p.tiles = runner_alloc(r, ntiles * sizeof *tiles);
    p.tasks = runner_alloc(r, n * sizeof *stores);
    runner_upload(r, p.tiles, tiles, ntiles * sizeof *tiles);
    runner_upload(r, p.tasks, stores, n * sizeof *stores);
    runner_sync(r);
    free(tiles);
    return (store_batch){.params = p, .stores = p.tasks, .tiles = p.tiles};
}

static void free_stores(bench *b, const store_batch *batch) {
    b->runner.ops->free(b->runner.device, batch->stores);
    b->runner.ops->free(b->runner.device, batch->tiles);
}

/* The first n chunks: their tasks in order, all counters at zero. */
static hr_k_decode begin(bench *b, uint64_t n) {
    uint64_t ntasks = b->first_task[n];
    hr_k_task *tasks = must_alloc(ntasks * sizeof *tasks);
    memcpy(tasks, b->host_tasks, ntasks * sizeof *tasks);
    hr__lz_sort_tasks(tasks, (uint32_t)ntasks);
    runner_upload(&b->runner, b->tasks, tasks, ntasks * sizeof *tasks);
    uint64_t control_nbytes = (b->nchunks + NSAMPLES + 1) * sizeof(uint64_t);
    uint8_t *zeros = must_alloc(control_nbytes);
    runner_upload(&b->runner, b->control, zeros, control_nbytes);
    runner_sync(&b->runner);
    free(tasks);
    free(zeros);
    return (hr_k_decode){
        .tasks = b->tasks, .status = b->control, .ntasks = (uint32_t)ntasks};
}

static uint64_t count_wrong(bench *b, uint64_t n) {
    uint64_t nwrong = 0;
    uint8_t *got = must_alloc(2 * b->nbytes), *want = must_alloc(b->nbytes);
    for (uint64_t i = 0; i < n; i++) {
        hr_error err = HR_ERROR_INIT;
        hr__decode d = chunk_of(b, i);
        d.dst = want;
        d.dst_nbytes = b->nbytes;
        must(hr__chain_decode(&b->array->chain, &d, &err) == HR_OK, err.message);
        runner_download(&b->runner, got, b->dst + i * 2 * b->nbytes, 2 * b->nbytes);
        uint64_t row = 0;
        while (row < b->nrows && memcmp(got + 2 * row * b->row_nbytes,
                                        want + row * b->row_nbytes, b->row_nbytes) == 0) {
            row++;
        }
        nwrong += row < b->nrows;
    }
    free(got);
    free(want);
    return nwrong;
}

static double median_gb_per_s(double *seconds, uint64_t nbytes) {
    return 1e-9 * (double)nbytes / median_of(seconds, NSAMPLES);
}

static uint64_t measure(bench *b, uint64_t n, uint32_t team) {
    runner *r = &b->runner;
    double alone[NSAMPLES], both[NSAMPLES];
    store_batch copies = upload_stores(b, b->copies.items, (uint32_t)b->first_copy[n]);
    store_batch stores = upload_stores(b, b->host_stores, (uint32_t)n);
    hr_k_decode decode = begin(b, n);
    decode.team = team;
    for (int i = -1; i < NSAMPLES; i++) { /* the first only warms up */
        decode.counter = b->control + (b->nchunks + (uint64_t)(i + 1)) * sizeof(uint64_t);
        double start = now_s();
        runner_launch(r, HR__KERNEL_STORE, &copies.params);
        runner_launch(r, HR__KERNEL_LZ4, &decode);
        runner_sync(r);
        double decoded = now_s();
        runner_launch(r, HR__KERNEL_STORE, &stores.params);
        runner_sync(r);
        if (i >= 0) {
            alone[i] = decoded - start;
            both[i] = now_s() - start;
        }
    }
    uint64_t nwrong = count_wrong(b, n);
    printf("%6" PRIu64 " chunks, %6u streams, %-20s decoded %7.1f, and stored %7.1f "
           "GB/s%s\n",
           n, decode.ntasks, hr__teams[team].symbol,
           median_gb_per_s(alone, n * b->nbytes), median_gb_per_s(both, n * b->nbytes),
           nwrong == 0 ? "" : "  WRONG");
    free_stores(b, &copies);
    free_stores(b, &stores);
    return nwrong;
}

static void open_array(bench *b, hr_context **context, hr_node **node) {
    hr_error err = HR_ERROR_INIT;
    must(hr_context_create(NULL, context, &err) == HR_OK, err.message);
    must(hr_open(*context, b->path, NULL, node, &err) == HR_OK, err.message);
    must(hr__node_check(*node, HR_NODE_ARRAY, &err) == HR_OK, err.message);
    const hr__array *a = b->array = &(*node)->zarr.array;
    const char *refused = hr__chain_for_kernels(&a->chain, &b->kernels);
    must(refused == NULL && a->nlevels == 0 && a->chain_for == NULL && a->ndim > 0,
         "not an array of plain chunks whose codecs have kernels");
    b->nbytes = a->chain.decoded.nbytes;
    b->row_nbytes =
        (uint64_t)hr__grid_length(&a->grid[a->ndim - 1], 0) * a->stored.itemsize;
    b->nrows = b->nbytes / b->row_nbytes;
    b->nchunks = 1;
    for (int32_t k = 0; k < a->ndim; k++) {
        b->nchunks *= (uint64_t)a->outer[k].nchunks;
    }
    hr__worker_init(&b->worker, &hr__malloc_allocator);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        printf("usage: kern_chunks simt|cuda ARRAY_DIRECTORY\n");
        return EXIT_FAILURE;
    }
    bench b = {.path = argv[2]};
    hr_context *context = NULL;
    hr_node *node = NULL;
    uint64_t nwrong = 0;
    open_array(&b, &context, &node);
    runner_open(&b.runner, argv[1]);
    prepare(&b);
    for (uint32_t team = 0; team < HR_K_LZ_NTEAMS; team++) {
        nwrong += measure(&b, b.nchunks, team);
    }
    for (uint64_t n = b.nchunks / 2; n >= 4; n /= 2) {
        nwrong += measure(&b, n, HR_K_LZ_w2s);
    }
    runner_close(&b.runner);
    hr__worker_free(&b.worker);
    hr_node_unref(node);
    hr_context_unref(context);
    return nwrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
