/* Teams of warps that decode LZ streams, whatever the codec.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A parser turns streams into steps: a tile of parts to make, a long run to copy, a
 * stream to finish. In a team of one group the same warps parse and execute in turn; in a
 * team of two, one group parses ahead of the other through two buffers. Blocks take
 * streams from a common list until it is empty. */
#ifndef HR_CUDA_LZ_TEAM_CUH
#define HR_CUDA_LZ_TEAM_CUH

#include "kernel_abi.h"
#include "lz_copy.cuh"
#include "lz_parts.cuh"

enum lz_kind { LZ_TILE, LZ_COPY, LZ_CHECK, LZ_NOTHING, LZ_FINISH, LZ_QUIT };

struct lz_step {
    uint32_t kind;
    uint32_t task;                      /* its number */
    uint32_t at;                        /* in the output: all before is made */
    uint32_t ring_begin;                /* in the output: the ring has it from here on */
    uint32_t nbytes;                    /* LZ_TILE; LZ_CHECK: those before `at` */
    uint32_t nliterals, nmatch, offset; /* LZ_COPY */
    uint64_t literals;                  /* their address; LZ_CHECK: what to check for */
    uint32_t code, where;               /* LZ_FINISH, if not 0; LZ_CHECK, if it fails */
};

/* Barriers of the block. Those of the two buffers are FULL + buffer, EMPTY + buffer. */
enum { LZ_PARSERS = 1, LZ_MAKERS = 2, LZ_FULL = 3, LZ_EMPTY = 5 };

/* C: what all the parts of a team agree on.
 *   PARSE_WARPS, MAKE_WARPS   MAKE_WARPS = 0: the parsing warps make the output too
 *   SEGMENT                   bytes of the stream per parsing lane and tile
 *   WINDOW, RING              bytes; see lz_parts.cuh
 *   PARTS, OUTPUT             room of a tile; 0: there are none, see lz_runner.cuh
 *   SINGLES                   see lz_parts.cuh
 *   BLOCKS                    to fit in a multiprocessor, of those that are big enough */
template <uint32_t PARSE, uint32_t MAKE, uint32_t SEGMENT_, uint32_t WINDOW_,
          uint32_t RING_, uint32_t PARTS_, uint32_t OUTPUT_, bool SINGLES_,
          uint32_t BLOCKS_>
struct lz_team {
    static constexpr bool IS_SPLIT = MAKE > 0;
    static constexpr uint32_t THREADS = (PARSE + MAKE) * 32;
    static constexpr uint32_t FITTING = HR_MOST_THREADS / THREADS < HR_MOST_BLOCKS
                                            ? HR_MOST_THREADS / THREADS
                                            : HR_MOST_BLOCKS;
    static constexpr uint32_t BLOCKS = BLOCKS_ < FITTING ? BLOCKS_ : FITTING;
    static constexpr uint32_t SEGMENT = SEGMENT_, WINDOW = WINDOW_, RING = RING_;
    static constexpr uint32_t PARTS = PARTS_, OUTPUT = OUTPUT_, WORDS = OUTPUT_ / 32;
    static constexpr bool SINGLES = SINGLES_;
    static constexpr bool CHECKS = false; /* or there is C::is_right */
    static constexpr bool MOVES = false;  /* literals may lie in the output yet to make */
    typedef hr_group<PARSE, 0, IS_SPLIT ? LZ_PARSERS : 0> Parsers;
    typedef hr_group<IS_SPLIT ? MAKE : PARSE, IS_SPLIT ? PARSE : 0,
                     IS_SPLIT ? LZ_MAKERS : 0>
        Makers;

    /* A tile's stretch of the stream: a segment per lane, and enough behind the last one
     * for what begins there, mostly. */
    static constexpr uint32_t STRETCH = PARSE * 32 * SEGMENT + 64;
    /* Longer runs are copied. */
    static constexpr uint32_t LONGEST = OUTPUT <= 6144 ? 1023 : 2047;
};

/* One thread's view of a buffer. */
struct lz_buffer {
    uint8_t *bytes;    /* the stretch, and what may be looked at behind it */
    uint32_t bytes_at; /* in shared memory */
    uint16_t *exits;   /* of the stretch; used up when parts are put */
    uint32_t *parts;   /* in the same place */
    lz_word *words;
    lz_step *step; /* of a team of two groups */
};

