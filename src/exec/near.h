/* Where the threads of a run should be. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_NEAR_H
#define HR_EXEC_NEAR_H

#include "exec/run.h"

/* The cores of the NUMA node of all its destinations, where all that the host does for
 * them is to read, with code of the library's own: decoding wants every core more than a
 * near one, and what others run may start threads, which would inherit the place. NULL:
 * any. */
const cpu_set_t *hr__run_cores(const hr__run *run);

#endif
