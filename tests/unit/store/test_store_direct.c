/* Files read past the page cache. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/direct.h"
#include "store/store.h"

enum {
    BIG = (9 << 20) + 1234
}; /* more than two bounces, and no whole block at the end */

/* What makes an open one for reading chunks; nobody here looks into it. */
static const int some_reading;
#define READING ((const hr_read_context *)&some_reading)

static char root[] = "direct-XXXXXX";
static int file = -1; /* the big one */
static uint8_t *bytes;
static char said[1024];
static int nsaid;

static void listen(void *user, hr_log_level level, const char *line) {
    (void)user;
    assert_int_equal(level, HR_LOG_WARNING);
    (void)snprintf(said, sizeof said, "%s", line);
    nsaid++;
}

static const hr__log log_here = {.fn = listen, .level = HR_LOG_WARNING};

/* Whether the file system and the kernel let files be read directly here. */
static bool has_direct(void) {
    int fd = open(root, O_TMPFILE | O_RDWR | O_DIRECT, 0600);
    (void)close(fd);
    hr__direct d;
    hr__direct_init(&d, &hr__malloc_allocator, &log_here, "");
    return fd >= 0 && d.is_on;
}

#define NEED_DIRECT()                                                                    \
    if (!has_direct()) {                                                                 \
        print_message("skipped: files cannot be read past the page cache here\n");       \
        skip();                                                                          \
    }

/* Pages that the kernel is just busy with stay: again then. */
static void evict(void) {
    assert_int_equal(fsync(file), 0);
    for (int i = 0; i == 0 || (hr__direct_is_cached(file, 0, 8192) && i < 1000); i++) {
        (void)usleep(i > 0 ? 10000 : 0);
        assert_int_equal(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
    }
}

static int set_up(void **state) {
    (void)state;
    bytes = malloc(BIG);
    if (bytes == NULL || mkdtemp(root) == NULL) {
        return -1;
    }
    for (size_t i = 0; i < BIG; i++) {
        bytes[i] = (uint8_t)(i * 2654435761U >> 24);
    }
    char path[64];
    (void)snprintf(path, sizeof path, "%s/big", root);
    file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    return file >= 0 && write(file, bytes, BIG) == BIG ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char path[64];
    (void)snprintf(path, sizeof path, "%s/big", root);
    (void)close(file);
    free(bytes);
    return remove(path) | rmdir(root);
}

static hr_store *open_store(hr_io_mode io) {
    hr_store *store = NULL;
    nsaid = 0;
    assert_int_equal(hr__store_open_directory(NULL, &hr__malloc_allocator, root, io,
                                              &log_here, &store, NULL),
                     HR_OK);
    return store;
}

static hr__object *open_big(hr_store *store, const hr_read_context *reading) {
    hr__object *o = NULL;
    assert_int_equal(hr__store_open_for(store, "big", reading, &o, NULL), HR_OK);
    return o;
}

/* Reads at all kinds of places, to all kinds of memory. */
static void read_around(hr__object *o) {
    static const uint64_t sizes[] = {1,
                                     100,
                                     4095,
                                     4096,
                                     4097,
                                     65536,
                                     1 << 20,
                                     (1 << 20) + 1,
                                     4 << 20,
                                     (4 << 20) + 4096,
                                     (4 << 20) + 5,
                                     8 << 20,
                                     BIG};
    static const uint64_t places[] = {0, 1, 4095, 4096, 8192 + 17, 1 << 20};
    static const size_t shifts[] = {0, 16, 4096};
    uint8_t *memory = aligned_alloc(4096, BIG / 4096 * 4096 + 12288);
    assert_non_null(memory);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            uint64_t n = sizes[i], at = places[k];
            n = n > BIG - at ? BIG - at : n;
            uint8_t *dst = memory + shifts[(i + k) % 3];
            dst[n] = 0xA5;
            memset(dst, 0, n);
            assert_int_equal(hr__object_read_for(o, at, n, READING, dst, NULL), HR_OK);
            assert_memory_equal(dst, bytes + at, n);
            assert_int_equal(dst[n], 0xA5);
        }
    }
    free(memory);
}

static void direct_reads_give_the_same_bytes(void **state) {
    (void)state;
    NEED_DIRECT();
    hr_store *store = open_store(HR_IO_DIRECT);
    evict();
    hr__object *o = open_big(store, READING);
    uint64_t before = atomic_load(&o->direct_nbytes);
    read_around(o);
    assert_true(atomic_load(&o->direct_nbytes) > before);
    assert_int_equal(nsaid, 0);
    evict();
    before = atomic_load(&o->direct_nbytes);
    uint8_t some[5000];
    assert_int_equal(hr__object_read_for(o, 77, 5000, READING, some, NULL), HR_OK);
    assert_int_equal(atomic_load(&o->direct_nbytes) - before, 5000);
    hr__object_close(o);
    hr__store_destroy(store);
}

