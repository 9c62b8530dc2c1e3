/* A directory's files in memory. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TEST_FILES_H
#define HR_TEST_FILES_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/node.h>

typedef struct test_file {
    char *key; /* relative to the directory */
    uint8_t *data;
    size_t nbytes;
} test_file;

typedef struct test_files {
    size_t n;
    test_file *files; /* by key */
} test_files;

/* All regular files below a directory; none where it does not exist. */
void files_load(const char *directory, test_files *files);
void files_free(test_files *files);

/* A copy of one more file. */
void files_add(test_files *files, const char *key, const void *data, size_t nbytes);

/* The first one that fails ends it. */
hr_status files_store(const test_files *files, hr_store *store, hr_error *err);

#endif
