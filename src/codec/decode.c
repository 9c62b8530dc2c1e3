/* What decoders share. SPDX-License-Identifier: Apache-2.0 */
#include "codec/decode.h"

#include <inttypes.h>

#include "core/checked.h"

hr_status hr__decode_check(const hr__decode *d, hr_error *err) {
    return d->cancelled != NULL &&
                   atomic_load_explicit(d->cancelled, memory_order_relaxed)
               ? hr__fail(err, HR_ERR_CANCELLED, "the batch was cancelled")
               : HR_OK;
}

hr_status hr__decode_view(const hr__codec *codec, hr__decode *d, hr_error *err) {
    (void)codec;
    (void)err;
    d->out = d->src;
    d->out_nbytes = d->src_nbytes;
    return HR_OK;
}

hr_status hr__fail_room(hr__decode *d, const char *what, uint64_t nbytes, hr_error *err) {
    d->grow = true;
    if (nbytes == HR__SIZE_UNKNOWN) {
        return hr__fail(err, HR_ERR_DATA, "%s makes more than the %zu bytes expected",
                        what, d->dst_nbytes);
    }
    return hr__fail(err, HR_ERR_DATA, "%s makes %" PRIu64 " bytes, expected %zu", what,
                    nbytes, d->dst_nbytes);
}

hr_status hr__settle_grow(const hr__codec *codec, hr__decode *d, hr_status status) {
    d->grow = d->grow && codec->decoded.nbytes == HR__SIZE_UNKNOWN &&
              d->dst_nbytes < codec->decoded.max_nbytes;
    return status;
}

hr_status hr__filter_nelems(const hr__codec *codec, hr__decode *d, size_t *nelems,
                            hr_error *err) {
    size_t from = codec->encoded.dtype.itemsize;
    size_t to = codec->decoded.dtype.itemsize;
    size_t n = d->src_nbytes / from;
    if (d->src_nbytes % from != 0) {
        return hr__fail(err, HR_ERR_DATA, "%zu bytes, expected whole items of %zu bytes",
                        d->src_nbytes, from);
    }
    if (n > d->dst_nbytes / to) {
        uint64_t nbytes = HR__SIZE_UNKNOWN;
        (void)hr__mul_u64(n, to, &nbytes);
        return hr__settle_grow(codec, d, hr__fail_room(d, "the filter", nbytes, err));
    }
    *nelems = n;
    return HR_OK;
}
