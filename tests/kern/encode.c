/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/encode.h"

#include <blosc.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/blosc_frame.h"
#include "kern/device_run.h"

uint32_t encode_bound(uint32_t nbytes) {
    return (uint32_t)snappy_max_compressed_length(nbytes);
}

uint32_t encode_snappy(const uint8_t *raw, uint32_t nbytes, uint8_t *out,
                       uint32_t bound) {
    size_t n = bound, skip = 1;
    if (snappy_compress((const char *)raw, nbytes, (char *)out, &n) != SNAPPY_OK) {
        printf("libsnappy cannot compress %u bytes\n", nbytes);
        exit(EXIT_FAILURE);
    }
    while ((out[skip - 1] & 128) != 0) {
        skip++;
    }
    memmove(out, out + skip, n - skip);
    return (uint32_t)(n - skip);
}

/* The stream out of a chunk of one block that is not split. */
uint32_t encode_blosclz(const uint8_t *raw, uint32_t nbytes, uint8_t *out,
                        uint32_t bound) {
    uint8_t *chunk = must_malloc((uint64_t)nbytes + BLOSC_MAX_OVERHEAD);
    int n = blosc_compress_ctx(9, 0, 1, nbytes, raw, chunk,
                               (size_t)nbytes + BLOSC_MAX_OVERHEAD, "blosclz", nbytes, 1);
    hr__blosc_frame frame;
    hr__blosc_block block;
    hr_error err = HR_ERROR_INIT;
    uint32_t unclaimed = (uint32_t)n, made = 0;
    if (n > 0 && hr__blosc_parse(chunk, (size_t)n, &frame, &err) == HR_OK &&
        frame.nblocks == 1 &&
        hr__blosc_block_at(&frame, chunk, 0, &unclaimed, &block, &err) == HR_OK &&
        block.streams[0].nbytes < block.streams[0].decoded_nbytes &&
        block.streams[0].nbytes <= bound) {
        made = block.streams[0].nbytes;
        memcpy(out, chunk + block.streams[0].offset, made);
    }
    free(chunk);
    return made;
}
