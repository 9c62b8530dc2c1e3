/* Where a test's threads run, and from where they get memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TEST_PLACE_H
#define HR_TEST_PLACE_H

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static inline cpu_set_t own_cores(void) {
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

/* The n-th of these alone. */
static inline cpu_set_t only(const cpu_set_t *all, int n) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, all) && n-- == 0) {
            CPU_SET(i, &set);
        }
    }
    return set;
}

static inline void need_cores(int n) {
    const cpu_set_t own = own_cores();
    if (CPU_COUNT(&own) < n) {
        print_message("skipped: fewer than %d cores\n", n);
        skip();
    }
}

/* As get_mempolicy has it; -1: it is not to be had. */
static inline int memory_policy(void) {
    int mode = -1;
    return syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL) == 0 ? mode : -1;
}

#endif
