/* Copying a decoded chunk into strided host memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "exec/scatter.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Items converted or swapped at a time, through a buffer that stays in L1. */
#define BLOCK_NBYTES 4096

/* A copy of this many bytes leaves nothing in the near caches that is read again, so that
 * rows of some lines are better written around them. */
#define STREAM_NBYTES (256 << 10)
#define STREAM_ROW_NBYTES 256
#define LINE_NBYTES 64

static bool is_arithmetic(const hr__loop *l) {
    return l->src_list == NULL && l->dst_list == NULL;
}

static void merge_loops(hr__copy *c) {
    int32_t kept = 0;
    for (int32_t i = 0; i < c->nloops; i++) {
        const hr__loop *l = &c->loops[i];
        hr__loop *outer = kept > 0 ? &c->loops[kept - 1] : NULL;
        if (outer != NULL && is_arithmetic(l) && is_arithmetic(outer) &&
            outer->src_step == l->n * l->src_step &&
            outer->dst_step == l->n * l->dst_step) {
            int64_t n = outer->n;
            *outer = *l;
            outer->n *= n;
        } else {
            c->loops[kept++] = *l;
        }
    }
    c->nloops = kept;
}

/* Densest writes last; among equals (a fill of a broadcast axis) the source decides. */
static int by_density(const void *a, const void *b) {
    const hr__loop *x = a;
    const hr__loop *y = b;
    int64_t dx = llabs(x->dst_step);
    int64_t dy = llabs(y->dst_step);
    if (dx != dy) {
        return dx < dy ? 1 : -1;
    }
    int64_t sx = llabs(x->src_step);
    int64_t sy = llabs(y->src_step);
    return (sx < sy) - (sx > sy);
}

static hr__loop loop_from_dim(const hr__dim *dim, int64_t src_itemsize, hr__copy *copy) {
    const hr__piece *p = dim->piece;
    int64_t src_stride = dim->src_stride * src_itemsize;
    hr__loop l = {.n = p->n, .src_list = p->src_list, .dst_list = p->dst_list};
    l.src_step = src_stride;
    if (p->src_list == NULL) {
        copy->src_offset += p->src0 * src_stride;
        l.src_step = p->src_step * src_stride;
    }
    l.dst_step = dim->dst_stride;
    if (p->dst_list == NULL) {
        copy->dst_offset += p->dst0 * dim->dst_stride;
        l.dst_step = p->dst_step * dim->dst_stride;
    }
    return l;
}

static inline int64_t src_at(const hr__loop *l, int64_t k) {
    return (l->src_list != NULL ? l->src_list[k] : k) * l->src_step;
}

static inline int64_t dst_at(const hr__loop *l, int64_t k) {
    return (l->dst_list != NULL ? l->dst_list[k] : k) * l->dst_step;
}

void hr__copy_from_use(const hr__use *use, uint64_t src_itemsize, hr__copy *copy) {
    *copy = (hr__copy){0};
    for (int32_t i = 0; i < use->ndim; i++) {
        hr__loop l = loop_from_dim(&use->dims[i], (int64_t)src_itemsize, copy);
        if (l.n == 1) {
            copy->src_offset += src_at(&l, 0);
            copy->dst_offset += dst_at(&l, 0);
        } else {
            copy->loops[copy->nloops++] = l;
        }
    }
    qsort(copy->loops, (size_t)copy->nloops, sizeof(hr__loop), by_density);
    merge_loops(copy);
}

static bool is_dense(const hr__loop *l, size_t src_size, size_t dst_size) {
    return is_arithmetic(l) && l->src_step == (int64_t)src_size &&
           l->dst_step == (int64_t)dst_size;
}

bool hr__copy_is_contiguous(const hr__copy *copy, uint64_t itemsize) {
    return copy->nloops == 0 ||
           (copy->nloops == 1 && is_dense(&copy->loops[0], itemsize, itemsize));
}

/* How the items of a copy get from one side to the other. */
typedef struct copier {
    const hr_dtype *to, *from;
    const hr__steps *steps; /* of CONVERT; NULL: a cast */
    size_t itemsize;        /* of the destination; of both sides while only bytes move */
    enum { COPY, STREAM, SWAP, CONVERT, FILL } mode; /* STREAM: COPY, around the caches */
} copier;

/* Items k0 … k0+n of a loop. Memcpy of a constant size compiles to a move. */
#define COPY_ITEMS(size)                                                                 \
    for (int64_t k = k0; k < k0 + n; k++) {                                              \
        memcpy(dst + dst_at(l, k), src + src_at(l, k), size);                            \
    }                                                                                    \
    break

static void copy_items(const hr__loop *l, int64_t k0, int64_t n, uint8_t *dst,
                       const uint8_t *src, size_t itemsize) {
    switch (itemsize) {
    case 1:
        COPY_ITEMS(1);
    case 2:
        COPY_ITEMS(2);
    case 4:
        COPY_ITEMS(4);
    case 8:
        COPY_ITEMS(8);
    case 16:
        COPY_ITEMS(16);
    default:
        COPY_ITEMS(itemsize);
    }
}

