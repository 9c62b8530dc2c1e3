/* Converting numbers of 32 bits at most. SPDX-License-Identifier: Apache-2.0
 *
 * To the same bits as store_convert.cuh does it, which takes any number. Here all slots
 * of a thread go through a step together, so that finding out what the step is costs
 * little beside it. */
#ifndef HR_CUDA_STORE_SMALL_CUH
#define HR_CUDA_STORE_SMALL_CUH

#include "store_convert.cuh"

#define HR_K_SMALL_GROUP (HR_K_GROUP * HR_K_STORE_SLOTS)

#define EACH_SMALL(expression)                                                           \
    do {                                                                                 \
        HR_UNROLL                                                                        \
        for (uint32_t i = 0; i < HR_K_SMALL_GROUP; i++) {                                \
            x[i] = (uint32_t)(expression);                                               \
        }                                                                                \
    } while (0)

static __device__ __forceinline__ void small_to_float(uint32_t number, uint32_t *x) {
    if (number == HR_K_F16) {
        EACH_SMALL(half_to_float(x[i]));
    } else if (number == HR_K_BF16) {
        EACH_SMALL(x[i] << 16);
    }
}

static __device__ __forceinline__ void small_from_float(uint32_t number, uint32_t *x) {
    if (number == HR_K_F16) {
        EACH_SMALL(float_to_half(x[i]));
    } else if (number == HR_K_BF16) {
        EACH_SMALL(float_to_bfloat(x[i]));
    }
}

static __device__ __forceinline__ void small_extend(uint32_t number, uint32_t *x) {
    switch (number) {
    case HR_K_I8:
        EACH_SMALL((int32_t)(int8_t)x[i]);
        break;
    case HR_K_I16:
        EACH_SMALL((int32_t)(int16_t)x[i]);
        break;
    case HR_K_U8:
        EACH_SMALL((uint8_t)x[i]);
        break;
    case HR_K_U16:
        EACH_SMALL((uint16_t)x[i]);
        break;
    default:
        break;
    }
}

static __device__ __forceinline__ void small_cast(uint32_t to, uint32_t from,
                                                  uint32_t *x) {
    if (to == HR_K_BOOL) {
        const uint32_t but_the_sign = is_integer(from)  ? 0xFFFFFFFF
                                      : from < HR_K_F32 ? 0x7FFF
                                                        : 0x7FFFFFFF;
        EACH_SMALL((x[i] & but_the_sign) != 0);
    } else if (is_integer(from)) {
        if (is_integer(to)) {
            small_extend(to, x);
        } else if (from == HR_K_U32) {
            EACH_SMALL(float_bits((float)x[i]));
            small_from_float(to, x);
        } else {
            EACH_SMALL(float_bits((float)(int32_t)x[i]));
            small_from_float(to, x);
        }
    } else {
        small_to_float(from, x);
        if (is_integer(to)) {
            EACH_SMALL(double_to_integer(to, (double)as_float(x[i])));
        } else {
            small_from_float(to, x);
        }
    }
}

static __device__ __forceinline__ void small_scale(const hr_k_step &s, uint32_t *x) {
    if (s.code == HR_K_MUL_ADD) {
        const float a = as_float(s.a);
        EACH_SMALL(is_nan32(x[i]) ? x[i] | 0x400000 : made_float(as_float(x[i]) * a));
    } else {
        HR_NO_UNROLL
        for (uint32_t turn = 0; turn < HR_K_SMALL_GROUP; turn++) {
            const uint32_t result = (uint32_t)multiply(s, x[0]);
            HR_UNROLL
            for (uint32_t i = 0; i + 1 < HR_K_SMALL_GROUP; i++) {
                x[i] = x[i + 1];
            }
            x[HR_K_SMALL_GROUP - 1] = result;
        }
    }
    EACH_SMALL(add(s, x[i]));
}

