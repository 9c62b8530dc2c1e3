/* Reading JSON. SPDX-License-Identifier: Apache-2.0 */
#include "core/json.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/lock.h"

/* Beyond this a floating literal may have been rounded: no longer an exact integer. */
#define LARGEST_EXACT_DOUBLE 9007199254740992.0 /* 2^53 */

#define NONE SIZE_MAX

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The run of digits that text[0, n) begins with. */
static size_t count_digits(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && is_digit(text[i])) {
        i++;
    }
    return i;
}

/* Does a number, its minus sign apart, exceed what fits in 64 bits? */
static bool is_out_of_range(const char *digits, size_t n, bool negative) {
    const char *limit = negative ? "9223372036854775808" : "18446744073709551615";
    size_t most = strlen(limit);
    return n > most || (n == most && memcmp(digits, limit, n) > 0);
}

/* Position just after the next integer that does not fit in 64 bits (json-c would clamp
 * it silently), or of the next apostrophe (json-c takes it for a quote), or NONE. Starts
 * outside of any string. */
static size_t find_irregular(const char *text, size_t n, size_t i) {
    bool in_string = false;
    while (i < n) {
        char c = text[i];
        if (in_string || c == '"') {
            in_string ^= c == '"';
            i += in_string && c == '\\' ? 2 : 1;
        } else if (c == '\'') {
            return i;
        } else if (is_digit(c)) {
            size_t digits = count_digits(text + i, n - i);
            char before = i > 0 ? text[i - 1] : ' ';
            char after = i + digits < n ? text[i + digits] : ' ';
            bool is_integer = !strchr(".+eE", before) && !strchr(".eE", after);
            if (is_integer && is_out_of_range(text + i, digits, before == '-')) {
                return i + digits;
            }
            i += digits;
        } else {
            i++;
        }
    }
    return NONE;
}

/* About what json-c takes for a value: "{}" is two bytes, and hundreds in memory. */
enum { OBJECT_NBYTES = 768, ARRAY_NBYTES = 160, VALUE_NBYTES = 80 };

static hr_status check_growth(const char *text, size_t n, hr_error *err) {
    uint64_t needed = n;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (in_string || c == '"') {
            in_string ^= c == '"';
            i += in_string && c == '\\';
        } else {
            needed += c == '{'   ? OBJECT_NBYTES
                      : c == '[' ? ARRAY_NBYTES
                      : c == ',' ? VALUE_NBYTES
                                 : 0;
        }
    }
    uint64_t most = HR__JSON_MAX_GROWTH * (uint64_t)n;
    most = most < HR__JSON_MAX_NBYTES ? HR__JSON_MAX_NBYTES : most;
    if (needed > most) {
        return hr__fail(
            err, HR_ERR_OVERFLOW,
            "JSON document of %zu bytes would take %llu in memory, at most %llu", n,
            (unsigned long long)needed, (unsigned long long)most);
    }
    return HR_OK;
}

/* json-c changes the locale of the thread meanwhile, under a lock of the process. */
static json_object *feed(json_tokener *tok, const char *text, int nbytes) {
    hr__fork_hold_off();
    json_object *value = json_tokener_parse_ex(tok, text, nbytes);
    hr__fork_let_go();
    return value;
}

/* One run of the parser; where it stopped in *end. */
static enum json_tokener_error parse(json_tokener *tok, const char *text, size_t nbytes,
                                     json_object **out, size_t *end) {
    json_object *value = feed(tok, text, (int)nbytes);
    enum json_tokener_error e = json_tokener_get_error(tok);
    *end = json_tokener_get_parse_end(tok);
    if (e == json_tokener_continue) { /* a bare number ends only with the document */
        value = feed(tok, "", 1);
        e = json_tokener_get_error(tok);
        e = e == json_tokener_continue ? json_tokener_error_parse_eof : e;
    }
    if (e == json_tokener_success && *end < nbytes) { /* a NUL ends the parse early */
        e = json_tokener_error_parse_unexpected;
    }
    if (e != json_tokener_success) {
        json_object_put(value);
        return e;
    }
    *out = value;
    return e;
}

/* Copy the document with ".0" after each integer that does not fit in 64 bits, so that
 * it is read as a floating number. Caller frees. */
static char *widen(const char *text, size_t nbytes, size_t count, size_t *wide_nbytes) {
    char *wide = malloc(nbytes + 2 * count);
    if (wide == NULL) {
        return NULL;
    }
    size_t from = 0;
    size_t n = 0;
    for (size_t k = 0; k < count; k++) {
        size_t to = find_irregular(text, nbytes, from);
        memcpy(wide + n, text + from, to - from);
        memcpy(wide + n + (to - from), ".0", 2);
        n += to - from + 2;
        from = to;
    }
    memcpy(wide + n, text + from, nbytes - from);
    *wide_nbytes = nbytes + 2 * count;
    return wide;
}

static hr_status fail_at(hr_error *err, size_t offset, size_t nbytes, const char *why) {
    hr_status s =
        hr__fail(err, HR_ERR_METADATA, "JSON is malformed at byte %zu of %zu: %s", offset,
                 nbytes, why);
    hr__error_add_place(err, NULL, NULL, offset);
    return s;
}

