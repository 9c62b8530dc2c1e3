/* headrace explain: what a read would do. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli.h"
#include "json.h"
#include "pieces.h"
#include "reader.h"
#include "report.h"
#include "stages.h"
#include "text.h"

/* "cuda:1". Returns `text`. */
static const char *device_text(hr_device device, char text[24]) {
    const char *name = device.type == HR_DEVICE_CUDA   ? "cuda:"
                       : device.type == HR_DEVICE_SIMT ? "simt"
                                                       : "cpu";
    (void)snprintf(text, 24, device.type == HR_DEVICE_CUDA ? "%s%" PRId32 : "%s", name,
                   device.index);
    return text;
}

static json_object *count_json(uint64_t n) {
    return n == HR_UNKNOWN ? NULL : json_object_new_uint64(n);
}

static const char *const scratch_names[] = {[HR_SCRATCH_SUFFICES] = "suffices",
                                            [HR_SCRATCH_MAY_LACK] = "may lack",
                                            [HR_SCRATCH_LACKS] = "lacks"};

static json_object *chain_json(const hr_planned_chain *chain) {
    char text[24];
    json_object *object = json_object_new_object();
    json_object *codecs = json_object_new_array();
    json_object_object_add(object, "device",
                           json_object_new_string(device_text(chain->device, text)));
    json_object_object_add(object, "chunks", json_object_new_uint64(chain->nchunks));
    json_object_object_add(object, "read_nbytes", count_json(chain->read_nbytes));
    json_object_object_add(object, "decoded_nbytes", count_json(chain->decoded_nbytes));
    json_object_object_add(object, "on_device",
                           json_object_new_boolean(chain->is_on_device != 0));
    json_object_object_add(object, "strict_refuses",
                           json_object_new_boolean(chain->is_refused != 0));
    json_object_object_add(object, "reason", cli_json_text(chain->reason));
    json_object_object_add(object, "scratch",
                           json_object_new_string(scratch_names[chain->scratch]));
    for (uint64_t i = 0; i < chain->ncodecs; i++) {
        const hr_planned_codec *codec = &chain->codecs[i];
        json_object *entry = json_object_new_object();
        json_object_object_add(entry, "name", cli_json_text(codec->name));
        json_object_object_add(entry, "device",
                               json_object_new_string(device_text(codec->device, text)));
        json_object_object_add(entry, "implementation",
                               cli_json_text(codec->implementation));
        json_object_array_add(codecs, entry);
    }
    json_object_object_add(object, "codecs", codecs);
    return object;
}

static void print_json(const hr_plan_totals *t, const hr_explanation *explanation,
                       const hr_stage_times *times) {
    json_object *object = json_object_new_object();
    json_object *chains = json_object_new_array();
    json_object_object_add(object, "requests", json_object_new_uint64(t->nrequests));
    json_object_object_add(object, "chunks", json_object_new_uint64(t->nchunks));
    json_object_object_add(object, "uses", json_object_new_uint64(t->nuses));
    json_object_object_add(object, "objects", json_object_new_uint64(t->nobjects));
    json_object_object_add(object, "reads", count_json(t->nreads));
    json_object_object_add(object, "read_nbytes", count_json(t->read_nbytes));
    json_object_object_add(object, "decoded_nbytes", count_json(t->decoded_nbytes));
    json_object_object_add(object, "nbytes", count_json(t->output_nbytes));
    json_object_object_add(object, "chunks_device",
                           json_object_new_uint64(t->nchunks_device));
    json_object_object_add(object, "strict_refuses",
                           json_object_new_uint64(t->nchunks_strict));
    for (size_t i = 0; i < t->nchains; i++) {
        hr_planned_chain chain = HR_PLANNED_CHAIN_INIT;
        if (hr_explanation_chain(explanation, i, &chain, NULL) == HR_OK) {
            json_object_array_add(chains, chain_json(&chain));
        }
    }
    json_object_object_add(object, "chains", chains);
    json_object_object_add(object, "waves", count_json(t->nwaves));
    json_object_object_add(object, "host_share_chunks",
                           json_object_new_uint64(t->nchunks_host_share));
    json_object_object_add(object, "stages", cli_stages_json(times));
    cli_json_print(object);
}

static const char *count_text(uint64_t nbytes, char text[24]) {
    return nbytes == HR_UNKNOWN ? "unknown before reading"
                                : cli_nbytes_text(nbytes, text);
}

static void print_chain(const hr_planned_chain *chain) {
    char text[24];
    printf("\n%" PRIu64 " chunk%s to %s, %s\n", chain->nchunks,
           cli_plural(chain->nchunks), device_text(chain->device, text),
           chain->is_on_device ? "decoded there" : "decoded on the host");
    if (chain->reason != NULL) {
        printf("  because ");
        cli_put_text(stdout, chain->reason);
        puts("");
    }
    if (chain->scratch != HR_SCRATCH_SUFFICES) {
        puts(chain->scratch == HR_SCRATCH_LACKS
                 ? "  too large for the context's staging memory: the read would fail"
                 : "  on the host where a chunk's own needs exceed the device scratch");
    }
    for (uint64_t i = 0; i < chain->ncodecs; i++) {
        const hr_planned_codec *codec = &chain->codecs[i];
        printf("  %-8s ", device_text(codec->device, text));
        cli_put_text(stdout, codec->name);
        printf(": %s\n", codec->implementation);
    }
}

