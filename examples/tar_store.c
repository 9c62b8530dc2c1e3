/* A store of one's own: the arrays in a tar file, read where they lie.
 * SPDX-License-Identifier: Apache-2.0
 *
 *     tar cf /tmp/x.tar -C examples/data jacksboro.zarr
 *     tar_store /tmp/x.tar jacksboro.zarr/elevation
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <headrace/headrace.h>

#define BLOCK 512 /* of a tar file: headers, and what sizes are rounded up to */
#define MAX_MEMBERS 4096

typedef struct member {
    char name[256 + 1];
    uint64_t offset, nbytes;
} member;

/* Never changed once it is made, so that any number of threads may look into it. */
typedef struct tar {
    int fd;
    size_t nmembers;
    member members[MAX_MEMBERS];
} tar;

/* Header fields: name at 0, size (octal) at 124, type at 156, prefix of the name at 345.
 */
static int read_headers(tar *t) {
    char h[BLOCK + 1] = {0};
    for (uint64_t at = 0; pread(t->fd, h, BLOCK, (off_t)at) == BLOCK && h[0] != '\0';) {
        char size[13] = {0};
        memcpy(size, h + 124, 12);
        uint64_t nbytes = strtoull(size, NULL, 8);
        if (t->nmembers == MAX_MEMBERS || memcmp(h + 257, "ustar", 5) != 0) {
            return 0;
        }
        if (h[156] == '0' || h[156] == '\0') {
            member *m = &t->members[t->nmembers++];
            *m = (member){.offset = at + BLOCK, .nbytes = nbytes};
            (void)snprintf(m->name, sizeof m->name, "%.155s%s%.100s", h + 345,
                           h[345] != '\0' ? "/" : "", h);
        }
        at += BLOCK + (nbytes + BLOCK - 1) / BLOCK * BLOCK;
    }
    return 1;
}

/* A key that no member has is absent for certain: the whole table is here. */
static hr_status tar_open(void *user, const char *key, const hr_read_context *reading,
                          hr_custom_value *out, hr_error *err) {
    (void)reading;
    (void)err;
    tar *t = user;
    for (size_t i = 0; i < t->nmembers; i++) {
        member *m = &t->members[i];
        if (strcmp(m->name, key) == 0) {
            *out = (hr_custom_value){.handle = m, .nbytes = m->nbytes, .version = 1};
            return HR_OK;
        }
    }
    return HR_ERR_NOT_FOUND;
}

/* A file that ends too early gives fewer bytes than were asked for: headrace notices. */
static hr_status tar_read(void *user, void *handle, uint64_t offset, uint64_t nbytes,
                          void *dst, const hr_read_context *reading, uint64_t *nread,
                          hr_error *err) {
    (void)reading;
    const tar *t = user;
    const member *m = handle;
    while (*nread < nbytes) {
        ssize_t n = pread(t->fd, (char *)dst + *nread, nbytes - *nread,
                          (off_t)(m->offset + offset + *nread));
        if (n < 0 && errno != EINTR) {
            err->os_errno = errno;
            (void)snprintf(err->message, sizeof err->message, "cannot read the tar file");
            return HR_ERR_IO;
        }
        if (n == 0) {
            break;
        }
        *nread += n > 0 ? (uint64_t)n : 0;
    }
    return HR_OK;
}

static void tar_destroy(void *user) {
    tar *t = user;
    (void)close(t->fd);
    free(t);
}

static hr_status open_tar(hr_context *ctx, const char *path, hr_store **store,
                          hr_error *err) {
    tar *t = calloc(1, sizeof *t);
    const hr_custom_store functions = {.abi_version = HR_CUSTOM_STORE_VERSION,
                                       .url = path,
                                       .user = t,
                                       .gap_nbytes = 4096,
                                       .open = tar_open,
                                       .read = tar_read,
                                       .destroy = tar_destroy};
    if (t == NULL) {
        return err->status = HR_ERR_MEMORY;
    }
    t->fd = open(path, O_RDONLY | O_CLOEXEC);
    hr_status status = HR_ERR_IO;
    if (t->fd < 0 || !read_headers(t)) {
        err->status = HR_ERR_IO;
        (void)snprintf(err->message, sizeof err->message, "%s is no tar file", path);
    } else {
        status = hr_store_create_custom(ctx, &functions, store, err);
    }
    if (status != HR_OK) {
        tar_destroy(t);
    }
    return status;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: tar_store FILE ARRAY\n");
        return 2;
    }
    hr_error err = HR_ERROR_INIT;
    hr_context *ctx = NULL;
    hr_store *store = NULL;
    hr_node *array = NULL;
    hr_node_info info = HR_NODE_INFO_INIT;
    void *data = NULL;
    if (hr_context_create(NULL, &ctx, &err) || open_tar(ctx, argv[1], &store, &err) ||
        hr_open_store(store, argv[2], NULL, &array, &err) ||
        hr_node_describe(array, &info, &err)) {
        goto done;
    }
    uint64_t nelems = 1;
    for (int32_t i = 0; i < info.ndim; i++) {
        nelems *= (uint64_t)info.shape[i];
    }
    data = malloc(nelems * info.dtype.itemsize + 1);
    const hr_tensor dst = {
        .data = data, .dtype = info.dtype, .ndim = info.ndim, .shape = info.shape};
    if (hr_read(array, NULL, &dst, &err)) {
        goto done;
    }
    uint64_t sum = 0;
    for (uint64_t i = 0; i < nelems * info.dtype.itemsize; i++) {
        sum += ((const uint8_t *)data)[i];
    }
    printf("%s: %llu elements, whose bytes add up to %llu\n", info.url,
           (unsigned long long)nelems, (unsigned long long)sum);

done:
    if (err.status != HR_OK) {
        fprintf(stderr, "%s: %s\n", hr_status_name(err.status), err.message);
    }
    free(data);
    hr_node_unref(array);
    hr_store_unref(store);
    hr_context_unref(ctx);
    return err.status != HR_OK;
}