static hr_status parse_regular(const char *text, size_t nbytes, json_object **out,
                               hr_error *err) {
    json_tokener *tok = json_tokener_new_ex(HR__JSON_MAX_DEPTH);
    if (tok == NULL) {
        return hr__fail_memory(err, sizeof *tok);
    }
    json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    json_object *value = NULL;
    size_t end = 0;
    enum json_tokener_error e = parse(tok, text, nbytes, &value, &end);
    json_tokener_free(tok);
    if (e != json_tokener_success) {
        return fail_at(err, end, nbytes, json_tokener_error_desc(e));
    }
    size_t start = 0;
    while (start < nbytes && is_space(text[start])) {
        start++;
    }
    if (value == NULL && text[start] != 'n') { /* not null: no memory for the value */
        return hr__fail_memory(err, nbytes);
    }
    *out = value;
    return HR_OK;
}

hr_status hr__json_parse(const char *text, size_t nbytes, json_object **out,
                         hr_error *err) {
    if (nbytes > INT_MAX) {
        return hr__fail(err, HR_ERR_METADATA, "JSON document is %zu bytes, at most %d",
                        nbytes, INT_MAX);
    }
    HR__TRY(check_growth(text, nbytes, err));
    size_t count = 0;
    for (size_t i = 0; (i = find_irregular(text, nbytes, i)) != NONE; count++) {
        if (i < nbytes && text[i] == '\'') {
            return fail_at(err, i, nbytes, "unexpected apostrophe");
        }
    }
    if (count == 0) {
        return parse_regular(text, nbytes, out, err);
    }
    if (nbytes + 2 * count > INT_MAX) {
        return hr__fail(err, HR_ERR_METADATA, "JSON document is %zu bytes, at most %d",
                        nbytes + 2 * count, INT_MAX);
    }
    char *wide = widen(text, nbytes, count, &nbytes);
    if (wide == NULL) {
        return hr__fail_memory(err, nbytes);
    }
    hr_status s = parse_regular(wide, nbytes, out, err);
    free(wide);
    return s;
}

json_object *hr__json_get(json_object *object, const char *name) {
    json_object *value = NULL;
    if (json_object_is_type(object, json_type_object)) {
        (void)json_object_object_get_ex(object, name, &value);
    }
    return value;
}

bool hr__json_has(json_object *object, const char *name) {
    return json_object_is_type(object, json_type_object) &&
           json_object_object_get_ex(object, name, NULL);
}

const char *hr__json_str(json_object *value) {
    if (!json_object_is_type(value, json_type_string)) {
        return NULL;
    }
    const char *text = json_object_get_string(value);
    return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

bool hr__json_is(json_object *value, const char *text) {
    const char *s = hr__json_str(value);
    return s != NULL && strcmp(s, text) == 0;
}

bool hr__json_is_false(json_object *value) {
    return json_object_is_type(value, json_type_boolean) &&
           !json_object_get_boolean(value);
}

static bool exact_double(json_object *value, double *out) {
    if (!json_object_is_type(value, json_type_double)) {
        return false;
    }
    double d = json_object_get_double(value);
    if (!(fabs(d) <= LARGEST_EXACT_DOUBLE) || d != trunc(d)) {
        return false;
    }
    *out = d;
    return true;
}

bool hr__json_i64(json_object *value, int64_t *out) {
    double d;
    if (exact_double(value, &d)) {
        *out = (int64_t)d;
        return true;
    }
    if (!json_object_is_type(value, json_type_int)) {
        return false;
    }
    int64_t i = json_object_get_int64(value); /* clamps at both ends of int64 */
    if (i == INT64_MAX && json_object_get_uint64(value) != INT64_MAX) {
        return false;
    }
    *out = i;
    return true;
}

bool hr__json_u64(json_object *value, uint64_t *out) {
    double d;
    if (exact_double(value, &d) && d >= 0) {
        *out = (uint64_t)d;
        return true;
    }
    if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0) {
        return false;
    }
    *out = json_object_get_uint64(value);
    return true;
}

/* A whole decimal int64 and nothing else. */
static bool parse_decimal(const char *s, int64_t *out) {
    bool negative = *s == '-';
    s += negative;
    int64_t v = 0; /* kept negative: that side reaches further */
    const char *p = s;
    for (; is_digit(*p); p++) {
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_sub_overflow(v, *p - '0', &v)) {
            return false;
        }
    }
    if (p == s || *p != '\0' || (!negative && v == INT64_MIN)) {
        return false;
    }
    *out = negative ? v : -v;
    return true;
}

bool hr__json_i64_lenient(json_object *value, int64_t *out) {
    const char *s = hr__json_str(value);
    return s != NULL ? parse_decimal(s, out) : hr__json_i64(value, out);
}

bool hr__json_double(json_object *value, double *out) {
    if (!json_object_is_type(value, json_type_double) &&
        !json_object_is_type(value, json_type_int)) {
        return false;
    }
    *out = json_object_get_double(value);
    return true;
}

hr_status hr__json_member_i64(json_object *object, const char *what, const char *name,
                              int64_t lo, int64_t hi, int64_t absent, int64_t *out,
                              hr_error *err) {
    json_object *member = hr__json_get(object, name);
    int64_t v = absent;
    if (member != NULL && !hr__json_i64_lenient(member, &v)) {
        return hr__fail(err, HR_ERR_METADATA, "%s: \"%s\" is %s, expected an integer",
                        what, name, json_object_to_json_string(member));
    }
    if (member != NULL && (v < lo || v > hi)) {
        return hr__fail(err, HR_ERR_METADATA, "%s: \"%s\" is %lld, expected %lld to %lld",
                        what, name, (long long)v, (long long)lo, (long long)hi);
    }
    *out = v;
    return HR_OK;
}
