/* Deflate streams: what they are wrapped in, and their blocks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CUDA_DEFLATE_PARSER_CUH
#define HR_CUDA_DEFLATE_PARSER_CUH

#include "deflate_tiles.cuh"

template <class C> class deflate_parser : deflate_tiles<C> {
    typedef deflate_tiles<C> base;
    typedef typename base::Group Group;
    typedef typename base::board board;
    typedef typename base::desk desk;
    using base::code;
    using base::consumed;
    using base::dst;
    using base::dst_nbytes;
    using base::floor;
    using base::group;
    using base::is_over;
    using base::lead;
    using base::nlanes;
    using base::NONE;
    using base::produced;
    using base::shared;
    using base::src;
    using base::src_nbytes;

    enum { HEADER, BLOCK, SYMBOLS, TRAILER, OVER };

    const hr_k_decode &params;
    uint32_t task, wrapper, ring_begin;
    bool is_checked;
    uint32_t comes; /* what comes next */
    bool is_last;   /* block */

  public:
    static constexpr uint32_t SCRATCH = (sizeof(board) + 15) / 16 * 16;

    __device__ __forceinline__ deflate_parser(const hr_k_decode &p, uint8_t *scratch)
        : base(scratch), params(p) {}

    __device__ __forceinline__ bool take() {
        task = lz_take(group, params, shared->task);
        if (task >= params.ntasks) {
            return false;
        }
        const hr_k_task *t = lz_task(params, task);
        src = t->src;
        dst = t->dst;
        src_nbytes = t->src_nbytes;
        dst_nbytes = t->dst_nbytes;
        wrapper = t->wrapper & ~(uint32_t)HR_K_DEFLATE_UNCHECKED;
        is_checked = (t->wrapper & HR_K_DEFLATE_UNCHECKED) == 0;
        consumed = 0;
        produced = ring_begin = code = floor = 0;
        comes = HEADER;
        is_last = false;
        nlanes = Group::THREADS;
        if (group.rank == 0) {
            shared->expected = shared->nstubborn = 0;
        }
        return true;
    }

    __device__ __forceinline__ void next(const lz_buffer &buffer, lz_step &step) {
        step = {};
        step.task = task;
        step.at = produced;
        step.ring_begin = ring_begin;
        bool is_made = false;
        HR_NO_UNROLL
        while (!is_made && code == 0 && comes != OVER) {
            if (comes == HEADER) {
                open();
            } else if (comes == BLOCK) {
                is_made = read_block(buffer, step);
            } else if (comes == SYMBOLS) {
                is_made = this->make_tile(buffer, step);
                comes = is_over ? BLOCK : SYMBOLS;
            } else {
                is_made = close(step);
            }
        }
        if (!is_made) {
            step.kind = LZ_FINISH;
            step.code = code;
            step.where = (uint32_t)(consumed >> 3);
        }
    }

  private:
    __device__ __forceinline__ uint32_t byte(uint32_t at) const {
        return lz_load_u8(src + at);
    }

    /* The first byte from `at` on that is 0, or is not; or where the stream ends. */
    __device__ __forceinline__ uint32_t find(uint32_t at, bool zero) const {
        constexpr uint32_t STEP = 16 * Group::THREADS;
        uint32_t found = NONE;
        HR_NO_UNROLL
        while (found == NONE && at < src_nbytes) {
            const uint32_t n = min(STEP, src_nbytes - at);
            group.sync();
            if (group.rank == 0) {
                shared->cut = NONE;
            }
            group.sync();
            HR_NO_UNROLL
            for (uint32_t i = group.rank; i < n; i += Group::THREADS) {
                if ((byte(at + i) == 0) == zero) {
                    atomicMin(&shared->cut, at + i);
                }
            }
            group.sync();
            found = shared->cut;
            at += n;
        }
        return min(found, src_nbytes);
    }

    /* What stands before the blocks. */
    __device__ __forceinline__ void open() {
        uint32_t at = (uint32_t)(consumed >> 3);
        if (wrapper == HR_K_DEFLATE_ZLIB) {
            open_zlib(at);
        } else if (wrapper == HR_K_DEFLATE_GZIP) {
            open_gzip(at);
        }
        if (code == 0) {
            consumed = (uint64_t)at << 3;
            floor = produced;
            is_last = false;
            comes = BLOCK;
        }
    }

    __device__ __forceinline__ void open_zlib(uint32_t &at) {
        const uint32_t nleft = src_nbytes - at;
        const uint32_t method = nleft > 0 ? byte(at) : 0;
        const uint32_t flags = nleft > 1 ? byte(at + 1) : 0;
        if (nleft < 2) {
            code = HR_K_TRUNCATED;
        } else if ((method & 15) != 8 || method >> 4 > 7 ||
                   (method << 8 | flags) % 31 != 0 || (flags & 0x20) != 0) {
            code = HR_K_BAD_WRAPPER;
        }
        at += 2;
    }

    __device__ __forceinline__ void open_gzip(uint32_t &at) {
        if (src_nbytes - at < 10) {
            code = HR_K_TRUNCATED;
            return;
        }
        const uint32_t flags = byte(at + 3);
        if (byte(at) != 0x1F || byte(at + 1) != 0x8B || byte(at + 2) != 8 ||
            (flags & 0xE0) != 0) {
            code = HR_K_BAD_WRAPPER;
            return;
        }
        uint64_t end = (uint64_t)at + 10;
        if ((flags & 4) != 0) { /* an extra field */
            const uint32_t i = (uint32_t)end;
            end += 2;
            end += end <= src_nbytes ? byte(i) | byte(i + 1) << 8 : 0;
        }
        HR_NO_UNROLL
        for (uint32_t text = 8; text <= 16; text *= 2) { /* a name, a comment */
            if ((flags & text) != 0) {
                end = (end < src_nbytes ? find((uint32_t)end, true) : end) + 1;
            }
        }
        end += (flags & 2) != 0 ? 2 : 0; /* a checksum of the header: not looked at */
        if (end > src_nbytes) {
            code = HR_K_TRUNCATED;
        }
        at = (uint32_t)end;
    }

    /* What stands behind the last block. True if it is a step: a checksum. */
    __device__ __forceinline__ bool close(lz_step &step) {
        const uint32_t at = (uint32_t)(consumed >> 3);
        const bool is_gzip = wrapper == HR_K_DEFLATE_GZIP;
        const uint32_t n = is_gzip ? 8 : 4;
        if (src_nbytes - at < n) {
            code = HR_K_TRUNCATED;
            return false;
        }
        uint32_t checksum = 0, size = 0;
        HR_NO_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            checksum |= byte(at + i) << (8 * (is_gzip ? i : 3 - i));
            size |= is_gzip ? byte(at + 4 + i) << (8 * i) : 0;
        }
        if (is_gzip && size != produced - floor) {
            code = HR_K_BAD_WRAPPER;
            return false;
        }
        step.kind = LZ_CHECK;
        step.nbytes = produced - floor;
        step.literals = (uint64_t)wrapper << 32 | checksum;
        step.code = HR_K_BAD_CHECKSUM;
        step.where = at;
        consumed += UINT64_C(8) * n;
        comes = OVER;
        if (is_gzip) {
            look_behind(at + n);
        }
        finish();
        return is_checked;
    }

    /* Another member, or zeros: padding of tapes and block devices. */
    __device__ __forceinline__ void look_behind(uint32_t at) {
        if (src_nbytes - at >= 2 && byte(at) == 0x1F && byte(at + 1) == 0x8B) {
            comes = HEADER;
        } else if (find(at, false) < src_nbytes) {
            code = HR_K_BAD_WRAPPER;
        }
    }

    /* The next block's header. True if the block is a step: bytes as they are. */
    __device__ __forceinline__ bool read_block(const lz_buffer &buffer, lz_step &step) {
        if (is_last) {
            leave_blocks();
            return false;
        }
        if ((uint64_t)src_nbytes * 8 - consumed < 3) {
            code = HR_K_TRUNCATED;
            return false;
        }
        const typename base::place p = this->stage(DEFLATE_HEADER_NBYTES);
        group.sync();
        deflate_read_header<Group, desk>(lz_layout<C>::SCRATCH, buffer.bytes_at, p.begin,
                                         p.end);
        group.sync();
        const deflate_header &h = shared->header;
        code = h.code;
        is_last = h.is_last != 0;
        if (code != 0) {
            return false;
        }
        const uint64_t end = consumed + (h.end - p.begin);
        if (h.is_stored != 0) {
            return take_stored(end, h.nstored, step);
        }
        consumed = end;
        if (group.rank == 0) {
            shared->block_begin = (uint32_t)consumed;
        }
        lead = C::LEAD - C::LEAD % h.period;
        deflate_fill_tables(group, shared->tables);
        comes = SYMBOLS;
        return false;
    }

    __device__ __forceinline__ bool take_stored(uint64_t begin, uint32_t nbytes,
                                                lz_step &step) {
        const uint32_t at = (uint32_t)(begin >> 3);
        code = nbytes > src_nbytes - at         ? HR_K_TRUNCATED
               : nbytes > dst_nbytes - produced ? HR_K_TOO_LONG
                                                : 0;
        if (code != 0) {
            return false;
        }
        step.kind = LZ_COPY;
        step.literals = src + at;
        step.nliterals = nbytes;
        consumed = begin + (uint64_t)nbytes * 8;
        produced += nbytes;
        ring_begin = produced;
        return nbytes > 0;
    }

    /* Behind the last block. */
    __device__ __forceinline__ void leave_blocks() {
        consumed = (consumed + 7) & ~UINT64_C(7);
        comes = wrapper == HR_K_DEFLATE_RAW ? OVER : TRAILER;
        finish();
    }

    __device__ __forceinline__ void finish() {
        if (code == 0 && comes == OVER && produced != dst_nbytes) {
            code = HR_K_TOO_SHORT;
        }
    }
};

#endif