template <class C> struct lz_layout {
    static constexpr uint32_t align(uint32_t n) {
        return (n + 15) / 16 * 16;
    }
    static constexpr uint32_t BYTES = align(C::STRETCH + 16);
    static constexpr uint32_t EXITS = C::PARTS > 0 ? align((C::STRETCH - 64) * 2) : 0;
    static constexpr uint32_t PARTS = align((C::PARTS + 1) * 4);
    static constexpr uint32_t TABLE = EXITS > PARTS ? EXITS : PARTS;
    static constexpr uint32_t WORDS = C::WORDS * 8;
    static constexpr uint32_t STEP = C::IS_SPLIT ? align(sizeof(lz_step)) : 0;
    static constexpr uint32_t BUFFER = BYTES + TABLE + WORDS + STEP;
    static constexpr uint32_t SCRATCH = C::RING + (C::IS_SPLIT ? 2 : 1) * BUFFER;

    static __device__ __forceinline__ lz_buffer buffer(uint8_t *shared, uint32_t i) {
        const uint32_t at = C::RING + i * BUFFER;
        uint8_t *p = shared + at;
        return {p,
                at,
                (uint16_t *)(p + BYTES),
                (uint32_t *)(p + BYTES),
                (lz_word *)(p + BYTES + TABLE),
                (lz_step *)(p + BYTES + TABLE + WORDS)};
    }
};

static __device__ __forceinline__ const hr_k_task *lz_task(const hr_k_decode &p,
                                                           uint32_t i) {
    return hr_global<const hr_k_task>(p.tasks) + i;
}

/* The number of the next stream of the list; from ntasks on there is none. told: of the
 * group, in shared memory. All are in step before and after. */
template <class Group>
static __device__ __forceinline__ uint32_t lz_take(const Group &group,
                                                   const hr_k_decode &p, uint32_t &told) {
    group.sync();
    if (group.rank == 0) {
        told = atomicAdd(hr_global<uint32_t>(p.counter), 1);
    }
    group.sync();
    return told;
}

static __device__ __forceinline__ void lz_tell(const hr_k_decode &p,
                                               const hr_k_task *task, const lz_step &s) {
    hr_atomic_max(hr_global<uint64_t>(p.status) + task->status_index,
                  (uint64_t)s.code << 32 | s.where);
}

/* Carry out a step. The group leaves in step. */
template <class C>
static __device__ __forceinline__ void
lz_execute(const typename C::Makers &group, const hr_k_decode &p, uint8_t *shared,
           const lz_step &s, const lz_buffer &buffer) {
    const hr_k_task *task = lz_task(p, s.task);
    const uint64_t dst = task->dst, to = dst + s.at;
    if (C::PARTS > 0 && s.kind == LZ_TILE) {
        if constexpr (C::PARTS > 0) {
            const uint32_t begin = lz_position(to);
            const uint32_t first_word = lz_base(begin) >> 5; /* found by position */
            const uint32_t words =
                hr_shared_name(buffer.words) - first_word * (uint32_t)sizeof(lz_word);
            const lz_output o = {shared, words, to - begin,
                                 begin - min(s.at - s.ring_begin, begin)};
            lz_make_tile<C>(group, o, begin, begin + s.nbytes);
        }
    } else if (s.kind == LZ_COPY) {
        if (C::MOVES) {
            lz_move(group, to, s.nliterals, s.literals);
        } else if (s.nliterals > 0) {
            const lz_range range = {s.literals, s.literals + s.nliterals};
            const lz_straight literals = {s.literals, range};
            lz_write(group, to, s.nliterals, literals);
            group.sync();
        }
        if (s.nmatch > 0) {
            lz_write_match(group, dst, to + s.nliterals, s.offset, s.nmatch);
            group.sync();
        }
    } else if (C::CHECKS && s.kind == LZ_CHECK) {
        if constexpr (C::CHECKS) {
            if (!C::is_right(to - s.nbytes, s.nbytes, s.literals, buffer.bytes_at) &&
                group.rank == 0) {
                lz_tell(p, task, s);
            }
            group.sync();
        }
    } else if (s.kind == LZ_FINISH && s.code != 0) {
        lz_write(group, to, task->dst_nbytes - s.at, lz_same{0});
        if (group.rank == 0) {
            lz_tell(p, task, s);
        }
    }
}

