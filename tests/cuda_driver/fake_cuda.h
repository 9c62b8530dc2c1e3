/* What a test says to the stand-in for the CUDA driver, and sees of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_CUDA_DRIVER_FAKE_CUDA_H
#define HR_TESTS_CUDA_DRIVER_FAKE_CUDA_H

#include <stdatomic.h>

typedef struct fake_cuda {
    /* Of the calls, counted from 0, those in [fail_from, fail_to) give `error`. A call
     * that releases something does so nevertheless. */
    atomic_long ncalls, fail_from, fail_to;
    atomic_int error;
    atomic_int stack_is_spared;  /* the stack of contexts is as ever, and not counted */
    atomic_int init;             /* what cuInit gives */
    const char *_Atomic failed;  /* the first call that was made to fail */
    atomic_int nwrong;           /* calls without the context, or with unknown handles */
    atomic_int depth;            /* of the stacks of contexts of all threads together */
    atomic_int nretained, nlive; /* of the context; things in it */
    atomic_int nswept;           /* that were still in it when it was released */
    /* The calling thread's stack. */
    void (*push)(void *context);
    void *(*pop)(void);
} fake_cuda;

#endif
