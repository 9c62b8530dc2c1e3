/* Submitting reads and waiting for them. SPDX-License-Identifier: Apache-2.0 */
#include "api/node.h"
#include "api/options.h"
#include "api/packing.h"
#include "api/request.h"
#include "exec/host_share.h"
#include "exec/run.h"
#include "plan/parts.h"

struct hr_batch {
    atomic_uint refs;
    hr_context *context; /* held */
    hr_node **nodes;     /* held, one per request; in the run's arena */
    size_t nrequests;
    hr__run run;
};

hr_status hr_selection_shape(const hr_node *array, const hr_selection *selection,
                             int32_t *ndim, int64_t *shape, hr_error *err) {
    HR__TRY(hr__node_check(array, HR_NODE_ARRAY, err));
    if (selection == NULL || ndim == NULL || shape == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "selection, ndim or shape is NULL");
    }
    return hr__selection_shape(
        array->source.array, selection,
        array->info.is_rectilinear ? NULL : array->info.chunk_shape, ndim, shape, err);
}

static hr_status make_target(hr_batch *b, const hr_request *r, size_t i, hr_error *err) {
    hr__target *t = &b->run.targets[i];
    t->source = &r->array->source;
    HR__TRY(hr__request_dtype(r, &b->run.arena, &t->dtype, err));
    HR__TRY(hr__packing_steps(r, i, &b->run.arena, &t->steps, err));
    t->data = r->dst.data;
    t->user = r->user;
    atomic_init(&t->status, HR_OK);
    hr_device device = r->dst.device;
    hr__ring *before = i > 0 ? b->run.targets[i - 1].ring : NULL;
    if (before != NULL && hr__device_equal(before->device->id, device)) {
        t->ring = before;
    } else if (device.type != 0 && device.type != HR_DEVICE_CPU) {
        HR__TRY(hr__ring_set_get(&b->context->rings, device, &t->ring, err));
    }
    if (hr__dtype_is_vlen(&t->dtype) && b->run.heap == NULL) {
        b->run.heap = hr__heap_create(&b->context->allocator);
        if (b->run.heap == NULL) {
            return hr__fail_memory(err, 0);
        }
    }
    b->nodes[i] = hr_node_ref(r->array);
    b->nrequests = i + 1;
    return HR_OK;
}

static hr_status prepare(hr_batch *b, const hr_request *requests, size_t n,
                         hr_error *err) {
    hr__arena *arena = &b->run.arena;
    hr__plan_request *plan = hr__arena_array(arena, n, sizeof *plan);
    b->run.targets = hr__arena_array(arena, n, sizeof *b->run.targets);
    b->nodes = hr__arena_array(arena, n, sizeof(hr_node *));
    if (plan == NULL || b->run.targets == NULL || b->nodes == NULL) {
        return hr__fail_memory(err, n * sizeof *plan);
    }
    b->run.ntargets = n;
    for (size_t i = 0; i < n; i++) {
        hr_request r;
        HR__TRY(hr__request_read(requests, i, &r, err));
        HR__TRY(hr__request_check(&r, i, err));
        HR__TRY(make_target(b, &r, i, err));
        HR__TRY(hr__request_plan(&r, arena, &plan[i], err));
    }
    hr__pool *pool = b->context->pool;
    return hr__plan_build_parts(plan, n, pool, hr__plan_nparts(n, b->context->nthreads),
                                arena, &b->run.plan, err);
}

static void batch_free(hr_batch *b) {
    hr_context *context = b->context;
    for (size_t i = 0; i < b->nrequests; i++) {
        hr_node_unref(b->nodes[i]);
    }
    hr__heap_destroy(b->run.heap);
    hr__arena_free(&b->run.arena);
    hr__free(&context->allocator, b, sizeof *b);
    hr_context_unref(context);
}

