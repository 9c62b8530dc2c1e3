/* A TIFF file, opened and read. SPDX-License-Identifier: Apache-2.0
 *
 * Seeds: the corpus's tiff and bad/tiff folders. Its first two images, their first
 * overviews and the stack are opened; a corner of each is read. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void must(hr_status status) {
    if (status != HR_OK) {
        abort();
    }
}

static void read_corner(hr_node *node) {
    hr_node_info info = HR_NODE_INFO_INIT;
    hr_axis axes[HR_MAX_NDIM];
    int64_t shape[HR_MAX_NDIM];
    must(hr_node_describe(node, &info, NULL));
    size_t nbytes = info.dtype.itemsize;
    for (int32_t k = 0; k < info.ndim; k++) {
        const int64_t most = info.ndim <= 3 ? 40 : 6; /* of a stack */
        shape[k] = info.shape[k] < most ? info.shape[k] : most;
        axes[k] = (hr_axis){.kind = HR_AXIS_SLICE, .stop = shape[k]};
        nbytes *= (size_t)shape[k];
    }
    const hr_selection corner = {
        .kind = HR_SELECT_AXES, .naxes = info.ndim, .axes = axes};
    hr_tensor dst = {
        .data = malloc(nbytes), .dtype = info.dtype, .ndim = info.ndim, .shape = shape};
    (void)hr_read(node, &corner, &dst, NULL);
    free(dst.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    static hr_context *context; /* kept: its threads are slow to start */
    static const char *const paths[] = {"x.tif",       "x.tif#level=1",
                                        "x.tif#stack", "x.tif#stack,level=1",
                                        "x.tif#ifd=1", "x.tif#ifd=1,level=1"};
    enum { NPATHS = sizeof paths / sizeof paths[0] };
    if (context == NULL) {
        hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
        o.nthreads = 1;
        must(hr_context_create(&o, &context, NULL));
    }
    hr_store *store = NULL;
    must(hr_store_create_memory(context, &store, NULL));
    must(hr_store_set(store, "x.tif", data, nbytes, NULL));
    for (size_t i = 0; i < NPATHS; i++) {
        hr_node *node = NULL;
        if (hr_open_store(store, paths[i], NULL, &node, NULL) == HR_OK) {
            read_corner(node);
            hr_node_unref(node);
        }
    }
    hr_store_unref(store);
    return 0;
}
