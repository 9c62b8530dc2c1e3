/* Files that are there whole or not at all. SPDX-License-Identifier: Apache-2.0 */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"

/* What an interrupt shall take away. */
static char unfinished[4096];
static volatile sig_atomic_t is_unfinished;

static void clean_up(int number) {
    if (is_unfinished) {
        (void)unlink(unfinished);
    }
    (void)raise(number); /* as without us: the handler is gone by now */
}

static void watch(const char *partial) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    if (strlen(partial) >= sizeof unfinished) {
        return;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before;
        struct sigaction ours = {.sa_handler = clean_up, .sa_flags = (int)SA_RESETHAND};
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
            (void)sigaction(numbers[i], &ours, NULL);
        }
    }
    memcpy(unfinished, partial, strlen(partial) + 1); /* it fits: see above */
    is_unfinished = 1;
}

int cli_outfile_error(const cli_outfile *out) {
    return cli_failure("cannot write '%s': %s", out->path, strerror(errno));
}

/* Where the file is to be in the end; NULL where it is to be written directly. */
static char *find_target(const char *path, mode_t *mode) {
    struct stat info;
    if (lstat(path, &info) != 0) {
        return errno == ENOENT ? strdup(path) : NULL;
    }
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || access(path, W_OK) != 0) {
        return NULL;
    }
    *mode = info.st_mode & 07777;
    return realpath(path, NULL); /* what a link leads to is replaced, not the link */
}

/* A new file beside the target; −1 where there can be none. */
static int open_partial(cli_outfile *out, mode_t mode) {
    size_t room = strlen(out->target) + 40;
    out->partial = malloc(room);
    if (out->partial == NULL) {
        return -1;
    }
    (void)snprintf(out->partial, room, "%s.partial-%ld", out->target, (long)getpid());
    int fd = open(out->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 && mode != 0) {
        (void)fchmod(fd, mode);
    }
    return fd;
}

static void forget(cli_outfile *out) {
    free(out->target);
    free(out->partial);
    *out = (cli_outfile){.path = out->path};
}

int cli_outfile_open(cli_outfile *out, const char *path) {
    *out = (cli_outfile){.path = path};
    if (strcmp(path, "-") == 0) {
        out->file = stdout;
        return CLI_OK;
    }
    mode_t mode = 0;
    out->target = find_target(path, &mode);
    int fd = out->target == NULL ? -1 : open_partial(out, mode);
    if (fd >= 0) {
        watch(out->partial);
        out->file = fdopen(fd, "wb"); /* fails without memory only */
    } else {
        forget(out);
        out->file = fopen(path, "wb");
    }
    return out->file != NULL ? CLI_OK : cli_outfile_error(out);
}

int cli_outfile_close(cli_outfile *out, int rc) {
    if (out->file == NULL) {
        return rc;
    }
    bool good = out->file == stdout ? fflush(stdout) == 0 : fclose(out->file) == 0;
    if (rc == CLI_OK && good && out->partial != NULL) {
        good = rename(out->partial, out->target) == 0;
    }
    if (rc == CLI_OK && !good) {
        rc = cli_outfile_error(out);
    }
    if (rc != CLI_OK && out->partial != NULL) {
        (void)unlink(out->partial);
    }
    is_unfinished = 0;
    forget(out);
    return rc;
}
