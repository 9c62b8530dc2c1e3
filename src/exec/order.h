/* In what order the objects of a run are taken. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_ORDER_H
#define HR_EXEC_ORDER_H

#include "exec/run.h"

/* Those of different devices in turn, by how many chunks each has, and of one device in
 * the order that they have: all devices are busy until the end. At most HR__MAX_RINGS of
 * them (see record_starts()). */
void hr__run_order(hr__run *run);

#endif
