/* Files that are there whole or not at all. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OUTFILE_H
#define CLI_OUTFILE_H

#include <stdio.h>

/* A file is written beside its place and moved there once it is whole: a failure, or an
 * interrupt, leaves what was there before. What is no plain file (a pipe, a device), and
 * what lies where nothing can be put beside it, is written directly. */
typedef struct cli_outfile {
    const char *path; /* as given; "-" = standard output */
    FILE *file;
    char *target, *partial; /* NULL where it is written directly */
} cli_outfile;

/* CLI_OK, or the exit code after a message. One at a time. */
int cli_outfile_open(cli_outfile *out, const char *path);

/* Close it: with CLI_OK move it to its place, else take it away. Returns rc, or
 * CLI_FAILED after a message. NULL as out->file is accepted. */
int cli_outfile_close(cli_outfile *out, int rc);

/* The message that writing has failed, by errno. */
int cli_outfile_error(const cli_outfile *out);

#endif
