/* Second half of a read: a byte range is read, its chunks decoded and delivered.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec/leaves.h"
#include "exec/kept.h"
#include "exec/pieces.h"
#include "exec/run.h"
#include "exec/scatter.h"
#include "exec/wanted.h"

static void fail_missing(hr__run *run, const hr__chunk *chunk, const char *key) {
    const hr__source *source = run->targets[chunk->object->array_id].source;
    char coords[128] = "";
    size_t n = 0;
    for (int32_t i = 0; i < source->array->ndim && n < sizeof coords; i++) {
        n += (size_t)snprintf(coords + n, sizeof coords - n, "%s%" PRId64,
                              i > 0 ? "," : "", chunk->coords[i]);
    }
    hr_error err = HR_ERROR_INIT;
    (void)hr__fail(&err, HR_ERR_MISSING_CHUNK, "chunk (%s) is missing: key %s", coords,
                   key);
    hr__error_add_place(&err, source->url, key, 0);
    hr__run_fail_chunk(run, chunk, &err);
}

hr_status hr__run_fill(hr__run *run, const hr__chunk *chunk, hr_error *err) {
    const hr__array *array = chunk->object->array;
    const uint64_t start = hr__clock_ns();
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        hr__target *t = &run->targets[u->request];
        if (t->ring == NULL) {
            hr__copy copy;
            hr__copy_from_use(u, array->dtype.itemsize, &copy);
            hr__scatter_fill(&copy, t->data, &t->dtype, array->fill, &array->dtype,
                             t->steps);
        }
    }
    (void)hr__stages_lap(&run->stages, HR_STAGE_SCATTER, start);
    return hr__run_to_devices(run, chunk, NULL, 0, err);
}

void hr__run_missing(hr__run *run, const hr__chunk *chunk) {
    atomic_fetch_add(&run->nmissing, 1);
    atomic_fetch_add(&run->ndone, 1);
    if (run->strict) {
        const hr__source *source = run->targets[chunk->object->array_id].source;
        char key[HR__KEY_MAX] = "";
        (void)hr__run_key(source, chunk->object, key, NULL);
        fail_missing(run, chunk, key);
        return;
    }
    hr_error err = HR_ERROR_INIT;
    if (hr__run_fill(run, chunk, &err) != HR_OK) {
        hr__run_report(run, chunk, &err);
    }
}

/* Where a chunk can be decoded straight into: its only destination, if that is host
 * memory of the same type in which the whole chunk is one contiguous run. */
static uint8_t *direct_destination(const hr__run *run, const hr__chunk *chunk) {
    const hr_dtype *from = &chunk->object->array->stored;
    if (!chunk->is_whole) {
        return NULL;
    }
    const hr__target *t = &run->targets[chunk->uses->request];
    if (t->ring != NULL || t->steps != NULL || !hr__dtype_equal(&t->dtype, from)) {
        return NULL;
    }
    hr__copy copy;
    hr__copy_from_use(chunk->uses, from->itemsize, &copy);
    return hr__copy_is_contiguous(&copy, from->itemsize) ? t->data + copy.dst_offset
                                                         : NULL;
}

/* Before anything is read or allocated for it: could that many bytes be this chunk? */
static hr_status check_encoded(const hr__chain *chain, uint64_t nbytes, hr_error *err) {
    const hr__spec *e = &chain->encoded;
    if (e->nbytes != HR__SIZE_UNKNOWN && nbytes != e->nbytes) {
        return hr__fail(err, HR_ERR_DATA, "chunk is %" PRIu64 " bytes, expected %" PRIu64,
                        nbytes, e->nbytes);
    }
    if (nbytes > e->max_nbytes) {
        return hr__fail(err, HR_ERR_DATA,
                        "chunk is %" PRIu64 " bytes, more than the %" PRIu64
                        " that its %" PRIu64 " decoded bytes could need",
                        nbytes, e->max_nbytes, chain->decoded.nbytes);
    }
    if (nbytes == 0 && chain->decoded.nbytes > 0) {
        return hr__fail(err, HR_ERR_DATA,
                        "chunk is empty (0 bytes), expected %" PRIu64 " decoded bytes",
                        chain->decoded.nbytes);
    }
    return hr__chain_check_ratio(chain, nbytes, err);
}

hr_status hr__run_check_chunk(const hr__array *a, const hr__chunk *chunk,
                              const hr__chain **chain, hr_error *err) {
    HR__TRY(hr__array_chain(a, chunk->coords, chain, err));
    return check_encoded(*chain, chunk->nbytes, err);
}

/* Copy decoded bytes to the uses in host memory. */
static void put_here(hr__run *run, const hr__chunk *chunk, const uint8_t *bytes) {
    const hr_dtype *from = &chunk->object->array->stored;
    const uint64_t start = hr__clock_ns();
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        const hr__target *t = &run->targets[u->request];
        if (t->ring == NULL) {
            hr__copy copy;
            hr__copy_from_use(u, from->itemsize, &copy);
            hr__scatter(&copy, t->data, &t->dtype, bytes, from, t->steps);
        }
    }
    (void)hr__stages_lap(&run->stages, HR_STAGE_SCATTER, start);
}

