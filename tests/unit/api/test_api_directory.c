/* Directories that change under an open array. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"

typedef struct world {
    char root[64];
    int cwd;
    hr_context *context;
    hr_node *array;
    int32_t out[NROWS][NCOLS];
    hr_error err;
} world;

static int remove_entry(const char *path, const struct stat *st, int type,
                        struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path) {
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *path, const void *data, size_t nbytes) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, nbytes, f), nbytes);
    assert_int_equal(fclose(f), 0);
}

static void must_mkdir(const char *path) {
    assert_true(mkdir(path, 0777) == 0 || errno == EEXIST);
}

/* int32 [10, 12] in chunks of [4, 5]; all elements `value`; below the current directory.
 */
static void write_array(const char *name, int32_t value) {
    const char *meta = "{\"zarr_format\":2,\"shape\":[10,12],\"chunks\":[4,5],\"dtype\":"
                       "\"<i4\",\"compressor\":null,\"filters\":null,\"fill_value\":-7,"
                       "\"order\":\"C\"}";
    int32_t chunk[CHUNK_ROWS * CHUNK_COLS];
    char path[128];
    for (int i = 0; i < CHUNK_ROWS * CHUNK_COLS; i++) {
        chunk[i] = value;
    }
    must_mkdir(name);
    (void)snprintf(path, sizeof path, "%s/.zarray", name);
    write_file(path, meta, strlen(meta));
    for (int i = 0; i < 9; i++) {
        (void)snprintf(path, sizeof path, "%s/%d.%d", name, i / 3, i % 3);
        write_file(path, chunk, sizeof chunk);
    }
}

static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    w->err = HR_ERROR_INIT;
    (void)strcpy(w->root, "/tmp/headrace-XXXXXX");
    assert_non_null(mkdtemp(w->root));
    w->cwd = open(".", O_PATH | O_DIRECTORY);
    assert_int_equal(chdir(w->root), 0);
    write_array("a", 5);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 2;
    assert_int_equal(hr_context_create(&o, &w->context, &w->err), HR_OK);
    assert_int_equal(hr_open(w->context, "a", NULL, &w->array, &w->err), HR_OK);
    *state = w;
    (void)alarm(60);
    return 0;
}

static int end_world(void **state) {
    world *w = *state;
    (void)alarm(0);
    hr_node_unref(w->array);
    hr_context_unref(w->context);
    assert_int_equal(fchdir(w->cwd), 0);
    (void)close(w->cwd);
    remove_tree(w->root);
    free(w);
    return 0;
}

static const int64_t whole[] = {NROWS, NCOLS};

static hr_status read_array(world *w) {
    hr_request r = request(w->array, w->out, 2, whole);
    memset(w->out, 0, sizeof w->out);
    return hr_read(w->array, NULL, &r.dst, &w->err);
}

static bool is_all(world *w, int32_t value) {
    for (int i = 0; i < NROWS * NCOLS; i++) {
        if (w->out[i / NCOLS][i % NCOLS] != value) {
            return false;
        }
    }
    return true;
}

static void another_current_directory_does_not_matter(void **state) {
    world *w = *state;
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(read_array(w), HR_OK);
    assert_true(is_all(w, 5));
    hr_node_info info = HR_NODE_INFO_INIT;
    assert_int_equal(hr_node_describe(w->array, &info, &w->err), HR_OK);
    assert_non_null(strstr(info.url, w->root));
    assert_int_equal(chdir(w->root), 0);
}

/* Nothing is there any more: that is a failure, and not an array of fill values. */
static void a_removed_directory_is_an_error(void **state) {
    world *w = *state;
    remove_tree("a");
    assert_int_equal(read_array(w), HR_ERR_IO);
    assert_non_null(strstr(w->err.message, "removed"));
    assert_string_equal(w->err.key, "0.0");
}

static void a_replaced_directory_is_not_the_opened_one(void **state) {
    world *w = *state;
    assert_int_equal(rename("a", "old"), 0);
    write_array("a", 6);
    assert_int_equal(read_array(w), HR_OK);
    assert_true(is_all(w, 5));
    remove_tree("old");
    assert_int_equal(read_array(w), HR_ERR_IO);
}

static void an_absent_chunk_is_still_fill(void **state) {
    world *w = *state;
    assert_int_equal(unlink("a/0.0"), 0);
    assert_int_equal(read_array(w), HR_OK);
    assert_int_equal(w->out[0][0], -7);
    assert_int_equal(w->out[9][11], 5);
}

typedef struct cutter {
    atomic_bool stop;
} cutter;

/* Cuts a chunk's file and restores it, over and over. */
static void *cut_and_restore(void *arg) {
    cutter *c = arg;
    int32_t chunk[CHUNK_ROWS * CHUNK_COLS];
    for (int i = 0; i < CHUNK_ROWS * CHUNK_COLS; i++) {
        chunk[i] = 5;
    }
    int fd = open("a/1.1", O_RDWR);
    for (size_t n = 0; !atomic_load(&c->stop); n = (n + 7) % sizeof chunk) {
        if (ftruncate(fd, (off_t)n) != 0 ||
            pwrite(fd, chunk, sizeof chunk, 0) != sizeof chunk) {
            break;
        }
    }
    (void)close(fd);
    return NULL;
}

