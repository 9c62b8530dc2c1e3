/* Image file directories. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/checked.h"
#include "format/tiff/internal.h"

#define MAX_ENTRIES 65535 /* classic TIFF cannot have more; no BigTIFF has */

/* Sizes of the parts of a directory. */
typedef struct sizes {
    uint32_t count, entry, value, next;
} sizes;

static sizes sizes_of(const hr__tiff_file *file) {
    return file->is_big ? (sizes){.count = 8, .entry = 20, .value = 8, .next = 8}
                        : (sizes){.count = 2, .entry = 12, .value = 4, .next = 4};
}

/* A value that fits in its place is there, else its offset is. Too many values to fit in
 * 64 bits have no place in the file: reading them fails. */
static hr__tiff_entry parse_entry(const hr__tiff_file *file, const uint8_t *p,
                                  uint64_t at) {
    sizes s = sizes_of(file);
    hr__tiff_entry e = {.tag = (uint16_t)hr__tiff_number(file, p, 2),
                        .type = (uint16_t)hr__tiff_number(file, p + 2, 2),
                        .count = hr__tiff_number(file, p + 4, s.value)};
    uint64_t nbytes = UINT64_MAX;
    (void)hr__mul_u64(e.count, hr__tiff_type_nbytes(e.type), &nbytes);
    e.at = nbytes <= s.value ? at + 4 + s.value
                             : hr__tiff_number(file, p + 4 + s.value, s.value);
    return e;
}

/* Number of entries, and what follows the last one. Directories that overlap could take
 * time without end: all together are no larger than the file, four times, since levels
 * and masks of many small pages are looked for in the same ones. */
static hr_status read_frame(hr__tiff_file *file, uint64_t at, uint64_t *n, uint64_t *next,
                            hr_error *err) {
    sizes s = sizes_of(file);
    uint8_t bytes[8];
    HR__TRY(hr__tiff_read(file, at, s.count, bytes, "IFD", err));
    *n = hr__tiff_number(file, bytes, s.count);
    uint64_t rest = file->source->nbytes - at - s.count;
    if (*n > MAX_ENTRIES || *n * s.entry > rest) {
        return hr__fail(err, HR_ERR_METADATA,
                        "IFD at offset %" PRIu64 " has %" PRIu64 " entries, %" PRIu64
                        " bytes are left of the file",
                        at, *n, rest);
    }
    file->ifds_nbytes += s.count + *n * s.entry;
    if (file->ifds_nbytes / 4 > file->source->nbytes) {
        return hr__fail(err, HR_ERR_METADATA, "IFDs overlap, at offset %" PRIu64, at);
    }
    *next = 0;
    if (rest - *n * s.entry >= s.next) { /* a file cut off there has no more to offer */
        HR__TRY(
            hr__tiff_read(file, at + s.count + *n * s.entry, s.next, bytes, "IFD", err));
        *next = hr__tiff_number(file, bytes, s.next);
    }
    return HR_OK;
}

hr_status hr__tiff_ifd_read(hr__tiff_file *file, uint64_t at, hr__tiff_ifd *ifd,
                            hr_error *err) {
    sizes s = sizes_of(file);
    uint8_t bytes[20];
    uint64_t n, next;
    HR__TRY(read_frame(file, at, &n, &next, err));
    hr__tiff_entry *entries = hr__arena_array(file->arena, n, sizeof *entries);
    if (entries == NULL) {
        return hr__fail_memory(err, n * sizeof *entries);
    }
    uint64_t place = at + s.count;
    for (uint64_t i = 0; i < n; i++, place += s.entry) {
        HR__TRY(hr__tiff_read(file, place, s.entry, bytes, "IFD", err));
        entries[i] = parse_entry(file, bytes, place);
    }
    *ifd = (hr__tiff_ifd){.at = at, .next = next, .n = (uint32_t)n, .entries = entries};
    return HR_OK;
}

/* --- the main chain --- */

/* Brent's way of finding a cycle: compare with a mark that moves ahead at every power of
 * two steps. */
typedef struct walk {
    uint64_t at; /* 0 at the end */
    uint64_t mark, nsteps, limit;
} walk;

static walk walk_start(const hr__tiff_file *file) {
    return (walk){.at = file->first_ifd, .mark = file->first_ifd, .limit = 1};
}

static hr_status walk_next(walk *w, uint64_t next, hr_error *err) {
    if (next != 0 && next == w->mark) {
        return hr__fail(err, HR_ERR_METADATA,
                        "the chain of IFDs comes back to offset %" PRIu64, next);
    }
    w->at = next;
    if (++w->nsteps == w->limit) {
        w->mark = next;
        w->limit *= 2;
    }
    return HR_OK;
}

hr_status hr__tiff_ifd_each(hr__tiff_file *file, const hr__tiff_ifd *ifd, uint64_t most,
                            hr__tiff_visit *visit, void *user, hr_error *err) {
    walk w = {.at = ifd->at, .mark = ifd->at, .limit = 1};
    hr__tiff_ifd other;
    HR__TRY(walk_next(&w, ifd->next, err));
    bool is_over = false;
    while (w.at != 0 && w.nsteps <= most && !is_over) {
        HR__TRY(hr__tiff_ifd_read(file, w.at, &other, err));
        HR__TRY(visit(user, &other, &is_over, err));
        HR__TRY(walk_next(&w, other.next, err));
    }
    return HR_OK;
}

hr_status hr__tiff_ifd_find(hr__tiff_file *file, uint64_t number, hr__tiff_ifd *ifd,
                            hr_error *err) {
    walk w = walk_start(file);
    while (w.at != 0 && w.nsteps < number) {
        uint64_t n, next;
        HR__TRY(read_frame(file, w.at, &n, &next, err));
        HR__TRY(walk_next(&w, next, err));
    }
    if (w.at != 0) {
        return hr__tiff_ifd_read(file, w.at, ifd, err);
    }
    return hr__fail(err, number == 0 ? HR_ERR_METADATA : HR_ERR_NOT_FOUND,
                    "no IFD %" PRIu64 ": the chain has %" PRIu64, number, w.nsteps);
}

hr_status hr__tiff_ifd_kind(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                            bool *is_overview, bool *is_mask, hr_error *err) {
    uint64_t type, old;
    HR__TRY(hr__tiff_uint(file, ifd, HR__TIFF_NEW_SUBFILE_TYPE, 0, &type, err));
    HR__TRY(hr__tiff_uint(file, ifd, HR__TIFF_SUBFILE_TYPE, 1, &old, err));
    *is_mask = (type & 4) != 0;
    *is_overview = !*is_mask && ((type & 1) != 0 || old == 2);
    return HR_OK;
}
