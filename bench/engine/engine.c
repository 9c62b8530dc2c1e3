/* What the engine promises, on a device. SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_engine TASK DEVICE FOLDER [MIB [CODEC]]
 *
 * budget   reads MIB (20480) with 64 MiB of scratch on the device and as much pinned
 *          memory, and tells how much of it was in use at most
 * latency  one chunk of 64 KiB alone, beside pread and a copy; decoded by the device, and
 *          by whom earlier reads let expect to be sooner done
 * crops    10,000 random crops of 64 KiB of MIB (512), beside a read of all
 * cancel   how long after a cancel a batch is done
 * two      two halves of MIB (4096) on two devices at once, in one batch and in one for
 *          each, beside all on one (DEVICE is the first of them)
 * turns    MIB (2048) in one batch and in two at once; and one chunk after the other in
 *          batches of their own meanwhile
 * cufile   MIB (240, so that no file is a link: it registers each file once), raw, by
 *          NVIDIA's cuFile into the device, beside headrace
 *
 * Each with every CODEC (raw, lz4: Blosc with shuffle, zstd) or the one given. All that
 * is read is compared with what it should be. Writes its arrays into FOLDER, a
 * link for every chunk but the first 61; ends with an error where something is wrong. */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/memory.h>

#define MIB (UINT64_C(1) << 20)
#define USUAL_NOISE 16 /* zstd makes it two thirds */
#define CHECK_NBYTES (64 * MIB)

void engine_fail(const char *what, const hr_error *err) {
    (void)fprintf(stderr, "bench_engine: %s%s%s\n", what, err != NULL ? ": " : "",
                  err != NULL ? err->message : "");
    exit(EXIT_FAILURE);
}

void engine_open(engine *e, uint64_t chunk_nbytes, const hr_context_options *options) {
    hr_error err = HR_ERROR_INIT;
    e->array = (array){.folder = e->folder,
                       .codec = e->codec,
                       .noise = e->noise > 0 ? e->noise : USUAL_NOISE,
                       .nchunks = e->mib * MIB / chunk_nbytes,
                       .chunk_nbytes = chunk_nbytes};
    if (!array_write(&e->array)) {
        perror(e->array.path);
        exit(EXIT_FAILURE);
    }
    if (hr_context_create(options, &e->context, &err) != HR_OK ||
        hr_open(e->context, e->array.path, NULL, &e->node, &err) != HR_OK) {
        engine_fail(e->array.path, &err);
    }
}

void engine_close(engine *e) {
    hr_node_unref(e->node);
    hr_context_unref(e->context);
    array_free(&e->array);
}

part engine_whole(const engine *e, void *data) {
    return (part){.nrows = array_nbytes(&e->array) / ARRAY_ROW_NBYTES,
                  .ncolumns = ARRAY_COLUMNS,
                  .device = e->device,
                  .data = data};
}

void *engine_alloc(const engine *e, hr_device device, uint64_t nbytes) {
    hr_error err = HR_ERROR_INIT;
    void *data = NULL;
    if (hr_memory_alloc(e->context, device, nbytes, &data, &err) != HR_OK) {
        engine_fail("no memory", &err);
    }
    return data;
}

hr_batch *engine_submit(const engine *e, const part *parts, uint64_t n) {
    hr_request *requests = calloc(n, sizeof *requests);
    hr_axis *axes = calloc(n, 2 * sizeof *axes);
    int64_t *shapes = calloc(n, 2 * sizeof *shapes);
    if (requests == NULL || axes == NULL || shapes == NULL) {
        engine_fail("no memory", NULL);
    }
    for (uint64_t i = 0; i < n; i++) {
        const part *p = &parts[i];
        hr_axis *axis = axes + 2 * i;
        int64_t *shape = shapes + 2 * i;
        axis[0] =
            (hr_axis){.start = (int64_t)p->row, .stop = (int64_t)(p->row + p->nrows)};
        axis[1] = (hr_axis){.start = (int64_t)p->column,
                            .stop = (int64_t)(p->column + p->ncolumns)};
        shape[0] = (int64_t)p->nrows;
        shape[1] = (int64_t)p->ncolumns;
        requests[i] = HR_REQUEST_INIT;
        requests[i].array = e->node;
        requests[i].selection =
            (hr_selection){.kind = HR_SELECT_AXES, .naxes = 2, .axes = axis};
        requests[i].dst = (hr_tensor){.data = p->data,
                                      .device = p->device,
                                      .dtype = {.kind = HR_KIND_UINT,
                                                .byte_order = HR_LITTLE,
                                                .itemsize = sizeof(uint16_t)},
                                      .ndim = 2,
                                      .shape = shape};
    }
    hr_error err = HR_ERROR_INIT;
    hr_batch *b = NULL;
    hr_read_options o = HR_READ_OPTIONS_INIT;
    o.host_share = e->host_share;
    if (hr_read_submit(e->context, requests, n, NULL, &o, &b, &err) != HR_OK) {
        engine_fail("submit", &err);
    }
    free(shapes);
    free(axes);
    free(requests);
    return b;
}

