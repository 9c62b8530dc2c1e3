/* Filters beside the store's steps: running sums, packed bits, and items that may have no
 * value. SPDX-License-Identifier: Apache-2.0 */
#include "filters_bits.cuh"
#include "filters_exact.cuh"
#include "filters_float.cuh"
#include "filters_rows.cuh"
#include "filters_slot.cuh"
#include "filters_tiles.cuh"

/* --- running sums --- */

/* Of all bytes, or halves, of two words. */
template <uint32_t NBYTES>
static __device__ __forceinline__ uint32_t add_parts(uint32_t a, uint32_t b) {
    constexpr uint32_t TOP = NBYTES == 1 ? 0x80808080 : 0x80008000;
    return ((a & ~TOP) + (b & ~TOP)) ^ ((a ^ b) & TOP);
}

/* A number of NBYTES in every part of a word. */
template <uint32_t NBYTES>
static __device__ __forceinline__ uint32_t repeat(uint32_t number) {
    return NBYTES == 1   ? (number & 0xFF) * 0x01010101
           : NBYTES == 2 ? (number & 0xFFFF) * 0x00010001
                         : number;
}

template <uint32_t NBYTES>
static __device__ __forceinline__ uint32_t add_words(uint32_t a, uint32_t b) {
    if constexpr (NBYTES < 4) {
        return add_parts<NBYTES>(a, b);
    } else {
        return a + b;
    }
}

/* Sums of items of NBYTES; what is above an item's bits does not matter. */
template <uint32_t NBYTES> struct hr_sums {
    typedef uint32_t sum;

    /* The slot's items become running sums, whose last is returned. */
    static __device__ __forceinline__ uint32_t run(hr_u128 *slot) {
        uint32_t carry = 0;
        HR_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t w = slot->word[i];
            if (NBYTES <= 1) {
                w = add_words<NBYTES>(w, w << 8);
            }
            if (NBYTES <= 2) {
                w = add_words<NBYTES>(w, w << 16);
            }
            w = add_words<NBYTES>(w, repeat<NBYTES>(carry));
            carry = w >> (32 - 8 * NBYTES);
            slot->word[i] = w;
        }
        return carry;
    }
    static __device__ __forceinline__ void add(hr_u128 *slot, uint32_t before) {
        const uint32_t all = repeat<NBYTES>(before);
        HR_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            slot->word[i] = add_words<NBYTES>(slot->word[i], all);
        }
    }
};

static __device__ __forceinline__ uint64_t join(uint32_t low, uint32_t high) {
    return (uint64_t)high << 32 | low;
}

template <> struct hr_sums<8> {
    typedef uint64_t sum;

    static __device__ __forceinline__ uint64_t run(hr_u128 *slot) {
        uint32_t *w = slot->word;
        const uint64_t last = join(w[0], w[1]) + join(w[2], w[3]);
        w[2] = (uint32_t)last;
        w[3] = (uint32_t)(last >> 32);
        return last;
    }
    static __device__ __forceinline__ void add(hr_u128 *slot, uint64_t before) {
        uint32_t *w = slot->word;
        const uint64_t a = join(w[0], w[1]) + before, b = join(w[2], w[3]) + before;
        w[0] = (uint32_t)a;
        w[1] = (uint32_t)(a >> 32);
        w[2] = (uint32_t)b;
        w[3] = (uint32_t)(b >> 32);
    }
};

/* A block goes through the items slot by slot: a thread's slot, its warp, the block, and
 * what came before. The next slots are on their way meanwhile. Two rooms for the warps'
 * sums take turns, so that one barrier a turn is enough. */
template <uint32_t NBYTES>
static __device__ __forceinline__ void sum_items(const hr_k_filter_task &t) {
    typedef typename hr_sums<NBYTES>::sum Sum;
    constexpr uint32_t NWARPS = HR_K_SUM_THREADS / 32;
    constexpr uint64_t TURN = HR_K_SUM_THREADS * 16;
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint64_t end = t.dst + t.nitems * NBYTES;
    Sum *room = (Sum *)hr_shared();
    Sum before = 0;
    uint64_t at = t.dst + threadIdx.x * 16;
    hr_u128 slot = load_slot(at, end);
    HR_NO_UNROLL
    for (uint64_t turn = t.dst; turn < end; turn += TURN) {
        const hr_u128 next = load_slot(at + TURN, end);
        const Sum own = hr_sums<NBYTES>::run(&slot);
        const Sum up_to = sum_lanes(own, lane);
        if (lane == 31) {
            room[warp] = up_to;
        }
        __syncthreads();
        const Sum warps = sum_lanes(lane < NWARPS ? room[lane] : 0, lane);
        const Sum all = __shfl_sync(0xFFFFFFFF, warps, NWARPS - 1);
        const Sum lower = __shfl_sync(0xFFFFFFFF, warps, warp == 0 ? 0 : warp - 1);
        hr_sums<NBYTES>::add(&slot, before + (warp == 0 ? 0 : lower) + (up_to - own));
        store_slot(at, end, slot);
        before += all;
        room = (Sum *)hr_shared() + (room == (Sum *)hr_shared() ? NWARPS : 0);
        at += TURN;
        slot = next;
    }
    __syncthreads(); /* the next task begins with the first room */
}

