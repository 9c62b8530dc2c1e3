/* Small arrays of every kind, for the soak. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_BENCH_SOAK_ARRAYS_H
#define HR_BENCH_SOAK_ARRAYS_H

#include <stdbool.h>
#include <stdint.h>

enum { SOAK_NCHUNKS = 96, SOAK_CHUNK = 2048, SOAK_NARRAYS = 5 };
#define SOAK_LENGTH (SOAK_NCHUNKS * SOAK_CHUNK)

extern const char *const soak_names[SOAK_NARRAYS];

/* Writes uint16 arrays [SOAK_LENGTH] into a folder, which exists. False: errno says why.
 */
bool soak_write(const char *folder);
/* What element i of array k reads as. */
uint16_t soak_element(int k, int64_t i);
/* Is chunk c of array k damaged? */
bool soak_is_damaged(int k, int64_t c);

#endif
