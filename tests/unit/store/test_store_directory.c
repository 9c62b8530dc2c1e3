/* A directory as a store, with real files. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "names.h"

static char root[4096]; /* absolute, fresh for each test */
static hr_store *store;
static int file_fd = -1; /* of the latest file made */

static const char *path_of(const char *name) {
    static char path[8192];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void make_dir(const char *name) {
    assert_int_equal(mkdir(path_of(name), 0777), 0);
}

static void make_file(const char *name, const void *data, size_t nbytes) {
    (void)close(file_fd);
    file_fd = open(path_of(name), O_RDWR | O_CREAT | O_TRUNC, 0666);
    assert_true(file_fd >= 0);
    assert_int_equal(write(file_fd, data, nbytes), nbytes);
}

static int set_up(void **state) {
    (void)state;
    char name[] = "store-XXXXXX";
    if (mkdtemp(name) == NULL || realpath(name, root) == NULL) {
        return -1;
    }
    return hr__store_open_directory(NULL, &hr__malloc_allocator, root, HR_IO_BUFFERED,
                                    NULL, &store, NULL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f) {
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

static int tear_down(void **state) {
    (void)state;
    hr__store_destroy(store);
    (void)close(file_fd);
    file_fd = -1;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static hr__object *must_open(const char *key) {
    hr__object *o = NULL;
    hr_error err = HR_ERROR_INIT;
    if (hr__store_open(store, key, &o, &err) != HR_OK) {
        fail_msg("%s: %s", key, err.message);
    }
    return o;
}

static void assert_open_fails(const char *key, hr_status status, int os_errno) {
    hr__object *o = NULL;
    hr_error err = HR_ERROR_INIT;
    hr_status s = hr__store_open(store, key, &o, &err);
    if (s != status || err.os_errno != os_errno || o != NULL) {
        fail_msg("%.100s: %s, errno %d: %s", key, hr_status_name(s), err.os_errno,
                 err.message);
    }
    assert_true(err.message[0] != '\0');
    assert_memory_equal(err.key, key, strnlen(key, 200));
    assert_memory_equal(err.url, "file:///", 8);
}

static void values_are_read_by_range(void **state) {
    (void)state;
    make_dir("a");
    make_file("a/b", "0123456789", 10);
    hr__object *o = must_open("a/b");
    assert_int_equal(o->nbytes, 10);
    char buf[16] = "................";
    assert_int_equal(hr__object_read(o, 3, 4, buf, NULL), HR_OK);
    assert_memory_equal(buf, "3456....", 8);
    assert_int_equal(hr__object_read(o, 0, 10, buf, NULL), HR_OK);
    assert_memory_equal(buf, "0123456789......", 16);
    assert_int_equal(hr__object_read(o, 10, 0, NULL, NULL), HR_OK);
    static const uint64_t outside[][2] = {
        {0, 11}, {10, 1}, {11, 0}, {UINT64_MAX, 1}, {1, UINT64_MAX}, {UINT64_MAX, 2}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        hr_error err = HR_ERROR_INIT;
        assert_int_equal(hr__object_read(o, outside[i][0], outside[i][1], buf, &err),
                         HR_ERR_DATA);
        assert_non_null(strstr(err.message, "10 bytes"));
    }
    hr__object_close(o);
    hr__object_close(NULL);
}

static void an_empty_file_is_an_object_of_no_bytes(void **state) {
    (void)state;
    make_file("empty", "", 0);
    hr__object *o = must_open("empty");
    assert_int_equal(o->nbytes, 0);
    hr__object_close(o);
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    char *text = NULL;
    size_t n = 7;
    assert_int_equal(hr__store_get(store, "empty", 0, &arena, &text, &n, NULL), HR_OK);
    assert_string_equal(text, "");
    assert_int_equal(n, 0);
    hr__arena_free(&arena);
}

static void only_absence_is_not_found(void **state) {
    (void)state;
    make_dir("dir");
    make_file("file", "x", 1);
    assert_int_equal(symlink("nowhere", path_of("dangling")), 0);
    assert_int_equal(symlink("loop", path_of("loop")), 0);
    assert_int_equal(symlink("file", path_of("link")), 0);
    assert_int_equal(mkfifo(path_of("fifo"), 0666), 0);
    assert_open_fails("absent", HR_ERR_NOT_FOUND, ENOENT);
    assert_open_fails("dir/absent", HR_ERR_NOT_FOUND, ENOENT);
    assert_open_fails("absent/absent", HR_ERR_NOT_FOUND, ENOENT);
    assert_open_fails("dangling", HR_ERR_NOT_FOUND, ENOENT);
    assert_open_fails("dir", HR_ERR_IO, EISDIR);
    assert_open_fails("file/below", HR_ERR_IO, ENOTDIR);
    assert_open_fails("loop", HR_ERR_IO, ELOOP);
    assert_open_fails("fifo", HR_ERR_IO, 0); /* and does not wait for a writer */
    char name[301];
    memset(name, 'n', 300);
    name[300] = '\0';
    assert_open_fails(name, HR_ERR_IO, ENAMETOOLONG);
    hr__object_close(must_open("link"));
}

static void what_may_not_be_read_is_an_io_error(void **state) {
    (void)state;
    if (geteuid() == 0) {
        skip(); /* root may read everything */
    }
    make_file("secret", "x", 1);
    assert_int_equal(chmod(path_of("secret"), 0), 0);
    assert_open_fails("secret", HR_ERR_IO, EACCES);
}

static void lack_of_descriptors_is_an_io_error(void **state) {
    (void)state;
    make_file("file", "x", 1);
    struct rlimit usual;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    hr__object *o;
    hr_error err = HR_ERROR_INIT;
    hr_status s = hr__store_open(store, "file", &o, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(s, HR_ERR_IO);
    assert_int_equal(err.os_errno, EMFILE);
}

static void keys_cannot_leave_the_directory(void **state) {
    (void)state;
    make_dir("a");
    make_file("a/b", "x", 1);
    static const char *const bad[] = {"",
                                      "/",
                                      "/etc/passwd",
                                      "a/",
                                      "/a",
                                      "a//b",
                                      ".",
                                      "..",
                                      "./a/b",
                                      "a/.",
                                      "a/..",
                                      "a/../a",
                                      "../a/b",
                                      "a/../../etc/passwd",
                                      "a\\b",
                                      "..\\..\\x",
                                      "a/b/"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_open_fails(bad[i], HR_ERR_ARGUMENT, 0);
    }
    hr__object *o;
    assert_int_equal(hr__store_open(store, NULL, &o, NULL), HR_ERR_ARGUMENT);
    char *deep = malloc(HR__KEY_MAX + 2);
    for (size_t i = 0; i <= HR__KEY_MAX; i++) {
        deep[i] = i % 2 ? '/' : 'd';
    }
    deep[HR__KEY_MAX + 1] = '\0';
    assert_open_fails(deep, HR_ERR_ARGUMENT, 0);
    free(deep);
    make_file("a/...", "x", 1); /* unusual, but a name like others */
    hr__object_close(must_open("a/..."));
}

static void a_file_that_shrinks_gives_both_sizes(void **state) {
    (void)state;
    make_file("f", "0123456789", 10);
    hr__object *o = must_open("f");
    assert_int_equal(ftruncate(file_fd, 4), 0);
    char buf[10];
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__object_read(o, 0, 4, buf, &err), HR_OK);
    assert_int_equal(hr__object_read(o, 2, 8, buf, &err), HR_ERR_IO);
    assert_string_equal(err.message, "file is 4 bytes now, was 10 when it was opened");
    assert_int_equal(hr__object_read(o, 6, 2, buf, &err), HR_ERR_IO);
    hr__object_close(o);
}

static void offsets_beyond_4_gib_are_exact(void **state) {
    (void)state;
    make_file("big", "start", 5);
    const off_t at = (off_t)5 << 30;
    assert_int_equal(pwrite(file_fd, "end", 3, at), 3);
    hr__object *o = must_open("big");
    assert_int_equal(o->nbytes, at + 3);
    char buf[8] = {0};
    assert_int_equal(hr__object_read(o, (uint64_t)at - 1, 4, buf, NULL), HR_OK);
    assert_memory_equal(buf, "\0end", 4);
    assert_int_equal(hr__object_read(o, (uint64_t)at - 1, 5, buf, NULL), HR_ERR_DATA);
    hr__object_close(o);
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    char *text;
    size_t n;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__store_get(store, "big", 1 << 20, &arena, &text, &n, &err),
                     HR_ERR_OVERFLOW);
    assert_non_null(strstr(err.message, "5368709123 bytes, at most 1048576"));
    assert_string_equal(err.key, "big");
    hr__arena_free(&arena);
}

static void a_whole_value_comes_with_a_nul(void **state) {
    (void)state;
    make_file("doc", "{}", 2);
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    char *text = NULL;
    size_t n = 0;
    assert_int_equal(hr__store_get(store, "doc", 2, &arena, &text, &n, NULL), HR_OK);
    assert_int_equal(n, 2);
    assert_string_equal(text, "{}");
    assert_int_equal(hr__store_get(store, "doc", 1, &arena, &text, &n, NULL),
                     HR_ERR_OVERFLOW);
    assert_int_equal(hr__store_get(store, "absent", 9, &arena, &text, &n, NULL),
                     HR_ERR_NOT_FOUND);
    hr__arena_free(&arena);
}

static void versions_follow_the_bytes(void **state) {
    (void)state;
    hr__object *o = NULL;
    for (int i = 0; i < 1000; i++) { /* a busy machine may let it grow old meanwhile */
        make_file("f", "one", 3);
        o = must_open("f");
        if (o->version == 0) {
            break;
        }
        hr__object_close(o);
        o = NULL;
    }
    assert_non_null(o); /* too young to tell */
    hr__object_close(o);
    (void)usleep(100000);
    o = must_open("f");
    uint64_t first = o->version;
    hr__object_close(o);
    assert_true(first != 0);
    o = must_open("f");
    assert_true(o->version == first);
    hr__object_close(o);
    assert_int_equal(pwrite(file_fd, "two", 3, 0), 3);
    (void)usleep(100000);
    o = must_open("f");
    assert_true(o->version != first && o->version != 0);
    hr__object_close(o);
}

static hr_status list(const char *prefix, names *n, hr_error *err) {
    return list_names(store, prefix, 100, n, err);
}

static void lists_name_what_can_be_opened(void **state) {
    (void)state;
    make_dir("g");
    make_dir("g/sub");
    make_dir("g/.hidden");
    make_file("g/sub/below", "x", 1);
    make_file("g/file", "x", 1);
    make_file("g/back\\slash", "x", 1);
    assert_int_equal(symlink("sub", path_of("g/to_dir")), 0);
    assert_int_equal(symlink("file", path_of("g/to_file")), 0);
    assert_int_equal(symlink("nowhere", path_of("g/dangling")), 0);
    assert_int_equal(mkfifo(path_of("g/fifo"), 0666), 0);
    names n;
    assert_int_equal(list("g", &n, NULL), HR_OK);
    static const char *const want[] = {"sub/;", "file;", "to_dir/;", "to_file;",
                                       ".hidden/;"};
    size_t total = 0;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_non_null(strstr(n.text, want[i]));
        total += strlen(want[i]);
    }
    assert_int_equal(strlen(n.text), total);
    assert_int_equal(list("", &n, NULL), HR_OK);
    assert_string_equal(n.text, "g/;");
    assert_int_equal(list("absent", &n, NULL), HR_OK);
    assert_string_equal(n.text, "");
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(list("g/file", &n, &err), HR_ERR_IO);
    assert_int_equal(err.os_errno, ENOTDIR);
    assert_string_equal(err.key, "g/file");
    assert_int_equal(list("..", &n, NULL), HR_ERR_ARGUMENT);
    assert_int_equal(list("g/", &n, NULL), HR_ERR_ARGUMENT);
    assert_int_equal(list_names(store, "g", 1, &n, NULL), HR_ERR_MEMORY);
}

static void the_store_keeps_its_directory(void **state) {
    (void)state;
    make_file("f", "x", 1);
    char cwd[4096];
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(root), 0);
    hr_store *relative = NULL;
    assert_int_equal(hr__store_open_directory(NULL, &hr__malloc_allocator, ".",
                                              HR_IO_BUFFERED, NULL, &relative, NULL),
                     HR_OK);
    assert_int_equal(chdir("/"), 0);
    hr__object *o = NULL;
    assert_int_equal(hr__store_open(relative, "f", &o, NULL), HR_OK);
    hr__object_close(o);
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__store_set(relative, "f", "y", 1, &err), HR_ERR_UNSUPPORTED);
    assert_memory_equal(err.url, "file:///", 8);
    assert_string_equal(err.url + strlen(err.url) - 2, "/.");
    assert_true(relative->gap_nbytes > 0);
    hr__store_destroy(relative);
    assert_int_equal(chdir(cwd), 0);
}

