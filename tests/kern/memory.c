/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/memory.h"

#include <stdio.h>
#include <stdlib.h>

void *must_malloc(uint64_t nbytes) {
    void *p = malloc(nbytes == 0 ? 1 : nbytes);
    if (p == NULL) {
        printf("no memory\n");
        exit(EXIT_FAILURE);
    }
    return p;
}
