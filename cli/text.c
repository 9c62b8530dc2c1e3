/* Sizes, shapes and numbers as text. SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

size_t cli_character(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    size_t n = p[0] < 0x80 ? p[0] != 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (n > 1 && (p[0] < 0xC2 || p[0] > 0xF4)) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool is_longer = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    bool is_no_character = (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF4 && p[1] > 0x8F);
    return is_longer || is_no_character ? 0 : n;
}

bool cli_is_control(const char *character) {
    const unsigned char *p = (const unsigned char *)character;
    return p[0] < 0x20 || p[0] == 0x7F || (p[0] == 0xC2 && p[1] < 0xA0);
}

const char *cli_shape_text(int32_t ndim, const int64_t *shape,
                           char text[CLI_SHAPE_TEXT]) {
    char *end = text;
    *end++ = '(';
    for (int32_t k = 0; k < ndim; k++) {
        end += sprintf(end, k == 0 ? "%" PRId64 : ", %" PRId64, shape[k]);
    }
    sprintf(end, ndim == 1 ? ",)" : ")");
    return text;
}

const char *cli_plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

const char *cli_nbytes_text(uint64_t nbytes, char text[24]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)nbytes;
    int unit = 0;
    for (; value >= 1024 && unit < 6; unit++) {
        value /= 1024;
    }
    snprintf(text, 24, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

char *cli_dtype_text(const hr_dtype *dtype) {
    size_t length = hr_dtype_format(dtype, NULL, 0);
    char *text = malloc(length + 1);
    if (text != NULL) {
        (void)hr_dtype_format(dtype, text, length + 1);
    }
    return text;
}

/* Make an integral number look like a float, as Python does. */
static const char *finish_float(char text[40]) {
    if (strspn(text, "-0123456789") == strlen(text)) {
        memcpy(text + strlen(text), ".0", 3);
    }
    return text;
}

const char *cli_double_text(double value, char text[40]) {
    if (isnan(value)) {
        return memcpy(text, "nan", 4);
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    return finish_float(text);
}

const char *cli_float_text(float value, char text[40]) {
    if (isnan(value)) {
        return memcpy(text, "nan", 4);
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, 40, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) {
            break;
        }
    }
    return finish_float(text);
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Civil date from days since 1970-01-01, in the proleptic Gregorian calendar: years of
 * 400-year eras that begin on 1 March, so that the leap day comes last. */
static void print_date(FILE *file, int64_t days) {
    days += 719468;
    int64_t era = floor_div(days, 146097);
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153; /* 0 = March */
    int64_t day = day_of_year - (153 * month + 2) / 5 + 1;
    int64_t year = year_of_era + era * 400 + (month >= 10);
    month += month < 10 ? 3 : -9;
    fprintf(file, "%04" PRId64 "-%02" PRId64 "-%02" PRId64, year, month, day);
}

typedef struct time_unit {
    const char *name;
    int64_t seconds;    /* in one unit, for those of fixed length from a second up */
    int64_t per_second; /* units in a second, for those from a second down */
    int fraction_digits;
} time_unit;

static const time_unit time_units[] = {
    [HR_TIME_GENERIC] = {"", 0, 0, 0},
    [HR_TIME_Y] = {"Y", 0, 0, 0},
    [HR_TIME_M] = {"M", 0, 0, 0},
    [HR_TIME_W] = {"W", 604800, 0, 0},
    [HR_TIME_D] = {"D", 86400, 0, 0},
    [HR_TIME_h] = {"h", 3600, 0, 0},
    [HR_TIME_m] = {"m", 60, 0, 0},
    [HR_TIME_s] = {"s", 1, 1, 0},
    [HR_TIME_ms] = {"ms", 0, 1000, 3},
    [HR_TIME_us] = {"us", 0, 1000000, 6},
    [HR_TIME_ns] = {"ns", 0, 1000000000, 9},
    [HR_TIME_ps] = {"ps", 0, 1000000000000, 12},
    [HR_TIME_fs] = {"fs", 0, 1000000000000000, 15},
    [HR_TIME_as] = {"as", 0, 1000000000000000000, 18},
};

static const time_unit *unit_of(const hr_dtype *dtype) {
    return &time_units[dtype->time_unit <= HR_TIME_as ? dtype->time_unit : 0];
}

void cli_timedelta_print(FILE *file, const hr_dtype *dtype, int64_t count) {
    if (count == INT64_MIN) {
        fputs("NaT", file);
        return;
    }
    const char *unit = unit_of(dtype)->name;
    const char *space = unit[0] == '\0' ? "" : " ";
    int64_t scaled = 0;
    if (__builtin_mul_overflow(count, (int64_t)dtype->time_scale, &scaled)) {
        fprintf(file, "%d x %" PRId64 "%s%s", dtype->time_scale, count, space, unit);
    } else {
        fprintf(file, "%" PRId64 "%s%s", scaled, space, unit);
    }
}

/* Date and, below the day, time of day in the unit's own resolution. */
static void print_instant(FILE *file, uint8_t unit, int64_t seconds, int64_t fraction) {
    int64_t days = floor_div(seconds, 86400);
    int64_t second = seconds - days * 86400;
    print_date(file, days);
    if (unit >= HR_TIME_h) {
        fprintf(file, "T%02" PRId64, second / 3600);
    }
    if (unit >= HR_TIME_m) {
        fprintf(file, ":%02" PRId64, second / 60 % 60);
    }
    if (unit >= HR_TIME_s) {
        fprintf(file, ":%02" PRId64, second % 60);
    }
    if (unit >= HR_TIME_ms) {
        fprintf(file, ".%0*" PRId64, time_units[unit].fraction_digits, fraction);
    }
}

void cli_datetime_print(FILE *file, const hr_dtype *dtype, int64_t count) {
    const int64_t farthest = INT64_C(1) << 60; /* seconds; keeps the sums in range */
    const time_unit *unit = unit_of(dtype);
    int64_t scaled = 0;
    int64_t seconds = 0;
    int64_t fraction = 0;
    bool fits = count != INT64_MIN &&
                !__builtin_mul_overflow(count, (int64_t)dtype->time_scale, &scaled);
    if (fits && dtype->time_unit == HR_TIME_Y && scaled < farthest) {
        fprintf(file, "%04" PRId64, scaled + 1970);
        return;
    }
    if (fits && dtype->time_unit == HR_TIME_M) {
        int64_t years = floor_div(scaled, 12);
        fprintf(file, "%04" PRId64 "-%02" PRId64, years + 1970, scaled - years * 12 + 1);
        return;
    }
    if (unit->per_second != 0) {
        seconds = floor_div(scaled, unit->per_second);
        fraction = scaled - seconds * unit->per_second;
    } else {
        fits = fits && unit->seconds != 0 &&
               !__builtin_mul_overflow(scaled, unit->seconds, &seconds);
    }
    if (fits && seconds > -farthest && seconds < farthest) {
        print_instant(file, dtype->time_unit, seconds, fraction);
    } else {
        cli_timedelta_print(file, dtype, count);
    }
}
