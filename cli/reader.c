/* Reading a selection piece by piece. SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include "layout.h"
#include "report.h"

static int report_selection(const char *text, const cli_select_error *error) {
    cli_error("selection: %s", error->message);
    fputs("  ", stderr);
    cli_put_text(stderr, text);
    fprintf(stderr, "\n  %*s (column %zu)\n", (int)error->column, "^", error->column);
    return CLI_USAGE;
}

static int parse_selection(cli_reader *reader, const char *text) {
    cli_selection *selection = &reader->selection;
    cli_select_error error;
    if (!cli_select_parse(text, reader->info.ndim, reader->info.shape, selection,
                          &error)) {
        return report_selection(text == NULL ? "" : text, &error);
    }
    double nbytes = (double)reader->dtype.itemsize;
    for (int32_t k = 0; k < selection->ndim; k++) {
        nbytes *= (double)selection->axes[k].count;
    }
    if (nbytes > (double)INT64_MAX / 2) {
        return cli_usage_error("the selection is %.3g bytes, more than can be addressed",
                               nbytes);
    }
    reader->nelems = cli_piece_nelems(selection);
    return CLI_OK;
}

int cli_reader_open(cli *c, cli_reader *reader) {
    *reader = (cli_reader){.info = HR_NODE_INFO_INIT,
                           .strict = c->args.strict,
                           .host_share = c->args.host_share,
                           .memory = {.device = c->args.device}};
    int rc = cli_open_array(c, &reader->array, &reader->info);
    if (rc != CLI_OK) {
        return rc;
    }
    reader->context = c->context;
    rc = cli_packing_read(&c->args, &reader->info, &reader->packing);
    if (rc != CLI_OK) {
        return rc;
    }
    const cli_packing *packing = &reader->packing;
    const hr_dtype *dtype =
        packing->is_cast || packing->is_packed ? &packing->dtype : &reader->info.dtype;
    if (!cli_layout_little(dtype, &reader->dtype)) {
        return cli_out_of_memory(sizeof(hr_field) * reader->info.dtype.nfields);
    }
    if (cli_is_vlen(&reader->dtype) && c->args.device.type == HR_DEVICE_CUDA) {
        return cli_usage_error("elements of variable length are read on the host only");
    }
    return parse_selection(reader, c->args.selection);
}

void cli_reader_close(cli_reader *reader) {
    hr_batch_unref(reader->batch);
    cli_memory_free(&reader->memory);
    cli_memory_free(&reader->host);
    cli_layout_free(&reader->dtype);
    cli_select_free(&reader->selection);
    hr_node_unref(reader->array);
}

uint64_t cli_piece_nelems(const cli_selection *piece) {
    uint64_t n = 1;
    for (int32_t k = 0; k < piece->ndim; k++) {
        n *= (uint64_t)piece->axes[k].count;
    }
    return n;
}

/* Wait for the batch; where there is a bar, look at the bytes decoded now and then. */
static hr_status wait_for(hr_batch *batch, cli_progress *progress, hr_error *err) {
    const int64_t tenth_ns = 100000000;
    int64_t timeout_ns = progress == NULL ? -1 : tenth_ns;
    hr_status status = hr_batch_wait(batch, timeout_ns, err);
    while (status == HR_ERR_TIMEOUT) {
        hr_batch_stats stats = HR_BATCH_STATS_INIT;
        if (hr_batch_get_stats(batch, &stats, NULL) == HR_OK) {
            cli_progress_update(progress, stats.decoded_nbytes);
        }
        status = hr_batch_wait(batch, timeout_ns, err);
    }
    return status;
}

hr_request cli_reader_request(const cli_reader *reader, const cli_selection *piece,
                              hr_axis axes[HR_MAX_NDIM], int64_t shape[HR_MAX_NDIM]) {
    hr_request request = HR_REQUEST_INIT;
    request.array = reader->array;
    request.selection = cli_select_request(piece, axes);
    request.dst = (hr_tensor){.device = reader->memory.device,
                              .dtype = reader->dtype,
                              .ndim = cli_select_shape(piece, shape),
                              .shape = shape};
    request.allow_cast = reader->packing.is_cast;
    request.packing = reader->packing.is_packed ? &reader->packing.packing : NULL;
    return request;
}

int cli_reader_read(cli_reader *reader, const cli_selection *piece,
                    cli_progress *progress) {
    hr_batch_unref(reader->batch);
    reader->batch = NULL;
    reader->read_nbytes = cli_piece_nelems(piece) * reader->dtype.itemsize;
    int rc = cli_memory_reserve(&reader->memory, reader->read_nbytes);
    if (rc != CLI_OK) {
        return rc;
    }
    hr_axis axes[HR_MAX_NDIM];
    int64_t shape[HR_MAX_NDIM];
    hr_request request = cli_reader_request(reader, piece, axes, shape);
    request.dst.data = reader->memory.data;
    hr_read_options options = HR_READ_OPTIONS_INIT;
    options.strict = reader->strict;
    options.host_share = reader->host_share;
    hr_error err = HR_ERROR_INIT;
    double started = cli_seconds();
    hr_status status = hr_read_submit(reader->context, &request, 1, NULL, &options,
                                      &reader->batch, &err);
    if (status == HR_OK) {
        status = wait_for(reader->batch, progress, &err);
    }
    reader->seconds += cli_seconds() - started;
    return status == HR_OK ? CLI_OK : cli_report(&err);
}

int cli_reader_load(cli_reader *reader, const cli_selection *piece,
                    cli_progress *progress, const void **data) {
    int rc = cli_reader_read(reader, piece, progress);
    if (rc != CLI_OK || reader->memory.device.type != HR_DEVICE_CUDA) {
        *data = reader->memory.data;
        return rc;
    }
    rc = cli_memory_reserve(&reader->host, reader->read_nbytes);
    if (rc == CLI_OK) {
        rc = cli_memory_download(&reader->memory, reader->host.data, reader->read_nbytes);
    }
    *data = reader->host.data;
    return rc;
}
