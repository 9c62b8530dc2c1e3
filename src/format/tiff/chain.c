/* The codecs of a tile or strip. SPDX-License-Identifier: Apache-2.0
 *
 * From the array's side: unpacking of samples that are no items of memory, the predictor,
 * the compression, the order of bits. They are written as a list in the manner of Zarr v2
 * and parsed as such. */
#include <inttypes.h>
#include <string.h>

#include "core/checked.h"
#include "format/tiff/internal.h"

enum { UINT = 1, INT = 2, FLOAT = 3, UNDEFINED = 4, COMPLEX_INT = 5, COMPLEX = 6 };

/* --- samples --- */

/* How samples lie in a block, and what they become. */
typedef struct samples {
    hr_dtype dtype;  /* in memory */
    bool is_packed;  /* they are no items of dtype, byte order apart */
    bool has_units;  /* pixels that share their chroma lie together */
    uint64_t row;    /* samples of a row of a block */
    uint64_t stride; /* from one to the next of the same kind */
    uint64_t row_nbytes;
} samples;

static uint32_t bytes_for(uint32_t bits) {
    return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

/* Kind of item, and whether there are any of so many bits. */
static bool choose_dtype(const hr__tiff_layout *l, samples *s) {
    uint32_t bits = l->bits;
    switch (l->format) {
    case UINT:
    case UNDEFINED:
    case INT:
        s->dtype =
            hr__dtype(l->format == INT ? HR_KIND_INT : HR_KIND_UINT, bytes_for(bits));
        s->is_packed = bits != 8 * bytes_for(bits);
        return bits >= 1 && bits <= 64;
    case FLOAT:
        s->is_packed = bits == 24;
        s->dtype = hr__dtype(HR_KIND_FLOAT, bytes_for(bits));
        return bits == 16 || bits == 24 || bits == 32 || bits == 64;
    case COMPLEX_INT:
        s->is_packed = true;
        s->dtype = hr__dtype(HR_KIND_COMPLEX, bits == 64 ? 16 : 8);
        return bits == 16 || bits == 32 || bits == 64;
    case COMPLEX:
        s->dtype = hr__dtype(HR_KIND_COMPLEX, bits / 8);
        return bits == 64 || bits == 128;
    default:
        return false;
    }
}

static hr_status read_samples(const hr__tiff_layout *l, samples *s, hr_error *err) {
    *s = (samples){0};
    uint64_t nbits;
    if (!choose_dtype(l, s)) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "samples of %" PRIu32 " bits in SampleFormat %" PRIu32, l->bits,
                        l->format);
    }
    s->stride = l->is_planar ? 1 : (uint64_t)l->nsamples;
    if (!hr__mul_u64((uint64_t)l->block_width, s->stride, &s->row) ||
        !hr__mul_u64(s->row, l->bits, &nbits)) {
        return hr__fail(err, HR_ERR_OVERFLOW, "a row of %" PRId64 " pixels is too large",
                        l->block_width);
    }
    s->row_nbytes = nbits / 8 + (nbits % 8 != 0);
    return HR_OK;
}

/* --- the list --- */

static void add_uint(json_object *codec, const char *name, uint64_t value) {
    json_object_object_add(codec, name, json_object_new_int64((int64_t)value));
}

static void add_order(json_object *codec, bool is_big_endian) {
    json_object_object_add(codec, "endian",
                           json_object_new_string(is_big_endian ? "big" : "little"));
}

static hr_status check_predictor(const hr__tiff_layout *l, const samples *s,
                                 hr_error *err) {
    bool is_word = l->bits == 8 || l->bits == 16 || l->bits == 32 || l->bits == 64;
    bool fits =
        l->predictor == 2 ? is_word : l->predictor == 3 && s->dtype.kind == HR_KIND_FLOAT;
    if (fits) {
        return HR_OK;
    }
    return hr__fail(
        err,
        l->predictor == 2 || l->predictor == 3 ? HR_ERR_UNSUPPORTED : HR_ERR_METADATA,
        "predictor %" PRIu32 " on samples of %" PRIu32 " bits in SampleFormat %" PRIu32,
        l->predictor, l->bits, l->format);
}

/* Chroma of fewer pixels than luma, together in units of both. */
static bool is_subsampled(const hr__tiff_layout *l) {
    return l->photometric == HR__TIFF_YCBCR && l->nsamples == 3 &&
           (l->subsampling[0] != 1 || l->subsampling[1] != 1);
}

