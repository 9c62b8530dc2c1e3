/* What the commands share. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <headrace/headrace.h>

#include "args.h"

typedef struct cli {
    const struct cli_command *command;
    cli_args args;
    hr_context *context; /* made by cli_open */
} cli;

typedef struct cli_command {
    const char *name;
    const char *summary; /* one line */
    const char *usage;   /* arguments, then what they mean; for help */
    unsigned takes;      /* CLI_TAKES_… */
    int min_positional;
    int max_positional;
    int (*run)(cli *c); /* returns the exit code */
} cli_command;

extern const cli_command cli_info;
extern const cli_command cli_read;
extern const cli_command cli_stats;
extern const cli_command cli_verify;
extern const cli_command cli_png;
extern const cli_command cli_explain;
extern const cli_command cli_bench;
extern const cli_command cli_doctor;

/* Make the context and open the node at the first positional argument. Returns an exit
 * code, having said what is wrong. */
int cli_open(cli *c, hr_node **node);
/* The same for a command that wants an array; describes it. */
int cli_open_array(cli *c, hr_node **node, hr_node_info *info);

#endif
