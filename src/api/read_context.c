/* What is being read, told to custom stores and codecs. SPDX-License-Identifier: Apache-2.0
 */
#include <headrace/read_context.h>

#include "api/options.h"
#include "exec/run.h"

hr_status hr_read_context_describe(const hr_read_context *reading, hr_read_info *out,
                                   hr_error *err) {
    if (reading == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "reading is NULL");
    }
    const hr__run *run = reading->run;
    hr_read_info known = HR_READ_INFO_INIT;
    known.array = run->targets[reading->chunks->object->array_id].source->info;
    known.strict = run->strict;
    known.skip_checksums = run->skip_checksums;
    for (const hr__chunk *c = reading->chunks; c != NULL;
         c = reading->is_one ? NULL : c->next) {
        known.nchunks++;
    }
    return hr__options_write(out, &known, sizeof known, "hr_read_info", err);
}

int hr_read_context_is_cancelled(const hr_read_context *reading) {
    return reading != NULL && atomic_load(&reading->run->cancelled);
}

int hr_read_context_next_chunk(const hr_read_context *reading, hr_read_chunk *chunk) {
    if (reading == NULL || chunk == NULL) {
        return 0;
    }
    const hr__chunk *last = chunk->at;
    const hr__chunk *c = last == NULL      ? reading->chunks
                         : reading->is_one ? NULL
                                           : last->next;
    if (c == NULL) {
        return 0;
    }
    hr_read_chunk known = HR_READ_CHUNK_INIT;
    known.at = c;
    for (const hr__use *u = c->uses; u != NULL; u = u->next) {
        known.nuses++;
    }
    const hr__array *a = c->object->array;
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        known.start[axis] = hr__grid_start(&a->grid[axis], c->coords[axis]);
        known.shape[axis] = hr__grid_length(&a->grid[axis], c->coords[axis]);
    }
    return hr__options_write(chunk, &known, sizeof known, "hr_read_chunk", NULL) == HR_OK;
}

/* A piece as an axis of a selection. */
static hr_axis axis_of(const hr__piece *p) {
    if (p->src_list != NULL) {
        return (hr_axis){
            .kind = HR_AXIS_INDICES, .indices = p->src_list, .nindices = (uint64_t)p->n};
    }
    const int64_t last = p->src0 + (p->n - 1) * p->src_step;
    const int64_t stop = p->src_step >= 0 ? last + 1 : last - 1;
    return (hr_axis){.kind = HR_AXIS_SLICE,
                     .start = p->src0,
                     .stop = stop < 0 ? HR_NONE : stop,
                     .step = p->src_step,
                     .nindices = (uint64_t)p->n};
}

int hr_read_context_next_use(const hr_read_context *reading, const hr_read_chunk *chunk,
                             hr_read_use *use) {
    if (reading == NULL || chunk == NULL || chunk->at == NULL || use == NULL) {
        return 0;
    }
    const hr__chunk *c = chunk->at;
    const hr__use *last = use->at;
    const hr__use *u = last == NULL ? c->uses : last->next;
    if (u == NULL) {
        return 0;
    }
    const hr__target *t = &reading->run->targets[u->request];
    hr_read_use known = HR_READ_USE_INIT;
    known.at = u;
    known.request = u->request;
    known.user = t->user;
    known.device = hr__target_device(t);
    known.dtype = t->dtype;
    known.is_packed = t->steps != NULL;
    known.kind = u->ndim == c->object->array->ndim ? HR_SELECT_AXES : HR_SELECT_POINTS;
    known.naxes = u->ndim;
    known.nelems = 1; /* no overflow: they lie in one chunk or, repeated, in the result */
    for (int32_t i = 0; i < u->ndim; i++) {
        known.axes[i] = axis_of(u->dims[i].piece);
        known.nelems *= (uint64_t)u->dims[i].piece->n;
    }
    return hr__options_write(use, &known, sizeof known, "hr_read_use", NULL) == HR_OK;
}
