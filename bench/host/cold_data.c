/* What the measurement of cold reads reads. SPDX-License-Identifier: Apache-2.0 */
#include "cold.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((uint64_t)1 << 16)
#define PAGE ((uint64_t)4096)

uint64_t piece_start(const data_set *s, const piece *p) {
    return p->file * s->file_nbytes + p->offset;
}

void file_path(const data_set *s, uint64_t i, char path[8192]) {
    (void)snprintf(path, 8192, s->is_shard ? "%s/c/%lu" : "%s/%lu", s->path,
                   (unsigned long)i);
}

static int must_open(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC, 0666);
    if (fd < 0) {
        err(1, "%s", path);
    }
    return fd;
}

static void write_document(const data_set *s) {
    static const char v2[] =
        "{\"zarr_format\":2,\"shape\":[%lu],\"chunks\":[%lu],\"dtype\":\"|u1\","
        "\"compressor\":null,\"filters\":null,\"fill_value\":0,\"order\":\"C\"}";
    static const char v3[] =
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%lu],\"data_type\":"
        "\"uint8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{"
        "\"chunk_shape\":[%lu]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
        "\"fill_value\":0,\"attributes\":{},\"codecs\":[{\"name\":\"sharding_indexed\","
        "\"configuration\":{\"chunk_shape\":[%lu],\"codecs\":[{\"name\":\"bytes\"}],"
        "\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
        "]}}]}";
    char path[8192];
    (void)snprintf(path, sizeof path, "%s/%s", s->path,
                   s->is_shard ? "zarr.json" : ".zarray");
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        err(1, "%s", path);
    }
    (void)fprintf(f, s->is_shard ? v3 : v2, (unsigned long)(s->nfiles * s->file_nbytes),
                  (unsigned long)s->file_nbytes, (unsigned long)s->piece_nbytes);
    (void)fclose(f);
}

static void write_numbers(int fd, uint64_t first, uint64_t nbytes) {
    uint64_t block[BLOCK / 8];
    for (uint64_t at = 0; at < nbytes; at += BLOCK) {
        for (uint64_t i = 0; i < BLOCK / 8; i++) {
            block[i] = (first + at) / 8 + i;
        }
        if (write(fd, block, BLOCK) != (ssize_t)BLOCK) {
            err(1, "write");
        }
    }
}

/* Offset and size of each inner chunk. */
static void write_index(const data_set *s, int fd) {
    for (uint64_t at = 0; at < s->file_nbytes; at += s->piece_nbytes) {
        const uint64_t entry[] = {at, s->piece_nbytes};
        if (write(fd, entry, sizeof entry) != (ssize_t)sizeof entry) {
            err(1, "write");
        }
    }
}

void data_write(const data_set *s) {
    char path[8192];
    (void)mkdir(s->path, 0777);
    (void)snprintf(path, sizeof path, "%s/c", s->path);
    (void)mkdir(path, 0777);
    for (uint64_t i = 0; i < s->nfiles; i++) {
        struct stat st;
        file_path(s, i, path);
        if (stat(path, &st) == 0 && (uint64_t)st.st_size >= s->file_nbytes) {
            continue;
        }
        int fd = must_open(path, O_WRONLY | O_CREAT | O_TRUNC);
        write_numbers(fd, i * s->file_nbytes, s->file_nbytes);
        if (s->is_shard) {
            write_index(s, fd);
        }
        if (fsync(fd) != 0 || close(fd) != 0) {
            err(1, "%s", path);
        }
    }
    write_document(s);
}

static uint64_t count_resident(int fd, uint64_t nbytes) {
    const uint64_t npages = (nbytes + PAGE - 1) / PAGE;
    void *map = mmap(NULL, nbytes, PROT_READ, MAP_SHARED, fd, 0);
    unsigned char *pages = malloc(npages);
    if (map == MAP_FAILED || pages == NULL || mincore(map, nbytes, pages) != 0) {
        err(1, "mincore");
    }
    uint64_t n = 0;
    for (uint64_t i = 0; i < npages; i++) {
        n += pages[i] & 1;
    }
    free(pages);
    (void)munmap(map, nbytes);
    return n;
}

void data_evict(const data_set *s) {
    uint64_t resident = 0;
    char path[8192];
    for (uint64_t i = 0; i < s->nfiles; i++) {
        file_path(s, i, path);
        int fd = must_open(path, O_RDONLY);
        for (int tries = 0; tries < 10 && (tries == 0 || resident > 0); tries++) {
            (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            resident = count_resident(fd, s->file_nbytes);
        }
        (void)close(fd);
        if (resident > s->file_nbytes / PAGE / 100) {
            errx(1, "%s: %lu pages stay in the page cache", path,
                 (unsigned long)resident);
        }
    }
}

void data_load(const data_set *s) {
    static uint8_t buffer[1 << 20];
    char path[8192];
    for (uint64_t i = 0; i < s->nfiles; i++) {
        file_path(s, i, path);
        int fd = must_open(path, O_RDONLY);
        while (read(fd, buffer, sizeof buffer) > 0) {
        }
        (void)close(fd);
    }
}

void data_check(const data_set *s) {
    for (uint64_t i = 0; i < s->npieces; i++) {
        const piece *p = &s->pieces[i];
        for (uint64_t k = 0; k < s->piece_nbytes; k += 4088) {
            uint64_t number;
            memcpy(&number, p->dst + k, sizeof number);
            if (number != (piece_start(s, p) + k) / 8) {
                errx(1, "%s: wrong bytes in piece %lu", s->title, (unsigned long)i);
            }
        }
    }
    memset(s->out, 0, s->out_nbytes);
}
