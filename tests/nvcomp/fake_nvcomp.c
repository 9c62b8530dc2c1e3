/* A stand-in for nvCOMP that works in host memory, at once: for the simt device.
 * SPDX-License-Identifier: Apache-2.0
 *
 * FAKE_VERSION is the version it claims; without FAKE_SNAPPY it lacks those functions. It
 * wants memory of its own, and writes all of it. */
#include <lz4.h>
#include <snappy-c.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct options {
    int backend, others[15];
} options;

enum { INVALID = 10, CANNOT_DECOMPRESS = 12, CUDA_BACKEND = 2, TEMP_PER_STREAM = 24 };

extern const int hr_nvcomp_on_host;
extern size_t hr_nvcomp_nstreams;
EXPORT const int hr_nvcomp_on_host = 1;
EXPORT size_t hr_nvcomp_nstreams; /* decoded so far */

int nvcompGetProperties(uint32_t *version_and_cuda);
EXPORT int nvcompGetProperties(uint32_t *version_and_cuda) {
    version_and_cuda[0] = FAKE_VERSION;
    version_and_cuda[1] = 13000;
    return 0;
}

static size_t temp_for(size_t n) {
    return FAKE_VERSION >= 6000 ? n * TEMP_PER_STREAM : 0;
}

typedef int decode_one(const void *src, size_t src_nbytes, void *dst, size_t *nbytes);

static int decode_lz4(const void *src, size_t src_nbytes, void *dst, size_t *nbytes) {
    int made = LZ4_decompress_safe(src, dst, (int)src_nbytes, (int)*nbytes);
    *nbytes = made < 0 ? 0 : (size_t)made;
    return made < 0 ? CANNOT_DECOMPRESS : 0;
}

#ifdef FAKE_SNAPPY
static int decode_snappy(const void *src, size_t src_nbytes, void *dst, size_t *nbytes) {
    return snappy_uncompress(src, src_nbytes, dst, nbytes) == SNAPPY_OK
               ? 0
               : CANNOT_DECOMPRESS;
}
#endif

static int decode_all(decode_one *decode, const void *const *srcs,
                      const size_t *src_nbytes, const size_t *dst_nbytes,
                      size_t *made_nbytes, size_t n, void *temp, size_t temp_nbytes,
                      void *const *dsts, options o, int *statuses) {
    if (o.backend != CUDA_BACKEND || temp_nbytes < temp_for(n)) {
        return INVALID;
    }
    if (temp_nbytes > 0) {
        memset(temp, 0xEE, temp_nbytes);
    }
    for (size_t i = 0; i < n; i++) {
        made_nbytes[i] = dst_nbytes[i];
        statuses[i] = decode(srcs[i], src_nbytes[i], dsts[i], &made_nbytes[i]);
    }
    hr_nvcomp_nstreams += n;
    return 0;
}

#if FAKE_VERSION >= 6000
#define TEMP(format)                                                                     \
    int nvcompBatched##format##DecompressGetTempSize(                                    \
        size_t n, size_t most, options o, size_t *nbytes, size_t total, void *stream);   \
    EXPORT int nvcompBatched##format##DecompressGetTempSize(                             \
        size_t n, size_t most, options o, size_t *nbytes, size_t total, void *stream) {  \
        (void)stream;                                                                    \
        *nbytes = temp_for(n);                                                           \
        return o.backend == CUDA_BACKEND && most <= total ? 0 : INVALID;                 \
    }
#else
#define TEMP(format)                                                                     \
    int nvcompBatched##format##DecompressGetTempSizeAsync(                               \
        size_t n, size_t most, options o, size_t *nbytes, size_t total);                 \
    EXPORT int nvcompBatched##format##DecompressGetTempSizeAsync(                        \
        size_t n, size_t most, options o, size_t *nbytes, size_t total) {                \
        *nbytes = temp_for(n);                                                           \
        return o.backend == CUDA_BACKEND && most <= total ? 0 : INVALID;                 \
    }
#endif

#define FORMAT(format, decode)                                                           \
    TEMP(format)                                                                         \
    int nvcompBatched##format##DecompressGetRequiredAlignments(options o, size_t *out);  \
    EXPORT int nvcompBatched##format##DecompressGetRequiredAlignments(options o,         \
                                                                      size_t *out) {     \
        (void)o;                                                                         \
        out[0] = out[1] = out[2] = 1;                                                    \
        return 0;                                                                        \
    }                                                                                    \
    int nvcompBatched##format##DecompressAsync(                                          \
        const void *const *srcs, const size_t *src_nbytes, const size_t *dst_nbytes,     \
        size_t *made_nbytes, size_t n, void *temp, size_t temp_nbytes,                   \
        void *const *dsts, options o, int *statuses, void *stream);                      \
    EXPORT int nvcompBatched##format##DecompressAsync(                                   \
        const void *const *srcs, const size_t *src_nbytes, const size_t *dst_nbytes,     \
        size_t *made_nbytes, size_t n, void *temp, size_t temp_nbytes,                   \
        void *const *dsts, options o, int *statuses, void *stream) {                     \
        (void)stream;                                                                    \
        return decode_all(decode, srcs, src_nbytes, dst_nbytes, made_nbytes, n, temp,    \
                          temp_nbytes, dsts, o, statuses);                               \
    }

FORMAT(LZ4, decode_lz4)
#ifdef FAKE_SNAPPY
FORMAT(Snappy, decode_snappy)
#endif