static void a_directory_must_exist(void **state) {
    (void)state;
    make_file("f", "x", 1);
    hr_store *none = NULL;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__store_open_directory(NULL, &hr__malloc_allocator,
                                              path_of("absent"), HR_IO_BUFFERED, NULL,
                                              &none, &err),
                     HR_ERR_NOT_FOUND);
    assert_non_null(strstr(err.url, "/absent"));
    assert_int_equal(hr__store_open_directory(NULL, &hr__malloc_allocator, path_of("f"),
                                              HR_IO_BUFFERED, NULL, &none, &err),
                     HR_ERR_IO);
    assert_int_equal(err.os_errno, ENOTDIR);
    assert_int_equal(hr__store_open_directory(NULL, &hr__malloc_allocator, "",
                                              HR_IO_BUFFERED, NULL, &none, &err),
                     HR_ERR_NOT_FOUND);
    assert_null(none);
}

#define IN_A_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_DIRECTORY(values_are_read_by_range),
        IN_A_DIRECTORY(an_empty_file_is_an_object_of_no_bytes),
        IN_A_DIRECTORY(only_absence_is_not_found),
        IN_A_DIRECTORY(what_may_not_be_read_is_an_io_error),
        IN_A_DIRECTORY(lack_of_descriptors_is_an_io_error),
        IN_A_DIRECTORY(keys_cannot_leave_the_directory),
        IN_A_DIRECTORY(a_file_that_shrinks_gives_both_sizes),
        IN_A_DIRECTORY(offsets_beyond_4_gib_are_exact),
        IN_A_DIRECTORY(a_whole_value_comes_with_a_nul),
        IN_A_DIRECTORY(versions_follow_the_bytes),
        IN_A_DIRECTORY(lists_name_what_can_be_opened),
        IN_A_DIRECTORY(the_store_keeps_its_directory),
        IN_A_DIRECTORY(a_directory_must_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
