/* A directory as a store. SPDX-License-Identifier: Apache-2.0
 *
 * The directory is held open, so a later chdir or rename of it does not matter. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/hash.h"
#include "store/direct.h"
#include "store/store.h"

#define GAP_NBYTES 4096 /* a page more is cheaper than another call */
#define READ_MAX_NBYTES ((size_t)1 << 30)
#define PIECE_NBYTES (UINT64_C(8) << 20) /* some 50 ms of a slow disk */
#define SETTLED_NS 50000000 /* timestamps of files advance in ticks of up to 10 ms */

typedef struct directory {
    hr_store base;
    char *url;
    int fd;
    hr__direct direct;
} directory;

typedef struct file {
    hr__object base;
    const hr_allocator *allocator;
    int fd;
    int direct_fd; /* -1: not read past the page cache */
    hr__direct *direct;
} file;

static hr_status fail_io(hr_error *err, int os_errno, const char *what) {
    hr_status s = os_errno == ENOENT ? HR_ERR_NOT_FOUND : HR_ERR_IO;
    return hr__fail_errno(err, s, os_errno, "%s", what);
}

/* Where a key is not there: is it, or has somebody removed the whole directory? Then
 * nothing is known of the key, and it must not count as absent. */
static hr_status fail_open(const directory *d, int os_errno, const char *what,
                           hr_error *err) {
    struct stat st;
    if (os_errno == ENOENT && fstat(d->fd, &st) != 0) {
        return hr__fail_errno(err, HR_ERR_IO, errno,
                              "cannot examine the store's directory");
    }
    if (os_errno == ENOENT && st.st_nlink == 0) {
        return hr__fail(err, HR_ERR_IO, "the store's directory has been removed");
    }
    return fail_io(err, os_errno, what);
}

static int open_retrying(int fd, const char *path, int flags) {
    int r;
    do {
        r = openat(fd, path, flags | O_CLOEXEC);
    } while (r < 0 && errno == EINTR);
    return r;
}

/* A number that changes with the bytes; 0 while another change could still leave the
 * timestamps as they are. */
static uint64_t version_of(const struct stat *st) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return 0;
    }
    int64_t age_s = (int64_t)now.tv_sec - (int64_t)st->st_ctim.tv_sec;
    int64_t age_ns = now.tv_nsec - st->st_ctim.tv_nsec;
    if (age_s < 0 || (age_s < 2 && age_s * 1000000000 + age_ns < SETTLED_NS)) {
        return 0;
    }
    const uint64_t parts[] = {(uint64_t)st->st_dev,          (uint64_t)st->st_ino,
                              (uint64_t)st->st_size,         (uint64_t)st->st_mtim.tv_sec,
                              (uint64_t)st->st_mtim.tv_nsec, (uint64_t)st->st_ctim.tv_sec,
                              (uint64_t)st->st_ctim.tv_nsec};
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = hr__hash_mix(hash, parts[i]);
    }
    return hash == 0 ? 1 : hash;
}

static hr_status check_file(int fd, struct stat *st, hr_error *err) {
    if (fstat(fd, st) != 0) {
        return fail_io(err, errno, "cannot examine the file");
    }
    if (S_ISDIR(st->st_mode)) {
        return fail_io(err, EISDIR, "cannot open the file");
    }
    if (!S_ISREG(st->st_mode)) {
        return hr__fail(err, HR_ERR_IO, "not a regular file (mode %#o)",
                        (unsigned)st->st_mode);
    }
    return HR_OK;
}

static hr_status directory_open(hr_store *self, const char *key,
                                const hr_read_context *reading, hr__object **out,
                                hr_error *err) {
    /* O_NONBLOCK: the open of a FIFO shall not wait for a writer */
    directory *d = (directory *)self;
    int fd = open_retrying(d->fd, key, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return fail_open(d, errno, "cannot open the file", err);
    }
    struct stat st;
    hr_status s = check_file(fd, &st, err);
    if (s != HR_OK) {
        goto close_fd;
    }
    file *f = hr__alloc(self->allocator, sizeof *f);
    if (f == NULL) {
        s = hr__fail_memory(err, sizeof *f);
        goto close_fd;
    }
    *f = (file){.base = {.ops = self->ops,
                         .nbytes = (uint64_t)st.st_size,
                         .piece_nbytes = PIECE_NBYTES,
                         .version = version_of(&st)},
                .allocator = self->allocator,
                .fd = fd,
                .direct_fd = -1,
                .direct = &d->direct};
    if (reading != NULL) { /* documents shall stay in the cache */
        f->direct_fd = hr__direct_open(&d->direct, d->fd, key, fd, &st);
    }
    *out = &f->base;
    return HR_OK;

close_fd:
    (void)close(fd);
    return s;
}

