/* As much of XML as tags need. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "format/tiff/internal.h"

bool hr__tiff_xml_next(const char **text, const char *name, hr__tiff_span *element) {
    const size_t n = strlen(name);
    for (const char *p = *text; (p = strchr(p, '<')) != NULL;) {
        p++;
        if (strncmp(p, name, n) == 0 && strchr(" \t\r\n/>", p[n]) != NULL) {
            const size_t length = strcspn(p + n, ">");
            *element = (hr__tiff_span){.at = p + n, .n = length};
            *text = p + n + length;
            return true;
        }
    }
    return false;
}

bool hr__tiff_xml_attribute(hr__tiff_span element, const char *name,
                            hr__tiff_span *value) {
    size_t n = strlen(name);
    for (size_t i = 0; i + n + 2 < element.n; i++) {
        char quote = element.at[i + n + 1];
        bool is_begin = i == 0 || strchr(" \t\r\n", element.at[i - 1]) != NULL;
        if (is_begin && memcmp(element.at + i, name, n) == 0 &&
            element.at[i + n] == '=' && (quote == '"' || quote == '\'')) {
            const char *begin = element.at + i + n + 2;
            const char *end = memchr(begin, quote, element.n - (i + n + 2));
            *value = (hr__tiff_span){.at = begin,
                                     .n = end == NULL ? 0 : (size_t)(end - begin)};
            return end != NULL;
        }
    }
    return false;
}
