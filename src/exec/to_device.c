/* Bringing the chunks of a range to a device, which decodes them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "core/checked.h"
#include "exec/kept.h"
#include "exec/run.h"
#include "exec/slab.h"
#include "exec/wanted.h"

/* What chunks and their leaves as a rule take of scratch: so many times the chunks. */
#define LEAVES_SHARE 2
/* Chunks of so many times their encoded size have little in their leaves. */
#define DENSE_RATIO 6

/* Scratch, and what leaves may want beside what they make: more than a slot has where the
 * context allows it. For dense chunks what a usual slot has beside them will do; it is
 * there, while a larger one would have to be made in its place. */
static uint64_t with_leaves(const hr__kernel_chain *kernels, const hr__ring *ring,
                            hr__need need) {
    const uint64_t usual = ring->usual.scratch, scratch = need.scratch;
    const bool is_dense = need.payload <= scratch / DENSE_RATIO;
    if (kernels->scratch_ratio == 0 || scratch > UINT64_MAX / LEAVES_SHARE) {
        return scratch;
    }
    need.scratch *= LEAVES_SHARE;
    if (scratch <= (is_dense ? usual / 4 * 3 : usual / LEAVES_SHARE)) {
        return need.scratch < usual ? need.scratch : usual;
    }
    if (hr__ring_allows(ring, need)) {
        return need.scratch;
    }
    return scratch < usual ? usual : scratch;
}

/* Memory is asked for by what a chunk claims to be, so not for one that cannot be that;
 * nothing decodes it either. */
static bool is_possible(const hr__chunk *chunk) {
    const hr__chain *chain;
    return hr__run_check_chunk(chunk->object->array, chunk, &chain, NULL) == HR_OK;
}

/* Payload for so many bytes and the lists of the range's chunks, scratch for what they
 * decode to. */
static hr_status range_need(const hr__run *run, const hr__kernel_chain *kernels,
                            const hr__range *range, uint64_t nbytes, hr__ring *ring,
                            hr__need *need, hr_error *err) {
    uint64_t scratch = 0;
    uint64_t payload = hr__slab_room(nbytes);
    bool fits = true;
    for (const hr__chunk *c = range->chunks; c != NULL && fits; c = c->next) {
        fits = (!is_possible(c) ||
                hr__add_u64(scratch, hr__slab_scratch_need(kernels), &scratch)) &&
               hr__add_u64(payload, hr__slab_lists_room(run, ring, c), &payload);
    }
    if (!fits) {
        return hr__fail(err, HR_ERR_OVERFLOW, "the chunks of a range are too large");
    }
    *need = (hr__need){.payload = payload, .scratch = scratch};
    need->scratch = with_leaves(kernels, ring, *need);
    return HR_OK;
}

/* How a chunk is decoded there: by its chain, which need not be the array's. */
typedef struct route {
    const hr__chain *chain;
    const hr__kernel_chain *kernels;
    hr__kernel_chain own;
} route;

/* `kernels` are those of the array's chain. HR_ERR_UNSUPPORTED: no kernels for this one's
 * chain. The way must not move. */
static hr_status find_route(const hr__chunk *chunk, const hr__kernel_chain *kernels,
                            route *way, hr_error *err) {
    const hr__array *a = chunk->object->array;
    way->kernels = kernels;
    HR__TRY(hr__run_check_chunk(a, chunk, &way->chain, err));
    if (way->chain != &a->chain) {
        const char *codec = hr__chain_for_kernels(way->chain, &way->own);
        if (codec != NULL) {
            return hr__fail(err, HR_ERR_UNSUPPORTED, "no kernel decodes %s", codec);
        }
        way->kernels = &way->own;
    }
    return HR_OK;
}

