/* Running one codec by itself, and its mutants. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TEST_CODEC_RUN_H
#define HR_TEST_CODEC_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/codecs.h"

typedef struct codec_runner {
    hr__arena arena;
    hr__worker worker;
    hr__codec codec;
    bool skip_checksums;
    const atomic_bool *cancelled; /* NULL: never */
    /* Of the last decode: */
    hr_status status;
    hr_error err;
    bool grow;
    uint8_t *out; /* malloc'ed by the runner, freed by the next decode */
    size_t out_nbytes;
} codec_runner;

/* Parse the configuration; returns the parser's status, with r->err. */
hr_status runner_open(codec_runner *r, const hr__codec_type *type, const char *json);
void runner_close(codec_runner *r);

/* Decode data whose size is known. src and dst are blocks of exactly their sizes, dst
 * filled with a pattern, so that a sanitizer sees what is outside. */
hr_status runner_decode(codec_runner *r, const void *src, size_t src_nbytes,
                        size_t decoded_nbytes);
/* The same, which must give `want`, but for the one before it, which is cancelled from
 * the beginning. */
void runner_check_cancel(codec_runner *r, const void *src, size_t src_nbytes,
                         const void *want, size_t want_nbytes);
/* Decode where only the largest size is known: dst starts small and grows when asked. */
hr_status runner_decode_growing(codec_runner *r, const void *src, size_t src_nbytes,
                                size_t max_nbytes);

#define assert_decodes(r, src, n, want, want_n)                                          \
    do {                                                                                 \
        codec_runner *run_ = (r);                                                        \
        if (runner_decode(run_, src, n, want_n) != HR_OK) {                              \
            fail_msg("%s", run_->err.message);                                           \
        }                                                                                \
        assert_int_equal(run_->out_nbytes, want_n);                                      \
        assert_memory_equal(run_->out, want, want_n);                                    \
    } while (0)

#define assert_refused(r, src, n, decoded_n, status_, message_)                          \
    do {                                                                                 \
        codec_runner *run_ = (r);                                                        \
        assert_int_equal(runner_decode(run_, src, n, decoded_n), status_);               \
        assert_string_equal(run_->err.message, message_);                                \
    } while (0)

/* Call fn with every proper prefix of data, and with every change of one bit or of one
 * whole byte. */
typedef void mutant_fn(void *user, const uint8_t *data, size_t nbytes);
void for_each_mutant(const uint8_t *data, size_t nbytes, mutant_fn *fn, void *user);

/* n bytes that compress: smooth items of typesize with some noise. */
uint8_t *sample_data(size_t n, size_t typesize);

#endif
