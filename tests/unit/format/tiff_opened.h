/* Opening a TIFF that lies in memory. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_FORMAT_TIFF_OPENED_H
#define HR_TESTS_FORMAT_TIFF_OPENED_H

#include <string.h>

#include "format/tiff/tiff.h"
#include "support/tiff_maker.h"

static inline hr_status read_bytes(void *user, uint64_t offset, uint64_t nbytes,
                                   void *dst, hr_error *err) {
    const tiff_file *f = user;
    (void)err;
    assert_true(offset <= f->nbytes && nbytes <= f->nbytes - offset);
    memcpy(dst, f->bytes + offset, nbytes);
    return HR_OK;
}

static struct {
    hr__arena arena;
    hr__tiff_node node;
    hr_error err;
} opened;

static inline hr_status open_fragment(tiff_file *f, const char *fragment) {
    const hr__byte_source source = {.user = f, .nbytes = f->nbytes, .read = read_bytes};
    hr__arena_free(&opened.arena);
    hr__arena_init(&opened.arena, &hr__malloc_allocator);
    memset(&opened.node, 0, sizeof opened.node);
    opened.err = HR_ERROR_INIT;
    return hr__tiff_open(&source, NULL, "x.tif", fragment, 1 << 20, &opened.arena,
                         &opened.node, &opened.err);
}

#endif
