/* What comes back of a slab. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "exec/run.h"
#include "exec/slab.h"
#include "exec/slab_flush.h"
#include "exec/slab_tables.h"

static const char *reason_of(uint64_t status) {
    switch (status >> 32) {
    case HR_K_TRUNCATED:
        return "ends within a sequence";
    case HR_K_BAD_OFFSET:
        return "refers to bytes before its output";
    case HR_K_TOO_LONG:
        return "makes more bytes than expected";
    case HR_K_TOO_SHORT:
        return "makes fewer bytes than expected";
    case HR_K_BAD_CODE:
        return "has malformed entropy-coded bits";
    case HR_K_NO_STRING:
        return "has a code of a string that it has not made";
    case HR_K_BAD_WRAPPER:
        return "has a wrong header or trailer, or bytes behind it";
    default:
        return "is malformed";
    }
}

static void report_no_value(hr__run *run, const hr__chunk *chunk, uint32_t item) {
    hr_error err = HR_ERROR_INIT;
    (void)hr__fail(&err, HR_ERR_DATA,
                   "item %" PRIu32 " has no value in the type of its filter", item);
    hr__error_add_codec(&err, chunk->object->array->chain.codecs[0].name);
    hr__run_report(run, chunk, &err);
}

static void report_padding(hr__run *run, const hr__chunk *chunk) {
    hr_error err = HR_ERROR_INIT;
    (void)hr__fail(&err, HR_ERR_DATA, "packed bits are not as many as the elements");
    hr__error_add_codec(&err, "packbits");
    hr__run_report(run, chunk, &err);
}

static void report_chunk(hr__run *run, const hr__chunk *chunk, uint64_t status) {
    const hr__chain *chain = &chunk->object->array->chain;
    hr_error err = HR_ERROR_INIT;
    if (status >> 32 == HR_K_BAD_PADDING) {
        report_padding(run, chunk);
        return;
    }
    if (status >> 32 == HR_K_NO_VALUE) {
        report_no_value(run, chunk, (uint32_t)status);
        return;
    }
    if (status >> 32 == HR__STATUS_NVCOMP) {
        hr__slab_nvcomp_report(run, chunk, (uint32_t)status);
        return;
    }
    if (status >> 32 == HR_K_BAD_CHECKSUM) {
        (void)hr__fail(&err, HR_ERR_CHECKSUM,
                       "checksum of what a stream makes does not match, near its byte "
                       "%" PRIu32,
                       (uint32_t)status);
    } else {
        (void)hr__fail(&err, HR_ERR_DATA, "compressed stream %s, near its byte %" PRIu32,
                       reason_of(status), (uint32_t)status);
    }
    hr__error_add_codec(&err, chain->codecs[chain->ncodecs - 1].name);
    hr__run_report(run, chunk, &err);
}

/* The statuses lie at the end of the tables: the last thing placed there. */
void hr__slab_landed(void *user, hr__ring_slot *slot, const hr_error *err) {
    hr__slab *slab = user;
    hr__run *run = slab->run;
    const hr__slab_chunk *chunks = slot->vecs[HR__SLAB_CHUNKS].items;
    if (err == NULL && slab->is_sent) {
        hr__stages_landed(run, slab->ring, slot, slab->is_led);
    }
    if (err != NULL) {
        hr__run_fail_ring(run, slab->ring, err);
    } else if (slot->vecs[HR__SLAB_CHUNKS].n > 0) {
        hr__slab_nvcomp_landed(slab, slot->tables.pinned + slab->status_at);
    }
    for (size_t i = 0; err == NULL && i < slot->vecs[HR__SLAB_CHUNKS].n; i++) {
        uint64_t status;
        memcpy(&status, slot->tables.pinned + slab->status_at + i * sizeof status,
               sizeof status);
        if (status == HR_K_BY_WHOLE) {
            atomic_fetch_add(&run->ndecoded_whole, 1);
        } else if (status != 0) {
            report_chunk(run, chunks[i].chunk, status);
        }
    }
}
