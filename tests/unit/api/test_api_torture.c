/* Every allocation of a read fails once. SPDX-License-Identifier: Apache-2.0
 *
 * A call that is refused memory says so, gives back what it took, and works when it is
 * made again. What json-c and the codec libraries allocate by themselves is out of reach
 * here: that goes to malloc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture.h"
#include "probe.h"
#include "support/files.h"

typedef struct scenario {
    const char *name;
    const char *corpus; /* a directory of the corpus, or NULL: files made here */
    void (*make)(test_files *files);
    bool simt, consolidated;
} scenario;

/* What a read without refusals gives. */
typedef struct wanted {
    hr_dtype dtype;
    uint64_t nelems;
    uint8_t *data; /* elements; those of variable length as size and bytes */
    size_t data_nbytes;
} wanted;

static const char *const root_group =
    "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{\"a\":1}}";

static void add_text(test_files *files, const char *key, const char *text) {
    files_add(files, key, text, strlen(text));
}

#define META_HEAD                                                                        \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"attributes\":{\"units\":\"m\"},"       \
    "\"chunk_key_encoding\":{\"name\":\"default\"},\"dimension_names\":[\"x\"],"
#define BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"

static void make_rectilinear(test_files *files) {
    static const uint8_t values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    add_text(files, "zarr.json",
             META_HEAD "\"shape\":[10],\"data_type\":\"uint8\",\"fill_value\":7,"
                       "\"chunk_grid\":{\"name\":\"rectilinear\",\"configuration\":"
                       "{\"kind\":\"inline\",\"chunk_shapes\":[[1,2,3,4]]}},"
                       "\"codecs\":[" BYTES "]}");
    files_add(files, "c/0", values, 1);
    files_add(files, "c/1", values + 1, 2);
    files_add(files, "c/3", values + 6, 4);
}

static void make_sharded(test_files *files) {
    uint8_t shard[6 + 3 * 16] = {0, 1, 2, 3, 4, 5};
    for (uint8_t i = 0; i < 3; i++) {
        memset(shard + 6 + 16 * i, i == 1 ? 0xFF : 0, 16);
        if (i != 1) {
            shard[6 + 16 * i] = (uint8_t)(2 * i);
            shard[6 + 16 * i + 8] = 2;
        }
    }
    add_text(files, "zarr.json",
             META_HEAD "\"shape\":[11],\"data_type\":\"uint8\",\"fill_value\":7,"
                       "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
                       "{\"chunk_shape\":[6]}},\"codecs\":[{\"name\":"
                       "\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],"
                       "\"codecs\":[" BYTES "],\"index_codecs\":[" BYTES "]}}]}");
    files_add(files, "c/0", shard, sizeof shard);
    files_add(files, "c/1", shard, sizeof shard);
}

static void make_strings(test_files *files) {
    static const uint8_t chunk[] = {2,   0, 0, 0, 1, 0,   0,   0,
                                    'a', 3, 0, 0, 0, 'b', 'c', 'd'};
    add_text(files, "zarr.json",
             META_HEAD "\"shape\":[5],\"data_type\":\"string\",\"fill_value\":\"none\","
                       "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
                       "{\"chunk_shape\":[2]}},\"codecs\":[{\"name\":\"vlen-utf8\"}]}");
    files_add(files, "c/0", chunk, sizeof chunk);
    files_add(files, "c/2", chunk, sizeof chunk);
}

