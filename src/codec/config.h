/* Reading what codecs' configurations have in common.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_CONFIG_H
#define HR_CODEC_CONFIG_H

#include "codec/codec.h"

/* Types that a parameter may have; null counts as absent. */
enum {
    HR__PARAM_INT = 1, /* also decimal text, as NCZarr writes numbers */
    HR__PARAM_BOOL = 2,
    HR__PARAM_TEXT = 4
};

typedef struct hr__param {
    const char *name;
    unsigned types;
} hr__param;

/* Parameters that only an encoder uses: check their types. The list ends with a NULL
 * name. HR_ERR_METADATA naming codec and parameter. */
hr_status hr__config_params(const hr__codec_parse *p, const hr__param *params,
                            hr_error *err);

/* A dtype: NumPy's type strings and names ("<f4", "float32"), which the number types of
 * Zarr v3 share. *absent where the member is absent or null. HR_ERR_METADATA. */
hr_status hr__config_dtype(const hr__codec_parse *p, const char *member,
                           const hr_dtype *absent, hr_dtype *out, hr_error *err);

/* The two dtypes of a filter of Zarr v2. p->codec->decoded becomes items of the first
 * member, encoded as many of the second (by default the first). Both are numbers. */
hr_status hr__config_filter(hr__codec_parse *p, const char *decoded_member,
                            const char *encoded_member, hr_error *err);

/* parse of a codec that takes no configuration: what there is is not looked at. */
hr_status hr__config_ignored(hr__codec_parse *p, hr_error *err);

/* HR_ERR_METADATA for a member of the configuration that is not in the list, whose end is
 * NULL; for codecs whose specification says so. */
hr_status hr__config_members(const hr__codec_parse *p, const char *const *members,
                             hr_error *err);
/* HR_ERR_UNSUPPORTED unless items are integers or floats. */
hr_status hr__config_real_type(const hr__codec_parse *p, const hr_dtype *type,
                               hr_error *err);

/* hr__json_number, with HR_ERR_METADATA naming `what`. */
hr_status hr__config_scalar(json_object *value, const char *what, const hr_dtype *dtype,
                            uint8_t *item, hr_error *err);

#endif
