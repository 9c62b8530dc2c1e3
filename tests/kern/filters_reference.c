/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/filters_reference.h"

#include <stdbool.h>
#include <string.h>

#include "codec/cast.h"
#include "core/half.h"

uint64_t filters_load(const uint8_t *at, uint32_t nbytes) {
    uint64_t x = 0;
    memcpy(&x, at, nbytes);
    return x;
}

/* --- sums --- */

typedef struct float_format {
    uint32_t nbytes;
    uint64_t infinity, quiet;
} float_format;

static float_format format_of(uint32_t number) {
    switch (number) {
    case HR_K_F16:
        return (float_format){2, 0x7C00, 0x200};
    case HR_K_BF16:
        return (float_format){2, 0x7F80, 0x40};
    case HR_K_F32:
    case HR_K_C64:
        return (float_format){4, 0x7F800000, 0x400000};
    default:
        return (float_format){8, UINT64_C(0x7FF) << 52, UINT64_C(1) << 51};
    }
}

static bool is_nan(const float_format *f, uint64_t x) {
    return (x & (f->infinity | (f->infinity - 1))) > f->infinity;
}

static double number_of(uint32_t number, uint64_t bits) {
    float narrow;
    double wide;
    uint32_t low = (uint32_t)bits;
    memcpy(&narrow, &low, sizeof narrow);
    memcpy(&wide, &bits, sizeof wide);
    return number == HR_K_F16    ? hr__half_to_float((uint16_t)bits)
           : number == HR_K_BF16 ? hr__bfloat_to_float((uint16_t)bits)
           : number == HR_K_F32 || number == HR_K_C64 ? narrow
                                                      : wide;
}

static uint64_t bits_of(uint32_t number, double value) {
    float narrow = (float)value;
    uint32_t low;
    uint64_t wide;
    memcpy(&low, &narrow, sizeof low);
    memcpy(&wide, &value, sizeof wide);
    return number == HR_K_F16                         ? hr__float_to_half(narrow)
           : number == HR_K_BF16                      ? hr__float_to_bfloat(narrow)
           : number == HR_K_F32 || number == HR_K_C64 ? low
                                                      : wide;
}

/* A sum of two floats as double is as good as exact, when it is rounded to float. */
static uint64_t add_floats(uint32_t number, uint64_t a, uint64_t b) {
    float_format f = format_of(number);
    if (is_nan(&f, a) || is_nan(&f, b)) {
        return (is_nan(&f, a) ? a : b) | f.quiet;
    }
    double sum = number_of(number, a) + number_of(number, b);
    bool is_narrow = number == HR_K_F16 || number == HR_K_BF16;
    uint64_t bits = bits_of(number, is_narrow ? (float)sum : sum);
    /* inf − inf */
    return is_nan(&f, bits) ? f.infinity | f.quiet | (f.infinity << 1 & ~f.infinity)
                            : bits;
}

static void sum_floats(const hr_k_filter_task *t, uint8_t *items) {
    const uint32_t nbytes = format_of(t->number).nbytes;
    const uint64_t nparts = t->nbytes / nbytes, n = t->nitems * nparts;
    for (uint64_t i = nparts; i < n; i++) {
        uint64_t sum =
            add_floats(t->number, filters_load(items + (i - nparts) * nbytes, nbytes),
                       filters_load(items + i * nbytes, nbytes));
        memcpy(items + i * nbytes, &sum, nbytes);
    }
}

static void reverse(uint8_t *item, uint32_t nbytes) {
    for (uint32_t k = 0; k < nbytes / 2; k++) {
        const uint8_t low = item[k];
        item[k] = item[nbytes - 1 - k];
        item[nbytes - 1 - k] = low;
    }
}

static void sum_rows(const hr_k_filter_task *t, uint8_t *items) {
    for (uint64_t i = 0; i < t->nitems; i++) {
        if (t->high_first) {
            reverse(items + i * t->nbytes, t->nbytes);
        }
        if (i % t->row >= t->stride) {
            uint64_t sum = filters_load(items + i * t->nbytes, t->nbytes) +
                           filters_load(items + (i - t->stride) * t->nbytes, t->nbytes);
            memcpy(items + i * t->nbytes, &sum, t->nbytes);
        }
    }
}