/* Big-endian fields, so that they are swapped on the way. */
static void make_struct(test_files *files) {
    static const uint8_t chunk[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    add_text(files, ".zarray",
             "{\"zarr_format\":2,\"shape\":[3],\"chunks\":[2],\"dtype\":[[\"a\",\">i4\"],"
             "[\"b\",\"|u1\",[2]]],\"compressor\":null,\"filters\":null,"
             "\"fill_value\":null,\"order\":\"C\"}");
    add_text(files, ".zattrs", "{\"_ARRAY_DIMENSIONS\":[\"x\"]}");
    files_add(files, "0", chunk, sizeof chunk);
}

static const scenario scenarios[] = {
    {.name = "rectilinear", .make = make_rectilinear},
    {.name = "sharded", .make = make_sharded},
    {.name = "sharded to a device", .make = make_sharded, .simt = true},
    {.name = "strings", .make = make_strings, .consolidated = true},
    {.name = "structures", .make = make_struct},
    {.name = "structures to a device", .make = make_struct, .simt = true},
    {.name = "nested shards", .corpus = "zarr/gdal/v3/nested_sharding.zarr"},
    {.name = "blosc", .corpus = "zarr/zarrs/v3/array_blosc.zarr"},
    {.name = "blosc to a device",
     .corpus = "zarr/zarrs/v3/array_blosc.zarr",
     .simt = true},
    {.name = "zstd in shards", .corpus = "zarr/gdal/v3/sharded_3d.zarr"},
    {.name = "strings in zstd",
     .corpus = "zarr/zarrita/v3/data.zarr/1d.chunked.string.vlen"},
    {.name = "filters",
     .corpus = "zarr/zarrita/v2/data.zarr/1d.contiguous.delta.shuffle.i2"},
};

/* The array goes to "x" of a group. */
static bool load(const scenario *s, test_files *files) {
    test_files array = {.n = 0};
    if (s->make != NULL) {
        s->make(&array);
    } else {
        char path[1024];
        (void)snprintf(path, sizeof path, HR_CORPUS "/%s", s->corpus);
        files_load(path, &array);
    }
    *files = (test_files){.n = 0};
    for (size_t i = 0; i < array.n; i++) {
        char key[1100];
        (void)snprintf(key, sizeof key, "x/%s", array.files[i].key);
        files_add(files, key, array.files[i].data, array.files[i].nbytes);
    }
    if (s->consolidated) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       "{\"zarr_format\":3,\"node_type\":\"group\","
                       "\"consolidated_metadata\":{\"kind\":\"inline\","
                       "\"must_understand\":false,\"metadata\":{\"x\":%.*s}}}",
                       (int)array.files[0].nbytes, (char *)array.files[0].data);
        add_text(files, "zarr.json", text);
    } else {
        add_text(files, "zarr.json", root_group);
    }
    bool found = array.n > 0;
    files_free(&array);
    return found;
}

static bool is_vlen(const hr_dtype *t) {
    return t->kind >= HR_KIND_VLEN_UTF8 && t->kind <= HR_KIND_VLEN_ARRAY;
}

static void flatten(const hr_dtype *dtype, uint64_t nelems, const uint8_t *out,
                    wanted *flat) {
    *flat = (wanted){.dtype = *dtype, .nelems = nelems};
    if (!is_vlen(dtype)) {
        flat->data_nbytes = nelems * dtype->itemsize;
        flat->data = malloc(flat->data_nbytes + 1);
        memcpy(flat->data, out, flat->data_nbytes);
        return;
    }
    for (uint64_t i = 0; i < nelems; i++) {
        hr_vlen v;
        memcpy(&v, out + i * sizeof v, sizeof v);
        flat->data = realloc(flat->data, flat->data_nbytes + 8 + v.nbytes + 1);
        memcpy(flat->data + flat->data_nbytes, &v.nbytes, 8);
        if (v.nbytes > 0) {
            memcpy(flat->data + flat->data_nbytes + 8, v.data, v.nbytes);
        }
        flat->data_nbytes += 8 + v.nbytes;
    }
}

static bool same(const wanted *a, const wanted *b) {
    return a->data_nbytes == b->data_nbytes &&
           memcmp(a->data, b->data, a->data_nbytes) == 0;
}

typedef struct attempt {
    const scenario *scenario;
    const test_files *files;
    probe probe;
    const wanted *wanted; /* NULL: to be found out */
    wanted found;
    hr_context *context;
    hr_store *store;
    hr_node *group, *array;
    hr_error err;
} attempt;

/* A refused call says so; made again with memory, it works. */
#define AGAIN(a, call)                                                                   \
    do {                                                                                 \
        hr_status again_status = (call);                                                 \
        if (again_status == HR_ERR_MEMORY) {                                             \
            assert_true((a)->err.message[0] != '\0');                                    \
            atomic_store(&(a)->probe.refuse_from, -1);                                   \
            again_status = (call);                                                       \
        }                                                                                \
        if (again_status != HR_OK) {                                                     \
            fail_msg("%s: %s gives %s: %s", (a)->scenario->name, #call,                  \
                     hr_status_name(again_status), (a)->err.message);                    \
        }                                                                                \
    } while (0)

