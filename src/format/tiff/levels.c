/* Overviews and masks of an image. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/checked.h"
#include "format/tiff/internal.h"

hr_status hr__tiff_level_list_add(hr__tiff_level_list *all, hr__tiff_file *file,
                                  const hr__tiff_ifd *ifd, hr_error *err) {
    bool is_overview, is_mask;
    hr__tiff_level l = {.image = {.file = file, .ifd = *ifd}, .npixels = UINT64_MAX};
    HR__TRY(hr__tiff_ifd_kind(file, ifd, &is_overview, &is_mask, err));
    HR__TRY(hr__tiff_uint(file, ifd, HR__TIFF_WIDTH, 0, &l.width, err));
    HR__TRY(hr__tiff_uint(file, ifd, HR__TIFF_LENGTH, 0, &l.height, err));
    (void)hr__mul_u64(l.width, l.height, &l.npixels);
    if (is_overview && all->n < HR__TIFF_MAX_LEVELS) {
        all->items[all->n++] = l;
    }
    return HR_OK;
}

hr_status hr__tiff_level_list_add_subs(hr__tiff_level_list *all, hr__tiff_file *file,
                                       const hr__tiff_ifd *ifd, hr_error *err) {
    hr__tiff_ifd other;
    uint64_t *sub, nsub;
    HR__TRY(hr__tiff_uints(file, ifd, HR__TIFF_SUB_IFDS, HR__TIFF_MAX_LEVELS, &sub, &nsub,
                           err));
    for (uint64_t i = 0; i < nsub; i++) {
        HR__TRY(hr__tiff_ifd_read(file, sub[i], &other, err));
        HR__TRY(hr__tiff_level_list_add(all, file, &other, err));
    }
    return HR_OK;
}

/* Larger ones first; of one size, as they stand in the file. */
static void sort_levels(hr__tiff_level_list *all) {
    for (size_t i = 1; i < all->n; i++) {
        hr__tiff_level moved = all->items[i];
        size_t k = i;
        for (; k > 0 && all->items[k - 1].npixels < moved.npixels; k--) {
            all->items[k] = all->items[k - 1];
        }
        all->items[k] = moved;
    }
}

hr_status hr__tiff_level_list_find(hr__tiff_level_list *all, uint64_t number,
                                   hr__tiff_image *image, hr_error *err) {
    if (number > all->n) {
        return hr__fail(err, HR_ERR_NOT_FOUND,
                        "no level %" PRIu64 ": the image has %zu overviews", number,
                        all->n);
    }
    sort_levels(all);
    *image = all->items[number - 1].image;
    return HR_OK;
}

/* --- of one image --- */

typedef struct search {
    hr__tiff_file *file;
    bool is_first; /* all of the chain are the first image's */
    hr__tiff_level_list *all;
} search;

static hr_status add_following(void *user, const hr__tiff_ifd *ifd, bool *is_over,
                               hr_error *err) {
    const search *s = user;
    bool is_overview, is_mask;
    HR__TRY(hr__tiff_ifd_kind(s->file, ifd, &is_overview, &is_mask, err));
    *is_over = !s->is_first && !is_overview && !is_mask;
    return hr__tiff_level_list_add(s->all, s->file, ifd, err);
}

static hr_status find_levels_beside(hr__tiff_file *file, uint64_t most,
                                    hr__tiff_level_list *all, hr_error *err) {
    hr__tiff_ifd first;
    search s = {.file = file, .is_first = true, .all = all};
    HR__TRY(hr__tiff_ifd_read(file, file->first_ifd, &first, err));
    HR__TRY(hr__tiff_level_list_add(all, file, &first, err));
    return hr__tiff_ifd_each(file, &first, most, add_following, &s, err);
}

/* Those among the next `most` of the main chain, and SubIFDs; of the first image without
 * any, those of the file beside. An image that is itself an overview or a mask has none.
 */
static hr_status find_levels(const hr__tiff_image *image, uint64_t most,
                             hr__tiff_level_list *all, hr_error *err) {
    hr__tiff_file *file = image->file;
    search s = {.file = file,
                .is_first = image->ifd.at == file->first_ifd && !image->is_page,
                .all = all};
    bool is_overview, is_mask;
    all->n = 0;
    HR__TRY(hr__tiff_ifd_kind(file, &image->ifd, &is_overview, &is_mask, err));
    if (!s.is_first && (is_overview || is_mask)) {
        return HR_OK;
    }
    HR__TRY(hr__tiff_ifd_each(file, &image->ifd, most, add_following, &s, err));
    HR__TRY(hr__tiff_level_list_add_subs(all, file, &image->ifd, err));
    if (all->n == 0 && s.is_first && file->beside != NULL) {
        hr_status status = find_levels_beside(file->beside, most, all, err);
        if (status != HR_OK) {
            hr__error_add_place(err, NULL, file->beside->key, 0);
            return status;
        }
    }
    return HR_OK;
}

hr_status hr__tiff_levels(const hr__tiff_image *image, uint64_t (*shapes)[2], size_t *n,
                          hr_error *err) {
    hr__tiff_level_list all;
    HR__TRY(find_levels(image, HR__TIFF_MAX_LEVELS, &all, err));
    sort_levels(&all);
    for (size_t i = 0; i < all.n; i++) {
        shapes[i][0] = all.items[i].height;
        shapes[i][1] = all.items[i].width;
    }
    *n = all.n;
    return HR_OK;
}

hr_status hr__tiff_level_find(const hr__tiff_image *base, uint64_t number,
                              hr__tiff_image *image, hr_error *err) {
    hr__tiff_level_list all;
    HR__TRY(find_levels(base, UINT64_MAX, &all, err));
    return hr__tiff_level_list_find(&all, number, image, err);
}

/* --- masks --- */

typedef struct mask_search {
    hr__tiff_file *file;
    uint64_t width, height;
    uint64_t at, found; /* numbers of IFDs */
} mask_search;

static hr_status find_mask(void *user, const hr__tiff_ifd *ifd, bool *is_over,
                           hr_error *err) {
    mask_search *s = user;
    uint64_t width, height;
    bool is_overview, is_mask;
    s->at++;
    HR__TRY(hr__tiff_ifd_kind(s->file, ifd, &is_overview, &is_mask, err));
    HR__TRY(hr__tiff_uint(s->file, ifd, HR__TIFF_WIDTH, 0, &width, err));
    HR__TRY(hr__tiff_uint(s->file, ifd, HR__TIFF_LENGTH, 0, &height, err));
    *is_over = is_mask && width == s->width && height == s->height;
    s->found = *is_over ? s->at : 0;
    return HR_OK;
}

hr_status hr__tiff_mask(hr__tiff_file *file, int64_t width, int64_t height,
                        uint64_t *number, hr_error *err) {
    hr__tiff_ifd first;
    mask_search s = {.file = file, .width = (uint64_t)width, .height = (uint64_t)height};
    HR__TRY(hr__tiff_ifd_read(file, file->first_ifd, &first, err));
    HR__TRY(hr__tiff_ifd_each(file, &first, HR__TIFF_MAX_LEVELS, find_mask, &s, err));
    *number = s.found;
    return HR_OK;
}
