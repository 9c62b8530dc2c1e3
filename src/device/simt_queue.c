/* SPDX-License-Identifier: Apache-2.0 */
#include "device/simt_queue.h"

#include <stdbool.h>
#include <string.h>

#include "core/clock.h"
#include "device/geometry.h"
#include "device/nvcomp.h"
#include "device/simt_kstore.h"
#include "device/simt_run.h"
#include "device/teams.h"

/* Few, so that blocks take several tiles. */
#define MAX_BLOCKS 5

/* A point of a stream's work; shared by the event and the tasks that know it. */
typedef struct mark {
    hr__simt_stream *stream;
    uint32_t references;
    bool is_passed;
    uint64_t passed_ns; /* when, on the clock of hr__clock_ns */
} mark;

struct hr__simt_event {
    mark *mark;           /* of the last record; NULL: nothing to wait for */
    uint64_t recorded_ns; /* without a mark */
};

typedef enum task_kind {
    TASK_COPY,
    TASK_LAUNCH,
    TASK_PASS_MARK,
    TASK_WAIT_MARK
} task_kind;

typedef struct task {
    struct task *next;
    task_kind kind;
    union {
        struct {
            void *dst;
            const void *src;
            uint64_t nbytes;
        } copy;
        struct {
            hr__kernel kernel;
            union {
                hr_k_scatter scatter;
                hr_k_fill fill;
                hr_k_store_batch store;
                hr_k_filter filter;
                hr_k_decode decode;
                hr_k_whole whole;
                hr_k_zstd zstd;
                hr__nvcomp_batch nvcomp;
            } params;
        } launch;
        mark *mark;
    } as;
} task;

struct hr__simt_stream {
    hr__simt_stream *next; /* in the queue */
    task *head, **tail;
};

static void drop_mark(hr__simt_queue *q, mark *m) {
    if (m != NULL && --m->references == 0) {
        hr__free(q->allocator, m, sizeof *m);
    }
}

static hr_status copy(const hr__simt_queue *q, void *dst, const void *src,
                      uint64_t nbytes, hr_error *err) {
    const hr__simt_memory *m = &q->memory;
    HR__TRY(hr__simt_memory_check(m, (uintptr_t)dst, nbytes, "a copy's write", err));
    HR__TRY(hr__simt_memory_check(m, (uintptr_t)src, nbytes, "a copy's read", err));
    memcpy(dst, src, nbytes);
    return HR_OK;
}

static uint32_t count_blocks(uint32_t n) {
    return n < MAX_BLOCKS ? n : MAX_BLOCKS;
}

static hr_status launch_scatter(hr__simt_queue *q, hr__kernel kernel, const void *params,
                                hr_error *err) {
    hr_k_tiles tiles;
    HR__TRY(hr__geometry_tiles(kernel, params, &tiles, err));
    HR__TRY(hr__simt_memory_check_kernel(&q->memory, kernel, params, err));
    if (tiles.ntiles > 0) {
        hr__simt_run_tiles(&tiles, count_blocks(tiles.ntiles), q->seed++);
    }
    return HR_OK;
}

static hr_status launch_team(hr__simt_queue *q, hr__kernel kernel,
                             const hr_k_decode *params, hr_error *err) {
    uint32_t team;
    HR__TRY(hr__team_find(kernel, params, &team, err));
    HR__TRY(hr__simt_memory_check_decode(&q->memory, params, err));
    if (params->ntasks > 0) {
        hr__simt_run_team(team, params, count_blocks(params->ntasks), q->seed++);
    }
    return HR_OK;
}

static hr_status launch_whole(hr__simt_queue *q, const hr_k_whole *params,
                              hr_error *err) {
    HR__TRY(hr__simt_memory_check_whole(&q->memory, params, err));
    if (params->streams.ntasks > 0) {
        hr__simt_run_whole(params, q->seed++);
    }
    return HR_OK;
}

static hr_status launch_zstd(hr__simt_queue *q, const hr_k_zstd *params, hr_error *err) {
    uint32_t team;
    HR__TRY(hr__team_find(HR__KERNEL_ZSTD, &params->streams, &team, err));
    HR__TRY(hr__simt_memory_check_zstd(&q->memory, params, err));
    if (params->streams.ntasks > 0) {
        hr__simt_run_zstd(params, MAX_BLOCKS, q->seed++);
    }
    return HR_OK;
}

