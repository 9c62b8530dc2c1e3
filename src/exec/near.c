/* Where the threads of a run should be. SPDX-License-Identifier: Apache-2.0 */
#include "exec/near.h"

/* That all destinations are near to; NULL: there is none. */
static const hr__numa_node *common_node(const hr__run *run) {
    const hr__numa_node *common = NULL;
    for (size_t i = 0; i < run->ntargets; i++) {
        const hr__ring *ring = run->targets[i].ring;
        const hr__numa_node *node = ring != NULL ? &ring->device->node : NULL;
        if (node == NULL || !node->is_known ||
            (common != NULL && common->id != node->id)) {
            return NULL;
        }
        common = common == NULL ? node : common;
    }
    return common;
}

static bool is_only_read(const hr__run *run) {
    const hr__array *last = NULL;
    for (size_t i = 0; i < run->ntargets; i++) {
        const hr__source *source = run->targets[i].source;
        hr__kernel_chain kernels;
        if (source->array != last && (source->store->runs_foreign_code ||
                                      !hr__run_has_kernels(source->array, &kernels))) {
            return false;
        }
        last = source->array;
    }
    return run->nhost_share == 0;
}

const cpu_set_t *hr__run_cores(const hr__run *run) {
    const hr__numa_node *node = common_node(run);
    return node != NULL && is_only_read(run) ? &node->cores : NULL;
}
