/* Zstandard's literals: Huffman trees and streams. SPDX-License-Identifier: Apache-2.0
 *
 * A warp takes HR_K_ZSTD_TREES blocks. One lane of each reads the tree, all make the
 * tables, and a lane decodes each stream. Its bits come through shared memory: a lane
 * that waited for a load of its own would make the others wait, too. */
#ifndef HR_CUDA_ZSTD_LITERALS_CUH
#define HR_CUDA_ZSTD_LITERALS_CUH

#include "group.cuh"
#include "zstd_code.cuh"
#include "zstd_feed.cuh"

#define ZSTD_MAX_TREE_LOG 11
#define ZSTD_MAX_WEIGHT 11

/* Units of a stream's ring, and bytes from one to the next, with the copy of a unit:
 * apart in the banks. */
#define ZSTD_STREAM_NUNITS 8
#define ZSTD_STREAM_STRIDE (16 * ZSTD_STREAM_NUNITS + 16)

/* While a tree is made. */
struct zstd_weights {
    uint8_t weights[256];
    uint32_t states[64];
    uint16_t counts[ZSTD_MAX_WEIGHT + 1];
    uint32_t n; /* 0: they are wrong */
};

struct alignas(16) zstd_trees {
    uint16_t tables[HR_K_ZSTD_TREES][1 << ZSTD_MAX_TREE_LOG]; /* bits | symbol << 8 */
    uint32_t logs[HR_K_ZSTD_TREES];                           /* 0: no tree */
    union {
        zstd_weights weights[HR_K_ZSTD_TREES];
        uint8_t rings[4 * HR_K_ZSTD_TREES][ZSTD_STREAM_STRIDE];
    };
};

struct zstd_said_weight {
    __device__ __forceinline__ uint32_t operator()(uint32_t weight) const {
        return weight << 5;
    }
};

/* Weights in a code of two states that take turns; how many, 0 if something is wrong. */
static __device__ __forceinline__ uint32_t zstd_decode_weights(zstd_weights &t,
                                                               uint64_t at,
                                                               uint64_t end) {
    zstd_forward in = {at, end, 0};
    const uint32_t log = zstd_read_counts(in, t.counts, ZSTD_MAX_WEIGHT, 6);
    zstd_bits bits;
    if (log == 0 || in.at >= end || !bits.open(in.at, (uint32_t)(end - in.at))) {
        return 0;
    }
    zstd_make_table(t.states, t.counts, ZSTD_MAX_WEIGHT, log, zstd_said_weight());
    bits.fill();
    uint32_t state = bits.take(log), other = bits.take(log), n = 0;
    if (bits.left < 0) {
        return 0;
    }
    while (bits.left >= 0) {
        if (n > 253) {
            return 0;
        }
        const uint32_t entry = t.states[state];
        t.weights[n++] = (uint8_t)(entry >> 5 & 15);
        bits.fill();
        state = other;
        other = zstd_base(entry) + bits.take(zstd_nbits(entry));
    }
    t.weights[n++] = (uint8_t)(t.states[state] >> 5 & 15);
    return n;
}

static __device__ __forceinline__ uint32_t zstd_read_weights(zstd_weights &t, uint64_t at,
                                                             uint64_t end) {
    const uint32_t first = lz_load_u8(at++);
    if (first < 128) {
        return first > end - at ? 0 : zstd_decode_weights(t, at, at + first);
    }
    const uint32_t n = first - 127;
    if ((n + 1) / 2 > end - at) {
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        t.weights[i] = (uint8_t)(lz_load_u8(at + i / 2) >> (i % 2 == 0 ? 4 : 0) & 15);
    }
    return n;
}

/* All lanes: how many of the symbols 32 * group … have this weight. */
static __device__ __forceinline__ uint32_t zstd_vote(uint32_t mine, uint32_t weight) {
    return __ballot_sync(0xFFFFFFFF, mine == weight);
}

