/* Arguments of the kernel tests: a device, then options with numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_ARGS_H
#define HR_KERN_ARGS_H

#include <stddef.h>
#include <stdint.h>

typedef struct kern_option {
    const char *name; /* with its dashes */
    uint64_t *value;  /* holds the default */
} kern_option;

/* The options end with one without a name. Returns the device; ends the program with a
 * line of usage where something is not understood. */
const char *kern_args(int argc, char **argv, const kern_option *options);

#endif
