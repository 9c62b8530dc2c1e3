/* A store in memory. SPDX-License-Identifier: Apache-2.0
 *
 * Values are immutable and counted: who opened one keeps it, whatever is set meanwhile.
 * Every change of the table is published by storing one pointer, so that a process forked
 * in the middle of it finds the table whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/hash.h"
#include "core/lock.h"
#include "store/store.h"

#define FIRST_CAPACITY 64 /* a power of two */

typedef struct value {
    hr__object base;
    const hr_allocator *allocator;
    _Atomic uint32_t refs; /* the table, and each open */
    uint8_t data[];
} value;

typedef struct entry {
    uint64_t hash;
    value *value;
    char key[];
} entry;

/* Open addressing, never more than half full. */
typedef struct table {
    size_t capacity;
    entry *slots[];
} table;

typedef struct memory {
    hr_store base;
    hr__lock lock; /* guards all that follows */
    table *table;
    size_t count;
    entry **sorted; /* by key, for lists: all entries while nsorted == count */
    size_t nsorted;
    uint64_t version; /* of the latest value */
} memory;

static void value_unref(value *v) {
    if (v != NULL && atomic_fetch_sub(&v->refs, 1) == 1) {
        hr__free(v->allocator, v, sizeof *v + v->base.nbytes);
    }
}

static size_t table_nbytes(size_t capacity) {
    return sizeof(table) + capacity * sizeof(entry *);
}

static table *table_create(const hr_allocator *a, size_t capacity) {
    table *t = hr__calloc(a, table_nbytes(capacity));
    if (t != NULL) {
        t->capacity = capacity;
    }
    return t;
}

/* Where the key is, or where it would go. */
static entry **find_slot(table *t, uint64_t hash, const char *key) {
    size_t i = hash & (t->capacity - 1);
    while (t->slots[i] != NULL &&
           (t->slots[i]->hash != hash || strcmp(t->slots[i]->key, key) != 0)) {
        i = (i + 1) & (t->capacity - 1);
    }
    return &t->slots[i];
}

static uint64_t hash_of(const char *key) { /* FNV-1a */
    uint64_t h = 0xCBF29CE484222325;
    for (; *key != '\0'; key++) {
        h = (h ^ (uint8_t)*key) * 0x100000001B3;
    }
    return h ^ h >> 32;
}

static void acquire(memory *m) {
    if (hr__lock_acquire(&m->lock) == HR__LOCK_BROKEN) {
        m->count = 0; /* may lag behind the table */
        for (size_t i = 0; i < m->table->capacity; i++) {
            m->count += m->table->slots[i] != NULL;
        }
        m->sorted = NULL;
        m->nsorted = 0;
    }
}

static hr_status memory_open(hr_store *self, const char *key,
                             const hr_read_context *reading, hr__object **out,
                             hr_error *err) {
    (void)reading;
    memory *m = (memory *)self;
    acquire(m);
    const entry *e = *find_slot(m->table, hash_of(key), key);
    value *v = e == NULL ? NULL : e->value;
    if (v != NULL) {
        (void)atomic_fetch_add(&v->refs, 1);
    }
    hr__lock_release(&m->lock);
    if (v == NULL) {
        return hr__fail(err, HR_ERR_NOT_FOUND, "no such key");
    }
    *out = &v->base;
    return HR_OK;
}

static hr_status memory_read(hr__object *object, uint64_t offset, uint64_t nbytes,
                             const hr_read_context *reading, void *dst, hr_error *err) {
    (void)reading;
    (void)err;
    memcpy(dst, ((value *)object)->data + offset, nbytes);
    return HR_OK;
}

static void memory_close(hr__object *object) {
    value_unref((value *)object);
}

