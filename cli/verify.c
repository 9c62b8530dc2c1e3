/* Decoding every chunk of an array. SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "memory.h"
#include "progress.h"
#include "report.h"

enum { SLOTS_MAX = 256 };
#define BATCH_NBYTES (UINT64_C(128) << 20)

/* Chunk numbers in an order that keeps the chunks of a shard together. */
typedef struct walk {
    int32_t ndim;
    const int64_t *grid;
    int64_t tile[HR_MAX_NDIM]; /* chunks of a shard per axis */
    int64_t base[HR_MAX_NDIM]; /* first chunk of the shard */
    int64_t at[HR_MAX_NDIM];   /* chunk within it */
    bool is_done;
} walk;

static void walk_begin(walk *w, const hr_node_info *info) {
    *w = (walk){.ndim = info->ndim, .grid = info->grid_shape};
    for (int32_t k = 0; k < w->ndim; k++) {
        w->tile[k] = 1;
        if (info->shard_shape != NULL && info->chunk_shape[k] > 0 &&
            info->shard_shape[k] > info->chunk_shape[k]) {
            w->tile[k] = info->shard_shape[k] / info->chunk_shape[k];
        }
        w->is_done = w->is_done || w->grid[k] == 0;
    }
}

static bool step_in_tile(walk *w) {
    for (int32_t k = w->ndim - 1; k >= 0; k--) {
        w->at[k]++;
        if (w->at[k] < w->tile[k] && w->base[k] + w->at[k] < w->grid[k]) {
            return true;
        }
        w->at[k] = 0;
    }
    return false;
}

static bool step_tile(walk *w) {
    for (int32_t k = w->ndim - 1; k >= 0; k--) {
        w->base[k] += w->tile[k];
        if (w->base[k] < w->grid[k]) {
            return true;
        }
        w->base[k] = 0;
    }
    return false;
}

/* A batch of requests, one chunk each. */
typedef struct verifier {
    hr_context *context;
    hr_node *array;
    hr_node_info info;
    hr_dtype dtype;
    uint64_t slot_nbytes;
    size_t nslots;
    size_t n; /* requests in use */
    cli_memory memory;
    hr_request *requests;
    hr_axis *axes;   /* ndim per request */
    int64_t *shapes; /* the same */
    cli_verdict *verdict;
} verifier;

static int prepare(verifier *v) {
    double nbytes = (double)v->dtype.itemsize;
    for (int32_t k = 0; k < v->info.ndim; k++) {
        int64_t chunk = v->info.chunk_shape[k];
        int64_t length = v->info.shape[k];
        nbytes *= (double)(chunk < length ? chunk : length);
    }
    if (nbytes > 0x1p62) {
        return cli_usage_error("a chunk is %.3g bytes, more than can be addressed",
                               nbytes);
    }
    v->slot_nbytes = ((uint64_t)nbytes + 63) / 64 * 64;
    uint64_t fit = v->slot_nbytes == 0 ? SLOTS_MAX : BATCH_NBYTES / v->slot_nbytes;
    v->nslots = fit < 1 ? 1 : fit > SLOTS_MAX ? SLOTS_MAX : (size_t)fit;
    size_t naxes = v->nslots * (size_t)v->info.ndim + 1;
    v->requests = calloc(v->nslots, sizeof *v->requests);
    v->axes = calloc(naxes, sizeof *v->axes);
    v->shapes = calloc(naxes, sizeof *v->shapes);
    if (v->requests == NULL || v->axes == NULL || v->shapes == NULL) {
        return cli_out_of_memory(naxes * sizeof *v->axes);
    }
    return cli_memory_reserve(&v->memory, v->nslots * v->slot_nbytes);
}

static hr_status add_request(verifier *v, const walk *w, hr_error *err) {
    size_t i = v->n;
    hr_axis *axes = v->axes + i * (size_t)w->ndim;
    int64_t *shape = v->shapes + i * (size_t)w->ndim;
    for (int32_t k = 0; k < w->ndim; k++) {
        int64_t start = 0;
        int64_t chunk = w->base[k] + w->at[k];
        hr_status status =
            hr_node_chunk_extent(v->array, k, chunk, &start, &shape[k], err);
        if (status != HR_OK) {
            return status;
        }
        axes[k] = (hr_axis){
            .kind = HR_AXIS_SLICE, .start = chunk, .stop = chunk + 1, .step = 1};
    }
    v->requests[i] = HR_REQUEST_INIT;
    v->requests[i].array = v->array;
    v->requests[i].selection =
        (hr_selection){.kind = HR_SELECT_BLOCKS, .naxes = w->ndim, .axes = axes};
    v->requests[i].dst = (hr_tensor){.data = (char *)v->memory.data + i * v->slot_nbytes,
                                     .device = v->memory.device,
                                     .dtype = v->dtype,
                                     .ndim = w->ndim,
                                     .shape = shape};
    v->n++;
    return HR_OK;
}