static void what_is_cached_comes_from_the_cache(void **state) {
    (void)state;
    NEED_DIRECT();
    hr_store *store = open_store(HR_IO_DIRECT);
    hr__object *o = open_big(store, READING);
    uint8_t *out = malloc(BIG);
    assert_int_equal(pread(file, out, BIG, 0), BIG);
    assert_int_equal(hr__object_read_for(o, 0, BIG, READING, out, NULL), HR_OK);
    assert_memory_equal(out, bytes, BIG);
    assert_true(atomic_load(&o->direct_nbytes) == 0);
    free(out);
    hr__object_close(o);
    hr__store_destroy(store);
}

/* What is opened for a reading, or for none, and read by `read`. */
static void read_through_the_cache(hr_io_mode io, const hr_read_context *reading,
                                   hr_status (*read)(hr__object *, uint64_t, uint64_t,
                                                     const hr_read_context *, void *,
                                                     hr_error *)) {
    static const uint64_t places[] = {5, BIG - 100};
    hr_store *store = open_store(io);
    evict();
    hr__object *o = open_big(store, reading);
    for (int i = 0; i < 2; i++) {
        uint8_t out[100];
        assert_int_equal(read(o, places[i], sizeof out, reading, out, NULL), HR_OK);
        assert_memory_equal(out, bytes + places[i], sizeof out);
    }
    assert_true(atomic_load(&o->direct_nbytes) == 0);
    hr__object_close(o);
    hr__store_destroy(store);
}

static void without_the_option_or_for_documents_nothing_is_direct(void **state) {
    (void)state;
    read_through_the_cache(HR_IO_BUFFERED, READING, hr__object_read_for);
    read_through_the_cache(HR_IO_DIRECT, NULL, hr__object_read_for);
}

static void indexes_stay_in_the_cache(void **state) {
    (void)state;
    NEED_DIRECT();
    read_through_the_cache(HR_IO_DIRECT, READING, hr__object_read_index);
}

static void a_file_that_shrinks_gives_both_sizes(void **state) {
    (void)state;
    NEED_DIRECT();
    hr_store *store = open_store(HR_IO_DIRECT);
    evict();
    hr__object *o = open_big(store, READING);
    assert_int_equal(ftruncate(file, 10000), 0);
    uint8_t out[8192];
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__object_read_for(o, 0, 8192, READING, out, NULL), HR_OK);
    assert_int_equal(hr__object_read_for(o, 4096, 8192, READING, out, &err), HR_ERR_IO);
    assert_non_null(strstr(err.message, "file is 10000 bytes now"));
    assert_int_equal(hr__object_read_for(o, 1 << 20, 100, READING, out, &err), HR_ERR_IO);
    assert_int_equal(pwrite(file, bytes + 10000, BIG - 10000, 10000), BIG - 10000);
    hr__object_close(o);
    hr__store_destroy(store);
}

/* /proc has no O_DIRECT. */
static void a_refusal_is_told_once(void **state) {
    (void)state;
    nsaid = 0;
    hr_store *store = NULL;
    assert_int_equal(hr__store_open_directory(NULL, &hr__malloc_allocator, "/proc/self",
                                              HR_IO_DIRECT, &log_here, &store, NULL),
                     HR_OK);
    for (int i = 0; i < 2; i++) {
        hr__object *o = NULL;
        assert_int_equal(hr__store_open_for(store, "status", READING, &o, NULL), HR_OK);
        hr__object_close(o);
    }
    assert_int_equal(nsaid, 1);
    assert_non_null(strstr(said, "file:///proc/self: "));
    assert_non_null(strstr(said, "page cache"));
    hr__store_destroy(store);
}

static void a_forked_child_reads_directly_too(void **state) {
    (void)state;
    NEED_DIRECT();
    hr_store *store = open_store(HR_IO_DIRECT);
    evict();
    hr__object *o = open_big(store, READING);
    uint8_t out[100];
    assert_int_equal(hr__object_read_for(o, 5, 100, READING, out, NULL), HR_OK);
    pid_t child = fork();
    if (child == 0) {
        memset(out, 0, sizeof out);
        hr_status s = hr__object_read_for(o, 9, 100, READING, out, NULL);
        _exit(s == HR_OK && memcmp(out, bytes + 9, 100) == 0 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    hr__object_close(o);
    hr__store_destroy(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(direct_reads_give_the_same_bytes),
        cmocka_unit_test(what_is_cached_comes_from_the_cache),
        cmocka_unit_test(without_the_option_or_for_documents_nothing_is_direct),
        cmocka_unit_test(indexes_stay_in_the_cache),
        cmocka_unit_test(a_file_that_shrinks_gives_both_sizes),
        cmocka_unit_test(a_refusal_is_told_once),
        cmocka_unit_test(a_forked_child_reads_directly_too),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