static hr_status fail_short(const file *f, hr_error *err) {
    struct stat st;
    if (fstat(f->fd, &st) != 0) {
        return fail_io(err, errno, "cannot examine the file");
    }
    return hr__fail(err, HR_ERR_IO, "file is %lld bytes now, was %llu when it was opened",
                    (long long)st.st_size, (unsigned long long)f->base.nbytes);
}

/* Through the page cache, where indexes shall stay. */
static hr_status read_buffered(hr__object *object, uint64_t offset, uint64_t nbytes,
                               const hr_read_context *reading, void *dst, hr_error *err) {
    (void)reading;
    const file *f = (file *)object;
    uint64_t done = 0;
    while (done < nbytes) {
        size_t want = nbytes - done < READ_MAX_NBYTES ? nbytes - done : READ_MAX_NBYTES;
        ssize_t n = pread(f->fd, (uint8_t *)dst + done, want, (off_t)(offset + done));
        if (n < 0 && errno != EINTR) {
            return fail_io(err, errno, "cannot read the file");
        }
        if (n == 0) {
            return fail_short(f, err);
        }
        done += n > 0 ? (uint64_t)n : 0;
    }
    return HR_OK;
}

static hr_status directory_read(hr__object *object, uint64_t offset, uint64_t nbytes,
                                const hr_read_context *reading, void *dst,
                                hr_error *err) {
    const file *f = (file *)object;
    uint64_t done = 0;
    if (f->direct_fd >= 0 && !hr__direct_is_cached(f->fd, offset, nbytes)) {
        done = hr__direct_read(f->direct, f->direct_fd, offset, nbytes, dst);
        (void)atomic_fetch_add(&object->direct_nbytes, done);
    }
    return read_buffered(object, offset + done, nbytes - done, reading,
                         (uint8_t *)dst + done, err);
}

static void directory_close(hr__object *object) {
    file *f = (file *)object;
    (void)close(f->fd);
    if (f->direct_fd >= 0) {
        (void)close(f->direct_fd);
    }
    hr__free(f->allocator, f, sizeof *f);
}

typedef enum entry_kind { ENTRY_OTHER, ENTRY_FILE, ENTRY_DIRECTORY } entry_kind;

/* A directory while it is listed. */
typedef struct listing {
    const directory *store;
    const char *prefix;
    DIR *dir;
} listing;

static bool is_same_file(int fd, const char *path, const struct stat *st) {
    struct stat other;
    return fstatat(fd, path, &other, 0) == 0 && other.st_dev == st->st_dev &&
           other.st_ino == st->st_ino;
}

/* Does a link lead back to the directory that is listed, or to one above it in the store?
 * Whoever follows it comes round and round. */
static bool leads_back(const listing *l, const struct stat *st) {
    char path[HR__KEY_MAX + 1];
    (void)snprintf(path, sizeof path, "%s", l->prefix);
    for (char *end; path[0] != '\0'; *end = '\0') {
        if (is_same_file(l->store->fd, path, st)) {
            return true;
        }
        end = strrchr(path, '/');
        end = end != NULL ? end : path;
    }
    return is_same_file(l->store->fd, ".", st);
}

static entry_kind kind_of(const listing *l, const struct dirent *e) {
    if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK) {
        return e->d_type == DT_DIR   ? ENTRY_DIRECTORY
               : e->d_type == DT_REG ? ENTRY_FILE
                                     : ENTRY_OTHER;
    }
    struct stat st;
    if (fstatat(dirfd(l->dir), e->d_name, &st, 0) != 0) {
        /* Who opens it shall hear why; a link that leads nowhere is just absent. */
        return errno == ENOENT ? ENTRY_OTHER : ENTRY_FILE;
    }
    if (S_ISDIR(st.st_mode)) {
        return leads_back(l, &st) ? ENTRY_OTHER : ENTRY_DIRECTORY;
    }
    return S_ISREG(st.st_mode) ? ENTRY_FILE : ENTRY_OTHER;
}

