/* What an IFD says of its image. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/checked.h"
#include "format/tiff/internal.h"

#define MAX_LENGTH ((uint64_t)INT64_MAX / 4)
#define MAX_SAMPLES 65535

static hr_status length_of(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                           uint64_t absent, const char *what, int64_t *out,
                           hr_error *err) {
    uint64_t value;
    HR__TRY(hr__tiff_uint(file, ifd, tag, absent, &value, err));
    if (value == 0 || value > MAX_LENGTH) {
        return hr__fail(err, HR_ERR_METADATA, "%s is %" PRIu64, what, value);
    }
    *out = (int64_t)value;
    return HR_OK;
}

/* The value that BitsPerSample or SampleFormat has for all samples. */
static hr_status common_value(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                              hr__tiff_tag tag, uint64_t absent, const char *what,
                              int64_t nsamples, uint32_t *out, hr_error *err) {
    uint64_t *values;
    uint64_t n;
    HR__TRY(hr__tiff_uints(file, ifd, tag, (uint64_t)nsamples, &values, &n, err));
    uint64_t value = n > 0 ? values[0] : absent;
    for (uint64_t i = 1; i < n; i++) {
        if (values[i] != value) {
            return hr__fail(err, HR_ERR_UNSUPPORTED,
                            "samples of different types: %s %" PRIu64 " and %" PRIu64,
                            what, value, values[i]);
        }
    }
    if (value > UINT16_MAX) {
        return hr__fail(err, HR_ERR_METADATA, "%s is %" PRIu64, what, value);
    }
    *out = (uint32_t)value;
    return HR_OK;
}

static hr_status small_uint(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                            hr__tiff_tag tag, uint32_t absent, uint32_t *out,
                            hr_error *err) {
    uint64_t value;
    HR__TRY(hr__tiff_uint(file, ifd, tag, absent, &value, err));
    if (value > UINT32_MAX) {
        return hr__fail(err, HR_ERR_METADATA, "tag %u is %" PRIu64, (unsigned)tag, value);
    }
    *out = (uint32_t)value;
    return HR_OK;
}

static hr_status read_samples(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                              hr__tiff_layout *l, hr_error *err) {
    uint32_t planar;
    HR__TRY(
        length_of(file, ifd, HR__TIFF_SAMPLES, 1, "SamplesPerPixel", &l->nsamples, err));
    if (l->nsamples > MAX_SAMPLES) {
        return hr__fail(err, HR_ERR_METADATA, "%" PRId64 " samples per pixel",
                        l->nsamples);
    }
    HR__TRY(common_value(file, ifd, HR__TIFF_BITS, 1, "BitsPerSample", l->nsamples,
                         &l->bits, err));
    HR__TRY(common_value(file, ifd, HR__TIFF_SAMPLE_FORMAT, 1, "SampleFormat",
                         l->nsamples, &l->format, err));
    HR__TRY(small_uint(file, ifd, HR__TIFF_PLANAR, 1, &planar, err));
    if (planar != 1 && planar != 2) {
        return hr__fail(err, HR_ERR_METADATA, "PlanarConfiguration is %" PRIu32, planar);
    }
    l->is_planar = planar == 2 && l->nsamples > 1;
    return HR_OK;
}

static hr_status read_coding(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                             hr__tiff_layout *l, hr_error *err) {
    uint64_t *sub, n;
    HR__TRY(small_uint(file, ifd, HR__TIFF_COMPRESSION, 1, &l->compression, err));
    HR__TRY(small_uint(file, ifd, HR__TIFF_PREDICTOR, 1, &l->predictor, err));
    HR__TRY(small_uint(file, ifd, HR__TIFF_PHOTOMETRIC, 0, &l->photometric, err));
    HR__TRY(small_uint(file, ifd, HR__TIFF_FILL_ORDER, 1, &l->fill_order, err));
    HR__TRY(hr__tiff_uints(file, ifd, HR__TIFF_SUBSAMPLING, 2, &sub, &n, err));
    l->subsampling[0] = n > 1 ? (uint32_t)sub[0] : 2;
    l->subsampling[1] = n > 1 ? (uint32_t)sub[1] : 2;
    return HR_OK;
}