void filters_sum(const hr_k_filter_task *t, uint8_t *items) {
    uint64_t sum = 0;
    if (t->kind == HR_K_FILTER_FLOATS) {
        sum_floats(t, items);
        return;
    }
    if (t->kind == HR_K_FILTER_ROWS) {
        sum_rows(t, items);
        return;
    }
    for (uint64_t i = 0; i < t->nitems; i++) {
        sum += filters_load(items + i * t->nbytes, t->nbytes);
        memcpy(items + i * t->nbytes, &sum, t->nbytes);
    }
}

/* --- items --- */

static uint64_t bit_of(const hr_k_filter_task *t, const uint8_t *src, uint64_t i) {
    return src[i / 8] >> (t->high_first ? 7 - i % 8 : i % 8) & 1;
}

static uint64_t unpack(const hr_k_filter_task *t, const uint8_t *src, uint64_t i) {
    uint64_t bits = 0;
    if (t->row != 0) {
        src += i / t->row * ((t->row * t->width + 7) / 8);
        i %= t->row;
    }
    for (uint32_t k = 0; k < t->width; k++) {
        const uint32_t place = t->high_first ? t->width - 1 - k : k;
        bits |= bit_of(t, src, i * t->width + k) << place;
    }
    bool is_negative = t->is_signed && (bits >> (t->width - 1) & 1) != 0;
    if (is_negative && t->width < 64) {
        bits |= UINT64_MAX << t->width;
    }
    return bits << t->first_bit;
}

static bool scale_signed(const hr_k_filter_task *t, uint64_t bits, uint64_t *out) {
    const unsigned spare = 64 - 8 * t->nbytes;
    int64_t x = (int64_t)(bits << spare) >> spare, a = (int64_t)t->a, sum;
    if ((a == -1 && x == INT64_MIN) || x % a != 0 ||
        __builtin_add_overflow(x / a, (int64_t)t->b, &sum)) {
        return false;
    }
    *out = (uint64_t)sum;
    return sum >= INT64_MIN >> spare && sum <= INT64_MAX >> spare;
}

static bool scale_unsigned(const hr_k_filter_task *t, uint64_t x, uint64_t *out) {
    return x % t->a == 0 && !__builtin_add_overflow(x / t->a, t->b, out) &&
           *out <= UINT64_MAX >> (64 - 8 * t->nbytes);
}

static hr_dtype dtype_of(uint32_t number) {
    static const hr_kind kinds[] = {[HR_K_F16] = HR_KIND_FLOAT,
                                    [HR_K_BF16] = HR_KIND_BFLOAT,
                                    [HR_K_F32] = HR_KIND_FLOAT,
                                    [HR_K_F64] = HR_KIND_FLOAT};
    if (number <= HR_K_U64) {
        return hr__dtype(number <= HR_K_I64 ? HR_KIND_INT : HR_KIND_UINT,
                         UINT64_C(1) << (number - HR_K_I8) % 4);
    }
    return hr__dtype(kinds[number], format_of(number).nbytes);
}

static bool cast(const hr_k_filter_task *t, uint64_t x, uint64_t *out) {
    const hr__cast c = {.from = dtype_of(t->from),
                        .to = dtype_of(t->number),
                        .rounding = (hr__rounding)t->rounding,
                        .out_of_range = (hr__out_of_range)t->out_of_range};
    for (uint32_t i = 0; i < t->nmapped; i++) {
        if (hr__cast_same(&c.from, (const uint8_t *)t->mapped[i], (const uint8_t *)&x)) {
            *out = t->mapped[i][1];
            return true;
        }
    }
    return hr__cast_item(&c, (uint8_t *)out, (const uint8_t *)&x);
}

uint64_t filters_make(const hr_k_filter_task *t, const uint8_t *src, uint8_t *dst) {
    uint64_t status = 0;
    for (uint64_t i = 0; i < t->nitems; i++) {
        uint64_t item = 0;
        bool has_value = true;
        if (t->kind == HR_K_FILTER_BITS) {
            item = unpack(t, src, i);
        } else {
            uint64_t x = filters_load(src + i * (t->width / 8), t->width / 8);
            has_value = t->kind == HR_K_FILTER_CAST ? cast(t, x, &item)
                        : t->number <= HR_K_I64     ? scale_signed(t, x, &item)
                                                    : scale_unsigned(t, x, &item);
        }
        item = has_value ? item : 0;
        status = has_value ? status : (uint64_t)HR_K_NO_VALUE << 32 | i;
        memcpy(dst + i * t->nbytes, &item, t->nbytes);
    }
    return status;
}
