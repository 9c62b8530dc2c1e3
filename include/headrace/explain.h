/* Explaining a read before it is done. SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADRACE_EXPLAIN_H
#define HEADRACE_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/read.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_explanation hr_explanation;

/* Plan the requests as hr_read_submit would, and say what the read would do. Nothing is
 * read, no device is opened, and dst.data is not looked at (it may be NULL), so a read on
 * a device that this machine lacks can be explained, too.
 *
 * Told is what the metadata says. A chunk may turn out to be absent, or have a header
 * that no kernel decodes; in a batch for several devices a chunk of a shard or file may
 * be decoded on the host because it is read in one go with another one's.
 *
 * Caller owns *out. Errors: those of hr_read_submit for ill-formed requests, and
 * HR_ERR_UNSUPPORTED for a kind of device that this build lacks. Any thread. */
HR_API HR_NODISCARD hr_status hr_plan_explain(hr_context *context,
                                              const hr_request *requests, size_t n,
                                              hr_explanation **out, hr_error *err);
/* Release; NULL is accepted. */
HR_API void hr_explanation_free(hr_explanation *explanation);

typedef struct hr_plan_totals {
    uint32_t struct_size;
    uint64_t nrequests;
    uint64_t nchunks;        /* distinct innermost chunks needed */
    uint64_t nuses;          /* of chunks by requests */
    uint64_t nobjects;       /* store keys that the chunks lie in */
    uint64_t nreads;         /* byte ranges; HR_UNKNOWN with shards and inside files */
    uint64_t read_nbytes;    /* encoded, if no chunk is absent, without the indexes of
                                shards; HR_UNKNOWN where some are compressed */
    uint64_t decoded_nbytes; /* out of the last codec, before cropping */
    uint64_t output_nbytes;  /* elements of the destinations */
    uint64_t nchunks_device; /* decoded on a device; on several: for each */
    uint64_t nchunks_strict; /* that a strict read refuses, since the host decodes them */
    uint64_t nchains;
    uint64_t nwaves; /* how often, at most, the staging memory of a device is filled: with
                        more than one, work waits for memory that earlier work holds */
    uint64_t nchunks_host_share; /* of nchunks_device, those that HR_HOST_SHARE_MEASURED
                               would have the host decode */
} hr_plan_totals;

#define HR_PLAN_TOTALS_INIT HR_INIT(hr_plan_totals)

HR_API HR_NODISCARD hr_status hr_explanation_totals(const hr_explanation *explanation,
                                                    hr_plan_totals *totals,
                                                    hr_error *err);

/* One codec of a chain. */
typedef struct hr_planned_codec {
    const char *name;           /* as the metadata has it */
    const char *implementation; /* library as of hr_codec_list, kernels, "nvCOMP", or
                                   "nothing to do" */
    hr_device device;           /* where it runs */
} hr_planned_codec;

/* Does the context's memory for a device suffice? */
typedef enum hr_scratch {
    HR_SCRATCH_SUFFICES = 0,
    HR_SCRATCH_MAY_LACK = 1, /* it depends on the chunks: without, the host decodes them,
                                or strict refuses them */
    HR_SCRATCH_LACKS = 2     /* the read fails: HR_ERR_MEMORY */
} hr_scratch;

/* Chunks that go the same way. One that several devices, or one and the host, want is
 * decoded on each, and in a row for each. */
typedef struct hr_planned_chain {
    uint32_t struct_size;
    hr_device device;     /* of the destinations; type 0: several, for which the host
                             decodes */
    int32_t is_on_device; /* 1: decoded there */
    int32_t is_refused;   /* 1: by a strict read */
    const char *reason;   /* why the host decodes them, in the words of a strict read;
                             NULL where it need not be said */
    uint64_t nchunks;
    uint64_t read_nbytes, decoded_nbytes; /* as in hr_plan_totals */
    const hr_planned_codec *codecs; /* in the metadata's order, without transposes and
                                       sharding, which only say where things lie */
    uint64_t ncodecs;
    int32_t scratch; /* hr_scratch, of the chunk that needs most */
} hr_planned_chain;

#define HR_PLANNED_CHAIN_INIT HR_INIT(hr_planned_chain)

/* The i-th of totals.nchains, in order of first use. What it points to lives as long as
 * the explanation. HR_ERR_ARGUMENT past the end. Any thread. */
HR_API HR_NODISCARD hr_status hr_explanation_chain(const hr_explanation *explanation,
                                                   size_t i, hr_planned_chain *chain,
                                                   hr_error *err);

/* What the stages would take, going by what the context's finished batches took for
 * chunks with the same codecs (and their configuration) and type of about the same size,
 * on the same device. HR_UNKNOWN for all but planning where there was no such batch, of
 * such chunks alone, for some of the chunks. Supposed is that as much of each chunk is
 * wanted as then. wall_ns is that of the busiest, as if all
 * else were hidden behind it: the read takes longer. Any thread. */
HR_API HR_NODISCARD hr_status hr_explanation_stages(const hr_explanation *explanation,
                                                    hr_stage_times *times, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
