/* Decoding a chunk in pieces. SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"

/* One codec that makes pieces, behind views that change nothing. */
bool hr__chain_has_pieces(const hr__chain *chain) {
    int32_t last = chain->ncodecs - 1;
    if (last < 0 || chain->codecs[last].type->decode_pieces == NULL) {
        return false;
    }
    for (int32_t i = 0; i < last; i++) {
        const hr__codec *codec = &chain->codecs[i];
        if (!codec->type->view || codec->encoded.nbytes != codec->decoded.nbytes) {
            return false;
        }
    }
    return true;
}

typedef struct counter {
    const hr__sink *sink;
    uint64_t room; /* what may still come */
    uint64_t total;
} counter;

/* No sink sees more bytes than the chunk has, and what makes more is stopped there. */
static bool count_and_pass(void *user, const uint8_t *bytes, size_t nbytes) {
    counter *c = user;
    size_t fits = nbytes <= c->room ? nbytes : (size_t)c->room;
    c->total += nbytes;
    c->room -= fits;
    return (fits == 0 || c->sink->put(c->sink->user, bytes, fits)) && fits == nbytes;
}

hr_status hr__chain_decode_pieces(const hr__chain *chain, hr__decode *d,
                                  size_t piece_nbytes, const hr__sink *sink,
                                  hr_error *err) {
    const hr__codec *codec = &chain->codecs[chain->ncodecs - 1];
    hr__worker *w = d->worker;
    counter counting = {.sink = sink, .room = chain->decoded.nbytes};
    const hr__sink counted = {.user = &counting, .put = count_and_pass};
    HR__TRY(hr__codec_check_ratio(codec, d->src_nbytes, err));
    hr__decode step = *d;
    step.dst_nbytes = piece_nbytes;
    step.dst = hr__scratch_reserve(w->allocator, &w->stage[w->level][0], piece_nbytes);
    if (step.dst == NULL) {
        return hr__fail_memory(err, piece_nbytes);
    }
    hr_status status = codec->type->decode_pieces(codec, &step, &counted, err);
    if (status == HR_OK && counting.total != chain->decoded.nbytes) {
        status = hr__fail(err, HR_ERR_DATA, "chunk decodes to %llu bytes, expected %llu",
                          (unsigned long long)counting.total,
                          (unsigned long long)chain->decoded.nbytes);
    }
    if (status != HR_OK) {
        hr__error_add_codec(err, codec->name);
    }
    d->out_nbytes = (size_t)counting.total;
    return status;
}