/* n entries from `start` on, of each lane. */
static __device__ __forceinline__ void
zstd_fill(uint16_t *table, uint32_t start, uint32_t n, uint32_t entry, uint32_t lane) {
    if (n <= 8) {
        for (uint32_t k = 0; k < n; k++) {
            table[start + k] = (uint16_t)entry;
        }
    }
    for (uint32_t many = __ballot_sync(0xFFFFFFFF, n > 8); many != 0; many &= many - 1) {
        const uint32_t from = (uint32_t)__ffs((int)many) - 1;
        const uint32_t first = __shfl_sync(0xFFFFFFFF, start, from);
        const uint32_t all = __shfl_sync(0xFFFFFFFF, n, from);
        const uint32_t value = __shfl_sync(0xFFFFFFFF, entry, from);
        for (uint32_t k = lane; k < all; k += 32) {
            table[first + k] = (uint16_t)value;
        }
    }
}

/* All lanes: the table of a tree; the last weight, which is not written down, fills it
 * up. Its log, or 0 if there is no such tree. */
static __device__ __forceinline__ uint32_t zstd_make_tree(uint16_t *table,
                                                          zstd_weights &t,
                                                          uint32_t lane) {
    const uint32_t n = t.n;
    uint32_t counts[ZSTD_MAX_WEIGHT + 1] = {};
    bool is_too_much = false;
    HR_NO_UNROLL
    for (uint32_t i = lane; i < 256; i += 32) {
        const uint32_t weight = i < n ? t.weights[i] : 0;
        is_too_much = is_too_much || weight > ZSTD_MAX_WEIGHT;
        HR_UNROLL
        for (uint32_t w = 1; w <= ZSTD_MAX_WEIGHT; w++) {
            counts[w] += (uint32_t)__popc(zstd_vote(weight, w));
        }
    }
    uint32_t sum = 0;
    HR_UNROLL
    for (uint32_t w = 1; w <= ZSTD_MAX_WEIGHT; w++) {
        sum += counts[w] << (w - 1);
    }
    const uint32_t log = zstd_log2(sum | 1) + 1, rest = (1U << log) - sum;
    const uint32_t last = zstd_log2(rest) + 1;
    if (__any_sync(0xFFFFFFFF, is_too_much) || sum == 0 || log > ZSTD_MAX_TREE_LOG ||
        (rest & (rest - 1)) != 0 || counts[1] + (last == 1 ? 1 : 0) < 2) {
        return 0;
    }
    uint32_t start = 0;
    HR_UNROLL
    for (uint32_t w = 1; w <= ZSTD_MAX_WEIGHT; w++) { /* from numbers to places */
        const uint32_t count = counts[w] + (last == w ? 1 : 0);
        counts[w] = start;
        start += count << (w - 1);
    }
    HR_NO_UNROLL
    for (uint32_t i = lane; i < 256; i += 32) {
        const uint32_t weight = i < n ? t.weights[i] : i == n ? last : 0;
        uint32_t place = 0;
        HR_UNROLL
        for (uint32_t w = 1; w <= ZSTD_MAX_WEIGHT; w++) {
            const uint32_t all = zstd_vote(weight, w);
            const uint32_t before = (uint32_t)__popc(all & ((1U << lane) - 1));
            place = weight == w ? counts[w] + (before << (w - 1)) : place;
            counts[w] += (uint32_t)__popc(all) << (w - 1);
        }
        zstd_fill(table, place, (1U << weight) >> 1, (log + 1 - weight) | i << 8, lane);
    }
    return log;
}

/* The bits of a stream, from its end: 64 after each load, and a ring. */
struct zstd_stream {
    zstd_feed<ZSTD_STREAM_NUNITS, 1> feed;
    zstd_place place;
    uint8_t *ring;
    int32_t first; /* the place of the next bit */
    uint32_t high, low;

