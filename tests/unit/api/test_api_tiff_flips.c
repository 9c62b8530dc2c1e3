/* Small changes to TIFF files. SPDX-License-Identifier: Apache-2.0
 *
 * Every byte of small files of each layout is changed, and every number to the least and
 * the most; of those of the corpus a sample is taken. With the argument "all" it is all
 * of them, with "all i n" the i-th part of n. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "fixture.h"
#include "support/mutant_lab.h"
#include "support/tiff_maker.h"

enum { FILE_MAX_NBYTES = 4096 };
/* Kernels on the host are slow; with this all kinds of change come up. */
enum { DEVICE_STEP = 13 };

static struct {
    bool is_all;
    size_t part, nparts;
} plan = {.nparts = 1};

static void add_made_file(test_files *files, const char *key, const tiff_spec *spec,
                          bool is_big_endian, bool is_big) {
    static const uint8_t image[4096] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
    tiff_file f;
    tiff_start(&f, is_big_endian, is_big);
    tiff_add(&f, spec, image);
    files_add(files, key, f.bytes, f.nbytes);
    tiff_free(&f);
}

/* Two pages, and planes of which only the description tells. */
static void add_stacks(test_files *files) {
    static const uint8_t image[64] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
    static const char text[] = "ImageJ=1.54\nimages=6\nslices=3\nframes=2\n";
    const tiff_extra description = {
        .id = 270, .type = 2, .count = sizeof text, .values = text};
    const tiff_spec page = {
        .width = 4, .height = 3, .bits = 8, .extra = &description, .nextra = 1};
    tiff_file f;
    tiff_start(&f, false, false);
    tiff_add(&f, &page, image);
    files_add(files, "planes.tif", f.bytes, f.nbytes);
    tiff_add(&f, &page, image + 9);
    files_add(files, "stack.tif", f.bytes, f.nbytes);
    tiff_free(&f);
}

/* Two pages with an overview each, in an order that XML tells. */
static void add_pyramids(test_files *files) {
    static const uint8_t image[64] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
    static const char text[] = "<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"2\" "
                               "SizeC=\"1\"><TiffData FirstZ=\"1\" IFD=\"1\"/></Pixels>";
    const tiff_extra description = {
        .id = 270, .type = 2, .count = sizeof text, .values = text};
    tiff_file f;
    tiff_start(&f, false, false);
    for (unsigned i = 0; i < 4; i++) {
        const tiff_spec page = {.width = i % 2 == 0 ? 4 : 2,
                                .height = 2,
                                .bits = 8,
                                .subfile_type = i % 2,
                                .extra = &description,
                                .nextra = i == 0};
        tiff_add(&f, &page, image);
    }
    files_add(files, "pyramids.tif", f.bytes, f.nbytes);
    tiff_free(&f);
}

/* What there is to go wrong, in as few bytes as can be. */
static void make_files(test_files *files) {
    const tiff_spec tiled = {.width = 7,
                             .height = 5,
                             .nsamples = 3,
                             .is_tiled = true,
                             .block_width = 4,
                             .block_height = 4,
                             .bits = 16,
                             .compression = 5,
                             .predictor = 2};
    const tiff_spec planar = {.width = 6,
                              .height = 5,
                              .nsamples = 2,
                              .is_planar = true,
                              .block_height = 2,
                              .bits = 32,
                              .format = 3,
                              .compression = 8,
                              .predictor = 3,
                              .nodata = "-9999"};
    const tiff_spec plain = {.width = 6, .height = 5, .bits = 8, .fill_order = 2};
    const tiff_spec packed = {.width = 9,
                              .height = 5,
                              .bits = 8,
                              .block_height = 2,
                              .compression = 32773,
                              .sparse_block = 2,
                              .without_sizes = true};
    const tiff_spec zstd = {.width = 9, .height = 3, .bits = 64, .compression = 50000};
    add_made_file(files, "tiled.tif", &tiled, false, false);
    add_made_file(files, "planar.tif", &planar, true, true);
    add_made_file(files, "plain.tif", &plain, true, false);
    add_made_file(files, "packed.tif", &packed, false, false);
    add_made_file(files, "zstd.tif", &zstd, false, true);
    add_stacks(files);
    add_pyramids(files);
}

