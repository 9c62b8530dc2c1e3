/* headrace info: what an array or group is. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "place.h"
#include "report.h"
#include "text.h"

/* Longest text of an attribute that is shown whole; --json shows all of it. */
enum { ATTRIBUTE_MAX = 400 };

static json_object *names_json(const hr_node_info *info) {
    if (info->dimension_names == NULL) {
        return NULL;
    }
    json_object *list = json_object_new_array();
    for (int32_t k = 0; k < info->ndim; k++) {
        json_object_array_add(list, cli_json_text(info->dimension_names[k]));
    }
    return list;
}

static void add_array_json(json_object *object, const hr_node_info *info,
                           const char *dtype) {
    json_object_object_add(object, "shape", cli_json_shape(info->ndim, info->shape));
    json_object_object_add(object, "dtype", cli_json_text(dtype));
    json_object_object_add(object, "chunks",
                           cli_json_shape(info->ndim, info->chunk_shape));
    json_object_object_add(
        object, "shards",
        info->shard_shape == NULL ? NULL : cli_json_shape(info->ndim, info->shard_shape));
    json_object_object_add(object, "codecs", cli_json_raw(info->codecs_json));
    json_object_object_add(object, "fill_value", cli_json_raw(info->fill_value_json));
    json_object_object_add(object, "dimension_names", names_json(info));
}

static const char *kind_text(hr_node_kind kind) {
    return kind == HR_NODE_ARRAY   ? "array"
           : kind == HR_NODE_GROUP ? "group"
                                   : "unreadable";
}

static json_object *members_json(const hr_member_list *members) {
    json_object *list = json_object_new_array();
    for (size_t i = 0; i < hr_member_list_size(members); i++) {
        hr_member member = hr_member_list_get(members, i);
        json_object *entry = json_object_new_object();
        json_object_object_add(entry, "path", cli_json_text(member.path));
        json_object_object_add(entry, "kind",
                               json_object_new_string(kind_text(member.kind)));
        json_object_array_add(list, entry);
    }
    return list;
}

/* "zstd(level=3)": the name, then what its configuration holds. */
static void print_codec(json_object *codec) {
    json_object *name = NULL;
    if (json_object_is_type(codec, json_type_string)) {
        cli_put_text(stdout, json_object_get_string(codec));
        return;
    }
    if (!json_object_object_get_ex(codec, "name", &name)) {
        (void)json_object_object_get_ex(codec, "id", &name);
    }
    cli_put_text(stdout, name == NULL ? "?" : json_object_get_string(name));
    json_object *config = NULL;
    if (!json_object_object_get_ex(codec, "configuration", &config)) {
        config = codec;
    }
    const char *before = "(";
    json_object_object_foreach(config, key, value) {
        bool is_scalar = !json_object_is_type(value, json_type_object) &&
                         !json_object_is_type(value, json_type_array);
        if (is_scalar && value != name) {
            fputs(before, stdout);
            cli_put_text(stdout, key);
            fputs("=", stdout);
            cli_put_text(stdout, json_object_to_json_string(value));
            before = ", ";
        }
    }
    fputs(before[0] == ',' ? ")" : "", stdout);
    json_object *inner = NULL;
    if (json_object_object_get_ex(config, "codecs", &inner) &&
        json_object_is_type(inner, json_type_array)) {
        fputs(" {", stdout);
        for (size_t i = 0; i < json_object_array_length(inner); i++) {
            fputs(i == 0 ? "" : ", ", stdout);
            print_codec(json_object_array_get_idx(inner, i));
        }
        fputs("}", stdout);
    }
}

static void print_codecs(const char *text) {
    json_object *list = json_tokener_parse(text);
    size_t n =
        json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < n; i++) {
        fputs(i == 0 ? "" : ", ", stdout);
        print_codec(json_object_array_get_idx(list, i));
    }
    puts(n == 0 ? "none" : "");
    (void)json_object_put(list);
}

static void print_names(const hr_node_info *info) {
    for (int32_t k = 0; k < info->ndim; k++) {
        const char *name = info->dimension_names[k];
        fputs(k == 0 ? "" : ", ", stdout);
        cli_put_text(stdout, name == NULL ? "-" : name);
    }
    puts("");
}

