/* Read an array into GPU memory, or into host memory where there is no GPU, and tell what
 * happened. SPDX-License-Identifier: Apache-2.0
 *
 * usage: demo PATH-OF-AN-ARRAY */
#include <dlfcn.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <headrace/headrace.h>

#define REPEATS 20

/* The part of the CUDA driver that a caller needs for memory of its own. */
typedef struct gpu {
    void *library;
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*context_retain)(void **context, int device);
    int (*context_set)(void *context);
    int (*alloc)(uint64_t *address, size_t nbytes);
    int (*copy_to_host)(void *dst, uint64_t src, size_t nbytes);
    int (*free)(uint64_t address);
} gpu;

static int load(gpu *g, const char *name, void *function) {
    void *symbol = dlsym(g->library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* 1 when GPU 0 can be used. */
static int gpu_open(gpu *g) {
    hr_device device = {.type = HR_DEVICE_CUDA};
    hr_device_info info = HR_DEVICE_INFO_INIT;
    hr_error err = HR_ERROR_INIT;
    if (hr_device_describe(device, &info, &err) != HR_OK) {
        printf("GPU          none: %s\n", err.message);
        return 0;
    }
    if (!info.has_kernels) {
        printf("GPU          %s, but this build has no kernels for it\n", info.name);
        return 0;
    }
    int ordinal = 0;
    void *context = NULL;
    g->library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!g->library || !load(g, "cuInit", &g->init) ||
        !load(g, "cuDeviceGet", &g->device_get) ||
        !load(g, "cuDevicePrimaryCtxRetain", &g->context_retain) ||
        !load(g, "cuCtxSetCurrent", &g->context_set) ||
        !load(g, "cuMemAlloc_v2", &g->alloc) ||
        !load(g, "cuMemcpyDtoH_v2", &g->copy_to_host) ||
        !load(g, "cuMemFree_v2", &g->free) || g->init(0) || g->device_get(&ordinal, 0) ||
        g->context_retain(&context, ordinal) || g->context_set(context)) {
        printf("GPU          %s, but its driver gave no context\n", info.name);
        return 0;
    }
    printf("GPU          %s, %s\n", info.name, info.driver);
    return 1;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_shape(const char *label, const int64_t *shape, int32_t ndim) {
    printf("%-12s (", label);
    for (int32_t i = 0; i < ndim; i++) {
        printf("%s%" PRId64, i ? ", " : "", shape[i]);
    }
    printf("%s)\n", ndim == 1 ? "," : "");
}

static void print_info(const hr_node_info *info) {
    char dtype[64];
    hr_dtype_format(&info->dtype, dtype, sizeof dtype);
    printf("array        %s (%s)\n", info->url, info->format);
    print_shape("shape", info->shape, info->ndim);
    printf("dtype        %s\n", dtype);
    print_shape("chunks", info->chunk_shape, info->ndim);
    if (info->shard_shape) {
        print_shape("shards", info->shard_shape, info->ndim);
    }
    printf("codecs       %s\n", info->codecs_json);
}

static int names_codec(const char *json, const char *name) {
    char v2[80];
    char v3[80];
    snprintf(v2, sizeof v2, "\"id\":\"%s\"", name);
    snprintf(v3, sizeof v3, "\"name\":\"%s\"", name);
    return strstr(json, v2) != NULL || strstr(json, v3) != NULL;
}

/* Where each codec that the metadata names runs. */
static void print_places(const hr_node_info *info, int on_gpu) {
    hr_codec_support codec;
    for (size_t i = 0; hr_codec_list(i, &codec); i++) {
        if (names_codec(info->codecs_json, codec.name)) {
            printf("  %-18s decoded on the %s (%s)\n", codec.name,
                   on_gpu && codec.on_cuda ? "GPU" : "host", codec.library);
        }
    }
}

/* Value of an element as a double; 0 for types that are not plain numbers. */
static double number(const hr_dtype *dtype, const unsigned char *p) {
#define HR_AS(kind_, type_)                                                              \
    if (dtype->kind == (kind_) && dtype->itemsize == sizeof(type_)) {                    \
        type_ v;                                                                         \
        memcpy(&v, p, sizeof v);                                                         \
        return (double)v;                                                                \
    }
    HR_AS(HR_KIND_INT, int8_t)
    HR_AS(HR_KIND_INT, int16_t)
    HR_AS(HR_KIND_INT, int32_t)
    HR_AS(HR_KIND_INT, int64_t)
    HR_AS(HR_KIND_UINT, uint8_t)
    HR_AS(HR_KIND_UINT, uint16_t)
    HR_AS(HR_KIND_UINT, uint32_t)
    HR_AS(HR_KIND_UINT, uint64_t)
    HR_AS(HR_KIND_FLOAT, float)
    HR_AS(HR_KIND_FLOAT, double)
#undef HR_AS
    return 0;
}

static void print_values(const hr_dtype *dtype, const unsigned char *data, uint64_t n) {
    double low = DBL_MAX;
    double high = -DBL_MAX;
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        double v = number(dtype, data + i * dtype->itemsize);
        low = v < low ? v : low;
        high = v > high ? v : high;
        sum += v;
    }
    printf("min %g, max %g, mean %.3f\n", low, high, sum / (double)n);
}

/* Read everything once; the time and what was done. */
static hr_status read_once(hr_context *context, const hr_request *request, double *took,
                           hr_batch_stats *stats, hr_error *err) {
    hr_batch *batch = NULL;
    double start = seconds();
    hr_status status = hr_read_submit(context, request, 1, NULL, NULL, &batch, err);
    if (status == HR_OK) {
        status = hr_batch_wait(batch, -1, err);
    }
    *took = seconds() - start;
    if (status == HR_OK) {
        status = hr_batch_get_stats(batch, stats, err);
    }
    hr_batch_unref(batch);
    return status;
}

static hr_status read_and_print(hr_context *context, const hr_request *request,
                                uint64_t nbytes, hr_error *err) {
    hr_batch_stats stats = HR_BATCH_STATS_INIT;
    double first = 0;
    double best = DBL_MAX;
    for (int i = 0; i < REPEATS; i++) {
        double took = 0;
        hr_status status = read_once(context, request, &took, &stats, err);
        if (status != HR_OK) {
            return status;
        }
        first = i ? first : took;
        best = took < best ? took : best;
    }
    printf("read         %" PRIu64 " chunks in %" PRIu64 " reads, %" PRIu64
           " bytes stored, %" PRIu64 " decoded, %" PRIu64 " sent to the GPU\n",
           stats.nchunks, stats.nreads, stats.read_nbytes, stats.decoded_nbytes,
           stats.copied_nbytes);
    printf("time         first %.3f ms, best of %d %.3f ms = %.2f GB/s\n", 1e3 * first,
           REPEATS, 1e3 * best, 1e-9 * (double)nbytes / best);
    return HR_OK;
}

static hr_status run(hr_context *context, const char *url, hr_error *err) {
    hr_node *array = NULL;
    hr_node_info info = HR_NODE_INFO_INIT;
    unsigned char *host = NULL;
    uint64_t on_device = 0;
    gpu g = {0};

    hr_status status = hr_open(context, url, NULL, &array, err);
    if (status != HR_OK || (status = hr_node_describe(array, &info, err)) != HR_OK) {
        goto close;
    }
    print_info(&info);
    uint64_t nelems = 1;
    for (int32_t i = 0; i < info.ndim; i++) {
        nelems *= (uint64_t)info.shape[i];
    }
    uint64_t nbytes = nelems * info.dtype.itemsize;
    int on_gpu = gpu_open(&g) && g.alloc(&on_device, nbytes) == 0;
    host = malloc(nbytes);
    if (!host) {
        status = HR_ERR_MEMORY;
        goto close;
    }

    hr_request request = HR_REQUEST_INIT;
    request.array = array;
    request.dst.data = on_gpu ? (void *)(uintptr_t)on_device : host;
    request.dst.device.type = on_gpu ? HR_DEVICE_CUDA : HR_DEVICE_CPU;
    request.dst.dtype = info.dtype;
    request.dst.ndim = info.ndim;
    request.dst.shape = info.shape;
    printf("destination  %s memory\n", on_gpu ? "GPU" : "host");
    print_places(&info, on_gpu);
    status = read_and_print(context, &request, nbytes, err);
    if (status == HR_OK) {
        if (on_gpu) {
            g.copy_to_host(host, on_device, nbytes);
        }
        printf("values       ");
        print_values(&info.dtype, host, nelems);
    }
close:
    if (on_device) {
        g.free(on_device);
    }
    free(host);
    hr_node_unref(array);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: demo PATH-OF-AN-ARRAY\n");
        return 2;
    }
    hr_context *context = NULL;
    hr_error err = HR_ERROR_INIT;
    hr_status status = hr_context_create(NULL, &context, &err);
    if (status == HR_OK) {
        status = run(context, argv[1], &err);
    }
    hr_context_unref(context);
    if (status != HR_OK) {
        fprintf(stderr, "demo: %s: %s\n", hr_status_name(status), err.message);
    }
    return status == HR_OK ? 0 : 1;
}