static __device__ __forceinline__ void sum_numbers(const hr_k_filter_task &t) {
    switch (t.number) {
    case HR_K_F16:
        sum_floats<hr_sum_f16, 1>(t);
        break;
    case HR_K_BF16:
        sum_floats<hr_sum_bf16, 1>(t);
        break;
    case HR_K_F32:
        sum_floats<hr_sum_f32, 1>(t);
        break;
    case HR_K_F64:
        sum_floats<hr_sum_f64, 1>(t);
        break;
    case HR_K_C64:
        sum_floats<hr_sum_f32, 2>(t);
        break;
    default:
        sum_floats<hr_sum_f64, 2>(t);
        break;
    }
}

extern "C" __global__ void __launch_bounds__(HR_K_SUM_THREADS)
    hr_k_sum_kernel(const __grid_constant__ hr_k_filter p) {
    HR_NO_UNROLL
    for (uint32_t i = blockIdx.x; i < p.ntasks; i += gridDim.x) {
        const hr_k_filter_task &t = *find_task(p, i);
        if (t.kind != HR_K_FILTER_INTEGERS) {
            continue;
        }
        switch (t.nbytes) {
        case 1:
            sum_items<1>(t);
            break;
        case 2:
            sum_items<2>(t);
            break;
        case 4:
            sum_items<4>(t);
            break;
        default:
            sum_items<8>(t);
            break;
        }
    }
}

/* A kernel of its own: its registers would slow down the other. */
extern "C" __global__ void __launch_bounds__(HR_K_SUM_THREADS)
    hr_k_sum_floats_kernel(const __grid_constant__ hr_k_filter p) {
    HR_NO_UNROLL
    for (uint32_t i = blockIdx.x; i < p.ntasks; i += gridDim.x) {
        const hr_k_filter_task &t = *find_task(p, i);
        if (t.kind == HR_K_FILTER_FLOATS) {
            sum_numbers(t);
        }
    }
}

/* Rows are short, and there are many: tiles of them spread one task over blocks. */
struct hr_rows_filter {
    static __device__ __forceinline__ bool takes(const hr_k_filter_task &t) {
        return t.kind == HR_K_FILTER_ROWS;
    }
    static __device__ __forceinline__ void
    make(const hr_k_filter &, const hr_k_filter_task &t, uint32_t tile) {
        sum_rows(t, tile);
    }
};

extern "C" __global__ void __launch_bounds__(HR_K_SUM_THREADS)
    hr_k_sum_rows_kernel(const __grid_constant__ hr_k_filter p) {
    make_tiles<hr_rows_filter>(p);
}

/* --- packed bits --- */

/* Four bits as four bytes: the lowest first, or the highest. */
static __device__ __forceinline__ uint32_t spread_bits(uint32_t bits, bool high_first) {
    bits &= 0xF;
    if (high_first) {
        return (bits & 1) << 24 | (bits & 2) << 15 | (bits & 4) << 6 | bits >> 3;
    }
    return (bits & 1) | (bits & 2) << 7 | (bits & 4) << 14 | (bits & 8) << 21;
}

/* 16 components of one bit in a byte each: two bytes of the source, of which the second
 * may not exist. */
static __device__ __forceinline__ hr_u128 unpack_bools(const hr_k_filter_task &t,
                                                       uint64_t first) {
    const uint64_t src = t.src + first / 8;
    const bool is_high_first = t.high_first != 0;
    uint32_t bytes = *hr_global<const uint8_t>(src);
    if (first + 8 < t.nitems) {
        bytes |= (uint32_t)*hr_global<const uint8_t>(src + 1) << 8;
    }
    hr_u128 slot;
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t byte = bytes >> i / 2 * 8;
        const bool is_upper = (i % 2 == 0) == is_high_first;
        slot.word[i] = spread_bits(is_upper ? byte >> 4 : byte, is_high_first)
                       << t.first_bit;
    }
    return slot;
}

/* The word at an address, of which the bytes in [begin, end) may be read. */
static __device__ __forceinline__ uint32_t load_within(uint64_t at, uint64_t begin,
                                                       uint64_t end) {
    uint32_t word = 0;
    HR_UNROLL
    for (uint32_t k = 0; k < 4; k++) {
        if (at + k >= begin && at + k < end) {
            word |= (uint32_t)*hr_global<const uint8_t>(at + k) << 8 * k;
        }
    }
    return word;
}

