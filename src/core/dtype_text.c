/* Element types as text. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"

static const char *const time_units[] = {
    [HR_TIME_GENERIC] = "generic",
    [HR_TIME_Y] = "Y",
    [HR_TIME_M] = "M",
    [HR_TIME_W] = "W",
    [HR_TIME_D] = "D",
    [HR_TIME_h] = "h",
    [HR_TIME_m] = "m",
    [HR_TIME_s] = "s",
    [HR_TIME_ms] = "ms",
    [HR_TIME_us] = "us",
    [HR_TIME_ns] = "ns",
    [HR_TIME_ps] = "ps",
    [HR_TIME_fs] = "fs",
    [HR_TIME_as] = "as",
};
#define NUNITS (sizeof time_units / sizeof *time_units)

/* NumPy's letters. A kind with sizes listed has just these; else any number of units. */
typedef struct letter {
    char letter;
    uint8_t kind;
    uint8_t unit; /* bytes per counted thing: 4 for UTF-32 */
    uint8_t sizes[5];
} letter;

static const letter letters[] = {
    {'b', HR_KIND_BOOL, 1, {1}},          {'i', HR_KIND_INT, 1, {1, 2, 4, 8}},
    {'u', HR_KIND_UINT, 1, {1, 2, 4, 8}}, {'f', HR_KIND_FLOAT, 1, {2, 4, 8}},
    {'c', HR_KIND_COMPLEX, 1, {8, 16}},   {'M', HR_KIND_DATETIME, 1, {8}},
    {'m', HR_KIND_TIMEDELTA, 1, {8}},     {'S', HR_KIND_STRING, 1, {0}},
    {'U', HR_KIND_UNICODE, 4, {0}},       {'V', HR_KIND_VOID, 1, {0}},
};
#define NLETTERS (sizeof letters / sizeof *letters)

typedef struct named {
    const char *name;
    uint8_t kind;
    uint8_t itemsize;
} named;

static const named names[] = {
    {"bool", HR_KIND_BOOL, 1},
    {"int8", HR_KIND_INT, 1},
    {"int16", HR_KIND_INT, 2},
    {"int32", HR_KIND_INT, 4},
    {"int64", HR_KIND_INT, 8},
    {"uint8", HR_KIND_UINT, 1},
    {"uint16", HR_KIND_UINT, 2},
    {"uint32", HR_KIND_UINT, 4},
    {"uint64", HR_KIND_UINT, 8},
    {"float16", HR_KIND_FLOAT, 2},
    {"float32", HR_KIND_FLOAT, 4},
    {"float64", HR_KIND_FLOAT, 8},
    {"complex64", HR_KIND_COMPLEX, 8},
    {"complex128", HR_KIND_COMPLEX, 16},
    {"bfloat16", HR_KIND_BFLOAT, 2},
    {"string", HR_KIND_VLEN_UTF8, sizeof(hr_vlen)},
    {"bytes", HR_KIND_VLEN_BYTES, sizeof(hr_vlen)},
};
#define NNAMES (sizeof names / sizeof *names)

/* Digits to a number of at most INT32_MAX; false when there are none or too many. */
static bool parse_count(const char **text, int32_t *out) {
    const char *p = *text;
    int32_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, *p - '0', &v)) {
            return false;
        }
    }
    bool any = p != *text;
    *text = p;
    if (any) {
        *out = v;
    }
    return any;
}

/* "[ns]", "[10s]", "[generic]", or nothing. */
static bool parse_unit(const char *p, hr_dtype *t) {
    t->time_scale = 1;
    if (*p == '\0') {
        return true;
    }
    if (*p++ != '[') {
        return false;
    }
    bool has_scale = *p >= '0' && *p <= '9';
    if (has_scale && (!parse_count(&p, &t->time_scale) || t->time_scale == 0)) {
        return false;
    }
    size_t n = strcspn(p, "]");
    if (strcmp(p + n, "]") != 0) {
        return false;
    }
    for (size_t i = has_scale ? 1 : 0; i < NUNITS; i++) {
        if (strlen(time_units[i]) == n && memcmp(p, time_units[i], n) == 0) {
            t->time_unit = (uint8_t)i;
            return true;
        }
    }
    if (n == 3 && (memcmp(p, "\xCE\xBCs", 3) == 0 || memcmp(p, "\xC2\xB5s", 3) == 0)) {
        t->time_unit = HR_TIME_us; /* spelled with either mu */
        return true;
    }
    return false;
}

