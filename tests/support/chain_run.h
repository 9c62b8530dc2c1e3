/* Running a chain of codecs from its metadata. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TEST_CHAIN_RUN_H
#define HR_TEST_CHAIN_RUN_H

#include "support/codec_run.h"

typedef struct chain_runner {
    hr__arena arena;
    hr__worker worker;
    hr__heap *heap;
    json_object *json;
    hr__spec chunk;
    hr__chain chain;
    bool skip_checksums;
    /* Of the last call: */
    hr_error err;
    uint8_t *dst; /* malloc'ed, of exactly the chunk's size, patterned before decoding */
    const uint8_t *out; /* dst, or where the chain left it */
    size_t out_nbytes;
} chain_runner;

/* A chunk of the given axes (shape ends with −1) and NumPy type string. */
void chain_chunk(chain_runner *r, const char *dtype, const int64_t *shape);
/* The same with the shape as the corpus writes it: "[10, 20]". */
void chain_chunk_text(chain_runner *r, const char *dtype, const char *shape);
#define CHUNK(r, dtype, ...) chain_chunk(r, dtype, (const int64_t[]){__VA_ARGS__, -1})

/* Parse a list of v3 codecs, or "filters | compressor" of v2 (either may be null). The
 * chunk must have been set; a runner may be opened again and again. */
hr_status chain_open_v3(chain_runner *r, const char *json);
hr_status chain_open_v2(chain_runner *r, const char *filters, const char *compressor);
void chain_close(chain_runner *r);

/* Decode from a block of exactly src_nbytes into dst; and to wherever the chain likes. */
hr_status chain_decode(chain_runner *r, const void *src, size_t src_nbytes);
hr_status chain_decode_in_place(chain_runner *r, const void *src, size_t src_nbytes);

/* Bytes of hexadecimal text; malloc'ed. */
uint8_t *unhex(const char *text, size_t *nbytes);

/* Elements of variable length, as the corpus hashes them: each a 32-bit length and its
 * bytes. malloc'ed. */
uint8_t *chain_flatten(const chain_runner *r, size_t *nbytes);

#define assert_opens(call, r)                                                            \
    do {                                                                                 \
        if ((call) != HR_OK) {                                                           \
            fail_msg("%s", (r)->err.message);                                            \
        }                                                                                \
    } while (0)

/* Both ways of decoding give these bytes. */
#define assert_chain_gives(r, src, n, want, want_n)                                      \
    do {                                                                                 \
        assert_opens(chain_decode(r, src, n), r);                                        \
        assert_int_equal((r)->out_nbytes, want_n);                                       \
        assert_memory_equal((r)->out, want, want_n);                                     \
        assert_opens(chain_decode_in_place(r, src, n), r);                               \
        assert_int_equal((r)->out_nbytes, want_n);                                       \
        assert_memory_equal((r)->out, want, want_n);                                     \
    } while (0)

#define assert_chain_refuses(r, src, n, status, text)                                    \
    do {                                                                                 \
        assert_int_equal(chain_decode(r, src, n), status);                               \
        assert_string_equal((r)->err.message, text);                                     \
    } while (0)

#define assert_open_refused(call, r, status, text)                                       \
    do {                                                                                 \
        assert_int_equal(call, status);                                                  \
        assert_string_equal((r)->err.message, text);                                     \
    } while (0)

/* Decode every mutant of data: none may do more than give an error. */
void chain_survives_mutants(chain_runner *r, const uint8_t *data, size_t nbytes);

#endif
