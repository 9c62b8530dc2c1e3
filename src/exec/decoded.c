/* Bringing what the host decoded to devices, and what devices a chunk is for.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "exec/kept.h"
#include "exec/run.h"
#include "exec/slab.h"
#include "exec/wanted.h"

hr__ring *hr__run_only_ring(const hr__run *run, const hr__chunk *chunk) {
    hr__ring *ring = run->targets[chunk->uses->request].ring;
    for (const hr__use *u = chunk->uses->next; u != NULL && ring != NULL; u = u->next) {
        ring = run->targets[u->request].ring == ring ? ring : NULL;
    }
    return ring;
}

bool hr__run_has_ring(const hr__run *run, const hr__chunk *chunk) {
    const hr__use *u = chunk->uses;
    while (u != NULL && run->targets[u->request].ring == NULL) {
        u = u->next;
    }
    return u != NULL;
}

hr_status hr__run_decode_to_ring(hr__run *run, hr__worker *w, const hr__chunk *chunk,
                                 const hr__chain *chain, const uint8_t *src,
                                 hr__ring *ring, hr_error *err) {
    uint64_t nbytes = chain->decoded.nbytes;
    uint64_t room = hr__slab_room(nbytes) + hr__slab_lists_room(run, ring, chunk);
    hr__slab_part part;
    HR__TRY(hr__slab_open(run, ring, (hr__need){.payload = room}, nbytes, &part, err));
    hr__slab *slab = part.slab;
    const hr_read_context reading = {.run = run, .chunks = chunk, .is_one = true};
    hr__decode d = {.worker = w,
                    .reading = &reading,
                    .skip_checksums = run->skip_checksums,
                    .cancelled = &run->cancelled,
                    .src = src,
                    .src_nbytes = chunk->nbytes,
                    .dst = slab->slot->payload.pinned + part.offset,
                    .dst_nbytes = nbytes};
    hr__wanted wanted;
    d.wanted = hr__wanted_to_decode(run, chunk, chain, &wanted);
    const uint64_t start = hr__clock_ns();
    hr_status status = hr__chain_decode(chain, &d, err);
    (void)hr__stages_lap(&run->stages, HR_STAGE_DECODE, start);
    if (status == HR_OK) {
        hr__run_count_decoded(run, nbytes - d.left_out_nbytes);
        hr__kept_add(run, chunk, chain, d.dst);
        hr__slab_lock(slab);
        status = hr__slab_add_decoded(slab, chunk, part.offset, nbytes, err);
        hr__slab_unlock(slab);
    }
    hr__slab_close(&part);
    return status;
}

static hr_status to_ring(hr__run *run, const hr__chunk *chunk, hr__ring *ring,
                         const uint8_t *bytes, uint64_t nbytes, hr_error *err) {
    const hr__array *array = chunk->object->array;
    uint64_t size = bytes != NULL ? nbytes : array->dtype.itemsize;
    uint64_t room = hr__slab_room(size) + hr__slab_lists_room(run, ring, chunk);
    hr__slab_part part;
    HR__TRY(hr__slab_open(run, ring, (hr__need){.payload = room}, size, &part, err));
    hr__slab *slab = part.slab;
    const uint64_t start = hr__clock_ns();
    memcpy(slab->slot->payload.pinned + part.offset, bytes != NULL ? bytes : array->fill,
           size);
    hr__slab_lock(slab);
    hr_status status = bytes != NULL
                           ? hr__slab_add_decoded(slab, chunk, part.offset, size, err)
                           : hr__slab_add_fill(slab, chunk, part.offset, err);
    hr__slab_unlock(slab);
    (void)hr__stages_lap(&run->stages, HR_STAGE_SCATTER, start);
    hr__slab_close(&part);
    return status;
}

bool hr__run_is_served(const hr__run *run, const hr__chunk *chunk, const hr__use *use) {
    const hr__use *u = chunk->uses;
    while (u != use && run->targets[u->request].ring != run->targets[use->request].ring) {
        u = u->next;
    }
    return u != use;
}

hr_status hr__run_to_devices(hr__run *run, const hr__chunk *chunk, const uint8_t *bytes,
                             uint64_t nbytes, hr_error *err) {
    for (const hr__use *u = chunk->uses; u != NULL; u = u->next) {
        hr__ring *ring = run->targets[u->request].ring;
        if (ring != NULL && !hr__run_is_served(run, chunk, u)) {
            HR__TRY(to_ring(run, chunk, ring, bytes, nbytes, err));
        }
    }
    return HR_OK;
}
