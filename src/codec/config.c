/* Reading codecs' configurations. SPDX-License-Identifier: Apache-2.0 */
#include "codec/config.h"

#include <string.h>

#include "core/json.h"
#include "core/json_number.h"

static bool has_type(json_object *value, unsigned types) {
    int64_t number;
    return ((types & HR__PARAM_INT) != 0 && hr__json_i64_lenient(value, &number)) ||
           ((types & HR__PARAM_BOOL) != 0 &&
            json_object_is_type(value, json_type_boolean)) ||
           ((types & HR__PARAM_TEXT) != 0 && hr__json_str(value) != NULL);
}

hr_status hr__config_params(const hr__codec_parse *p, const hr__param *params,
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

hr_status hr__config_dtype(const hr__codec_parse *p, const char *member,
                           const hr_dtype *absent, hr_dtype *out, hr_error *err) {
    json_object *value = hr__json_get(p->config, member);
    const char *text = hr__json_str(value);
    if (value == NULL) {
        *out = *absent;
        return HR_OK;
    }
    if (text == NULL || hr_dtype_parse(text, out, NULL) != HR_OK) {
        return hr__fail(err, HR_ERR_METADATA, "%s is %s, expected a data type", member,
                        json_object_to_json_string(value));
    }
    return HR_OK;
}

hr_status hr__config_filter(hr__codec_parse *p, const char *decoded_member,
                            const char *encoded_member, hr_error *err) {
    hr__codec *codec = p->codec;
    hr_dtype decoded, encoded;
    HR__TRY(hr__config_dtype(p, decoded_member, &codec->decoded.dtype, &decoded, err));
    HR__TRY(hr__config_dtype(p, encoded_member, &decoded, &encoded, err));
    if (!hr__dtype_is_number(&decoded) || !hr__dtype_is_number(&encoded)) {
        char text[2][64];
        (void)hr_dtype_format(&decoded, text[0], sizeof text[0]);
        (void)hr_dtype_format(&encoded, text[1], sizeof text[1]);
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "codec \"%s\" from %s to %s: expected numbers", codec->name,
                        text[1], text[0]);
    }
    HR__TRY(hr__spec_view_as(&codec->decoded, &decoded, err));
    return hr__spec_retype(&codec->encoded, &codec->decoded, &encoded, err);
}

hr_status hr__config_members(const hr__codec_parse *p, const char *const *members,
                             hr_error *err) {
    if (p->config == NULL) {
        return HR_OK;
    }
    json_object_object_foreach(p->config, name, value) {
        (void)value;
        size_t i = 0;
        while (members[i] != NULL && strcmp(members[i], name) != 0) {
            i++;
        }
        if (members[i] == NULL) {
            return hr__fail(err, HR_ERR_METADATA,
                            "codec \"%s\" has no parameter \"%.64s\"", p->codec->name,
                            name);
        }
    }
    return HR_OK;
}

hr_status hr__config_real_type(const hr__codec_parse *p, const hr_dtype *type,
                               hr_error *err) {
    if (type->kind < HR_KIND_INT || type->kind > HR_KIND_BFLOAT) {
        char text[64];
        (void)hr_dtype_format(type, text, sizeof text);
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "codec \"%s\" of %s: expected integers or floats", p->codec->name,
                        text);
    }
    return HR_OK;
}

hr_status hr__config_scalar(json_object *value, const char *what, const hr_dtype *dtype,
                            uint8_t *item, hr_error *err) {
    if (!hr__json_number(value, dtype, item)) {
        char text[64];
        (void)hr_dtype_format(dtype, text, sizeof text);
        return hr__fail(err, HR_ERR_METADATA, "%s is %s, expected a value of %s", what,
                        json_object_to_json_string(value), text);
    }
    return HR_OK;
}

hr_status hr__config_ignored(hr__codec_parse *p, hr_error *err) {
    (void)p;
    (void)err;
    return HR_OK;
}
