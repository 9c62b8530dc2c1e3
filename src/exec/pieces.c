/* Delivering a large chunk in pieces. SPDX-License-Identifier: Apache-2.0 */
#include "exec/pieces.h"

#include <string.h>

#include "exec/kept.h"
#include "exec/scatter.h"

/* Chunks from this size on; pieces of about the other, which stays in the near cache. */
#define LARGE_NBYTES (UINT64_C(1) << 20)
#define PIECE_NBYTES (UINT64_C(512) << 10)

typedef struct planes {
    hr__run *run;
    const hr__chunk *chunk;
    const hr_dtype *from;
    int32_t axis; /* the slowest of the decoded chunk */
    int64_t plane_nelems;
    int64_t next;   /* plane that comes next */
    uint64_t since; /* when decoding went on */
} planes;

/* Turns k0 … k1 of a loop whose place start + k·step lies in [lo, hi). */
static void turns_within(int64_t n, int64_t start, int64_t step, int64_t lo, int64_t hi,
                         int64_t *k0, int64_t *k1) {
    *k0 = 0;
    *k1 = 0;
    if (step == 0) {
        *k1 = start >= lo && start < hi ? n : 0;
        return;
    }
    /* Looked at backwards, a falling loop is a rising one. */
    int64_t first = step > 0 ? start : start + (n - 1) * step;
    int64_t stride = step > 0 ? step : -step;
    int64_t a = lo <= first ? 0 : (lo - first + stride - 1) / stride;
    int64_t b = hi <= first ? 0 : (hi - first + stride - 1) / stride;
    a = a < n ? a : n;
    b = b < n ? b : n;
    *k0 = step > 0 ? a : n - b;
    *k1 = step > 0 ? b : n - a;
}

/* The part of a use that reads planes lo … hi, from a buffer that begins with plane lo.
 */
static bool clip_use(const hr__use *use, int32_t axis, int64_t lo, int64_t hi,
                     hr__use *clipped, hr__piece *piece) {
    const hr__piece *whole = use->dims[axis].piece;
    int64_t k0;
    int64_t k1;
    turns_within(whole->n, whole->src0, whole->src_step, lo, hi, &k0, &k1);
    if (k0 >= k1) {
        return false;
    }
    memcpy(clipped, use, sizeof *use + (size_t)use->ndim * sizeof(hr__dim));
    *piece = *whole;
    piece->n = k1 - k0;
    piece->src0 = whole->src0 + k0 * whole->src_step - lo;
    piece->dst0 = whole->dst0 + k0 * whole->dst_step;
    piece->dst_list = whole->dst_list != NULL ? whole->dst_list + k0 : NULL;
    clipped->dims[axis].piece = piece;
    return true;
}

static bool put_planes(void *user, const uint8_t *bytes, size_t nbytes) {
    planes *p = user;
    const uint64_t start = hr__stages_lap(&p->run->stages, HR_STAGE_DECODE, p->since);
    uint64_t plane_nbytes = (uint64_t)p->plane_nelems * p->from->itemsize;
    int64_t hi = p->next + (int64_t)(nbytes / plane_nbytes);
    _Alignas(hr__use) uint8_t memory[sizeof(hr__use) + HR_MAX_NDIM * sizeof(hr__dim)];
    hr__use *clipped = (hr__use *)memory;
    for (const hr__use *u = p->chunk->uses; u != NULL; u = u->next) {
        hr__piece piece;
        if (clip_use(u, p->axis, p->next, hi, clipped, &piece)) {
            const hr__target *t = &p->run->targets[u->request];
            hr__copy copy;
            hr__copy_from_use(clipped, p->from->itemsize, &copy);
            hr__scatter(&copy, t->data, &t->dtype, bytes, p->from, t->steps);
        }
    }
    p->next = hi;
    p->since = hr__stages_lap(&p->run->stages, HR_STAGE_SCATTER, start);
    return true;
}

static bool can_clip(const hr__run *run, const hr__chunk *chunk, int32_t axis) {
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        if (run->targets[u->request].ring != NULL ||
            u->ndim != chunk->object->array->ndim ||
            u->dims[axis].piece->src_list != NULL) {
            return false;
        }
    }
    return true;
}

hr_status hr__run_deliver_pieces(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                                 const hr__chain *chain, const uint8_t *src, bool *done,
                                 hr_error *err) {
    const hr__array *a = chunk->object->array;
    uint64_t nbytes = chain->decoded.nbytes;
    *done = false;
    if (a->ndim == 0 || nbytes < LARGE_NBYTES || hr__dtype_is_vlen(&a->stored) ||
        !hr__chain_has_pieces(chain) || hr__kept_wants(run, chunk, chain) ||
        !can_clip(run, chunk, a->order[0])) {
        return HR_OK;
    }
    planes p = {.run = run, .chunk = chunk, .from = &a->stored, .axis = a->order[0]};
    int64_t nplanes = chain->decoded.shape[0];
    uint64_t plane_nbytes = nbytes / (uint64_t)nplanes;
    if (plane_nbytes > nbytes / 2) {
        return HR_OK;
    }
    p.plane_nelems = (int64_t)(plane_nbytes / a->stored.itemsize);
    uint64_t count = plane_nbytes < PIECE_NBYTES ? PIECE_NBYTES / plane_nbytes : 1;
    const hr_read_context reading = {.run = run, .chunks = chunk, .is_one = true};
    hr__decode d = {.worker = w,
                    .reading = &reading,
                    .skip_checksums = run->skip_checksums,
                    .cancelled = &run->cancelled,
                    .src = src,
                    .src_nbytes = chunk->nbytes};
    const hr__sink sink = {.user = &p, .put = put_planes};
    p.since = hr__clock_ns();
    hr_status status =
        hr__chain_decode_pieces(chain, &d, count * plane_nbytes, &sink, err);
    (void)hr__stages_lap(&run->stages, HR_STAGE_DECODE, p.since);
    *done = status != HR_ERR_UNSUPPORTED;
    if (status == HR_OK) {
        hr__run_count_decoded(run, nbytes);
    }
    return *done ? status : HR_OK;
}
