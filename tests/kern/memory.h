/* Memory of the kernel tests. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_MEMORY_H
#define HR_KERN_MEMORY_H

#include <stdint.h>

/* Ends the program where there is none. */
void *must_malloc(uint64_t nbytes);

#endif