/* What stands before the compression: *order is that of the items that come of it. */
static void add_filters(json_object *list, const hr__tiff_layout *l, const samples *s,
                        uint32_t predictor, bool is_big_endian) {
    if (s->has_units) {
        json_object *codec = hr__tiff_add_codec(list, "tiff_ycbcr");
        add_uint(codec, "width", (uint64_t)l->block_width);
        add_uint(codec, "across", l->subsampling[0]);
        add_uint(codec, "down", l->subsampling[1]);
    }
    if (s->is_packed) {
        json_object *codec = hr__tiff_add_codec(list, "tiff_samples");
        add_uint(codec, "bits", l->bits);
        add_uint(codec, "row", s->row);
        add_order(codec, is_big_endian && predictor == 1);
    }
    if (predictor == 2) {
        json_object *codec = hr__tiff_add_codec(list, "tiff_predictor2");
        if (s->is_packed) { /* complex integers, both parts as one word */
            add_uint(codec, "itemsize", l->bits / 8);
        }
        add_uint(codec, "row", s->row);
        add_uint(codec, "stride", s->stride);
        add_order(codec, is_big_endian);
    } else if (predictor == 3) {
        json_object *codec = hr__tiff_add_codec(list, "tiff_predictor3");
        add_uint(codec, "itemsize", l->bits / 8);
        add_uint(codec, "row", s->row);
        add_uint(codec, "stride", s->stride);
    }
}

static bool is_chroma_step(uint32_t n) {
    return n == 1 || n == 2 || n == 4;
}

/* Planes of unlike sizes, and units that are no whole bytes, are not read. Image formats
 * have units of their own. */
static hr_status check_units(const hr__tiff_layout *l, const samples *s, bool is_image,
                             uint32_t predictor, hr_error *err) {
    bool is_known = is_chroma_step(l->subsampling[0]) &&
                    is_chroma_step(l->subsampling[1]) && predictor == 1 &&
                    l->block_depth == 1 && !s->is_packed;
    return !l->is_planar && (is_image || is_known)
               ? HR_OK
               : hr__fail(err, HR_ERR_UNSUPPORTED,
                          "YCbCr with chroma of 1 pixel in %" PRIu32 " × %" PRIu32
                          ", %" PRIu32 " bits, predictor %" PRIu32
                          ", %s, is not supported",
                          l->subsampling[0], l->subsampling[1], l->bits, predictor,
                          l->is_planar ? "in planes" : "together");
}

/* --- the array --- */

typedef struct axes {
    int64_t *shape, *chunk;
    int32_t n;
} axes;

static void add_axis(axes *a, int64_t length, int64_t chunk) {
    a->shape[a->n] = length;
    a->chunk[a->n++] = chunk;
}

static void set_shape(const hr__tiff_layout *l, const hr__tiff_stack *s,
                      hr__tiff_node *node) {
    hr__array *a = &node->array;
    axes made = {.shape = a->shape, .chunk = node->chunk_shape};
    for (int32_t i = 0; i < s->naxes; i++) {
        add_axis(&made, s->shape[i], 1);
    }
    if (l->is_planar) {
        add_axis(&made, l->nsamples, 1);
    }
    if (l->depth > 1) {
        add_axis(&made, l->depth, l->block_depth);
    }
    a->edge_axis = made.n;
    add_axis(&made, l->height, l->block_height);
    add_axis(&made, l->width, l->block_width);
    if (!l->is_planar && l->nsamples > 1) {
        add_axis(&made, l->nsamples, l->nsamples);
    }
    a->ndim = made.n;
    for (int32_t i = 0; i < a->ndim; i++) {
        a->order[i] = i;
    }
}

/* The chain of a block with so many rows. */
static hr_status make_chain(json_object *codecs, const hr__tiff_node *node, int64_t nrows,
                            hr__arena *arena, hr__chain *chain, hr_error *err) {
    const hr__array *a = &node->array;
    hr__spec spec = {.ndim = a->ndim, .dtype = a->stored};
    memcpy(spec.shape, node->chunk_shape, (size_t)a->ndim * sizeof *spec.shape);
    spec.shape[a->edge_axis] = nrows;
    if (!hr__spec_measure(&spec)) {
        return hr__fail(err, HR_ERR_OVERFLOW, "a tile or strip has more than 2^63 bytes");
    }
    return hr__chain_parse_v2(codecs, NULL, &spec, arena, NULL, chain, err);
}

/* Rows of the parts that large uncompressed strips are read in: about this size. */
#define PART_NBYTES (UINT64_C(256) << 10)

/* A strip that is alone in its plane may be cut anywhere, others where all parts but the
 * last strip's are alike. */
static int64_t part_rows(const hr__tiff_layout *l, const samples *s) {
    uint64_t rows = (uint64_t)l->block_height;
    uint64_t most = PART_NBYTES / s->row_nbytes;
    most = most == 0 ? 1 : most;
    if (l->compression != 1 || l->is_tiled || s->has_units || rows < 2 * most) {
        return l->block_height;
    }
    uint64_t part = most;
    while (l->down > 1 && rows % part != 0) {
        part--;
    }
    return part > most / 8 ? (int64_t)part : l->block_height;
}

