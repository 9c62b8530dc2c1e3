/* What lies between two codecs. SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"

#include "core/checked.h"

hr__spec hr__spec_bytes(uint64_t nbytes) {
    return (hr__spec){
        .is_bytes = true,
        .dtype = {.kind = HR_KIND_UINT, .itemsize = 1},
        .nelems = nbytes,
        .nbytes = nbytes,
        .max_nbytes = nbytes,
    };
}

hr__spec hr__spec_unknown(uint64_t max_nbytes) {
    hr__spec spec = hr__spec_bytes(max_nbytes);
    spec.nelems = 0;
    spec.nbytes = HR__SIZE_UNKNOWN;
    return spec;
}

hr__spec hr__spec_plus(const hr__spec *spec, uint64_t extra) {
    uint64_t sum = HR__SIZE_UNKNOWN - 1;
    (void)hr__add_u64(spec->max_nbytes, extra, &sum);
    return spec->nbytes == HR__SIZE_UNKNOWN ? hr__spec_unknown(sum) : hr__spec_bytes(sum);
}

bool hr__spec_measure(hr__spec *spec) {
    uint64_t nelems, nbytes;
    if (!hr__shape_nelems(spec->ndim, spec->shape, &nelems) ||
        !hr__mul_u64(nelems, spec->dtype.itemsize, &nbytes) || nbytes > INT64_MAX) {
        return false;
    }
    spec->nelems = nelems;
    spec->nbytes = nbytes;
    spec->max_nbytes = nbytes;
    return true;
}

hr_status hr__spec_view_as(hr__spec *spec, const hr_dtype *dtype, hr_error *err) {
    if (dtype->itemsize == 0) {
        return hr__fail(err, HR_ERR_METADATA, "items of 0 bytes cannot be filtered");
    }
    if (spec->nbytes != HR__SIZE_UNKNOWN &&
        (spec->is_bytes || spec->dtype.itemsize != dtype->itemsize)) {
        if (spec->nbytes % dtype->itemsize != 0) {
            return hr__fail(err, HR_ERR_METADATA,
                            "%llu bytes are no whole number of items of %llu bytes",
                            (unsigned long long)spec->nbytes,
                            (unsigned long long)dtype->itemsize);
        }
        spec->is_bytes = false;
        spec->ndim = 1;
        spec->nelems = spec->nbytes / dtype->itemsize;
        spec->shape[0] = (int64_t)spec->nelems;
    }
    if (!hr__dtype_equal(&spec->dtype, dtype)) {
        spec->fill = NULL;
    }
    spec->dtype = *dtype;
    return HR_OK;
}

hr_status hr__spec_retype(hr__spec *spec, const hr__spec *from, const hr_dtype *dtype,
                          hr_error *err) {
    hr__spec result = *from;
    bool fits = true;
    result.dtype = *dtype;
    if (!hr__dtype_equal(&from->dtype, dtype)) {
        result.fill = NULL;
    }
    if (from->nbytes == HR__SIZE_UNKNOWN) {
        uint64_t max_nelems = from->max_nbytes / from->dtype.itemsize;
        fits = hr__mul_u64(max_nelems, dtype->itemsize, &result.max_nbytes);
    } else {
        fits = hr__spec_measure(&result);
    }
    if (!fits) {
        return hr__fail(err, HR_ERR_OVERFLOW, "items of %llu bytes are too many bytes",
                        (unsigned long long)dtype->itemsize);
    }
    *spec = result;
    return HR_OK;
}

uint64_t hr__encoded_bound(uint64_t nbytes) {
    uint64_t bound;
    if (!hr__mul_u64(nbytes, 2, &bound) || !hr__add_u64(bound, 65536, &bound) ||
        bound > INT64_MAX) {
        return INT64_MAX;
    }
    return bound;
}
