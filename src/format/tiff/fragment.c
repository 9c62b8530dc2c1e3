/* What a fragment names: "ifd=1", "stack", "level=2", "ifd=1,level=2".
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "format/tiff/internal.h"

/* "name=NUMBER" at the beginning of the text, which is behind it then. */
static bool take_number(const char **text, const char *name, uint64_t *number) {
    size_t n = strlen(name);
    size_t digits = strncmp(*text, name, n) == 0 ? strspn(*text + n, "0123456789") : 0;
    if (digits == 0 || digits >= 19) {
        return false;
    }
    *number = strtoull(*text + n, NULL, 10);
    *text += n + digits;
    return true;
}

static bool parse(const char *text, hr__tiff_choice *c) {
    if (strncmp(text, "stack", 5) == 0) {
        c->is_stack = true;
        text += 5;
    } else if (!take_number(&text, "ifd=", &c->ifd)) {
        return take_number(&text, "level=", &c->level) && *text == '\0';
    }
    return *text == '\0' || (take_number(&text, ",level=", &c->level) && *text == '\0');
}

hr_status hr__tiff_choice_parse(const char *fragment, hr__tiff_choice *choice,
                                hr_error *err) {
    hr__tiff_choice c = {0};
    if (fragment != NULL && !parse(fragment, &c)) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "fragment \"%.60s\" is none of ifd=NUMBER, level=NUMBER, "
                        "ifd=NUMBER,level=NUMBER, stack, stack,level=NUMBER",
                        fragment);
    }
    *choice = c;
    return HR_OK;
}

hr_status hr__tiff_choice_find(const hr__tiff_choice *choice, hr__tiff_file *file,
                               hr__tiff_image *image, hr__tiff_image *base,
                               hr_error *err) {
    base->file = file;
    base->is_page = choice->is_stack;
    HR__TRY(hr__tiff_ifd_find(file, choice->ifd, &base->ifd, err));
    *image = *base;
    return choice->level == 0 ? HR_OK
                              : hr__tiff_level_find(base, choice->level, image, err);
}
