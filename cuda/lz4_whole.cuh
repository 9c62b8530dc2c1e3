/* A few large LZ4 streams, each by the whole device. SPDX-License-Identifier: Apache-2.0
 *
 * links: for each byte of a region of the stream, as if a sequence began there: where the
 * chain of sequences leaves the region, and how much it makes.
 *
 * chain: the true chain, a step for each region.
 *
 * point: the true sequences of each region. Each byte of the output gets a word: its
 * value, if it is a literal, else the place of an earlier byte that it repeats.
 *
 * resolve: words are followed to values. Each points to a place before its own, so that
 * this ends, and words only ever change to others that mean the same.
 *
 * settle: streams that are not good, or not to be read in this way, are left to a team,
 * which tells what is wrong with them. */
#ifndef HR_CUDA_LZ4_WHOLE_CUH
#define HR_CUDA_LZ4_WHOLE_CUH

#include "lz4_parse.cuh"

#define LZ_WHOLE_NONE UINT32_C(0xFFFFFFFF)
#define LZ_WHOLE_VALUE UINT32_C(0x80000000)
/* No more length bytes than so many, so that each byte is read in bounded time. */
#define LZ_WHOLE_MORE 1024

static_assert(HR_K_WHOLE_REGION % HR_K_WHOLE_THREADS == 0, "a share for every thread");

/* A part of a task: a region of its stream, or a tile of its output. (nvcc 13.0 does not
 * end on copies of tasks, nor on a pointer to them that a loop moves.) */
struct lz_whole_part {
    const hr_k_task *task;
    uint32_t begin, end;
};

/* A task's scratch: two words, not 0 if it is not good: the chain's and the points'; for
 * each region where the chain enters it, and the output made by then << 32; then the
 * links, in whose place later come the words. */
static __device__ __forceinline__ uint64_t lz_whole_verdict(const hr_k_task &t) {
    return t.scratch;
}
static __device__ __forceinline__ uint64_t lz_whole_entries(const hr_k_task &t) {
    return t.scratch + 16;
}
static __device__ __forceinline__ uint64_t lz_whole_room(const hr_k_task &t) {
    const uint32_t nregions = (t.src_nbytes + HR_K_WHOLE_REGION - 1) / HR_K_WHOLE_REGION;
    return t.scratch + 16 + (nregions + 1) / 2 * UINT64_C(16);
}

static __device__ __forceinline__ lz_whole_part lz_whole_find(const hr_k_decode &p,
                                                              uint32_t part,
                                                              uint32_t part_nbytes,
                                                              bool is_of_output) {
    const hr_k_task *tasks = hr_global<const hr_k_task>(p.tasks);
    uint32_t i = 0, nbytes = 0;
    HR_NO_UNROLL
    for (uint32_t first = 0; i < p.ntasks; i++) {
        nbytes = is_of_output ? tasks[i].dst_nbytes : tasks[i].src_nbytes;
        const uint32_t n = (nbytes + part_nbytes - 1) / part_nbytes;
        if (part - first < n) {
            part -= first;
            break;
        }
        first += n;
    }
    const uint32_t begin = part * part_nbytes;
    return {tasks + i, begin, min(nbytes, begin + part_nbytes)};
}

/* The length bytes at `at`, added up, and where they end; LZ_WHOLE_NONE for that if they
 * are too many, or the stream ends. (A call: nvcc 13.0 does not end on this loop within
 * others.) */
static __device__ HR_NO_INLINE hr_pair lz_whole_more(uint64_t src, uint32_t src_nbytes,
                                                     uint32_t at) {
    const uint32_t end = min(src_nbytes, at + LZ_WHOLE_MORE);
    uint32_t n = 0, more = 255;
    while (more == 255 && at < end) {
        more = lz_load_u8(src + at++);
        n += more;
    }
    return {n, more == 255 ? LZ_WHOLE_NONE : at};
}

/* The sequence at `at` < the stream's end, if it can be right. Sizes are below 2^19 each
 * but for literals, which the stream has. */