/* Room for one entry more. The old table stays as it is until the new one is in place. */
static bool reserve(memory *m) {
    table *old = m->table;
    if (m->count < old->capacity / 2) {
        return true;
    }
    table *t = table_create(m->base.allocator, old->capacity * 2);
    if (t == NULL) {
        return false;
    }
    for (size_t i = 0; i < old->capacity; i++) {
        entry *e = old->slots[i];
        if (e != NULL) {
            *find_slot(t, e->hash, e->key) = e;
        }
    }
    __atomic_store_n(&m->table, t, __ATOMIC_RELEASE);
    hr__free(m->base.allocator, old, table_nbytes(old->capacity));
    return true;
}

/* Put v under key; the value that was there in *old. Inside the lock. */
static bool put(memory *m, const char *key, value *v, value **old) {
    uint64_t hash = hash_of(key);
    entry **slot = find_slot(m->table, hash, key);
    v->base.version = ++m->version;
    if (*slot != NULL) {
        *old = (*slot)->value;
        __atomic_store_n(&(*slot)->value, v, __ATOMIC_RELEASE);
        return true;
    }
    size_t key_nbytes = strlen(key) + 1;
    entry *e = hr__alloc(m->base.allocator, sizeof *e + key_nbytes);
    if (e == NULL) {
        return false;
    }
    if (!reserve(m)) {
        hr__free(m->base.allocator, e, sizeof *e + key_nbytes);
        return false;
    }
    e->hash = hash;
    e->value = v;
    memcpy(e->key, key, key_nbytes);
    __atomic_store_n(find_slot(m->table, hash, key), e, __ATOMIC_RELEASE);
    m->count++;
    return true;
}

static hr_status memory_set(hr_store *self, const char *key, const void *data,
                            size_t nbytes, hr_error *err) {
    memory *m = (memory *)self;
    uint64_t total;
    value *v = NULL;
    if (hr__add_u64(sizeof *v, nbytes, &total)) {
        v = hr__alloc(self->allocator, total);
    }
    if (v == NULL) {
        return hr__fail_memory(err, nbytes);
    }
    v->base = (hr__object){.ops = self->ops, .nbytes = nbytes};
    v->allocator = self->allocator;
    atomic_init(&v->refs, 1);
    if (nbytes > 0) {
        memcpy(v->data, data, nbytes);
    }
    value *old = NULL;
    acquire(m);
    bool ok = put(m, key, v, &old);
    hr__lock_release(&m->lock);
    value_unref(ok ? old : v);
    return ok ? HR_OK : hr__fail_memory(err, strlen(key));
}

/* A child of a prefix: part of a key, which the store keeps as long as it lives. */
typedef struct child {
    const char *name;
    size_t length;
    bool is_prefix;
} child;

static int compare_children(const void *a, const void *b) {
    const child *x = a;
    const child *y = b;
    int c = memcmp(x->name, y->name, x->length < y->length ? x->length : y->length);
    if (c != 0) {
        return c;
    }
    if (x->length != y->length) {
        return x->length < y->length ? -1 : 1;
    }
    return (int)x->is_prefix - (int)y->is_prefix;
}

static int compare_keys(const void *a, const void *b) {
    return strcmp((*(entry *const *)a)->key, (*(entry *const *)b)->key);
}

/* Bring the sorted entries up to date. Inside the lock; false without memory. */
static bool sort_entries(memory *m) {
    if (m->nsorted == m->count) { /* keys are only ever added */
        return true;
    }
    const hr_allocator *a = m->base.allocator;
    entry **sorted = hr__alloc(a, m->count * sizeof(void *));
    if (sorted == NULL) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < m->table->capacity; i++) {
        if (m->table->slots[i] != NULL) {
            sorted[n++] = m->table->slots[i];
        }
    }
    qsort(sorted, n, sizeof(void *), compare_keys);
    hr__free(a, m->sorted, m->nsorted * sizeof(void *));
    m->sorted = sorted;
    m->nsorted = n;
    return true;
}

/* The first sorted entry whose key does not begin with less than n bytes of `prefix`;
 * with `after`, not with these either. */
