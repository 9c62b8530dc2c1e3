/* A simt device for each test. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_UNIT_DEVICE_SIMT_FIXTURE_H
#define HR_UNIT_DEVICE_SIMT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "cuda/kernel_abi.h"
#include "device/device.h"

typedef struct fixture {
    hr__device *d;
    const hr__device_ops *ops;
} fixture;

static inline int open_device(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->ops = hr__device_find(HR_DEVICE_SIMT);
    if (f->ops == NULL || f->ops->open(0, &hr__malloc_allocator, &f->d, NULL) != HR_OK) {
        free(f);
        return -1;
    }
    *state = f;
    return 0;
}

static inline int close_device(void **state) {
    fixture *f = *state;
    f->ops->close(f->d);
    free(f);
    return 0;
}

#define OK(call) assert_int_equal(f->ops->call, HR_OK)

/* n items of 4 bytes. */
static inline hr_k_scatter copy_of(hr__devptr src, hr__devptr dst, uint64_t n) {
    return (hr_k_scatter){.src = src,
                          .dst = dst,
                          .nitems = n,
                          .itemsize = 4,
                          .ndim = 1,
                          .dims = {{.n = n, .src_step = 4, .dst_step = 4}}};
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_device, close_device)

#endif
