/* Reading a selection of an array piece by piece. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_READER_H
#define CLI_READER_H

#include "cli.h"
#include "memory.h"
#include "packing.h"
#include "progress.h"
#include "select.h"

typedef struct cli_reader {
    hr_context *context; /* borrowed */
    hr_node *array;
    hr_node_info info;
    cli_selection selection; /* -s */
    cli_packing packing;     /* what happens to the elements */
    hr_dtype dtype;          /* of what is read, little-endian */
    uint64_t nelems;         /* of the selection */
    bool strict;
    int32_t host_share;
    cli_memory memory;    /* where pieces are read to, on --device */
    cli_memory host;      /* their copy, when the device is a GPU */
    hr_batch *batch;      /* of the piece read last */
    uint64_t read_nbytes; /* its size */
    double seconds;       /* spent reading */
} cli_reader;

/* Make the context, open the array, parse -s. Returns an exit code, having said what is
 * wrong. Close it also after a failure. */
int cli_reader_open(cli *c, cli_reader *reader);
void cli_reader_close(cli_reader *reader);

/* A piece of the array for the device, without memory yet; it borrows all arguments. */
hr_request cli_reader_request(const cli_reader *reader, const cli_selection *piece,
                              hr_axis axes[HR_MAX_NDIM], int64_t shape[HR_MAX_NDIM]);

/* Read one piece to reader->memory. Elements of variable length stay valid until the
 * next piece. A progress, which may be NULL, moves by the bytes decoded. */
int cli_reader_read(cli_reader *reader, const cli_selection *piece,
                    cli_progress *progress);
/* The same, and bring it to the host. */
int cli_reader_load(cli_reader *reader, const cli_selection *piece,
                    cli_progress *progress, const void **data);

/* Elements of a piece. */
uint64_t cli_piece_nelems(const cli_selection *piece);

#endif
