/* Overviews of an image, and what a fragment names. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "format/tiff/internal.h"

typedef struct level {
    hr__tiff_image image;
    uint64_t width, height, npixels;
} level;

typedef struct levels {
    hr__tiff_file *file; /* in which more are looked for */
    level items[HR__TIFF_MAX_LEVELS];
    size_t n;
} levels;

static hr_status add_level(void *user, const hr__tiff_ifd *ifd, hr_error *err) {
    levels *all = user;
    bool is_overview, is_mask;
    level l = {.image = {.file = all->file, .ifd = *ifd}, .npixels = UINT64_MAX};
    HR__TRY(hr__tiff_ifd_kind(all->file, ifd, &is_overview, &is_mask, err));
    HR__TRY(hr__tiff_uint(all->file, ifd, HR__TIFF_WIDTH, 0, &l.width, err));
    HR__TRY(hr__tiff_uint(all->file, ifd, HR__TIFF_LENGTH, 0, &l.height, err));
    (void)hr__mul_u64(l.width, l.height, &l.npixels);
    if (is_overview && all->n < HR__TIFF_MAX_LEVELS) {
        all->items[all->n++] = l;
    }
    return HR_OK;
}

/* Larger ones first; of one size, as they stand in the file. */
static void sort_levels(levels *all) {
    for (size_t i = 1; i < all->n; i++) {
        level moved = all->items[i];
        size_t k = i;
        for (; k > 0 && all->items[k - 1].npixels < moved.npixels; k--) {
            all->items[k] = all->items[k - 1];
        }
        all->items[k] = moved;
    }
}

static hr_status find_levels_beside(levels *all, uint64_t most, hr_error *err) {
    hr__tiff_ifd first;
    HR__TRY(hr__tiff_ifd_read(all->file, all->file->first_ifd, &first, err));
    HR__TRY(add_level(all, &first, err));
    return hr__tiff_ifd_each(all->file, &first, most, add_level, all, err);
}

/* Of the first image: reduced ones among the next `most` of the main chain, and its
 * SubIFDs; without any, those of the file beside. */
static hr_status find_levels(hr__tiff_file *file, uint64_t most, levels *all,
                             hr_error *err) {
    hr__tiff_ifd first, other;
    uint64_t *sub, nsub;
    all->file = file;
    all->n = 0;
    HR__TRY(hr__tiff_ifd_read(file, file->first_ifd, &first, err));
    HR__TRY(hr__tiff_ifd_each(file, &first, most, add_level, all, err));
    HR__TRY(hr__tiff_uints(file, &first, HR__TIFF_SUB_IFDS, HR__TIFF_MAX_LEVELS, &sub,
                           &nsub, err));
    for (uint64_t i = 0; i < nsub; i++) {
        HR__TRY(hr__tiff_ifd_read(file, sub[i], &other, err));
        HR__TRY(add_level(all, &other, err));
    }
    if (all->n == 0 && file->beside != NULL) {
        all->file = file->beside;
        hr_status status = find_levels_beside(all, most, err);
        if (status != HR_OK) {
            hr__error_add_place(err, NULL, all->file->key, 0);
            return status;
        }
    }
    sort_levels(all);
    return HR_OK;
}

static hr_status find_level(hr__tiff_file *file, uint64_t number, hr__tiff_image *image,
                            hr_error *err) {
    levels all;
    image->file = file;
    if (number == 0) {
        return hr__tiff_ifd_read(file, file->first_ifd, &image->ifd, err);
    }
    HR__TRY(find_levels(file, UINT64_MAX, &all, err));
    if (number > all.n) {
        return hr__fail(err, HR_ERR_NOT_FOUND,
                        "no level %" PRIu64 ": the image has %zu overviews", number,
                        all.n);
    }
    *image = all.items[number - 1].image;
    return HR_OK;
}

hr_status hr__tiff_levels(hr__tiff_file *file, uint64_t (*shapes)[2], size_t *n,
                          hr_error *err) {
    levels all;
    HR__TRY(find_levels(file, HR__TIFF_MAX_LEVELS, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        shapes[i][0] = all.items[i].height;
        shapes[i][1] = all.items[i].width;
    }
    *n = all.n;
    return HR_OK;
}

/* --- masks --- */

typedef struct search {
    hr__tiff_file *file;
    uint64_t width, height;
    uint64_t at, found; /* numbers of IFDs */
} search;

static hr_status find_mask(void *user, const hr__tiff_ifd *ifd, hr_error *err) {
    search *s = user;
    uint64_t width, height;
    bool is_overview, is_mask;
    s->at++;
    HR__TRY(hr__tiff_ifd_kind(s->file, ifd, &is_overview, &is_mask, err));
    HR__TRY(hr__tiff_uint(s->file, ifd, HR__TIFF_WIDTH, 0, &width, err));
    HR__TRY(hr__tiff_uint(s->file, ifd, HR__TIFF_LENGTH, 0, &height, err));
    if (is_mask && s->found == 0 && width == s->width && height == s->height) {
        s->found = s->at;
    }
    return HR_OK;
}

hr_status hr__tiff_mask(hr__tiff_file *file, int64_t width, int64_t height,
                        uint64_t *number, hr_error *err) {
    hr__tiff_ifd first;
    search s = {.file = file, .width = (uint64_t)width, .height = (uint64_t)height};
    HR__TRY(hr__tiff_ifd_read(file, file->first_ifd, &first, err));
    HR__TRY(hr__tiff_ifd_each(file, &first, HR__TIFF_MAX_LEVELS, find_mask, &s, err));
    *number = s.found;
    return HR_OK;
}

/* --- fragments --- */

static bool read_number(const char *text, uint64_t *number) {
    char *end;
    size_t digits = strspn(text, "0123456789");
    *number = strtoull(text, &end, 10);
    return digits > 0 && digits < 19 && text[digits] == '\0';
}

hr_status hr__tiff_image_find(hr__tiff_file *file, const char *fragment,
                              hr__tiff_image *image, hr__tiff_image *base,
                              hr_error *err) {
    uint64_t number = 0;
    image->file = base->file = file;
    if (fragment == NULL || strcmp(fragment, "stack") == 0 ||
        (strncmp(fragment, "ifd=", 4) == 0 && read_number(fragment + 4, &number))) {
        HR__TRY(hr__tiff_ifd_find(file, number, &image->ifd, err));
        *base = *image;
        return HR_OK;
    }
    if (strncmp(fragment, "level=", 6) == 0 && read_number(fragment + 6, &number)) {
        HR__TRY(find_level(file, number, image, err));
        return hr__tiff_ifd_read(file, file->first_ifd, &base->ifd, err);
    }
    return hr__fail(err, HR_ERR_ARGUMENT,
                    "fragment \"%.60s\" is none of ifd=NUMBER, level=NUMBER, stack",
                    fragment);
}
