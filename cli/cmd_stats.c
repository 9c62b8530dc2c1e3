/* headrace stats: extremes, mean, deviation. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "moments.h"
#include "num.h"
#include "pieces.h"
#include "progress.h"
#include "reader.h"
#include "report.h"
#include "text.h"

#define PIECE_NBYTES (UINT64_C(64) << 20)
enum { TILE = 4096 };

typedef struct tally {
    cli_moments moments;
    uint64_t nfill;
    uint64_t itemsize;
    const void *fill;
    bool fill_is_nan;
} tally;

static void add_values(tally *t, const hr_dtype *dtype, const char *data, uint64_t n) {
    long double tile[TILE];
    for (uint64_t i = 0; i < n; i += TILE) {
        size_t ntile = n - i < TILE ? (size_t)(n - i) : TILE;
        const char *from = data + i * t->itemsize;
        cli_num_load(dtype, from, ntile, tile);
        cli_moments_add(&t->moments, tile, ntile);
        for (size_t k = 0; k < ntile; k++) {
            bool is_fill = t->fill_is_nan ? isnan(tile[k]) != 0
                                          : memcmp(from + k * t->itemsize, t->fill,
                                                   t->itemsize) == 0;
            t->nfill += is_fill;
        }
    }
}

static int tally_pieces(cli *c, cli_reader *reader, tally *t) {
    cli_pieces pieces;
    cli_selection piece;
    cli_progress progress;
    uint64_t done = 0;
    int rc = CLI_OK;
    cli_progress_begin(&progress, c->args.quiet, "stats", reader->nelems);
    cli_pieces_begin(&pieces, &reader->selection, reader->info.chunk_shape,
                     reader->dtype.itemsize, PIECE_NBYTES, false);
    while (rc == CLI_OK && cli_pieces_next(&pieces, &piece)) {
        const void *data = NULL;
        rc = cli_reader_load(reader, &piece, NULL, &data);
        if (rc == CLI_OK) {
            add_values(t, &reader->dtype, data, cli_piece_nelems(&piece));
        }
        done += cli_piece_nelems(&piece);
        cli_progress_update(&progress, done);
    }
    cli_progress_end(&progress);
    return rc;
}

static bool is_time(const hr_dtype *dtype) {
    return dtype->kind == HR_KIND_DATETIME || dtype->kind == HR_KIND_TIMEDELTA;
}

/* A value of the array's type: an extreme. Caller frees; NULL when out of memory. */
static char *value_text(const hr_dtype *dtype, long double value) {
    char text[40];
    char *out = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&out, &length);
    if (file == NULL) {
        return NULL;
    }
    if (dtype->kind == HR_KIND_DATETIME) {
        cli_datetime_print(file, dtype, (int64_t)value);
    } else if (dtype->kind == HR_KIND_TIMEDELTA) {
        cli_timedelta_print(file, dtype, (int64_t)value);
    } else if (dtype->kind <= HR_KIND_UINT) {
        fprintf(file, "%.0Lf", value);
    } else if (dtype->kind != HR_KIND_COMPLEX && dtype->itemsize <= 4) {
        fputs(cli_float_text((float)value, text), file);
    } else {
        fputs(cli_double_text((double)value, text), file);
    }
    return fclose(file) == 0 ? out : NULL;
}

/* A JSON number, spelled as Python reads it; dates are strings; NULL is null. */
static json_object *number_json(const char *text, bool is_string) {
    if (text == NULL || strcmp(text, "nan") == 0) {
        return NULL;
    }
    if (is_string) {
        return json_object_new_string(text);
    }
    if (strstr(text, "inf") != NULL) {
        return cli_json_raw(text[0] == '-' ? "-Infinity" : "Infinity");
    }
    return cli_json_raw(text);
}

/* One number under its name, to the text or to the object. */
static void say(json_object *object, const char *name, const char *text, bool is_string) {
    if (object != NULL) {
        json_object_object_add(object, name, number_json(text, is_string));
    } else {
        printf("%-6s %s\n", name, text == NULL ? "-" : text);
    }
}

static void say_count(json_object *object, const char *name, uint64_t count) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, count);
    say(object, name, text, false);
}

static void print_tally(const tally *t, const hr_dtype *dtype, bool json) {
    const cli_moments *m = &t->moments;
    json_object *object = json ? json_object_new_object() : NULL;
    char *min = m->n == 0 ? NULL : value_text(dtype, m->min);
    char *max = m->n == 0 ? NULL : value_text(dtype, m->max);
    say_count(object, "count", m->n + m->nnan);
    say_count(object, "nan", m->nnan);
    say_count(object, "fill", t->nfill);
    say(object, "min", min, is_time(dtype));
    say(object, "max", max, is_time(dtype));
    if (dtype->kind == HR_KIND_TIMEDELTA || dtype->kind == HR_KIND_DATETIME) {
        char *mean = m->n == 0 ? NULL : value_text(dtype, roundl(cli_moments_mean(m)));
        say(object, "mean", mean, true);
        free(mean);
    } else {
        char text[40];
        say(object, "mean", cli_double_text((double)cli_moments_mean(m), text), false);
        say(object, "std", cli_double_text((double)cli_moments_std(m), text), false);
    }
    free(min);
    free(max);
    if (json) {
        cli_json_print(object);
    }
}

static int run(cli *c) {
    cli_reader reader;
    int rc = cli_reader_open(c, &reader);
    if (rc == CLI_OK && !cli_is_number(&reader.dtype)) {
        char *dtype = cli_dtype_text(&reader.dtype);
        rc = cli_usage_error("'stats' wants numbers or dates, not %s",
                             dtype == NULL ? "this type" : dtype);
        free(dtype);
    }
    if (rc == CLI_OK) {
        tally t = {.moments = CLI_MOMENTS_INIT,
                   .itemsize = reader.dtype.itemsize,
                   .fill = reader.info.fill_value};
        long double fill = 0;
        cli_num_load(&reader.dtype, t.fill, 1, &fill);
        t.fill_is_nan = isnan(fill) != 0;
        rc = tally_pieces(c, &reader, &t);
        if (rc == CLI_OK) {
            print_tally(&t, &reader.dtype, c->args.json);
        }
    }
    cli_reader_close(&reader);
    return rc;
}

const cli_command cli_stats = {
    .name = "stats",
    .summary = "count, minimum, maximum, mean, deviation",
    .usage = "URL [-s SELECTION] [--json] [--strict]\n\n"
             "NaN (and NaT) are counted and left out of the rest; fill values are\n"
             "counted and included. Complex numbers are taken by their magnitude. The\n"
             "array is read in pieces, so that it need not fit in memory.\n\n"
             "  -s, --select SELECTION  as for 'headrace read'\n"
             "  --json                  print one JSON object\n"
             "  --strict                a missing chunk is an error, not fill values\n\n",
    .takes = CLI_TAKES_SELECTION | CLI_TAKES_JSON | CLI_TAKES_STRICT,
    .min_positional = 1,
    .max_positional = 1,
    .run = run,
};
