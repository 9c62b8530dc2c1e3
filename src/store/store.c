/* What all stores have in common: checks and messages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <string.h>

/* Why a segment of a key is not acceptable, or NULL. A backslash separates names on some
 * systems, so that it could hide a ".."; no store gives it a meaning here. */
static const char *segment_fault(const char *name, size_t n) {
    if (n == 0) {
        return "has an empty segment";
    }
    if (name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.'))) {
        return "has a segment \".\" or \"..\"";
    }
    return memchr(name, '\\', n) != NULL ? "contains a backslash" : NULL;
}

static hr_status check_key(const char *key, hr_error *err) {
    if (key == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "key is NULL");
    }
    size_t length = strnlen(key, HR__KEY_MAX + 1);
    if (length > HR__KEY_MAX) {
        return hr__fail(err, HR_ERR_ARGUMENT, "key is longer than %d bytes", HR__KEY_MAX);
    }
    const char *fault = NULL;
    for (const char *p = key; fault == NULL; p++) {
        size_t n = strcspn(p, "/");
        fault = segment_fault(p, n);
        p += n;
        if (*p == '\0') {
            break;
        }
    }
    return fault == NULL ? HR_OK : hr__fail(err, HR_ERR_ARGUMENT, "key %s", fault);
}

/* Tell where it happened. */
static hr_status placed(const hr_store *store, const char *key, hr_status status,
                        hr_error *err) {
    if (status != HR_OK) {
        hr__error_add_place(err, store->url, key, 0);
    }
    return status;
}

hr_status hr__store_open_for(hr_store *store, const char *key,
                             const hr_read_context *reading, hr__object **out,
                             hr_error *err) {
    hr_status s = check_key(key, err);
    if (s == HR_OK) {
        s = store->ops->open(store, key, reading, out, err);
    }
    return placed(store, key, s, err);
}

hr_status hr__store_open(hr_store *store, const char *key, hr__object **out,
                         hr_error *err) {
    return hr__store_open_for(store, key, NULL, out, err);
}

static hr_status check_range(const hr__object *object, uint64_t offset, uint64_t nbytes,
                             hr_error *err) {
    if (nbytes > object->nbytes || offset > object->nbytes - nbytes) {
        return hr__fail(err, HR_ERR_DATA,
                        "%llu bytes expected at offset %llu of an object of %llu bytes",
                        (unsigned long long)nbytes, (unsigned long long)offset,
                        (unsigned long long)object->nbytes);
    }
    return HR_OK;
}

hr_status hr__object_read_for(hr__object *object, uint64_t offset, uint64_t nbytes,
                              const hr_read_context *reading, void *dst, hr_error *err) {
    HR__TRY(check_range(object, offset, nbytes, err));
    return nbytes == 0 ? HR_OK
                       : object->ops->read(object, offset, nbytes, reading, dst, err);
}

hr_status hr__object_read_index(hr__object *object, uint64_t offset, uint64_t nbytes,
                                const hr_read_context *reading, void *dst,
                                hr_error *err) {
    if (object->ops->read_index == NULL) {
        return hr__object_read_for(object, offset, nbytes, reading, dst, err);
    }
    HR__TRY(check_range(object, offset, nbytes, err));
    return object->ops->read_index(object, offset, nbytes, reading, dst, err);
}

hr_status hr__object_read(hr__object *object, uint64_t offset, uint64_t nbytes, void *dst,
                          hr_error *err) {
    return hr__object_read_for(object, offset, nbytes, NULL, dst, err);
}

void hr__object_close(hr__object *object) {
    if (object != NULL) {
        object->ops->close(object);
    }
}

static hr_status get(hr__object *object, uint64_t max_nbytes, hr__arena *arena,
                     char **text, size_t *nbytes, hr_error *err) {
    if (object->nbytes > max_nbytes || object->nbytes == SIZE_MAX) {
        return hr__fail(err, HR_ERR_OVERFLOW, "object is %llu bytes, at most %llu",
                        (unsigned long long)object->nbytes,
                        (unsigned long long)max_nbytes);
    }
    char *p = hr__arena_alloc(arena, object->nbytes + 1);
    if (p == NULL) {
        return hr__fail_memory(err, object->nbytes + 1);
    }
    HR__TRY(hr__object_read(object, 0, object->nbytes, p, err));
    *text = p;
    *nbytes = object->nbytes;
    return HR_OK;
}

hr_status hr__store_get(hr_store *store, const char *key, uint64_t max_nbytes,
                        hr__arena *arena, char **text, size_t *nbytes, hr_error *err) {
    hr__object *object;
    HR__TRY(hr__store_open(store, key, &object, err));
    hr_status s = get(object, max_nbytes, arena, text, nbytes, err);
    hr__object_close(object);
    return placed(store, key, s, err);
}

hr_status hr__store_set(hr_store *store, const char *key, const void *data, size_t nbytes,
                        hr_error *err) {
    hr_status s = check_key(key, err);
    if (s == HR_OK && store->ops->set == NULL) {
        s = hr__fail(err, HR_ERR_UNSUPPORTED, "the store is read-only");
    }
    if (s == HR_OK) {
        s = store->ops->set(store, key, data, nbytes, err);
    }
    return placed(store, key, s, err);
}

/* Passes on what can be part of a key. */
static bool pass_name(void *user, const char *name, bool is_prefix) {
    const hr__list_sink *sink = user;
    return segment_fault(name, strlen(name)) != NULL ||
           sink->entry(sink->user, name, is_prefix);
}

hr_status hr__store_list(hr_store *store, const char *prefix, const hr__list_sink *sink,
                         hr_error *err) {
    bool is_root = prefix != NULL && prefix[0] == '\0';
    hr_status s = is_root ? HR_OK : check_key(prefix, err);
    if (s == HR_OK && store->ops->list == NULL) {
        s = hr__fail(err, HR_ERR_UNSUPPORTED, "the store cannot be listed");
    }
    if (s == HR_OK) {
        hr__list_sink names = {.user = (void *)(uintptr_t)sink, .entry = pass_name};
        s = store->ops->list(store, prefix, &names, err);
    }
    return placed(store, prefix, s, err);
}

void hr__store_destroy(hr_store *store) {
    store->ops->destroy(store);
}