/* How files are changed, and where they are read to then. */
typedef struct change {
    void (*attempt)(mutant_lab *l, const char *node, const test_file *f, size_t i);
    size_t nkinds;
    int32_t device_type;
} change;

static const change one_byte = {lab_try, LAB_NKINDS, HR_DEVICE_CPU};

/* Every step-th mutant, counted through all files; returns where to go on. */
static size_t change_files(const change *how, const test_files *files,
                           const char *fragment, size_t first, size_t step,
                           uint64_t *nmutants) {
    char node[1024];
    mutant_lab l;
    lab_open(&l, files);
    l.device_type = how->device_type;
    for (size_t i = 0; i < files->n; i++) {
        const test_file *file = &files->files[i];
        size_t n = file->nbytes * how->nkinds;
        if (file->nbytes > FILE_MAX_NBYTES) {
            continue;
        }
        (void)snprintf(node, sizeof node, "%s%s", file->key, fragment);
        for (; first < n; first += step) {
            how->attempt(&l, node, file, first);
        }
        first -= n;
    }
    assert_true(l.nerrors <= l.nmutants);
    *nmutants += l.nmutants;
    lab_close(&l);
    return first;
}

/* Every step-th mutant of each file. */
static void change_made_files(const change *how, size_t step) {
    test_files files = {0};
    uint64_t nmutants = 0;
    make_files(&files);
    (void)change_files(how, &files, "", 0, step, &nmutants);
    (void)change_files(how, &files, "#stack", 0, step, &nmutants);
    (void)change_files(how, &files, "#stack,level=1", 0, step, &nmutants);
    files_free(&files);
    print_message("%" PRIu64 " mutants\n", nmutants);
    assert_true(nmutants > 20000 / step);
}

static void no_change_of_one_byte_does_harm(void **state) {
    (void)state;
    change_made_files(&one_byte, 1);
}

/* Counts, sizes and places that are as large as can be, or negative. */
static void no_extreme_number_does_harm(void **state) {
    (void)state;
    change_made_files(&(change){lab_try_word, LAB_NWORDS, HR_DEVICE_CPU}, 1);
}

static void nor_do_they_in_front_of_a_device(void **state) {
    (void)state;
    if (!has_simt()) {
        skip();
    }
    change_made_files(&(change){lab_try, LAB_NKINDS, HR_DEVICE_SIMT}, DEVICE_STEP);
    change_made_files(&(change){lab_try_word, LAB_NWORDS, HR_DEVICE_SIMT}, DEVICE_STEP);
}

static void no_change_does_harm_to_files_of_others(void **state) {
    (void)state;
    static const char *const folders[] = {HR_CORPUS "/tiff", HR_CORPUS "/bad/tiff"};
    uint64_t nmutants = 0;
    size_t at = plan.part;
    for (size_t i = 0; i < 2; i++) {
        test_files files = {0};
        files_load(folders[i], &files);
        if (files.n == 0) {
            print_message("skipped: changes to the corpus (no %s)\n", folders[i]);
            skip();
        }
        at = change_files(&one_byte, &files, "", at, plan.is_all ? plan.nparts : 997,
                          &nmutants);
        files_free(&files);
    }
    print_message("%" PRIu64 " mutants\n", nmutants);
    assert_true(nmutants > 500);
}

int main(int argc, char **argv) {
    plan.is_all = argc > 1 && strcmp(argv[1], "all") == 0;
    if (argc > 3) {
        plan.part = strtoul(argv[2], NULL, 10);
        plan.nparts = strtoul(argv[3], NULL, 10);
    }
    lab_allow_no_threads();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_change_of_one_byte_does_harm),
        cmocka_unit_test(no_extreme_number_does_harm),
        cmocka_unit_test(nor_do_they_in_front_of_a_device),
        cmocka_unit_test(no_change_does_harm_to_files_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
