/* How a batch of LZ streams is decoded best. SPDX-License-Identifier: Apache-2.0
 *
 * Pure. The thresholds are measured ones: bench/NOTES.md. */
#ifndef HR_DEVICE_LZ_REGIME_H
#define HR_DEVICE_LZ_REGIME_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/kernel_abi.h"

typedef struct hr__lz_machine {
    uint32_t nmultiprocessors;
    uint32_t block_shared_nbytes;
} hr__lz_machine;

/* The team for these streams, whatever the LZ codec. is_shuffled: of byte- or
 * bit-shuffled data. */
uint32_t hr__lz_choose_team(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                            const hr__lz_machine *machine);

/* Are these LZ4 streams so few, and so large, that the whole device should share them? */
bool hr__lz_is_for_whole(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                         const hr__lz_machine *machine);
/* Bytes of scratch for that. */
uint64_t hr__lz_whole_room(const hr_k_task *task);
/* The launch of HR__KERNEL_LZ4_WHOLE for tasks that `decode` has on the device. */
hr_k_whole hr__lz_whole(const hr_k_decode *decode, const hr_k_task *tasks);

/* The same for Snappy, whose long runs are copies of 64 bytes, each of the one before: a
 * long way to follow, whatever the data. */
uint32_t hr__snappy_choose_team(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                                const hr__lz_machine *machine);

/* The same for Deflate, which has teams of its own. */
uint32_t hr__zstd_choose_team(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                              const hr__lz_machine *machine);
uint32_t hr__deflate_choose_team(const hr_k_task *tasks, uint32_t ntasks,
                                 bool is_shuffled, const hr__lz_machine *machine);

/* The same for LZW and PackBits, to whom shuffled data are as any. */
uint32_t hr__lzw_choose_team(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                             const hr__lz_machine *machine);
uint32_t hr__packbits_choose_team(const hr_k_task *tasks, uint32_t ntasks,
                                  bool is_shuffled, const hr__lz_machine *machine);

/* The longest work first, so that none of it is left alone at the end. */
void hr__lz_sort_tasks(hr_k_task *tasks, uint32_t ntasks);

#endif