static __device__ __forceinline__ bool lz_whole_read(const lz_input &in, uint32_t at,
                                                     lz_sequence &q) {
    const uint32_t token = in.byte(at++);
    uint32_t n = token >> 4;
    if (n == 15) {
        const hr_pair more = lz_whole_more(in.src, in.src_nbytes, at);
        n += more.low;
        at = more.high;
    }
    if (at > in.src_nbytes || n > in.src_nbytes - at) {
        return false;
    }
    q = {at, n, 0, 0, at + n};
    at += n;
    if (at == in.src_nbytes) {
        return true;
    }
    if (in.src_nbytes - at < 3) { /* the last sequence has no match */
        return false;
    }
    q.offset = in.byte(at) | in.byte(at + 1) << 8;
    at += 2;
    n = token & 15;
    if (n == 15) {
        const hr_pair more = lz_whole_more(in.src, in.src_nbytes, at);
        n += more.low;
        at = more.high;
    }
    q.nmatch = n + 4;
    q.end = at;
    return q.offset != 0 && at < in.src_nbytes;
}

/* Where the sequence at `at` ends, and how much it makes << 32. */
static __device__ HR_NO_INLINE uint64_t lz_whole_link(uint64_t src, uint32_t src_nbytes,
                                                      uint32_t at) {
    const lz_input in = {src, src_nbytes, 0};
    lz_sequence q;
    return lz_whole_read(in, at, q) ? (uint64_t)(q.nliterals + q.nmatch) << 32 | q.end
                                    : LZ_WHOLE_NONE;
}

static __device__ __forceinline__ void lz_whole_links(const hr_k_decode &p) {
    constexpr uint32_t SHARE = HR_K_WHOLE_REGION / HR_K_WHOLE_THREADS;
    const lz_whole_part part = lz_whole_find(p, blockIdx.x, HR_K_WHOLE_REGION, false);
    const uint32_t nbytes = part.end - part.begin;
    uint32_t *nexts = (uint32_t *)hr_shared(), *sizes = nexts + HR_K_WHOLE_REGION;
    uint32_t next[SHARE], size[SHARE];
    HR_UNROLL
    for (uint32_t i = 0; i < SHARE; i++) {
        const uint32_t k = i * HR_K_WHOLE_THREADS + threadIdx.x;
        const uint64_t link =
            k < nbytes
                ? lz_whole_link(part.task->src, part.task->src_nbytes, part.begin + k)
                : LZ_WHOLE_NONE;
        nexts[k] = next[i] = (uint32_t)link;
        sizes[k] = size[i] = (uint32_t)(link >> 32);
    }
    __syncthreads();
    /* Chains of n sequences become chains of twice as many. */
    HR_NO_UNROLL
    for (uint32_t n = 1; n < HR_K_WHOLE_REGION / 3; n *= 2) {
        HR_UNROLL
        for (uint32_t i = 0; i < SHARE; i++) {
            if (next[i] < part.end) {
                const uint32_t k = next[i] - part.begin;
                next[i] = nexts[k];
                size[i] += sizes[k];
            }
        }
        __syncthreads();
        HR_UNROLL
        for (uint32_t i = 0; i < SHARE; i++) {
            const uint32_t k = i * HR_K_WHOLE_THREADS + threadIdx.x;
            nexts[k] = next[i];
            sizes[k] = size[i];
        }
        __syncthreads();
    }
    uint64_t *table = hr_global<uint64_t>(lz_whole_room(*part.task)) + part.begin;
    HR_UNROLL
    for (uint32_t i = 0; i < SHARE; i++) {
        const uint32_t k = i * HR_K_WHOLE_THREADS + threadIdx.x;
        if (k < nbytes) {
            table[k] = (uint64_t)size[i] << 32 | next[i];
        }
    }
}

/* A block to a task, of which one thread follows the chain; the others bring what it
 * likely asks for: the links of the first bytes of each region. */
