/* What the parts of the engine's bench share. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_ENGINE_ENGINE_H
#define HR_BENCH_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <headrace/headrace.h>

#include "../measure.h"
#include "array.h"

enum { MAX_DEVICES = 2 };

typedef struct engine {
    const char *folder;
    const char *codec;
    uint64_t mib; /* how much is read */
    hr_device device;
    hr_context *context;
    hr_node *node;
    int32_t host_share; /* as in hr_read_options */
    uint16_t noise;     /* as in array; 0: as usual */
    hr_stage_times *times;
    array array;
} engine;

/* Part of an array, and where it goes. */
typedef struct part {
    uint64_t row, nrows, column, ncolumns;
    hr_device device;
    void *data;
} part;

/* All of these end the program where something fails. */

void engine_fail(const char *what, const hr_error *err);
/* Context, array and node. `options` may be NULL. */
void engine_open(engine *e, uint64_t chunk_nbytes, const hr_context_options *options);
void engine_close(engine *e);
part engine_whole(const engine *e, void *data);
void *engine_alloc(const engine *e, hr_device device, uint64_t nbytes);
hr_batch *engine_submit(const engine *e, const part *parts, uint64_t n);
/* Seconds from submit until it is done. */
double engine_read(const engine *e, const part *parts, uint64_t n);
/* Until it is done, by the context's threads alone; releases it. */
void engine_await(hr_batch *b);
/* The same time for each part in a batch of its own, all under way at once. */
double engine_read_apart(const engine *e, const part *parts, uint64_t n);
/* What a stage of the last engine_read took. */
double engine_stage_ms(const engine *e, hr_stage stage);
/* What is in the destination is what is in the array. */
void engine_check(const engine *e, const part *p);

/* budget.c, latency.c, crops.c, cancel.c, two.c, turns.c, cufile.c */
void run_budget(engine *e);
void run_latency(engine *e);
void run_crops(engine *e);
void run_cancel(engine *e);
void run_two(engine *e);
void run_turns(engine *e);
void run_cufile(engine *e);

#endif
