/* What a cancelled read still does, and what it leaves be. SPDX-License-Identifier: Apache-2.0
 */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>

#include <headrace/read_context.h>

#include "api/node.h"
#include "exec/context.h"
#include "store/store.h"

enum { PIECE = 1000, NPIECES = 10, LENGTH = PIECE * NPIECES };

/* A store whose reads wait to be let go: one value, of LENGTH bytes. */
typedef struct slow_store {
    hr_store base;
    sem_t begun, let_go;
    atomic_int nreads;
    bool asks; /* whether the batch was cancelled, and waits for nothing else */
} slow_store;

typedef struct slow_object {
    hr__object base;
    slow_store *store;
} slow_object;

static const char meta[] =
    "{\"zarr_format\":2,\"shape\":[10000],\"chunks\":[10000],\"dtype\":\"|u1\","
    "\"compressor\":null,\"filters\":null,\"fill_value\":0,\"order\":\"C\"}";

static hr_status slow_open(hr_store *self, const char *key,
                           const hr_read_context *reading, hr__object **out,
                           hr_error *err) {
    (void)reading;
    bool is_meta = strcmp(key, ".zarray") == 0;
    if (!is_meta && strcmp(key, "0") != 0) {
        return hr__fail(err, HR_ERR_NOT_FOUND, "no key %s", key);
    }
    slow_object *o = calloc(1, sizeof *o);
    o->base = (hr__object){.ops = self->ops,
                           .nbytes = is_meta ? sizeof meta - 1 : LENGTH,
                           .piece_nbytes = is_meta ? 0 : PIECE};
    o->store = (slow_store *)self;
    *out = &o->base;
    return HR_OK;
}

static hr_status slow_read(hr__object *object, uint64_t offset, uint64_t nbytes,
                           const hr_read_context *reading, void *dst, hr_error *err) {
    slow_store *s = ((slow_object *)object)->store;
    if (object->nbytes != LENGTH) {
        memcpy(dst, meta + offset, nbytes);
        return HR_OK;
    }
    atomic_fetch_add(&s->nreads, 1);
    (void)sem_post(&s->begun);
    while (s->asks && !hr_read_context_is_cancelled(reading)) {
        (void)usleep(1000);
    }
    if (s->asks) {
        return hr__fail(err, HR_ERR_IO, "given up");
    }
    (void)sem_wait(&s->let_go);
    memset(dst, 1, nbytes);
    return HR_OK;
}

static void slow_close(hr__object *object) {
    free(object);
}

static void slow_destroy(hr_store *self) {
    slow_store *s = (slow_store *)self;
    (void)sem_destroy(&s->begun);
    (void)sem_destroy(&s->let_go);
    free(s);
}

static const hr__store_ops slow_ops = {.abi_version = 1,
                                       .open = slow_open,
                                       .read = slow_read,
                                       .close = slow_close,
                                       .destroy = slow_destroy};

typedef struct world {
    hr_context *context;
    slow_store *store;
    hr_node *array;
    uint8_t out[LENGTH];
    hr_error err;
} world;

static int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    w->err = HR_ERROR_INIT;
    assert_int_equal(hr_context_create(NULL, &w->context, &w->err), HR_OK);
    w->store = calloc(1, sizeof *w->store);
    w->store->base = (hr_store){.ops = &slow_ops,
                                .context = hr_context_ref(w->context),
                                .allocator = &w->context->allocator,
                                .url = "slow://",
                                .refs = 1};
    (void)sem_init(&w->store->begun, 0, 0);
    (void)sem_init(&w->store->let_go, 0, 0);
    assert_int_equal(hr_open_store(&w->store->base, "", NULL, &w->array, &w->err), HR_OK);
    *state = w;
    return 0;
}

static int end_world(void **state) {
    world *w = *state;
    hr_node_unref(w->array);
    hr_store_unref(&w->store->base);
    hr_context_unref(w->context);
    free(w);
    return 0;
}

static hr_batch *submit(world *w) {
    static const int64_t shape[] = {LENGTH};
    hr_request r = HR_REQUEST_INIT;
    hr_batch *b = NULL;
    r.array = w->array;
    r.dst = (hr_tensor){.data = w->out, .ndim = 1, .shape = shape};
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    assert_int_equal(hr_read_submit(w->context, &r, 1, NULL, NULL, &b, &w->err), HR_OK);
    return b;
}

