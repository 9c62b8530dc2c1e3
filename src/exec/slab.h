/* Slabs: chunks on their way to a device, many in one copy. SPDX-License-Identifier: Apache-2.0
 *
 * A slab collects chunks in a slot of the ring: encoded ones as they were read, with the
 * leaves that kernels shall decode, or ones that the host decoded. When it is full it is
 * flushed: one copy of all bytes, one of the tables, one launch per kind of leaf, one for
 * the stores; or only copied, and one of them takes over what a few have for its
 * launches. Several slabs are on their way at any time. */
#ifndef HR_EXEC_SLAB_H
#define HR_EXEC_SLAB_H

#include "codec/leaves.h"
#include "exec/ring.h"
#include "exec/scatter.h"
#include "exec/slab_nvcomp.h"
#include "plan/plan.h"

struct hr__run;

typedef struct hr__slab {
    struct hr__slab *next; /* among the run's open ones, or gathered ones; guarded, as the
                              two below, by its lock */
    uint32_t nusers;       /* threads that fill it */
    bool is_closed;        /* to be flushed by the last of them */
    struct hr__run *run;
    hr__ring *ring;
    hr__ring_slot *slot;
    pthread_mutex_t lock; /* guards all that follows until it is flushed */
    hr__need promised;    /* to its users, of what is left */
    uint64_t used;        /* bytes of the payload that are copied up */
    uint64_t elsewhere;   /* encoded bytes of chunks that are on the device already */
    uint64_t scratch;     /* bytes of the device side behind the payload, spoken for */
    uint64_t status_at;   /* of the chunks' status words in the tables, once flushed */
    bool is_shuffled;     /* some of its chunks, once decoded */
    bool is_sent;         /* all was queued */
    bool is_led;          /* … what it had by another slab */
    bool shares;          /* it has what the ring's slots share */
    hr__slab_nvcomp nvcomp;
} hr__slab;

/* A thread's part of a slab. */
typedef struct hr__slab_part {
    hr__slab *slab;
    uint64_t offset; /* of its bytes in the payload */
    hr__need promised;
} hr__slab_part;

/* Room for `need` in an open slab of the run, or a new one, `nbytes` of its payload
 * reserved. Other threads may use the slab at the same time: what adds to it is between
 * lock and unlock. The part is to be closed before another is opened. */
hr_status hr__slab_open(struct hr__run *run, hr__ring *ring, hr__need need,
                        uint64_t nbytes, hr__slab_part *out, hr_error *err);
/* Leave the slab open for others, or have it flushed where it is full or others starve.
 */
void hr__slab_close(const hr__slab_part *part);
static inline void hr__slab_lock(hr__slab *slab) {
    (void)pthread_mutex_lock(&slab->lock);
}
static inline void hr__slab_unlock(hr__slab *slab) {
    (void)pthread_mutex_unlock(&slab->lock);
}
/* Flush what a run has open. */
void hr__slab_flush_all(struct hr__run *run);

/* Room in the payload, aligned to 16 bytes; within what was asked for at open. Locked,
 * like all that follows. */
uint8_t *hr__slab_reserve(hr__slab *slab, uint64_t nbytes, uint64_t *offset);
/* The same on the device, behind the payload. */
hr__devptr hr__slab_reserve_scratch(hr__slab *slab, uint64_t nbytes);
/* Bytes to ask for, for one reservation of nbytes. */
#define HR__SLAB_ALIGNMENT 16
static inline uint64_t hr__slab_aligned(uint64_t n) {
    return (n + HR__SLAB_ALIGNMENT - 1) / HR__SLAB_ALIGNMENT * HR__SLAB_ALIGNMENT;
}
static inline uint64_t hr__slab_room(uint64_t nbytes) {
    return nbytes + HR__SLAB_ALIGNMENT;
}
/* Payload that the index lists of a chunk's uses on this ring take. */
uint64_t hr__slab_lists_room(const struct hr__run *run, const hr__ring *ring,
                             const hr__chunk *chunk);

/* Add a chunk whose encoded bytes will be, or are, at `src` of the device, as these
 * leaves. */
hr_status hr__slab_add_leaves(hr__slab *slab, const hr__chunk *chunk,
                              const hr__kernel_chain *kernels, const hr__leaves *leaves,
                              hr__devptr src, hr_error *err);
/* Scratch that it may take, but for what the leaves say they need. */
uint64_t hr__slab_scratch_need(const hr__kernel_chain *kernels);
/* Is there scratch for these leaves? What is asked for at open is only a guess of theirs.
 */
bool hr__slab_fits(const hr__slab_part *part, const hr__kernel_chain *kernels,
                   const hr__leaves *leaves);
/* About the most that the leaves of any such chunk would have it take in all. */
uint64_t hr__slab_most_need(const hr__kernel_chain *kernels);
/* How much scratch an added chunk may take in all; UINT64_MAX: more than there can be. */
uint64_t hr__slab_whole_need(const hr__kernel_chain *kernels, const hr__leaves *leaves);
/* Add a chunk whose decoded bytes begin at `offset` of the payload. */
hr_status hr__slab_add_decoded(hr__slab *slab, const hr__chunk *chunk, uint64_t offset,
                               uint64_t nbytes, hr_error *err);
/* Add a missing chunk, whose fill value begins at `offset` of the payload. */
hr_status hr__slab_add_fill(hr__slab *slab, const hr__chunk *chunk, uint64_t offset,
                            hr_error *err);

#endif
