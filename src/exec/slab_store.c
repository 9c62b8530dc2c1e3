/* From a use of a chunk to a store of the kernels. SPDX-License-Identifier: Apache-2.0 */
#include "exec/slab_store.h"

#include <string.h>

#include "device/kstore.h"
#include "exec/run.h"

/* A list in the payload, as the device will see it. */
static uint64_t put_list(hr__slab *slab, const int64_t *list, int64_t n) {
    if (list == NULL) {
        return 0;
    }
    uint64_t offset;
    uint8_t *place = hr__slab_reserve(slab, (uint64_t)n * sizeof *list, &offset);
    memcpy(place, list, (size_t)n * sizeof *list);
    return slab->slot->payload.device + offset;
}

static void set_loops(hr__slab *slab, const hr__copy *copy, hr_k_scatter *k) {
    k->nitems = 1;
    k->ndim = copy->nloops;
    for (int32_t i = 0; i < copy->nloops; i++) {
        const hr__loop *l = &copy->loops[i];
        k->nitems *= (uint64_t)l->n;
        k->dims[i] = (hr_k_dim){.n = (uint64_t)l->n,
                                .src_step = l->src_step,
                                .dst_step = l->dst_step,
                                .src_list = put_list(slab, l->src_list, l->n),
                                .dst_list = put_list(slab, l->dst_list, l->n)};
    }
}

static const uint32_t shuffles[] = {[HR__SHUFFLE_NONE] = HR_K_PLAIN,
                                    [HR__SHUFFLE_BYTES] = HR_K_BYTES_SHUFFLED,
                                    [HR__SHUFFLE_BITS] = HR_K_BITS_SHUFFLED};

static void set_source(hr_k_store *store, const hr__decoded *decoded) {
    store->chunk = decoded->chunk;
    store->chunk_nbytes = decoded->nbytes;
    store->block_nbytes = decoded->block_nbytes;
    store->shuffle = shuffles[decoded->mode];
    store->typesize = decoded->typesize;
}

hr_status hr__slab_store(hr__slab *slab, const hr__use *use, const hr__decoded *decoded,
                         hr_k_store *store, hr_error *err) {
    const hr__target *t = &slab->run->targets[use->request];
    hr__copy copy;
    hr__copy_from_use(use, decoded->from->itemsize, &copy);
    if (copy.nloops > HR_K_MAX_DIMS || decoded->from->itemsize > UINT32_MAX) {
        return hr__fail(
            err, HR_ERR_UNSUPPORTED,
            "a selection with %d separate loops into device memory (at most %d)",
            copy.nloops, HR_K_MAX_DIMS);
    }
    if (!hr__kstore_begin(store, decoded->from) ||
        (decoded->steps != NULL && !hr__kstore_steps(store, decoded->steps)) ||
        (t->steps != NULL && !hr__kstore_steps(store, t->steps)) ||
        !hr__kstore_end(store, decoded->from, &t->dtype)) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "no kernel brings these items into device memory");
    }
    set_source(store, decoded);
    store->copy.src = (uint64_t)copy.src_offset;
    store->copy.dst = (uint64_t)(uintptr_t)t->data + (uint64_t)copy.dst_offset;
    set_loops(slab, &copy, &store->copy);
    return HR_OK;
}

hr_status hr__slab_store_items(const hr__decoded *decoded, const hr_dtype *to,
                               hr__devptr dst, hr_k_store *store, hr_error *err) {
    uint64_t nitems = decoded->nbytes / decoded->from->itemsize;
    if (!hr__kstore_begin(store, decoded->from) ||
        !hr__kstore_end(store, decoded->from, to)) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "no kernel lays out these items");
    }
    set_source(store, decoded);
    store->copy.dst = dst;
    store->copy.nitems = nitems;
    store->copy.ndim = 1;
    store->copy.dims[0] = (hr_k_dim){.n = nitems,
                                     .src_step = (int64_t)decoded->from->itemsize,
                                     .dst_step = (int64_t)to->itemsize};
    return HR_OK;
}

hr_k_store hr__slab_store_bytes(hr__devptr dst, hr__devptr src, uint64_t nbytes) {
    return (hr_k_store){.chunk = src,
                        .chunk_nbytes = nbytes,
                        .block_nbytes = nbytes,
                        .shuffle = HR_K_PLAIN,
                        .typesize = 1,
                        .from = HR_K_RAW,
                        .to = HR_K_RAW,
                        .from_unit = 1,
                        .to_unit = 1,
                        .copy = {.dst = dst,
                                 .nitems = nbytes,
                                 .itemsize = 1,
                                 .ndim = 1,
                                 .dims = {{.n = nbytes, .src_step = 1, .dst_step = 1}}}};
}
