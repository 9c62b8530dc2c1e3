/* Random stores and what they should give. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_KERN_STORE_CASE_H
#define HR_KERN_STORE_CASE_H

#include "device/kstore.h"
#include "kern/scatter_case.h"

typedef struct store_case {
    scatter_case loops; /* src side: in the unshuffled chunk */
    hr_k_store store;   /* all but addresses */
    hr_dtype from, to;
    bool has_arithmetic; /* then any NaN is as good as another */
    uint64_t chunk_offset;
    uint64_t chunk_nbytes;
    uint8_t *plain, *shuffled; /* the chunk */
} store_case;

/* `lists` has room for MOST_LIST_ENTRIES. */
void store_case_make(store_case *c, int64_t *lists, uint64_t *random);
void store_case_free(store_case *c);
void store_case_print(const store_case *c);

/* Shuffle the n bytes of a chunk by the definition; the host's unshuffle agrees, or the
 * program ends. */
void store_shuffle(const hr_k_store *s, const uint8_t *plain, uint8_t *shuffled,
                   uint64_t n);

/* One item through the steps of the store, as the host's codecs do it. */
void store_item(const store_case *c, const uint8_t *item, uint8_t *out);
/* Everything: plain to dst. */
void store_case_reference(const store_case *c, uint8_t *dst);
/* Make NaNs of `want` those of `got` where there is one too. */
void store_case_forgive(const store_case *c, uint8_t *want, const uint8_t *got);

#endif
