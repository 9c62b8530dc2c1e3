/* A custom store that hands on what another store has, honestly or not.
 * SPDX-License-Identifier: Apache-2.0 */
#include "support/forward_store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

/* Metadata is always told as it is, so that there is something to read. */
static bool is_chunk(const char *key) {
    const char *name = strrchr(key, '/');
    name = name != NULL ? name + 1 : key;
    return name[0] >= '0' && name[0] <= '9';
}

static hr_status fail(const forward *f, hr_status status, hr_error *err) {
    if (f->message != NULL) { /* nobody keeps a store from filling all of it */
        memset(err->message, 'x', sizeof err->message);
        (void)memcpy(err->message, f->message, strlen(f->message));
        memset(err->codec, 'y', sizeof err->codec);
        err->struct_size = 3;
        err->os_errno = 5;
    }
    return status;
}

typedef struct opened {
    hr__object *object;
    bool is_chunk;
} opened;

static hr_status forward_open(void *user, const char *key, const hr_read_context *reading,
                              hr_custom_value *out, hr_error *err) {
    forward *f = user;
    bool chunk = is_chunk(key);
    if (chunk) {
        (void)usleep(f->delay);
    }
    (void)atomic_fetch_add(&f->ntold, !chunk && reading != NULL);
    if (chunk && f->on_open != NULL) {
        f->on_open(f->probe, key, reading);
    }
    if (chunk && f->open_status != HR_OK) {
        return fail(f, f->open_status, err);
    }
    hr__object *object = NULL;
    HR__TRY(hr__store_open(f->inner, key, &object, err));
    opened *o = malloc(sizeof *o);
    *o = (opened){.object = object, .is_chunk = chunk};
    *out = (hr_custom_value){.handle = o,
                             .nbytes = object->nbytes + (uint64_t)(chunk ? f->claim : 0),
                             .version = object->version};
    (void)atomic_fetch_add(&f->nopened, 1);
    return HR_OK;
}

static hr_status forward_read(void *user, void *handle, uint64_t offset, uint64_t nbytes,
                              void *dst, const hr_read_context *reading, uint64_t *nread,
                              hr_error *err) {
    forward *f = user;
    const opened *o = handle;
    (void)atomic_fetch_add(&f->nread, 1);
    if (o->is_chunk) {
        (void)usleep(f->delay);
        if (f->on_read != NULL) {
            f->on_read(f->probe, reading, offset, nbytes);
        }
        if (f->read_status != HR_OK) {
            return fail(f, f->read_status, err);
        }
    }
    if (offset < o->object->nbytes) {
        uint64_t rest = o->object->nbytes - offset;
        HR__TRY(
            hr__object_read(o->object, offset, nbytes < rest ? nbytes : rest, dst, err));
    }
    *nread = nbytes + (uint64_t)(o->is_chunk ? f->give : 0);
    return HR_OK;
}

static void forward_close(void *user, void *handle) {
    (void)atomic_fetch_add(&((forward *)user)->nclosed, 1);
    hr__object_close(((opened *)handle)->object);
    free(handle);
}

typedef struct listing {
    int (*entry)(void *sink, const char *name, int is_prefix);
    void *sink;
} listing;

static bool pass(void *user, const char *name, bool is_prefix) {
    const listing *l = user;
    return l->entry(l->sink, name, is_prefix) != 0;
}

static hr_status forward_list(void *user, const char *prefix,
                              int (*entry)(void *sink, const char *name, int is_prefix),
                              void *sink, hr_error *err) {
    forward *f = user;
    if (f->list_status != HR_OK) {
        return fail(f, f->list_status, err);
    }
    if (f->names != NULL) {
        for (const char *const *name = f->names; *name != NULL; name++) {
            (void)entry(sink, *name, 1); /* goes on, whatever it is told */
        }
        return HR_OK;
    }
    listing l = {.entry = entry, .sink = sink};
    const hr__list_sink own = {.user = &l, .entry = pass};
    return hr__store_list(f->inner, prefix, &own, err);
}

static void forward_destroy(void *user) {
    forward *f = user;
    (void)atomic_fetch_add(&f->ndestroyed, 1);
    hr_store_unref(f->inner);
}

hr_custom_store forward_functions(forward *f) {
    return (hr_custom_store){.abi_version = HR_CUSTOM_STORE_VERSION,
                             .url = "forward://place",
                             .user = f,
                             .open = forward_open,
                             .read = forward_read,
                             .close = forward_close,
                             .list = forward_list,
                             .destroy = forward_destroy};
}

hr_store *forward_create(hr_context *context, hr_store *inner, forward *f) {
    hr_custom_store functions = forward_functions(f);
    hr_store *store = NULL;
    f->inner = hr_store_ref(inner);
    return hr_store_create_custom(context, &functions, &store, NULL) == HR_OK ? store
                                                                              : NULL;
}
