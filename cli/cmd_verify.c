/* headrace verify: find chunks that do not decode. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli.h"
#include "json.h"
#include "report.h"
#include "text.h"
#include "verify.h"

enum { MISSING_SHOWN = 20 };

typedef struct totals {
    json_object *arrays; /* NULL without --json */
    uint64_t narrays;
    uint64_t nchunks;
    uint64_t nbad;     /* chunks, and arrays that cannot be opened */
    uint64_t nmissing; /* chunks */
} totals;

static void print_bad(const hr_error *err) {
    printf("  %sbad%s: ", cli_red(stdout), cli_plain(stdout));
    cli_put_text(stdout, err->message);
    puts("");
    hr_error place = *err;
    place.url[0] = '\0'; /* stands above already */
    cli_print_place(stdout, "    ", &place);
}

static void print_verdict(const char *path, const cli_verdict *verdict) {
    cli_put_text(stdout, path);
    printf(": %" PRIu64 " chunk%s, %" PRIu64 " bad, %" PRIu64 " missing\n",
           verdict->nchunks, cli_plural(verdict->nchunks), verdict->nbad,
           verdict->nmissing);
    for (uint64_t i = 0; i < verdict->nbad_kept; i++) {
        print_bad(&verdict->bad[i]);
    }
    for (uint64_t i = 0; i < verdict->nmissing_kept && i < MISSING_SHOWN; i++) {
        fputs("  missing: ", stdout);
        cli_put_text(stdout, verdict->missing[i]);
        puts("");
    }
    if (verdict->nmissing_kept > MISSING_SHOWN) {
        puts("  more missing keys are listed with --json");
    }
}

static json_object *verdict_json(const char *path, const cli_verdict *verdict) {
    json_object *object = json_object_new_object();
    json_object *bad = json_object_new_array();
    json_object *missing = json_object_new_array();
    for (uint64_t i = 0; i < verdict->nbad_kept; i++) {
        json_object_array_add(bad, cli_json_error(&verdict->bad[i]));
    }
    for (uint64_t i = 0; i < verdict->nmissing_kept; i++) {
        json_object_array_add(missing, cli_json_text(verdict->missing[i]));
    }
    json_object_object_add(object, "path", cli_json_text(path));
    json_object_object_add(object, "chunks", json_object_new_uint64(verdict->nchunks));
    json_object_object_add(object, "nbad", json_object_new_uint64(verdict->nbad));
    json_object_object_add(object, "nmissing", json_object_new_uint64(verdict->nmissing));
    json_object_object_add(object, "bad", bad);
    json_object_object_add(object, "missing", missing);
    return object;
}

static int verify_array(cli *c, const char *path, hr_node *array, totals *t) {
    cli_verdict verdict;
    int rc = cli_verify_array(c->context, array, c->args.quiet, &verdict);
    if (rc == CLI_OK && t->arrays != NULL) {
        json_object_array_add(t->arrays, verdict_json(path, &verdict));
    } else if (rc == CLI_OK) {
        print_verdict(path, &verdict);
    }
    t->narrays++;
    t->nchunks += verdict.nchunks;
    t->nbad += verdict.nbad;
    t->nmissing += verdict.nmissing;
    cli_verdict_free(&verdict);
    return rc;
}

/* A member that cannot be opened is a finding, not the end. */
static void add_unopened(const char *path, const hr_error *err, totals *t) {
    t->narrays++;
    t->nbad++;
    if (t->arrays == NULL) {
        cli_put_text(stdout, path);
        puts(": cannot be opened");
        print_bad(err);
        return;
    }
    json_object *object = json_object_new_object();
    json_object_object_add(object, "path", cli_json_text(path));
    json_object_object_add(object, "error", cli_json_error(err));
    json_object_array_add(t->arrays, object);
}

static int verify_group(cli *c, hr_node *group, totals *t) {
    hr_error err = HR_ERROR_INIT;
    hr_member_list *members = NULL;
    if (hr_node_list(group, 1, &members, &err) != HR_OK) {
        return cli_report(&err);
    }
    int rc = CLI_OK;
    for (size_t i = 0; rc == CLI_OK && i < hr_member_list_size(members); i++) {
        hr_member member = hr_member_list_get(members, i);
        if (member.kind == HR_NODE_GROUP) {
            continue;
        }
        hr_node *array = NULL;
        if (hr_node_open(group, member.path, &array, &err) != HR_OK) {
            add_unopened(member.path, &err, t);
            continue;
        }
        rc = verify_array(c, member.path, array, t);
        hr_node_unref(array);
    }
    hr_member_list_free(members);
    return rc;
}

static void print_totals(const totals *t, bool ok, bool is_group) {
    if (t->arrays != NULL) {
        json_object *object = json_object_new_object();
        json_object_object_add(object, "ok", json_object_new_boolean(ok));
        json_object_object_add(object, "chunks", json_object_new_uint64(t->nchunks));
        json_object_object_add(object, "nbad", json_object_new_uint64(t->nbad));
        json_object_object_add(object, "nmissing", json_object_new_uint64(t->nmissing));
        json_object_object_add(object, "arrays", t->arrays);
        cli_json_print(object);
    } else if (is_group) {
        printf("%" PRIu64 " array%s, %" PRIu64 " chunk%s, %" PRIu64 " bad, %" PRIu64
               " missing\n",
               t->narrays, cli_plural(t->narrays), t->nchunks, cli_plural(t->nchunks),
               t->nbad, t->nmissing);
    }
}

static int run(cli *c) {
    hr_node *node = NULL;
    int rc = cli_open(c, &node);
    if (rc != CLI_OK) {
        return rc;
    }
    hr_error err = HR_ERROR_INIT;
    hr_node_info info = HR_NODE_INFO_INIT;
    totals t = {.arrays = c->args.json ? json_object_new_array() : NULL};
    if (hr_node_describe(node, &info, &err) != HR_OK) {
        rc = cli_report(&err);
    } else if (info.kind == HR_NODE_GROUP) {
        rc = verify_group(c, node, &t);
    } else {
        rc = verify_array(c, info.url, node, &t);
    }
    if (rc == CLI_OK) {
        bool ok = t.nbad == 0 && !(c->args.strict && t.nmissing > 0);
        print_totals(&t, ok, info.kind == HR_NODE_GROUP);
        rc = ok ? CLI_OK : CLI_FAILED;
    } else {
        (void)json_object_put(t.arrays);
    }
    hr_node_unref(node);
    return rc;
}

const cli_command cli_verify = {
    .name = "verify",
    .summary = "decode every chunk and list the bad ones",
    .usage = "URL [--strict] [--json]\n\n"
             "Decodes all chunks of an array, or of all arrays of a group, and lists\n"
             "those that are bad and the keys that are missing. Missing chunks are in\n"
             "order, since they stand for the fill value.\n\n"
             "  --strict                exit with 1 also when chunks are missing\n"
             "  --json                  print one JSON object\n\n",
    .takes = CLI_TAKES_STRICT | CLI_TAKES_JSON,
    .min_positional = 1,
    .max_positional = 1,
    .run = run,
};
