/* Planning: uses of all requests first, then the chunks that they are of, both by several
 * threads where there is enough of them. SPDX-License-Identifier: Apache-2.0 */
#include "plan/parts.h"

#include <inttypes.h>

#include "core/checked.h"
#include "core/each.h"
#include "plan/build.h"

/* So many requests are worth a thread, and so many threads the looking through of what
 * all have made that each does. */
#define PART_NREQUESTS 512
#define LEAST_PARTS 3

typedef struct part {
    hr__arena arena;
    hr_status status;
} part;

typedef struct work {
    hr__pool *pool;
    size_t nrequests;
    uint32_t nparts;
    part *parts;
    hr__builder *builders;
    hr_error *err; /* NULL of several parts */
} work;

/* How many uses the destinations are worth. */
static uint64_t max_uses(const hr__plan_request *requests, size_t n) {
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const hr__plan_request *r = &requests[i];
        uint64_t nbytes = 0;
        if (r->dst_ndim >= 0 && r->dst_ndim <= HR_MAX_NDIM) {
            (void)hr__shape_nbytes(r->dst_ndim, r->dst_shape, r->dst_itemsize, &nbytes);
        }
        (void)hr__add_u64(total, nbytes, &total);
    }
    uint64_t worth = total / HR__PLAN_USE_NBYTES;
    return worth < HR__PLAN_MIN_USES ? HR__PLAN_MIN_USES : worth;
}

static void make_uses(void *user, uint32_t i) {
    const work *w = user;
    const size_t n = w->nrequests;
    w->parts[i].status = hr__builder_run(&w->builders[i], n * i / w->nparts,
                                         n * (i + 1) / w->nparts, w->err);
}

static void make_chunks(void *user, uint32_t i) {
    const work *w = user;
    w->parts[i].status =
        hr__plan_gather(w->builders, w->nparts, i) ? HR_OK : hr__fail_memory(w->err, 0);
}

static hr_status do_all(work *w, void (*step)(void *user, uint32_t i)) {
    if (w->nparts == 1) {
        step(w, 0);
    } else {
        hr__pool_each(w->pool, w->nparts, step, w);
    }
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < w->nparts && status == HR_OK; i++) {
        status = w->parts[i].status;
    }
    return status;
}

/* The objects of all parts, in order of first use. */
static hr__plan collect(const work *w) {
    hr__plan plan = {0};
    hr__object_plan **tail = &plan.objects;
    for (uint32_t i = 0; i < w->nparts; i++) {
        const hr__vec *drafts = &w->builders[i].drafts;
        for (size_t k = 0; k < drafts->n; k++) {
            hr__object_plan *o = ((const hr__draft *)drafts->items)[k].object;
            if (o != NULL) {
                *tail = o;
                tail = &o->next;
                plan.nobjects++;
                plan.nchunks += o->nchunks;
            }
        }
    }
    *tail = NULL;
    return plan;
}

static bool make_parts(work *w, const hr__plan_request *requests, hr__arena *arena,
                       hr__numbers numbers) {
    w->parts = hr__arena_array(arena, w->nparts, sizeof *w->parts);
    w->builders = hr__arena_array(arena, w->nparts, sizeof *w->builders);
    if (w->parts == NULL || w->builders == NULL) {
        return false;
    }
    const uint64_t max_nuses = max_uses(requests, w->nrequests) / w->nparts;
    for (uint32_t i = 0; i < w->nparts; i++) {
        hr__arena_init(&w->parts[i].arena, arena->allocator);
        w->builders[i] = (hr__builder){.arena = &w->parts[i].arena,
                                       .requests = requests,
                                       .numbers = numbers,
                                       .max_nuses = max_nuses};
    }
    return true;
}

static hr_status build(work *w, const hr__plan_request *requests, hr__numbers numbers,
                       hr__arena *arena, hr__plan *plan) {
    if (!make_parts(w, requests, arena, numbers)) {
        return hr__fail_memory(w->err, w->nparts * sizeof(hr__builder));
    }
    hr_status status = do_all(w, make_uses);
    if (status == HR_OK) {
        status = do_all(w, make_chunks);
    }
    if (status == HR_OK) {
        *plan = collect(w);
    }
    for (uint32_t i = 0; i < w->nparts; i++) {
        hr__vec_free(arena->allocator, &w->builders[i].drafts);
        if (status == HR_OK) {
            hr__arena_take(arena, &w->parts[i].arena);
        } else {
            hr__arena_free(&w->parts[i].arena);
        }
    }
    return status;
}

uint32_t hr__plan_nparts(size_t n, uint32_t nthreads) {
    const size_t most = n / PART_NREQUESTS;
    const uint32_t nparts = most < nthreads ? (uint32_t)most : nthreads;
    return nparts < LEAST_PARTS ? 1 : nparts;
}

hr_status hr__plan_build_parts(const hr__plan_request *requests, size_t n, hr__pool *pool,
                               uint32_t nparts, hr__arena *arena, hr__plan *plan,
                               hr_error *err) {
    if (n > UINT32_MAX) {
        return hr__fail(err, HR_ERR_OVERFLOW, "%zu requests, at most %" PRIu32, n,
                        UINT32_MAX);
    }
    hr__numbers numbers;
    HR__TRY(hr__plan_number_arrays(requests, n, arena, &numbers, err));
    work several = {.pool = pool, .nrequests = n, .nparts = nparts};
    if (nparts > 1 && build(&several, requests, numbers, arena, plan) == HR_OK) {
        return HR_OK;
    }
    /* One after the other, the first request that is wrong is the one that is named. */
    work one = {.nrequests = n, .nparts = 1, .err = err};
    return build(&one, requests, numbers, arena, plan);
}

hr_status hr__plan_build(const hr__plan_request *requests, size_t n, hr__arena *arena,
                         hr__plan *plan, hr_error *err) {
    return hr__plan_build_parts(requests, n, NULL, 1, arena, plan, err);
}