static void transfer(const copier *c, uint8_t *dst, const uint8_t *src, int64_t n) {
    if (c->mode == SWAP) {
        hr__dtype_swap(c->from, dst, src, (uint64_t)n);
        if (c->to->kind == HR_KIND_STRUCT) { /* little-endian now; each has its own way */
            hr__dtype_swap(c->to, dst, dst, (uint64_t)n);
        }
    } else if (c->steps != NULL) {
        hr__steps_run(c->steps, c->to, dst, c->from, src, (uint64_t)n);
    } else {
        hr__dtype_convert(c->to, dst, c->from, src, (uint64_t)n);
    }
}

/* A strided run with conversion: gather a block, convert it, spread it. */
static void convert_run(const copier *c, const hr__loop *l, uint8_t *dst,
                        const uint8_t *src) {
    size_t from_size = c->from->itemsize;
    size_t to_size = c->to->itemsize;
    size_t largest = from_size > to_size ? from_size : to_size;
    if (largest > BLOCK_NBYTES) { /* big structures: one by one */
        for (int64_t k = 0; k < l->n; k++) {
            transfer(c, dst + dst_at(l, k), src + src_at(l, k), 1);
        }
        return;
    }
    _Alignas(64) uint8_t in[BLOCK_NBYTES];
    _Alignas(64) uint8_t out[BLOCK_NBYTES];
    int64_t block = (int64_t)(BLOCK_NBYTES / largest);
    for (int64_t k = 0; k < l->n; k += block) {
        int64_t n = l->n - k < block ? l->n - k : block;
        for (int64_t i = 0; i < n; i++) {
            memcpy(in + (size_t)i * from_size, src + src_at(l, k + i), from_size);
        }
        transfer(c, out, in, n);
        for (int64_t i = 0; i < n; i++) {
            memcpy(dst + dst_at(l, k + i), out + (size_t)i * to_size, to_size);
        }
    }
}

/* One item written once, then doubled until the contiguous run is full. */
static void fill_dense(uint8_t *dst, const uint8_t *item, size_t itemsize, size_t n) {
    size_t total = n * itemsize;
    size_t done = itemsize;
    memcpy(dst, item, itemsize);
    while (done < total) {
        size_t step = done < total - done ? done : total - done;
        memcpy(dst + done, dst, step);
        done += step;
    }
}

#ifdef __SSE2__
/* Whole lines go around the caches, what is left at the ends goes the ordinary way. */
static void stream(uint8_t *dst, const uint8_t *src, size_t nbytes) {
    size_t i = (size_t)(-(uintptr_t)dst % LINE_NBYTES);
    memcpy(dst, src, i);
    for (; i + LINE_NBYTES <= nbytes; i += LINE_NBYTES) {
        __m128i line[LINE_NBYTES / sizeof(__m128i)];
        memcpy(line, src + i, sizeof line);
        for (size_t k = 0; k < sizeof line / sizeof *line; k++) {
            _mm_stream_si128((__m128i *)(void *)(dst + i) + k, line[k]);
        }
    }
    memcpy(dst + i, src + i, nbytes - i);
}

static void finish_streams(void) {
    _mm_sfence(); /* before anyone is told that the bytes are there */
}
#else
static void stream(uint8_t *dst, const uint8_t *src, size_t nbytes) {
    memcpy(dst, src, nbytes);
}

static void finish_streams(void) {}
#endif

static void run(const copier *c, const hr__loop *l, uint8_t *dst, const uint8_t *src) {
    size_t from_size = c->mode == FILL ? 0 : c->from->itemsize;
    bool dense = is_dense(l, from_size, c->itemsize);
    if (c->mode == COPY) {
        if (dense) {
            memcpy(dst, src, (size_t)l->n * c->itemsize);
        } else {
            copy_items(l, 0, l->n, dst, src, c->itemsize);
        }
    } else if (c->mode == STREAM) {
        stream(dst, src, (size_t)l->n * c->itemsize);
    } else if (c->mode == FILL) {
        if (dense && c->itemsize > 0) {
            fill_dense(dst, src, c->itemsize, (size_t)l->n);
        } else {
            copy_items(l, 0, l->n, dst, src, c->itemsize);
        }
    } else if (dense) {
        transfer(c, dst, src, l->n);
    } else {
        convert_run(c, l, dst, src);
    }
}

/* A transposing plane (reads dense along `a`, writes dense along `b`) by tiles, so that
 * the lines touched by one tile stay in L1 on both sides. */
#define TILE 32

