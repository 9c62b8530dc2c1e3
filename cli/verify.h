/* Decoding every chunk of an array. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include <headrace/headrace.h>

/* Errors and missing keys that are kept; beyond them the counts still grow. */
enum { CLI_BAD_MAX = 1000, CLI_MISSING_MAX = 10000 };

typedef struct cli_verdict {
    uint64_t nchunks;
    uint64_t nbad;
    uint64_t nmissing;
    hr_error *bad; /* one per key and message, nbad_kept of them */
    uint64_t nbad_kept;
    char **missing; /* keys, nmissing_kept of them */
    uint64_t nmissing_kept;
} cli_verdict;

/* Decode all chunks of `array`, a bounded number at a time. Returns an exit code that is
 * not 0 when the work itself failed, having said why; free the verdict in any case. */
int cli_verify_array(hr_context *context, hr_node *array, bool quiet, cli_verdict *out);
void cli_verdict_free(cli_verdict *verdict);

#endif
