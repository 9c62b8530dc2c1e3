/* Streams decoded by every team of a kernel, against what they should give.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_DECODE_BATCH_H
#define HR_KERN_DECODE_BATCH_H

#include <stdint.h>

#include "kern/device_run.h"

/* A stream, and what a reference makes of it. Owns its memory. */
typedef struct decode_case {
    uint8_t *src;
    uint32_t src_nbytes, dst_nbytes;
    uint16_t wrapper;     /* as the task's */
    uint8_t *want;        /* all dst_nbytes: zeros from where it went wrong */
    uint32_t code, where; /* as the status word has them; both 0 if all is well */
} decode_case;

#define DECODE_BATCH_CAPACITY 4096

typedef struct decode_batch {
    runner runner;
    hr__kernel kernel;
    uint64_t random;
    uint32_t nteams; /* drawn for every run; 0 = all of them */
    uint32_t first;  /* of the kernel's teams only so many; 0 = all of them */
    uint32_t ncases;
    uint64_t nruns, nchecked, naccepted, nfailures; /* over all batches */
    decode_case cases[DECODE_BATCH_CAPACITY];
} decode_batch;

/* A batch for a kernel on a device, its random numbers from a seed. */
decode_batch *decode_batch_open(const char *device, hr__kernel kernel, uint64_t seed);
/* Prints the counts. Returns the exit status of a program. */
int decode_batch_close(decode_batch *b);

/* Takes the case over; runs the batch when it is full. */
void decode_batch_add(decode_batch *b, const decode_case *c);
/* Run what is left, at odd alignments, with one of two patterns in the output beforehand,
 * in turns. Differences are printed and counted. */
void decode_batch_run(decode_batch *b);

#endif
