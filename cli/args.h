/* Command line options. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include <headrace/context.h>

/* Options that a command takes besides the general ones. */
enum {
    CLI_TAKES_SELECTION = 1 << 0,
    CLI_TAKES_OUTPUT = 1 << 1,
    CLI_TAKES_DEVICE = 1 << 2,
    CLI_TAKES_STRICT = 1 << 3,
    CLI_TAKES_JSON = 1 << 4,
    CLI_TAKES_REPEATS = 1 << 5,
    CLI_TAKES_PACKING = 1 << 6,
    CLI_TAKES_MEASURE = 1 << 7,
    CLI_TAKES_HOST_SHARE = 1 << 8
};

typedef struct cli_args {
    const char *selection;                     /* or NULL */
    const char *output;                        /* or NULL */
    const char *dtype, *scale, *offset, *fill; /* each or NULL */
    bool mask_and_scale;
    hr_device device;
    const char *nvcomp; /* as of hr_context_options */
    hr_io_mode io;
    int32_t host_share; /* as of hr_read_options */
    uint32_t repeats;
    uint32_t nthreads; /* as of hr_context_options */
    bool strict;
    bool measure;
    bool json;
    bool quiet;
    bool no_color;
    bool help;
    bool version;
    bool log_off;
    hr_log_level log_level;
    char **positional; /* borrowed from argv, npositional of them */
    int npositional;
} cli_args;

/* Defaults, then HEADRACE_THREADS and HEADRACE_LOG. Returns an exit code. */
int cli_args_init(cli_args *args);

/* Parse argv[1…], taking the options of `takes` and the general ones. With
 * `stop_at_command` the first other argument ends it and the rest is positional.
 * Returns an exit code, having said what is wrong. */
int cli_args_parse(int argc, char **argv, unsigned takes, bool stop_at_command,
                   cli_args *args);

/* The general options, for help. */
extern const char cli_general_options[];

#endif
