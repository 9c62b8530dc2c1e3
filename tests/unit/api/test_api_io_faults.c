/* System calls that fail, each in its turn: the bytes come out exact, or the error says
 * where it happened. SPDX-License-Identifier: Apache-2.0
 *
 * The program is linked with --wrap for these calls (tests/CMakeLists.txt). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"

typedef enum call {
    CALL_OPENAT,
    CALL_FSTAT,
    CALL_PREAD,
    CALL_FDOPENDIR,
    CALL_READDIR,
    CALL_DIRECT /* added to a call: for a file that is read past the page cache */
} call;

typedef enum outcome {
    EXACT, /* as if nothing had happened */
    FAILS  /* HR_ERR_IO with that errno, url and key */
} outcome;

/* What a call does in place of its work. */
typedef struct fault {
    call call;
    int os_errno; /* 0: it gives `nbytes` bytes and no error */
    size_t nbytes;
    outcome outcome;
} fault;

static const fault faults[] = {
    {.call = CALL_OPENAT, .os_errno = EINTR, .outcome = EXACT},
    {.call = CALL_OPENAT, .os_errno = EIO, .outcome = FAILS},
    {.call = CALL_OPENAT, .os_errno = EACCES, .outcome = FAILS},
    {.call = CALL_OPENAT, .os_errno = EAGAIN, .outcome = FAILS},
    {.call = CALL_OPENAT, .os_errno = EMFILE, .outcome = FAILS},
    {.call = CALL_FSTAT, .os_errno = EIO, .outcome = FAILS},
    {.call = CALL_FSTAT, .os_errno = EACCES, .outcome = FAILS},
    {.call = CALL_PREAD, .os_errno = EINTR, .outcome = EXACT},
    {.call = CALL_PREAD, .nbytes = 1, .outcome = EXACT},
    {.call = CALL_PREAD, .nbytes = 0, .outcome = FAILS},
    {.call = CALL_PREAD, .os_errno = EIO, .outcome = FAILS},
    {.call = CALL_PREAD, .os_errno = EACCES, .outcome = FAILS},
    {.call = CALL_PREAD, .os_errno = EAGAIN, .outcome = FAILS},
    {.call = CALL_PREAD, .os_errno = ESTALE, .outcome = FAILS},
    {.call = CALL_FDOPENDIR, .os_errno = ENOMEM, .outcome = FAILS},
    {.call = CALL_READDIR, .os_errno = EIO, .outcome = FAILS},
};

/* Whatever happens to a direct read, the usual one makes up for it. */
static const fault direct_faults[] = {
    {.call = CALL_DIRECT + CALL_OPENAT, .os_errno = EINVAL},
    {.call = CALL_DIRECT + CALL_OPENAT, .os_errno = EMFILE},
    {.call = CALL_DIRECT + CALL_OPENAT, .os_errno = EINTR},
    {.call = CALL_DIRECT + CALL_FSTAT, .os_errno = EIO},
    {.call = CALL_DIRECT + CALL_PREAD, .os_errno = EINTR},
    {.call = CALL_DIRECT + CALL_PREAD, .os_errno = EINVAL},
    {.call = CALL_DIRECT + CALL_PREAD, .os_errno = EIO},
    {.call = CALL_DIRECT + CALL_PREAD, .os_errno = EAGAIN},
    {.call = CALL_DIRECT + CALL_PREAD, .nbytes = 0},
    {.call = CALL_DIRECT + CALL_PREAD, .nbytes = 1},
    {.call = CALL_DIRECT + CALL_PREAD, .nbytes = 3},
};

static const fault *_Atomic armed; /* NULL: all calls work */
static atomic_long countdown;      /* calls of its kind that still work */
static atomic_bool fired;

/* Is this the call that the fault is for? */
static bool is_struck(call c) {
    const fault *f = atomic_load(&armed);
    if (f == NULL || f->call != c || atomic_fetch_sub(&countdown, 1) != 0) {
        return false;
    }
    atomic_store(&fired, true);
    errno = f->os_errno;
    return true;
}

static call call_of(call c, int fd) {
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_DIRECT) != 0 ? CALL_DIRECT + c : c;
}

long __wrap_syscall(long number, ...);
int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
ssize_t __real_pread(int fd, void *buffer, size_t nbytes, off_t offset);
ssize_t __wrap_pread(int fd, void *buffer, size_t nbytes, off_t offset);
DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);

/* cachestat, of a file whose owner is somebody else: so that nothing counts as cached. */
long __wrap_syscall(long number, ...) {
    va_list args;
    va_start(args, number);
    errno = va_arg(args, int) < 0 ? EBADF : EPERM;
    va_end(args);
    return -1;
}

int __wrap_openat(int fd, const char *path, int flags, ...) {
    return is_struck((flags & O_DIRECT) != 0 ? CALL_DIRECT + CALL_OPENAT : CALL_OPENAT)
               ? -1
               : __real_openat(fd, path, flags);
}

int __wrap_fstat(int fd, struct stat *st) {
    return is_struck(call_of(CALL_FSTAT, fd)) ? -1 : __real_fstat(fd, st);
}

