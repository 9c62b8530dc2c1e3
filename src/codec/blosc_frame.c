/* Reading Blosc 1's container. SPDX-License-Identifier: Apache-2.0 */
#include "codec/blosc_frame.h"

#include "core/bytes.h"
#include "core/error.h"

enum {
    SHUFFLED = 0x01,
    STORED = 0x02,
    BITSHUFFLED = 0x04,
    RESERVED = 0x08,
    WHOLE = 0x10
};

#define FORMAT_VERSION 2
#define STREAM_VERSION 1
#define MAX_NBYTES ((uint32_t)INT32_MAX - HR__BLOSC_HEADER_NBYTES)
#define MIN_SPLIT_NELEMS 128

static hr_status check_versions(const uint8_t *src, hr_error *err) {
    if (src[0] > FORMAT_VERSION) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "Blosc format version %u is that of Blosc 2, expected %d", src[0],
                        FORMAT_VERSION);
    }
    if (src[0] < FORMAT_VERSION || (src[2] & RESERVED) != 0) {
        return hr__fail(err, HR_ERR_DATA, "Blosc header has version %u, flags 0x%02x",
                        src[0], src[2]);
    }
    return HR_OK;
}

static hr_status check_sizes(const hr__blosc_frame *f, size_t src_nbytes, hr_error *err) {
    if (f->cbytes < HR__BLOSC_HEADER_NBYTES || f->cbytes > src_nbytes) {
        return hr__fail(err, HR_ERR_DATA, "Blosc header says %u bytes, chunk is %zu",
                        f->cbytes, src_nbytes);
    }
    if (f->nbytes > MAX_NBYTES || f->cbytes > INT32_MAX) {
        return hr__fail(err, HR_ERR_DATA,
                        "Blosc header says %u bytes decoded, limit is %u", f->nbytes,
                        MAX_NBYTES);
    }
    if (f->nbytes != 0 &&
        (f->blocksize < 1 || f->blocksize > f->nbytes || f->typesize < 1)) {
        return hr__fail(err, HR_ERR_DATA,
                        "Blosc header says blocks of %u bytes, items of %u, for %u bytes",
                        f->blocksize, f->typesize, f->nbytes);
    }
    if (f->nbytes != 0 && f->stored && f->cbytes - HR__BLOSC_HEADER_NBYTES != f->nbytes) {
        return hr__fail(err, HR_ERR_DATA,
                        "Blosc chunk stores %u bytes as they are, its header says %u",
                        f->cbytes - HR__BLOSC_HEADER_NBYTES, f->nbytes);
    }
    return HR_OK;
}

/* Number of blocks; their starts must fit into the chunk. */
static hr_status count_blocks(hr__blosc_frame *f, unsigned stream_version,
                              hr_error *err) {
    if (f->format > HR__BLOSC_ZSTD || stream_version != STREAM_VERSION) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "Blosc inner format %u, version %u",
                        f->format, stream_version);
    }
    f->nblocks = f->nbytes / f->blocksize + (f->nbytes % f->blocksize != 0);
    if (f->nblocks > (f->cbytes - HR__BLOSC_HEADER_NBYTES) / 4) {
        return hr__fail(err, HR_ERR_DATA, "Blosc chunk of %u bytes cannot hold %u blocks",
                        f->cbytes, f->nblocks);
    }
    return HR_OK;
}

hr_status hr__blosc_parse(const uint8_t *src, size_t src_nbytes, hr__blosc_frame *frame,
                          hr_error *err) {
    if (src_nbytes < HR__BLOSC_HEADER_NBYTES) {
        return hr__fail(err, HR_ERR_DATA, "Blosc chunk is %zu bytes, its header is %d",
                        src_nbytes, HR__BLOSC_HEADER_NBYTES);
    }
    HR__TRY(check_versions(src, err));
    unsigned flags = src[2];
    uint32_t typesize = src[3];
    bool shuffle = (flags & SHUFFLED) != 0 && typesize > 1;
    hr__blosc_frame f = {
        .format = (hr__blosc_format)(flags >> 5),
        .stored = (flags & STORED) != 0,
        .shuffle = shuffle,
        .bitshuffle = !shuffle && (flags & BITSHUFFLED) != 0,
        .split = (flags & WHOLE) == 0,
        .typesize = typesize,
        .nbytes = hr__load_le32(src + 4),
        .blocksize = hr__load_le32(src + 8),
        .cbytes = hr__load_le32(src + 12),
    };
    HR__TRY(check_sizes(&f, src_nbytes, err));
    if (f.nbytes != 0 && !f.stored) {
        HR__TRY(count_blocks(&f, src[1], err));
    }
    *frame = f;
    return HR_OK;
}

/* Sizes of block i and its number of streams, by the encoder's rule: a block is split
 * into the bytes of its items unless these are few or large, or it is the short last. */
static hr_status measure(const hr__blosc_frame *f, uint32_t i, hr__blosc_block *block,
                         hr_error *err) {
    uint32_t left = f->nbytes - i * f->blocksize;
    block->nbytes = left < f->blocksize ? left : f->blocksize;
    block->nstreams = 1;
    if (f->split && f->typesize <= HR__BLOSC_MAX_SPLITS &&
        f->blocksize / f->typesize >= MIN_SPLIT_NELEMS && block->nbytes == f->blocksize) {
        block->nstreams = f->typesize;
        if (block->nbytes % f->typesize != 0) {
            return hr__fail(err, HR_ERR_DATA,
                            "Blosc blocks of %u bytes cannot be split into %u streams",
                            block->nbytes, f->typesize);
        }
    }
    return HR_OK;
}

hr_status hr__blosc_block_at(const hr__blosc_frame *frame, const uint8_t *src, uint32_t i,
                             uint32_t *unclaimed, hr__blosc_block *block, hr_error *err) {
    HR__TRY(measure(frame, i, block, err));
    uint32_t at = hr__load_le32(src + HR__BLOSC_HEADER_NBYTES + (size_t)i * 4);
    for (uint32_t j = 0; j < block->nstreams; j++) {
        if (at > frame->cbytes - 4) {
            return hr__fail(err, HR_ERR_DATA,
                            "Blosc block %u has a stream at byte %u, chunk is %u", i, at,
                            frame->cbytes);
        }
        uint32_t nbytes = hr__load_le32(src + at);
        at += 4;
        if (nbytes > frame->cbytes - at) {
            return hr__fail(
                err, HR_ERR_DATA,
                "Blosc block %u has a stream of %u bytes at byte %u, chunk is %u", i,
                nbytes, at, frame->cbytes);
        }
        if (nbytes + 4 > *unclaimed) {
            return hr__fail(err, HR_ERR_DATA, "Blosc block %u shares bytes with others",
                            i);
        }
        *unclaimed -= nbytes + 4;
        block->streams[j] = (hr__blosc_stream){
            .offset = at,
            .nbytes = nbytes,
            .decoded_nbytes = block->nbytes / block->nstreams,
        };
        at += nbytes;
    }
    return HR_OK;
}
