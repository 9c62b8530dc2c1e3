/* What a context holds. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_EXEC_CONTEXT_H
#define HR_EXEC_CONTEXT_H

#include <stdatomic.h>

#include "codec/custom.h"
#include "core/alloc.h"
#include "core/log.h"
#include "core/pool.h"
#include "core/recycler.h"
#include "device/nvcomp.h"
#include "exec/history.h"
#include "exec/index.h"
#include "exec/ring.h"

struct hr_context {
    atomic_uint refs;
    hr_allocator allocator;
    hr_device_allocator device_allocator;
    hr__recycler records; /* of that allocator, for what each chunk or object needs */
    hr__log log;
    hr_io_mode io;
    uint32_t nthreads;
    uint64_t scratch_nbytes;
    uint64_t metadata_max_nbytes;
    atomic_uint_fast64_t next_source_id;
    hr__pool *pool;
    hr__cache *indexes;
    hr__cache *encoded, *decoded; /* chunks; NULL where none are kept */
    hr__ring_set rings;           /* one per device used so far */
    hr__history history;
    hr__custom_codecs codecs; /* the caller's */
    hr__nvcomp nvcomp;        /* open only where the user asked for it */
};

#endif
