/* headrace png: a quick look at a plane. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <png.h>

#include "cli.h"
#include "colormap.h"
#include "num.h"
#include "outfile.h"
#include "reader.h"
#include "report.h"
#include "text.h"

enum { SIDE_MAX = 1024 };

typedef struct picture {
    int32_t width;
    int32_t height;
    int32_t nbands;  /* 1 = coloured by value; 3, 4 = RGB, RGBA as they are */
    uint8_t *pixels; /* RGBA */
} picture;

/* Axes that the selection keeps, in order. Returns how many. */
static int32_t kept_axes(const cli_selection *selection, int32_t axes[HR_MAX_NDIM]) {
    int32_t n = 0;
    for (int32_t k = 0; k < selection->ndim; k++) {
        if (selection->axes[k].kind != HR_AXIS_INTEGER) {
            axes[n++] = k;
        }
    }
    return n;
}

static bool has_color_axis(const cli_reader *reader, int32_t axis) {
    int64_t n = reader->selection.axes[axis].count;
    return reader->dtype.kind == HR_KIND_UINT && reader->dtype.itemsize == 1 &&
           (n == 3 || n == 4);
}

/* Without -s: the first plane, which for colour images has the last axis too. */
static void select_first_plane(cli_reader *reader) {
    int32_t ndim = reader->selection.ndim;
    int32_t nimage = ndim >= 3 && has_color_axis(reader, ndim - 1) ? 3 : 2;
    for (int32_t k = 0; k < ndim - nimage; k++) {
        int64_t count = reader->selection.axes[k].count;
        reader->selection.axes[k] =
            count == 0 ? reader->selection.axes[k]
                       : (cli_axis){.kind = HR_AXIS_INTEGER, .step = 1, .count = 1};
    }
}

/* Check the shape and thin the two axes of the image alike. */
static int plan_picture(cli_reader *reader, picture *p) {
    int32_t kept[HR_MAX_NDIM];
    int64_t shape[HR_MAX_NDIM];
    cli_selection *selection = &reader->selection;
    int32_t n = kept_axes(selection, kept);
    bool is_color = n == 3 && has_color_axis(reader, kept[2]);
    (void)cli_select_shape(selection, shape);
    if ((n != 2 && !is_color) || shape[0] == 0 || shape[1] == 0) {
        char text[CLI_SHAPE_TEXT];
        return cli_usage_error("'png' wants a selection of two axes, or of three with 3 "
                               "or 4 bytes last; this one has the shape %s",
                               cli_shape_text(n, shape, text));
    }
    int64_t longest = shape[0] > shape[1] ? shape[0] : shape[1];
    int64_t step = (longest - 1) / SIDE_MAX + 1;
    cli_axis_thin(&selection->axes[kept[0]], step);
    cli_axis_thin(&selection->axes[kept[1]], step);
    p->height = (int32_t)selection->axes[kept[0]].count;
    p->width = (int32_t)selection->axes[kept[1]].count;
    p->nbands = is_color ? (int32_t)shape[2] : 1;
    return CLI_OK;
}

static int compare(const void *a, const void *b) {
    long double x = *(const long double *)a;
    long double y = *(const long double *)b;
    return (x > y) - (x < y);
}

/* Between which values the colours are spread: percentiles 2 and 98 of what is shown. */
static int find_range(const long double *values, size_t n, long double *low,
                      long double *high) {
    long double *sorted = malloc((n + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return cli_out_of_memory((n + 1) * sizeof *sorted);
    }
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i])) {
            sorted[count++] = values[i];
        }
    }
    qsort(sorted, count, sizeof *sorted, compare);
    *low = count == 0 ? 0 : sorted[(count - 1) * 2 / 100];
    *high = count == 0 ? 0 : sorted[count - 1 - (count - 1) * 2 / 100];
    free(sorted);
    return CLI_OK;
}

