/* Building JSON output. SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

json_object *cli_json_raw(const char *text) {
    json_object *value = json_object_new_object();
    json_object_set_serializer(value, json_object_userdata_to_json_string, strdup(text),
                               json_object_free_userdata);
    return value;
}

json_object *cli_json_text(const char *text) {
    static const char unknown[] = "\xEF\xBF\xBD"; /* U+FFFD */
    char *copy = text == NULL ? NULL : malloc(3 * strlen(text) + 1);
    if (copy == NULL) {
        return NULL;
    }
    size_t used = 0;
    for (const char *p = text; *p != '\0';) {
        size_t n = cli_character(p);
        memcpy(copy + used, n > 0 ? p : unknown, n > 0 ? n : 3);
        used += n > 0 ? n : 3;
        p += n > 0 ? n : 1;
    }
    json_object *value = json_object_new_string_len(copy, (int)used);
    free(copy);
    return value;
}

json_object *cli_json_shape(int32_t ndim, const int64_t *shape) {
    json_object *list = json_object_new_array();
    for (int32_t k = 0; k < ndim; k++) {
        json_object_array_add(list, json_object_new_int64(shape[k]));
    }
    return list;
}

json_object *cli_json_error(const hr_error *err) {
    json_object *object = json_object_new_object();
    json_object_object_add(object, "status",
                           json_object_new_string(hr_status_name(err->status)));
    json_object_object_add(object, "message", cli_json_text(err->message));
    if (err->key[0] != '\0') {
        json_object_object_add(object, "key", cli_json_text(err->key));
    }
    if (err->offset != 0) {
        json_object_object_add(object, "offset", json_object_new_uint64(err->offset));
    }
    if (err->codec[0] != '\0') {
        json_object_object_add(object, "codec", cli_json_text(err->codec));
    }
    return object;
}

void cli_json_print(json_object *value) {
    printf("%s\n", json_object_to_json_string_ext(
                       value, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                                  JSON_C_TO_STRING_NOSLASHESCAPE));
    (void)json_object_put(value);
}
