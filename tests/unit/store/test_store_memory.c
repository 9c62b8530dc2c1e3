/* A store in memory. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "names.h"

#include "support/sanitizers.h"

static hr_store *store;

static int set_up(void **state) {
    (void)state;
    return hr__store_create_memory(NULL, &hr__malloc_allocator, &store, NULL);
}

static int tear_down(void **state) {
    (void)state;
    hr__store_destroy(store);
    return 0;
}

static void set_text(const char *key, const char *text) {
    assert_int_equal(hr__store_set(store, key, text, strlen(text), NULL), HR_OK);
}

static void assert_text(const char *key, const char *text) {
    hr__arena arena;
    hr__arena_init(&arena, &hr__malloc_allocator);
    char *got = NULL;
    size_t n = 0;
    assert_int_equal(hr__store_get(store, key, 1000, &arena, &got, &n, NULL), HR_OK);
    assert_string_equal(got, text);
    hr__arena_free(&arena);
}

static void what_was_set_is_found(void **state) {
    (void)state;
    hr__object *o = NULL;
    hr_error err = HR_ERROR_INIT;
    assert_int_equal(hr__store_open(store, "a/b", &o, &err), HR_ERR_NOT_FOUND);
    assert_string_equal(err.url, "memory://");
    assert_string_equal(err.key, "a/b");
    set_text("a/b", "hello");
    set_text("a/c", "");
    assert_int_equal(hr__store_set(store, "a/d", NULL, 0, NULL), HR_OK);
    assert_text("a/b", "hello");
    assert_text("a/c", "");
    assert_text("a/d", "");
    set_text("a/b", "longer than before");
    assert_text("a/b", "longer than before");
    assert_int_equal(hr__store_open(store, "a", &o, NULL), HR_ERR_NOT_FOUND);
    assert_int_equal(store->gap_nbytes, 0);
    assert_int_equal(hr__store_set(store, "../x", "", 0, NULL), HR_ERR_ARGUMENT);
    assert_int_equal(hr__store_set(store, "", "", 0, NULL), HR_ERR_ARGUMENT);
}

static void an_open_value_outlives_its_replacement(void **state) {
    (void)state;
    set_text("k", "old value");
    hr__object *o = NULL;
    assert_int_equal(hr__store_open(store, "k", &o, NULL), HR_OK);
    set_text("k", "new");
    char buf[16] = {0};
    assert_int_equal(o->nbytes, 9);
    assert_int_equal(hr__object_read(o, 4, 5, buf, NULL), HR_OK);
    assert_string_equal(buf, "value");
    assert_int_equal(hr__object_read(o, 4, 6, buf, NULL), HR_ERR_DATA);
    hr__object *p = NULL;
    assert_int_equal(hr__store_open(store, "k", &p, NULL), HR_OK);
    assert_true(p->version != o->version && p->version != 0 && o->version != 0);
    hr__object_close(o);
    hr__object_close(p);
    assert_text("k", "new");
}

static void thousands_of_keys_are_kept_apart(void **state) {
    (void)state;
    char key[32];
    char text[32];
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(key, sizeof key, "c/%d/%d", i / 70, i % 70);
        (void)snprintf(text, sizeof text, "value %d", i);
        set_text(key, text);
    }
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(key, sizeof key, "c/%d/%d", i / 70, i % 70);
        (void)snprintf(text, sizeof text, "value %d", i);
        assert_text(key, text);
    }
}

static void assert_list(const char *prefix, const char *want) {
    names n;
    assert_int_equal(list_names(store, prefix, 100, &n, NULL), HR_OK);
    assert_string_equal(n.text, want);
}

static void lists_name_each_child_once(void **state) {
    (void)state;
    assert_list("", "");
    set_text("zarr.json", "{}");
    set_text("g/zarr.json", "{}");
    set_text("g/a/zarr.json", "{}");
    set_text("g/a/c/0/0", "x");
    set_text("g/a/c/0/1", "x");
    set_text("g/a/c/1/0", "x");
    set_text("g/ab", "x");
    set_text("g/a", "both a value and a prefix");
    set_text("gg/x", "x");
    assert_list("", "g/;gg/;zarr.json;");
    assert_list("g", "a;a/;ab;zarr.json;");
    assert_list("g/a", "c/;zarr.json;");
    assert_list("g/a/c", "0/;1/;");
    assert_list("g/a/c/0", "0;1;");
    assert_list("g/a/c/0/0", "");
    assert_list("absent", "");
    names n;
    assert_int_equal(list_names(store, "g", 1, &n, NULL), HR_ERR_MEMORY);
    assert_int_equal(list_names(store, "g//a", 1, &n, NULL), HR_ERR_ARGUMENT);
}

/* Runs out of memory after some allocations, and counts what is alive. */
typedef struct budget {
    int left, alive;
} budget;

static void *budget_alloc(void *user, size_t nbytes) {
    budget *b = user;
    if (b->left == 0) {
        return NULL;
    }
    b->left--;
    b->alive++;
    return malloc(nbytes);
}