static size_t bound(const memory *m, const char *prefix, size_t n, bool after) {
    size_t low = 0;
    size_t high = m->nsorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = strncmp(m->sorted[middle]->key, prefix, n);
        if (c < 0 || (after && c == 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Children below a prefix ("" or one that ends in a slash), the same one perhaps many
 * times. Inside the lock; NULL without memory, or where *n is 0. */
static child *collect(const memory *m, const char *prefix, size_t *n) {
    if (m->sorted == NULL) {
        *n = 0;
        return NULL;
    }
    size_t skip = strlen(prefix);
    size_t first = bound(m, prefix, skip, false);
    size_t end = bound(m, prefix, skip, true);
    child *children = hr__alloc(m->base.allocator, (end - first) * sizeof *children);
    for (size_t i = first; children != NULL && i < end; i++) {
        const char *name = m->sorted[i]->key + skip;
        size_t length = strcspn(name, "/");
        children[i - first] = (child){name, length, name[length] == '/'};
    }
    *n = end - first;
    return children;
}

/* Sorted, each one once. The sink is called outside the lock: it may use the store. */
static bool report(child *children, size_t n, const hr__list_sink *sink) {
    char name[HR__KEY_MAX + 1];
    qsort(children, n, sizeof *children, compare_children);
    for (size_t i = 0; i < n; i++) {
        const child *c = &children[i];
        if (i > 0 && compare_children(c - 1, c) == 0) {
            continue;
        }
        memcpy(name, c->name, c->length);
        name[c->length] = '\0';
        if (!sink->entry(sink->user, name, c->is_prefix)) {
            return false;
        }
    }
    return true;
}

static hr_status memory_list(hr_store *self, const char *prefix,
                             const hr__list_sink *sink, hr_error *err) {
    memory *m = (memory *)self;
    char start[HR__KEY_MAX + 2];
    (void)snprintf(start, sizeof start, "%s%s", prefix, prefix[0] != '\0' ? "/" : "");
    size_t n = 0;
    acquire(m);
    bool ok = sort_entries(m);
    child *children = ok ? collect(m, start, &n) : NULL;
    hr__lock_release(&m->lock);
    if (ok && n == 0) {
        return HR_OK;
    }
    if (children == NULL) {
        return hr__fail_memory(err, n * sizeof *children);
    }
    ok = report(children, n, sink);
    hr__free(self->allocator, children, n * sizeof *children);
    return ok ? HR_OK : hr__fail(err, HR_ERR_MEMORY, "no memory for the list");
}

static void memory_destroy(hr_store *self) {
    memory *m = (memory *)self;
    const hr_allocator *a = self->allocator;
    for (size_t i = 0; i < m->table->capacity; i++) {
        entry *e = m->table->slots[i];
        if (e != NULL) {
            value_unref(e->value);
            hr__free(a, e, sizeof *e + strlen(e->key) + 1);
        }
    }
    hr__free(a, m->sorted, m->nsorted * sizeof(void *));
    hr__free(a, m->table, table_nbytes(m->table->capacity));
    hr__lock_destroy(&m->lock);
    hr__free(a, m, sizeof *m);
}

static const hr__store_ops memory_ops = {
    .abi_version = 1,
    .open = memory_open,
    .read = memory_read,
    .close = memory_close,
    .list = memory_list,
    .set = memory_set,
    .destroy = memory_destroy,
};

hr_status hr__store_create_memory(hr_context *context, const hr_allocator *a,
                                  hr_store **out, hr_error *err) {
    memory *m = hr__calloc(a, sizeof *m);
    if (m == NULL) {
        return hr__fail_memory(err, sizeof *m);
    }
    m->table = table_create(a, FIRST_CAPACITY);
    if (m->table == NULL) {
        hr__free(a, m, sizeof *m);
        return hr__fail_memory(err, table_nbytes(FIRST_CAPACITY));
    }
    m->base = (hr_store){.ops = &memory_ops,
                         .context = context,
                         .allocator = a,
                         .url = "memory://",
                         .refs = 1};
    /* not as in another store of an overlay: a value that moves has another version */
    m->version = hr__hash_mix(1, (uintptr_t)m);
    hr__lock_init(&m->lock);
    *out = &m->base;
    return HR_OK;
}
