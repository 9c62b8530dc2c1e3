/* Zstandard's literals: Huffman trees and streams. SPDX-License-Identifier: Apache-2.0
 *
 * A warp takes HR_K_ZSTD_TREES blocks. One lane of each reads the tree, all fill the
 * tables, and a lane decodes each stream. */
#ifndef HR_CUDA_ZSTD_LITERALS_CUH
#define HR_CUDA_ZSTD_LITERALS_CUH

#include "group.cuh"
#include "zstd_code.cuh"

#define ZSTD_MAX_TREE_LOG 11
#define ZSTD_MAX_WEIGHT 11

struct zstd_tree {
    uint16_t table[1 << ZSTD_MAX_TREE_LOG]; /* symbol | bits << 8 */
    uint16_t starts[256];                   /* in the table */
    uint8_t weights[256];
    uint32_t states[64];
    uint16_t counts[16];
    uint32_t log; /* 0: no tree */
};

struct zstd_no_extra {
    __device__ __forceinline__ uint32_t operator()(uint32_t) const {
        return 0;
    }
};

/* Weights in a code of two states that take turns; how many, 0 if something is wrong. */
static __device__ __forceinline__ uint32_t zstd_decode_weights(zstd_tree &t, uint64_t at,
                                                               uint64_t end) {
    zstd_forward in = {at, end, 0};
    const uint32_t log = zstd_read_counts(in, t.counts, 15, 6);
    zstd_bits bits;
    if (log == 0 || in.at >= end || !bits.open(in.at, (uint32_t)(end - in.at))) {
        return 0;
    }
    zstd_make_table(t.states, t.counts, 15, log, zstd_no_extra());
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
        t.weights[n++] = (uint8_t)zstd_symbol(entry);
        bits.fill();
        state = other;
        other = zstd_base(entry) + bits.take(zstd_nbits(entry));
    }
    t.weights[n++] = (uint8_t)zstd_symbol(t.states[state]);
    return n;
}

static __device__ __forceinline__ uint32_t zstd_read_weights(zstd_tree &t, uint64_t at,
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

/* Read a tree and find where its symbols start; the last weight fills it up. False if it
 * is none. */
static __device__ __forceinline__ uint32_t zstd_read_tree(zstd_tree &t, uint64_t at,
                                                          uint64_t end) {
    const uint32_t n = zstd_read_weights(t, at, end);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 16; i++) {
        t.counts[i] = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        sum += (1U << t.weights[i]) >> 1;
        t.counts[t.weights[i] & 15]++;
    }
    const uint32_t log = zstd_log2(sum | 1) + 1, rest = (1U << log) - sum;
    if (sum == 0 || log > ZSTD_MAX_TREE_LOG || (rest & (rest - 1)) != 0) {
        return 0;
    }
    t.weights[n] = (uint8_t)(zstd_log2(rest) + 1);
    t.counts[t.weights[n]]++;
    if (t.counts[1] < 2) {
        return 0;
    }
    uint32_t start = 0;
    for (uint32_t w = 1; w <= ZSTD_MAX_WEIGHT; w++) {
        const uint32_t count = t.counts[w];
        t.counts[w] = (uint16_t)start;
        start += count << (w - 1);
    }
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t w = i <= n ? t.weights[i] : 0;
        t.weights[i] = (uint8_t)w;
        t.starts[i] = t.counts[w];
        t.counts[w] = (uint16_t)(t.counts[w] + ((1U << w) >> 1));
    }
    return log;
}

/* All lanes. */
static __device__ __forceinline__ void zstd_fill_tree(zstd_tree &t, uint32_t lane) {
    HR_NO_UNROLL
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t n = (1U << t.weights[i]) >> 1;
        const uint32_t entry = i | (t.log + 1 - t.weights[i]) << 8;
        for (uint32_t k = lane; k < n; k += 32) {
            t.table[t.starts[i] + k] = (uint16_t)entry;
        }
    }
}

/* One stream: n literals to dst. False if its bits are more, or fewer. */
static __device__ __forceinline__ bool
zstd_decode_literals(const zstd_tree &t, zstd_bits &bits, uint64_t dst, uint32_t n) {
    const uint32_t log = t.log;
    uint32_t i = 0;
    for (; i < n && ((dst + i) & 3) != 0; i++) {
        bits.fill();
        const uint32_t entry = t.table[bits.peek(log)];
        bits.skip(entry >> 8);
        *hr_global<uint8_t>(dst + i) = (uint8_t)entry;
    }
    for (; n - i >= 4; i += 4) {
        uint32_t word = 0;
        HR_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            if (k % 2 == 0) {
                bits.fill();
            }
            const uint32_t entry = t.table[bits.peek(log)];
            bits.skip(entry >> 8);
            word |= (entry & 255) << (8 * k);
        }
        *hr_global<uint32_t>(dst + i) = word;
    }
    for (; i < n; i++) {
        bits.fill();
        const uint32_t entry = t.table[bits.peek(log)];
        bits.skip(entry >> 8);
        *hr_global<uint8_t>(dst + i) = (uint8_t)entry;
    }
    return bits.is_at_end();
}

/* Stream k of a block: where it lies and what it makes. */
static __device__ __forceinline__ bool
zstd_run_stream(const zstd_tree &t, uint64_t src, const hr_k_zstd_block *b, uint32_t k) {
    uint64_t at = src + b->literals;
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
    zstd_bits bits;
    return bits.open(at, nbytes) &&
           zstd_decode_literals(t, bits, b->made_literals + first, n);
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
    zstd_tree *trees = (zstd_tree *)hr_shared();
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
        const uint64_t src = task->src;
        __syncwarp();
        if (lane < 4 * HR_K_ZSTD_TREES && k == 0) {
            trees[mine].log =
                is_on ? zstd_read_tree(trees[mine], src + b->tree, src + task->src_nbytes)
                      : 0;
        }
        __syncwarp();
        HR_NO_UNROLL
        for (uint32_t i = 0; i < HR_K_ZSTD_TREES; i++) {
            if (trees[i].log != 0) {
                zstd_fill_tree(trees[i], lane);
            } else if (first + i < p.nwith_literals) {
                zstd_repeat_literal(p, numbers[first + i]);
            }
        }
        __syncwarp();
        const bool is_good =
            is_on && trees[mine].log != 0 &&
            (k >= b->nstreams || zstd_run_stream(trees[mine], src, b, k));
        if (is_on && !is_good) {
            zstd_result(p, number)->literals_code = HR_K_BAD_CODE;
        }
    }
}

#endif
