/* Zstandard for kernels: frames as leaves. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "codec/leaves.h"
#include "codec/zstd_frame.h"

/* A block makes up to 128 KiB; what makes next to nothing of each is left to the host,
 * for each is a record of the kernels. */
static size_t most_blocks(uint64_t dst_nbytes) {
    return (size_t)(16 + dst_nbytes / 256);
}

static hr_status check_content(const hr__zstd_stream *stream, uint64_t dst_nbytes,
                               hr_error *err) {
    if (stream->content_nbytes == HR__SIZE_UNKNOWN ||
        stream->content_nbytes == dst_nbytes) {
        return HR_OK;
    }
    return hr__fail(err, HR_ERR_DATA,
                    "zstd frames declare %" PRIu64 " bytes, expected %" PRIu64,
                    stream->content_nbytes, dst_nbytes);
}

hr_status hr__zstd_leaf(const hr__decode *d, const uint8_t *src, size_t src_nbytes,
                        uint64_t dst, uint64_t dst_nbytes, hr__leaves *out,
                        hr_error *err) {
    if (dst_nbytes > HR__ZSTD_MOST_NBYTES) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "%" PRIu64 " bytes from one stream of zstd, kernels make %u",
                        dst_nbytes, HR__ZSTD_MOST_NBYTES);
    }
    size_t first = out->zstd_blocks.n;
    hr__zstd_stream stream = {.blocks = out->zstd_blocks,
                              .most_blocks = first + most_blocks(dst_nbytes)};
    hr_status status = hr__zstd_walk(out->allocator, src, src_nbytes, &stream, err);
    out->zstd_blocks = stream.blocks;
    HR__TRY(status);
    HR__TRY(check_content(&stream, dst_nbytes, err));
    uint64_t room;
    hr__zstd_block *blocks = (hr__zstd_block *)out->zstd_blocks.items + first;
    HR__TRY(
        hr__zstd_stream_room(blocks, out->zstd_blocks.n - first, dst_nbytes, &room, err));
    for (size_t i = 0; i < out->zstd_blocks.n - first; i++) {
        blocks[i].has_checksum &= !d->skip_checksums;
    }
    HR__TRY(hr__leaves_add(out, HR__LEAF_ZSTD, src, (uint32_t)src_nbytes, dst,
                           (uint32_t)dst_nbytes, err));
    hr__leaf *leaf = (hr__leaf *)out->leaves.items + out->leaves.n - 1;
    leaf->first_block = (uint32_t)first;
    leaf->nblocks = (uint32_t)(out->zstd_blocks.n - first);
    leaf->scratch_nbytes = room;
    out->scratch_nbytes += leaf->scratch_nbytes;
    return HR_OK;
}