static __device__ __forceinline__ void lz_whole_chain(const hr_k_decode &p) {
    const hr_k_task &task = hr_global<const hr_k_task>(p.tasks)[blockIdx.x];
    uint64_t *entries = hr_global<uint64_t>(lz_whole_entries(task));
    const uint64_t *table = hr_global<const uint64_t>(lz_whole_room(task));
    uint64_t *near = (uint64_t *)hr_shared();
    const uint32_t nregions = HR_K_WHOLE_PARTS(task.src_nbytes, HR_K_WHOLE_REGION);
    uint32_t at = 0, made = 0;
    HR_NO_UNROLL
    for (uint32_t first = 0; first < nregions; first += HR_K_WHOLE_ROWS) {
        const uint32_t end =
            min(task.src_nbytes, (first + HR_K_WHOLE_ROWS) * HR_K_WHOLE_REGION);
        for (uint32_t i = threadIdx.x; i < HR_K_WHOLE_ROWS * HR_K_WHOLE_NEAR;
             i += HR_K_WHOLE_THREADS) {
            const uint32_t region = first + i / HR_K_WHOLE_NEAR;
            const uint32_t k = region * HR_K_WHOLE_REGION + i % HR_K_WHOLE_NEAR;
            if (i % HR_K_WHOLE_NEAR == 0 && region < nregions) {
                entries[region] = LZ_WHOLE_NONE;
            }
            near[i] = k < end ? table[k] : LZ_WHOLE_NONE;
        }
        __syncthreads();
        while (threadIdx.x == 0 && at < end) {
            const uint32_t row = at / HR_K_WHOLE_REGION, k = at % HR_K_WHOLE_REGION;
            entries[row] = (uint64_t)made << 32 | at;
            const uint64_t link = k < HR_K_WHOLE_NEAR
                                      ? near[(row - first) * HR_K_WHOLE_NEAR + k]
                                      : table[at];
            const uint32_t next = (uint32_t)link, size = (uint32_t)(link >> 32);
            const bool is_good = next != LZ_WHOLE_NONE && size <= task.dst_nbytes - made;
            made += is_good ? size : 0;
            at = is_good ? next : LZ_WHOLE_NONE;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *hr_global<uint64_t>(lz_whole_verdict(task)) =
            task.src_nbytes == 0 || at != task.src_nbytes || made != task.dst_nbytes;
    }
}

/* The words of a sequence's output, from `at` on, by a warp. */
static __device__ __forceinline__ void lz_whole_put(const hr_k_task &task, uint32_t at,
                                                    uint32_t literals, uint32_t nliterals,
                                                    uint32_t offset, uint32_t nmatch,
                                                    uint32_t lane) {
    uint32_t *words = hr_global<uint32_t>(lz_whole_room(task)) + at;
    for (uint32_t k = lane; k < nliterals; k += 32) {
        words[k] = LZ_WHOLE_VALUE | lz_load_u8(task.src + literals + k);
    }
    at += nliterals;
    if (offset > at) { /* one lane would do */
        hr_global<uint32_t>(lz_whole_verdict(task))[1] = 1;
        return;
    }
    for (uint32_t k = lane; k < nmatch; k += 32) {
        words[nliterals + k] = at - offset + (k < offset ? k : k % offset);
    }
}

static __device__ __forceinline__ void lz_whole_point(const hr_k_decode &p) {
    constexpr uint32_t SHARE = HR_K_WHOLE_REGION / HR_K_WHOLE_THREADS;
    const lz_whole_part part = lz_whole_find(p, blockIdx.x, HR_K_WHOLE_REGION, false);
    const hr_k_task &task = *part.task;
    const uint64_t entry =
        hr_global<const uint64_t>(lz_whole_entries(task))[part.begin / HR_K_WHOLE_REGION];
    if ((uint32_t)entry == LZ_WHOLE_NONE ||
        *hr_global<const uint32_t>(lz_whole_verdict(task)) != 0) {
        return;
    }
    const lz_input in = {task.src, task.src_nbytes, 0};
    uint32_t *nexts = (uint32_t *)hr_shared(), *sizes = nexts + HR_K_WHOLE_REGION;
    uint32_t *ats = sizes + HR_K_WHOLE_REGION, *mades = ats + HR_K_WHOLE_THREADS;
    const uint32_t begin = threadIdx.x * SHARE, end = part.end - part.begin;
    ats[threadIdx.x] = LZ_WHOLE_NONE;
    /* Where chains leave the thread's own few bytes; its last byte first. */
    HR_NO_UNROLL
    for (uint32_t i = SHARE; i-- > 0;) {
        if (begin + i < end) {
            const uint64_t link =
                lz_whole_link(task.src, task.src_nbytes, part.begin + begin + i);
            uint32_t next = (uint32_t)link, size = (uint32_t)(link >> 32);
            if (next < min(part.begin + begin + SHARE, part.end)) {
                size += sizes[next - part.begin];
                next = nexts[next - part.begin];
            }
            nexts[begin + i] = next;
            sizes[begin + i] = size;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t at = (uint32_t)entry, made = (uint32_t)(entry >> 32);
        HR_NO_UNROLL
        while (at < part.end) {
            const uint32_t i = at - part.begin;
            ats[i / SHARE] = at;
            mades[i / SHARE] = made;
            made += sizes[i];
            at = nexts[i];
        }
    }
    __syncthreads();
    /* A sequence of each thread at a time, put by its warp. */
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x - lane;
    uint32_t at = ats[threadIdx.x], made = mades[threadIdx.x];
    const uint32_t mine_end = min(part.begin + begin + SHARE, part.end);
    __syncthreads(); /* sequences take the place of links */
    uint32_t *field = nexts;
    HR_NO_UNROLL
    for (uint32_t step = 0; step < (SHARE + 2) / 3; step++) {
        lz_sequence q = {};
        const bool is_one = at < mine_end && lz_whole_read(in, at, q);
        field[threadIdx.x * 5] = made;
        field[threadIdx.x * 5 + 1] = q.literals;
        field[threadIdx.x * 5 + 2] = q.nliterals;
        field[threadIdx.x * 5 + 3] = q.offset;
        field[threadIdx.x * 5 + 4] = q.nmatch;
        at = is_one ? q.end : LZ_WHOLE_NONE;
        made += q.nliterals + q.nmatch;
        __syncwarp();
        HR_NO_UNROLL
        for (uint32_t i = warp * 5; i < (warp + 32) * 5; i += 5) {
            lz_whole_put(task, field[i], field[i + 1], field[i + 2], field[i + 3],
                         field[i + 4], lane);
        }
        __syncwarp();
    }
}

/* Four words to a thread; what they come to is shown to others every few steps. */
static __device__ __forceinline__ void lz_whole_resolve(const hr_k_decode &p) {
    const lz_whole_part part = lz_whole_find(p, blockIdx.x, HR_K_WHOLE_TILE, true);
    const hr_k_task &task = *part.task;
    const uint32_t at = part.begin + threadIdx.x * 4;
    if (at >= part.end || *hr_global<const uint64_t>(lz_whole_verdict(task)) != 0) {
        return;
    }
    const uint64_t words = lz_whole_room(task);
    const uint32_t n = min(part.end - at, UINT32_C(4));
    uint32_t word[4];
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        word[i] = i < n ? hr_load_late(words + UINT64_C(4) * (at + i)) : LZ_WHOLE_VALUE;
    }
    while ((word[0] & word[1] & word[2] & word[3] & LZ_WHOLE_VALUE) == 0) {
        HR_NO_UNROLL
        for (uint32_t step = 0; step < 4; step++) {
            HR_UNROLL
            for (uint32_t i = 0; i < 4; i++) {
                if (word[i] < LZ_WHOLE_VALUE) {
                    word[i] = hr_load_late(words + UINT64_C(4) * word[i]);
                }
            }
        }
        HR_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            if (i < n) {
                hr_global<uint32_t>(words)[at + i] = word[i];
            }
        }
    }
    const uint64_t dst = task.dst + at;
    if (n == 4 && dst % 4 == 0) {
        *hr_global<uint32_t>(dst) =
            __byte_perm(__byte_perm(word[0], word[1], 0x0040),
                        __byte_perm(word[2], word[3], 0x0040), 0x5410);
    } else {
        for (uint32_t i = 0; i < n; i++) {
            *hr_global<uint8_t>(dst + i) = (uint8_t)word[i];
        }
    }
}

