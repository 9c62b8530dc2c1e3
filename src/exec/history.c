/* What the reads of a context took. SPDX-License-Identifier: Apache-2.0 */
#include "exec/history.h"

#include <math.h>

#include "core/hash.h"
#include "exec/run.h"

/* Beyond so much, what is older weighs half. */
#define MEMORY_NBYTES (UINT64_C(1) << 36)

uint64_t hr__history_alike(const hr__array *array, const char *codecs_json) {
    uint64_t hash = hr__hash_mix(0, array->stored.itemsize);
    for (const char *c = codecs_json; c != NULL && *c != '\0'; c++) {
        hash = hr__hash_mix(hash, (uint8_t)*c);
    }
    for (uint64_t n = array->chain.decoded.nbytes; n > 0; n >>= 1) {
        hash = hr__hash_mix(hash, 1); /* for each power of two */
    }
    return hash;
}

void hr__history_init(hr__history *h) {
    *h = (hr__history){0};
    hr__lock_init(&h->lock);
}

void hr__history_destroy(hr__history *h) {
    hr__lock_destroy(&h->lock);
}

static void enter(hr__history *h) {
    if (hr__lock_acquire(&h->lock) == HR__LOCK_BROKEN) {
        h->n = h->next = 0;
    }
}

static hr__past *find(hr__history *h, hr__history_key key) {
    for (uint32_t i = 0; i < h->n; i++) {
        if (hr__history_key_equal(h->entries[i].key, key)) {
            return &h->entries[i];
        }
    }
    return NULL;
}

static hr__past *find_or_make(hr__history *h, hr__history_key key) {
    hr__past *p = find(h, key);
    if (p == NULL) {
        p = &h->entries[h->next];
        h->n += h->n < HR__HISTORY_SIZE;
        h->next = (h->next + 1) % HR__HISTORY_SIZE;
        *p = (hr__past){.key = key, .kernels_ns = INFINITY, .kernels_rate = INFINITY};
    }
    return p;
}

static bool is_of_one_key(const hr__run *run) {
    const hr__target *first = &run->targets[0];
    for (size_t i = 0; i < run->ntargets; i++) {
        const hr__target *t = &run->targets[i];
        if (atomic_load(&t->status) != HR_OK || t->ring != first->ring ||
            t->source->alike != first->source->alike) {
            return false;
        }
    }
    return true;
}

static void learn_kernels(hr__past *p, const hr__run *run, uint64_t nbytes) {
    const uint64_t of_device = nbytes - atomic_load(&run->decoded_cpu_nbytes);
    const double ns = (double)atomic_load(&run->stages.ns[HR_STAGE_KERNELS]);
    if (of_device > 0) {
        const double rate = ns / (double)of_device;
        p->kernels_ns = ns < p->kernels_ns ? ns : p->kernels_ns;
        p->kernels_rate = rate < p->kernels_rate ? rate : p->kernels_rate;
    }
}

void hr__history_learn(hr__history *h, const hr__run *run) {
    const uint64_t nbytes = atomic_load(&run->decoded_nbytes);
    if (nbytes == 0 || atomic_load(&run->nkept_decoded) > 0 || !is_of_one_key(run)) {
        return;
    }
    const hr__target *t = &run->targets[0];
    const hr__history_key key = {.alike = t->source->alike,
                                 .device = hr__target_device(t)};
    enter(h);
    hr__past *p = find_or_make(h, key);
    const int old = p->decoded_nbytes > MEMORY_NBYTES;
    p->decoded_nbytes = (p->decoded_nbytes >> old) + nbytes;
    p->host_nbytes = (p->host_nbytes >> old) + atomic_load(&run->decoded_cpu_nbytes);
    p->copied_nbytes = (p->copied_nbytes >> old) + atomic_load(&run->copied_nbytes);
    learn_kernels(p, run, nbytes);
    for (int i = 0; i < HR_NSTAGES; i++) {
        p->ns[i] = (p->ns[i] >> old) + atomic_load(&run->stages.ns[i]);
    }
    hr__lock_release(&h->lock);
}

bool hr__history_foretell(hr__history *h, hr__history_key key, uint64_t nbytes,
                          uint64_t ns[HR_NSTAGES]) {
    enter(h);
    const hr__past *p = find(h, key);
    for (int i = 0; p != NULL && i < HR_NSTAGES; i++) {
        ns[i] +=
            (uint64_t)((double)p->ns[i] * ((double)nbytes / (double)p->decoded_nbytes));
    }
    const bool is_known = p != NULL;
    hr__lock_release(&h->lock);
    return is_known;
}

static double decode_rate(const hr__past *p) {
    return p == NULL || p->host_nbytes == 0
               ? -1
               : (double)p->ns[HR_STAGE_DECODE] / (double)p->host_nbytes;
}

static void work_out_costs(const hr__past *p, double host_rate, double nbytes,
                           hr__host_share_costs *c) {
    const double all = (double)p->decoded_nbytes, host = (double)p->host_nbytes;
    const double copy = p->copied_nbytes == 0
                            ? 0
                            : (double)p->ns[HR_STAGE_COPY] / (double)p->copied_nbytes;
    const double encoded = (double)p->copied_nbytes - host; /* host's went up decoded */
    const uint64_t of_threads = p->ns[HR_STAGE_OPEN] + p->ns[HR_STAGE_READ] +
                                p->ns[HR_STAGE_SCATTER] + p->ns[HR_STAGE_QUEUE];
    c->thread = (double)of_threads / all * nbytes;
    c->decode = host_rate < 0 ? -1 : host_rate * nbytes;
    c->copy_encoded = encoded > 0 ? encoded / (all - host) * copy * nbytes : 0;
    c->copy_decoded = copy * nbytes;
    c->kernels = p->kernels_rate * nbytes;
    c->latency = p->kernels_ns;
    c->store = (double)p->ns[HR_STAGE_STORE] / all * nbytes;
}

bool hr__history_costs(hr__history *h, hr__history_key key, double nbytes,
                       hr__host_share_costs *costs) {
    const hr__history_key on_host = {.alike = key.alike,
                                     .device = {.type = HR_DEVICE_CPU}};
    enter(h);
    const hr__past *p = find(h, key);
    const bool is_known = p != NULL && p->decoded_nbytes > p->host_nbytes;
    if (is_known) {
        const double rate = decode_rate(p);
        work_out_costs(p, rate < 0 ? decode_rate(find(h, on_host)) : rate, nbytes, costs);
    }
    hr__lock_release(&h->lock);
    return is_known;
}