static hr_status list_entries(const listing *l, const hr__list_sink *sink,
                              hr_error *err) {
    while (true) {
        errno = 0;
        const struct dirent *e = readdir(l->dir);
        if (e == NULL) {
            return errno == 0 ? HR_OK
                              : hr__fail_errno(err, HR_ERR_IO, errno,
                                               "cannot list the directory");
        }
        entry_kind kind = kind_of(l, e);
        if (kind != ENTRY_OTHER &&
            !sink->entry(sink->user, e->d_name, kind == ENTRY_DIRECTORY)) {
            return hr__fail(err, HR_ERR_MEMORY, "no memory for the list");
        }
    }
}

static hr_status directory_list(hr_store *self, const char *prefix,
                                const hr__list_sink *sink, hr_error *err) {
    listing l = {.store = (directory *)self, .prefix = prefix};
    int fd = open_retrying(l.store->fd, prefix[0] == '\0' ? "." : prefix,
                           O_RDONLY | O_DIRECTORY);
    l.dir = fd < 0 ? NULL : fdopendir(fd);
    if (l.dir == NULL) {
        hr_status s = fail_open(l.store, errno, "cannot open the directory", err);
        if (fd >= 0) {
            (void)close(fd);
        }
        return s == HR_ERR_NOT_FOUND ? HR_OK : s;
    }
    hr_status s = list_entries(&l, sink, err);
    (void)closedir(l.dir);
    return s;
}

static void directory_destroy(hr_store *self) {
    directory *d = (directory *)self;
    (void)close(d->fd);
    hr__direct_free(&d->direct);
    hr__free(self->allocator, d->url, strlen(d->url) + 1);
    hr__free(self->allocator, d, sizeof *d);
}

static const hr__store_ops directory_ops = {
    .abi_version = 1,
    .open = directory_open,
    .read = directory_read,
    .read_index = read_buffered,
    .close = directory_close,
    .list = directory_list,
    .destroy = directory_destroy,
};

/* file:// with an absolute path; as given where the current directory has no name. */
static char *make_url(const hr_allocator *a, const char *path) {
    char cwd[PATH_MAX] = "";
    bool relative = path[0] != '/' && getcwd(cwd, sizeof cwd) != NULL;
    const char *format = relative ? "file://%s/%s" : "file://%s%s";
    int n = snprintf(NULL, 0, format, cwd, path);
    char *url = n < 0 ? NULL : hr__alloc(a, (size_t)n + 1);
    if (url != NULL) {
        (void)snprintf(url, (size_t)n + 1, format, cwd, path);
    }
    return url;
}

hr_status hr__store_open_directory(hr_context *context, const hr_allocator *a,
                                   const char *path, hr_io_mode io, const hr__log *log,
                                   hr_store **out, hr_error *err) {
    directory *d = hr__alloc(a, sizeof *d);
    if (d == NULL) {
        return hr__fail_memory(err, sizeof *d);
    }
    char *url = make_url(a, path);
    hr_status s;
    if (url == NULL) {
        s = hr__fail_memory(err, strlen(path));
        goto free_store;
    }
    int fd = open_retrying(AT_FDCWD, path, O_PATH | O_DIRECTORY);
    if (fd < 0) {
        s = fail_io(err, errno, "cannot open the file or directory");
        hr__error_add_place(err, url, "", 0);
        goto free_url;
    }
    *d = (directory){.base = {.ops = &directory_ops,
                              .context = context,
                              .allocator = a,
                              .url = url,
                              .refs = 1,
                              .gap_nbytes = GAP_NBYTES},
                     .url = url,
                     .fd = fd};
    if (io == HR_IO_DIRECT) {
        hr__direct_init(&d->direct, a, log, url);
    }
    *out = &d->base;
    return HR_OK;

free_url:
    hr__free(a, url, strlen(url) + 1);
free_store:
    hr__free(a, d, sizeof *d);
    return s;
}