/* What is read while the file is cut may be zeros, as the system has it; a whole chunk is
 * never missed, and nothing is read beyond the end. */
static void a_file_cut_while_it_is_read_gives_its_bytes_or_an_error(void **state) {
    world *w = *state;
    cutter c = {.stop = false};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cut_and_restore, &c), 0);
    for (int i = 0; i < 1000; i++) {
        hr_status status = read_array(w);
        if (status == HR_OK) {
            assert_true(w->out[4][5] == 5 || (w->out[4][5] & ~5) == 0);
            assert_int_equal(w->out[0][0], 5);
            assert_int_equal(w->out[9][11], 5);
        } else {
            assert_true(status == HR_ERR_IO || status == HR_ERR_DATA);
            assert_string_equal(w->err.key, "1.1");
            assert_non_null(strstr(w->err.message, "80"));
        }
    }
    atomic_store(&c.stop, true);
    (void)pthread_join(thread, NULL);
}

static void links_that_lead_back_are_passed_over(void **state) {
    world *w = *state;
    must_mkdir("g");
    must_mkdir("g/sub");
    const char *meta = "{\"zarr_format\":3,\"node_type\":\"group\"}";
    write_file("g/zarr.json", meta, strlen(meta));
    write_file("g/sub/zarr.json", meta, strlen(meta));
    assert_int_equal(symlink(".", "g/here"), 0);
    assert_int_equal(symlink("..", "g/sub/up"), 0);
    assert_int_equal(symlink("../../g/sub", "g/sub/again"), 0);
    assert_int_equal(symlink("../a", "g/elsewhere"), 0);
    hr_node *group = NULL;
    hr_member_list *list = NULL;
    assert_int_equal(hr_open(w->context, "g", NULL, &group, &w->err), HR_OK);
    assert_int_equal(hr_node_list(group, 1, &list, &w->err), HR_OK);
    assert_int_equal(hr_member_list_size(list), 2);
    assert_string_equal(hr_member_list_get(list, 0).path, "elsewhere");
    assert_string_equal(hr_member_list_get(list, 1).path, "sub");
    hr_member_list_free(list);
    hr_node_unref(group);
}

static void a_url_is_read_to_its_end(void **state) {
    world *w = *state;
    char url[256];
    hr_node *node = NULL;
    (void)snprintf(url, sizeof url, "file://%s/%%61", w->root);
    assert_int_equal(hr_open(w->context, url, NULL, &node, &w->err), HR_OK);
    hr_node_unref(node);
    (void)snprintf(url, sizeof url, "file://%s/a%%00/elsewhere", w->root);
    assert_int_equal(hr_open(w->context, url, NULL, &node, &w->err), HR_ERR_ARGUMENT);
    assert_int_equal(hr_open(w->context, "s3://bucket/a", NULL, &node, &w->err),
                     HR_ERR_UNSUPPORTED);
    must_mkdir("x:");
    must_mkdir("x:/http:");
    write_array("x:/http:/a", 5); /* no scheme has a slash in it */
    (void)snprintf(url, sizeof url, "%s/x:/http://a", w->root);
    assert_int_equal(hr_open(w->context, url, NULL, &node, &w->err), HR_OK);
    hr_node_unref(node);
}

/* The batch's counts of a read in a context of its own. */
static hr_batch_stats read_in(world *w, const hr_context_options *o) {
    hr_context *context = NULL;
    hr_node *array = NULL;
    assert_int_equal(hr_context_create(o, &context, &w->err), HR_OK);
    assert_int_equal(hr_open(context, "a", NULL, &array, &w->err), HR_OK);
    hr_request r = request(array, w->out, 2, whole);
    memset(w->out, 0, sizeof w->out);
    hr_batch *b = NULL;
    hr_batch_stats stats = HR_BATCH_STATS_INIT;
    assert_int_equal(hr_read_submit(context, &r, 1, NULL, NULL, &b, &w->err), HR_OK);
    assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
    assert_int_equal(hr_batch_get_stats(b, &stats, &w->err), HR_OK);
    hr_batch_unref(b);
    hr_node_unref(array);
    hr_context_unref(context);
    assert_true(is_all(w, 5));
    return stats;
}

static void files_are_read_past_the_cache_only_where_asked(void **state) {
    world *w = *state;
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    assert_int_equal(read_in(w, &o).direct_nbytes, 0);
    o.io = HR_IO_DIRECT;
    hr_batch_stats stats = read_in(w, &o);
    assert_true(stats.direct_nbytes <= stats.read_nbytes);
    o.io = (hr_io_mode)2;
    hr_context *context = NULL;
    assert_int_equal(hr_context_create(&o, &context, &w->err), HR_ERR_ARGUMENT);
    assert_non_null(strstr(w->err.message, "io is 2"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(another_current_directory_does_not_matter),
        TEST(a_removed_directory_is_an_error),
        TEST(a_replaced_directory_is_not_the_opened_one),
        TEST(an_absent_chunk_is_still_fill),
        TEST(a_file_cut_while_it_is_read_gives_its_bytes_or_an_error),
        TEST(files_are_read_past_the_cache_only_where_asked),
        TEST(links_that_lead_back_are_passed_over),
        TEST(a_url_is_read_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
