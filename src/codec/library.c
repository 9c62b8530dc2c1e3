/* Parameters and sizes of the codecs made through libraries.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codec/library.h"

#include <inttypes.h>

#include "core/json.h"

static bool has_type(json_object *value, unsigned types) {
    int64_t number;
    return ((types & HR__PARAM_INT) != 0 && hr__json_i64_lenient(value, &number)) ||
           ((types & HR__PARAM_BOOL) != 0 &&
            json_object_is_type(value, json_type_boolean)) ||
           ((types & HR__PARAM_TEXT) != 0 && hr__json_str(value) != NULL);
}

hr_status hr__params_check(const hr__codec_parse *p, const hr__param *params,
                           hr_error *err) {
    for (; params->name != NULL; params++) {
        json_object *value = hr__json_get(p->config, params->name);
        if (value != NULL && !has_type(value, params->types)) {
            return hr__fail(err, HR_ERR_METADATA, "%s: \"%s\" is %.80s, expected %s",
                            p->codec->name, params->name,
                            json_object_to_json_string(value),
                            params->types & HR__PARAM_BOOL   ? "true or false"
                            : params->types == HR__PARAM_INT ? "an integer"
                            : params->types & HR__PARAM_INT  ? "an integer or a name"
                                                             : "a name");
        }
    }
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