/* A bit for each number that equals a. */
static __device__ __forceinline__ uint32_t small_find_equal(uint32_t number,
                                                            const uint32_t *x,
                                                            uint64_t wanted) {
    uint32_t found = 0, a = (uint32_t)wanted;
    if (is_integer(number)) {
        HR_UNROLL
        for (uint32_t i = 0; i < HR_K_SMALL_GROUP; i++) {
            found |= (uint32_t)(x[i] == a) << i;
        }
        return found;
    }
    const bool is_half = number == HR_K_F16;
    a = is_half ? (uint32_t)half_to_float(a) : number == HR_K_BF16 ? a << 16 : a;
    HR_UNROLL
    for (uint32_t i = 0; i < HR_K_SMALL_GROUP; i++) {
        const uint32_t f = is_half               ? (uint32_t)half_to_float(x[i])
                           : number == HR_K_BF16 ? x[i] << 16
                                                 : x[i];
        const bool equal = is_nan32(f) ? is_nan32(a) : as_float(f) == as_float(a);
        found |= (uint32_t)equal << i;
    }
    return found;
}

/* --- slots --- */

static __device__ __forceinline__ uint32_t small_nbytes(uint32_t number) {
    switch (number) {
    case HR_K_BOOL:
    case HR_K_I8:
    case HR_K_U8:
        return 1;
    case HR_K_I16:
    case HR_K_U16:
    case HR_K_F16:
    case HR_K_BF16:
        return 2;
    default:
        return 4;
    }
}

static __device__ __forceinline__ void small_unpack(uint32_t from, const hr_u128 *slots,
                                                    uint32_t *x) {
    switch (small_nbytes(from)) {
    case 1:
        EACH_SMALL(slots[i / 4].word[0] >> 8 * (i % 4) & 0xFF);
        break;
    case 2:
        EACH_SMALL(slots[i / 4].word[i % 4 / 2] >> i % 2 * 16 & 0xFFFF);
        break;
    default:
        EACH_SMALL(slots[i / 4].word[i % 4]);
    }
    if (from == HR_K_BOOL) {
        EACH_SMALL(x[i] != 0);
    } else {
        small_extend(from, x);
    }
}

static __device__ __forceinline__ void small_pack(uint32_t to, const uint32_t *x,
                                                  hr_u128 *slots) {
    const uint32_t nbytes = small_nbytes(to);
    HR_UNROLL
    for (uint32_t s = 0; s < HR_K_STORE_SLOTS; s++) {
        const uint32_t *n = x + s * HR_K_GROUP;
        uint32_t *w = slots[s].word;
        if (nbytes == 1) {
            w[0] = __byte_perm(__byte_perm(n[0], n[1], 0x0040),
                               __byte_perm(n[2], n[3], 0x0040), 0x5410);
        } else if (nbytes == 2) {
            w[0] = __byte_perm(n[0], n[1], 0x5410);
            w[1] = __byte_perm(n[2], n[3], 0x5410);
        } else {
            HR_UNROLL
            for (uint32_t i = 0; i < HR_K_GROUP; i++) {
                w[i] = n[i];
            }
        }
    }
}

/* All steps of a task, for all slots of a thread. */
static __device__ __forceinline__ void convert_small(const hr_k_store_task &t,
                                                     hr_u128 *slots) {
    uint32_t x[HR_K_SMALL_GROUP];
    uint32_t marked = 0, number = t.from;
    const uint32_t nsteps = t.nsteps;
    small_unpack(number, slots, x);
    HR_NO_UNROLL
    for (uint32_t k = 0; k < nsteps; k++) {
        const hr_k_step s = t.steps[k];
        switch (s.code) {
        case HR_K_CAST:
            small_cast(s.number, number, x);
            break;
        case HR_K_MARK:
            marked |= small_find_equal(number, x, s.a);
            break;
        case HR_K_REPLACE:
            EACH_SMALL(marked >> i & 1 ? (uint32_t)s.a : x[i]);
            marked = 0;
            break;
        default:
            small_scale(s, x);
        }
        number = s.number;
    }
    small_pack(t.to, x, slots);
}

#endif
