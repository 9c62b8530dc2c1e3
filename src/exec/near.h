/* Where the threads of a run should be. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_NEAR_H
#define HR_EXEC_NEAR_H

#include "exec/run.h"

/* The cores of the NUMA node of all its destinations, where all that the host does for
 * them is to read, from stores of the library's own: decoding wants every core more than
 * a near one, and what another store starts would inherit the place. (What is called when
 * a batch is done runs anywhere; hooks for memory and the log run at the place.) NULL:
 * any. */
const cpu_set_t *hr__run_cores(const hr__run *run);

#endif
