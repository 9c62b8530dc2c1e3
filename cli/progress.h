/* Progress bar on a terminal. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
    const char *label; /* NULL = never shown */
    uint64_t total;
    double started;
    double shown; /* when it was last drawn; 0 = not yet */
} cli_progress;

/* Seconds on a steady clock. */
double cli_seconds(void);

/* Nothing is drawn when `quiet`, when stderr is no terminal, or within half a second. */
void cli_progress_begin(cli_progress *progress, bool quiet, const char *label,
                        uint64_t total);
void cli_progress_update(cli_progress *progress, uint64_t done);
/* Wipe the bar. */
void cli_progress_end(cli_progress *progress);

#endif