ssize_t __wrap_pread(int fd, void *buffer, size_t nbytes, off_t offset) {
    const fault *f = atomic_load(&armed);
    if (!is_struck(call_of(CALL_PREAD, fd))) {
        return __real_pread(fd, buffer, nbytes, offset);
    }
    if (f->os_errno != 0) {
        return -1;
    }
    return __real_pread(fd, buffer, f->nbytes < nbytes ? f->nbytes : nbytes, offset);
}

DIR *__wrap_fdopendir(int fd) {
    return is_struck(CALL_FDOPENDIR) ? NULL : __real_fdopendir(fd);
}

struct dirent *__wrap_readdir(DIR *dir) {
    return is_struck(CALL_READDIR) ? NULL : __real_readdir(dir);
}

/* --- what is read --- */

static char root[] = "faults-XXXXXX";

static void write_file(const char *name, const void *data, size_t nbytes) {
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = strchr(path + sizeof root, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, nbytes, f), nbytes);
    assert_int_equal(fclose(f), 0);
}

#define ARRAY_HEAD                                                                       \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"attributes\":{},\"fill_value\":7,"     \
    "\"data_type\":\"uint8\",\"chunk_key_encoding\":{\"name\":\"default\"},"
#define GRID(shape)                                                                      \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[" shape    \
    "]}},"

static void write_arrays(void) {
    static const char group[] =
        "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{}}";
    static const char plain[] =
        ARRAY_HEAD GRID("4") "\"shape\":[12],\"codecs\":[{\"name\":\"bytes\"}]}";
    static const char shards[] = ARRAY_HEAD GRID(
        "6") "\"shape\":[12],\"codecs\":[{\"name\":\"sharding_indexed\","
             "\"configuration\":"
             "{\"chunk_shape\":[2],\"codecs\":[{\"name\":\"bytes\"}],\"index_codecs\":["
             "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]}}]}";
    write_file("zarr.json", group, strlen(group));
    write_file("plain/zarr.json", plain, strlen(plain));
    write_file("plain/c/0", "\1\2\3\4", 4);
    write_file("plain/c/2", "\11\12\13\14", 4);
    write_file("shards/zarr.json", shards, strlen(shards));
    uint8_t shard[6 + 3 * 16] = {1, 2, 3, 4, 5, 6}; /* bytes, then offset and size each */
    for (uint8_t i = 0; i < 3; i++) {
        shard[6 + 16 * i] = (uint8_t)(2 * i);
        shard[6 + 16 * i + 8] = 2;
    }
    write_file("shards/c/0", shard, sizeof shard);
}

static const uint8_t wanted[2][12] = {{1, 2, 3, 4, 7, 7, 7, 7, 9, 10, 11, 12},
                                      {1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7}};

/* --- reading it --- */

typedef struct reading {
    int32_t device;
    const char *step; /* the latest */
    hr_context *context;
    hr_node *group, *arrays[2];
    hr_error err;
} reading;

static hr_status open_all(reading *r) {
    r->step = "open";
    hr_status status = hr_open(r->context, root, NULL, &r->group, &r->err);
    if (status != HR_OK) {
        return status;
    }
    r->step = "list";
    hr_member_list *list = NULL;
    status = hr_node_list(r->group, 1, &list, &r->err);
    if (status != HR_OK) {
        return status;
    }
    assert_int_equal(hr_member_list_size(list), 2);
    hr_member_list_free(list);
    r->step = "open arrays";
    status = hr_node_open(r->group, "plain", &r->arrays[0], &r->err);
    return status == HR_OK ? hr_node_open(r->group, "shards", &r->arrays[1], &r->err)
                           : status;
}

static hr_status read_all(reading *r) {
    static const int64_t shape[] = {12};
    uint8_t out[2][12];
    memset(out, 0x55, sizeof out);
    hr_request requests[2];
    for (int i = 0; i < 2; i++) {
        requests[i] = request(r->arrays[i], out[i], 1, shape);
        assert_int_equal(hr_dtype_parse("|u1", &requests[i].dst.dtype, &r->err), HR_OK);
        requests[i].dst.device.type = r->device;
    }
    r->step = "read";
    hr_batch *b = NULL;
    assert_int_equal(hr_read_submit(r->context, requests, 2, NULL, NULL, &b, &r->err),
                     HR_OK);
    hr_status status = hr_batch_wait(b, -1, &r->err);
    for (size_t i = 0; i < 2; i++) {
        if (hr_batch_error(b, i, NULL) == HR_OK) {
            assert_memory_equal(out[i], wanted[i], 12);
        }
    }
    hr_batch_unref(b);
    return status;
}

static void check_error(const reading *r, const fault *f, hr_status status) {
    if (status != HR_ERR_IO || r->err.os_errno != f->os_errno ||
        strncmp(r->err.url, "file:///", 8) != 0 || r->err.message[0] == '\0' ||
        (strcmp(r->step, "read") == 0 && strstr(r->err.key, "/c/") == NULL)) {
        fail_msg("call %d, %s: %s, errno %d, url \"%s\", key \"%s\": %s", (int)f->call,
                 r->step, hr_status_name(status), r->err.os_errno, r->err.url, r->err.key,
                 r->err.message);
    }
}

