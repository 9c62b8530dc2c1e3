/* Messages to people: errors, log lines, colour. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <headrace/context.h>
#include <headrace/status.h>

/* Exit codes. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1, /* bad data, failed I/O or device */
    CLI_USAGE = 2   /* wrong usage, or the array cannot be opened */
};

/* Say once whether colours may be used (they still need a terminal). */
void cli_report_colors(bool allowed);

/* Escape sequences, or "" where the file is no terminal or colours are off. */
const char *cli_bold(FILE *file);
const char *cli_red(FILE *file);
const char *cli_plain(FILE *file);

/* Print an error as one block on stderr. Returns the exit code that fits. */
int cli_report(const hr_error *err);
/* The lines of array, key, offset and codec that are known, each after `indent`. */
void cli_print_place(FILE *file, const char *indent, const hr_error *err);

/* Print "headrace: error: …" on stderr. */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, with the exit code as the value. */
#define cli_usage_error(...) (cli_error(__VA_ARGS__), CLI_USAGE)
#define cli_failure(...) (cli_error(__VA_ARGS__), CLI_FAILED)
#define cli_out_of_memory(nbytes)                                                        \
    cli_failure("cannot allocate %llu bytes", (unsigned long long)(nbytes))

/* An hr_log_fn that writes to stderr. */
void cli_log(void *user, hr_log_level level, const char *line);

/* Print text from a file's metadata with its control characters made harmless. */
void cli_put_text(FILE *file, const char *text);
/* The same, of what is longer only the beginning, and "..." */
void cli_put_start(FILE *file, const char *text, size_t max_nbytes);

#endif
