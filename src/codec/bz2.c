/* bzip2, through libbz2. SPDX-License-Identifier: Apache-2.0 */
#include <bzlib.h>
#include <string.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"

/* libbz2 counts in unsigned int: it gets no more at once. */
#define STEP_NBYTES ((size_t)1 << 30)
/* Nor has it more room: between steps it can be left. */
#define STEP_ROOM ((size_t)1 << 20)

/* How far a call has come in src and dst. */
typedef struct position {
    size_t src, dst;
} position;

/* Run one stream to its end; *code is libbz2's, BZ_OK when it cannot go on. */
static hr_status run(bz_stream *stream, hr__decode *d, position *pos, int *code,
                     hr_error *err) {
    bool moved = true;
    for (*code = BZ_OK; *code == BZ_OK && moved;) {
        HR__TRY(hr__decode_check(d, err));
        size_t in = d->src_nbytes - pos->src, out = d->dst_nbytes - pos->dst;
        unsigned have = (unsigned)(in < STEP_NBYTES ? in : STEP_NBYTES);
        unsigned room = (unsigned)(out < STEP_ROOM ? out : STEP_ROOM);
        stream->next_in = (char *)(uintptr_t)(d->src + pos->src); /* only read */
        stream->avail_in = have;
        stream->next_out = (char *)d->dst + pos->dst;
        stream->avail_out = room;
        *code = BZ2_bzDecompress(stream);
        pos->src += have - stream->avail_in;
        pos->dst += room - stream->avail_out;
        moved = stream->avail_in != have || stream->avail_out != room;
    }
    return HR_OK;
}

static hr_status settle(hr__decode *d, const position *pos, int code, hr_error *err) {
    switch (code) {
    case BZ_STREAM_END:
        return HR_OK;
    case BZ_OK:
        if (pos->dst == d->dst_nbytes) {
            return hr__fail_room(d, "bzip2 stream", HR__SIZE_UNKNOWN, err);
        }
        return hr__fail(err, HR_ERR_DATA,
                        "bzip2 stream is cut off at the end of %zu bytes", d->src_nbytes);
    case BZ_MEM_ERROR:
        return hr__fail(err, HR_ERR_MEMORY, "no memory for libbz2");
    default:
        return hr__fail(err, HR_ERR_DATA,
                        "bzip2 stream is malformed, or its CRC wrong, before byte %zu of "
                        "%zu",
                        pos->src, d->src_nbytes);
    }
}

static hr_status stream_at(hr__decode *d, position *pos, hr_error *err) {
    bz_stream stream = {0};
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) {
        return hr__fail(err, HR_ERR_MEMORY, "no memory for libbz2");
    }
    int code;
    hr_status status = run(&stream, d, pos, &code, err);
    (void)BZ2_bzDecompressEnd(&stream);
    return status == HR_OK ? settle(d, pos, code, err) : status;
}

static bool is_bz2(const uint8_t *src, size_t nbytes) {
    return nbytes >= 3 && memcmp(src, "BZh", 3) == 0;
}

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    position pos = {0, 0};
    do { /* what follows the last stream is ignored, as bzip2 itself does */
        HR__TRY(hr__settle_grow(codec, d, stream_at(d, &pos, err)));
    } while (is_bz2(d->src + pos.src, d->src_nbytes - pos.src));
    d->out = d->dst;
    d->out_nbytes = pos.dst;
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    static const hr__param params[] = {{"level", HR__PARAM_INT}, {NULL, 0}};
    return hr__config_params(p, params, err);
}

const hr__codec_type hr__codec_bz2 = {
    .name = "bz2",
    .v2_ids = (const char *const[]){"bz2", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "libbz2",
    .parse = parse,
    .decode = decode,
    .max_ratio = 1 << 22, /* 46 MB from a block of some 40 bytes */
};
