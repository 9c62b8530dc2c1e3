/* Command line options. SPDX-License-Identifier: Apache-2.0 */
#include "args.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/read.h>

#include "report.h"

#define MAX_THREADS 1024 /* of hr_context_options */

enum {
    OPT_DEVICE = 256,
    OPT_STRICT,
    OPT_JSON,
    OPT_THREADS,
    OPT_IO,
    OPT_NO_COLOR,
    OPT_NVCOMP,
    OPT_MEASURE,
    OPT_HOST_SHARE,
    OPT_DTYPE,
    OPT_MASK_AND_SCALE,
    OPT_SCALE,
    OPT_OFFSET,
    OPT_FILL
};

static const struct option long_options[] = {
    {"select", required_argument, NULL, 's'},
    {"output", required_argument, NULL, 'o'},
    {"repeats", required_argument, NULL, 'n'},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"nvcomp", optional_argument, NULL, OPT_NVCOMP},
    {"measure", no_argument, NULL, OPT_MEASURE},
    {"host-share", required_argument, NULL, OPT_HOST_SHARE},
    {"dtype", required_argument, NULL, OPT_DTYPE},
    {"mask-and-scale", no_argument, NULL, OPT_MASK_AND_SCALE},
    {"scale", required_argument, NULL, OPT_SCALE},
    {"offset", required_argument, NULL, OPT_OFFSET},
    {"fill", required_argument, NULL, OPT_FILL},
    {"strict", no_argument, NULL, OPT_STRICT},
    {"json", no_argument, NULL, OPT_JSON},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"io", required_argument, NULL, OPT_IO},
    {"quiet", no_argument, NULL, 'q'},
    {"no-color", no_argument, NULL, OPT_NO_COLOR},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

const char cli_general_options[] =
    "General options:\n"
    "  --threads N             worker threads (default: one per core; at least 16\n"
    "                          with --io direct)\n"
    "  --io MODE               buffered (default), or direct: past the page cache\n"
    "  -q, --quiet             no progress bar and no warnings\n"
    "  --no-color              no colours, as when NO_COLOR is set\n"
    "  -h, --help              this text\n"
    "  -V, --version           print the version\n";

static int parse_number(const char *what, const char *text, uint32_t low, uint32_t high,
                        uint32_t *out) {
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low ||
        value > (long long)high) {
        return cli_usage_error("%s wants a number from %u to %u, not '%s'", what, low,
                               high, text);
    }
    *out = (uint32_t)value;
    return CLI_OK;
}

static int parse_count(const char *what, const char *text, uint32_t high, uint32_t *out) {
    return parse_number(what, text, 1, high, out);
}

static int parse_host_share(const char *text, int32_t *out) {
    uint32_t percent = 0;
    if (strcmp(text, "auto") == 0) {
        *out = HR_HOST_SHARE_MEASURED;
        return CLI_OK;
    }
    int rc = parse_number("--host-share", text, 0, 100, &percent);
    *out = (int32_t)percent;
    return rc;
}

static int parse_log_level(const char *text, cli_args *args) {
    static const char *const names[] = {"error", "warning", "info", "debug"};
    args->log_off = strcmp(text, "off") == 0;
    if (args->log_off) {
        return CLI_OK;
    }
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            args->log_level = (hr_log_level)i;
            return CLI_OK;
        }
    }
    return cli_usage_error("HEADRACE_LOG is off, error, warning, info or debug, not '%s'",
                           text);
}

int cli_args_init(cli_args *args) {
    *args = (cli_args){
        .repeats = 5, .device = {.type = HR_DEVICE_CPU}, .log_level = HR_LOG_WARNING};
    const char *no_color = getenv("NO_COLOR");
    args->no_color = no_color != NULL && no_color[0] != '\0';
    int rc = CLI_OK;
    const char *threads = getenv("HEADRACE_THREADS");
    if (threads != NULL && threads[0] != '\0') {
        rc = parse_count("HEADRACE_THREADS", threads, MAX_THREADS, &args->nthreads);
    }
    const char *log = getenv("HEADRACE_LOG");
    if (rc == CLI_OK && log != NULL && log[0] != '\0') {
        rc = parse_log_level(log, args);
    }
    return rc;
}

static int parse_device(const char *text, hr_device *device) {
    hr_error err = HR_ERROR_INIT;
    if (hr_device_parse(text, device, &err) != HR_OK) {
        return cli_report(&err);
    }
    return CLI_OK;
}

