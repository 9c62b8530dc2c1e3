/* Device memory, for callers without a framework that has its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADRACE_MEMORY_H
#define HEADRACE_MEMORY_H

#include <stdint.h>

#include <headrace/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory on a device (not HR_DEVICE_CPU: malloc does that), aligned to 256 bytes or more;
 * 0 bytes give NULL. It is the caller's until hr_memory_free, and lies outside the
 * context's budgets. Errors: HR_ERR_DEVICE, HR_ERR_UNSUPPORTED, HR_ERR_FORKED. Any
 * thread. */
HR_API HR_NODISCARD hr_status hr_memory_alloc(hr_context *context, hr_device device,
                                              uint64_t nbytes, void **out, hr_error *err);
/* Give it back. What was queued on it must be done. NULL is accepted; in a forked child
 * nothing happens, since the memory is the parent's. Any thread. */
HR_API void hr_memory_free(hr_context *context, hr_device device, void *ptr);
/* Copy device memory to host memory, and wait for it. It is ordered after no stream: what
 * is copied must be there (a batch that is done is). On failure the bytes at dst have no
 * defined value. Errors: HR_ERR_DEVICE, HR_ERR_UNSUPPORTED, HR_ERR_FORKED. Any thread. */
HR_API HR_NODISCARD hr_status hr_memory_to_host(hr_context *context, hr_device device,
                                                void *dst, const void *src,
                                                uint64_t nbytes, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