/* Colours by value; NaN and fill values stay transparent. */
static int paint_values(const cli_reader *reader, const char *data, picture *p) {
    size_t n = (size_t)p->width * (size_t)p->height;
    size_t itemsize = (size_t)reader->dtype.itemsize;
    long double *values = malloc(n * sizeof *values);
    if (values == NULL) {
        return cli_out_of_memory(n * sizeof *values);
    }
    cli_num_load(&reader->dtype, data, n, values);
    for (size_t i = 0; i < n; i++) {
        if (memcmp(data + i * itemsize, reader->info.fill_value, itemsize) == 0) {
            values[i] = (long double)NAN;
        }
    }
    long double low = 0;
    long double high = 0;
    int rc = find_range(values, n, &low, &high);
    for (size_t i = 0; rc == CLI_OK && i < n; i++) {
        uint8_t *pixel = p->pixels + 4 * i;
        if (!isnan(values[i])) {
            long double t = high > low ? (values[i] - low) / (high - low) : 0.5L;
            cli_colormap((double)t, pixel);
            pixel[3] = 255;
        }
    }
    free(values);
    return rc;
}

static void paint_bytes(const uint8_t *data, picture *p) {
    size_t n = (size_t)p->width * (size_t)p->height;
    size_t nbands = (size_t)p->nbands;
    for (size_t i = 0; i < n; i++) {
        p->pixels[4 * i + 3] = 255;
        memcpy(p->pixels + 4 * i, data + i * nbands, nbands);
    }
}

static int write_png(const char *path, const picture *p) {
    cli_outfile out;
    int rc = cli_outfile_open(&out, path);
    if (rc != CLI_OK) {
        return rc;
    }
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)p->width,
                       .height = (png_uint_32)p->height,
                       .format = PNG_FORMAT_RGBA};
    errno = 0;
    if (png_image_write_to_stdio(&image, out.file, 0, p->pixels, 0, NULL) == 0) {
        rc = errno != 0 ? cli_outfile_error(&out)
                        : cli_failure("cannot write '%s': %s", path, image.message);
    }
    return cli_outfile_close(&out, rc);
}

static int paint(cli_reader *reader, picture *p) {
    const void *data = NULL;
    int rc = cli_reader_load(reader, &reader->selection, NULL, &data);
    if (rc != CLI_OK) {
        return rc;
    }
    p->pixels = calloc((size_t)p->width * (size_t)p->height, 4);
    if (p->pixels == NULL) {
        return cli_out_of_memory((unsigned long long)p->width * 4);
    }
    if (p->nbands == 1) {
        return paint_values(reader, data, p);
    }
    paint_bytes(data, p);
    return CLI_OK;
}

static int run(cli *c) {
    cli_reader reader;
    picture p = {.pixels = NULL};
    const char *path = c->args.positional[1];
    int rc = cli_reader_open(c, &reader);
    if (rc == CLI_OK && !cli_is_number(&reader.dtype)) {
        char *dtype = cli_dtype_text(&reader.dtype);
        rc = cli_usage_error("'png' wants numbers, not %s",
                             dtype == NULL ? "this type" : dtype);
        free(dtype);
    }
    if (rc == CLI_OK && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO) == 1) {
        rc = cli_usage_error("'-' writes an image, and standard output is a terminal");
    }
    if (rc == CLI_OK && c->args.selection == NULL) {
        select_first_plane(&reader);
    }
    if (rc == CLI_OK) {
        rc = plan_picture(&reader, &p);
    }
    if (rc == CLI_OK) {
        rc = paint(&reader, &p);
    }
    if (rc == CLI_OK) {
        rc = write_png(path, &p);
    }
    free(p.pixels);
    cli_reader_close(&reader);
    return rc;
}

const cli_command cli_png = {
    .name = "png",
    .summary = "draw a plane as an image, for a quick look",
    .usage = "URL OUT.png [-s SELECTION]\n\n"
             "Draws two axes (without -s: the last two, at the first place of the\n"
             "others), thinned to 1024 pixels a side. Colours spread over the values\n"
             "between the percentiles 2 and 98; NaN and fill values are transparent.\n"
             "Bytes with a last axis of 3 or 4 are drawn as RGB or RGBA.\n\n"
             "  -s, --select SELECTION  as for 'headrace read'\n\n",
    .takes = CLI_TAKES_SELECTION,
    .min_positional = 2,
    .max_positional = 2,
    .run = run,
};