static void keep_bad(cli_verdict *verdict, const hr_error *err) {
    verdict->nbad++;
    if (verdict->nbad_kept == CLI_BAD_MAX) {
        return;
    }
    if (verdict->nbad_kept > 0) {
        const hr_error *last = &verdict->bad[verdict->nbad_kept - 1];
        if (strcmp(last->key, err->key) == 0 &&
            strcmp(last->message, err->message) == 0) {
            return; /* another chunk of the same bad shard */
        }
    }
    if (verdict->bad == NULL) {
        verdict->bad = calloc(CLI_BAD_MAX, sizeof *verdict->bad);
    }
    if (verdict->bad != NULL) {
        verdict->bad[verdict->nbad_kept++] = *err;
    }
}

static void keep_missing(cli_verdict *verdict, const char *key) {
    verdict->nmissing++;
    bool is_known = verdict->nmissing_kept > 0 &&
                    strcmp(verdict->missing[verdict->nmissing_kept - 1], key) == 0;
    if (verdict->nmissing_kept == CLI_MISSING_MAX || is_known) {
        return;
    }
    if (verdict->missing == NULL) {
        verdict->missing = calloc(CLI_MISSING_MAX, sizeof *verdict->missing);
    }
    char *copy = verdict->missing == NULL ? NULL : strdup(key);
    if (copy != NULL) {
        verdict->missing[verdict->nmissing_kept++] = copy;
    }
}

/* Read the requests gathered so far and judge each. */
static hr_status flush(verifier *v, hr_error *err) {
    hr_read_options options = HR_READ_OPTIONS_INIT;
    options.strict = 1;
    hr_batch *batch = NULL;
    hr_status status =
        hr_read_submit(v->context, v->requests, v->n, NULL, &options, &batch, err);
    if (status != HR_OK) {
        return status;
    }
    (void)!hr_batch_wait(batch, -1, NULL); /* each request is asked below */
    for (size_t i = 0; i < v->n; i++) {
        hr_error one = HR_ERROR_INIT;
        hr_status found = hr_batch_error(batch, i, &one);
        if (found == HR_ERR_MISSING_CHUNK) {
            keep_missing(v->verdict, one.key);
        } else if (found != HR_OK) {
            keep_bad(v->verdict, &one);
        }
    }
    v->verdict->nchunks += v->n;
    v->n = 0;
    hr_batch_unref(batch);
    return HR_OK;
}

static int verify_chunks(verifier *v, bool quiet) {
    uint64_t total = 1;
    for (int32_t k = 0; k < v->info.ndim; k++) {
        total *= (uint64_t)v->info.grid_shape[k];
    }
    walk w;
    cli_progress progress;
    hr_error err = HR_ERROR_INIT;
    hr_status status = HR_OK;
    cli_progress_begin(&progress, quiet, "verify", total);
    walk_begin(&w, &v->info);
    while (status == HR_OK && !w.is_done) {
        status = add_request(v, &w, &err);
        w.is_done = !step_in_tile(&w) && !step_tile(&w);
        if (status == HR_OK && (v->n == v->nslots || w.is_done)) {
            status = flush(v, &err);
            cli_progress_update(&progress, v->verdict->nchunks);
        }
    }
    cli_progress_end(&progress);
    return status == HR_OK ? CLI_OK : cli_report(&err);
}

int cli_verify_array(hr_context *context, hr_node *array, bool quiet, cli_verdict *out) {
    *out = (cli_verdict){.nchunks = 0};
    verifier v = {.context = context,
                  .array = array,
                  .info = HR_NODE_INFO_INIT,
                  .memory = {.device = {.type = HR_DEVICE_CPU}},
                  .verdict = out};
    hr_error err = HR_ERROR_INIT;
    if (hr_node_describe(array, &v.info, &err) != HR_OK) {
        return cli_report(&err);
    }
    if (!cli_layout_little(&v.info.dtype, &v.dtype)) {
        return cli_out_of_memory(v.info.dtype.nfields * sizeof(hr_field));
    }
    int rc = prepare(&v);
    if (rc == CLI_OK) {
        rc = verify_chunks(&v, quiet);
    }
    cli_memory_free(&v.memory);
    cli_layout_free(&v.dtype);
    free(v.requests);
    free(v.axes);
    free(v.shapes);
    return rc;
}

void cli_verdict_free(cli_verdict *verdict) {
    for (uint64_t i = 0; i < verdict->nmissing_kept; i++) {
        free(verdict->missing[i]);
    }
    free(verdict->missing);
    free(verdict->bad);
    *verdict = (cli_verdict){.nchunks = 0};
}
