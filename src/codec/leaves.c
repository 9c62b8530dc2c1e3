/* Decoding on a device: a chain as leaves. SPDX-License-Identifier: Apache-2.0 */
#include "codec/leaves.h"

#include <inttypes.h>
#include <stdio.h>

/* Views may stand anywhere; beside them one codec that has leaves, and in front of it one
 * that only says how the bytes lie. Returns how many codecs stand before those. */
static int32_t find_front(const hr__chain *chain) {
    bool found = false;
    for (int32_t i = chain->ncodecs - 1; i >= 0; i--) {
        const hr__codec *codec = &chain->codecs[i];
        bool fits = codec->type->leaves != NULL && (!found || codec->type->lays_out);
        if (codec->type->view ? found && codec->encoded.nbytes != codec->decoded.nbytes
                              : !fits) {
            return i + 1;
        }
        found = found || !codec->type->view;
    }
    return 0;
}

/* The items of codec i's output, as the codec in front sees them. */
static bool continues(const hr__chain *chain, int32_t i) {
    const hr_dtype *next =
        i == 0 ? &chain->decoded.dtype : &chain->codecs[i - 1].encoded.dtype;
    return hr__dtype_equal(&chain->codecs[i].decoded.dtype, next);
}

/* A stage stands before all steps but a cast to what it works in: laying out its items
 * does as much. */
static bool add_stage(const hr__codec *codec, hr__kernel_chain *k) {
    hr__stage stage;
    if (k->stage.kind != HR__STAGE_NONE || !codec->type->stage(codec, &stage)) {
        return false;
    }
    const hr__step *step = &k->steps.steps[0];
    bool is_laid_out = k->steps.n == 1 && step->code == HR__STEP_CAST &&
                       (stage.kind == HR__STAGE_SUM || stage.kind == HR__STAGE_SCALE) &&
                       hr__dtype_same_kind(&step->dtype, &stage.items);
    if (k->steps.n > 0 && !is_laid_out) {
        return false;
    }
    k->stage = stage;
    k->steps.n = 0;
    k->laid = stage.has_planes ? stage.items : k->items;
    k->items = k->stage.items;
    return true;
}

static bool add_front(const hr__chain *chain, int32_t i, hr__kernel_chain *k) {
    const hr__codec *codec = &chain->codecs[i];
    if (codec->type->view) {
        return hr__dtype_equal(&codec->encoded.dtype, &codec->decoded.dtype);
    }
    const uint32_t nsteps = k->steps.n;
    if (codec->type->steps != NULL && codec->type->steps(codec, &k->items, &k->steps)) {
        return true;
    }
    k->steps.n = nsteps;
    return codec->type->stage != NULL && add_stage(codec, k);
}

/* Do sizes agree with the number of elements? */
static bool sizes_fit(const hr__chain *chain, const hr__kernel_chain *k) {
    uint64_t laid = k->stage.kind == HR__STAGE_UNPACK ? 0 : k->laid.itemsize;
    uint64_t items = k->stage.kind != HR__STAGE_NONE ? k->stage.nbytes : k->laid_nbytes;
    return k->laid_nbytes != HR__SIZE_UNKNOWN && k->items.itemsize > 0 &&
           (laid == 0 || k->laid_nbytes / laid == chain->decoded.nelems) &&
           (laid == 0 || k->laid_nbytes % laid == 0) &&
           items / k->items.itemsize == chain->decoded.nelems &&
           items % k->items.itemsize == 0;
}

const char *hr__chain_for_kernels(const hr__chain *chain, hr__kernel_chain *out) {
    out->steps.n = 0;
    out->stage.kind = HR__STAGE_NONE;
    out->nfront = find_front(chain);
    out->scratch_ratio = 0;
    out->may_shuffle = false;
    for (int32_t i = out->nfront; i < chain->ncodecs; i++) {
        const uint32_t ratio = chain->codecs[i].type->scratch_ratio;
        out->may_shuffle |= chain->codecs[i].type->may_shuffle;
        out->scratch_ratio = ratio > out->scratch_ratio ? ratio : out->scratch_ratio;
    }
    out->laid_nbytes = chain->decoded.nbytes;
    out->items = out->laid = chain->decoded.dtype;
    if (out->nfront == 0) {
        return NULL;
    }
    const hr__spec *laid = &chain->codecs[out->nfront - 1].encoded;
    out->laid_nbytes = laid->nbytes;
    out->items = laid->dtype;
    for (int32_t i = out->nfront - 1; i >= 0; i--) {
        if (!add_front(chain, i, out) || !continues(chain, i)) {
            return chain->codecs[i].name;
        }
    }
    if (out->stage.kind == HR__STAGE_NONE) {
        out->laid = out->items;
    }
    return sizes_fit(chain, out) ? NULL : chain->codecs[out->nfront - 1].name;
}