static hr_status read_blocks(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                             hr__tiff_layout *l, hr_error *err) {
    l->is_tiled = hr__tiff_find(ifd, HR__TIFF_TILE_WIDTH) != NULL;
    HR__TRY(length_of(file, ifd, HR__TIFF_IMAGE_DEPTH, 1, "ImageDepth", &l->depth, err));
    l->block_depth = 1;
    if (l->is_tiled) {
        HR__TRY(length_of(file, ifd, HR__TIFF_TILE_DEPTH, 1, "TileDepth", &l->block_depth,
                          err));
        HR__TRY(length_of(file, ifd, HR__TIFF_TILE_WIDTH, 0, "TileWidth", &l->block_width,
                          err));
        return length_of(file, ifd, HR__TIFF_TILE_LENGTH, 0, "TileLength",
                         &l->block_height, err);
    }
    uint64_t rows;
    HR__TRY(hr__tiff_uint(file, ifd, HR__TIFF_ROWS_PER_STRIP, 0, &rows, err));
    bool is_all = rows == 0 || rows > (uint64_t)l->height;
    l->block_width = l->width;
    l->block_height = is_all ? l->height : (int64_t)rows;
    return HR_OK;
}

/* Tables under the other name are accepted, as they are by other readers. */
static const hr__tiff_entry *find_table(const hr__tiff_ifd *ifd, bool is_tiled,
                                        hr__tiff_tag tiles, hr__tiff_tag strips) {
    const hr__tiff_entry *e = hr__tiff_find(ifd, is_tiled ? tiles : strips);
    return e != NULL ? e : hr__tiff_find(ifd, is_tiled ? strips : tiles);
}

static hr_status check_table(hr__tiff_file *file, const hr__tiff_entry *e,
                             const char *what, uint64_t nblocks, hr_error *err) {
    if (!hr__tiff_type_is_unsigned(e->type)) {
        return hr__fail(err, HR_ERR_METADATA, "%s of blocks are of type %u", what,
                        e->type);
    }
    if (e->count < nblocks) {
        return hr__fail(err, HR_ERR_METADATA,
                        "%" PRIu64 " %s of blocks, the image has %" PRIu64 " blocks",
                        e->count, what, nblocks);
    }
    uint64_t nbytes;
    if (!hr__mul_u64(nblocks, hr__tiff_type_nbytes(e->type), &nbytes) ||
        e->at > file->source->nbytes || nbytes > file->source->nbytes - e->at) {
        return hr__fail(err, HR_ERR_METADATA,
                        "%" PRIu64 " %s of blocks at offset %" PRIu64
                        " of a file of %" PRIu64 " bytes",
                        nblocks, what, e->at, file->source->nbytes);
    }
    return HR_OK;
}

static hr_status read_tables(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                             hr__tiff_layout *l, hr_error *err) {
    uint64_t nblocks = l->is_planar ? (uint64_t)l->nsamples : 1;
    l->across = hr__ceil_div_i64(l->width, l->block_width);
    l->down = hr__ceil_div_i64(l->height, l->block_height);
    l->deep = hr__ceil_div_i64(l->depth, l->block_depth);
    if (!hr__mul_u64(nblocks, (uint64_t)l->across, &nblocks) ||
        !hr__mul_u64(nblocks, (uint64_t)l->down, &nblocks) ||
        !hr__mul_u64(nblocks, (uint64_t)l->deep, &nblocks)) {
        return hr__fail(err, HR_ERR_OVERFLOW,
                        "too many blocks: %" PRId64 " × %" PRId64 " × %" PRId64, l->deep,
                        l->down, l->across);
    }
    l->nblocks = nblocks;
    const hr__tiff_entry *offsets =
        find_table(ifd, l->is_tiled, HR__TIFF_TILE_OFFSETS, HR__TIFF_STRIP_OFFSETS);
    const hr__tiff_entry *sizes =
        find_table(ifd, l->is_tiled, HR__TIFF_TILE_SIZES, HR__TIFF_STRIP_SIZES);
    if (offsets == NULL) {
        return hr__fail(err, HR_ERR_METADATA, "no offsets of tiles or strips");
    }
    HR__TRY(check_table(file, offsets, "offsets", nblocks, err));
    l->tables = (hr__tables){.offsets_at = offsets->at,
                             .offset_nbytes = hr__tiff_type_nbytes(offsets->type)};
    if (sizes != NULL) {
        HR__TRY(check_table(file, sizes, "sizes", nblocks, err));
        l->tables.sizes_at = sizes->at;
        l->tables.size_nbytes = hr__tiff_type_nbytes(sizes->type);
    }
    return HR_OK;
}

hr_status hr__tiff_layout_read(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                               hr__tiff_layout *layout, hr_error *err) {
    hr__tiff_layout l = {0};
    HR__TRY(length_of(file, ifd, HR__TIFF_WIDTH, 0, "ImageWidth", &l.width, err));
    HR__TRY(length_of(file, ifd, HR__TIFF_LENGTH, 0, "ImageLength", &l.height, err));
    HR__TRY(read_samples(file, ifd, &l, err));
    HR__TRY(read_coding(file, ifd, &l, err));
    HR__TRY(read_blocks(file, ifd, &l, err));
    HR__TRY(read_tables(file, ifd, &l, err));
    *layout = l;
    return HR_OK;
}