hr_status hr_read_submit(hr_context *context, const hr_request *requests, size_t n,
                         void *stream, const hr_read_options *options, hr_batch **out,
                         hr_error *err) {
    if (context == NULL || out == NULL || (requests == NULL && n > 0)) {
        return hr__fail(err, HR_ERR_ARGUMENT, "context, requests or out is NULL");
    }
    if (n > UINT32_MAX) {
        return hr__fail(err, HR_ERR_OVERFLOW, "%zu requests in one batch", n);
    }
    hr_read_options o = HR_READ_OPTIONS_INIT;
    HR__TRY(hr__options_read(&o, sizeof o, options, "hr_read_options", err));
    if (o.on_error < HR_ON_ERROR_DELIVER || o.on_error > HR_ON_ERROR_STOP) {
        return hr__fail(err, HR_ERR_ARGUMENT, "on_error is %d", (int)o.on_error);
    }
    if (o.host_share < HR_HOST_SHARE_MEASURED || o.host_share > 100) {
        return hr__fail(err, HR_ERR_ARGUMENT, "host_share is %d", (int)o.host_share);
    }
    hr_batch *b = hr__calloc(&context->allocator, sizeof *b);
    if (b == NULL) {
        return hr__fail_memory(err, sizeof *b);
    }
    atomic_init(&b->refs, 1);
    b->context = hr_context_ref(context);
    b->run.context = context;
    b->run.stages.begun_ns = hr__clock_ns();
    b->run.strict = o.strict != 0;
    b->run.skip_checksums = o.skip_checksums != 0;
    b->run.on_error = o.on_error;
    hr__arena_init(&b->run.arena, &context->records.allocator);
    hr_status status = prepare(b, requests, n, err);
    if (status == HR_OK && o.host_share != 0 && !b->run.strict) {
        hr__host_share_mark(&b->run, o.host_share);
    }
    (void)hr__stages_lap(&b->run.stages, HR_STAGE_PLAN, b->run.stages.begun_ns);
    if (status == HR_OK) {
        status = hr__run_start(&b->run, stream, err);
    }
    if (status != HR_OK) {
        batch_free(b);
        return status;
    }
    *out = b;
    return HR_OK;
}

hr_status hr_batch_wait(hr_batch *batch, int64_t timeout_ns, hr_error *err) {
    if (batch == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "batch is NULL");
    }
    return hr__run_wait(&batch->run, timeout_ns, err);
}

hr_status hr_batch_wait_on_stream(hr_batch *batch, void *stream, hr_error *err) {
    if (batch == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "batch is NULL");
    }
    return hr__run_wait_on_stream(&batch->run, stream, err);
}

/* Nothing will come of a batch of the parent process. */
static bool is_forked(const hr_batch *batch) {
    return batch->run.generation != hr__fork_generation();
}

int hr_batch_poll(hr_batch *batch) {
    return batch == NULL || is_forked(batch) || atomic_load(&batch->run.done);
}

hr_status hr_batch_on_done(hr_batch *batch, void (*fn)(void *user), void *user,
                           hr_error *err) {
    if (batch == NULL || fn == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "batch or fn is NULL");
    }
    if (is_forked(batch)) {
        return hr__fail(err, HR_ERR_FORKED, "the batch belongs to the parent process");
    }
    return hr__run_on_done(&batch->run, fn, user, err);
}

hr_status hr_batch_get_fd(hr_batch *batch, int *out, hr_error *err) {
    if (batch == NULL || out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "batch or out is NULL");
    }
    if (is_forked(batch)) {
        return hr__fail(err, HR_ERR_FORKED, "the batch belongs to the parent process");
    }
    return hr__run_fd(&batch->run, out, err);
}

void hr_batch_get_progress(const hr_batch *batch, uint64_t *ndone, uint64_t *nchunks) {
    if (ndone != NULL) {
        *ndone = batch == NULL ? 0 : atomic_load(&batch->run.ndone);
    }
    if (nchunks != NULL) {
        *nchunks = batch == NULL ? 0 : batch->run.plan.nchunks;
    }
}

