/* Fill values of text and bytes. SPDX-License-Identifier: Apache-2.0 */
#include "codec/base64.h"
#include "codec/utf8.h"
#include "core/dtype.h"
#include "format/zarr/internal.h"

/* Where bytes of a fill value go: nothing is written beyond `capacity`, but all are
 * counted. */
typedef struct sink {
    uint8_t *data;
    uint64_t capacity;
    uint64_t n;
} sink;

static void put(sink *s, uint32_t byte) {
    if (s->n < s->capacity) {
        s->data[s->n] = (uint8_t)byte;
    }
    s->n++;
}

static bool base64(const uint8_t *text, size_t n, sink *out) {
    for (size_t i = 0; i < n; i += 4) {
        uint8_t bytes[3];
        bool is_last = n - i == 4;
        size_t nbytes = n - i < 4 ? 0 : hr__base64_nbytes(text + i, 4);
        if (nbytes == 0 || (nbytes < 3 && !is_last) ||
            hr__base64_decode(text + i, 4, bytes) != 4) {
            return false;
        }
        for (size_t k = 0; k < nbytes; k++) {
            put(out, bytes[k]);
        }
    }
    return true;
}

/* UTF-8 to little-endian UTF-32. */
static bool utf32(const uint8_t *text, size_t n, sink *out) {
    if (!hr__is_utf8(text, n)) {
        return false;
    }
    for (const uint8_t *p = text; p < text + n;) {
        uint32_t code = hr__utf8_next(&p);
        put(out, code & 0xff);
        put(out, code >> 8 & 0xff);
        put(out, code >> 16);
        put(out, 0);
    }
    return true;
}

static bool byte_list(json_object *list, sink *out) {
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        uint64_t byte;
        if (!hr__json_u64(json_object_array_get_idx(list, i), &byte) || byte > 255) {
            return false;
        }
        put(out, (uint32_t)byte);
    }
    return true;
}

/* Old files have 0 for every type that is not a number. */
static bool is_zero(json_object *v) {
    double d;
    return hr__json_double(v, &d) && d == 0;
}

bool hr__zarr_fill_fixed(json_object *value, const hr_dtype *t, uint8_t *item) {
    sink out = {.data = item, .capacity = t->itemsize};
    bool ok = is_zero(value);
    if (json_object_is_type(value, json_type_string)) {
        const uint8_t *text = (const uint8_t *)json_object_get_string(value);
        size_t n = (size_t)json_object_get_string_len(value);
        ok = t->kind == HR_KIND_UNICODE ? utf32(text, n, &out) : base64(text, n, &out);
    } else if (json_object_is_type(value, json_type_array) &&
               (t->kind == HR_KIND_VOID || t->kind == HR_KIND_STRING)) {
        ok = byte_list(value, &out);
    }
    /* text is padded with NULs; bytes are all there, or none of them */
    bool is_text = t->kind == HR_KIND_UNICODE || t->kind == HR_KIND_STRING;
    return ok && (out.n == t->itemsize || out.n == 0 || (is_text && out.n < t->itemsize));
}

static bool vlen_text(const uint8_t *text, size_t n, const hr_dtype *t, sink *out) {
    switch (t->kind) {
    case HR_KIND_VLEN_BYTES:
        return base64(text, n, out);
    case HR_KIND_VLEN_UTF8:
        for (size_t i = 0; i < n; i++) {
            put(out, text[i]);
        }
        return hr__is_utf8(text, n);
    default: /* the empty array */
        return n == 0;
    }
}

static bool vlen_bytes(json_object *value, const hr_dtype *t, sink *out) {
    if (json_object_is_type(value, json_type_string)) {
        return vlen_text((const uint8_t *)json_object_get_string(value),
                         (size_t)json_object_get_string_len(value), t, out);
    }
    if (!json_object_is_type(value, json_type_array)) {
        return is_zero(value);
    }
    if (t->kind == HR_KIND_VLEN_BYTES) {
        return byte_list(value, out);
    }
    return t->kind == HR_KIND_VLEN_ARRAY && json_object_array_length(value) == 0;
}

hr_status hr__zarr_fill_vlen(json_object *value, const hr_dtype *t, hr__arena *arena,
                             hr_vlen *item, bool *ok, hr_error *err) {
    sink out = {0};
    *ok = vlen_bytes(value, t, &out);
    if (!*ok || out.n == 0) {
        return HR_OK;
    }
    out.data = hr__arena_alloc(arena, out.n);
    if (out.data == NULL) {
        return hr__fail_memory(err, out.n);
    }
    out.capacity = out.n;
    out.n = 0;
    (void)vlen_bytes(value, t, &out);
    *item = (hr_vlen){.data = out.data, .nbytes = out.n};
    return HR_OK;
}