static hr_status launch_filter(hr__simt_queue *q, hr__kernel kernel,
                               const hr_k_filter *params, hr_error *err) {
    HR__TRY(hr__simt_memory_check_filter(&q->memory, kernel, params, err));
    if (params->ntasks == 0) {
        return HR_OK;
    }
    if (kernel == HR__KERNEL_UNPACK) {
        hr__simt_run_unpack(params, count_blocks(params->ntiles), q->seed++);
    } else {
        hr__simt_run_sum(params, count_blocks(params->ntiles), q->seed++);
    }
    return HR_OK;
}

static hr_status launch(hr__simt_queue *q, hr__kernel kernel, const void *params,
                        hr_error *err) {
    if (kernel == HR__KERNEL_STORE) {
        HR__TRY(hr__simt_kstore_check(&q->memory, params, err));
        hr__simt_run_store(params, MAX_BLOCKS, q->seed++);
        return HR_OK;
    }
    if (kernel == HR__KERNEL_SUM || kernel == HR__KERNEL_UNPACK) {
        return launch_filter(q, kernel, params, err);
    }
    if (kernel == HR__KERNEL_LZ4_WHOLE) {
        return launch_whole(q, params, err);
    }
    if (kernel == HR__KERNEL_ZSTD) {
        return launch_zstd(q, params, err);
    }
    if (kernel == HR__KERNEL_NVCOMP) {
        return hr__nvcomp_decode(params, NULL, err);
    }
    return hr__kernel_decodes(kernel) ? launch_team(q, kernel, params, err)
                                      : launch_scatter(q, kernel, params, err);
}

static void run_first(hr__simt_queue *q, hr__simt_stream *s);

/* Marks waited for are older than the wait, so this comes to an end. */
static void run_until(hr__simt_queue *q, const mark *m) {
    while (!m->is_passed) {
        run_first(q, m->stream);
    }
}

static void run_first(hr__simt_queue *q, hr__simt_stream *s) {
    task *t = s->head;
    bool is_broken = q->failure.status != HR_OK;
    switch (t->kind) {
    case TASK_COPY:
        if (!is_broken) {
            (void)copy(q, t->as.copy.dst, t->as.copy.src, t->as.copy.nbytes, &q->failure);
        }
        break;
    case TASK_LAUNCH:
        if (!is_broken) {
            (void)launch(q, t->as.launch.kernel, &t->as.launch.params, &q->failure);
        }
        break;
    case TASK_PASS_MARK:
        t->as.mark->is_passed = true;
        t->as.mark->passed_ns = hr__clock_ns();
        drop_mark(q, t->as.mark);
        break;
    case TASK_WAIT_MARK:
        run_until(q, t->as.mark);
        drop_mark(q, t->as.mark);
        break;
    }
    s->head = t->next;
    if (s->head == NULL) {
        s->tail = &s->head;
    }
    hr__free(q->allocator, t, sizeof *t);
}

void hr__simt_run(hr__simt_queue *q, hr__simt_stream *s) {
    while (s != NULL && s->head != NULL) {
        run_first(q, s);
    }
}

void hr__simt_run_all(hr__simt_queue *q) {
    for (hr__simt_stream *s = q->streams; s != NULL; s = s->next) {
        hr__simt_run(q, s);
    }
}

static hr_status push(hr__simt_queue *q, hr__simt_stream *s, const task *what,
                      hr_error *err) {
    task *t = hr__alloc(q->allocator, sizeof *t);
    if (t == NULL) {
        return hr__fail_memory(err, sizeof *t);
    }
    *t = *what;
    t->next = NULL;
    *s->tail = t;
    s->tail = &t->next;
    return HR_OK;
}

hr__simt_stream *hr__simt_stream_create(hr__simt_queue *q) {
    hr__simt_stream *s = hr__calloc(q->allocator, sizeof *s);
    if (s != NULL) {
        s->tail = &s->head;
        s->next = q->streams;
        q->streams = s;
    }
    return s;
}

void hr__simt_stream_destroy(hr__simt_queue *q, hr__simt_stream *s) {
    hr__simt_run(q, s);
    hr__simt_stream **link = &q->streams;
    while (*link != s) {
        link = &(*link)->next;
    }
    *link = s->next;
    hr__free(q->allocator, s, sizeof *s);
}