void hr_batch_cancel(hr_batch *batch) {
    if (batch != NULL) {
        hr__run_cancel(&batch->run);
    }
}

hr_status hr_batch_error(hr_batch *batch, size_t i, hr_error *err) {
    if (batch == NULL || i >= batch->nrequests) {
        return hr__fail(err, HR_ERR_ARGUMENT, "no request %zu", i);
    }
    if (is_forked(batch)) {
        return hr__fail(err, HR_ERR_FORKED, "the batch belongs to the parent process");
    }
    if (!atomic_load(&batch->run.done)) {
        return hr__fail(err, HR_ERR_TIMEOUT, "the batch is not done yet");
    }
    return hr__target_error(&batch->run.targets[i], err);
}

hr_status hr_batch_get_stats(hr_batch *batch, hr_batch_stats *stats, hr_error *err) {
    if (batch == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "batch is NULL");
    }
    hr__run *run = &batch->run;
    hr_batch_stats known = HR_BATCH_STATS_INIT;
    known.nchunks = run->plan.nchunks;
    known.nchunks_missing = atomic_load(&run->nmissing);
    known.nreads = atomic_load(&run->nreads);
    known.read_nbytes = atomic_load(&run->read_nbytes);
    known.decoded_nbytes = atomic_load(&run->decoded_nbytes);
    known.copied_nbytes = atomic_load(&run->copied_nbytes);
    known.ndecoded_cpu = atomic_load(&run->ndecoded_cpu);
    known.ndecoded_device = atomic_load(&run->ndecoded_device);
    known.ndecoded_nvcomp = atomic_load(&run->ndecoded_nvcomp);
    known.nkept_encoded = atomic_load(&run->nkept_encoded);
    known.nkept_decoded = atomic_load(&run->nkept_decoded);
    known.direct_nbytes = atomic_load(&run->direct_nbytes);
    known.nchunks_host_share = run->nhost_share;
    known.ndecoded_whole = atomic_load(&run->ndecoded_whole);
    known.nslabs = atomic_load(&run->nslabs);
    known.read_ns = atomic_load(&run->stages.ns[HR_STAGE_READ]);
    known.wait_ns = atomic_load(&run->wait_ns);
    return hr__options_write(stats, &known, sizeof known, "hr_batch_stats", err);
}

hr_status hr_batch_get_stages(hr_batch *batch, hr_stage_times *times, hr_error *err) {
    if (batch == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "batch is NULL");
    }
    hr_stage_times known = HR_STAGE_TIMES_INIT;
    hr__stages_tell(&batch->run, &known);
    return hr__options_write(times, &known, sizeof known, "hr_stage_times", err);
}

hr_batch *hr_batch_ref(hr_batch *batch) {
    if (batch != NULL) {
        atomic_fetch_add(&batch->refs, 1);
    }
    return batch;
}

void hr_batch_unref(hr_batch *batch) {
    if (batch != NULL && atomic_fetch_sub(&batch->refs, 1) == 1) {
        hr__run_finish(&batch->run);
        batch_free(batch);
    }
}

hr_status hr_read(hr_node *array, const hr_selection *selection, const hr_tensor *dst,
                  hr_error *err) {
    HR__TRY(hr__node_check(array, HR_NODE_ARRAY, err));
    if (dst == NULL || hr__dtype_is_vlen(&array->source.array->dtype)) {
        return hr__fail(
            err, HR_ERR_ARGUMENT,
            "dst is NULL, or the elements are of variable length: use a batch");
    }
    hr_request r = HR_REQUEST_INIT;
    r.array = array;
    if (selection != NULL) {
        r.selection = *selection;
    }
    r.dst = *dst;
    hr_batch *batch = NULL;
    HR__TRY(hr_read_submit(array->store->context, &r, 1, NULL, NULL, &batch, err));
    hr_status status = hr_batch_wait(batch, -1, err);
    hr_batch_unref(batch);
    return status;
}
