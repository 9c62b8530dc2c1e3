/* Every TIFF of the corpus reads as other readers read it, or is refused by name.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <headrace/headrace.h>

#include "support/corpus.h"
#include "support/sanitizers.h"
#include "support/sha256.h"

/* What valid files are refused for, by words of the message. */
static const char *const refusals[] = {
    "(JPEG)",
    "(old JPEG)",
    "(CCITT",
    "(WebP)",
    "(LERC)",
    "(JPEG XL)",
    "(NeXT)",
    "(JPEG 2000",
    "(SGI LogLuv",
    "(ThunderScan)",
    "samples of different types",
};
enum { NREFUSALS = sizeof refusals / sizeof refusals[0] };

/* Files that others disagree about, with the reason for reading them otherwise. */
static const struct {
    const char *path, *reason;
} others[] = {
    {"tiff/gdal/autotest/gcore/data/gtiff/sparse_nodata_one.tif",
     "absent blocks are nodata, as GDAL reads them"},
    {"tiff/gdal/autotest/gcore/data/gtiff/rgbsmall_JPEG_separate.tif",
     "planes as they are stored, as GDAL reads them"},
};

static struct {
    hr_context *context;
    hr_device_type device;
    int nread, nbad, nother, nstrict, nrefused[NREFUSALS];
} tally;

/* As many as kernels alone could read so far, at least. The kernels are slow on a CPU:
 * where all is slow they get every fourth file. */
enum { NSTRICT = 470, EVERY = HR_TEST_IS_SLOW ? 4 : 1 };

/* Of larger arrays only a corner is read, and compared with nothing. */
#define MAX_NBYTES 4e6

static void choose_window(const hr_node_info *info, int64_t *shape, bool *is_corner) {
    double nbytes = (double)info->dtype.itemsize;
    for (int32_t k = 0; k < info->ndim; k++) {
        nbytes *= (double)info->shape[k];
    }
    *is_corner = nbytes > MAX_NBYTES;
    for (int32_t k = 0; k < info->ndim; k++) {
        int64_t n = info->shape[k];
        shape[k] = *is_corner && n > 100 ? 100 : n;
    }
}

/* One chunk is one team's work, which takes the CPU many seconds. */
static bool is_large_chunk(const hr_node_info *info) {
    double nbytes = (double)info->dtype.itemsize;
    for (int32_t k = 0; k < info->ndim; k++) {
        nbytes *= (double)info->chunk_shape[k];
    }
    return nbytes > MAX_NBYTES;
}

static hr_status read_with(hr_node *node, const hr_selection *selection,
                           const hr_tensor *dst, int strict, hr_error *err) {
    hr_request r = HR_REQUEST_INIT;
    r.array = node;
    r.selection = *selection;
    r.dst = *dst;
    hr_read_options o = HR_READ_OPTIONS_INIT;
    o.strict = strict;
    hr_batch *batch = NULL;
    hr_status status = hr_read_submit(tally.context, &r, 1, NULL, &o, &batch, err);
    if (status == HR_OK) {
        status = hr_batch_wait(batch, -1, err);
        hr_batch_unref(batch);
    }
    return status;
}

/* By kernels alone, where they decode all of it and no block is absent; those are
 * counted. */
static hr_status read_best(hr_node *node, const hr_selection *selection,
                           const hr_tensor *dst, hr_error *err) {
    hr_status status = read_with(node, selection, dst, 1, err);
    tally.nstrict += status == HR_OK;
    if (status == HR_OK) {
        return status;
    }
    const hr_error none = HR_ERROR_INIT;
    *err = none;
    return read_with(node, selection, dst, 0, err);
}

/* The bytes of the array in the manner of the manifest; NULL with an error. */
static uint8_t *read_array(const char *path, size_t *nbytes, bool *is_corner,
                           hr_error *err) {
    hr_node *node = NULL;
    hr_node_info info = HR_NODE_INFO_INIT;
    int64_t shape[HR_MAX_NDIM];
    hr_axis axes[HR_MAX_NDIM];
    if (hr_open(tally.context, path, NULL, &node, err) != HR_OK) {
        return NULL;
    }
    assert_int_equal(hr_node_describe(node, &info, err), HR_OK);
    choose_window(&info, shape, is_corner);
    *nbytes = info.dtype.itemsize;
    for (int32_t k = 0; k < info.ndim; k++) {
        *nbytes *= (size_t)shape[k];
        axes[k] = (hr_axis){.kind = HR_AXIS_SLICE, .stop = shape[k]};
    }
    hr_selection selection = {.kind = HR_SELECT_AXES, .naxes = info.ndim, .axes = axes};
    uint8_t *bytes = malloc(*nbytes + 1);
    assert_non_null(bytes);
    memset(bytes, 0xA5, *nbytes);
    hr_tensor dst = {.data = bytes,
                     .device = {.type = (int32_t)(is_large_chunk(&info) ? HR_DEVICE_CPU
                                                                        : tally.device)},
                     .dtype = info.dtype,
                     .ndim = info.ndim,
                     .shape = shape};
    if (read_best(node, &selection, &dst, err) != HR_OK) {
        free(bytes);
        bytes = NULL;
    }
    hr_node_unref(node);
    return bytes;
}

