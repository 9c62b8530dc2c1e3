/* The command `headrace`. SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "report.h"

static const cli_command *const commands[] = {
    &cli_info, &cli_read,    &cli_stats, &cli_verify,
    &cli_png,  &cli_explain, &cli_bench, &cli_doctor,
};
enum { NCOMMANDS = sizeof commands / sizeof commands[0] };

static const cli_command *find_command(const char *name) {
    for (size_t i = 0; i < NCOMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static void print_overview(FILE *file) {
    fprintf(file, "Usage: headrace [options] COMMAND [arguments]\n\nCommands:\n");
    for (size_t i = 0; i < NCOMMANDS; i++) {
        fprintf(file, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    }
    fprintf(file,
            "  help     say more about a command\n\n%s\n"
            "Exit status: 0 right; 1 bad data, failed I/O or device;\n"
            "2 wrong usage, or an array that cannot be opened.\n",
            cli_general_options);
}

static void print_usage(const cli_command *command) {
    printf("Usage: headrace %s %s%s", command->name, command->usage, cli_general_options);
}

static int unknown_command(const char *name) {
    return cli_usage_error("'%s' is no command; see 'headrace help'", name);
}

static int run_help(const cli_args *args) {
    if (args->npositional == 0) {
        print_overview(stdout);
        return CLI_OK;
    }
    const cli_command *command = find_command(args->positional[0]);
    if (command == NULL) {
        return unknown_command(args->positional[0]);
    }
    print_usage(command);
    return CLI_OK;
}

static int run_command(cli *c) {
    if (c->args.help) {
        print_usage(c->command);
        return CLI_OK;
    }
    if (c->args.npositional < c->command->min_positional) {
        return cli_usage_error("'%s' wants more arguments; see 'headrace help %s'",
                               c->command->name, c->command->name);
    }
    if (c->args.npositional > c->command->max_positional) {
        return cli_usage_error("'%s' does not take the argument '%s'", c->command->name,
                               c->args.positional[c->command->max_positional]);
    }
    int rc = c->command->run(c);
    hr_context_unref(c->context);
    return rc;
}

static int run(int argc, char **argv) {
    cli c = {.command = NULL};
    int rc = cli_args_init(&c.args);
    cli_report_colors(!c.args.no_color);
    if (rc == CLI_OK) {
        rc = cli_args_parse(argc, argv, 0, true, &c.args);
    }
    if (rc != CLI_OK) {
        return rc;
    }
    char **rest = c.args.positional;
    int nrest = c.args.npositional;
    bool is_help = nrest > 0 && strcmp(rest[0], "help") == 0;
    if (!c.args.help && !c.args.version && nrest == 0) {
        print_overview(stderr);
        return CLI_USAGE;
    }
    if (nrest > 0 && !is_help) {
        c.command = find_command(rest[0]);
        if (c.command == NULL) {
            return unknown_command(rest[0]);
        }
    }
    if (nrest > 0) {
        unsigned takes = is_help ? 0 : c.command->takes;
        rc = cli_args_parse(nrest, rest, takes, false, &c.args);
        if (rc != CLI_OK) {
            return rc;
        }
    }
    cli_report_colors(!c.args.no_color);
    if (c.args.version) {
        printf("headrace %s\n", hr_version());
        return CLI_OK;
    }
    return c.command == NULL ? run_help(&c.args) : run_command(&c);
}

int main(int argc, char **argv) {
    /* A reader that goes away ends us quietly, whatever the parent did with SIGPIPE. */
    (void)signal(SIGPIPE, SIG_DFL);
    /* A read has many streams under way. In the driver's eight hardware queues they wait
     * for one another; a program may say so only before its driver starts. */
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    int rc = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        cli_error("cannot write to standard output");
        rc = rc == CLI_OK ? CLI_FAILED : rc;
    }
    return rc;
}
