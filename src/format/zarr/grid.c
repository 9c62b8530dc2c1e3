/* Chunk grids: regular and rectilinear. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/checked.h"
#include "format/zarr/internal.h"

static hr__grid_axis regular_axis(int64_t length, int64_t chunk) {
    return (hr__grid_axis){
        .length = length, .chunk = chunk, .nchunks = hr__ceil_div_i64(length, chunk)};
}

hr_status hr__zarr_grid_regular(json_object *sizes, const char *what, hr__array *a,
                                hr_error *err) {
    int64_t chunks[HR_MAX_NDIM];
    HR__TRY(hr__zarr_sizes(sizes, what, 0, a->ndim, chunks, NULL, err));
    for (int32_t i = 0; i < a->ndim; i++) {
        if (chunks[i] == 0 && a->shape[i] > 0) {
            return hr__fail(err, HR_ERR_METADATA, "%s[%d] is 0, expected at least 1",
                            what, (int)i);
        }
        /* an empty axis has no chunks: some writers give them length 0 */
        a->outer[i] = regular_axis(a->shape[i], chunks[i] == 0 ? 1 : chunks[i]);
    }
    return HR_OK;
}

/* Consecutive chunks of one length: an integer, or [length, count]. */
typedef struct run {
    int64_t length;
    int64_t count;
} run;

static bool positive(json_object *v, int64_t *out) {
    return json_object_is_type(v, json_type_int) && hr__json_i64(v, out) && *out > 0;
}

static bool read_run(json_object *v, run *r) {
    if (!json_object_is_type(v, json_type_array)) {
        r->count = 1;
        return positive(v, &r->length);
    }
    return json_object_array_length(v) == 2 &&
           positive(json_object_array_get_idx(v, 0), &r->length) &&
           positive(json_object_array_get_idx(v, 1), &r->count);
}

/* How many chunks of a run hold elements, when `start` lie before it. */
static int64_t chunks_needed(const run *r, int64_t start, int64_t length) {
    int64_t n = hr__ceil_div_i64(length - start, r->length);
    return n < r->count ? n : r->count;
}

/* Walk the runs that hold elements. First pass (starts NULL): count, longest, uniform;
 * second pass: write the boundaries. */
static hr_status walk_runs(json_object *list, int64_t length, int axis, hr__grid_axis *g,
                           bool *uniform, int64_t *starts, hr_error *err) {
    int64_t covered = 0;
    int64_t nchunks = 0;
    int64_t longest = 0;
    *uniform = true;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *v = json_object_array_get_idx(list, i);
        run r;
        if (!read_run(v, &r)) {
            return hr__fail(err, HR_ERR_METADATA,
                            "chunk_shapes[%d][%zu] is " HR__ZARR_BRIEF
                            ", expected a length or [length, count], both at least 1",
                            axis, i, hr__zarr_brief(v));
        }
        if (covered >= length) {
            if (longest == 0) { /* an empty axis: any length will do */
                longest = r.length;
            }
            continue;
        }
        int64_t n = chunks_needed(&r, covered, length);
        *uniform = *uniform && (longest == 0 || longest == r.length);
        longest = r.length > longest ? r.length : longest;
        for (int64_t k = 0; starts != NULL && k < n; k++) {
            starts[nchunks + k] = covered + k * r.length;
        }
        int64_t span;
        if (!hr__mul_i64(n, r.length, &span) || !hr__add_i64(covered, span, &covered)) {
            return hr__fail(err, HR_ERR_METADATA,
                            "chunk_shapes[%d] reaches beyond 2^63-1", axis);
        }
        nchunks += n;
    }
    if (covered < length) {
        return hr__fail(err, HR_ERR_METADATA,
                        "chunk_shapes[%d] covers %lld elements, expected at least %lld",
                        axis, (long long)covered, (long long)length);
    }
    if (starts != NULL) {
        starts[nchunks] = covered;
    }
    *g = (hr__grid_axis){.length = length,
                         .chunk = longest > 0 ? longest : 1,
                         .nchunks = nchunks,
                         .starts = starts};
    return HR_OK;
}

