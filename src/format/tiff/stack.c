/* Images of a file that are one array. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/vec.h"
#include "format/tiff/internal.h"

/* --- pages of the chain --- */

typedef struct pages {
    hr__tiff_file *file;
    const hr__tiff_image *image;   /* of the first page */
    const hr__tiff_layout *layout; /* of that */
    uint64_t level;                /* of each page; 0: the page itself */
    hr__tiff_level_list levels;    /* of the page that is looked at */
    hr__vec tables;                /* hr__tables */
} pages;

static bool is_alike(const hr__tiff_layout *a, const hr__tiff_layout *b) {
    return a->width == b->width && a->height == b->height && a->depth == b->depth &&
           a->nsamples == b->nsamples && a->is_planar == b->is_planar &&
           a->is_tiled == b->is_tiled && a->block_width == b->block_width &&
           a->block_height == b->block_height && a->block_depth == b->block_depth &&
           a->bits == b->bits && a->format == b->format &&
           a->compression == b->compression && a->predictor == b->predictor &&
           a->photometric == b->photometric && a->fill_order == b->fill_order &&
           memcmp(a->subsampling, b->subsampling, sizeof a->subsampling) == 0;
}

/* What else decoders are told. */
static hr_status has_same_bytes(hr__tiff_file *file, const hr__tiff_ifd *a,
                                const hr__tiff_ifd *b, hr__tiff_tag tag, bool *is_same,
                                hr_error *err) {
    char *bytes[2];
    uint64_t n[2];
    HR__TRY(hr__tiff_bytes(file, a, tag, &bytes[0], &n[0], err));
    HR__TRY(hr__tiff_bytes(file, b, tag, &bytes[1], &n[1], err));
    *is_same &= n[0] == n[1] && (n[0] == 0 || memcmp(bytes[0], bytes[1], n[0]) == 0);
    return HR_OK;
}

static hr_status add_page(pages *p, const hr__tables *tables, hr_error *err) {
    hr__tables *place = hr__vec_push(&hr__malloc_allocator, &p->tables, sizeof *place);
    if (place == NULL) {
        return hr__fail_memory(err, sizeof *place);
    }
    *place = *tables;
    return HR_OK;
}

/* One image of each page, which must be as the first is. */
static hr_status add_image(pages *p, hr__tiff_file *file, const hr__tiff_ifd *ifd,
                           hr_error *err) {
    hr__tiff_layout l;
    HR__TRY(hr__tiff_layout_read(file, ifd, &l, err));
    bool is_same = file == p->file && is_alike(&l, p->layout);
    if (is_same && l.compression == HR__TIFF_JPEG) {
        HR__TRY(has_same_bytes(file, &p->image->ifd, ifd, HR__TIFF_JPEG_TABLES, &is_same,
                               err));
    }
    if (!is_same) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "no stack: page %zu (%" PRId64 " × %" PRId64
                        ") is not like the first (%" PRId64 " × %" PRId64 ")",
                        p->tables.n, l.height, l.width, p->layout->height,
                        p->layout->width);
    }
    return add_page(p, &l.tables, err);
}

/* The level that is wanted of the page before, whose overviews are all there now. */
static hr_status finish_page(pages *p, hr_error *err) {
    hr__tiff_image image;
    HR__TRY(hr__tiff_level_list_find(&p->levels, p->level, &image, err));
    p->levels.n = 0;
    return add_image(p, image.file, &image.ifd, err);
}

static hr_status visit(void *user, const hr__tiff_ifd *ifd, bool *is_over,
                       hr_error *err) {
    pages *p = user;
    bool is_overview, is_mask;
    (void)is_over;
    HR__TRY(hr__tiff_ifd_kind(p->file, ifd, &is_overview, &is_mask, err));
    if (is_overview || is_mask) {
        return hr__tiff_level_list_add(&p->levels, p->file, ifd, err);
    }
    if (p->level == 0) {
        return add_image(p, p->file, ifd, err);
    }
    HR__TRY(finish_page(p, err));
    return hr__tiff_level_list_add_subs(&p->levels, p->file, ifd, err);
}

