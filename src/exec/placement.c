/* Chunks of a file whose tables say where they lie. SPDX-License-Identifier: Apache-2.0 */
#include "exec/placement.h"

#include <inttypes.h>

#define UNKNOWN (UINT64_MAX - 1) /* size of an entry without one */

/* Pages of a table. */
static uint64_t npages(const hr__placement *p) {
    return (p->nentries - 1) / HR__PLACEMENT_PAGE + 1;
}

hr__place hr__placement_find(const hr__placement *p, uint64_t chunk) {
    uint64_t table = chunk / p->chunks_per_table;
    uint64_t rest = chunk % p->chunks_per_table;
    uint64_t plane = rest / p->chunks_per_plane, i = rest % p->chunks_per_plane;
    bool is_one = p->plane_nbytes > 0; /* fits: the format has looked at the last plane */
    hr__place place = {
        .entry = (is_one ? 0 : plane * p->entries_per_plane) + i / p->parts_per_entry,
        .before = i % p->parts_per_entry * p->part_nbytes + plane * p->plane_nbytes};
    place.page = table * npages(p) + place.entry / HR__PLACEMENT_PAGE;
    return place;
}

/* A page that is to be read. */
typedef struct reader {
    const hr__tables *tables;
    bool is_big_endian;
    uint64_t first, n;
    hr__object *object;
    const hr_read_context *reading;
    hr__worker *worker;
    uint64_t *read_nbytes;
} reader;

static uint64_t load(const uint8_t *p, uint32_t nbytes, bool is_big_endian) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < nbytes; i++) {
        value = value << 8 | p[is_big_endian ? i : nbytes - 1 - i];
    }
    return value;
}

/* One column of the pairs. */
static hr_status read_column(const reader *r, uint64_t at, uint32_t nbytes,
                             uint64_t *column, hr_error *err) {
    uint64_t all = r->n * nbytes;
    uint8_t *raw;
    HR__TRY(hr__index_read(r->object, at + r->first * nbytes, all, r->reading, r->worker,
                           &raw, err));
    for (uint64_t i = 0; i < r->n; i++) {
        column[2 * i] = load(raw + i * nbytes, nbytes, r->is_big_endian);
    }
    *r->read_nbytes += all;
    return HR_OK;
}

static hr_status read_page(void *user, uint64_t *pairs, hr_error *err) {
    const reader *r = user;
    const hr__tables *t = r->tables;
    HR__TRY(read_column(r, t->offsets_at, t->offset_nbytes, pairs, err));
    if (t->size_nbytes > 0) {
        HR__TRY(read_column(r, t->sizes_at, t->size_nbytes, pairs + 1, err));
    }
    for (uint64_t i = 0; i < r->n; i++) {
        bool is_sized = t->size_nbytes > 0;
        if (is_sized ? pairs[2 * i + 1] == 0 : pairs[2 * i] == 0) {
            pairs[2 * i] = pairs[2 * i + 1] = UINT64_MAX;
        } else if (!is_sized) {
            pairs[2 * i + 1] = UNKNOWN;
        }
    }
    return HR_OK;
}

hr_status hr__placement_load(hr__cache *cache, const hr__cache_key *key,
                             const hr__placement *p, uint64_t page, hr__object *object,
                             const hr_read_context *reading, hr__worker *worker,
                             hr__block **out, uint64_t *read_nbytes, hr_error *err) {
    uint64_t first = page % npages(p) * HR__PLACEMENT_PAGE;
    uint64_t rest = p->nentries - first;
    reader r = {.tables = &p->tables[page / npages(p)],
                .is_big_endian = p->is_big_endian,
                .first = first,
                .n = rest < HR__PLACEMENT_PAGE ? rest : HR__PLACEMENT_PAGE,
                .object = object,
                .reading = reading,
                .worker = worker,
                .read_nbytes = read_nbytes};
    const hr__index_fill fill = {.user = &r, .fill = read_page};
    return hr__index_get(cache, key, r.n, &fill, out, err);
}

hr_status hr__placement_lookup(hr__block *index, hr__place place, const hr__spec *encoded,
                               uint64_t object_nbytes, hr__extent *out, bool *missing,
                               hr_error *err) {
    const uint64_t *pair =
        hr__index_pairs(index) + 2 * (place.entry % HR__PLACEMENT_PAGE);
    uint64_t offset = pair[0], nbytes = pair[1];
    *missing = nbytes == UINT64_MAX;
    if (*missing) {
        return HR_OK;
    }
    uint64_t before = place.before;
    if (offset == 0 || offset > object_nbytes || before > nbytes) {
        return hr__fail(err, HR_ERR_DATA,
                        "block %" PRIu64 " cannot have %" PRIu64
                        " bytes at offset %" PRIu64 " of a file of %" PRIu64,
                        place.entry, nbytes, offset, object_nbytes);
    }
    bool is_known = nbytes != UNKNOWN;
    uint64_t rest = object_nbytes - offset;
    nbytes = (is_known ? nbytes : rest) - before;
    if (nbytes > encoded->max_nbytes &&
        (encoded->nbytes != HR__SIZE_UNKNOWN || !is_known)) {
        nbytes = encoded->max_nbytes;
    }
    if (before > rest || nbytes > rest - before) {
        return hr__fail(err, HR_ERR_DATA,
                        "block %" PRIu64 " needs %" PRIu64 " bytes from offset %" PRIu64
                        " on, the file has %" PRIu64,
                        place.entry, nbytes, offset + before, object_nbytes);
    }
    *out = (hr__extent){.offset = offset + before, .nbytes = nbytes};
    return HR_OK;
}
