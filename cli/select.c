/* Parser of NumPy-like selections. SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const char *text;
    size_t at;
    int32_t ndim;
    const int64_t *shape;
    cli_selection *out;
    int64_t *next_index; /* free place in the storage of the lists */
    cli_select_error *error;
} parser;

static bool fail(parser *p, size_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(parser *p, size_t at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(p->error->message, sizeof p->error->message, fmt, args);
    va_end(args);
    p->error->column = at + 1;
    return false;
}

static char peek(parser *p) {
    while (isspace((unsigned char)p->text[p->at])) {
        p->at++;
    }
    return p->text[p->at];
}

static bool take(parser *p, char c) {
    if (peek(p) != c) {
        return false;
    }
    p->at++;
    return true;
}

static bool starts_number(parser *p) {
    char c = peek(p);
    return c == '-' || c == '+' || isdigit((unsigned char)c);
}

static bool parse_number(parser *p, int64_t *out) {
    size_t at = p->at;
    bool negative = p->text[p->at] == '-';
    if (negative || p->text[p->at] == '+') {
        p->at++;
    }
    if (!isdigit((unsigned char)p->text[p->at])) {
        return fail(p, at, "a sign without digits");
    }
    int64_t value = 0;
    for (; isdigit((unsigned char)p->text[p->at]); p->at++) {
        int64_t digit = p->text[p->at] - '0';
        if (value > (INT64_MAX - digit) / 10) {
            return fail(p, at, "the number does not fit in 64 bits");
        }
        value = value * 10 + digit;
    }
    *out = negative ? -value : value;
    return true;
}

/* An index as NumPy takes it: negative counts from the end. */
static bool wrap_index(parser *p, size_t at, int32_t axis, int64_t value, int64_t *out) {
    int64_t length = p->shape[axis];
    if (value < -length || value >= length) {
        return fail(p, at, "index %lld is out of bounds for axis %d of length %lld",
                    (long long)value, axis, (long long)length);
    }
    *out = value < 0 ? value + length : value;
    return true;
}

static int64_t clip(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* start:stop:step to start, step, count, as CPython adjusts slices. */
static cli_axis resolve_slice(int64_t start, int64_t stop, int64_t step, int64_t length) {
    int64_t low = step > 0 ? 0 : -1;
    int64_t high = step > 0 ? length : length - 1;
    if (start == HR_NONE) {
        start = step > 0 ? low : high;
    } else {
        start = clip(start < 0 ? start + length : start, low, high);
    }
    if (stop == HR_NONE) {
        stop = step > 0 ? high : low;
    } else {
        stop = clip(stop < 0 ? stop + length : stop, low, high);
    }
    int64_t count = 0;
    if (step > 0 && start < stop) {
        count = (stop - start - 1) / step + 1;
    } else if (step < 0 && stop < start) {
        count = (start - stop - 1) / -step + 1;
    }
    return (cli_axis){.kind = HR_AXIS_SLICE,
                      .start = count == 0 ? 0 : start,
                      .step = count <= 1 ? 1 : step,
                      .count = count};
}

static cli_axis whole_axis(int64_t length) {
    return (cli_axis){.kind = HR_AXIS_SLICE, .step = 1, .count = length};
}

static bool parse_list(parser *p, int32_t axis, cli_axis *out) {
    size_t open = p->at - 1;
    cli_axis list = {.kind = HR_AXIS_INDICES, .step = 1, .indices = p->next_index};
    while (!take(p, ']')) {
        if (p->text[p->at] == '\0') {
            return fail(p, open, "the list that begins here is not closed");
        }
        if (!starts_number(p)) {
            return fail(p, p->at, "expected an index or ']'");
        }
        size_t at = p->at;
        int64_t value = 0;
        if (!parse_number(p, &value) || !wrap_index(p, at, axis, value, p->next_index)) {
            return false;
        }
        p->next_index++;
        list.count++;
        if (!take(p, ',') && peek(p) != ']' && peek(p) != '\0') {
            return fail(p, p->at, "expected ',' or ']'");
        }
    }
    *out = list;
    return true;
}

static bool parse_axis(parser *p, int32_t axis, cli_axis *out) {
    if (take(p, '[')) {
        return parse_list(p, axis, out);
    }
    int64_t part[3] = {HR_NONE, HR_NONE, 1};
    bool has_start = starts_number(p);
    size_t start_at = p->at;
    size_t step_at = p->at;
    int colons = 0;
    if (has_start && !parse_number(p, &part[0])) {
        return false;
    }
    while (colons < 2 && take(p, ':')) {
        colons++;
        bool has_number = starts_number(p);
        step_at = p->at;
        if (has_number && !parse_number(p, &part[colons])) {
            return false;
        }
    }
    if (colons == 0 && has_start) {
        *out = (cli_axis){.kind = HR_AXIS_INTEGER, .step = 1, .count = 1};
        return wrap_index(p, start_at, axis, part[0], &out->start);
    }
    if (colons == 0) {
        return fail(p, p->at, "expected an index, a slice, a list or '...'");
    }
    if (part[2] == 0) {
        return fail(p, step_at, "the step of a slice cannot be zero");
    }
    *out = resolve_slice(part[0], part[1], part[2], p->shape[axis]);
    return true;
}

/* Axes named in the text beside the ellipsis: commas outside lists separate them. */
static int32_t count_axes(const char *text) {
    int32_t n = 0;
    bool in_list = false;
    bool in_axis = false;
    for (const char *c = text; *c != '\0' && n <= HR_MAX_NDIM; c++) {
        if (*c == ',' && !in_list) {
            in_axis = false;
        } else if (!isspace((unsigned char)*c)) {
            in_list = *c == '[' || (in_list && *c != ']');
            n += !in_axis && strncmp(c, "...", 3) != 0;
            in_axis = true;
        }
    }
    return n;
}

static bool parse_axes(parser *p) {
    int32_t named = count_axes(p->text);
    int32_t axis = 0;
    bool seen_ellipsis = false;
    while (peek(p) != '\0') {
        if (strncmp(p->text + p->at, "...", 3) == 0) {
            if (seen_ellipsis) {
                return fail(p, p->at, "a selection has one '...' at most");
            }
            seen_ellipsis = true;
            p->at += 3;
            for (int32_t i = named; i < p->ndim; i++, axis++) {
                p->out->axes[axis] = whole_axis(p->shape[axis]);
            }
        } else if (axis >= p->ndim) {
            return fail(p, p->at, "the array has %d ax%s, the selection more", p->ndim,
                        p->ndim == 1 ? "is" : "es");
        } else if (!parse_axis(p, axis, &p->out->axes[axis])) {
            return false;
        } else {
            axis++;
        }
        if (!take(p, ',') && peek(p) != '\0') {
            return fail(p, p->at, "expected ',' or the end");
        }
    }
    for (; axis < p->ndim; axis++) {
        p->out->axes[axis] = whole_axis(p->shape[axis]);
    }
    return true;
}

bool cli_select_parse(const char *text, int32_t ndim, const int64_t *shape,
                      cli_selection *out, cli_select_error *error) {
    text = text == NULL ? "" : text;
    cli_selection result = {.ndim = ndim};
    parser p = {
        .text = text, .ndim = ndim, .shape = shape, .out = &result, .error = error};
    /* Each index takes a digit and a separator at least. */
    result.storage = calloc(strlen(text) / 2 + 1, sizeof *result.storage);
    if (result.storage == NULL) {
        return fail(&p, 0, "out of memory");
    }
    p.next_index = result.storage;
    if (!parse_axes(&p)) {
        free(result.storage);
        return false;
    }
    *out = result;
    return true;
}

void cli_select_free(cli_selection *selection) {
    free(selection->storage);
    selection->storage = NULL;
}

cli_axis cli_axis_part(const cli_axis *axis, int64_t first, int64_t count) {
    cli_axis part = *axis;
    part.count = count;
    if (axis->kind == HR_AXIS_SLICE) {
        part.start = axis->start + first * axis->step;
    } else if (axis->kind == HR_AXIS_INDICES) {
        part.indices = axis->indices + first;
    }
    return part;
}

void cli_axis_thin(cli_axis *axis, int64_t step) {
    if (axis->kind == HR_AXIS_INTEGER || axis->count == 0) {
        return;
    }
    axis->count = (axis->count - 1) / step + 1;
    if (axis->kind == HR_AXIS_SLICE) {
        axis->step = axis->count == 1 ? 1 : axis->step * step;
        return;
    }
    for (int64_t i = 0; i < axis->count; i++) {
        axis->indices[i] = axis->indices[i * step];
    }
}

int32_t cli_select_shape(const cli_selection *selection, int64_t shape[HR_MAX_NDIM]) {
    int32_t ndim = 0;
    for (int32_t k = 0; k < selection->ndim; k++) {
        if (selection->axes[k].kind != HR_AXIS_INTEGER) {
            shape[ndim++] = selection->axes[k].count;
        }
    }
    return ndim;
}

static hr_axis request_axis(const cli_axis *axis) {
    hr_axis out = {.kind = axis->kind, .start = axis->start, .step = axis->step};
    if (axis->kind == HR_AXIS_INDICES) {
        out.indices = axis->indices;
        out.nindices = (uint64_t)axis->count;
    } else if (axis->kind == HR_AXIS_SLICE && axis->count == 0) {
        out.start = 0;
        out.stop = 0;
        out.step = 1;
    } else if (axis->kind == HR_AXIS_SLICE) {
        int64_t last = axis->start + (axis->count - 1) * axis->step;
        out.stop = axis->step > 0 ? last + 1 : last - 1;
        out.stop = out.stop < 0 ? HR_NONE : out.stop;
    }
    return out;
}

hr_selection cli_select_request(const cli_selection *selection,
                                hr_axis axes[HR_MAX_NDIM]) {
    for (int32_t k = 0; k < selection->ndim; k++) {
        axes[k] = request_axis(&selection->axes[k]);
    }
    hr_selection_kind kind = selection->ndim == 0 ? HR_SELECT_ALL : HR_SELECT_AXES;
    return (hr_selection){.kind = kind, .naxes = selection->ndim, .axes = axes};
}