/* With the fault at call n. Returns whether there was such a call. */
static bool strike(const fault *f, long n, int32_t device, hr_io_mode io) {
    reading r = {.device = device, .err = HR_ERROR_INIT};
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = 1;
    o.io = io;
    o.scratch_nbytes = o.device_scratch_nbytes = 1 << 20;
    assert_int_equal(hr_context_create(&o, &r.context, &r.err), HR_OK);
    atomic_store(&countdown, n);
    atomic_store(&fired, false);
    atomic_store(&armed, f);
    hr_status status = open_all(&r);
    if (status == HR_OK) {
        status = read_all(&r);
    }
    atomic_store(&armed, NULL);
    bool was_fired = atomic_load(&fired);
    if (was_fired && f->outcome == FAILS) {
        check_error(&r, f, status);
    } else if (status != HR_OK) {
        fail_msg("%s, call %ld of kind %d, errno %d: %s", r.step, n, (int)f->call,
                 f->os_errno, r.err.message);
    }
    if (r.arrays[1] != NULL) { /* nothing wrong is kept */
        assert_int_equal(read_all(&r), HR_OK);
    }
    hr_node_unref(r.arrays[0]);
    hr_node_unref(r.arrays[1]);
    hr_node_unref(r.group);
    hr_context_unref(r.context);
    return was_fired;
}

static void strike_all(const fault *list, size_t nfaults, int32_t device, hr_io_mode io) {
    for (size_t i = 0; i < nfaults; i++) {
        long n = 0;
        while (strike(&list[i], n, device, io)) {
            n++;
        }
        assert_in_range(n, 1, 200);
    }
}

#define STRIKE_ALL(list, device, io)                                                     \
    strike_all(list, sizeof(list) / sizeof *(list), device, io)

static void any_call_may_fail(void **state) {
    (void)state;
    STRIKE_ALL(faults, HR_DEVICE_CPU, HR_IO_BUFFERED);
}

static bool has_direct(void) {
    int fd = open(root, O_TMPFILE | O_RDWR | O_DIRECT, 0600);
    (void)close(fd);
    return fd >= 0;
}

static void a_failed_direct_read_is_made_up_for(void **state) {
    (void)state;
    if (!has_direct()) {
        print_message("skipped: the file system has no O_DIRECT\n");
        skip();
    }
    STRIKE_ALL(direct_faults, HR_DEVICE_CPU, HR_IO_DIRECT);
}

static void any_call_may_fail_on_the_way_to_a_device(void **state) {
    (void)state;
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (hr_device_describe((hr_device){.type = HR_DEVICE_SIMT}, &info, NULL) != HR_OK) {
        print_message("skipped: no simt device\n");
        skip();
    }
    STRIKE_ALL(faults, HR_DEVICE_SIMT, HR_IO_BUFFERED);
    if (has_direct()) {
        STRIKE_ALL(direct_faults, HR_DEVICE_SIMT, HR_IO_DIRECT);
    }
}

/* The third inner chunk of a shard begins at byte 4; its index at byte 6. */
static void a_failed_read_tells_the_byte_offset(void **state) {
    (void)state;
    static const fault eio = {.call = CALL_PREAD, .os_errno = EIO};
    static const int64_t shape[] = {2};
    static const uint64_t offsets[] = {6, 4};
    for (int i = 0; i < 2; i++) {
        reading r = {.err = HR_ERROR_INIT};
        assert_int_equal(hr_context_create(NULL, &r.context, &r.err), HR_OK);
        assert_int_equal(open_all(&r), HR_OK);
        uint8_t out[2];
        hr_axis axis = {.kind = HR_AXIS_SLICE, .start = 4, .stop = 6};
        hr_selection selection = {.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axis};
        hr_tensor dst = request(r.arrays[1], out, 1, shape).dst;
        assert_int_equal(hr_dtype_parse("|u1", &dst.dtype, &r.err), HR_OK);
        atomic_store(&countdown, i);
        atomic_store(&armed, &eio);
        hr_status status = hr_read(r.arrays[1], &selection, &dst, &r.err);
        atomic_store(&armed, NULL);
        assert_int_equal(status, HR_ERR_IO);
        assert_int_equal(r.err.offset, offsets[i]);
        assert_string_equal(r.err.key, "shards/c/0");
        hr_node_unref(r.arrays[0]);
        hr_node_unref(r.arrays[1]);
        hr_node_unref(r.group);
        hr_context_unref(r.context);
    }
}

static int set_up(void **state) {
    (void)state;
    if (mkdtemp(root) == NULL) {
        return -1;
    }
    write_arrays();
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f) {
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

static int tear_down(void **state) {
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_call_may_fail),
        cmocka_unit_test(a_failed_direct_read_is_made_up_for),
        cmocka_unit_test(any_call_may_fail_on_the_way_to_a_device),
        cmocka_unit_test(a_failed_read_tells_the_byte_offset),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
