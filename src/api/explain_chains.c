/* Which way a chunk goes, before anything of it is read. What exec/ does with the chunk
 * is said here in the same order. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/explain.h"
#include "codec/leaves.h"
#include "core/checked.h"
#include "device/kstore.h"
#include "exec/run.h"
#include "exec/scatter.h"
#include "exec/slab.h"

uint64_t hr__explain_sum(uint64_t a, uint64_t b) {
    uint64_t sum;
    return hr__add_u64(a, b, &sum) ? sum : HR_UNKNOWN;
}

/* --- where its chunk is decoded --- */

typedef struct way {
    const hr__chain *chain;
    hr_device device;         /* of its destinations; type 0: of several */
    bool is_on_device;        /* decoded there */
    bool is_refused;          /* by strict */
    const char *reason;       /* of the host, or NULL */
    hr__kernel_chain kernels; /* is_on_device: how */
    char text[HR__WHY_HOST_NBYTES];
} way;

static hr_device only_device(const hr__explained *targets, const hr__chunk *chunk) {
    hr_device device = targets[chunk->uses->request].device;
    for (const hr__use *u = chunk->uses->next; u != NULL; u = u->next) {
        if (!hr__device_equal(targets[u->request].device, device)) {
            return (hr_device){0};
        }
    }
    return device;
}

/* Is the chunk's chain, and the array's, by which ranges are read, for kernels? */
static bool is_for_kernels(const hr__array *a, const hr__chain *chain,
                           hr__kernel_chain *kernels) {
    return hr__run_has_kernels(a, kernels) &&
           hr__chain_for_kernels(chain, kernels) == NULL;
}

/* Can the store kernel bring the items to all destinations on the device? */
static bool are_storable(const hr__explained *targets, const hr__chunk *chunk,
                         const hr__kernel_chain *kernels, hr_device device) {
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        const hr__explained *t = &targets[u->request];
        if (!hr__device_equal(t->device, device)) {
            continue;
        }
        hr_k_store store;
        hr__copy copy;
        hr__copy_from_use(u, kernels->items.itemsize, &copy);
        if (copy.nloops > HR_K_MAX_DIMS || !hr__kstore_begin(&store, &kernels->items) ||
            !hr__kstore_steps(&store, &kernels->steps) ||
            (t->steps != NULL && !hr__kstore_steps(&store, t->steps)) ||
            !hr__kstore_end(&store, &kernels->items, &t->dtype)) {
            return false;
        }
    }
    return true;
}

/* To w->device. */
static void find_way(const hr__explained *targets, const hr__chunk *chunk, way *w) {
    w->is_on_device = w->is_refused = false;
    w->reason = NULL;
    if (w->device.type == HR_DEVICE_CPU) {
        return;
    }
    if (!is_for_kernels(chunk->object->array, w->chain, &w->kernels)) {
        w->is_refused = !hr__chain_is_raw(w->chain);
        w->reason = w->is_refused ? hr__chain_why_host(w->chain, w->text) : NULL;
    } else if (!are_storable(targets, chunk, &w->kernels, w->device)) {
        w->is_refused = true;
        w->reason = "no kernel brings these items into device memory";
    } else {
        w->is_on_device = true;
    }
}

/* What the chunk asks of the staging ring, without the lists of its uses: at least, and
 * where kernels decode it perhaps. */
static int32_t scratch_for(const way *w, const hr__ring_set *rings) {
    if (w->device.type == HR_DEVICE_CPU) {
        return HR_SCRATCH_SUFFICES;
    }
    const uint64_t decoded = w->chain->decoded.nbytes, encoded = w->chain->encoded.nbytes;
    hr__need least = {.payload = hr__slab_room(decoded)}, most = least;
    if (w->is_on_device) {
        least = (hr__need){.payload = hr__slab_room(encoded == HR_UNKNOWN ? 0 : encoded),
                           .scratch = hr__slab_scratch_need(&w->kernels)};
        most.scratch = hr__slab_most_need(&w->kernels);
    }
    return !hr__need_fits(least, rings->pinned_budget, rings->device_budget)
               ? HR_SCRATCH_LACKS
           : hr__need_fits(most, rings->pinned_budget, rings->device_budget)
               ? HR_SCRATCH_SUFFICES
               : HR_SCRATCH_MAY_LACK;
}

/* --- what its codecs are --- */

static const char *leaf_kernels(const hr__codec_type *type, bool has_nvcomp) {
    static const struct {
        const char *codec, *kernels, *nvcomp;
    } names[] = {
        {"lz4", "LZ4 kernels", "nvCOMP"},
        {"snappy", "Snappy kernels", "nvCOMP"},
        {"zstd", "zstd kernels", NULL},
        {"gzip", "Deflate kernels", NULL},
        {"zlib", "Deflate kernels", NULL},
        {"tiff_lzw", "LZW kernels", NULL},
        {"tiff_packbits", "PackBits kernels", NULL},
        {"shuffle", "store kernel", NULL},
        {"blosc", "kernels of the codec that its header names",
         "nvCOMP where its header names LZ4 or Snappy, else kernels"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(type->name, names[i].codec) == 0) {
            return has_nvcomp && names[i].nvcomp != NULL ? names[i].nvcomp
                                                         : names[i].kernels;
        }
    }
    return "kernels";
}

/* Stage or step of a codec in front of the leaves. */
static const char *front_kernel(const hr__codec *codec, const hr__kernel_chain *k) {
    hr__stage stage;
    bool is_stage = codec->type->stage != NULL && k->stage.kind != HR__STAGE_NONE &&
                    codec->type->stage(codec, &stage) && stage.kind == k->stage.kind;
    return is_stage ? "filter kernels" : "store kernel";
}

