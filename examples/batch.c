/* Two selections of one array in one call: the README's tour.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <headrace/headrace.h>

int main(void) {
    hr_error err = HR_ERROR_INIT;
    hr_context *ctx = NULL;
    hr_node *array = NULL;
    hr_batch *batch = NULL;
    hr_dtype f32;
    if (hr_context_create(NULL, &ctx, &err) ||
        hr_open(ctx, "examples/data/jacksboro.zarr/elevation", NULL, &array, &err) ||
        hr_dtype_parse("<f4", &f32, &err)) {
        goto done;
    }

    /* A corner, every second row backwards; and three rows of the whole width. */
    float corner[50][100];
    float rows[3][403];
    const int64_t corner_shape[] = {50, 100};
    const int64_t rows_shape[] = {3, 403};
    const int64_t wanted[] = {7, 300, 7};
    const hr_axis corner_axes[] = {{.start = 98, .stop = HR_NONE, .step = -2},
                                   {.start = 0, .stop = 100, .step = 1}};
    const hr_axis rows_axes[] = {
        {.kind = HR_AXIS_INDICES, .indices = wanted, .nindices = 3}};

    hr_request requests[2] = {HR_REQUEST_INIT, HR_REQUEST_INIT};
    for (int i = 0; i < 2; i++) {
        requests[i].array = array;
        requests[i].allow_cast = 1; /* int16 in the file, float in memory */
        requests[i].selection.kind = HR_SELECT_AXES;
        requests[i].selection.axes = i == 0 ? corner_axes : rows_axes;
        requests[i].selection.naxes = i == 0 ? 2 : 1;
        requests[i].dst.data = i == 0 ? &corner[0][0] : &rows[0][0];
        requests[i].dst.dtype = f32;
        requests[i].dst.ndim = 2;
        requests[i].dst.shape = i == 0 ? corner_shape : rows_shape;
    }
    if (hr_read_submit(ctx, requests, 2, NULL, NULL, &batch, &err) ||
        hr_batch_wait(batch, -1, &err)) {
        goto done;
    }
    printf("%g m at row 98, %g m at row 300\n", (double)corner[0][0], (double)rows[1][0]);

done:
    if (err.status != HR_OK) {
        fprintf(stderr, "%s: %s\n", hr_status_name(err.status), err.message);
    }
    hr_batch_unref(batch);
    hr_node_unref(array);
    hr_context_unref(ctx);
    return err.status != HR_OK;
}
