/* The store: from decoded chunks to their places. SPDX-License-Identifier: Apache-2.0
 *
 * A block of threads takes one tile after the other, of whichever chunk; all threads of a
 * tile go the same way. What a thread loads waits in its four slots to be converted and
 * written. */
#include "store_bits.cuh"
#include "store_convert.cuh"
#include "store_load.cuh"
#include "store_small.cuh"
#include "tiles.cuh"

static __device__ __forceinline__ void load_row(const hr_k_store_task &t, uint64_t src,
                                                uint32_t nslots, hr_u128 *slots) {
    const uint32_t typesize = t.source.typesize.divisor;
    bool done = false;
    switch (t.path) {
    case HR_K_PATH_PLAIN:
        done = load_plain(t, src, nslots, slots);
        break;
    case HR_K_PATH_PLANES:
        done = typesize == 2   ? load_planes<2>(t, src, nslots, slots)
               : typesize == 4 ? load_planes<4>(t, src, nslots, slots)
               : typesize == 8 ? load_planes<8>(t, src, nslots, slots)
                               : load_planes<16>(t, src, nslots, slots);
        break;
    case HR_K_PATH_BITS:
        done = typesize == 1   ? load_bit_cell<1, 4>(t, src, slots)
               : typesize == 2 ? load_bit_cell<2, 4>(t, src, slots)
               : typesize == 4 ? load_bit_cell<4, 2>(t, src, slots)
                               : load_bit_cell<8, 1>(t, src, slots);
        break;
    case HR_K_PATH_ROWS:
        done = load_row_cell<16>(t, src, slots);
        break;
    case HR_K_PATH_BIT_ITEM:
        done = typesize == 1   ? load_bit_items<1>(t, src, nslots, slots)
               : typesize == 2 ? load_bit_items<2>(t, src, nslots, slots)
               : typesize == 4 ? load_bit_items<4>(t, src, nslots, slots)
                               : load_bit_items<8>(t, src, nslots, slots);
        break;
    default:
        break;
    }
    if (!done) {
        load_anything(t, src, nslots, slots);
    }
}

static __device__ __forceinline__ void reverse_units(uint32_t unit, hr_u128 *slot) {
    uint32_t *w = slot->word;
    const uint32_t selector = unit == 2 ? 0x2301 : 0x0123;
    HR_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        w[i] = __byte_perm(w[i], w[i], selector);
    }
    if (unit == 8) {
        *slot = {{w[1], w[0], w[3], w[2]}};
    }
}

/* The k-th piece of a slot. */
template <class Piece>
static __device__ __forceinline__ Piece piece_of(const hr_u128 &slot, uint32_t k) {
    if constexpr (sizeof(Piece) == 16) {
        return slot;
    } else if constexpr (sizeof(Piece) == 8) {
        return slot.word[2 * k] | (uint64_t)slot.word[2 * k + 1] << 32;
    } else {
        constexpr uint32_t N = 4 / sizeof(Piece);
        return (Piece)(slot.word[k / N] >> k % N * 8 * sizeof(Piece));
    }
}

template <class Piece>
static __device__ __forceinline__ void write_pieces(const hr_k_store_task &t,
                                                    uint64_t dst, const hr_u128 &slot) {
    const uint32_t nbytes = t.out_nbytes, log_run = t.log_run;
    const uint64_t step = t.run_step;
    HR_UNROLL
    for (uint32_t at = 0; at < 16; at += sizeof(Piece)) {
        if (at < nbytes) {
            uint64_t run = at >> log_run, rest = at & ((1U << log_run) - 1);
            *hr_global<Piece>(dst + run * step + rest) =
                piece_of<Piece>(slot, at / sizeof(Piece));
        }
    }
}

static __device__ __forceinline__ void write_slot(const hr_k_store_task &t, uint64_t dst,
                                                  const hr_u128 &slot) {
    switch (t.write_nbytes) {
    case 1:
        write_pieces<uint8_t>(t, dst, slot);
        break;
    case 2:
        write_pieces<uint16_t>(t, dst, slot);
        break;
    case 4:
        write_pieces<uint32_t>(t, dst, slot);
        break;
    case 8:
        write_pieces<uint64_t>(t, dst, slot);
        break;
    default:
        write_pieces<hr_u128>(t, dst, slot);
        break;
    }
}

template <class Piece>
static __device__ __forceinline__ void
write_whole(uint64_t dst, uint64_t step, uint32_t nslots, const hr_u128 *slots) {
    HR_UNROLL
    for (uint32_t i = 0; i < HR_K_STORE_SLOTS; i++) {
        if (i < nslots) {
            *hr_global<Piece>(dst + i * step) = piece_of<Piece>(slots[i], 0);
        }
    }
}