hr__simt_event *hr__simt_event_create(hr__simt_queue *q) {
    return hr__calloc(q->allocator, sizeof(hr__simt_event));
}

void hr__simt_event_destroy(hr__simt_queue *q, hr__simt_event *e) {
    drop_mark(q, e->mark);
    hr__free(q->allocator, e, sizeof *e);
}

hr_status hr__simt_copy(hr__simt_queue *q, hr__simt_stream *s, void *dst, const void *src,
                        uint64_t nbytes, hr_error *err) {
    if (nbytes == 0) {
        return HR_OK;
    }
    task t = {.kind = TASK_COPY, .as.copy = {dst, src, nbytes}};
    return s == NULL ? copy(q, dst, src, nbytes, err) : push(q, s, &t, err);
}

hr_status hr__simt_launch(hr__simt_queue *q, hr__simt_stream *s, hr__kernel kernel,
                          const void *params, hr_error *err) {
    if (s == NULL) {
        return launch(q, kernel, params, err);
    }
    task t = {.kind = TASK_LAUNCH, .as.launch.kernel = kernel};
    hr_k_tiles tiles; /* what is wrong with the block itself shows at once */
    uint32_t team;
    switch (kernel) {
    case HR__KERNEL_FILL:
        t.as.launch.params.fill = *(const hr_k_fill *)params;
        HR__TRY(hr__geometry_tiles(kernel, params, &tiles, err));
        break;
    case HR__KERNEL_STORE:
        t.as.launch.params.store = *(const hr_k_store_batch *)params;
        break;
    case HR__KERNEL_SUM:
    case HR__KERNEL_UNPACK:
        t.as.launch.params.filter = *(const hr_k_filter *)params;
        break;
    case HR__KERNEL_ZSTD:
        t.as.launch.params.zstd = *(const hr_k_zstd *)params;
        HR__TRY(hr__team_find(kernel, params, &team, err));
        break;
    case HR__KERNEL_LZ4_WHOLE:
        t.as.launch.params.whole = *(const hr_k_whole *)params;
        break;
    case HR__KERNEL_NVCOMP:
        t.as.launch.params.nvcomp = *(const hr__nvcomp_batch *)params;
        break;
    case HR__KERNEL_LZ4:
    case HR__KERNEL_SNAPPY:
    case HR__KERNEL_BLOSCLZ:
    case HR__KERNEL_PACKBITS:
    case HR__KERNEL_DEFLATE:
    case HR__KERNEL_LZW:
        t.as.launch.params.decode = *(const hr_k_decode *)params;
        HR__TRY(hr__team_find(kernel, params, &team, err));
        break;
    default:
        t.as.launch.params.scatter = *(const hr_k_scatter *)params;
        HR__TRY(hr__geometry_tiles(kernel, params, &tiles, err));
        break;
    }
    return push(q, s, &t, err);
}

hr_status hr__simt_record(hr__simt_queue *q, hr__simt_event *e, hr__simt_stream *s,
                          hr_error *err) {
    mark *m = NULL;
    if (s != NULL) {
        m = hr__calloc(q->allocator, sizeof *m);
        if (m == NULL) {
            return hr__fail_memory(err, sizeof *m);
        }
        *m = (mark){.stream = s, .references = 2};
        task t = {.kind = TASK_PASS_MARK, .as.mark = m};
        hr_status status = push(q, s, &t, err);
        if (status != HR_OK) {
            hr__free(q->allocator, m, sizeof *m);
            return status;
        }
    }
    drop_mark(q, e->mark);
    e->mark = m;
    e->recorded_ns = m == NULL ? hr__clock_ns() : 0;
    return HR_OK;
}

uint64_t hr__simt_event_time(const hr__simt_event *e) {
    return e->mark != NULL ? e->mark->passed_ns : e->recorded_ns;
}

hr_status hr__simt_wait(hr__simt_queue *q, hr__simt_stream *s, hr__simt_event *e,
                        hr_error *err) {
    if (e->mark == NULL) {
        return HR_OK;
    }
    if (s == NULL) {
        run_until(q, e->mark);
        return HR_OK;
    }
    task t = {.kind = TASK_WAIT_MARK, .as.mark = e->mark};
    HR__TRY(push(q, s, &t, err));
    e->mark->references++;
    return HR_OK;
}
