/* headrace read: values to a file, a pipe or the eye. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "layout.h"
#include "npy.h"
#include "outfile.h"
#include "pieces.h"
#include "progress.h"
#include "reader.h"
#include "report.h"
#include "show.h"
#include "text.h"

/* A selection is read and written in pieces of about this size. */
#define PIECE_NBYTES (UINT64_C(256) << 20)

/* Where the values go: a .npy file, or their bytes. */
typedef struct output {
    const char *path;
    cli_outfile to; /* opened once the first piece has been read */
    bool is_npy;
} output;

static bool ends_in(const char *text, const char *tail) {
    size_t n = strlen(text);
    size_t ntail = strlen(tail);
    return n >= ntail && strcmp(text + n - ntail, tail) == 0;
}

/* Refuse what cannot work before anything is read. */
static int check_output(output *out, const hr_dtype *dtype) {
    if (strcmp(out->path, "-") == 0) {
        if (isatty(STDOUT_FILENO) == 1) {
            return cli_usage_error("'-o -' writes bytes, and standard output is a "
                                   "terminal; redirect it");
        }
        return CLI_OK;
    }
    out->is_npy = ends_in(out->path, ".npy");
    const char *refusal = out->is_npy ? cli_npy_refusal(dtype) : NULL;
    if (refusal != NULL) {
        return cli_usage_error("%s; '-o -' writes the plain bytes", refusal);
    }
    return CLI_OK;
}

static int open_output(output *out, const cli_reader *reader) {
    int rc = cli_outfile_open(&out->to, out->path);
    if (rc != CLI_OK) {
        return rc;
    }
    int64_t shape[HR_MAX_NDIM];
    int32_t ndim = cli_select_shape(&reader->selection, shape);
    if (out->is_npy && !cli_npy_write_header(out->to.file, &reader->dtype, ndim, shape)) {
        return cli_outfile_error(&out->to);
    }
    return CLI_OK;
}

/* NumPy keeps the gaps between fields; the plain form has none. */
static bool write_values(output *out, const hr_dtype *dtype, const void *data,
                         uint64_t n) {
    if (out->is_npy) {
        return n == 0 || fwrite(data, dtype->itemsize, n, out->to.file) == n;
    }
    return cli_layout_write(out->to.file, dtype, data, n);
}

static int write_pieces(cli *c, cli_reader *reader, output *out) {
    cli_pieces pieces;
    cli_selection piece;
    cli_progress progress;
    uint64_t done = 0;
    int rc = CLI_OK;
    cli_progress_begin(&progress, c->args.quiet, "read", reader->nelems);
    cli_pieces_begin(&pieces, &reader->selection, reader->info.chunk_shape,
                     reader->dtype.itemsize, PIECE_NBYTES, true);
    while (rc == CLI_OK && cli_pieces_next(&pieces, &piece)) {
        const void *data = NULL;
        rc = cli_reader_load(reader, &piece, NULL, &data);
        if (rc == CLI_OK && out->to.file == NULL) {
            rc = open_output(out, reader);
        }
        if (rc == CLI_OK &&
            !write_values(out, &reader->dtype, data, cli_piece_nelems(&piece))) {
            rc = cli_outfile_error(&out->to);
        }
        done += cli_piece_nelems(&piece);
        cli_progress_update(&progress, done);
    }
    cli_progress_end(&progress);
    if (rc == CLI_OK && out->to.file == NULL) {
        rc = open_output(out, reader); /* there were no elements */
    }
    return cli_outfile_close(&out->to, rc);
}

static int print_summary(cli *c, cli_reader *reader) {
    cli_progress progress;
    cli_progress_begin(&progress, c->args.quiet, "read",
                       reader->nelems * reader->dtype.itemsize);
    const void *data = NULL;
    int rc = cli_reader_load(reader, &reader->selection, &progress, &data);
    cli_progress_end(&progress);
    char *dtype = cli_dtype_text(&reader->dtype);
    if (rc != CLI_OK || dtype == NULL) {
        free(dtype);
        return rc == CLI_OK ? cli_out_of_memory(0) : rc;
    }
    int64_t shape[HR_MAX_NDIM];
    char shape_text[CLI_SHAPE_TEXT];
    char size[24];
    int32_t ndim = cli_select_shape(&reader->selection, shape);
    printf("shape  %s\ndtype  ", cli_shape_text(ndim, shape, shape_text));
    cli_put_text(stdout, dtype);
    uint64_t nbytes = reader->nelems * reader->dtype.itemsize;
    printf("\nsize   %s\ntime   %.3f ms, %.2f GB/s\n", cli_nbytes_text(nbytes, size),
           reader->seconds * 1e3, (double)nbytes / reader->seconds * 1e-9);
    cli_array_print(stdout, &reader->dtype, ndim, shape, data);
    puts("");
    free(dtype);
    return CLI_OK;
}

static int run(cli *c) {
    cli_reader reader;
    output out = {.path = c->args.output};
    int rc = cli_reader_open(c, &reader);
    if (rc == CLI_OK && out.path == NULL) {
        rc = print_summary(c, &reader);
    } else if (rc == CLI_OK) {
        rc = check_output(&out, &reader.dtype);
        if (rc == CLI_OK) {
            rc = write_pieces(c, &reader, &out);
        }
    }
    cli_reader_close(&reader);
    return rc;
}

const cli_command cli_read = {
    .name = "read",
    .summary = "read values: show them, or write .npy or plain bytes",
    .usage =
        "URL [-s SELECTION] [-o FILE] [--dtype TYPE]\n"
        "     [--mask-and-scale] [--scale X] [--offset X] [--fill X]\n"
        "     [--device cpu|cuda:N] [--nvcomp[=LIBRARY]] [--strict]\n\n"
        "Without -o: shape, type, time, and the first and last values.\n\n"
        "  -s, --select SELECTION  as in NumPy: '0:10, :, ::-1', '3, ...', '-1',\n"
        "                          '[1,5,7], :'; lists on several axes form their\n"
        "                          product\n"
        "  -o, --output FILE       a name that ends in .npy: a NumPy file; another "
        "name,\n"
        "                          or - for standard output: the bytes of the values, "
        "in\n"
        "                          C order, little-endian\n"
        "  --dtype TYPE            convert, as NumPy's astype does: float32, '<i2',\n"
        "                          bfloat16, …\n"
        "  --mask-and-scale        unpack by the CF attributes scale_factor, "
        "add_offset,\n"
        "                          _FillValue, missing_value and _Unsigned, as xarray\n"
        "                          does; fill values become NaN\n"
        "  --scale X, --offset X, --fill X\n"
        "                          the same by these numbers, which go before the\n"
        "                          attributes\n"
        "  --device DEVICE         cpu (default), cuda, cuda:N, or simt\n"
        "  --nvcomp[=LIBRARY]      let NVIDIA's nvCOMP decode LZ4 and Snappy on the GPU\n"
        "  --strict                a missing chunk is an error, not fill values\n\n",
    .takes = CLI_TAKES_SELECTION | CLI_TAKES_OUTPUT | CLI_TAKES_DEVICE |
             CLI_TAKES_STRICT | CLI_TAKES_PACKING,
    .min_positional = 1,
    .max_positional = 1,
    .run = run,
};
