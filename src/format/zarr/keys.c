/* Store keys of chunks. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "format/zarr/internal.h"

hr_status hr__zarr_separator(json_object *value, char absent, char *separator,
                             hr_error *err) {
    if (value == NULL) {
        *separator = absent;
    } else if (hr__json_is(value, ".") || hr__json_is(value, "/")) {
        *separator = hr__json_str(value)[0];
    } else {
        return hr__fail(err, HR_ERR_METADATA,
                        "the chunk key separator is " HR__ZARR_BRIEF
                        ", expected \".\" or \"/\"",
                        hr__zarr_brief(value));
    }
    return HR_OK;
}

hr_status hr__zarr_keys_v3(json_object *value, hr__zarr_keys *keys, hr_error *err) {
    static const char *const known[] = {"separator", NULL};
    hr__zarr_extension e;
    HR__TRY(hr__zarr_extension_read(value, "chunk_key_encoding", &e, err));
    bool is_default = strcmp(e.name, "default") == 0;
    if (!is_default && strcmp(e.name, "v2") != 0) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "chunk_key_encoding \"%.60s\" is not supported", e.name);
    }
    if (e.config != NULL) {
        HR__TRY(
            hr__zarr_check_members(e.config, "chunk_key_encoding", known, false, err));
    }
    keys->has_prefix = is_default;
    return hr__zarr_separator(hr__json_get(e.config, "separator"), is_default ? '/' : '.',
                              &keys->separator, err);
}

hr_status hr__zarr_key(const hr__array *a, const int64_t *outer, char *buf,
                       size_t capacity, hr_error *err) {
    const hr__zarr_keys *k = &((const hr__zarr_data *)a->format_data)->keys;
    const char *first = k->has_prefix ? "c" : a->ndim == 0 ? "0" : "";
    int n = snprintf(buf, capacity, "%s", first);
    for (int32_t i = 0; i < a->ndim && (size_t)n < capacity; i++) {
        size_t used = (size_t)n;
        if (i > 0 || k->has_prefix) {
            n += snprintf(buf + used, capacity - used, "%c%lld", k->separator,
                          (long long)outer[i]);
        } else {
            n += snprintf(buf + used, capacity - used, "%lld", (long long)outer[i]);
        }
    }
    if ((size_t)n >= capacity) {
        return hr__fail(err, HR_ERR_OVERFLOW, "a chunk key does not fit in %zu bytes",
                        capacity);
    }
    return HR_OK;
}
