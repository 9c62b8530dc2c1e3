/* Small changes to files that others wrote. SPDX-License-Identifier: Apache-2.0
 *
 * Each byte of a small file is set to 0, to 255, and has its lowest and its highest bit
 * flipped; each file is cut at each length. What comes of it is an array, or an error
 * that names something: no crash, no long computation, no great amount of memory.
 *
 * A sample is taken. With the argument "all" every mutant is; with "all i n" the i-th
 * part of n, and with "all i n zarr/gdal" of one folder. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/mutant_lab.h"

enum { FILE_MAX_NBYTES = 4096 };

static struct {
    bool is_all;
    size_t part, nparts;
    const char *folder; /* NULL: all of them */
} plan = {.nparts = 1};

/* A folder with nodes in it, as one store. */
typedef struct folder {
    test_files files;
    char **nodes; /* paths of the nodes, each once */
    size_t nnodes;
} folder;

static bool ends_in(const char *key, const char *name) {
    size_t n = strlen(key);
    size_t k = strlen(name);
    return n >= k && strcmp(key + n - k, name) == 0 && (n == k || key[n - k - 1] == '/');
}

static bool is_document(const char *key) {
    return ends_in(key, "zarr.json") || ends_in(key, ".zarray") ||
           ends_in(key, ".zgroup") || ends_in(key, ".zattrs") ||
           ends_in(key, ".zmetadata");
}

/* Path of the node that a document describes. */
static char *node_of(const char *key) {
    const char *slash = strrchr(key, '/');
    return slash == NULL ? strdup("") : strndup(key, (size_t)(slash - key));
}

static void find_nodes(folder *f) {
    for (size_t i = 0; i < f->files.n; i++) {
        const char *key = f->files.files[i].key;
        if (!is_document(key) || ends_in(key, ".zattrs") || ends_in(key, ".zmetadata")) {
            continue;
        }
        char *path = node_of(key);
        f->nodes = realloc(f->nodes, (f->nnodes + 1) * sizeof *f->nodes);
        f->nodes[f->nnodes++] = path;
    }
}

/* The node that a file belongs to: the longest path that begins its key. */
static const char *owner(const folder *f, const char *key) {
    const char *best = NULL;
    for (size_t i = 0; i < f->nnodes; i++) {
        size_t n = strlen(f->nodes[i]);
        bool below = n == 0 || (strncmp(key, f->nodes[i], n) == 0 && key[n] == '/');
        if (below && (best == NULL || n > strlen(best))) {
            best = f->nodes[i];
        }
    }
    return best;
}

/* Mutants are numbered through all files; every step-th is made. */
static size_t flip_folder(const char *path, size_t first, size_t step,
                          uint64_t *nmutants) {
    folder f = {.nnodes = 0};
    mutant_lab l;
    files_load(path, &f.files);
    find_nodes(&f);
    lab_open(&l, &f.files);
    for (size_t i = 0; i < f.files.n; i++) {
        const test_file *file = &f.files.files[i];
        const char *node = owner(&f, file->key);
        size_t n = file->nbytes * LAB_NKINDS;
        if (file->nbytes > FILE_MAX_NBYTES || node == NULL) {
            continue;
        }
        for (; first < n; first += step) {
            lab_try(&l, node, file, first);
        }
        first -= n;
        assert_int_equal(hr_store_set(l.store, file->key, file->data, file->nbytes, NULL),
                         HR_OK);
        if (plan.is_all) {
            print_message("%s/%s\n", path, file->key);
        }
    }
    assert_true(l.nerrors <= l.nmutants);
    *nmutants += l.nmutants;
    lab_close(&l);
    for (size_t i = 0; i < f.nnodes; i++) {
        free(f.nodes[i]);
    }
    free(f.nodes);
    files_free(&f.files);
    return first;
}

/* A folder is one store: the files of a writer. */
static const char *const corpus_folders[] = {
    "zarr/gdal",      "zarr/jzarr",        "zarr/n5-zarr",
    "zarr/netcdf-c",  "zarr/neuroglancer", "zarr/ome-zarr-py",
    "zarr/rio-tiler", "zarr/zarr-java",    "zarr/zarr-python-2.18.3",
    "zarr/zarrita",   "zarr/zarrs",        "zarr/zarr_implementations",
    "bad/zarr",
};

static void no_small_change_does_harm(void **state) {
    (void)state;
    lab_allow_no_threads();
    uint64_t nmutants = 0;
    struct stat st;
    bool has_corpus = stat(HR_CORPUS "/zarr", &st) == 0;
    size_t step = plan.is_all ? plan.nparts : has_corpus ? 997 : 1;
    size_t at = plan.part;
    if (!has_corpus) {
        print_message("no corpus at %s: the example data alone\n", HR_CORPUS);
        at = flip_folder(HR_EXAMPLE_DATA "/jacksboro_v2.zarr", at, 7, &nmutants);
    }
    for (size_t i = 0; has_corpus && i < sizeof corpus_folders / sizeof(char *); i++) {
        char path[1024];
        if (plan.folder != NULL && strcmp(plan.folder, corpus_folders[i]) != 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, HR_CORPUS "/%s", corpus_folders[i]);
        at = flip_folder(path, at, step, &nmutants);
    }
    print_message("%" PRIu64 " mutants\n", nmutants);
    assert_true(nmutants > 100);
}

int main(int argc, char **argv) {
    plan.is_all = argc > 1 && strcmp(argv[1], "all") == 0;
    if (argc > 3) {
        plan.part = strtoul(argv[2], NULL, 10);
        plan.nparts = strtoul(argv[3], NULL, 10);
        plan.folder = argc > 4 ? argv[4] : NULL;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_small_change_does_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
