/* NUMA nodes: which cores and which memory are near a device.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Linux's sysfs and system calls; where they are missing or refused nothing happens. */
#ifndef HR_CORE_NUMA_H
#define HR_CORE_NUMA_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HR__NUMA_ROOT "/sys/devices/system/node"

typedef struct hr__numa_node {
    bool is_known; /* false: there is nothing to choose from, and the rest is unset */
    int32_t id;
    cpu_set_t cores;
} hr__numa_node;

/* The node of that number (−1: nobody knows which) below a folder like HR__NUMA_ROOT.
 * Known only where there are several and it has cores. */
hr__numa_node hr__numa_find(const char *root, int32_t id);
/* What is kept to a node, for people; empty where there is nothing to choose from. */
void hr__numa_describe(const hr__numa_node *node, char *text, size_t capacity);

/* Have the calling thread get memory of a known node. False: it does not, since it was
 * told otherwise before, or may not. True: until it is put back to the usual. */
bool hr__numa_prefer(const hr__numa_node *node);
void hr__numa_prefer_usual(void);

/* Have the calling thread run on those of its cores that are among these, if there are
 * any; NULL: on all of its own again. The set stays where it is until the next move. A
 * thread that is started meanwhile inherits the place. */
void hr__numa_move(const cpu_set_t *cores);
/* To where the calling thread was sent; NULL: wherever it may run. */
const cpu_set_t *hr__numa_place(void);

#endif