hr_status hr__run_put(hr__run *run, const hr__chunk *chunk, const uint8_t *bytes,
                      uint64_t nbytes, hr_error *err) {
    put_here(run, chunk, bytes);
    return hr__run_to_devices(run, chunk, bytes, nbytes, err);
}

void hr__run_count_decoded(hr__run *run, uint64_t nbytes) {
    atomic_fetch_add(&run->decoded_nbytes, nbytes);
    atomic_fetch_add(&run->decoded_cpu_nbytes, nbytes);
    atomic_fetch_add(&run->ndecoded_cpu, 1);
}

/* Decode into the worker's memory; *out = NULL where that delivered the chunk already: it
 * has no use but one or several in host memory. */
static hr_status decode_here(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                             const hr__chain *chain, const uint8_t *src,
                             const uint8_t **out, uint64_t *nbytes, hr_error *err) {
    const hr_read_context reading = {.run = run, .chunks = chunk, .is_one = true};
    hr__decode d = {.worker = w,
                    .reading = &reading,
                    .heap = run->heap,
                    .skip_checksums = run->skip_checksums,
                    .cancelled = &run->cancelled,
                    .src = src,
                    .src_nbytes = chunk->nbytes,
                    .dst = direct_destination(run, chunk),
                    .dst_nbytes = chain->decoded.nbytes};
    *out = NULL;
    if (d.dst == NULL) {
        bool done;
        HR__TRY(hr__run_deliver_pieces(run, w, chunk, chain, src, &done, err));
        if (done) {
            return HR_OK;
        }
    }
    hr__wanted wanted;
    d.wanted = hr__wanted_to_decode(run, chunk, chain, &wanted);
    const uint64_t start = hr__clock_ns();
    HR__TRY(hr__chain_decode(chain, &d, err));
    (void)hr__stages_lap(&run->stages, HR_STAGE_DECODE, start);
    hr__run_count_decoded(run, d.out_nbytes - d.left_out_nbytes);
    hr__kept_add(run, chunk, chain, d.out);
    *out = d.dst != NULL ? NULL : d.out;
    *nbytes = d.out_nbytes;
    return HR_OK;
}

hr_status hr__run_deliver_here(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                               const hr__chain *chain, const uint8_t *src,
                               hr_error *err) {
    const uint8_t *bytes = NULL;
    uint64_t nbytes;
    HR__TRY(decode_here(run, w, chunk, chain, src, &bytes, &nbytes, err));
    if (bytes != NULL) {
        put_here(run, chunk, bytes);
    }
    return HR_OK;
}

/* A codec that only the host has, in front of a device: strict refuses it. */
static hr_status check_strict(const hr__run *run, const hr__chain *chain, hr_error *err) {
    if (!run->strict || hr__chain_is_raw(chain)) {
        return HR_OK;
    }
    char why[HR__WHY_HOST_NBYTES];
    hr_status status = hr__fail(err, HR_ERR_STRICT,
                                "strict: the chunk would be decoded on the host (%s)",
                                hr__chain_why_host(chain, why));
    hr__error_add_codec(err, hr__chain_refuses_leaves(chain));
    return status;
}

hr_status hr__run_deliver(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                          const hr__chain *chain, const uint8_t *src, hr_error *err) {
    if (hr__run_has_ring(run, chunk)) {
        HR__TRY(check_strict(run, chain, err));
    }
    hr__ring *ring = hr__run_only_ring(run, chunk);
    if (ring != NULL) {
        return hr__run_decode_to_ring(run, w, chunk, chain, src, ring, err);
    }
    const uint8_t *bytes = NULL;
    uint64_t nbytes;
    HR__TRY(decode_here(run, w, chunk, chain, src, &bytes, &nbytes, err));
    return bytes != NULL ? hr__run_put(run, chunk, bytes, nbytes, err) : HR_OK;
}

hr_status hr__run_read(hr__run *run, hr__object *object, const hr__range *range,
                       void *dst, hr_error *err) {
    const hr_read_context reading = {.run = run, .chunks = range->chunks};
    const uint64_t start = hr__clock_ns();
    const uint64_t nbytes = range->nbytes;
    const uint64_t most = object->piece_nbytes > 0 ? object->piece_nbytes : nbytes;
    uint64_t done = 0;
    hr_status status = HR_OK;
    do {
        uint64_t n = nbytes - done < most ? nbytes - done : most;
        status = hr__object_read_for(object, range->offset + done, n, &reading,
                                     (uint8_t *)dst + done, err);
        done += n;
    } while (status == HR_OK && done < nbytes && !atomic_load(&run->cancelled));
    if ((status != HR_OK || done < nbytes) && atomic_load(&run->cancelled)) {
        status = hr__run_fail_cancelled(run, err); /* which a store may have noticed */
    }
    (void)hr__stages_lap(&run->stages, HR_STAGE_READ, start);
    atomic_fetch_add(&run->nreads, 1);
    atomic_fetch_add(&run->read_nbytes, nbytes);
    return status;
}

