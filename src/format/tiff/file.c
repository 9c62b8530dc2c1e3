/* The header of a TIFF, and reading through a window. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "format/tiff/internal.h"

/* Directories, and most of what they point to, lie close together. */
#define WINDOW_NBYTES (UINT64_C(16) << 10)

#define CLASSIC 42
#define BIG 43

uint64_t hr__tiff_number(const hr__tiff_file *file, const uint8_t *p, uint32_t nbytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < nbytes; i++) {
        value = value << 8 | p[file->is_big_endian ? i : nbytes - 1 - i];
    }
    return value;
}

static hr_status fill_window(hr__tiff_file *file, uint64_t at, hr_error *err) {
    uint64_t rest = file->source->nbytes - at;
    uint64_t nbytes = rest < WINDOW_NBYTES ? rest : WINDOW_NBYTES;
    file->window_nbytes = 0;
    HR__TRY(file->source->read(file->source->user, at, nbytes, file->window, err));
    file->window_at = at;
    file->window_nbytes = nbytes;
    return HR_OK;
}

hr_status hr__tiff_read(hr__tiff_file *file, uint64_t at, uint64_t nbytes, void *dst,
                        const char *what, hr_error *err) {
    const hr__byte_source *s = file->source;
    if (at > s->nbytes || nbytes > s->nbytes - at) {
        return hr__fail(err, HR_ERR_METADATA,
                        "%s: %" PRIu64 " bytes at offset %" PRIu64
                        " of a file of %" PRIu64,
                        what, nbytes, at, s->nbytes);
    }
    if (nbytes > WINDOW_NBYTES) {
        return s->read(s->user, at, nbytes, dst, err);
    }
    if (at < file->window_at || at - file->window_at > file->window_nbytes ||
        nbytes > file->window_nbytes - (at - file->window_at)) {
        HR__TRY(fill_window(file, at, err));
    }
    if (nbytes > 0) {
        memcpy(dst, file->window + (at - file->window_at), nbytes);
    }
    return HR_OK;
}

/* Sets the byte order; 0 where it is no TIFF. */
static uint64_t version_of(hr__tiff_file *file, const uint8_t *header) {
    bool is_little = header[0] == 'I' && header[1] == 'I';
    file->is_big_endian = header[0] == 'M' && header[1] == 'M';
    uint64_t version = hr__tiff_number(file, header + 2, 2);
    bool is_known = version == CLASSIC || version == BIG;
    return (is_little || file->is_big_endian) && is_known ? version : 0;
}

bool hr__tiff_detect(const hr__byte_source *source) {
    uint8_t header[4];
    hr__tiff_file file;
    return source->nbytes >= HR__TIFF_CLASSIC_HEADER &&
           source->read(source->user, 0, sizeof header, header, NULL) == HR_OK &&
           version_of(&file, header) != 0;
}

hr_status hr__tiff_file_open(const hr__byte_source *source, uint64_t max_nbytes,
                             hr__arena *arena, hr__tiff_file *file, hr_error *err) {
    uint8_t header[HR__TIFF_BIG_HEADER];
    *file = (hr__tiff_file){.source = source, .arena = arena, .max_nbytes = max_nbytes};
    file->window = hr__arena_alloc(arena, WINDOW_NBYTES);
    if (file->window == NULL) {
        return hr__fail_memory(err, WINDOW_NBYTES);
    }
    HR__TRY(hr__tiff_read(file, 0, HR__TIFF_CLASSIC_HEADER, header, "TIFF header", err));
    uint64_t version = version_of(file, header);
    if (version == 0) {
        return hr__fail(err, HR_ERR_METADATA,
                        "TIFF header begins with %02x %02x %02x %02x", header[0],
                        header[1], header[2], header[3]);
    }
    file->is_big = version == BIG;
    if (!file->is_big) {
        file->first_ifd = hr__tiff_number(file, header + 4, 4);
        return HR_OK;
    }
    HR__TRY(hr__tiff_read(file, 0, HR__TIFF_BIG_HEADER, header, "BigTIFF header", err));
    uint64_t offset_nbytes = hr__tiff_number(file, header + 4, 2);
    if (offset_nbytes != 8) {
        return hr__fail(err, HR_ERR_METADATA,
                        "BigTIFF with offsets of %" PRIu64 " bytes, expected 8",
                        offset_nbytes);
    }
    file->first_ifd = hr__tiff_number(file, header + 8, 8);
    return HR_OK;
}