/* 128 bits from this one on, zeros behind the last. */
static __device__ __forceinline__ void load_bits(const hr_k_filter_task &t, uint64_t bit,
                                                 uint64_t *bits) {
    const uint64_t byte = t.src + bit / 8, at = byte - byte % 4;
    const uint64_t end = t.src + (t.nitems * t.width + 7) / 8;
    const uint32_t shift = (uint32_t)(byte % 4) * 8 + (uint32_t)(bit % 8);
    uint32_t words[5];
    if (at >= t.src && at + sizeof words <= end) {
        HR_UNROLL
        for (uint32_t k = 0; k < 5; k++) {
            words[k] = *hr_global<const uint32_t>(at + 4 * k);
        }
    } else {
        HR_UNROLL
        for (uint32_t k = 0; k < 5; k++) {
            words[k] = load_within(at + 4 * k, t.src, end);
        }
    }
    HR_UNROLL
    for (uint32_t k = 0; k < 4; k++) {
        const uint64_t both = words[k] | (uint64_t)words[k + 1] << 32;
        words[k] = (uint32_t)(both >> shift);
    }
    bits[0] = join(words[0], words[1]);
    bits[1] = join(words[2], words[3]);
}

/* A slot: its components are 128 bits at most. */
template <uint32_t NBYTES>
static __device__ __forceinline__ hr_u128 unpack_any(const hr_k_filter_task &t,
                                                     uint64_t first) {
    const uint32_t width = t.width, first_bit = t.first_bit;
    const uint64_t mask = ~(uint64_t)0 >> (64 - width);
    const uint64_t sign = t.is_signed ? (uint64_t)1 << (width - 1) : 0;
    uint64_t bits[2];
    hr_u128 slot = {};
    load_bits(t, first * width, bits);
    HR_UNROLL
    for (uint32_t i = 0; i < 16 / NBYTES; i++) {
        put_item(NBYTES, i, (((bits[0] & mask) ^ sign) - sign) << first_bit, &slot);
        if (width == 64) {
            bits[0] = bits[1];
        } else {
            bits[0] = bits[0] >> width | bits[1] << (64 - width);
            bits[1] >>= width;
        }
    }
    return slot;
}

static __device__ __forceinline__ hr_u128 unpack_slot(const hr_k_filter_task &t,
                                                      uint64_t first) {
    if (t.high_first != 0) {
        return unpack_high_first(t, first);
    }
    switch (t.nbytes) {
    case 1:
        return unpack_any<1>(t, first);
    case 2:
        return unpack_any<2>(t, first);
    case 4:
        return unpack_any<4>(t, first);
    default:
        return unpack_any<8>(t, first);
    }
}

static __device__ __forceinline__ void check_padding(const hr_k_filter &p,
                                                     const hr_k_filter_task &t) {
    if (t.check != 0 && *hr_global<const uint8_t>(t.check) != t.check_value) {
        uint64_t *status = (uint64_t *)p.status + t.status_index;
        (void)hr_atomic_max(status, (uint64_t)HR_K_BAD_PADDING << 32);
    }
}

template <bool IS_BITS>
static __device__ __forceinline__ void
make_tile(const hr_k_filter &p, const hr_k_filter_task &t, uint32_t tile) {
    const uint32_t log_nbytes = (uint32_t)__ffs(t.nbytes) - 1;
    const uint64_t nbytes = t.nitems << log_nbytes;
    const uint64_t at = (uint64_t)tile * HR_K_UNPACK_TILE_NBYTES + threadIdx.x * 16;
    if (at >= nbytes) {
        return;
    }
    const uint64_t first = at >> log_nbytes;
    if constexpr (IS_BITS) {
        const bool is_bool = t.width == 1 && t.nbytes == 1 && !t.is_signed && t.row == 0;
        store_slot(t.dst + at, t.dst + nbytes,
                   is_bool ? unpack_bools(t, first) : unpack_slot(t, first));
    } else {
        store_slot(t.dst + at, t.dst + nbytes, filter_items(p, t, first));
    }
}

struct hr_bits_filter {
    static __device__ __forceinline__ bool takes(const hr_k_filter_task &t) {
        return t.kind == HR_K_FILTER_BITS;
    }
    static __device__ __forceinline__ void
    make(const hr_k_filter &p, const hr_k_filter_task &t, uint32_t tile) {
        if (tile == 0 && threadIdx.x == 0) {
            check_padding(p, t);
        }
        make_tile<true>(p, t, tile);
    }
};

struct hr_exact_filter {
    static __device__ __forceinline__ bool takes(const hr_k_filter_task &t) {
        return t.kind != HR_K_FILTER_BITS;
    }
    static __device__ __forceinline__ void
    make(const hr_k_filter &p, const hr_k_filter_task &t, uint32_t tile) {
        make_tile<false>(p, t, tile);
    }
};

extern "C" __global__ void __launch_bounds__(HR_K_THREADS)
    hr_k_unpack_kernel(const __grid_constant__ hr_k_filter p) {
    make_tiles<hr_bits_filter>(p);
}

extern "C" __global__ void __launch_bounds__(HR_K_THREADS)
    hr_k_exact_kernel(const __grid_constant__ hr_k_filter p) {
    make_tiles<hr_exact_filter>(p);
}
