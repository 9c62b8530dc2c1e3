/* The log callback. SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>

void hr__log_write(const hr__log *log, hr_log_level level, const char *fmt, ...) {
    if (log->fn == NULL || level > log->level) {
        return;
    }
    char line[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    log->fn(log->user, level, line);
}