/* Slots that are a piece each; false for others. */
static __device__ __forceinline__ bool write_slots(const hr_k_store_task &t, uint64_t dst,
                                                   uint32_t nslots,
                                                   const hr_u128 *slots) {
    const uint32_t nbytes = t.write_nbytes == t.out_nbytes ? t.out_nbytes : 0;
    switch (nbytes) {
    case 4:
        write_whole<uint32_t>(dst, t.slot_dst_step, nslots, slots);
        return true;
    case 8:
        write_whole<uint64_t>(dst, t.slot_dst_step, nslots, slots);
        return true;
    case 16:
        write_whole<hr_u128>(dst, t.slot_dst_step, nslots, slots);
        return true;
    default:
        return false;
    }
}

/* As many slots at a time as there are. */
template <bool CONVERTS>
static __device__ __forceinline__ void store_row(const hr_k_store_task &t, uint64_t src,
                                                 uint64_t dst, uint32_t nslots) {
    hr_u128 slots[HR_K_STORE_SLOTS] = {};
    load_row(t, src, nslots, slots);
    const uint32_t unit = t.from_unit;
    const uint64_t step = t.slot_dst_step;
    if (unit > 1) {
        HR_UNROLL
        for (uint32_t i = 0; i < HR_K_STORE_SLOTS; i++) {
            reverse_units(unit, &slots[i]);
        }
    }
    const bool is_small = CONVERTS && t.is_small;
    if (is_small) {
        convert_small(t, slots);
        if (t.to_unit > 1) {
            HR_UNROLL
            for (uint32_t i = 0; i < HR_K_STORE_SLOTS; i++) {
                reverse_units(t.to_unit, &slots[i]);
            }
        }
    }
    if (!CONVERTS) {
        cast_directly(t.direct, slots);
    }
    if ((!CONVERTS || is_small) && write_slots(t, dst, nslots, slots)) {
        return;
    }
    HR_NO_UNROLL
    for (uint32_t i = 0; i < nslots; i++) {
        if (CONVERTS && !is_small) {
            if (i % 2 == 0 || !t.by_pairs) {
                convert(t, slots);
            }
            if (t.to_unit > 1) {
                reverse_units(t.to_unit, &slots[0]);
            }
        }
        write_slot(t, dst, slots[0]);
        dst += step;
        slots[0] = slots[1];
        slots[1] = slots[2];
        slots[2] = slots[3];
    }
}

/* A thread's cells of a tile. */
template <bool CONVERTS>
static __device__ __forceinline__ void store_tile(const hr_k_store_task &t,
                                                  uint32_t tile) {
    const hr_k_tiles &p = t.tiles;
    const hr_items it = find_items<true>(p, tile, 1U << t.log_cells);
    const uint32_t nslots = t.nslots, most = t.ncells_at_once;
    HR_NO_UNROLL
    for (uint32_t i = 0; i < it.count; i += most) {
        const uint64_t k = it.first + ((uint64_t)i << p.log_item_step);
        store_row<CONVERTS>(t, it.src + place(p.along.src_list, k) * p.along.src_step,
                            it.dst + place(p.along.dst_list, k) * p.along.dst_step,
                            (it.count - i < most ? it.count - i : most) * nslots);
    }
}

/* As hr_global, which has nvcc 13.0 compile without end when structures lie behind it. */
template <class T>
static __device__ __forceinline__ const T *find_table(uint64_t address) {
    const T *table = (const T *)address;
#ifdef __CUDACC__
    __builtin_assume(__isGlobal(table));
#endif
    return table;
}

template <bool CONVERTS>
static __device__ __forceinline__ void store_tiles(const hr_k_store_batch &b) {
    const hr_k_store_task *tasks = find_table<hr_k_store_task>(b.tasks);
    const hr_k_store_tile *tiles = find_table<hr_k_store_tile>(b.tiles);
    const uint32_t ntiles = CONVERTS ? b.nconverting : b.nmoving;
    tiles += CONVERTS ? b.nmoving : 0;
    for (uint32_t i = blockIdx.x; i < ntiles; i += gridDim.x) {
        const hr_k_store_tile at = tiles[i];
        store_tile<CONVERTS>(tasks[at.task], at.tile);
        if (ntiles - i <= gridDim.x) { /* i + gridDim.x may not fit 32 bits */
            break;
        }
    }
}

/* Blocks to a multiprocessor: enough loads under way, and no register spilt. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define MOVING_BLOCKS 3
#else
#define MOVING_BLOCKS 4
#endif
#define CONVERTING_BLOCKS 3

/* Two entries, so that bytes which only move do not pay for the registers of numbers. */
extern "C" __global__ void __launch_bounds__(HR_K_THREADS, MOVING_BLOCKS)
    hr_k_store_move_kernel(const __grid_constant__ hr_k_store_batch b) {
    store_tiles<false>(b);
}

extern "C" __global__ void __launch_bounds__(HR_K_THREADS, CONVERTING_BLOCKS)
    hr_k_store_convert_kernel(const __grid_constant__ hr_k_store_batch b) {
    store_tiles<true>(b);
}
