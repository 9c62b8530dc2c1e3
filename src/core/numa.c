/* NUMA nodes. SPDX-License-Identifier: Apache-2.0 */
#include "core/numa.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, NODES_MAX = CPU_SETSIZE };

/* --- what sysfs says --- */

/* Saturates. NULL: there is none. */
static const char *read_number(const char *p, uint32_t *out) {
    const char *start = p;
    uint32_t n = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        n = n < CPU_SETSIZE ? n * 10 + (uint32_t)(*p - '0') : n;
    }
    *out = n;
    return p > start ? p : NULL;
}

/* "0-3,8": what is beyond the set's size is left out. */
static bool parse_list(const char *p, cpu_set_t *out) {
    CPU_ZERO(out);
    while (*p != '\n' && *p != '\0') {
        uint32_t first;
        p = read_number(p, &first);
        uint32_t last = first;
        if (p != NULL && *p == '-') {
            p = read_number(p + 1, &last);
        }
        if (p == NULL || last < first || strchr(",\n", *p) == NULL) {
            return false;
        }
        for (uint32_t i = first; i <= last && i < CPU_SETSIZE; i++) {
            CPU_SET(i, out);
        }
        p += *p == ',';
    }
    return true;
}

/* A file of sysfs is at most a page. */
static bool read_list(const char *root, const char *name, cpu_set_t *out) {
    char path[256];
    char text[PAGE + 1];
    if (snprintf(path, sizeof path, "%s/%s", root, name) >= (int)sizeof path) {
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, text, sizeof text);
    (void)close(fd);
    if (n < 0 || n > PAGE) {
        return false;
    }
    text[n] = '\0';
    return parse_list(text, out);
}

hr__numa_node hr__numa_find(const char *root, int32_t id) {
    cpu_set_t nodes;
    char name[32];
    hr__numa_node node = {.id = id};
    if (id < 0 || id >= NODES_MAX || !read_list(root, "online", &nodes) ||
        CPU_COUNT(&nodes) < 2 || !CPU_ISSET((size_t)id, &nodes)) {
        return node;
    }
    (void)snprintf(name, sizeof name, "node%d/cpulist", (int)id);
    node.is_known = read_list(root, name, &node.cores) && CPU_COUNT(&node.cores) > 0;
    return node;
}

/* --- threads --- */

static bool get_cores(cpu_set_t *out) {
    return sched_getaffinity(0, sizeof *out, out) == 0;
}

/* Of each thread, as the place is. */
static _Thread_local struct {
    const cpu_set_t *cores;   /* that it was sent to */
    cpu_set_t usual, limited; /* where it ran otherwise, and may run now; set by cores */
} seat;

void hr__numa_move(const cpu_set_t *cores) {
    cpu_set_t now;
    const bool was_sent = seat.cores != NULL;
    if (cores == seat.cores) {
        return;
    }
    seat.cores = cores;
    if (!get_cores(&now)) {
        return;
    }
    if (!was_sent || !CPU_EQUAL(&now, &seat.limited)) {
        seat.usual = now; /* as the program, or the system, has it or has set it since */
    }
    seat.limited = seat.usual;
    if (cores != NULL) {
        CPU_AND(&seat.limited, &seat.usual, cores);
    }
    if (CPU_COUNT(&seat.limited) == 0) {
        seat.limited = seat.usual;
    }
    if (!CPU_EQUAL(&seat.limited, &now)) {
        (void)sched_setaffinity(0, sizeof seat.limited, &seat.limited);
    }
}

const cpu_set_t *hr__numa_place(void) {
    return seat.cores;
}

void hr__numa_describe(const hr__numa_node *node, char *text, size_t capacity) {
    cpu_set_t own, common;
    text[0] = '\0';
    if (!node->is_known) {
        return;
    }
    if (!get_cores(&own)) {
        (void)snprintf(text, capacity, "node %d", (int)node->id);
        return;
    }
    CPU_AND(&common, &own, &node->cores);
    const int n = CPU_COUNT(&common);
    (void)snprintf(text, capacity,
                   n == 0 ? "node %d, none of whose cores may be used"
                          : "node %d, with %d of %d cores",
                   (int)node->id, n, CPU_COUNT(&own));
}

/* --- memory --- */

bool hr__numa_prefer(const hr__numa_node *node) {
    enum { BITS = 8 * sizeof(unsigned long) };
    unsigned long nodes[NODES_MAX / BITS] = {0};
    int mode = 0;
    if (syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL) != 0 ||
        mode != MPOL_DEFAULT) {
        return false;
    }
    nodes[(size_t)node->id / BITS] = 1UL << (size_t)node->id % BITS;
    return syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, NODES_MAX + 1UL) == 0;
}

void hr__numa_prefer_usual(void) {
    (void)syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL);
}
