/* The ways to read of the measurement of cold reads. SPDX-License-Identifier: Apache-2.0
 */
#include "../measure.h"
#include "cold.h"

#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <headrace/headrace.h>
#ifdef HR_HAVE_URING
#include <liburing.h>
#endif

typedef struct job {
    const data_set *set;
    const way *way;
    atomic_uint_fast64_t next;
} job;

static const piece *take_piece(job *j) {
    uint64_t i = atomic_fetch_add(&j->next, 1);
    return i < j->set->npieces ? &j->set->pieces[i] : NULL;
}

/* As the library does: open, ask for the size, read, close. */
static int open_piece(const job *j, const piece *p) {
    char path[8192];
    struct stat st;
    file_path(j->set, p->file, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | (j->way->is_direct ? O_DIRECT : 0));
    if (fd < 0 || fstat(fd, &st) != 0) {
        err(1, "%s", path);
    }
    return fd;
}

static void *read_pieces(void *arg) {
    job *j = arg;
    for (const piece *p = take_piece(j); p != NULL; p = take_piece(j)) {
        int fd = open_piece(j, p);
        uint64_t done = 0;
        while (done < j->set->piece_nbytes) {
            ssize_t n = pread(fd, p->dst + done, j->set->piece_nbytes - done,
                              (off_t)(p->offset + done));
            if (n <= 0) {
                err(1, "pread");
            }
            done += (uint64_t)n;
        }
        (void)close(fd);
    }
    return NULL;
}

#ifdef HR_HAVE_URING

bool has_uring(void) {
    struct io_uring ring;
    if (io_uring_queue_init(1, &ring, 0) < 0) {
        return false;
    }
    io_uring_queue_exit(&ring);
    return true;
}

#define PART ((uint64_t)1 << 30) /* the most that one registered buffer may be */

static void register_output(struct io_uring *ring, const data_set *s) {
    struct iovec parts[64];
    unsigned n = 0;
    for (uint64_t at = 0; at < s->out_nbytes && n < 64; at += PART) {
        const uint64_t rest = s->out_nbytes - at;
        parts[n++] = (struct iovec){s->out + at, rest < PART ? rest : PART};
    }
    if (io_uring_register_buffers(ring, parts, n) < 0) {
        errx(1, "buffers cannot be registered");
    }
}

static void queue_piece(const job *j, struct io_uring *ring, const piece *p, int fd) {
    struct io_uring_sqe *e = io_uring_get_sqe(ring);
    const unsigned nbytes = (unsigned)j->set->piece_nbytes;
    if (j->way->method == URING_REGISTERED) {
        io_uring_prep_read_fixed(e, fd, p->dst, nbytes, p->offset,
                                 (int)((uint64_t)(p->dst - j->set->out) / PART));
    } else {
        io_uring_prep_read(e, fd, p->dst, nbytes, p->offset);
    }
    io_uring_sqe_set_data64(e, (unsigned)fd);
}

static void *read_by_ring(void *arg) {
    job *j = arg;
    struct io_uring ring;
    if (io_uring_queue_init(j->way->depth, &ring, 0) < 0) {
        errx(1, "no io_uring");
    }
    if (j->way->method == URING_REGISTERED) {
        register_output(&ring, j->set);
    }
    unsigned nactive = 0;
    const piece *p = take_piece(j);
    while (p != NULL || nactive > 0) {
        for (; p != NULL && nactive < j->way->depth; p = take_piece(j), nactive++) {
            queue_piece(j, &ring, p, open_piece(j, p));
            (void)io_uring_submit(&ring);
        }
        (void)io_uring_submit_and_wait(&ring, 1);
        struct io_uring_cqe *c;
        for (; io_uring_peek_cqe(&ring, &c) == 0; nactive--) {
            if (c->res != (int)j->set->piece_nbytes) {
                errx(1, "io_uring read %d bytes", c->res);
            }
            (void)close((int)c->user_data);
            io_uring_cqe_seen(&ring, c);
        }
    }
    io_uring_queue_exit(&ring);
    return NULL;
}

#else

bool has_uring(void) {
    return false;
}

static void *read_by_ring(void *arg) {
    (void)arg;
    errx(1, "built without liburing");
}

#endif

static double read_by_threads(const data_set *s, const way *w) {
    job j = {.set = s, .way = w};
    pthread_t threads[256];
    double start = now_s();
    for (uint32_t i = 0; i < w->nthreads; i++) {
        if (pthread_create(&threads[i], NULL,
                           w->method == THREADS ? read_pieces : read_by_ring, &j) != 0) {
            errx(1, "no thread");
        }
    }
    for (uint32_t i = 0; i < w->nthreads; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return now_s() - start;
}

static void must(hr_status status, const hr_error *error) {
    if (status != HR_OK) {
        errx(1, "%s", error->message);
    }
}

static void say(void *user, hr_log_level level, const char *line) {
    (void)user;
    (void)level;
    warnx("%s", line);
}

/* The pieces as requests of one batch. */
static hr_request *make_requests(const data_set *s, hr_node *array, hr_axis *axes,
                                 const int64_t *shape) {
    hr_request *requests = calloc(s->npieces, sizeof *requests);
    if (requests == NULL || axes == NULL) {
        err(1, "requests");
    }
    hr_error e = HR_ERROR_INIT;
    for (uint64_t i = 0; i < s->npieces; i++) {
        const piece *p = &s->pieces[i];
        const int64_t start = (int64_t)piece_start(s, p);
        axes[i] =
            (hr_axis){.kind = HR_AXIS_SLICE, .start = start, .stop = start + shape[0]};
        requests[i] = HR_REQUEST_INIT;
        requests[i].array = array;
        requests[i].selection =
            (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axes[i]};
        requests[i].dst = (hr_tensor){.data = p->dst, .ndim = 1, .shape = shape};
        must(hr_dtype_parse("|u1", &requests[i].dst.dtype, &e), &e);
    }
    return requests;
}

static double read_by_library(const data_set *s, const way *w) {
    hr_error e = HR_ERROR_INIT;
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.nthreads = w->nthreads;
    o.io = w->is_direct ? HR_IO_DIRECT : HR_IO_BUFFERED;
    o.log = say;
    hr_context *context = NULL;
    hr_node *array = NULL;
    must(hr_context_create(&o, &context, &e), &e);
    must(hr_open(context, s->path, NULL, &array, &e), &e);
    const int64_t shape[] = {(int64_t)s->piece_nbytes};
    hr_axis *axes = calloc(s->npieces, sizeof *axes);
    hr_request *requests = make_requests(s, array, axes, shape);
    hr_batch *batch = NULL;
    const double start = now_s();
    must(hr_read_submit(context, requests, s->npieces, NULL, NULL, &batch, &e), &e);
    must(hr_batch_wait(batch, INT64_MAX, &e), &e); /* without helping */
    const double seconds = now_s() - start;
    hr_batch_unref(batch);
    free(requests);
    free(axes);
    hr_node_unref(array);
    hr_context_unref(context);
    return seconds;
}

double read_all(const data_set *s, const way *w) {
    return w->method == LIBRARY ? read_by_library(s, w) : read_by_threads(s, w);
}
