/* A custom store that hands on what another store has, honestly or not.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_FORWARD_STORE_H
#define HR_TESTS_FORWARD_STORE_H

#include <stdatomic.h>
#include <unistd.h>

#include <headrace/headrace.h>

typedef struct forward {
    hr_store *inner; /* held until destroy */
    /* What happens instead; all 0 of an honest one. */
    hr_status open_status, read_status, list_status; /* given for every key of a chunk */
    const char *message;                             /* of these failures */
    int64_t claim;            /* added to the size of every chunk */
    int64_t give;             /* added to the number of bytes that reads of chunks give */
    const char *const *names; /* listed instead, NULL-terminated */
    useconds_t delay;         /* of every open and read of a chunk */
    /* Called with what is read; for chunks, not for metadata. */
    void (*on_open)(void *probe, const char *key, const hr_read_context *reading);
    void (*on_read)(void *probe, const hr_read_context *reading, uint64_t offset,
                    uint64_t nbytes);
    void *probe;
    atomic_int ntold; /* opens of metadata with something to read, which there is not */
    atomic_int nopened, nclosed, nread, ndestroyed;
} forward;

/* Functions over f, which must be there as long as the store. */
hr_custom_store forward_functions(forward *f);
/* A store over `inner`, of which f takes a reference. */
hr_store *forward_create(hr_context *context, hr_store *inner, forward *f);

#endif
