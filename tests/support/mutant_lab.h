/* Reading files that were changed a little. SPDX-License-Identifier: Apache-2.0
 *
 * Whatever comes of a mutant is an array, or an error that names something: no crash, no
 * long computation, no great amount of memory. */
#ifndef HR_TEST_MUTANT_LAB_H
#define HR_TEST_MUTANT_LAB_H

#include "support/files.h"
#include "unit/api/probe.h"

/* A byte set to 0, to 255, its lowest or highest bit flipped, or the file cut there. */
enum { LAB_NKINDS = 5 };
/* Two or four bytes set to the least or the most that an integer of either byte order may
 * be, with or without a sign. */
enum { LAB_NWORDS = 7 };

typedef struct mutant_lab {
    probe probe;
    hr_context *context;
    hr_store *store;
    int32_t device_type; /* that mutants are read into; as opened, the host */
    uint64_t nmutants, nerrors;
} mutant_lab;

void lab_open(mutant_lab *l, const test_files *files);
void lab_close(mutant_lab *l);

/* Open and read `node` with mutant number i of a file of the store: its byte
 * i / LAB_NKINDS changed, or all from there on away. The file stays as the last mutant
 * was. */
void lab_try(mutant_lab *l, const char *node, const test_file *f, size_t i);

/* The same of number i of LAB_NWORDS for each byte. */
void lab_try_word(mutant_lab *l, const char *node, const test_file *f, size_t i);

/* Without threads all work is done by the caller: its time is that of the mutant. */
void lab_allow_no_threads(void);

#endif
