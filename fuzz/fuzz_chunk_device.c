/* A chunk through the kernels and through the host's decoders.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte chooses the array, the rest is its only chunk. Both ways must end alike:
 * the same bytes, or an error. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#define NBYTES 3000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void must(hr_status status) {
    if (status != HR_OK) {
        abort();
    }
}

static hr_status read_chunk(hr_node *array, int32_t type, uint8_t *out) {
    const int64_t shape[] = {NBYTES};
    hr_tensor dst = {.data = out,
                     .device = {.type = type},
                     .dtype = {.kind = HR_KIND_UINT, .itemsize = 1},
                     .ndim = 1,
                     .shape = shape};
    memset(out, 0xA5, NBYTES);
    return hr_read(array, NULL, &dst, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    static const char *const arrays[] = {
        "{\"zarr_format\":2,\"shape\":[3000],\"chunks\":[3000],\"dtype\":\"|u1\","
        "\"compressor\":{\"id\":\"blosc\",\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":1},"
        "\"filters\":null,\"fill_value\":0,\"order\":\"C\"}",
        "{\"zarr_format\":2,\"shape\":[3000],\"chunks\":[3000],\"dtype\":\"|u1\","
        "\"compressor\":{\"id\":\"lz4\",\"acceleration\":1},\"filters\":null,"
        "\"fill_value\":0,\"order\":\"C\"}"};
    static hr_context *context; /* kept: its threads are slow to start */
    if (nbytes == 0) {
        return 0;
    }
    if (context == NULL) {
        hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
        o.nthreads = 1;
        o.scratch_nbytes = o.device_scratch_nbytes = 16 << 20;
        must(hr_context_create(&o, &context, NULL));
    }
    const char *meta = arrays[data[0] & 1];
    hr_store *store = NULL;
    hr_node *array = NULL;
    must(hr_store_create_memory(context, &store, NULL));
    must(hr_store_set(store, ".zarray", meta, strlen(meta), NULL));
    must(hr_store_set(store, "0", data + 1, nbytes - 1, NULL));
    must(hr_open_store(store, "", NULL, &array, NULL));
    uint8_t *host = malloc(NBYTES), *device = malloc(NBYTES);
    hr_status h = read_chunk(array, HR_DEVICE_CPU, host);
    hr_status d = read_chunk(array, HR_DEVICE_SIMT, device);
    if ((h == HR_OK) != (d == HR_OK) ||
        (h == HR_OK && memcmp(host, device, NBYTES) != 0)) {
        abort();
    }
    free(host);
    free(device);
    hr_node_unref(array);
    hr_store_unref(store);
    return 0;
}
