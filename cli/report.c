/* Messages to people. SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include "text.h"

static bool colors_allowed = true;

void cli_report_colors(bool allowed) {
    colors_allowed = allowed;
}

static bool is_colored(FILE *file) {
    return colors_allowed && isatty(fileno(file)) == 1;
}

const char *cli_bold(FILE *file) {
    return is_colored(file) ? "\033[1m" : "";
}

const char *cli_red(FILE *file) {
    return is_colored(file) ? "\033[1;31m" : "";
}

const char *cli_plain(FILE *file) {
    return is_colored(file) ? "\033[0m" : "";
}

void cli_put_start(FILE *file, const char *text, size_t max_nbytes) {
    for (const char *p = text; *p != '\0';) {
        size_t n = cli_character(p);
        bool is_shown = n > 0 && !cli_is_control(p);
        n += n == 0;
        if ((size_t)(p - text) + n > max_nbytes) {
            fputs("...", file);
            break;
        }
        (void)fwrite(is_shown ? p : "?", 1, is_shown ? n : 1, file);
        p += n;
    }
}

void cli_put_text(FILE *file, const char *text) {
    cli_put_start(file, text, SIZE_MAX);
}

static void begin_error(void) {
    fprintf(stderr, "%sheadrace: error:%s ", cli_red(stderr), cli_plain(stderr));
}

static void print_field(FILE *file, const char *indent, const char *name,
                        const char *text) {
    if (text[0] != '\0') {
        fprintf(file, "%s%s", indent, name);
        cli_put_text(file, text);
        fputc('\n', file);
    }
}

void cli_print_place(FILE *file, const char *indent, const hr_error *err) {
    print_field(file, indent, "array:  ", err->url);
    print_field(file, indent, "key:    ", err->key);
    if (err->offset != 0) {
        fprintf(file, "%soffset: %llu\n", indent, (unsigned long long)err->offset);
    }
    print_field(file, indent, "codec:  ", err->codec);
}

static int exit_code(hr_status status) {
    switch (status) {
    case HR_OK:
        return CLI_OK;
    case HR_ERR_ARGUMENT:
    case HR_ERR_OVERFLOW:
    case HR_ERR_UNSUPPORTED:
    case HR_ERR_NOT_FOUND:
    case HR_ERR_METADATA:
    case HR_ERR_DTYPE:
    case HR_ERR_SHAPE:
    case HR_ERR_SELECTION:
        return CLI_USAGE;
    default:
        return CLI_FAILED;
    }
}

int cli_report(const hr_error *err) {
    begin_error();
    cli_put_text(stderr, err->message);
    fputc('\n', stderr);
    cli_print_place(stderr, "  ", err);
    return exit_code(err->status);
}

void cli_error(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    begin_error();
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

void cli_log(void *user, hr_log_level level, const char *line) {
    static const char *const names[] = {"error", "warning", "info", "debug"};
    (void)user;
    const char *name = level >= 0 && level <= HR_LOG_DEBUG ? names[level] : "log";
    fprintf(stderr, "headrace: %s: %s\n", name, line);
}
