/* The log callback. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_LOG_H
#define HR_CORE_LOG_H

#include <headrace/context.h>

typedef struct hr__log {
    hr_log_fn fn;
    void *user;
    hr_log_level level;
} hr__log;

void hr__log_write(const hr__log *log, hr_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
