/* A store for tests, as a task. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_DEVICE_KSTORE_FIXTURE_H
#define HR_TESTS_DEVICE_KSTORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/kstore.h"

#define ROWS 100
#define ROW 80

static inline hr_dtype type_of(const char *name) {
    hr_dtype t;
    assert_int_equal(hr_dtype_parse(name, &t, NULL), HR_OK);
    return t;
}

/* A chunk of ROWS × ROW items to a destination of the same shape, both in C order. */
static inline hr_k_store store_of(const char *from_name, const char *to_name,
                                  uint32_t shuffle) {
    hr_dtype from = type_of(from_name), to = type_of(to_name);
    hr_k_store s;
    assert_true(hr__kstore_begin(&s, &from));
    assert_true(hr__kstore_end(&s, &from, &to));
    uint64_t a = from.itemsize, b = to.itemsize;
    s.chunk = 1 << 20;
    s.chunk_nbytes = s.block_nbytes = ROWS * ROW * a;
    s.shuffle = shuffle;
    s.typesize = (uint32_t)a;
    s.copy.dst = 2 << 20;
    s.copy.nitems = (uint64_t)ROWS * ROW;
    s.copy.ndim = 2;
    s.copy.dims[0] = (hr_k_dim){
        .n = ROWS, .src_step = (int64_t)(ROW * a), .dst_step = (int64_t)(ROW * b)};
    s.copy.dims[1] = (hr_k_dim){.n = ROW, .src_step = (int64_t)a, .dst_step = (int64_t)b};
    return s;
}

static inline hr_k_store_task lower(const hr_k_store *s) {
    hr_k_store_task t;
    hr_error err = HR_ERROR_INIT;
    hr_status status = hr__kstore_lower(s, &t, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, HR_OK);
    return t;
}

#endif