static void print_text(const hr_plan_totals *t, const hr_explanation *explanation,
                       const hr_stage_times *times) {
    char text[24];
    printf("chunks   %" PRIu64 " in %" PRIu64 " store key%s, used %" PRIu64 " time%s\n",
           t->nchunks, t->nobjects, cli_plural(t->nobjects), t->nuses,
           cli_plural(t->nuses));
    printf("encoded  %s", count_text(t->read_nbytes, text));
    if (t->nreads != HR_UNKNOWN) {
        printf(", in %" PRIu64 " read%s", t->nreads, cli_plural(t->nreads));
    }
    printf("\ndecoded  %s\n", count_text(t->decoded_nbytes, text));
    printf("output   %s\n", count_text(t->output_nbytes, text));
    if (t->nchunks_strict > 0) {
        printf("strict   would refuse %" PRIu64 " chunk%s\n", t->nchunks_strict,
               cli_plural(t->nchunks_strict));
    }
    if (t->nwaves > 0 && t->nwaves != HR_UNKNOWN) {
        printf("staging  filled %" PRIu64 " time%s at most\n", t->nwaves,
               cli_plural(t->nwaves));
    }
    if (t->nchunks_host_share > 0) {
        printf("host     would decode %" PRIu64 " chunk%s with --host-share=auto\n",
               t->nchunks_host_share, cli_plural(t->nchunks_host_share));
    }
    if (times->wall_ns == HR_UNKNOWN) {
        puts("stages   not known yet: --measure reads some of it first");
    } else {
        cli_stages_print("at least", times);
    }
    for (size_t i = 0; i < t->nchains; i++) {
        hr_planned_chain chain = HR_PLANNED_CHAIN_INIT;
        if (hr_explanation_chain(explanation, i, &chain, NULL) == HR_OK) {
            print_chain(&chain);
        }
    }
}

static int explain(cli *c, const cli_reader *reader) {
    hr_axis axes[HR_MAX_NDIM];
    int64_t shape[HR_MAX_NDIM];
    const hr_request request =
        cli_reader_request(reader, &reader->selection, axes, shape);
    hr_explanation *explanation = NULL;
    hr_plan_totals totals = HR_PLAN_TOTALS_INIT;
    hr_error err = HR_ERROR_INIT;
    hr_status status = hr_plan_explain(c->context, &request, 1, &explanation, &err);
    if (status == HR_OK) {
        status = hr_explanation_totals(explanation, &totals, &err);
    }
    hr_stage_times times = HR_STAGE_TIMES_INIT;
    if (status == HR_OK) {
        status = hr_explanation_stages(explanation, &times, &err);
    }
    if (status == HR_OK && c->args.json) {
        print_json(&totals, explanation, &times);
    } else if (status == HR_OK) {
        print_text(&totals, explanation, &times);
    }
    hr_explanation_free(explanation);
    return status == HR_OK ? CLI_OK : cli_report(&err);
}

/* So much is read, more than once: what the first read alone does, memory and caches, is
 * then the smaller part. */
#define SAMPLE_NBYTES (UINT64_C(64) << 20)
#define SAMPLE_READS 3

static int measure(cli_reader *reader) {
    cli_pieces pieces;
    cli_selection piece;
    int rc = CLI_OK;
    cli_pieces_begin(&pieces, &reader->selection, reader->info.chunk_shape,
                     reader->dtype.itemsize, SAMPLE_NBYTES, true);
    if (cli_pieces_next(&pieces, &piece)) {
        for (int i = 0; i < SAMPLE_READS && rc == CLI_OK; i++) {
            rc = cli_reader_read(reader, &piece, NULL);
        }
    }
    return rc;
}

static int run(cli *c) {
    cli_reader reader;
    int rc = cli_reader_open(c, &reader);
    if (rc == CLI_OK && c->args.measure) {
        rc = measure(&reader);
    }
    if (rc == CLI_OK) {
        rc = explain(c, &reader);
    }
    cli_reader_close(&reader);
    return rc;
}

const cli_command cli_explain = {
    .name = "explain",
    .summary = "say what a read would do, and where",
    .usage =
        "URL [-s SELECTION] [--device cpu|cuda:N]\n"
        "     [--nvcomp[=LIBRARY]] [--measure] [--json]\n\n"
        "Plans the read and says how many chunks it needs, what each codec is decoded\n"
        "by, and why chunks for a GPU would be decoded on the host. Reads no chunk,\n"
        "unless told to measure.\n\n"
        "  -s, --select SELECTION  as for 'headrace read'\n"
        "  --device DEVICE         cpu (default), cuda, cuda:N, or simt; it need not be\n"
        "                          there\n"
        "  --nvcomp[=LIBRARY]      as for 'headrace read'\n"
        "  --measure               read the first 64 MiB three times, to say what the\n"
        "                          stages of the whole read would take, and which one\n"
        "                          sets its time\n"
        "  --json                  print one JSON object; null is what is not known\n\n",
    .takes = CLI_TAKES_SELECTION | CLI_TAKES_DEVICE | CLI_TAKES_JSON | CLI_TAKES_MEASURE,
    .min_positional = 1,
    .max_positional = 1,
    .run = run,
};
