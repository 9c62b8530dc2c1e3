/* Reading files past the page cache (O_DIRECT). SPDX-License-Identifier: Apache-2.0 */
#include "store/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.h"

/* Of offset, size and memory; no block device in use has larger blocks, and one that had
 * would refuse. */
#define ALIGNMENT UINT64_C(4096)
#define BOUNCE_NBYTES (UINT64_C(4) << 20)
#define READ_MAX_NBYTES (UINT64_C(1) << 30)

/* The C library does not know it yet. */
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

struct hr__bounce {
    struct hr__bounce *next;
    uint8_t *data; /* aligned, BOUNCE_NBYTES, in the same allocation */
};

#define BOUNCE_ALLOCATION (sizeof(struct hr__bounce) + ALIGNMENT + BOUNCE_NBYTES)

typedef struct cached_range {
    uint64_t offset, nbytes;
} cached_range;

typedef struct cached_pages {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
} cached_pages;

static long count_cached(int fd, cached_range range, cached_pages *pages) {
    return syscall(SYS_cachestat, fd, &range, pages, 0);
}

static void tell(hr__direct *d, int os_errno) {
    if (!atomic_exchange(&d->is_told, true)) {
        hr_error why = HR_ERROR_INIT;
        (void)hr__fail_errno(&why, HR_ERR_IO, os_errno,
                             "cannot read past the page cache, so files are read through "
                             "it");
        hr__log_write(d->log, HR_LOG_WARNING, "%s: %s", d->url, why.message);
    }
}

/* Only kernels with that call keep memory that is being read into apart from a fork. */
void hr__direct_init(hr__direct *d, const hr_allocator *a, const hr__log *log,
                     const char *url) {
    *d = (hr__direct){.allocator = a, .log = log, .url = url};
    hr__lock_init(&d->lock);
    cached_pages pages;
    d->is_on = count_cached(-1, (cached_range){0, 0}, &pages) < 0 && errno == EBADF;
    if (!d->is_on) {
        tell(d, errno);
    }
}

void hr__direct_free(hr__direct *d) {
    struct hr__bounce *next;
    for (struct hr__bounce *b = d->spare; b != NULL; b = next) {
        next = b->next;
        hr__free(d->allocator, b, BOUNCE_ALLOCATION);
    }
}

bool hr__direct_is_cached(int fd, uint64_t offset, uint64_t nbytes) {
    cached_pages pages;
    const uint64_t all = nbytes / (uint64_t)sysconf(_SC_PAGESIZE) + 1;
    return count_cached(fd, (cached_range){offset, nbytes}, &pages) == 0 &&
           pages.cached * 2 >= all;
}

int hr__direct_open(hr__direct *d, int directory, const char *path, int fd,
                    const struct stat *same) {
    const uint64_t nbytes = (uint64_t)same->st_size;
    if (!d->is_on || (nbytes <= BOUNCE_NBYTES && hr__direct_is_cached(fd, 0, nbytes))) {
        return -1;
    }
    int direct = openat(directory, path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOCTTY);
    if (direct < 0) {
        tell(d, errno);
        return -1;
    }
    struct stat st;
    if (fstat(direct, &st) != 0 || st.st_dev != same->st_dev ||
        st.st_ino != same->st_ino) {
        (void)close(direct);
        return -1;
    }
    return direct;
}

static struct hr__bounce *take_bounce(hr__direct *d) {
    if (hr__lock_acquire(&d->lock) == HR__LOCK_BROKEN) {
        d->spare = NULL; /* some may be on it twice */
    }
    struct hr__bounce *b = d->spare;
    if (b != NULL) {
        d->spare = b->next;
    }
    hr__lock_release(&d->lock);
    if (b == NULL) {
        b = hr__alloc(d->allocator, BOUNCE_ALLOCATION);
        if (b != NULL) {
            const uintptr_t end = (uintptr_t)(b + 1);
            b->data = (uint8_t *)(b + 1) + (ALIGNMENT - end % ALIGNMENT) % ALIGNMENT;
        }
    }
    return b;
}

static void give_bounce(hr__direct *d, struct hr__bounce *b) {
    if (hr__lock_acquire(&d->lock) == HR__LOCK_BROKEN) {
        d->spare = NULL;
    }
    b->next = d->spare;
    d->spare = b;
    hr__lock_release(&d->lock);
}

static ssize_t read_retrying(hr__direct *d, int fd, void *dst, uint64_t nbytes,
                             uint64_t offset) {
    ssize_t n;
    do {
        n = pread(fd, dst, nbytes, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        tell(d, errno);
    }
    return n;
}

/* By way of aligned memory. Returns what came, 0 at the end or where it failed. */
static uint64_t read_bounced(hr__direct *d, int fd, uint64_t offset, uint64_t nbytes,
                             uint8_t *dst) {
    struct hr__bounce *b = take_bounce(d);
    if (b == NULL) {
        return 0;
    }
    const uint64_t skip = offset % ALIGNMENT;
    uint64_t all = (skip + nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    all = all < BOUNCE_NBYTES ? all : BOUNCE_NBYTES;
    const ssize_t n = read_retrying(d, fd, b->data, all, offset - skip);
    uint64_t got = n > 0 && (uint64_t)n > skip ? (uint64_t)n - skip : 0;
    got = got < nbytes ? got : nbytes;
    memcpy(dst, b->data + skip, got);
    give_bounce(d, b);
    return got;
}

/* Where everything is aligned; a large read's unaligned end is left for a second one. */
static bool can_go_straight(uint64_t offset, uint64_t nbytes, const uint8_t *dst) {
    return offset % ALIGNMENT == 0 && (uintptr_t)dst % ALIGNMENT == 0 &&
           (nbytes % ALIGNMENT == 0 || nbytes > BOUNCE_NBYTES);
}

uint64_t hr__direct_read(hr__direct *d, int fd, uint64_t offset, uint64_t nbytes,
                         uint8_t *dst) {
    uint64_t done = 0;
    while (done < nbytes) {
        const uint64_t at = offset + done, rest = nbytes - done;
        uint64_t n = rest < READ_MAX_NBYTES ? rest : READ_MAX_NBYTES;
        if (can_go_straight(at, rest, dst + done)) {
            const ssize_t got =
                read_retrying(d, fd, dst + done, n / ALIGNMENT * ALIGNMENT, at);
            n = got > 0 ? (uint64_t)got : 0;
        } else {
            n = read_bounced(d, fd, at, n, dst + done);
        }
        if (n == 0) {
            break;
        }
        done += n;
    }
    return done;
}