static hr_status list_axis(json_object *list, int64_t length, int axis, hr__arena *arena,
                           hr__grid_axis *g, hr_error *err) {
    bool uniform;
    HR__TRY(walk_runs(list, length, axis, g, &uniform, NULL, err));
    if (uniform) {
        return HR_OK; /* equal lengths make a regular axis */
    }
    if (g->nchunks > HR__ZARR_MAX_EDGES) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "chunk_shapes[%d] has %lld chunks, at most %d are supported",
                        axis, (long long)g->nchunks, HR__ZARR_MAX_EDGES);
    }
    int64_t *starts = hr__arena_array(arena, (size_t)g->nchunks + 1, sizeof *starts);
    if (starts == NULL) {
        return hr__fail_memory(err, ((size_t)g->nchunks + 1) * sizeof *starts);
    }
    return walk_runs(list, length, axis, g, &uniform, starts, err);
}

static hr_status rectilinear(json_object *config, hr__arena *arena, hr__array *a,
                             bool *irregular, hr_error *err) {
    static const char *const known[] = {"kind", "chunk_shapes", NULL};
    HR__TRY(
        hr__zarr_check_members(config, "chunk_grid \"rectilinear\"", known, false, err));
    json_object *kind = hr__json_get(config, "kind");
    if (!hr__json_is(kind, "inline")) {
        return hr__fail(err, hr__json_str(kind) ? HR_ERR_UNSUPPORTED : HR_ERR_METADATA,
                        "kind of the rectilinear chunk_grid is " HR__ZARR_BRIEF
                        ", expected \"inline\"",
                        kind == NULL ? "missing" : hr__zarr_brief(kind));
    }
    json_object *shapes = hr__json_get(config, "chunk_shapes");
    if (!json_object_is_type(shapes, json_type_array) ||
        json_object_array_length(shapes) != (size_t)a->ndim) {
        return hr__fail(err, HR_ERR_METADATA,
                        "chunk_shapes is " HR__ZARR_BRIEF ", expected a list of %d",
                        hr__zarr_brief(shapes), (int)a->ndim);
    }
    *irregular = false;
    for (int32_t i = 0; i < a->ndim; i++) {
        json_object *v = json_object_array_get_idx(shapes, (size_t)i);
        int64_t chunk;
        if (json_object_is_type(v, json_type_array)) {
            HR__TRY(list_axis(v, a->shape[i], (int)i, arena, &a->outer[i], err));
        } else if (positive(v, &chunk)) {
            a->outer[i] = regular_axis(a->shape[i], chunk);
        } else {
            return hr__fail(err, HR_ERR_METADATA,
                            "chunk_shapes[%d] is " HR__ZARR_BRIEF
                            ", expected an integer from 1 or a list",
                            (int)i, hr__zarr_brief(v));
        }
        *irregular = *irregular || a->outer[i].starts != NULL;
    }
    return HR_OK;
}

hr_status hr__zarr_grid_v3(json_object *value, hr__arena *arena, hr__array *a,
                           bool *irregular, hr_error *err) {
    static const char *const known[] = {"chunk_shape", NULL};
    hr__zarr_extension e;
    HR__TRY(hr__zarr_extension_read(value, "chunk_grid", &e, err));
    if (strcmp(e.name, "rectilinear") != 0 && strcmp(e.name, "regular") != 0) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "chunk_grid \"%.60s\" is not supported",
                        e.name);
    }
    if (e.config == NULL) {
        return hr__fail(err, HR_ERR_METADATA, "chunk_grid \"%s\" has no configuration",
                        e.name);
    }
    if (strcmp(e.name, "rectilinear") == 0) {
        return rectilinear(e.config, arena, a, irregular, err);
    }
    HR__TRY(
        hr__zarr_check_members(e.config, "chunk_grid \"regular\"", known, false, err));
    *irregular = false;
    return hr__zarr_grid_regular(hr__json_get(e.config, "chunk_shape"), "chunk_shape", a,
                                 err);
}