/* All pages behind the base. */
static hr_status add_pages(pages *p, const hr__tiff_ifd *base, hr_error *err) {
    if (p->level == 0) {
        HR__TRY(add_page(p, &p->layout->tables, err));
        return hr__tiff_ifd_each(p->file, base, UINT64_MAX, visit, p, err);
    }
    HR__TRY(hr__tiff_level_list_add_subs(&p->levels, p->file, base, err));
    HR__TRY(hr__tiff_ifd_each(p->file, base, UINT64_MAX, visit, p, err));
    return finish_page(p, err);
}

/* --- ImageJ --- */

static bool is_of_imagej(const char *description) {
    return strncmp(description, "ImageJ=", 7) == 0;
}

/* The number behind `name` at the beginning of a line; 1 without one. */
static int64_t number_in(const char *text, const char *name) {
    size_t n = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == '=') {
            long long value = strtoll(line + n + 1, NULL, 10);
            return value > 0 ? value : 1;
        }
    }
    return 1;
}

/* Its images one after the other behind the first one's only strip, which is all that
 * it writes of large stacks. */
static bool is_contiguous(const hr__tiff_file *file, const hr__tiff_layout *l,
                          int64_t nimages) {
    uint64_t nbytes = (uint64_t)l->bits / 8;
    const int64_t factors[] = {l->width, l->height, l->nsamples, nimages};
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        if (!hr__mul_u64(nbytes, (uint64_t)factors[i], &nbytes)) {
            return false;
        }
    }
    return l->compression == 1 && !l->is_tiled && l->down == 1 && l->deep == 1 &&
           !l->is_planar && l->bits % 8 == 0 && nbytes <= file->source->nbytes;
}

/* Axes of so many pages: those of a hyperstack, of OME's, else one. */
static void name_axes(const char *description, int64_t npages, int64_t nsamples,
                      hr__tiff_stack *s) {
    static const char *const names[] = {"frame", "slice", "channel"};
    static const char *const keys[] = {"frames", "slices", "channels"};
    int64_t counts[3], product = 1;
    bool is_imagej = description != NULL && is_of_imagej(description);
    for (int i = 0; i < 3; i++) {
        counts[i] = is_imagej ? number_in(description, keys[i]) : 1;
        product = product > 0 && counts[i] <= npages / product ? product * counts[i] : 0;
    }
    for (int i = 0; i < 3 && product == npages; i++) {
        if (counts[i] > 1) {
            s->shape[s->naxes] = counts[i];
            s->names[s->naxes++] = names[i];
        }
    }
    bool is_named = s->naxes > 0 || (description != NULL && !is_imagej &&
                                     hr__tiff_ome_axes(description, npages, nsamples, s));
    if (!is_named) {
        s->shape[0] = npages;
        s->names[0] = "page";
        s->naxes = 1;
    }
}

static hr_status read_pages(pages *p, const hr__tiff_ifd *base, hr__tiff_stack *s,
                            hr_error *err) {
    char *text;
    uint64_t nbytes;
    HR__TRY(add_pages(p, base, err));
    HR__TRY(hr__tiff_bytes(p->file, base, HR__TIFF_DESCRIPTION, &text, &nbytes, err));
    int64_t npages = (int64_t)p->tables.n;
    int64_t nimages = text != NULL && is_of_imagej(text) ? number_in(text, "images") : 1;
    if (npages == 1 && nimages > 1 && is_contiguous(p->file, p->layout, nimages)) {
        s->is_contiguous = true;
        npages = nimages;
    }
    name_axes(text, npages, p->layout->nsamples, s);
    s->tables =
        hr__arena_copy(p->file->arena, p->tables.items, p->tables.n * sizeof *s->tables);
    return s->tables == NULL ? hr__fail_memory(err, p->tables.n * sizeof *s->tables)
                             : HR_OK;
}

hr_status hr__tiff_stack_read(const hr__tiff_image *base, const hr__tiff_image *image,
                              const hr__tiff_layout *layout, uint64_t level,
                              hr__tiff_stack *stack, hr_error *err) {
    pages p = {.file = base->file, .image = image, .layout = layout, .level = level};
    hr__tiff_stack s = {0};
    hr_status status = read_pages(&p, &base->ifd, &s, err);
    hr__vec_free(&hr__malloc_allocator, &p.tables);
    HR__TRY(status);
    *stack = s;
    return HR_OK;
}
