/* What the reads of a context took, for those to come. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_HISTORY_H
#define HR_EXEC_HISTORY_H

#include <headrace/read.h>

#include "core/lock.h"
#include "device/device.h"
#include "exec/source.h"
#include "plan/host_share.h"

struct hr__run;

/* Which chunks, and where they went. */
typedef struct hr__history_key {
    uint64_t alike; /* of their array's source */
    hr_device device;
} hr__history_key;

static inline bool hr__history_key_equal(hr__history_key a, hr__history_key b) {
    return a.alike == b.alike && hr__device_equal(a.device, b.device);
}

/* Equal where codecs, with their configuration, and items are equal, and chunks about as
 * large. */
uint64_t hr__history_alike(const hr__array *array, const char *codecs_json);

/* All batches of a key together; the last ones count most. */
typedef struct hr__past {
    hr__history_key key;
    uint64_t decoded_nbytes, host_nbytes; /* all, and what the host decoded */
    uint64_t copied_nbytes;
    uint64_t ns[HR_NSTAGES];
    /* The least of any batch: of kernels in all, and for each byte that they decoded. */
    double kernels_ns, kernels_rate;
} hr__past;

#define HR__HISTORY_SIZE 32

typedef struct hr__history {
    hr__lock lock;
    uint32_t n, next; /* entries, and the one to be forgotten when all are taken */
    hr__past entries[HR__HISTORY_SIZE];
} hr__history;

void hr__history_init(hr__history *history);
void hr__history_destroy(hr__history *history);
/* Add a run whose times are final. Where it has several keys, failed in part, or
 * delivered chunks that were kept decoded, it cannot be told what took its time: nothing
 * is learned. */
void hr__history_learn(hr__history *history, const struct hr__run *run);
/* Add to ns what nbytes of decoded chunks would take. False: nothing is known of them. */
bool hr__history_foretell(hr__history *history, hr__history_key key, uint64_t nbytes,
                          uint64_t ns[HR_NSTAGES]);

/* What a decoded chunk of nbytes costs, for a device; `decode` is −1 where the host has
 * decoded none. False: the device has decoded none. */
bool hr__history_costs(hr__history *history, hr__history_key key, double nbytes,
                       hr__host_share_costs *costs);

#endif