double engine_read(const engine *e, const part *parts, uint64_t n) {
    hr_error err = HR_ERROR_INIT;
    const double start = now_s();
    hr_batch *b = engine_submit(e, parts, n);
    if (hr_batch_wait(b, -1, &err) != HR_OK) {
        engine_fail("read", &err);
    }
    const double seconds = now_s() - start;
    if (hr_batch_get_stages(b, e->times, &err) != HR_OK) {
        engine_fail("stages", &err);
    }
    hr_batch_unref(b);
    return seconds;
}

void engine_await(hr_batch *b) {
    hr_error err = HR_ERROR_INIT;
    if (hr_batch_wait(b, INT64_MAX, &err) != HR_OK) {
        engine_fail("read", &err);
    }
    hr_batch_unref(b);
}

double engine_read_apart(const engine *e, const part *parts, uint64_t n) {
    hr_batch *batches[MAX_DEVICES];
    const double start = now_s();
    for (uint64_t i = 0; i < n; i++) {
        batches[i] = engine_submit(e, &parts[i], 1);
    }
    for (uint64_t i = 0; i < n; i++) {
        engine_await(batches[i]);
    }
    return now_s() - start;
}

double engine_stage_ms(const engine *e, hr_stage stage) {
    return 1e-6 * (double)e->times->ns[stage];
}

void engine_check(const engine *e, const part *p) {
    hr_error err = HR_ERROR_INIT;
    const uint64_t row_nbytes = p->ncolumns * sizeof(uint16_t);
    const uint64_t step = CHECK_NBYTES / row_nbytes;
    uint8_t *bytes = malloc(CHECK_NBYTES);
    if (bytes == NULL) {
        engine_fail("no memory", NULL);
    }
    for (uint64_t i = 0; i < p->nrows; i += step) {
        const uint64_t n = p->nrows - i < step ? p->nrows - i : step;
        const uint8_t *src = (const uint8_t *)p->data + i * row_nbytes;
        if (hr_memory_to_host(e->context, p->device, bytes, src, n * row_nbytes, &err) !=
            HR_OK) {
            engine_fail("copying back", &err);
        }
        if (!array_holds(&e->array, bytes, p->row + i, n, p->column, p->ncolumns)) {
            engine_fail("wrong bytes", NULL);
        }
    }
    free(bytes);
}

static const struct task {
    const char *name;
    void (*run)(engine *e);
    uint64_t mib;
} tasks[] = {{"budget", run_budget, 20480}, {"latency", run_latency, 64},
             {"crops", run_crops, 512},     {"cancel", run_cancel, 4096},
             {"two", run_two, 4096},        {"turns", run_turns, 2048},
             {"cufile", run_cufile, 240}};

static const struct task *find_task(const char *name) {
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        if (strcmp(name, tasks[i].name) == 0) {
            return &tasks[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    static const char *const codecs[] = {"raw", "lz4", "zstd"};
    const struct task *task = argc >= 4 ? find_task(argv[1]) : NULL;
    hr_stage_times times = HR_STAGE_TIMES_INIT;
    engine e = {.times = &times};
    hr_error err = HR_ERROR_INIT;
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (task == NULL) {
        (void)fputs("usage: bench_engine budget|latency|crops|cancel|two|turns|cufile "
                    "DEVICE FOLDER [MIB [CODEC]]\n",
                    stderr);
        return 2;
    }
    if (hr_device_parse(argv[2], &e.device, &err) != HR_OK ||
        hr_device_describe(e.device, &info, &err) != HR_OK) { /* opens the driver */
        engine_fail(argv[2], &err);
    }
    e.folder = argv[3];
    e.mib = argc > 4 ? strtoull(argv[4], NULL, 10) : task->mib;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        e.codec = codecs[i];
        if (argc <= 5 || strcmp(argv[5], e.codec) == 0) {
            task->run(&e);
            (void)fflush(stdout);
        }
    }
    return EXIT_SUCCESS;
}