    __device__ __forceinline__ zstd_stream(const zstd_place &where, uint8_t *room)
        : feed(where, 0), place(where), ring(room), first(where.end - 1) {
        feed.bring(place, ring, first >> 7);
        hr_copies_wait();
    }
    /* Before up to 16 symbols, of 22 bytes at most; what was brought four times ago is
     * there, and the ring has room for all that is taken until then. */
    __device__ __forceinline__ void look_ahead() {
        feed.bring(place, ring, first >> 7);
        hr_copies_commit();
        hr_copies_wait_but<3>();
    }
    /* The words from the one with the next bit on, downwards. */
    __device__ __forceinline__ void find(uint32_t (&words)[4]) const {
        const uint32_t at =
            hr_shared_name(ring) + ((uint32_t)first >> 3 & (16 * ZSTD_STREAM_NUNITS - 4));
        HR_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            words[i] = hr_load_named(at - 4 * i);
        }
    }
    /* Four symbols' bits, at least, of words that were found when `then` was the place of
     * the next bit, up to 31 before. */
    __device__ __forceinline__ void fill(const uint32_t (&words)[4], int32_t then) {
        const uint32_t shift = ~(uint32_t)then, used = (uint32_t)(then - first);
        const uint32_t x0 = __funnelshift_l(words[1], words[0], shift);
        const uint32_t x1 = __funnelshift_l(words[2], words[1], shift);
        const uint32_t x2 = __funnelshift_l(words[3], words[2], shift);
        high = __funnelshift_l(x1, x0, used);
        low = __funnelshift_l(x2, x1, used);
    }
    __device__ __forceinline__ void load() {
        uint32_t words[4];
        find(words);
        fill(words, first);
    }
    /* The next symbol in the second byte. */
    __device__ __forceinline__ uint32_t take(const uint16_t *table, uint32_t shift) {
        const uint32_t entry = table[high >> shift];
        high = __funnelshift_l(low, high, entry);
        low = __funnelshift_l(0, low, entry);
        first -= (int32_t)(entry & 31);
        return entry;
    }
    /* Four; words for the next are on their way when two are left. */
    __device__ __forceinline__ uint32_t take_four(const uint16_t *table, uint32_t shift) {
        const uint32_t a = take(table, shift), b = take(table, shift);
        uint32_t words[4];
        const int32_t then = first;
        find(words);
        const uint32_t c = take(table, shift), d = take(table, shift);
        fill(words, then);
        return __byte_perm(__byte_perm(a, b, 0x0051), __byte_perm(c, d, 0x0051), 0x5410);
    }
    __device__ __forceinline__ bool is_at_end() const {
        return first + 1 == place.begin;
    }
};

/* One stream: n literals to dst. False if its bits are more, or fewer. */
static __device__ __forceinline__ bool zstd_decode_literals(zstd_stream &s,
                                                            const uint16_t *table,
                                                            uint32_t log, uint64_t dst,
                                                            uint32_t n) {
    const uint32_t shift = 32 - log;
    const uint32_t head = min((uint32_t)(0 - dst) & 15, n);
    uint32_t i = 0;
    for (; i < head; i++) {
        s.load();
        *hr_global<uint8_t>(dst + i) = (uint8_t)(s.take(table, shift) >> 8);
    }
    s.load();
    HR_NO_UNROLL
    for (; n - i >= 16; i += 16) {
        s.look_ahead();
        hr_u128 all;
        HR_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            all.word[k] = s.take_four(table, shift);
        }
        *hr_global<hr_u128>(dst + i) = all;
    }
    s.look_ahead();
    hr_copies_wait();
    for (; i < n; i++) {
        s.load();
        *hr_global<uint8_t>(dst + i) = (uint8_t)(s.take(table, shift) >> 8);
    }
    return s.is_at_end();
}

