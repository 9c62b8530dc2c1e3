/* Reading files past the page cache (O_DIRECT). SPDX-License-Identifier: Apache-2.0
 *
 * Nothing here fails: what cannot be read this way is left to the usual one, whose errors
 * then tell what is wrong. */
#ifndef HR_STORE_DIRECT_H
#define HR_STORE_DIRECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/lock.h"
#include "core/log.h"

/* What a store needs for it; zeros: it does not read directly. */
typedef struct hr__direct {
    const hr_allocator *allocator;
    const hr__log *log;
    const char *url;
    bool is_on;
    atomic_bool is_told; /* that the file system refuses, once */
    hr__lock lock;
    struct hr__bounce *spare; /* guarded by the lock: aligned memory, one per reader */
} hr__direct;

/* Says to the log where the kernel does not allow it. `log` and `url` are borrowed. */
void hr__direct_init(hr__direct *d, const hr_allocator *a, const hr__log *log,
                     const char *url);
void hr__direct_free(hr__direct *d);

/* The open file `fd` once more, by its path below a directory. -1: read it as usual,
 * since it cannot be had, or is small and in the cache. */
int hr__direct_open(hr__direct *d, int directory, const char *path, int fd,
                    const struct stat *same);
/* Is at least half of a range in the page cache, so that it comes faster from there? */
bool hr__direct_is_cached(int fd, uint64_t offset, uint64_t nbytes);
/* Read from the descriptor that hr__direct_open gave. Returns how many bytes, from the
 * first on, are in dst now: fewer than asked where something is in the way. */
uint64_t hr__direct_read(hr__direct *d, int fd, uint64_t offset, uint64_t nbytes,
                         uint8_t *dst);

#endif