/* Those to be decoded by a team come last, and the counter stands before them. */
static __device__ __forceinline__ void lz_whole_settle(const hr_k_decode &p) {
    hr_k_task *tasks = hr_global<hr_k_task>(p.tasks);
    uint32_t ngood = 0;
    for (uint32_t i = 0; i < p.ntasks; i++) {
        const hr_k_task task = tasks[i];
        if (*hr_global<const uint64_t>(lz_whole_verdict(task)) == 0) {
            tasks[i] = tasks[ngood];
            tasks[ngood++] = task;
            uint64_t *status = hr_global<uint64_t>(p.status) + task.status_index;
            *status = *status == 0 ? HR_K_BY_WHOLE : *status;
        }
    }
    *hr_global<uint32_t>(p.counter) = ngood;
}

#define LZ_WHOLE_KERNEL(name, threads)                                                   \
    extern "C" __global__ void __launch_bounds__(threads)                                \
        hr_k_lz4_whole_##name##_kernel(const __grid_constant__ hr_k_decode p) {          \
        lz_whole_##name(p);                                                              \
    }

LZ_WHOLE_KERNEL(links, HR_K_WHOLE_THREADS)
LZ_WHOLE_KERNEL(chain, HR_K_WHOLE_THREADS)
LZ_WHOLE_KERNEL(point, HR_K_WHOLE_THREADS)
LZ_WHOLE_KERNEL(resolve, HR_K_WHOLE_TILE / 4)
LZ_WHOLE_KERNEL(settle, 1)

#endif
