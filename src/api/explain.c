/* Explaining a read before it is done. SPDX-License-Identifier: Apache-2.0 */
#include "api/explain.h"

#include "api/node.h"
#include "api/options.h"
#include "api/packing.h"
#include "api/request.h"
#include "core/checked.h"
#include "core/clock.h"
#include "device/device.h"

static bool is_host(hr_device device) {
    return device.type == 0 || device.type == HR_DEVICE_CPU;
}

/* What hr_read_submit asks of a request, but for memory and a device that is there. */
static hr_status read_request(hr_explanation *e, hr_request *r, size_t i,
                              hr__arena *arena, hr__explained *target, hr_error *err) {
    r->dst.data = r; /* nobody looks at it, and NULL would be refused */
    HR__TRY(hr__request_check(r, i, err));
    HR__TRY(hr__request_dtype(r, arena, &target->dtype, err));
    HR__TRY(hr__packing_steps(r, i, arena, &target->steps, err));
    target->source = &r->array->source;
    target->device = (hr_device){.type = HR_DEVICE_CPU};
    if (!is_host(r->dst.device)) {
        const hr__device_ops *ops;
        HR__TRY(hr__device_require(r->dst.device.type, &ops, err));
        target->device = r->dst.device;
    }
    uint64_t nbytes = 0; /* the check knows that it fits */
    (void)hr__shape_nbytes(r->dst.ndim, r->dst.shape, r->dst.dtype.itemsize, &nbytes);
    e->totals.output_nbytes = hr__explain_sum(e->totals.output_nbytes, nbytes);
    return HR_OK;
}

static hr_status add_object(hr_explanation *e, const hr__explained *targets,
                            const hr__object_plan *object, hr_error *err) {
    bool is_one_read = object->array->nlevels == 0;
    e->totals.nreads = hr__explain_sum(e->totals.nreads, is_one_read ? 1 : HR_UNKNOWN);
    for (const hr__chunk *c = object->chunks; c != NULL; c = c->next) {
        for (const hr__use *u = c->uses; u != NULL; u = u->next) {
            e->totals.nuses++;
        }
        HR__TRY(hr__explain_chunk(e, targets, c, err));
    }
    return HR_OK;
}

static void add_rows(hr_explanation *e) {
    hr_plan_totals *t = &e->totals;
    for (const hr__planned_row *row = e->rows; row != NULL; row = row->next) {
        const hr_planned_chain *c = &row->chain;
        t->nchains++;
        t->nchunks_device += c->is_on_device ? c->nchunks : 0;
        t->nchunks_strict += c->is_refused ? c->nchunks : 0;
    }
}

/* `arena` is for what only the making takes. */
static hr_status explain(hr_explanation *e, const hr_request *requests, size_t n,
                         hr__arena *arena, hr_error *err) {
    const uint64_t start = hr__clock_ns();
    hr__plan_request *wanted = hr__arena_array(arena, n, sizeof *wanted);
    hr__explained *targets = hr__arena_array(arena, n, sizeof *targets);
    if (wanted == NULL || targets == NULL) {
        return hr__fail_memory(err, n * sizeof *wanted);
    }
    for (size_t i = 0; i < n; i++) {
        hr_request r;
        HR__TRY(hr__request_read(requests, i, &r, err));
        HR__TRY(read_request(e, &r, i, arena, &targets[i], err));
        HR__TRY(hr__request_plan(&r, arena, &wanted[i], err));
    }
    hr__plan plan;
    HR__TRY(hr__plan_build(wanted, n, arena, &plan, err));
    e->stages.ns[HR_STAGE_PLAN] = hr__clock_ns() - start;
    e->totals.nrequests = n;
    e->totals.nchunks = plan.nchunks;
    e->totals.nobjects = plan.nobjects;
    for (const hr__object_plan *o = plan.objects; o != NULL; o = o->next) {
        HR__TRY(add_object(e, targets, o, err));
    }
    add_rows(e);
    hr__explain_waves(e);
    hr__explain_host_share(e);
    hr__explain_stages(e);
    return HR_OK;
}

hr_status hr_plan_explain(hr_context *context, const hr_request *requests, size_t n,
                          hr_explanation **out, hr_error *err) {
    if (context == NULL || out == NULL || (requests == NULL && n > 0)) {
        return hr__fail(err, HR_ERR_ARGUMENT, "context, requests or out is NULL");
    }
    hr_explanation *e = hr__calloc(&context->allocator, sizeof *e);
    if (e == NULL) {
        return hr__fail_memory(err, sizeof *e);
    }
    e->context = hr_context_ref(context);
    e->totals = HR_PLAN_TOTALS_INIT;
    e->stages = HR_STAGE_TIMES_INIT;
    hr__arena_init(&e->arena, &context->allocator);
    hr__arena arena;
    hr__arena_init(&arena, &context->allocator);
    hr_status status = explain(e, requests, n, &arena, err);
    hr__arena_free(&arena);
    if (status != HR_OK) {
        hr_explanation_free(e);
        return status;
    }
    *out = e;
    return HR_OK;
}

void hr_explanation_free(hr_explanation *explanation) {
    if (explanation != NULL) {
        hr_context *context = explanation->context;
        hr__arena_free(&explanation->arena);
        hr__free(&context->allocator, explanation, sizeof *explanation);
        hr_context_unref(context);
    }
}

hr_status hr_explanation_totals(const hr_explanation *explanation, hr_plan_totals *totals,
                                hr_error *err) {
    if (explanation == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "explanation is NULL");
    }
    return hr__options_write(totals, &explanation->totals, sizeof *totals,
                             "hr_plan_totals", err);
}

hr_status hr_explanation_chain(const hr_explanation *explanation, size_t i,
                               hr_planned_chain *chain, hr_error *err) {
    const hr__planned_row *row = explanation == NULL ? NULL : explanation->rows;
    for (size_t at = 0; at < i && row != NULL; at++) {
        row = row->next;
    }
    if (row == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "no explanation, or no chain %zu in it", i);
    }
    return hr__options_write(chain, &row->chain, sizeof *chain, "hr_planned_chain", err);
}

hr_status hr_explanation_stages(const hr_explanation *explanation, hr_stage_times *times,
                                hr_error *err) {
    if (explanation == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "explanation is NULL");
    }
    return hr__options_write(times, &explanation->stages, sizeof *times, "hr_stage_times",
                             err);
}
