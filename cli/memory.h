/* Memory that arrays are read into. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include <stdint.h>

#include <headrace/types.h>

/* Set `device`, the rest to 0; then reserve. */
typedef struct cli_memory {
    hr_device device;
    void *data; /* an address on the device */
    uint64_t nbytes;
    struct cli_cuda *cuda; /* the driver, once it was needed */
} cli_memory;

/* Have at least nbytes at `data`; the contents are lost. Returns an exit code, having
 * said what is wrong. */
int cli_memory_reserve(cli_memory *memory, uint64_t nbytes);
/* Copy the first nbytes to the host. */
int cli_memory_download(const cli_memory *memory, void *host, uint64_t nbytes);
void cli_memory_free(cli_memory *memory);

#endif