/* Leaves of a chunk, in the worker's memory until the next. */
static hr_status describe(const hr__run *run, hr__worker *w, const hr__chunk *chunk,
                          const route *way, const uint8_t *src, hr__leaves *leaves,
                          hr_error *err) {
    hr__decode d = {.worker = w,
                    .skip_checksums = run->skip_checksums,
                    .cancelled = &run->cancelled,
                    .src = src,
                    .src_nbytes = chunk->nbytes};
    hr__wanted wanted;
    if (way->kernels->nfront == 0 && hr__chain_partial(way->chain) >= 0 &&
        hr__wanted_find(chunk, way->chain, &wanted)) {
        d.wanted = &wanted;
    }
    *leaves = (hr__leaves){
        .allocator = w->allocator, .leaves = w->leaves, .zstd_blocks = w->zstd_blocks};
    hr_status status = hr__chain_leaves(way->chain, way->kernels, &d, leaves, err);
    w->leaves = leaves->leaves;
    w->zstd_blocks = leaves->zstd_blocks;
    return status;
}

/* Encoded bytes: here, for the host to look at, and where kernels will find them. */
typedef struct encoded {
    const uint8_t *bytes;
    hr__devptr device;
    bool is_there; /* already: they are not in the payload */
} encoded;

static hr_status add_described(hr__run *run, hr__slab *slab, const hr__chunk *chunk,
                               const route *way, const hr__leaves *leaves, hr__devptr src,
                               hr_error *err) {
    HR__TRY(hr__slab_add_leaves(slab, chunk, way->kernels, leaves, src, err));
    atomic_fetch_add(&run->decoded_nbytes,
                     way->chain->decoded.nbytes - leaves->left_out_nbytes);
    atomic_fetch_add(&run->ndecoded_device, 1);
    if (hr__slab_nvcomp_takes_any(slab, leaves)) {
        atomic_fetch_add(&run->ndecoded_nvcomp, 1);
    }
    return HR_OK;
}

/* HR_ERR_UNSUPPORTED: not here; chunk->needs_room says whether in another slab. */
static hr_status add_encoded(hr__run *run, hr__worker *w, const hr__slab_part *part,
                             hr__chunk *chunk, const route *way, encoded at,
                             hr_error *err) {
    hr__leaves leaves;
    HR__TRY(describe(run, w, chunk, way, at.bytes, &leaves, err));
    hr__slab_lock(part->slab);
    chunk->needs_room = !hr__slab_fits(part, way->kernels, &leaves);
    hr_status status =
        chunk->needs_room
            ? hr__fail(err, HR_ERR_UNSUPPORTED, "no scratch left in the slab")
            : add_described(run, part->slab, chunk, way, &leaves, at.device, err);
    hr__slab_unlock(part->slab);
    return status;
}

/* A chunk in a slab that has all the scratch that it asks for. */
static hr_status add_with_room(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                               const route *way, encoded at, hr__ring *ring,
                               hr_error *err) {
    hr__leaves leaves;
    HR__TRY(describe(run, w, chunk, way, at.bytes, &leaves, err));
    const hr__need need = {.payload = hr__slab_room(at.is_there ? 0 : chunk->nbytes) +
                                      hr__slab_lists_room(run, ring, chunk),
                           .scratch = hr__slab_whole_need(way->kernels, &leaves)};
    if (!hr__ring_allows(ring, need)) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "kernels need %" PRIu64 " bytes of device scratch for it, the "
                        "context allows %" PRIu64,
                        need.scratch, ring->device_budget);
    }
    hr__slab_part part;
    HR__TRY(hr__slab_open(run, ring, need, at.is_there ? 0 : chunk->nbytes, &part, err));
    const hr__twin *payload = &part.slab->slot->payload;
    if (!at.is_there) {
        memcpy(payload->pinned + part.offset, at.bytes, chunk->nbytes);
        at.device = payload->device + part.offset;
    }
    hr__slab_lock(part.slab);
    hr_status status = add_described(run, part.slab, chunk, way, &leaves, at.device, err);
    hr__slab_unlock(part.slab);
    hr__slab_close(&part);
    return status;
}

