/* What the filter kernels are to make, by plain loops. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_KERN_FILTERS_REFERENCE_H
#define HR_TESTS_KERN_FILTERS_REFERENCE_H

#include "device/kstore.h"

uint64_t filters_load(const uint8_t *at, uint32_t nbytes);

/* HR__KERNEL_SUM, in place; HR__KERNEL_UNPACK, from src to dst: returns the status. */
void filters_sum(const hr_k_filter_task *t, uint8_t *items);
uint64_t filters_make(const hr_k_filter_task *t, const uint8_t *src, uint8_t *dst);

#endif
