/* gzip and zlib, through libdeflate. SPDX-License-Identifier: Apache-2.0
 *
 * The wrappers are read here, so that a wrong checksum is told from corrupt data and
 * checksums can be skipped. */
#include <inttypes.h>
#include <libdeflate.h>
#include <string.h>

#include "codec/codecs.h"
#include "codec/config.h"
#include "codec/decode.h"
#include "codec/leaves.h"
#include "core/bytes.h"

#define GZIP_HEADER_NBYTES 10
#define GZIP_TRAILER_NBYTES 8
#define ZLIB_HEADER_NBYTES 2
#define ZLIB_TRAILER_NBYTES 4

static void *create_context(void) {
    return libdeflate_alloc_decompressor();
}

static void destroy_context(void *object) {
    libdeflate_free_decompressor(object);
}

/* How far a call has come in src and dst. */
typedef struct position {
    size_t src, dst;
} position;

/* One raw Deflate stream at pos, which moves past it. */
static hr_status inflate(hr__decode *d, position *pos, hr_error *err) {
    struct libdeflate_decompressor *context =
        hr__worker_slot(d->worker, HR__SLOT_DEFLATE, create_context, destroy_context);
    if (context == NULL) {
        return hr__fail(err, HR_ERR_MEMORY, "no memory for libdeflate");
    }
    size_t used, made;
    switch (libdeflate_deflate_decompress_ex(context, d->src + pos->src,
                                             d->src_nbytes - pos->src, d->dst + pos->dst,
                                             d->dst_nbytes - pos->dst, &used, &made)) {
    case LIBDEFLATE_SUCCESS:
        pos->src += used;
        pos->dst += made;
        return HR_OK;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        return hr__fail_room(d, "Deflate stream", HR__SIZE_UNKNOWN, err);
    default:
        return hr__fail(err, HR_ERR_DATA,
                        "Deflate stream at byte %zu of %zu is malformed or cut off",
                        pos->src, d->src_nbytes);
    }
}

static hr_status fail_cut(const hr__decode *d, const char *what, hr_error *err) {
    return hr__fail(err, HR_ERR_DATA, "%s is cut off at the end of %zu bytes", what,
                    d->src_nbytes);
}

static bool is_zlib(const uint8_t *src, size_t nbytes) {
    return nbytes >= ZLIB_HEADER_NBYTES && (src[0] & 15) == 8 && src[0] >> 4 <= 7 &&
           (src[0] << 8 | src[1]) % 31 == 0;
}

static hr_status check_zlib_header(const uint8_t *src, size_t nbytes, hr_error *err) {
    if (!is_zlib(src, nbytes)) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes begin with no zlib header", nbytes);
    }
    if ((src[1] & 0x20) != 0) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "zlib stream needs a dictionary");
    }
    return HR_OK;
}

hr_status hr__zlib_decode(hr__decode *d, hr_error *err) {
    HR__TRY(check_zlib_header(d->src, d->src_nbytes, err));
    position pos = {.src = ZLIB_HEADER_NBYTES};
    HR__TRY(inflate(d, &pos, err));
    if (d->src_nbytes - pos.src < ZLIB_TRAILER_NBYTES) {
        return fail_cut(d, "zlib stream", err);
    }
    uint32_t stored = __builtin_bswap32(hr__load_le32(d->src + pos.src));
    uint32_t actual = d->skip_checksums ? stored : libdeflate_adler32(1, d->dst, pos.dst);
    if (stored != actual) {
        return hr__fail(err, HR_ERR_CHECKSUM, "zlib Adler-32 is 0x%08x, stored is 0x%08x",
                        actual, stored);
    }
    d->out = d->dst;
    d->out_nbytes = pos.dst;
    return HR_OK;
}

static bool is_gzip(const uint8_t *src, size_t nbytes) {
    return nbytes >= 2 && src[0] == 0x1f && src[1] == 0x8b;
}

/* Size of the member header at src, 0 when it is cut off. */
static size_t gzip_header_nbytes(const uint8_t *src, size_t nbytes) {
    enum { HCRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16 };
    if (nbytes < GZIP_HEADER_NBYTES) {
        return 0;
    }
    size_t at = GZIP_HEADER_NBYTES;
    if ((src[3] & EXTRA) != 0) {
        if (nbytes - at < 2) {
            return 0;
        }
        size_t extra = src[at] | (size_t)src[at + 1] << 8;
        if (nbytes - at - 2 < extra) {
            return 0;
        }
        at += 2 + extra;
    }
    for (int text = NAME; text <= COMMENT; text *= 2) {
        if ((src[3] & text) != 0) {
            const uint8_t *end = memchr(src + at, 0, nbytes - at);
            if (end == NULL) {
                return 0;
            }
            at = (size_t)(end - src) + 1;
        }
    }
    size_t crc = (src[3] & HCRC) != 0 ? 2 : 0;
    return nbytes - at < crc ? 0 : at + crc;
}