/* Strict says why no kernel takes a chunk. */
static hr_status refuse(const hr__run *run, hr_error *err) {
    if (!run->strict) {
        return HR_ERR_UNSUPPORTED;
    }
    const hr_error why = *err;
    (void)hr__fail(err, HR_ERR_STRICT,
                   "strict: the chunk would be decoded on the host (%s)", why.message);
    hr__error_add_codec(err, why.codec);
    return HR_ERR_STRICT;
}

/* By kernels in a slab with all the room it needs, else by the host, to one device. */
static hr_status deliver_to_ring(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                                 const route *way, encoded at, hr__ring *ring,
                                 hr_error *err) {
    hr_status status = add_with_room(run, w, chunk, way, at, ring, err);
    status = status == HR_ERR_UNSUPPORTED ? refuse(run, err) : status;
    return status != HR_ERR_UNSUPPORTED
               ? status
               : hr__run_decode_to_ring(run, w, chunk, way->chain, at.bytes, ring, err);
}

static hr_status deliver(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                         const hr__kernel_chain *kernels, encoded at, hr__ring *ring,
                         hr_error *err) {
    route way;
    hr_status status = find_route(chunk, kernels, &way, err);
    if (status != HR_OK && status != HR_ERR_UNSUPPORTED) {
        return status;
    }
    return chunk->needs_room ? deliver_to_ring(run, w, chunk, &way, at, ring, err)
                             : hr__run_deliver(run, w, chunk, way.chain, at.bytes, err);
}

static encoded chunk_of(const hr__chunk *chunk, const hr__range *range, encoded at) {
    const uint64_t offset = chunk->offset - range->offset;
    at.bytes += offset;
    at.device += offset;
    return at;
}

/* Chunks for the host or another slab, once theirs is closed: no slab may be held while
 * another is opened. */
static void deliver_left(hr__run *run, hr__worker *w, const hr__kernel_chain *kernels,
                         const hr__range *range, encoded at, hr__ring *ring) {
    at.bytes = w->read.data;
    for (const hr__chunk *c = range->chunks; c != NULL; c = c->next) {
        hr_error err = HR_ERROR_INIT;
        if (c->is_left &&
            deliver(run, w, c, kernels, chunk_of(c, range, at), ring, &err) != HR_OK) {
            hr__run_report(run, c, &err);
        }
    }
}

/* Where a range will be read to. */
static uint8_t *read_buffer(hr__worker *w, uint64_t nbytes, hr_error *err) {
    uint8_t *buffer = hr__scratch_reserve(w->allocator, &w->read, nbytes);
    if (buffer == NULL) {
        (void)hr__fail_memory(err, nbytes);
    }
    return buffer;
}

/* Keep the bytes of a range that are in a slab now. */
static hr_status save_range(hr__worker *w, const uint8_t *bytes, uint64_t nbytes,
                            hr_error *err) {
    uint8_t *saved = read_buffer(w, nbytes, err);
    if (saved == NULL) {
        return HR_ERR_MEMORY;
    }
    memcpy(saved, bytes, nbytes);
    return HR_OK;
}

/* Before anything is read or allocated for it; ranges of several chunks are bounded. */
static hr_status check_size(const hr__range *range, hr_error *err) {
    const hr__chunk *chunk = range->chunks;
    const hr__chain *chain;
    return chunk->next != NULL
               ? HR_OK
               : hr__run_check_chunk(chunk->object->array, chunk, &chain, err);
}

/* Read a range for a new slab: into it, or, where the device has the bytes already, into
 * the worker's memory. */
