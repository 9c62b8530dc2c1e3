/* A directory's files in memory. SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

void files_add(test_files *files, const char *key, const void *data, size_t nbytes) {
    test_file *grown = realloc(files->files, (files->n + 1) * sizeof *grown);
    assert_non_null(grown);
    files->files = grown;
    test_file *f = &grown[files->n++];
    *f = (test_file){
        .key = strdup(key), .data = malloc(nbytes > 0 ? nbytes : 1), .nbytes = nbytes};
    assert_non_null(f->key);
    assert_non_null(f->data);
    if (nbytes > 0) {
        memcpy(f->data, data, nbytes);
    }
}

static void load_file(const char *path, const char *key, size_t nbytes,
                      test_files *files) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *data = malloc(nbytes > 0 ? nbytes : 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, nbytes, f), nbytes);
    (void)fclose(f);
    files_add(files, key, data, nbytes);
    free(data);
}

static void load_below(const char *root, const char *key, test_files *files) {
    char path[2048];
    (void)snprintf(path, sizeof path, "%s%s%s", root, key[0] != '\0' ? "/" : "", key);
    DIR *d = opendir(path);
    if (d == NULL) {
        return;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        char below[1024];
        (void)snprintf(below, sizeof below, "%s%s%s", key, key[0] != '\0' ? "/" : "",
                       e->d_name);
        (void)snprintf(path, sizeof path, "%s/%s", root, below);
        struct stat st;
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            load_below(root, below, files);
        } else if (S_ISREG(st.st_mode)) {
            load_file(path, below, (size_t)st.st_size, files);
        }
    }
    (void)closedir(d);
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const test_file *)a)->key, ((const test_file *)b)->key);
}

void files_load(const char *directory, test_files *files) {
    *files = (test_files){.n = 0};
    load_below(directory, "", files);
    if (files->n > 0) {
        qsort(files->files, files->n, sizeof *files->files, by_key);
    }
}

void files_free(test_files *files) {
    for (size_t i = 0; i < files->n; i++) {
        free(files->files[i].key);
        free(files->files[i].data);
    }
    free(files->files);
    *files = (test_files){.n = 0};
}

hr_status files_store(const test_files *files, hr_store *store, hr_error *err) {
    for (size_t i = 0; i < files->n; i++) {
        const test_file *f = &files->files[i];
        hr_status status = hr_store_set(store, f->key, f->data, f->nbytes, err);
        if (status != HR_OK) {
            return status;
        }
    }
    return HR_OK;
}
