/* Progress bar on a terminal. SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

double cli_seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void cli_progress_begin(cli_progress *progress, bool quiet, const char *label,
                        uint64_t total) {
    bool is_shown = !quiet && isatty(STDERR_FILENO) == 1;
    *progress = (cli_progress){
        .label = is_shown ? label : NULL, .total = total, .started = cli_seconds()};
}

void cli_progress_update(cli_progress *progress, uint64_t done) {
    enum { WIDTH = 40 };
    if (progress->label == NULL) {
        return;
    }
    double now = cli_seconds();
    if (now - progress->started < 0.5 || now - progress->shown < 0.1) {
        return;
    }
    double part = progress->total == 0 ? 1 : (double)done / (double)progress->total;
    part = part > 1 ? 1 : part;
    int filled = (int)(part * WIDTH);
    fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%", progress->label, filled,
            "########################################", WIDTH - filled, "", part * 100);
    fflush(stderr);
    progress->shown = now;
}

void cli_progress_end(cli_progress *progress) {
    if (progress->shown > 0) {
        fprintf(stderr, "\r%79s\r", "");
        progress->shown = 0;
    }
    progress->label = NULL;
}
