/* Memory that arrays are read into. SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

/* What is needed of the CUDA driver, which is opened when a GPU is asked for. */
typedef struct cli_cuda {
    void *library;
    int device;
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*retain)(void **context, int device);
    int (*release)(int device);
    int (*set_current)(void *context);
    int (*alloc)(uint64_t *address, size_t nbytes);
    int (*to_host)(void *host, uint64_t address, size_t nbytes);
    int (*free)(uint64_t address);
} cli_cuda;

static int load_symbols(cli_cuda *cuda) {
    const struct {
        const char *name;
        void *place;
    } symbols[] = {
        {"cuInit", &cuda->init},
        {"cuDeviceGet", &cuda->device_get},
        {"cuDevicePrimaryCtxRetain", &cuda->retain},
        {"cuDevicePrimaryCtxRelease_v2", &cuda->release},
        {"cuCtxSetCurrent", &cuda->set_current},
        {"cuMemAlloc_v2", &cuda->alloc},
        {"cuMemcpyDtoH_v2", &cuda->to_host},
        {"cuMemFree_v2", &cuda->free},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(cuda->library, symbols[i].name);
        if (symbol == NULL) {
            return cli_failure("libcuda.so.1 lacks %s", symbols[i].name);
        }
        memcpy(symbols[i].place, &symbol, sizeof symbol);
    }
    return CLI_OK;
}

static int open_context(cli_cuda *cuda, int ordinal) {
    void *context = NULL;
    int code = cuda->init(0);
    if (code == 0) {
        code = cuda->device_get(&cuda->device, ordinal);
    }
    if (code == 0) {
        code = cuda->retain(&context, cuda->device);
    }
    if (code != 0) {
        return cli_failure("cuda:%d cannot be used (CUresult %d)", ordinal, code);
    }
    code = cuda->set_current(context);
    if (code != 0) {
        (void)cuda->release(cuda->device);
        return cli_failure("cuda:%d has no usable context (CUresult %d)", ordinal, code);
    }
    return CLI_OK;
}

static int open_cuda(int ordinal, cli_cuda **out) {
    cli_cuda *cuda = calloc(1, sizeof *cuda);
    if (cuda == NULL) {
        return cli_out_of_memory(sizeof *cuda);
    }
    cuda->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int rc = cuda->library == NULL ? cli_failure("no CUDA driver: %s", dlerror())
                                   : load_symbols(cuda);
    if (rc == CLI_OK) {
        rc = open_context(cuda, ordinal);
    }
    if (rc != CLI_OK) {
        free(cuda); /* the driver itself stays loaded: it does not like to be closed */
        return rc;
    }
    *out = cuda;
    return CLI_OK;
}

static int reserve_cuda(cli_memory *memory, uint64_t nbytes) {
    int rc = CLI_OK;
    if (memory->cuda == NULL) {
        rc = open_cuda(memory->device.index, &memory->cuda);
    }
    if (rc != CLI_OK) {
        return rc;
    }
    if (memory->data != NULL) {
        (void)memory->cuda->free((uint64_t)(uintptr_t)memory->data);
        memory->data = NULL;
    }
    uint64_t address = 0;
    int code = memory->cuda->alloc(&address, nbytes);
    if (code != 0) {
        return cli_failure("cannot allocate %llu bytes on cuda:%d (CUresult %d)",
                           (unsigned long long)nbytes, memory->device.index, code);
    }
    memory->data = (void *)(uintptr_t)address;
    return CLI_OK;
}

/* More than the machine has would be granted now and fail when it is written. */
static uint64_t physical_nbytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

static int reserve_host(cli_memory *memory, uint64_t nbytes) {
    free(memory->data);
    memory->data = nbytes <= physical_nbytes() ? malloc(nbytes) : NULL;
    if (memory->data == NULL) {
        return cli_failure("cannot allocate %llu bytes; read less with -s",
                           (unsigned long long)nbytes);
    }
    return CLI_OK;
}

int cli_memory_reserve(cli_memory *memory, uint64_t nbytes) {
    nbytes = nbytes == 0 ? 1 : nbytes;
    if (nbytes <= memory->nbytes) {
        return CLI_OK;
    }
    memory->nbytes = 0;
    int rc = memory->device.type == HR_DEVICE_CUDA ? reserve_cuda(memory, nbytes)
                                                   : reserve_host(memory, nbytes);
    if (rc == CLI_OK) {
        memory->nbytes = nbytes;
    }
    return rc;
}

int cli_memory_download(const cli_memory *memory, void *host, uint64_t nbytes) {
    if (memory->device.type != HR_DEVICE_CUDA) {
        memcpy(host, memory->data, nbytes);
        return CLI_OK;
    }
    int code =
        nbytes == 0
            ? 0
            : memory->cuda->to_host(host, (uint64_t)(uintptr_t)memory->data, nbytes);
    if (code != 0) {
        return cli_failure("cannot copy from cuda:%d (CUresult %d)", memory->device.index,
                           code);
    }
    return CLI_OK;
}

void cli_memory_free(cli_memory *memory) {
    if (memory->cuda == NULL) {
        free(memory->data);
    } else {
        if (memory->data != NULL) {
            (void)memory->cuda->free((uint64_t)(uintptr_t)memory->data);
        }
        (void)memory->cuda->release(memory->cuda->device);
        free(memory->cuda);
    }
    *memory = (cli_memory){.data = NULL};
}