static bool is_other(const char *path) {
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(others[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Chroma of several pixels, which all others make colours of. */
static bool has_units(const corpus_row *row) {
    return strcmp(row->photometric, "YCBCR") == 0 &&
           strcmp(row->compression, "JPEG") != 0 &&
           strcmp(row->subsampling, "[1, 1]") != 0;
}

static void count_refusal(const char *path, const hr_error *err) {
    for (int i = 0; i < NREFUSALS; i++) {
        if (err->status == HR_ERR_UNSUPPORTED && strstr(err->message, refusals[i])) {
            tally.nrefused[i]++;
            return;
        }
    }
    fail_msg("%s: %s: %s", path, hr_status_name(err->status), err->message);
}

static void check_row(const corpus_row *row, const char *fragment) {
    char path[1024];
    hr_error err = HR_ERROR_INIT;
    size_t nbytes = 0;
    bool is_bad = strncmp(row->path, "bad/", 4) == 0;
    (void)snprintf(path, sizeof path, "%s/%s%s", HR_CORPUS, row->path, fragment);
    bool is_corner = false;
    uint8_t *bytes = read_array(path, &nbytes, &is_corner, &err);
    if (bytes == NULL) {
        assert_true(err.status < 0 && err.message[0] != '\0');
        if (!is_bad && row->expected_sha256[0] != '\0') {
            count_refusal(path, &err);
        }
        tally.nbad += is_bad;
        return;
    }
    char hex[65];
    sha256_hex(bytes, nbytes, hex);
    free(bytes);
    /* a reader of these two alone converts colours */
    bool is_evidence = row->expected_sha256[0] != '\0' && !is_other(row->path) &&
                       !is_corner && strncmp(row->verdict, "single:C", 8) != 0 &&
                       !has_units(row);
    if (is_evidence && strcmp(hex, row->expected_sha256) != 0) {
        fail_msg("%s reads as %s, expected %s", path, hex, row->expected_sha256);
    }
    tally.nread += is_evidence;
    tally.nother += !is_evidence;
}

static void read_manifest(hr_device_type device, int every) {
    corpus c;
    corpus_row row;
    if (!corpus_open(&c, "the corpus's TIFF files")) {
        skip();
    }
    memset(tally.nrefused, 0, sizeof tally.nrefused);
    tally.nread = tally.nbad = tally.nother = tally.nstrict = 0;
    tally.device = device;
    for (int i = 0; corpus_next(&c, &row);) {
        bool is_tiff =
            strcmp(row.klass, "tiff") == 0 || strcmp(row.klass, "bad-tiff") == 0;
        if (is_tiff && i++ % every == 0) {
            check_row(&row, "");
        }
    }
    corpus_close(&c);
    print_message("%d read, %d malformed refused, %d without a reference\n", tally.nread,
                  tally.nbad, tally.nother);
    for (int i = 0; i < NREFUSALS; i++) {
        print_message("  %3d refused: %s\n", tally.nrefused[i], refusals[i]);
    }
    assert_true(tally.nread > 500 / every && tally.nbad > 80 / every);
}

static void every_file_reads_as_others_read_it(void **state) {
    (void)state;
    read_manifest(HR_DEVICE_CPU, 1);
}

static void every_file_reads_so_to_a_device(void **state) {
    (void)state;
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe((hr_device){.type = HR_DEVICE_SIMT}, &info, NULL) != HR_OK) {
        print_message("skipped: the corpus to a device (no simt)\n");
        skip();
    }
    read_manifest(HR_DEVICE_SIMT, EVERY);
    print_message("%d by kernels alone\n", tally.nstrict);
    assert_true(tally.nstrict >= NSTRICT / (EVERY + EVERY / 2));
}

static void every_directory_reads_as_others_read_it(void **state) {
    (void)state;
    corpus c;
    corpus_row row;
    if (!corpus_open_ifds(&c, "the IFDs of the corpus's TIFF files")) {
        skip();
    }
    tally.device = HR_DEVICE_CPU;
    tally.nread = 0;
    while (corpus_next(&c, &row)) {
        char fragment[64];
        bool is_sub = row.inner[strspn(row.inner, "0123456789")] != '\0';
        (void)snprintf(fragment, sizeof fragment, "#ifd=%s", row.inner);
        if (!is_sub && strcmp(row.inner, "0") != 0) {
            check_row(&row, fragment);
        }
    }
    corpus_close(&c);
    print_message("%d read\n", tally.nread);
    assert_true(tally.nread > 150);
}

static int open_context(void **state) {
    (void)state;
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    return hr_context_create(&o, &tally.context, NULL);
}

static int close_context(void **state) {
    (void)state;
    hr_context_unref(tally.context);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_reads_as_others_read_it),
        cmocka_unit_test(every_file_reads_so_to_a_device),
        cmocka_unit_test(every_directory_reads_as_others_read_it),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