/* A range that is one uncompressed chunk, which goes to one place as it is: read it
 * there. */
static hr_status read_direct(hr__run *run, const hr__range *range, hr__object *object,
                             const hr__chain *chain, bool *done, hr_error *err) {
    const hr__chunk *chunk = range->chunks;
    uint8_t *dst = NULL;
    if (hr__chain_is_raw(chain) && chain->encoded.nbytes == chain->decoded.nbytes) {
        dst = direct_destination(run, chunk);
    }
    *done = dst != NULL;
    if (dst == NULL) {
        return HR_OK;
    }
    HR__TRY(hr__kept_read(run, object, range, dst, err));
    atomic_fetch_add(&run->decoded_nbytes, chunk->nbytes);
    return HR_OK;
}

void hr__run_fail_from(hr__run *run, const hr__chunk *chunk, const hr_error *err) {
    for (; chunk != NULL; chunk = chunk->next) {
        hr_error own = *err;
        hr__run_report(run, chunk, &own);
    }
}

static hr_status read_range(hr__run *run, hr__worker *w, hr__object *object,
                            const hr__range *range, const uint8_t **bytes,
                            hr_error *err) {
    uint8_t *buffer =
        hr__scratch_reserve(&run->context->allocator, &w->read, range->nbytes);
    if (buffer == NULL) {
        return hr__fail_memory(err, range->nbytes);
    }
    HR__TRY(hr__kept_read(run, object, range, buffer, err));
    *bytes = buffer;
    return HR_OK;
}

/* Sizes are checked before the range is read, so that no file can ask for memory that no
 * valid chunk would need. */
static void range_from_host(hr__run *run, hr__worker *w, const hr__object_plan *plan,
                            hr__object *object, const hr__kernel_chain *kernels,
                            const hr__range *range) {
    const uint8_t *bytes = NULL;
    for (const hr__chunk *c = range->chunks; c != NULL; c = c->next) {
        hr_error err = HR_ERROR_INIT;
        const hr__chain *chain = NULL;
        bool done = false;
        hr_status status = hr__run_check_chunk(plan->array, c, &chain, &err);
        if (status == HR_OK && range->chunks->next == NULL) {
            status = read_direct(run, range, object, chain, &done, &err);
        }
        if (status == HR_OK && !done && bytes == NULL) {
            status = read_range(run, w, object, range, &bytes, &err);
            if (status != HR_OK) {
                hr__run_fail_from(run, c, &err);
                return;
            }
        }
        if (status == HR_OK && !done) {
            const uint8_t *src = bytes + (c->offset - range->offset);
            status = kernels != NULL && !c->is_for_host && hr__run_has_ring(run, c)
                         ? hr__run_deliver_each(run, w, c, kernels, src, &err)
                         : hr__run_deliver(run, w, c, chain, src, &err);
        }
        if (status != HR_OK) {
            hr__run_report(run, c, &err);
        }
    }
}

/* The device of all uses of all chunks of a range, or NULL. */
static hr__ring *only_ring_of_range(const hr__run *run, const hr__range *range) {
    hr__ring *ring = hr__run_only_ring(run, range->chunks);
    for (const hr__chunk *c = range->chunks->next; c != NULL && ring != NULL;
         c = c->next) {
        ring = hr__run_only_ring(run, c) == ring ? ring : NULL;
    }
    return ring;
}

/* Structures may need their fields reversed, which only the host does. */
bool hr__run_has_kernels(const hr__array *a, hr__kernel_chain *kernels) {
    return a->chain_for == NULL && a->stored.kind != HR_KIND_STRUCT &&
           hr__chain_for_kernels(&a->chain, kernels) == NULL;
}

static bool is_all_for_host(const hr__range *range) {
    const hr__chunk *c = range->chunks;
    while (c != NULL && c->is_for_host) {
        c = c->next;
    }
    return c == NULL;
}

void hr__run_range(hr__run *run, hr__worker *w, const hr__object_plan *plan,
                   hr__object *object, const hr__range *range) {
    if (atomic_load(&run->cancelled)) {
        hr__run_drop(run, range->chunks);
        return;
    }
    hr__ring *ring = only_ring_of_range(run, range);
    hr__kernel_chain kernels;
    uint64_t n = 0;
    for (const hr__chunk *c = range->chunks; c != NULL; c = c->next) {
        n++;
    }
    const bool has_kernels = hr__run_has_kernels(plan->array, &kernels);
    if (ring != NULL && !is_all_for_host(range) && has_kernels) {
        hr__run_range_to_device(run, w, object, &kernels, range, ring);
    } else {
        hr__range left = *range;
        hr__kept_take(run, &left);
        range_from_host(run, w, plan, object, has_kernels ? &kernels : NULL, &left);
    }
    atomic_fetch_add(&run->ndone, n);
}