/* Read everything, once along the axes and once by a list. */
static hr_status read_both(attempt *a, const hr_node_info *info, uint64_t nelems) {
    /* freed as soon as the batch is done: nothing may arrive later */
    uint8_t *out = malloc(2 * nelems * info->dtype.itemsize + 1);
    memset(out, 0x55, 2 * nelems * info->dtype.itemsize);
    int64_t *list = calloc((size_t)info->shape[0], sizeof *list);
    for (int64_t i = 0; i < info->shape[0]; i++) {
        list[i] = info->shape[0] - 1 - i % 3;
    }
    hr_axis axis = {
        .kind = HR_AXIS_INDICES, .indices = list, .nindices = (uint64_t)info->shape[0]};
    const int32_t where = a->scenario->simt ? HR_DEVICE_SIMT : HR_DEVICE_CPU;
    hr_request r[2];
    for (int i = 0; i < 2; i++) {
        r[i] = whole_request(a->array, info,
                             out + (size_t)i * nelems * info->dtype.itemsize, where);
    }
    r[1].selection = (hr_selection){.kind = HR_SELECT_AXES, .naxes = 1, .axes = &axis};
    hr_batch *b = NULL;
    hr_status status = hr_read_submit(a->context, r, 2, NULL, NULL, &b, &a->err);
    free(list);
    if (status != HR_OK) {
        assert_null(b);
        free(out);
        return status;
    }
    status = hr_batch_wait(b, -1, &a->err);
    for (size_t i = 0; i < 2; i++) {
        hr_error err = HR_ERROR_INIT;
        hr_status one = hr_batch_error(b, i, &err);
        assert_true(one == HR_OK || (one == HR_ERR_MEMORY && err.message[0] != '\0'));
        if (one == HR_OK) {
            wanted flat;
            flatten(&info->dtype, nelems, out + i * nelems * info->dtype.itemsize, &flat);
            if (i == 0 && a->wanted == NULL) {
                a->found = flat;
                continue;
            }
            assert_true(i == 1 || same(&flat, a->wanted));
            free(flat.data);
        }
    }
    hr_batch_unref(b);
    free(out);
    return status;
}

static void open_all(attempt *a) {
    hr_allocator allocator = probe_allocator(&a->probe);
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.allocator = &allocator;
    o.nthreads = 2;
    o.scratch_nbytes = 1 << 20; /* little to wipe out, thousands of times */
    o.device_scratch_nbytes = 1 << 20;
    AGAIN(a, hr_context_create(&o, &a->context, &a->err));
    AGAIN(a, hr_store_create_memory(a->context, &a->store, &a->err));
    AGAIN(a, files_store(a->files, a->store, &a->err));
    AGAIN(a, hr_open_store(a->store, "", NULL, &a->group, &a->err));
    hr_member_list *list = NULL;
    AGAIN(a, hr_node_list(a->group, 1, &list, &a->err));
    assert_int_equal(hr_member_list_size(list), 1);
    assert_string_equal(hr_member_list_get(list, 0).path, "x");
    hr_member_list_free(list);
    AGAIN(a, hr_node_open(a->group, "x", &a->array, &a->err));
}

/* Returns whether memory was refused on the way. */
static bool run(attempt *a) {
    hr_node_info info = HR_NODE_INFO_INIT;
    hr_selection all = {.kind = HR_SELECT_ALL};
    int32_t ndim;
    int64_t shape[HR_MAX_NDIM];
    long refuse_from = atomic_load(&a->probe.refuse_from);
    open_all(a);
    AGAIN(a, hr_node_describe(a->array, &info, &a->err));
    AGAIN(a, hr_selection_shape(a->array, &all, &ndim, shape, &a->err));
    uint64_t nelems = 1;
    for (int32_t i = 0; i < ndim; i++) {
        nelems *= (uint64_t)shape[i];
    }
    AGAIN(a, read_both(a, &info, nelems));
    hr_node_unref(a->array);
    hr_node_unref(a->group);
    hr_store_unref(a->store);
    hr_context_unref(a->context);
    assert_int_equal(atomic_load(&a->probe.nlive), 0);
    return refuse_from >= 0 && atomic_load(&a->probe.ncalls) > refuse_from;
}

static long torture(const scenario *s, const test_files *files, const wanted *w,
                    bool all_after) {
    long n = 0;
    bool refused = true;
    for (; refused; n++) {
        attempt a = {.scenario = s, .files = files, .wanted = w, .err = HR_ERROR_INIT};
        atomic_init(&a.probe.refuse_from, n);
        a.probe.refuse_all_after = all_after;
        refused = run(&a);
    }
    return n - 1;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const scenario *s = &scenarios[i];
        test_files files;
        if (!load(s, &files) || (s->simt && !has_simt())) {
            print_message("skipped: %s (%s)\n", s->name,
                          s->simt ? "no corpus, or no simt device" : "no corpus");
            files_free(&files);
            continue;
        }
        attempt first = {.scenario = s, .files = &files, .err = HR_ERROR_INIT};
        atomic_init(&first.probe.refuse_from, -1);
        (void)run(&first);
        long once = torture(s, &files, &first.found, false);
        long ever = torture(s, &files, &first.found, true);
        assert_in_range(once, 20, 5000);
        assert_in_range(ever, 20, 5000);
        free(first.found.data);
        files_free(&files);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
