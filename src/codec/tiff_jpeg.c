/* JPEG in TIFF, through libjpeg. SPDX-License-Identifier: Apache-2.0
 *
 * Tables that all blocks share stand in a stream of their own, which is read first. What
 * the library only warns of, damage that it has painted over, is an error here. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include "codec/codecs.h"
#include "codec/tiff_image.h"

/* Each scan of a progressive image costs time without giving more of it. */
#define MAX_SCANS 100

typedef struct decoder {
    struct jpeg_decompress_struct base;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    char message[JMSG_LENGTH_MAX];
} decoder;

static void leave(j_common_ptr base) {
    decoder *d = base->client_data;
    d->errors.format_message(base, d->message);
    longjmp(d->escape, 1);
}

/* Level −1 is damage; others are remarks. */
static void emit(j_common_ptr base, int level) {
    if (level < 0) {
        leave(base);
    }
}

static void count_scans(j_common_ptr base) {
    decoder *d = base->client_data;
    if (d->base.input_scan_number > MAX_SCANS) {
        (void)snprintf(d->message, sizeof d->message, "more than %d scans", MAX_SCANS);
        longjmp(d->escape, 1);
    }
}

/* What the tag says of colours goes before what the library would guess. */
static void choose_colors(decoder *d, const hr__image_config *c) {
    static const J_COLOR_SPACE spaces[] = {JCS_UNKNOWN, JCS_GRAYSCALE, JCS_UNKNOWN,
                                           JCS_RGB, JCS_CMYK};
    int n = d->base.num_components;
    J_COLOR_SPACE space = n >= 0 && n <= 4 ? spaces[n] : JCS_UNKNOWN;
    d->base.jpeg_color_space = n == 3 && c->to_rgb ? JCS_YCbCr : space;
    d->base.out_color_space = space;
}

static void decode_rows(decoder *d, const hr__image_config *c, uint8_t *dst) {
    size_t row_nbytes = (size_t)c->width * c->samples;
    size_t made = (size_t)d->base.output_width * c->samples;
    while (d->base.output_scanline < d->base.output_height &&
           d->base.output_scanline < c->nrows) {
        uint8_t *to = dst + d->base.output_scanline * row_nbytes;
        JSAMPROW row = to;
        (void)jpeg_read_scanlines(&d->base, &row, 1);
        memset(to + made, 0, row_nbytes - made);
    }
    size_t rest = (size_t)(c->nrows - d->base.output_scanline) * row_nbytes;
    memset(dst + (size_t)c->nrows * row_nbytes - rest, 0, rest);
}

/* Behind setjmp: nothing here is looked at after an escape. */
static hr_status run(decoder *d, const hr__image_config *c, const hr__decode *in,
                     hr_error *err) {
    if (c->tables_nbytes > 0) {
        jpeg_mem_src(&d->base, c->tables, c->tables_nbytes);
        (void)jpeg_read_header(&d->base, FALSE);
    }
    jpeg_mem_src(&d->base, in->src, in->src_nbytes);
    (void)jpeg_read_header(&d->base, TRUE);
    HR__TRY(hr__image_check(c, d->base.image_width, d->base.image_height,
                            (uint64_t)d->base.num_components, err));
    choose_colors(d, c);
    (void)jpeg_start_decompress(&d->base);
    decode_rows(d, c, in->dst);
    return HR_OK;
}

static hr_status decode(const hr__codec *codec, hr__decode *in, hr_error *err) {
    /* not on the stack, where what changes behind setjmp is lost */
    hr__scratch *scratch = &in->worker->part[in->worker->level];
    decoder *d =
        (void *)hr__scratch_reserve(in->worker->allocator, scratch, sizeof(decoder));
    hr_status status;
    if (d == NULL) {
        return hr__fail_memory(err, sizeof *d);
    }
    memset(d, 0, sizeof *d);
    d->base.err = jpeg_std_error(&d->errors);
    d->base.client_data = d;
    d->errors.error_exit = leave;
    d->errors.emit_message = emit;
    if (setjmp(d->escape) == 0) {
        jpeg_create_decompress(&d->base);
        d->progress.progress_monitor = count_scans;
        d->base.progress = &d->progress;
        status = run(d, codec->config, in, err);
    } else {
        status = hr__fail(err, HR_ERR_DATA, "JPEG of %zu bytes: %s", in->src_nbytes,
                          d->message);
    }
    jpeg_destroy_decompress(&d->base);
    in->out = in->dst;
    in->out_nbytes = codec->decoded.nbytes;
    return status;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    const hr_dtype *items = &p->codec->decoded.dtype;
    if (items->itemsize != 1) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "JPEG of samples of %llu bytes",
                        (unsigned long long)items->itemsize);
    }
    return hr__image_parse(p, err);
}

const hr__codec_type hr__codec_tiff_jpeg = {
    .name = "tiff_jpeg",
    .v2_ids = (const char *const[]){"tiff_jpeg", NULL},
    .klass = HR__ARRAY_TO_BYTES,
    .library = "libjpeg",
    .parse = parse,
    .decode = decode,
    .max_ratio = 1 << 20, /* an image may be smaller than its block: some 200 bytes */
};