static bool parse_numpy(const char *p, hr_dtype *t) {
    bool big = *p == '>';
    if (*p != '\0' && strchr("<>|=", *p)) {
        p++;
    }
    const letter *l = letters;
    while (l < letters + NLETTERS && l->letter != *p) {
        l++;
    }
    if (l == letters + NLETTERS) {
        return false;
    }
    p++;
    int32_t count;
    if (!parse_count(&p, &count) || count == 0 || count > INT32_MAX / l->unit) {
        return false;
    }
    bool known = l->sizes[0] == 0;
    for (const uint8_t *s = l->sizes; *s != 0; s++) {
        known = known || *s == count;
    }
    *t = hr__dtype(l->kind, (uint64_t)count * l->unit);
    t->byte_order = big && hr__dtype_needs_swap(t) ? HR_BIG : HR_LITTLE;
    return known && (t->time_scale != 0 ? parse_unit(p, t) : *p == '\0');
}

bool hr__dtype_named(const char *name, hr_dtype *out) {
    for (size_t i = 0; i < NNAMES; i++) {
        if (strcmp(names[i].name, name) == 0) {
            *out = hr__dtype(names[i].kind, names[i].itemsize);
            return true;
        }
    }
    return false;
}

hr_status hr_dtype_parse(const char *text, hr_dtype *dtype, hr_error *err) {
    if (text == NULL || dtype == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "%s is NULL",
                        text == NULL ? "text" : "dtype");
    }
    hr_dtype t;
    if (!hr__dtype_named(text, &t) && !parse_numpy(text, &t)) {
        return hr__fail(err, HR_ERR_DTYPE,
                        "\"%.64s\" is not a dtype, expected a NumPy type string such as "
                        "\"<f4\", or a name such as \"bfloat16\"",
                        text);
    }
    *dtype = t;
    return HR_OK;
}

/* Text that is cut off at the end of its buffer while its length is still counted. */
typedef struct sink {
    char *text;
    size_t capacity, used;
} sink;

__attribute__((format(printf, 2, 3))) static void put(sink *s, const char *fmt, ...) {
    bool room = s->used < s->capacity;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(room ? s->text + s->used : NULL, room ? s->capacity - s->used : 0,
                      fmt, args);
    va_end(args);
    s->used += n > 0 ? (size_t)n : 0;
}

static void put_dtype(sink *s, const hr_dtype *t);

/* As Python spells it. */
static void put_quoted(sink *s, const char *name) {
    put(s, "'");
    for (const char *p = name; *p != '\0'; p++) {
        put(s, *p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
    }
    put(s, "'");
}

static void put_fields(sink *s, const hr_dtype *t) {
    put(s, "[");
    for (uint64_t i = 0; i < t->nfields; i++) {
        const hr_field *f = &t->fields[i];
        put(s, i == 0 ? "(" : ", (");
        put_quoted(s, f->name);
        put(s, ", ");
        bool quote = f->dtype.kind != HR_KIND_STRUCT;
        put(s, quote ? "'" : "");
        put_dtype(s, &f->dtype);
        put(s, quote ? "'" : "");
        for (int32_t k = 0; k < f->ndim; k++) {
            put(s, k == 0 ? ", (%" PRId64 : ", %" PRId64, f->shape[k]);
        }
        put(s, f->ndim == 0 ? ")" : f->ndim == 1 ? ",))" : "))");
    }
    put(s, "]");
}

static void put_numpy(sink *s, const letter *l, const hr_dtype *t) {
    bool ordered = hr__dtype_needs_swap(t);
    put(s, "%c%c%" PRIu64,
        !ordered                  ? '|'
        : t->byte_order == HR_BIG ? '>'
                                  : '<',
        l->letter, t->itemsize / l->unit);
    if (t->time_scale == 0 || t->time_unit == HR_TIME_GENERIC || t->time_unit >= NUNITS) {
        return;
    }
    if (t->time_scale == 1) {
        put(s, "[%s]", time_units[t->time_unit]);
    } else {
        put(s, "[%" PRId32 "%s]", t->time_scale, time_units[t->time_unit]);
    }
}

static void put_dtype(sink *s, const hr_dtype *t) {
    if (t->kind == HR_KIND_STRUCT) {
        put_fields(s, t);
        return;
    }
    if (t->kind == HR_KIND_VLEN_ARRAY) {
        put(s, "vlen-array(");
        put_dtype(s, t->base);
        put(s, ")");
        return;
    }
    for (size_t i = 0; i < NLETTERS; i++) {
        if (letters[i].kind == t->kind) {
            put_numpy(s, &letters[i], t);
            return;
        }
    }
    for (size_t i = 0; i < NNAMES; i++) {
        if (names[i].kind == t->kind) {
            put(s, "%s", names[i].name);
            return;
        }
    }
    put(s, "kind %u", t->kind);
}

size_t hr_dtype_format(const hr_dtype *dtype, char *text, size_t capacity) {
    sink s = {.text = text, .capacity = text != NULL ? capacity : 0};
    if (dtype != NULL) {
        put_dtype(&s, dtype);
    } else {
        put(&s, "NULL");
    }
    return s.used;
}