/* Parser: a codec's, with a constructor from (p, its scratch in shared memory, what else
 * lz_run was given) and
 *   bool take()                          the next stream; false if there is none
 *   void next(const lz_buffer &, lz_step &)    its next step; LZ_FINISH is the last
 * both the same for all threads of its group, which need not be in step at the end.
 * Parser::SCRATCH: bytes of shared memory that it needs. */
template <class C, class Parser, class... More>
static __device__ __forceinline__ void lz_run_alone(const hr_k_decode &p, uint8_t *shared,
                                                    const More &...more) {
    const typename C::Makers group;
    const lz_buffer buffer = lz_layout<C>::buffer(shared, 0);
    Parser parser(p, shared + lz_layout<C>::SCRATCH, more...);
    while (parser.take()) {
        lz_step step;
        do {
            parser.next(buffer, step);
            group.sync();
            lz_execute<C>(group, p, shared, step, buffer);
        } while (step.kind != LZ_FINISH);
    }
}

/* Step i goes through buffer i & 1, and its barriers. Those have constant numbers: for
 * numbers worked out the compiler claims all sixteen. */
static __device__ __forceinline__ void lz_sync(uint32_t barrier, uint32_t i,
                                               uint32_t nthreads) {
    if ((i & 1) == 0) {
        hr_barrier_sync(barrier, nthreads);
    } else {
        hr_barrier_sync(barrier + 1, nthreads);
    }
}
static __device__ __forceinline__ void lz_arrive(uint32_t barrier, uint32_t i,
                                                 uint32_t nthreads) {
    __syncwarp();
    if ((i & 1) == 0) {
        hr_barrier_arrive(barrier, nthreads);
    } else {
        hr_barrier_arrive(barrier + 1, nthreads);
    }
}

template <class C>
static __device__ __forceinline__ lz_buffer lz_wait_empty(uint8_t *shared, uint32_t i) {
    if (i >= 2) {
        lz_sync(LZ_EMPTY, i, C::THREADS);
    }
    return lz_layout<C>::buffer(shared, i & 1);
}

template <class C>
static __device__ __forceinline__ void lz_hand_over(const lz_buffer &buffer, uint32_t i,
                                                    const lz_step &step) {
    if (threadIdx.x == 0) {
        *buffer.step = step;
    }
    lz_arrive(LZ_FULL, i, C::THREADS);
}

template <class C, class Parser, class... More>
static __device__ __forceinline__ void
lz_run_parsers(const hr_k_decode &p, uint8_t *shared, const More &...more) {
    Parser parser(p, shared + lz_layout<C>::SCRATCH, more...);
    uint32_t i = 0;
    lz_step step;
    while (parser.take()) {
        do {
            const lz_buffer buffer = lz_wait_empty<C>(shared, i);
            parser.next(buffer, step);
            lz_hand_over<C>(buffer, i++, step);
        } while (step.kind != LZ_FINISH);
    }
    const lz_buffer buffer = lz_wait_empty<C>(shared, i);
    step = {};
    step.kind = LZ_QUIT;
    lz_hand_over<C>(buffer, i, step);
}

template <class C>
static __device__ __forceinline__ void lz_run_makers(const hr_k_decode &p,
                                                     uint8_t *shared) {
    const typename C::Makers group;
    for (uint32_t i = 0;; i++) {
        const lz_buffer buffer = lz_layout<C>::buffer(shared, i & 1);
        lz_sync(LZ_FULL, i, C::THREADS);
        const lz_step step = *buffer.step;
        if (step.kind == LZ_QUIT) {
            return;
        }
        lz_execute<C>(group, p, shared, step, buffer);
        lz_arrive(LZ_EMPTY, i, C::THREADS);
    }
}

template <class C, class Parser, class... More>
static __device__ __forceinline__ void lz_run(const hr_k_decode &p, const More &...more) {
    uint8_t *shared = hr_shared();
    if constexpr (!C::IS_SPLIT) {
        lz_run_alone<C, Parser>(p, shared, more...);
    } else if (threadIdx.x < C::Parsers::THREADS) {
        lz_run_parsers<C, Parser>(p, shared, more...);
    } else {
        lz_run_makers<C>(p, shared);
    }
}

#endif
