/* The store kernel's parameters. SPDX-License-Identifier: Apache-2.0
 *
 * Bytes become a store: its types, shuffle, blocks and loops. Whatever the host accepts
 * must stay within the chunk and the destination, which are just as long as the loops
 * reach. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "device/kstore.h"

#define MOST_ITEMS 5000
#define MOST_CHUNK (1 << 16)
#define MOST_DST (1 << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void must(hr_status status) {
    if (status != HR_OK) {
        abort();
    }
}

/* Bytes of the input; zeros behind its end. */
typedef struct input {
    const uint8_t *data;
    size_t nbytes;
} input;

static uint32_t take(input *in, uint32_t below) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < 2 && in->nbytes > 0; i++) {
        value = value << 8 | *in->data++;
        in->nbytes--;
    }
    return value % below;
}

static uint64_t take_bits(input *in) {
    uint64_t bits = 0;
    for (int i = 0; i < 4; i++) {
        bits = bits << 16 | take(in, 1 << 16);
    }
    return bits;
}

static void take_types(input *in, hr_k_store *s) {
    static const uint32_t units[] = {1, 2, 4, 8};
    static const uint8_t sizes[HR_K_NNUMBERS] = {
        [HR_K_BOOL] = 1, [HR_K_I8] = 1,  [HR_K_I16] = 2,  [HR_K_I32] = 4,
        [HR_K_I64] = 8,  [HR_K_U8] = 1,  [HR_K_U16] = 2,  [HR_K_U32] = 4,
        [HR_K_U64] = 8,  [HR_K_F16] = 2, [HR_K_BF16] = 2, [HR_K_F32] = 4,
        [HR_K_F64] = 8,  [HR_K_C64] = 8, [HR_K_C128] = 16};
    s->from = s->to = take(in, HR_K_NNUMBERS);
    s->from_unit = units[take(in, 4)];
    s->to_unit = units[take(in, 4)];
    s->copy.itemsize = s->from == HR_K_RAW ? 1 + take(in, 40) : sizes[s->from];
    s->nsteps = s->from == HR_K_RAW ? 0 : take(in, HR_K_MAX_STEPS + 1);
    for (uint32_t i = 0; i < s->nsteps; i++) {
        hr_k_step *step = &s->steps[i];
        step->code = take(in, HR_K_REPLACE + 1);
        s->to = step->code == HR_K_CAST ? 1 + take(in, HR_K_NNUMBERS - 1) : s->to;
        step->number = s->to;
        step->a = take_bits(in);
        step->b = take_bits(in);
    }
    s->shuffle = take(in, HR_K_BITS_SHUFFLED + 1);
    s->typesize = 1 + take(in, take(in, 4) > 0 ? 8 : 300);
    s->block_nbytes = 1 + take(in, 5000);
}

typedef struct side {
    int64_t first, last; /* offsets of items */
} side;

static void reach(side *s, int64_t step, uint64_t n) {
    const int64_t far = step * (int64_t)(n - 1);
    s->first += far < 0 ? far : 0;
    s->last += far > 0 ? far : 0;
}

/* False: too large. */
static bool take_loops(input *in, hr_k_store *s, side *src, side *dst) {
    const int64_t from = s->copy.itemsize, to = take(in, 3) > 0 ? 1 : 16;
    s->copy.ndim = (int32_t)take(in, HR_K_MAX_DIMS + 1);
    s->copy.nitems = 1;
    for (int32_t i = 0; i < s->copy.ndim; i++) {
        hr_k_dim *d = &s->copy.dims[i];
        d->n = take(in, take(in, 8) > 0 ? 40 : 2000);
        d->src_step = (take(in, 4) > 0 ? from : 1) * ((int64_t)take(in, 80) - 16);
        d->dst_step = to * ((int64_t)take(in, 1000) - 200);
        s->copy.nitems *= d->n;
        if (s->copy.nitems > MOST_ITEMS) {
            return false;
        }
        if (d->n > 0) {
            reach(src, d->src_step, d->n);
            reach(dst, d->dst_step, d->n);
        }
    }
    return src->last - src->first < MOST_CHUNK && dst->last - dst->first < MOST_DST;
}

static hr__devptr upload(hr__device *d, const void *bytes, uint64_t nbytes) {
    hr__devptr p;
    must(d->ops->alloc(d, nbytes, &p, NULL));
    must(d->ops->copy_to_device(d, NULL, p, bytes, nbytes, NULL));
    return p;
}

static void run(hr__device *d, const hr_k_store *store) {
    hr_k_store_task task;
    hr_k_store_batch batch = {0};
    if (hr__kstore_lower(store, &task, NULL) != HR_OK ||
        hr__kstore_list(&task, 1, NULL, &batch, NULL) != HR_OK) {
        return;
    }
    const uint64_t ntiles = (uint64_t)batch.nmoving + batch.nconverting;
    hr_k_store_tile *tiles = calloc(ntiles + 1, sizeof *tiles);
    must(tiles == NULL ? HR_ERR_MEMORY : hr__kstore_list(&task, 1, tiles, &batch, NULL));
    batch.tasks = upload(d, &task, sizeof task);
    batch.tiles = upload(d, tiles, ntiles * sizeof *tiles);
    must(d->ops->launch(d, NULL, HR__KERNEL_STORE, &batch, NULL));
    d->ops->free(d, batch.tasks);
    d->ops->free(d, batch.tiles);
    free(tiles);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    static hr_allocator allocator;
    static hr__device *d;
    static uint8_t bytes[MOST_CHUNK + 1024];
    if (d == NULL) {
        allocator = hr__malloc_allocator;
        must(hr__device_find(HR_DEVICE_SIMT)->open(0, &allocator, &d, NULL));
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (uint8_t)(i * 151 >> 3);
        }
    }
    input in = {data, nbytes};
    hr_k_store s = {0};
    side src = {0}, dst = {0};
    take_types(&in, &s);
    if (!take_loops(&in, &s, &src, &dst)) {
        return 0;
    }
    /* Of the destination's items, the last is a whole one: at most 16 bytes, or raw. */
    static const uint8_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
    const uint64_t to = s.to == HR_K_RAW ? s.copy.itemsize : sizes[s.to - HR_K_BOOL];
    const uint64_t spare = take(&in, 64), shift = take(&in, 32);
    s.chunk_nbytes = (uint64_t)(src.last - src.first) + s.copy.itemsize + spare;
    const uint64_t dst_nbytes = (uint64_t)(dst.last - dst.first) + to;
    const hr__devptr chunk = upload(d, bytes, s.chunk_nbytes + shift);
    hr__devptr room;
    must(d->ops->alloc(d, dst_nbytes + shift, &room, NULL));
    s.chunk = chunk + shift;
    s.copy.src = (uint64_t)-src.first;
    s.copy.dst = room + shift + (uint64_t)-dst.first;
    run(d, &s);
    d->ops->free(d, chunk);
    d->ops->free(d, room);
    return 0;
}