static hr_planned_codec planned_codec(const way *w, int32_t i, bool has_nvcomp) {
    const hr__codec *codec = &w->chain->codecs[i];
    const hr__codec_type *type = codec->type;
    hr_planned_codec out = {.name = codec->name, .device = {.type = HR_DEVICE_CPU}};
    if (type->view && type->klass != HR__BYTES_TO_BYTES) {
        out.device = w->is_on_device ? w->device : out.device;
        out.implementation = "nothing to do";
    } else if (!w->is_on_device || type->view) { /* checksums */
        out.implementation = type->library;
    } else {
        out.device = w->device;
        out.implementation = i < w->kernels.nfront ? front_kernel(codec, &w->kernels)
                                                   : leaf_kernels(type, has_nvcomp);
    }
    return out;
}

/* --- rows --- */

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_row_of(const hr_planned_chain *row, const way *w,
                      const hr_planned_codec *codecs) {
    bool same = hr__device_equal(row->device, w->device) &&
                row->is_on_device == w->is_on_device &&
                row->is_refused == w->is_refused && same_text(row->reason, w->reason) &&
                row->ncodecs == (uint64_t)w->chain->ncodecs;
    for (uint64_t i = 0; same && i < row->ncodecs; i++) {
        const hr_planned_codec *codec = &row->codecs[i];
        same = same_text(codec->name, codecs[i].name) &&
               same_text(codec->implementation, codecs[i].implementation) &&
               hr__device_equal(codec->device, codecs[i].device);
    }
    return same;
}

/* With names of its own: the arrays may go before it does. */
static hr__planned_row *make_row(hr__arena *arena, const way *w,
                                 hr_planned_codec *codecs) {
    const uint64_t n = (uint64_t)w->chain->ncodecs;
    hr__planned_row *row = hr__arena_alloc(arena, sizeof *row);
    bool ok = row != NULL;
    for (uint64_t i = 0; ok && i < n; i++) {
        codecs[i].name = hr__arena_strdup(arena, codecs[i].name);
        ok = codecs[i].name != NULL;
    }
    const hr_planned_codec *kept =
        ok ? hr__arena_copy(arena, codecs, n * sizeof *codecs) : NULL;
    const char *reason =
        kept != NULL && w->reason != NULL ? hr__arena_strdup(arena, w->reason) : NULL;
    if (kept == NULL || (w->reason != NULL && reason == NULL)) {
        return NULL;
    }
    *row = (hr__planned_row){.chain = HR_PLANNED_CHAIN_INIT};
    row->chain.device = w->device;
    row->chain.is_on_device = w->is_on_device;
    row->chain.is_refused = w->is_refused;
    row->chain.reason = reason;
    row->chain.codecs = kept;
    row->chain.ncodecs = n;
    return row;
}

/* Count the chunk among those that go the same way. */
static hr_status add_way(hr_explanation *e, const hr__explained *targets,
                         const hr__chunk *chunk, way *w, hr_error *err) {
    hr_planned_codec codecs[HR__CHAIN_MAX] = {0};
    const bool has_nvcomp = hr__nvcomp_serves(&e->context->nvcomp, w->device.type);
    find_way(targets, chunk, w);
    for (int32_t i = 0; i < w->chain->ncodecs; i++) {
        codecs[i] = planned_codec(w, i, has_nvcomp);
    }
    hr__planned_row **at = &e->rows;
    while (*at != NULL && !is_row_of(&(*at)->chain, w, codecs)) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = make_row(&e->arena, w, codecs);
        if (*at == NULL) {
            return hr__fail_memory(err, sizeof **at);
        }
    }
    hr_planned_chain *row = &(*at)->chain;
    const int32_t scratch = scratch_for(w, &e->context->rings);
    row->scratch = scratch > row->scratch ? scratch : row->scratch;
    const hr__history_key key = {.alike = targets[chunk->object->array_id].source->alike,
                                 .device = w->device};
    const bool is_for_share = w->is_on_device && !hr__chain_is_raw(w->chain) &&
                              hr__device_equal(only_device(targets, chunk), w->device);
    hr__explain_share(e, key, w->chain->decoded.nbytes, is_for_share);
    row->nchunks++;
    row->read_nbytes = hr__explain_sum(row->read_nbytes, w->chain->encoded.nbytes);
    row->decoded_nbytes = hr__explain_sum(row->decoded_nbytes, w->chain->decoded.nbytes);
    return HR_OK;
}

/* Is this use's device that of an earlier one? */
static bool is_told(const hr__explained *targets, const hr__chunk *chunk,
                    const hr__use *use) {
    const hr__use *u = chunk->uses;
    while (u != use &&
           !hr__device_equal(targets[u->request].device, targets[use->request].device)) {
        u = u->next;
    }
    return u != use;
}

hr_status hr__explain_chunk(hr_explanation *e, const hr__explained *targets,
                            const hr__chunk *chunk, hr_error *err) {
    hr_plan_totals *t = &e->totals;
    way w;
    HR__TRY(hr__array_chain(chunk->object->array, chunk->coords, &w.chain, err));
    t->read_nbytes = hr__explain_sum(t->read_nbytes, w.chain->encoded.nbytes);
    t->decoded_nbytes = hr__explain_sum(t->decoded_nbytes, w.chain->decoded.nbytes);
    w.device = only_device(targets, chunk);
    if (w.device.type != 0 ||
        !is_for_kernels(chunk->object->array, w.chain, &w.kernels)) {
        return add_way(e, targets, chunk, &w, err);
    }
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        if (!is_told(targets, chunk, u)) {
            w.device = targets[u->request].device;
            HR__TRY(add_way(e, targets, chunk, &w, err));
        }
    }
    return HR_OK;
}