/* Stream k of a block: where it lies and what it makes. */
static __device__ __forceinline__ bool zstd_run_stream(zstd_trees &trees, uint32_t tree,
                                                       const hr_k_task *task,
                                                       const hr_k_zstd_block *b,
                                                       uint32_t k) {
    const lz_range range = {task->src, task->src + task->src_nbytes};
    uint64_t at = task->src + b->literals;
    uint32_t nbytes = b->literals_nbytes, first = 0, n = b->nliterals;
    if (b->nstreams == 4) {
        uint32_t begin = 6, end = 6;
        for (uint32_t i = 0; i <= k; i++) {
            begin = end;
            end = i == 3 ? nbytes
                         : begin +
                               (lz_load_u8(at + 2 * i) | lz_load_u8(at + 2 * i + 1) << 8);
        }
        if (begin >= end || end > nbytes) {
            return false;
        }
        const uint32_t share = (n + 3) / 4;
        at += begin;
        nbytes = end - begin;
        first = share * k;
        n = k == 3 ? n - first : share;
    }
    const zstd_place place(at, nbytes, range);
    if (!place.has_end) {
        return false;
    }
    zstd_stream stream(place, trees.rings[tree * 4 + k] + 16);
    return zstd_decode_literals(stream, trees.tables[tree], trees.logs[tree],
                                b->made_literals + first, n);
}

/* All lanes: the literals of block i, if they are one byte. */
static __device__ __forceinline__ void zstd_repeat_literal(const hr_k_zstd &p,
                                                           uint32_t i) {
    const hr_group<1, 0, 0> group;
    const hr_k_zstd_block *b = zstd_block(p, i);
    if (b->literals_kind == HR_K_ZSTD_RLE) {
        const uint64_t src =
            (hr_global<const hr_k_task>(p.streams.tasks) + b->stream)->src;
        const lz_same same = {lz_load_u8(src + b->literals) * 0x01010101};
        lz_write(group, b->made_literals, b->nliterals, same);
    }
}

extern "C" __global__ void __launch_bounds__(32)
    hr_k_zstd_literals_kernel(const __grid_constant__ hr_k_zstd p) {
    zstd_trees &trees = *(zstd_trees *)hr_shared();
    const uint32_t lane = threadIdx.x, mine = lane / 4 % HR_K_ZSTD_TREES, k = lane % 4;
    const uint32_t *numbers = hr_global<const uint32_t>(p.with_literals);
    HR_NO_UNROLL
    for (uint32_t first = blockIdx.x * HR_K_ZSTD_TREES; first < p.nwith_literals;
         first += gridDim.x * HR_K_ZSTD_TREES) {
        const bool is_there =
            lane < 4 * HR_K_ZSTD_TREES && first + mine < p.nwith_literals;
        const uint32_t number = numbers[is_there ? first + mine : first];
        const hr_k_zstd_block *b = zstd_block(p, number);
        const bool is_on = is_there && b->literals_kind == HR_K_ZSTD_CODED;
        const hr_k_task *task = hr_global<const hr_k_task>(p.streams.tasks) + b->stream;
        __syncwarp();
        if (lane < 4 * HR_K_ZSTD_TREES && k == 0) {
            zstd_weights &w = trees.weights[mine];
            w.n = is_on ? zstd_read_weights(w, task->src + b->tree,
                                            task->src + task->src_nbytes)
                        : 0;
        }
        __syncwarp();
        HR_NO_UNROLL
        for (uint32_t i = 0; i < HR_K_ZSTD_TREES; i++) {
            const uint32_t log = zstd_make_tree(trees.tables[i], trees.weights[i], lane);
            if (lane == 0) {
                trees.logs[i] = log;
            }
            if (first + i < p.nwith_literals) {
                zstd_repeat_literal(p, numbers[first + i]);
            }
        }
        __syncwarp();
        const bool is_good =
            is_on && trees.logs[mine] != 0 &&
            (k >= b->nstreams || zstd_run_stream(trees, mine, task, b, k));
        if (is_on && !is_good) {
            zstd_result(p, number)->literals_code = HR_K_BAD_CODE;
        }
    }
    hr_wait_for_last();
}

#endif