const char *hr__chain_refuses_leaves(const hr__chain *chain) {
    hr__kernel_chain k;
    return hr__chain_for_kernels(chain, &k);
}

const char *hr__chain_why_host(const hr__chain *chain, char text[HR__WHY_HOST_NBYTES]) {
    const char *codec = hr__chain_refuses_leaves(chain);
    if (codec == NULL) {
        return "no kernel does what its header or the request asks for";
    }
    (void)snprintf(text, HR__WHY_HOST_NBYTES, "no kernel decodes %s", codec);
    return text;
}

hr_status hr__leaves_add(hr__leaves *out, hr__leaf_format format, const uint8_t *src,
                         uint32_t src_nbytes, uint64_t dst, uint32_t dst_nbytes,
                         hr_error *err) {
    hr__leaf *leaf = hr__vec_push(out->allocator, &out->leaves, sizeof *leaf);
    if (leaf == NULL) {
        return hr__fail_memory(err, sizeof *leaf);
    }
    *leaf = (hr__leaf){.src = (uint64_t)(src - out->base),
                       .dst = dst,
                       .src_nbytes = src_nbytes,
                       .dst_nbytes = dst_nbytes,
                       .format = format};
    return HR_OK;
}

hr_status hr__leaves_add_whole(hr__leaves *out, hr__leaf_format format,
                               const hr__decode *d, hr_error *err) {
    if (d->src_nbytes > UINT32_MAX || d->dst_nbytes > UINT32_MAX) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "%zu bytes for %zu, kernels take less than 4 GiB", d->src_nbytes,
                        d->dst_nbytes);
    }
    return hr__leaves_add(out, format, d->src, (uint32_t)d->src_nbytes, 0,
                          (uint32_t)d->dst_nbytes, err);
}

void hr__leaves_stored(hr__leaves *out, const uint8_t *src) {
    out->stored = true;
    out->stored_at = (uint64_t)(src - out->base);
}

static hr_status check_stored(const hr__kernel_chain *kernels, size_t nbytes,
                              hr_error *err) {
    return nbytes == kernels->laid_nbytes
               ? HR_OK
               : hr__fail(err, HR_ERR_DATA,
                          "chunk decodes to %zu bytes, expected %" PRIu64, nbytes,
                          kernels->laid_nbytes);
}

hr_status hr__chain_leaves(const hr__chain *chain, const hr__kernel_chain *kernels,
                           const hr__decode *d, hr__leaves *out, hr_error *err) {
    hr__decode step = *d;
    bool found = false; /* leaves stand for the bytes: nothing left for views to see */
    out->base = d->src;
    out->leaves.n = 0;
    out->zstd_blocks.n = 0;
    out->scratch_nbytes = out->left_out_nbytes = 0;
    out->stored = false;
    out->mode = HR__SHUFFLE_NONE;
    out->typesize = 1;
    out->block_nbytes = kernels->laid_nbytes;
    step.dst = NULL;
    step.dst_nbytes = kernels->laid_nbytes;
    for (int32_t i = chain->ncodecs - 1; i >= kernels->nfront; i--) {
        const hr__codec *codec = &chain->codecs[i];
        hr_status status = HR_OK;
        if (!codec->type->view) {
            status = codec->type->leaves(codec, &step, out, err);
            found = true;
        } else if (!found) {
            status = codec->type->decode(codec, &step, err);
            step.src = step.out;
            step.src_nbytes = step.out_nbytes;
        }
        if (status != HR_OK) {
            hr__error_add_codec(err, codec->name);
            return status;
        }
    }
    if (out->leaves.n == 0 &&
        !out->stored) { /* views alone, or a layout of stored bytes */
        HR__TRY(check_stored(kernels, step.src_nbytes, err));
        hr__leaves_stored(out, step.src);
    }
    return HR_OK;
}
