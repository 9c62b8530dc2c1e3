/* headrace bench: how fast an array reads. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "cli.h"
#include "json.h"
#include "progress.h"
#include "reader.h"
#include "report.h"
#include "stages.h"
#include "text.h"

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static int run_reads(cli *c, cli_reader *reader, double *seconds) {
    int rc = CLI_OK;
    cli_progress progress;
    cli_progress_begin(&progress, c->args.quiet, "bench", c->args.repeats);
    for (uint32_t i = 0; rc == CLI_OK && i < c->args.repeats; i++) {
        reader->seconds = 0;
        rc = cli_reader_read(reader, &reader->selection, NULL);
        seconds[i] = reader->seconds;
        cli_progress_update(&progress, i + 1);
    }
    cli_progress_end(&progress);
    return rc;
}

static void print_json(const cli_reader *reader, const hr_batch_stats *stats,
                       const hr_stage_times *times, double median, double best) {
    json_object *object = json_object_new_object();
    double nbytes = (double)reader->read_nbytes;
    json_object_object_add(object, "seconds", json_object_new_double(median));
    json_object_object_add(object, "best_seconds", json_object_new_double(best));
    json_object_object_add(object, "gb_per_s",
                           json_object_new_double(nbytes / median * 1e-9));
    json_object_object_add(object, "nbytes", json_object_new_uint64(reader->read_nbytes));
    json_object_object_add(object, "encoded_nbytes",
                           json_object_new_uint64(stats->read_nbytes));
    json_object_object_add(object, "chunks", json_object_new_uint64(stats->nchunks));
    json_object_object_add(object, "missing",
                           json_object_new_uint64(stats->nchunks_missing));
    json_object_object_add(object, "direct_nbytes",
                           json_object_new_uint64(stats->direct_nbytes));
    json_object_object_add(object, "host_share_chunks",
                           json_object_new_uint64(stats->nchunks_host_share));
    json_object_object_add(object, "nvcomp_chunks",
                           json_object_new_uint64(stats->ndecoded_nvcomp));
    json_object_object_add(object, "whole_device_chunks",
                           json_object_new_uint64(stats->ndecoded_whole));
    json_object_object_add(object, "slabs", json_object_new_uint64(stats->nslabs));
    json_object_object_add(object, "copied_nbytes",
                           json_object_new_uint64(stats->copied_nbytes));
    json_object_object_add(object, "wait_seconds",
                           json_object_new_double((double)stats->wait_ns * 1e-9));
    json_object_object_add(object, "stages", cli_stages_json(times));
    cli_json_print(object);
}

static void print_text(const cli_reader *reader, const hr_batch_stats *stats,
                       const hr_stage_times *times, double median, double best,
                       const cli_args *args) {
    char size[24];
    double nbytes = (double)reader->read_nbytes;
    printf("time     %.3f ms (median of %" PRIu32 "; best %.3f ms)\n", median * 1e3,
           args->repeats, best * 1e3);
    printf("speed    %.2f GB/s\n", nbytes / median * 1e-9);
    printf("output   %s\n", cli_nbytes_text(reader->read_nbytes, size));
    printf("encoded  %s in %" PRIu64 " reads\n",
           cli_nbytes_text(stats->read_nbytes, size), stats->nreads);
    if (stats->direct_nbytes > 0 || args->io == HR_IO_DIRECT) {
        printf("direct   %s of them past the page cache\n",
               cli_nbytes_text(stats->direct_nbytes, size));
    }
    if (stats->nslabs > 0) {
        printf("copied   %s in %" PRIu64 " slabs, %.1f ms waited for their memory\n",
               cli_nbytes_text(stats->copied_nbytes, size), stats->nslabs,
               (double)stats->wait_ns * 1e-6);
    }
    printf("chunks   %" PRIu64 ", %" PRIu64 " of them missing\n", stats->nchunks,
           stats->nchunks_missing);
    if (stats->nchunks_host_share > 0) {
        printf("host     decoded %" PRIu64 " of them, to share the work\n",
               stats->nchunks_host_share);
    }
    if (stats->ndecoded_nvcomp > 0) {
        printf("nvCOMP   decoded streams of %" PRIu64 " of them\n",
               stats->ndecoded_nvcomp);
    }
    if (stats->ndecoded_whole > 0) {
        printf("whole    device for streams of %" PRIu64 " of them, a few at a time\n",
               stats->ndecoded_whole);
    }
    cli_stages_print("of", times);
}

static int run(cli *c) {
    cli_reader reader;
    int rc = cli_reader_open(c, &reader);
    uint32_t n = c->args.repeats;
    double *seconds = calloc(n, sizeof *seconds);
    if (rc == CLI_OK && seconds == NULL) {
        rc = cli_out_of_memory(n * sizeof *seconds);
    }
    if (rc == CLI_OK) {
        rc = run_reads(c, &reader, seconds);
    }
    hr_error err = HR_ERROR_INIT;
    hr_batch_stats stats = HR_BATCH_STATS_INIT;
    hr_stage_times times = HR_STAGE_TIMES_INIT;
    if (rc == CLI_OK && (hr_batch_get_stats(reader.batch, &stats, &err) != HR_OK ||
                         hr_batch_get_stages(reader.batch, &times, &err) != HR_OK)) {
        rc = cli_report(&err);
    }
    if (rc == CLI_OK) {
        qsort(seconds, n, sizeof *seconds, compare);
        double median = (seconds[(n - 1) / 2] + seconds[n / 2]) / 2;
        if (c->args.json) {
            print_json(&reader, &stats, &times, median, seconds[0]);
        } else {
            print_text(&reader, &stats, &times, median, seconds[0], &c->args);
        }
    }
    free(seconds);
    cli_reader_close(&reader);
    return rc;
}

const cli_command cli_bench = {
    .name = "bench",
    .summary = "measure how fast an array reads",
    .usage =
        "URL [-n N] [-s SELECTION] [--device cpu|cuda:N]\n"
        "     [--nvcomp[=LIBRARY]] [--host-share=N|auto] [--json]\n\n"
        "Reads the array N times and gives the median time. The speed counts the\n"
        "bytes that come out, in units of 10^9. Of the last read it tells the stages:\n"
        "the time of all threads together, and while a GPU was in each, with the share\n"
        "of what there was, and the one that sets the time.\n\n"
        "  -n, --repeats N         reads to do (default 5)\n"
        "  -s, --select SELECTION  as for 'headrace read'\n"
        "  --device DEVICE         cpu (default), cuda, cuda:N, or simt\n"
        "  --nvcomp[=LIBRARY]      let NVIDIA's nvCOMP decode LZ4 and Snappy on the GPU\n"
        "  --host-share=N          let the host decode N per cent of what a GPU could,\n"
        "                          or, with auto, as many as it helps, going by the\n"
        "                          reads before\n"
        "  --json                  print one JSON object\n\n",
    .takes = CLI_TAKES_REPEATS | CLI_TAKES_SELECTION | CLI_TAKES_DEVICE | CLI_TAKES_JSON |
             CLI_TAKES_HOST_SHARE,
    .min_positional = 1,
    .max_positional = 1,
    .run = run,
};