static int parse_io(const char *text, hr_io_mode *io) {
    if (strcmp(text, "direct") != 0 && strcmp(text, "buffered") != 0) {
        return cli_usage_error("--io wants 'buffered' or 'direct', not '%s'", text);
    }
    *io = text[0] == 'd' ? HR_IO_DIRECT : HR_IO_BUFFERED;
    return CLI_OK;
}

/* What a command must take for an option to be right; 0 = every command. */
static unsigned option_needs(int option) {
    switch (option) {
    case 's':
        return CLI_TAKES_SELECTION;
    case 'o':
        return CLI_TAKES_OUTPUT;
    case 'n':
        return CLI_TAKES_REPEATS;
    case OPT_DEVICE:
    case OPT_NVCOMP:
        return CLI_TAKES_DEVICE;
    case OPT_STRICT:
        return CLI_TAKES_STRICT;
    case OPT_MEASURE:
        return CLI_TAKES_MEASURE;
    case OPT_HOST_SHARE:
        return CLI_TAKES_HOST_SHARE;
    case OPT_JSON:
        return CLI_TAKES_JSON;
    case OPT_DTYPE:
    case OPT_MASK_AND_SCALE:
    case OPT_SCALE:
    case OPT_OFFSET:
    case OPT_FILL:
        return CLI_TAKES_PACKING;
    default:
        return 0;
    }
}

static void take_packing(int option, cli_args *args) {
    switch (option) {
    case OPT_DTYPE:
        args->dtype = optarg;
        break;
    case OPT_SCALE:
        args->scale = optarg;
        break;
    case OPT_OFFSET:
        args->offset = optarg;
        break;
    case OPT_FILL:
        args->fill = optarg;
        break;
    default:
        args->mask_and_scale = true;
    }
}

static int take_option(int option, cli_args *args) {
    if (option_needs(option) == CLI_TAKES_PACKING) {
        take_packing(option, args);
        return CLI_OK;
    }
    switch (option) {
    case 's':
        args->selection = optarg;
        break;
    case 'o':
        args->output = optarg;
        break;
    case 'n':
        return parse_count("-n", optarg, 1000000, &args->repeats);
    case OPT_DEVICE:
        return parse_device(optarg, &args->device);
    case OPT_NVCOMP:
        args->nvcomp = optarg != NULL ? optarg : "";
        break;
    case OPT_MEASURE:
        args->measure = true;
        break;
    case OPT_HOST_SHARE:
        return parse_host_share(optarg, &args->host_share);
    case OPT_STRICT:
        args->strict = true;
        break;
    case OPT_JSON:
        args->json = true;
        break;
    case OPT_THREADS:
        return parse_count("--threads", optarg, MAX_THREADS, &args->nthreads);
    case OPT_IO:
        return parse_io(optarg, &args->io);
    case 'q':
        args->quiet = true;
        break;
    case OPT_NO_COLOR:
        args->no_color = true;
        break;
    case 'h':
        args->help = true;
        break;
    default:
        args->version = true;
        break;
    }
    return CLI_OK;
}

/* `argument` is where getopt stopped: the option itself unless it is a short one, which
 * can stand among others, or a known one, whose value can come after it. `command`: "",
 * or where it is not known. */
static int unknown_option(int option, const char *argument, const char *command) {
    char letter[] = {'-', (char)optopt, '\0'};
    const char *dashes = "";
    const char *name = option == '?' && optopt > 0 && optopt < 256 ? letter : argument;
    for (const struct option *o = long_options; o->name != NULL; o++) {
        if (o->val == option) {
            dashes = "--";
            name = o->name;
        }
    }
    return cli_usage_error("option '%s%s' is not known here; see 'headrace help%s%s'",
                           dashes, name, command[0] != '\0' ? " " : "", command);
}

int cli_args_parse(int argc, char **argv, unsigned takes, bool stop_at_command,
                   cli_args *args) {
    const char *short_options = stop_at_command ? "+:s:o:n:qhV" : ":s:o:n:qhV";
    optind = 0; /* start anew, with the order of this call */
    opterr = 0;
    for (;;) {
        int option = getopt_long(argc, argv, short_options, long_options, NULL);
        if (option == -1) {
            break;
        }
        if (option == ':') {
            return cli_usage_error("option '%s' wants a value", argv[optind - 1]);
        }
        unsigned needs = option_needs(option);
        if (option == '?' || (takes & needs) != needs) {
            return unknown_option(option, argv[optind - 1],
                                  stop_at_command || takes == 0 ? "" : argv[0]);
        }
        int rc = take_option(option, args);
        if (rc != CLI_OK) {
            return rc;
        }
    }
    args->positional = argv + optind;
    args->npositional = argc - optind;
    return CLI_OK;
}