static void place(const hr__tiff_file *file, const hr__tiff_layout *l,
                  const hr__tiff_stack *stack, const samples *s, int64_t nrows,
                  hr__tiff_node *node) {
    hr__array *a = &node->array;
    hr__placement *p = &node->placement;
    node->tables = l->tables;
    if (stack->is_contiguous) {
        node->tables.size_nbytes = 0; /* it is that of the first */
    }
    *p = (hr__placement){
        .tables =
            stack->naxes > 0 && !stack->is_contiguous ? stack->tables : &node->tables,
        .nentries = l->nblocks,
        .entries_per_plane = (uint64_t)(l->across * l->down),
        .parts_per_entry = (uint64_t)hr__ceil_div_i64(l->block_height, nrows),
        .part_nbytes = (uint64_t)nrows * s->row_nbytes,
        .plane_nbytes = stack->is_contiguous ? (uint64_t)l->height * s->row_nbytes : 0,
        .is_big_endian = file->is_big_endian};
    hr__level *level = &a->levels[0];
    *level = (hr__level){.placement = p, .ninner = 1};
    a->nlevels = 1;
    for (int32_t i = 0; i < a->ndim; i++) {
        int64_t chunk = i == a->edge_axis ? nrows : node->chunk_shape[i];
        int64_t n = hr__ceil_div_i64(a->shape[i], chunk);
        a->grid[i] = (hr__grid_axis){.length = a->shape[i], .chunk = chunk, .nchunks = n};
        a->outer[i] =
            (hr__grid_axis){.length = a->shape[i], .chunk = a->shape[i], .nchunks = 1};
        level->shape[i] = chunk;
        level->counts[i] = n;
        level->order[i] = i;
        level->ninner *= (uint64_t)n;
    }
    p->chunks_per_plane = (uint64_t)(l->across * hr__ceil_div_i64(l->height, nrows));
    p->chunks_per_table = level->ninner;
    for (int32_t i = 0; i < stack->naxes && !stack->is_contiguous; i++) {
        p->chunks_per_table /= (uint64_t)stack->shape[i];
    }
}

static hr_status make_chains(const hr__tiff_file *file, const hr__tiff_layout *l,
                             const hr__tiff_stack *stack, const samples *s,
                             json_object *codecs, hr__tiff_node *node, hr_error *err) {
    hr__array *a = &node->array;
    int64_t nrows = part_rows(l, s);
    int64_t last = l->height % nrows;
    HR__TRY(make_chain(codecs, node, nrows, file->arena, &a->chain, err));
    if (!l->is_tiled && last != 0) {
        HR__TRY(make_chain(codecs, node, last, file->arena, &node->edge_chain, err));
        a->edge_chain = &node->edge_chain;
    }
    place(file, l, stack, s, nrows, node);
    return HR_OK;
}

hr_status hr__tiff_chains(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                          const hr__tiff_layout *layout, const hr__tiff_stack *stack,
                          hr__tiff_node *node, hr_error *err) {
    const hr__tiff_compression *c = NULL;
    samples s;
    hr__array *a = &node->array;
    HR__TRY(hr__tiff_compression_find(layout->compression, &c, err));
    bool is_image = c->kind == HR__TIFF_IMAGE;
    uint32_t predictor = c->kind == HR__TIFF_BYTES ? layout->predictor : 1;
    HR__TRY(read_samples(layout, &s, err));
    if (is_subsampled(layout)) {
        HR__TRY(check_units(layout, &s, is_image, predictor, err));
        s.has_units = !is_image;
    }
    if (is_image && s.is_packed) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "%s of samples of %" PRIu32 " bits in SampleFormat %" PRIu32,
                        c->name, layout->bits, layout->format);
    }
    if (is_image && layout->block_depth > 1) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "%s of tiles with a depth of %" PRId64,
                        c->name, layout->block_depth);
    }
    if (predictor != 1) {
        HR__TRY(check_predictor(layout, &s, err));
    }
    set_shape(layout, stack, node);
    a->dtype = a->stored = s.dtype;
    bool is_swapped = file->is_big_endian && hr__dtype_needs_swap(&s.dtype);
    if (is_swapped && !s.is_packed && predictor == 1) { /* also in a LERC blob */
        a->stored.byte_order = HR_BIG;
    }
    json_object *list = json_object_new_array();
    add_filters(list, layout, &s, predictor, file->is_big_endian);
    hr_status status = hr__tiff_compression_add(file, ifd, layout, c, list, err);
    if (status == HR_OK) {
        status = make_chains(file, layout, stack, &s, list, node, err);
    }
    if (status == HR_OK) {
        node->codecs_json = hr__arena_strdup(
            file->arena, json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN));
        status = node->codecs_json == NULL ? hr__fail_memory(err, 0) : HR_OK;
    }
    json_object_put(list);
    return status;
}