static void a_long_read_goes_in_pieces(void **state) {
    world *w = *state;
    for (int i = 0; i < NPIECES; i++) {
        (void)sem_post(&w->store->let_go);
    }
    hr_batch *b = submit(w);
    assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_OK);
    assert_int_equal(atomic_load(&w->store->nreads), NPIECES);
    for (int i = 0; i < LENGTH; i++) {
        assert_int_equal(w->out[i], 1);
    }
    hr_batch_unref(b);
}

static void a_cancelled_read_ends_with_its_piece_and_writes_no_more(void **state) {
    world *w = *state;
    hr_batch *b = submit(w);
    (void)sem_wait(&w->store->begun);
    (void)sem_post(&w->store->let_go);
    (void)sem_wait(&w->store->begun); /* in the second piece */
    hr_batch_cancel(b);
    assert_int_equal(hr_batch_wait(b, 1000000, &w->err), HR_ERR_TIMEOUT);
    (void)sem_post(&w->store->let_go);
    assert_int_equal(hr_batch_wait(b, -1, &w->err), HR_ERR_CANCELLED);
    assert_int_equal(atomic_load(&w->store->nreads), 2);
    for (int i = 0; i < LENGTH; i++) {
        assert_int_equal(w->out[i], i < 2 * PIECE);
    }
    hr_batch_unref(b);
}

static void a_store_that_asks_ends_its_read(void **state) {
    world *w = *state;
    w->store->asks = true;
    assert_int_equal(hr_read_context_is_cancelled(NULL), 0);
    hr_batch *b = submit(w);
    (void)sem_wait(&w->store->begun);
    hr_batch_cancel(b);
    assert_int_equal(hr_batch_wait(b, INT64_MAX, &w->err), HR_ERR_CANCELLED);
    assert_int_equal(atomic_load(&w->store->nreads), 1);
    hr_batch_unref(b);
}

/* A batch of very many chunks is dropped as a whole. */
static void dropping_is_quick_and_names_every_request(void **state) {
    (void)state;
    enum { N = 200000 };
    hr_context *context = NULL;
    hr_store *store = NULL;
    hr_node *array = NULL;
    hr_error err = HR_ERROR_INIT;
    static const char wide[] =
        "{\"zarr_format\":2,\"shape\":[200000],\"chunks\":[1],\"dtype\":\"|u1\","
        "\"compressor\":null,\"filters\":null,\"fill_value\":0,\"order\":\"C\"}";
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 1;
    assert_int_equal(hr_context_create(&o, &context, &err), HR_OK);
    assert_int_equal(hr_store_create_memory(context, &store, &err), HR_OK);
    assert_int_equal(hr_store_set(store, ".zarray", wide, sizeof wide - 1, &err), HR_OK);
    assert_int_equal(hr_open_store(store, "", NULL, &array, &err), HR_OK);
    uint8_t *out = malloc(N);
    static const int64_t shape[] = {N};
    hr_request r = HR_REQUEST_INIT;
    r.array = array;
    r.dst = (hr_tensor){.data = out, .ndim = 1, .shape = shape};
    r.dst.dtype = (hr_dtype){.kind = HR_KIND_UINT, .itemsize = 1};
    hr_batch *b = NULL;
    assert_int_equal(hr_read_submit(context, &r, 1, NULL, NULL, &b, &err), HR_OK);
    hr_batch_cancel(b);
    hr_status status = hr_batch_wait(b, -1, &err);
    assert_true(status == HR_ERR_CANCELLED || status == HR_OK);
    uint64_t ndone, nchunks;
    hr_batch_get_progress(b, &ndone, &nchunks);
    assert_int_equal(ndone, N);
    hr_batch_unref(b);
    free(out);
    hr_node_unref(array);
    hr_store_unref(store);
    hr_context_unref(context);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_long_read_goes_in_pieces),
        TEST(a_cancelled_read_ends_with_its_piece_and_writes_no_more),
        TEST(a_store_that_asks_ends_its_read),
        cmocka_unit_test(dropping_is_quick_and_names_every_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