static void budget_free(void *user, void *p, size_t nbytes) {
    ((budget *)user)->alive--;
    memset(p, 0xDD, nbytes); /* the size is the one that was asked for */
    free(p);
}

static void lack_of_memory_leaves_the_store_as_it_was(void **state) {
    (void)state;
    for (int limit = 0; limit < 80; limit++) {
        budget b = {.left = limit};
        hr_allocator a = {.struct_size = sizeof a,
                          .user = &b,
                          .alloc = budget_alloc,
                          .free = budget_free};
        hr_store *s = NULL;
        if (hr__store_create_memory(NULL, &a, &s, NULL) != HR_OK) {
            assert_null(s);
            assert_int_equal(b.alive, 0);
            continue;
        }
        int stored = 0;
        char key[16];
        hr_status status = HR_OK;
        for (; stored < 100 && status == HR_OK; stored += status == HR_OK) {
            (void)snprintf(key, sizeof key, "%d", stored);
            status = hr__store_set(s, key, key, 2, NULL);
        }
        assert_int_equal(status, HR_ERR_MEMORY);
        for (int i = 0; i <= stored; i++) {
            (void)snprintf(key, sizeof key, "%d", i);
            hr__object *o = NULL;
            assert_int_equal(hr__store_open(s, key, &o, NULL),
                             i < stored ? HR_OK : HR_ERR_NOT_FOUND);
            hr__object_close(o);
        }
        hr__store_destroy(s);
        assert_int_equal(b.alive, 0);
    }
}

static _Atomic int stop;

/* Writes whole values of one letter, of changing lengths, and new keys. */
static void *keep_setting(void *arg) {
    char text[300];
    char key[32];
    for (unsigned i = 0; stop == 0 && i < 1000000; i++) {
        size_t n = i % sizeof text;
        memset(text, 'a' + (int)(n % 26), n);
        (void)snprintf(key, sizeof key, "k%u", i % 4);
        if (i % 3 == 0) {
            (void)snprintf(key, sizeof key, "%s/%u", (const char *)arg, i % 3000);
        }
        if (hr__store_set(store, key, text, n, NULL) != HR_OK) {
            return "set";
        }
    }
    return NULL;
}

static const char *check_reads(int rounds) {
    char text[300];
    char key[32];
    for (int i = 0; i < rounds; i++) {
        (void)snprintf(key, sizeof key, "k%d", i % 4);
        hr__object *o = NULL;
        if (hr__store_open(store, key, &o, NULL) != HR_OK) {
            continue; /* not set yet */
        }
        if (o->nbytes > sizeof text ||
            hr__object_read(o, 0, o->nbytes, text, NULL) != HR_OK) {
            return "read";
        }
        for (uint64_t k = 0; k < o->nbytes; k++) {
            if (text[k] != (char)('a' + (int)(o->nbytes % 26))) {
                return "mixed value";
            }
        }
        hr__object_close(o);
    }
    return NULL;
}

static void readers_see_whole_values(void **state) {
    (void)state;
    stop = 0;
    pthread_t threads[2];
    static char names_of[2][2] = {"x", "y"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, keep_setting, names_of[i]), 0);
    }
    const char *problem = check_reads(20000);
    stop = 1;
    for (int i = 0; i < 2; i++) {
        void *other;
        (void)pthread_join(threads[i], &other);
        assert_null(other);
    }
    assert_null(problem);
}

static int use_in_child(void) {
    (void)alarm(60); /* rather than hang */
    if (check_reads(100) != NULL) {
        return 1;
    }
    for (int i = 0; i < 200; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "child/%d", i);
        hr__object *o = NULL;
        if (hr__store_set(store, key, key, sizeof key, NULL) != HR_OK ||
            hr__store_open(store, key, &o, NULL) != HR_OK) {
            return 2;
        }
        hr__object_close(o);
    }
    names n;
    if (list_names(store, "", 1 << 20, &n, NULL) != HR_OK ||
        strstr(n.text, "child/;") == NULL) {
        return 3;
    }
    hr__store_destroy(store);
    return 0;
}

static void a_child_finds_the_table_whole(void **state) {
    (void)state;
    SKIP_UNDER_TSAN();
    SKIP_UNDER_ASAN();
    stop = 0;
    pthread_t thread;
    static char name[] = "x";
    assert_int_equal(pthread_create(&thread, NULL, keep_setting, name), 0);
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            _exit(use_in_child());
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    stop = 1;
    (void)pthread_join(thread, NULL);
}

#define IN_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_STORE(what_was_set_is_found),
        IN_A_STORE(an_open_value_outlives_its_replacement),
        IN_A_STORE(thousands_of_keys_are_kept_apart),
        IN_A_STORE(lists_name_each_child_once),
        cmocka_unit_test(lack_of_memory_leaves_the_store_as_it_was),
        IN_A_STORE(readers_see_whole_values),
        IN_A_STORE(a_child_finds_the_table_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