static hr_status gzip_member(hr__decode *d, position *pos, hr_error *err) {
    const uint8_t *header = d->src + pos->src;
    size_t nbytes = gzip_header_nbytes(header, d->src_nbytes - pos->src);
    if (nbytes == 0) {
        return fail_cut(d, "gzip header", err);
    }
    if (header[2] != 8 || (header[3] & 0xe0) != 0) {
        return hr__fail(err, HR_ERR_DATA,
                        "gzip method %u, flags 0x%02x, expected 8, < 0x20", header[2],
                        header[3]);
    }
    size_t begin = pos->dst;
    pos->src += nbytes;
    HR__TRY(inflate(d, pos, err));
    if (d->src_nbytes - pos->src < GZIP_TRAILER_NBYTES) {
        return fail_cut(d, "gzip member", err);
    }
    const uint8_t *trailer = d->src + pos->src;
    pos->src += GZIP_TRAILER_NBYTES;
    size_t made = pos->dst - begin;
    uint32_t stored = hr__load_le32(trailer);
    uint32_t said = hr__load_le32(trailer + 4);
    if (said != (uint32_t)made) {
        return hr__fail(err, HR_ERR_DATA,
                        "gzip member makes %zu bytes, its trailer says %u", made, said);
    }
    uint32_t actual =
        d->skip_checksums ? stored : libdeflate_crc32(0, d->dst + begin, made);
    if (stored != actual) {
        return hr__fail(err, HR_ERR_CHECKSUM, "gzip CRC-32 is 0x%08x, stored is 0x%08x",
                        actual, stored);
    }
    return HR_OK;
}

/* All members, one after the other. */
static hr_status gzip_decode(hr__decode *d, hr_error *err) {
    position pos = {0, 0};
    do {
        HR__TRY(gzip_member(d, &pos, err));
    } while (is_gzip(d->src + pos.src, d->src_nbytes - pos.src));
    for (size_t i = pos.src; i < d->src_nbytes; i++) {
        if (d->src[i] != 0) { /* zeros are padding of tapes and block devices */
            return hr__fail(err, HR_ERR_DATA, "%zu bytes follow the last gzip member",
                            d->src_nbytes - pos.src);
        }
    }
    d->out = d->dst;
    d->out_nbytes = pos.dst;
    return HR_OK;
}

/* --- for kernels --- */

static hr_status add_leaf(const hr__decode *d, hr__deflate_wrapper wrapper,
                          const uint8_t *src, size_t src_nbytes, uint64_t dst,
                          uint64_t dst_nbytes, hr__leaves *out, hr_error *err) {
    if (src_nbytes > UINT32_MAX || dst_nbytes > UINT32_MAX) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "%zu bytes of a Deflate stream for %" PRIu64
                        ", kernels take less than 4 GiB",
                        src_nbytes, dst_nbytes);
    }
    HR__TRY(hr__leaves_add(out, HR__LEAF_DEFLATE, src, (uint32_t)src_nbytes, dst,
                           (uint32_t)dst_nbytes, err));
    hr__leaf *leaf = (hr__leaf *)out->leaves.items + out->leaves.n - 1;
    leaf->wrapper = wrapper;
    leaf->skips_checksum = d->skip_checksums;
    return HR_OK;
}

hr_status hr__zlib_leaf(const hr__decode *d, const uint8_t *src, size_t src_nbytes,
                        uint64_t dst, uint64_t dst_nbytes, hr__leaves *out,
                        hr_error *err) {
    HR__TRY(check_zlib_header(src, src_nbytes, err));
    return add_leaf(d, HR__DEFLATE_ZLIB, src, src_nbytes, dst, dst_nbytes, out, err);
}

hr_status hr__deflate_leaf(const hr__decode *d, const uint8_t *src, size_t src_nbytes,
                           uint64_t dst, uint64_t dst_nbytes, hr__leaves *out,
                           hr_error *err) {
    return is_gzip(src, src_nbytes)
               ? add_leaf(d, HR__DEFLATE_GZIP, src, src_nbytes, dst, dst_nbytes, out, err)
               : hr__zlib_leaf(d, src, src_nbytes, dst, dst_nbytes, out, err);
}

static hr_status leaves(const hr__codec *codec, const hr__decode *d, hr__leaves *out,
                        hr_error *err) {
    (void)codec;
    return hr__deflate_leaf(d, d->src, d->src_nbytes, 0, d->dst_nbytes, out, err);
}

/* --- the codecs --- */

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    static const hr__param params[] = {{"level", HR__PARAM_INT}, {NULL, 0}};
    return hr__config_params(p, params, err);
}

/* Some writers put gzip where the metadata say zlib and the other way round; the first
 * byte tells which it is. */
static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    hr_status status;
    if (is_gzip(d->src, d->src_nbytes)) {
        status = gzip_decode(d, err);
    } else if (is_zlib(d->src, d->src_nbytes)) {
        status = hr__zlib_decode(d, err);
    } else {
        status = hr__fail(err, HR_ERR_DATA, "%zu bytes begin with no gzip or zlib header",
                          d->src_nbytes);
    }
    return hr__settle_grow(codec, d, status);
}

const hr__codec_type hr__codec_gzip = {
    .name = "gzip",
    .v2_ids = (const char *const[]){"gzip", NULL},
    .v3_names = (const char *const[]){"gzip", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "libdeflate",
    .parse = parse,
    .decode = decode,
    .leaves = leaves,
    .max_ratio = 1032, /* 258 bytes from 2 bits */
};

const hr__codec_type hr__codec_zlib = {
    .name = "zlib",
    .v2_ids = (const char *const[]){"zlib", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "libdeflate",
    .parse = parse,
    .decode = decode,
    .leaves = leaves,
    .max_ratio = 1032, /* the same */
};
