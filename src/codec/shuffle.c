/* shuffle: the bytes of items by significance. SPDX-License-Identifier: Apache-2.0 */
#include "codec/codecs.h"
#include "codec/decode.h"
#include "codec/leaves.h"
#include "codec/shuffle_kernels.h"
#include "core/json.h"

#define DEFAULT_ITEMSIZE 4 /* numcodecs' */

static hr_status decode(const hr__codec *codec, hr__decode *d, hr_error *err) {
    const uint64_t *itemsize = codec->config;
    if (d->src_nbytes > d->dst_nbytes) {
        return hr__settle_grow(codec, d, hr__fail_room(d, "shuffle", d->src_nbytes, err));
    }
    hr__unshuffle(*itemsize, d->src_nbytes, d->src, d->dst);
    d->out = d->dst;
    d->out_nbytes = d->src_nbytes;
    return HR_OK;
}

static hr_status parse(hr__codec_parse *p, hr_error *err) {
    hr__codec *codec = p->codec;
    /* 0 is no shuffling to numcodecs, and the size of the array's items to NCZarr, which
     * writes numbers as text; null is that size too. */
    json_object *member = hr__json_get(p->config, "elementsize");
    bool is_given = hr__json_has(p->config, "elementsize");
    int64_t itemsize = DEFAULT_ITEMSIZE;
    HR__TRY(hr__json_member_i64(p->config, codec->name, "elementsize", 0, INT32_MAX,
                                is_given ? 0 : DEFAULT_ITEMSIZE, &itemsize, err));
    if (itemsize == 0 && (member == NULL || hr__json_str(member) != NULL)) {
        itemsize = (int64_t)codec->decoded.dtype.itemsize;
    }
    uint64_t *config = hr__arena_alloc(p->arena, sizeof *config);
    if (config == NULL) {
        return hr__fail_memory(err, sizeof *config);
    }
    *config = itemsize > 0 ? (uint64_t)itemsize : 1;
    codec->config = config;
    codec->encoded = hr__spec_plus(&codec->decoded, 0);
    return HR_OK;
}

static hr_status leaves(const hr__codec *codec, const hr__decode *d, hr__leaves *out,
                        hr_error *err) {
    const uint64_t *itemsize = codec->config;
    (void)d;
    if (out->mode != HR__SHUFFLE_NONE || *itemsize > UINT8_MAX) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "shuffled twice, or items of %llu bytes",
                        (unsigned long long)*itemsize);
    }
    out->mode = HR__SHUFFLE_BYTES;
    out->typesize = (uint32_t)*itemsize;
    return HR_OK;
}

const hr__codec_type hr__codec_shuffle = {
    .name = "shuffle",
    .v2_ids = (const char *const[]){"shuffle", NULL},
    .klass = HR__BYTES_TO_BYTES,
    .library = "built in",
    .parse = parse,
    .decode = decode,
    .leaves = leaves,
    .lays_out = true,
    .may_shuffle = true,
};