static hr_status read_range(hr__run *run, hr__worker *w, hr__object *object,
                            const hr__kernel_chain *kernels, const hr__range *range,
                            hr__ring *ring, hr__slab_part *part, encoded *at,
                            hr_error *err) {
    hr__need need;
    uint8_t *bytes = NULL;
    HR__TRY(check_size(range, err));
    at->is_there = object->device_bytes != NULL &&
                   hr__device_equal(object->device, ring->device->id);
    const uint64_t nbytes = at->is_there ? 0 : range->nbytes;
    HR__TRY(range_need(run, kernels, range, nbytes, ring, &need, err));
    if (at->is_there && (bytes = read_buffer(w, range->nbytes, err)) == NULL) {
        return HR_ERR_MEMORY;
    }
    HR__TRY(hr__slab_open(run, ring, need, nbytes, part, err));
    const hr__twin *payload = &part->slab->slot->payload;
    if (at->is_there) {
        at->device = (hr__devptr)(uintptr_t)object->device_bytes + range->offset;
        hr__slab_lock(part->slab);
        part->slab->elsewhere += range->nbytes;
        hr__slab_unlock(part->slab);
    } else {
        bytes = payload->pinned + part->offset;
        at->device = payload->device + part->offset;
    }
    at->bytes = bytes;
    hr_status status = hr__kept_read(run, object, range, bytes, err);
    if (status != HR_OK) {
        hr__slab_close(part);
    }
    return status;
}

/* Each chunk of a range, but for what the host shall decode. Returns whether some are
 * left; their bytes are in w->read then. */
static bool add_range(hr__run *run, hr__worker *w, const hr__slab_part *part, encoded at,
                      const hr__kernel_chain *kernels, const hr__range *range) {
    bool any_left = false;
    for (hr__chunk *c = range->chunks; c != NULL; c = c->next) {
        hr_error err = HR_ERROR_INIT;
        route way;
        hr_status status = find_route(c, kernels, &way, &err);
        if (status == HR_OK && !c->is_for_host) {
            status = add_encoded(run, w, part, c, &way, chunk_of(c, range, at), &err);
        }
        if (status == HR_ERR_UNSUPPORTED && !c->needs_room) {
            status = refuse(run, &err);
        }
        status = status == HR_OK && c->is_for_host ? HR_ERR_UNSUPPORTED : status;
        c->is_left = status == HR_ERR_UNSUPPORTED;
        if (c->is_left && !any_left) {
            status = at.is_there ? HR_OK : save_range(w, at.bytes, range->nbytes, &err);
            c->is_left = any_left = status == HR_OK;
        }
        if (status != HR_OK && !c->is_left) {
            hr__run_report(run, c, &err);
        }
    }
    return any_left;
}

void hr__run_range_to_device(hr__run *run, hr__worker *w, hr__object *object,
                             const hr__kernel_chain *kernels, const hr__range *range,
                             hr__ring *ring) {
    hr_error err = HR_ERROR_INIT;
    hr__slab_part part;
    encoded at = {0};
    if (read_range(run, w, object, kernels, range, ring, &part, &at, &err) != HR_OK) {
        hr__run_fail_from(run, range->chunks, &err);
        return;
    }
    const uint64_t start = hr__clock_ns();
    bool any_left = add_range(run, w, &part, at, kernels, range);
    (void)hr__stages_lap(&run->stages, HR_STAGE_QUEUE, start);
    hr__slab_close(&part);
    if (any_left) {
        deliver_left(run, w, kernels, range, at, ring);
    }
}

/* --- to several places --- */

hr_status hr__run_deliver_each(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                               const hr__kernel_chain *kernels, const uint8_t *src,
                               hr_error *err) {
    route way;
    hr_status found = find_route(chunk, kernels, &way, err);
    if (found != HR_OK) {
        return found == HR_ERR_UNSUPPORTED
                   ? hr__run_deliver(run, w, chunk, way.chain, src, err)
                   : found;
    }
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        hr__ring *ring = run->targets[u->request].ring;
        if (hr__run_is_served(run, chunk, u)) {
            continue;
        }
        HR__TRY(ring != NULL ? deliver_to_ring(run, w, chunk, &way,
                                               (encoded){.bytes = src}, ring, err)
                             : hr__run_deliver_here(run, w, chunk, way.chain, src, err));
    }
    return HR_OK;
}