static void run_tiles(const copier *c, const hr__loop *a, const hr__loop *b, uint8_t *dst,
                      const uint8_t *src) {
    for (int64_t i0 = 0; i0 < a->n; i0 += TILE) {
        int64_t i1 = a->n - i0 < TILE ? a->n : i0 + TILE;
        for (int64_t k0 = 0; k0 < b->n; k0 += TILE) {
            int64_t n = b->n - k0 < TILE ? b->n - k0 : TILE;
            for (int64_t i = i0; i < i1; i++) {
                copy_items(b, k0, n, dst + dst_at(a, i), src + src_at(a, i), c->itemsize);
            }
        }
    }
}

/* Where the last loop jumps in the source, bring the loop that reads densely next to
 * it. Returns whether the two make a transposing plane. */
static bool find_plane(hr__copy *copy, size_t itemsize) {
    int32_t last = copy->nloops - 1;
    if (last < 1 || copy->loops[last].src_list != NULL ||
        llabs(copy->loops[last].src_step) <= (int64_t)itemsize) {
        return false;
    }
    for (int32_t i = 0; i < last; i++) {
        hr__loop l = copy->loops[i];
        if (l.src_list == NULL && l.src_step == (int64_t)itemsize) {
            memmove(&copy->loops[i], &copy->loops[i + 1],
                    (size_t)(last - 1 - i) * sizeof l);
            copy->loops[last - 1] = l;
            return true;
        }
    }
    return false;
}

/* All turns of the outer loops; the rest is one run, or one plane. */
static void walk(const copier *c, const hr__copy *copy, int32_t nouter, uint8_t *dst,
                 const uint8_t *src) {
    int64_t at[HR_MAX_NDIM] = {0};
    const hr__loop *inner = &copy->loops[nouter];
    int32_t i;
    do {
        int64_t s = copy->src_offset;
        int64_t d = copy->dst_offset;
        for (i = 0; i < nouter; i++) {
            s += src_at(&copy->loops[i], at[i]);
            d += dst_at(&copy->loops[i], at[i]);
        }
        if (nouter == copy->nloops - 2) {
            run_tiles(c, &inner[0], &inner[1], dst + d, src + s);
        } else {
            run(c, inner, dst + d, src + s);
        }
        for (i = nouter - 1; i >= 0 && ++at[i] == copy->loops[i].n; i--) {
            at[i] = 0;
        }
    } while (i >= 0);
}

/* Long dense rows, and many bytes in all? The total of int64 was checked when planned. */
static bool is_stream(const copier *c, const hr__copy *copy) {
    int64_t nitems = 1;
    for (int32_t i = 0; i < copy->nloops; i++) {
        nitems *= copy->loops[i].n;
    }
    const hr__loop *l = &copy->loops[copy->nloops - 1];
    return c->mode == COPY && is_dense(l, c->itemsize, c->itemsize) &&
           (size_t)l->n * c->itemsize >= STREAM_ROW_NBYTES &&
           (size_t)nitems * c->itemsize >= STREAM_NBYTES;
}

static void execute(const copier *how, const hr__copy *copy, uint8_t *dst,
                    const uint8_t *src) {
    copier c = *how;
    hr__copy loops = *copy;
    for (int32_t i = 0; i < loops.nloops; i++) {
        if (loops.loops[i].n == 0) {
            return;
        }
    }
    if (loops.nloops == 0) {
        loops.loops[loops.nloops++] = (hr__loop){.n = 1};
    }
    if (is_stream(&c, &loops)) {
        c.mode = STREAM;
    }
    bool plane = c.mode == COPY && find_plane(&loops, c.itemsize);
    walk(&c, &loops, loops.nloops - (plane ? 2 : 1), dst, src);
    if (c.mode == STREAM) {
        finish_streams();
    }
}

static copier choose(const hr_dtype *to, const hr_dtype *from, const hr__steps *steps) {
    copier c = {
        .to = to, .from = from, .steps = steps, .itemsize = to->itemsize, .mode = COPY};
    if (steps != NULL || !hr__dtype_same_kind(to, from)) {
        c.mode = CONVERT;
    } else if (!hr__dtype_equal(to, from)) { /* in the order of bytes */
        c.mode = SWAP;
    }
    return c;
}

void hr__scatter(const hr__copy *copy, uint8_t *dst, const hr_dtype *to,
                 const uint8_t *src, const hr_dtype *from, const hr__steps *steps) {
    copier c = choose(to, from, steps);
    execute(&c, copy, dst, src);
}

void hr__scatter_fill(const hr__copy *copy, uint8_t *dst, const hr_dtype *to,
                      const void *item, const hr_dtype *from, const hr__steps *steps) {
    hr__copy loops = *copy;
    loops.src_offset = 0;
    for (int32_t i = 0; i < loops.nloops; i++) {
        loops.loops[i].src_step = 0;
        loops.loops[i].src_list = NULL;
    }
    merge_loops(&loops); /* more of them continue each other now */
    copier c = choose(to, from, steps);
    if (c.mode == COPY) {
        c.mode = FILL;
    }
    execute(&c, &loops, dst, item);
}