static void print_attributes(const char *text, const char *indent) {
    json_object *attributes = json_tokener_parse(text);
    if (json_object_is_type(attributes, json_type_object) &&
        json_object_object_length(attributes) > 0) {
        printf("%s%sattributes%s\n", indent, cli_bold(stdout), cli_plain(stdout));
        json_object_object_foreach(attributes, key, value) {
            const char *shown = json_object_to_json_string_ext(
                value, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
            printf("%s  ", indent);
            cli_put_text(stdout, key);
            fputs(": ", stdout);
            cli_put_start(stdout, shown, ATTRIBUTE_MAX);
            puts("");
        }
    }
    (void)json_object_put(attributes);
}

static void print_size(const hr_node_info *info) {
    double nbytes = (double)info->dtype.itemsize;
    double nchunks = 1;
    for (int32_t k = 0; k < info->ndim; k++) {
        nbytes *= (double)info->shape[k];
        nchunks *= (double)info->grid_shape[k];
    }
    char text[24];
    if (nbytes < 0x1p63) {
        (void)cli_nbytes_text((uint64_t)nbytes, text);
    } else {
        (void)snprintf(text, sizeof text, "%.3g EiB", nbytes * 0x1p-60);
    }
    printf("  size        %s in memory, %.0f chunk%s\n", text, nchunks,
           nchunks == 1 ? "" : "s");
}

static void print_array(const hr_node_info *info, const char *dtype) {
    char shape[CLI_SHAPE_TEXT];
    printf("  shape       %s\n", cli_shape_text(info->ndim, info->shape, shape));
    if (info->dimension_names != NULL) {
        fputs("  dimensions  ", stdout);
        print_names(info);
    }
    fputs("  dtype       ", stdout);
    cli_put_text(stdout, dtype);
    printf("\n  chunks      %s%s\n", cli_shape_text(info->ndim, info->chunk_shape, shape),
           info->is_rectilinear ? " at most" : "");
    if (info->shard_shape != NULL) {
        printf("  shards      %s\n",
               cli_shape_text(info->ndim, info->shard_shape, shape));
    }
    fputs("  codecs      ", stdout);
    print_codecs(info->codecs_json);
    fputs("  fill value  ", stdout);
    cli_put_start(stdout, info->fill_value_json, ATTRIBUTE_MAX);
    puts("");
    print_size(info);
}

/* One line, and the attributes, of a member of a group. */
static void print_member(hr_node *group, const hr_member *member) {
    fputs("    ", stdout);
    cli_put_text(stdout, member->path);
    hr_error err = HR_ERROR_INIT;
    hr_node *node = NULL;
    hr_node_info info = HR_NODE_INFO_INIT;
    hr_status status = hr_node_open(group, member->path, &node, &err);
    if (status == HR_OK) {
        status = hr_node_describe(node, &info, &err);
    }
    if (status != HR_OK) {
        fputs("  cannot be opened: ", stdout);
        cli_put_text(stdout, err.message);
        puts("");
    } else if (info.kind == HR_NODE_GROUP) {
        puts("/");
        print_attributes(info.attributes_json, "      ");
    } else {
        char shape[CLI_SHAPE_TEXT];
        char *dtype = cli_dtype_text(&info.dtype);
        printf("  %s  ", cli_shape_text(info.ndim, info.shape, shape));
        cli_put_text(stdout, dtype == NULL ? "?" : dtype);
        free(dtype);
        fputs(info.dimension_names == NULL ? "\n" : "  ", stdout);
        if (info.dimension_names != NULL) {
            print_names(&info);
        }
        print_attributes(info.attributes_json, "      ");
    }
    hr_node_unref(node);
}

static void print_members(hr_node *group, const hr_member_list *members) {
    size_t n = hr_member_list_size(members);
    printf("  %smembers%s (%zu)\n", cli_bold(stdout), cli_plain(stdout), n);
    for (size_t i = 0; i < n; i++) {
        hr_member member = hr_member_list_get(members, i);
        print_member(group, &member);
    }
}

static void print_node(hr_node *node, const hr_node_info *info, const char *dtype,
                       const hr_member_list *members) {
    bool is_array = info->kind == HR_NODE_ARRAY;
    fputs(cli_bold(stdout), stdout);
    cli_put_text(stdout, info->url);
    printf("%s  %s, %s\n", cli_plain(stdout), is_array ? "array" : "group", info->format);
    if (is_array) {
        print_array(info, dtype);
        cli_place_print(info);
    }
    print_attributes(info->attributes_json, "  ");
    if (!is_array) {
        print_members(node, members);
    }
}

static void print_node_json(const hr_node_info *info, const char *dtype,
                            const hr_member_list *members) {
    bool is_array = info->kind == HR_NODE_ARRAY;
    json_object *object = json_object_new_object();
    json_object_object_add(object, "kind",
                           json_object_new_string(is_array ? "array" : "group"));
    json_object_object_add(object, "format", json_object_new_string(info->format));
    if (is_array) {
        add_array_json(object, info, dtype);
    }
    json_object_object_add(object, "attributes", cli_json_raw(info->attributes_json));
    if (!is_array) {
        json_object_object_add(object, "members", members_json(members));
    }
    cli_json_print(object);
}

static int run(cli *c) {
    hr_node *node = NULL;
    int rc = cli_open(c, &node);
    if (rc != CLI_OK) {
        return rc;
    }
    hr_error err = HR_ERROR_INIT;
    hr_node_info info = HR_NODE_INFO_INIT;
    hr_member_list *members = NULL;
    char *dtype = NULL;
    hr_status status = hr_node_describe(node, &info, &err);
    if (status == HR_OK && info.kind == HR_NODE_GROUP) {
        status = hr_node_list(node, 1, &members, &err);
    } else if (status == HR_OK) {
        dtype = cli_dtype_text(&info.dtype);
    }
    if (status != HR_OK) {
        rc = cli_report(&err);
    } else if (info.kind == HR_NODE_ARRAY && dtype == NULL) {
        rc = cli_out_of_memory(0);
    } else if (c->args.json) {
        print_node_json(&info, dtype, members);
    } else {
        print_node(node, &info, dtype, members);
    }
    free(dtype);
    hr_member_list_free(members);
    hr_node_unref(node);
    return rc;
}

const cli_command cli_info = {
    .name = "info",
    .summary = "show what an array or a group is",
    .usage =
        "URL [--json]\n\n"
        "Shape, element type, chunks, codecs and attributes of an array, and where a\n"
        "TIFF lies; the attributes of a group and, recursively, its members.\n\n"
        "  --json                  print one JSON object\n\n",
    .takes = CLI_TAKES_JSON,
    .min_positional = 1,
    .max_positional = 1,
    .run = run,
};
