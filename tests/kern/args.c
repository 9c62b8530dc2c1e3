/* Arguments of the kernel tests. SPDX-License-Identifier: Apache-2.0 */
#include "kern/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void end_with_usage(const char *program, const kern_option *options) {
    printf("usage: %s simt|cuda", program);
    for (const kern_option *o = options; o->name != NULL; o++) {
        printf(" [%s N]", o->name);
    }
    printf("\n");
    exit(EXIT_FAILURE);
}

const char *kern_args(int argc, char **argv, const kern_option *options) {
    if (argc < 2 || argc % 2 != 0) {
        end_with_usage(argv[0], options);
    }
    for (int i = 2; i < argc; i += 2) {
        const kern_option *o = options;
        while (o->name != NULL && strcmp(o->name, argv[i]) != 0) {
            o++;
        }
        char *end = NULL;
        uint64_t n = strtoull(argv[i + 1], &end, 0);
        if (o->name == NULL || end == argv[i + 1] || *end != '\0') {
            printf("not understood: %s %s\n", argv[i], argv[i + 1]);
            end_with_usage(argv[0], options);
        }
        *o->value = n;
    }
    return argv[1];
}
