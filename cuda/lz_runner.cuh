/* LZ streams of long sequences. SPDX-License-Identifier: Apache-2.0
 *
 * Where a sequence makes hundreds of bytes, finding many of them at once costs more than
 * it saves: they are read one after the other, by all threads alike, and each is copied
 * at once. The stretch of the stream lies in shared memory, as for tiles. */
#ifndef HR_CUDA_LZ_RUNNER_CUH
#define HR_CUDA_LZ_RUNNER_CUH

#include "lz_copy.cuh"
#include "lz_parser.cuh"

/* Sequences of runs that are no longer are copied byte by byte: heads, tails and
 * alignment would cost more. */
#define LZ_SHORT 128

/* Literals in the stretch; a source of lz_copy.cuh. */
struct lz_staged {
    const uint8_t *bytes;

    __device__ __forceinline__ uint32_t place(uint32_t k) const {
        return k;
    }
    __device__ __forceinline__ uint32_t sum(uint32_t place, uint32_t more) const {
        return place + more;
    }
    __device__ __forceinline__ uint32_t byte(uint32_t place) const {
        return bytes[place];
    }
};

template <class C, class F> class lz_runner : public lz_parser<C, F> {
    typedef lz_parser<C, F> parser;
    using parser::code, parser::consumed, parser::dst, parser::dst_nbytes, parser::group,
        parser::is_over, parser::produced, parser::src;

    /* Of the stretch; its bytes are the buffer's. */
    uint32_t begins, ends;
    bool is_last;
    uint32_t staged; /* `consumed` when it was brought */

  public:
    __device__ __forceinline__ lz_runner(const hr_k_decode &p, uint8_t *scratch)
        : parser(p, scratch) {}

    __device__ __forceinline__ bool take() {
        begins = ends = 0;
        is_last = false;
        staged = 0xFFFFFFFF; /* nothing */
        return parser::take();
    }

    /* Carries out short sequences itself. */
    __device__ __forceinline__ void next(const lz_buffer &buffer, lz_step &step) {
        lz_sequence q = {};
        this->begin(step);
        if (is_over) {
            this->end(step);
            return;
        }
        const lz_stretch stretch = {buffer.bytes, begins, ends, is_last};
        const lz_element kind = read(stretch, q);
        if (kind < LZ_SEQUENCE) {
            if (kind == LZ_NOT_INSIDE && consumed != staged) {
                step.kind = LZ_NOTHING;
                group.sync(); /* nobody reads the last stretch any more */
                bring(buffer);
            } else if (!this->read_one(step)) {
                this->end(step);
            }
            return;
        }
        if (max(q.nliterals, q.nmatch) <= LZ_SHORT) {
            step.kind = LZ_NOTHING;
            copy_short(stretch, q);
        } else {
            step.kind = LZ_COPY;
            step.literals = src + consumed + (q.literals - place());
            step.nliterals = q.nliterals;
            step.nmatch = q.nmatch;
            step.offset = q.offset;
        }
        advance(q, kind);
    }

  private:
    __device__ __forceinline__ void bring(const lz_buffer &buffer) {
        const lz_stretch brought = this->stage(buffer);
        begins = brought.begin;
        ends = brought.end;
        is_last = brought.is_last;
        staged = consumed;
    }

    /* Of the next sequence in the stretch; at its end or behind it if it is not there. */
    __device__ __forceinline__ uint32_t place() const {
        return begins + min(consumed - staged, (uint32_t)C::STRETCH);
    }

    /* The next sequence, if it lies inside the stretch and is right. */
    __device__ __forceinline__ lz_element read(const lz_stretch &stretch,
                                               lz_sequence &q) const {
        const uint32_t at = place(), room = dst_nbytes - produced;
        const lz_element kind = at < stretch.end
                                    ? F::template read<C::LONGEST>(stretch, at, q)
                                    : LZ_NOT_INSIDE;
        if (kind < LZ_SEQUENCE) {
            return kind;
        }
        const bool is_right = q.nliterals <= room && q.nmatch <= room - q.nliterals &&
                              q.offset <= produced + q.nliterals;
        return is_right ? kind : LZ_LONG; /* to be judged */
    }

    __device__ __forceinline__ void copy_short(const lz_stretch &stretch,
                                               const lz_sequence &q) const {
        uint64_t to = dst + produced;
        if (q.nliterals > 0) {
            lz_write_short<LZ_SHORT>(group, to, q.nliterals,
                                     lz_staged{stretch.bytes + q.literals});
            group.sync();
        }
        to += q.nliterals;
        const lz_range made = {dst, to};
        if (q.offset >= q.nmatch) {
            lz_write_short<LZ_SHORT>(group, to, q.nmatch,
                                     lz_straight{to - q.offset, made});
        } else {
            lz_write_short<LZ_SHORT>(group, to, q.nmatch,
                                     lz_periodic{to - q.offset, q.offset, made});
        }
        group.sync();
    }

    __device__ __forceinline__ void advance(const lz_sequence &q, lz_element kind) {
        consumed += q.end - place();
        produced += q.nliterals + q.nmatch;
        if (kind == LZ_LAST) {
            this->finish();
        }
    }
};

#endif
