/* headrace doctor: what build and machine can do. SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>

#include "cli.h"
#include "json.h"
#include "report.h"
#include "text.h"

enum { GPUS_MAX = 64 };

typedef struct findings {
    hr_device_info gpus[GPUS_MAX];
    int ngpus;
    hr_error no_gpu; /* why there is no gpus[ngpus] */
    bool has_cufile;
    uint32_t nvcomp; /* its version; 0: not found */
    int ncores;
    uint64_t memlock_nbytes; /* UINT64_MAX = unlimited */
} findings;

static bool can_load(const char *library) {
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (handle != NULL) {
        (void)dlclose(handle);
    }
    return handle != NULL;
}

static int count_cores(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static void look(findings *f) {
    *f = (findings){.no_gpu = HR_ERROR_INIT};
    for (; f->ngpus < GPUS_MAX; f->ngpus++) {
        hr_device device = {.type = HR_DEVICE_CUDA, .index = f->ngpus};
        f->gpus[f->ngpus] = HR_DEVICE_INFO_INIT;
        if (hr_device_describe(device, &f->gpus[f->ngpus], &f->no_gpu) != HR_OK) {
            break;
        }
    }
    f->has_cufile = can_load("libcufile.so.0");
    if (hr_nvcomp_version("", &f->nvcomp, NULL) != HR_OK) {
        f->nvcomp = 0;
    }
    f->ncores = count_cores();
    struct rlimit limit = {.rlim_cur = 0};
    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    f->memlock_nbytes = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

static json_object *gpus_json(const findings *f) {
    json_object *list = json_object_new_array();
    for (int i = 0; i < f->ngpus; i++) {
        const hr_device_info *gpu = &f->gpus[i];
        char compute[32];
        snprintf(compute, sizeof compute, "%d.%d", gpu->compute_major,
                 gpu->compute_minor);
        json_object *object = json_object_new_object();
        json_object_object_add(object, "name", json_object_new_string(gpu->name));
        json_object_object_add(object, "memory_nbytes",
                               json_object_new_uint64(gpu->memory_nbytes));
        json_object_object_add(object, "compute", json_object_new_string(compute));
        json_object_object_add(object, "numa",
                               gpu->numa[0] == '\0' ? NULL
                                                    : json_object_new_string(gpu->numa));
        json_object_object_add(object, "kernels",
                               json_object_new_boolean(gpu->has_kernels != 0));
        json_object_array_add(list, object);
    }
    return list;
}

static json_object *codecs_json(void) {
    json_object *list = json_object_new_array();
    hr_codec_support codec;
    for (size_t i = 0; hr_codec_list(i, &codec) != 0; i++) {
        json_object *object = json_object_new_object();
        json_object_object_add(object, "name", json_object_new_string(codec.name));
        json_object_object_add(object, "library", json_object_new_string(codec.library));
        json_object_object_add(object, "cpu", json_object_new_boolean(codec.on_cpu != 0));
        json_object_object_add(object, "cuda",
                               json_object_new_boolean(codec.on_cuda != 0));
        json_object_array_add(list, object);
    }
    return list;
}

/* "6.0.0". */
static const char *nvcomp_text(const findings *f, char text[24]) {
    (void)snprintf(text, 24, "%u.%u.%u", f->nvcomp / 1000, f->nvcomp % 1000 / 100,
                   f->nvcomp % 100);
    return text;
}

static void print_json(const findings *f) {
    char text[24];
    json_object *object = json_object_new_object();
    json_object_object_add(object, "version", json_object_new_string(hr_version()));
    json_object_object_add(object, "driver",
                           f->ngpus == 0 ? NULL
                                         : json_object_new_string(f->gpus[0].driver));
    json_object_object_add(object, "gpus", gpus_json(f));
    if (f->ngpus == 0) {
        json_object_object_add(object, "no_gpu_because",
                               json_object_new_string(f->no_gpu.message));
    }
    json_object_object_add(object, "codecs", codecs_json());
    json_object_object_add(object, "cufile", json_object_new_boolean(f->has_cufile));
    json_object_object_add(object, "nvcomp",
                           f->nvcomp == 0 ? NULL
                                          : json_object_new_string(nvcomp_text(f, text)));
    json_object_object_add(object, "threads", json_object_new_int(f->ncores));
    json_object_object_add(object, "memlock_nbytes",
                           f->memlock_nbytes == UINT64_MAX
                               ? NULL
                               : json_object_new_uint64(f->memlock_nbytes));
    cli_json_print(object);
}

static void print_gpus(const findings *f) {
    char size[24];
    if (f->ngpus == 0) {
        printf("GPUs      none: %s\n", f->no_gpu.message);
        return;
    }
    printf("driver    %s\n", f->gpus[0].driver);
    for (int i = 0; i < f->ngpus; i++) {
        const hr_device_info *gpu = &f->gpus[i];
        printf("cuda:%-4d %s, %s, compute capability %d.%d%s%s%s\n", i, gpu->name,
               cli_nbytes_text(gpu->memory_nbytes, size), gpu->compute_major,
               gpu->compute_minor, gpu->numa[0] != '\0' ? ", NUMA " : "", gpu->numa,
               gpu->has_kernels != 0 ? "" : ", this build has no kernels for it");
    }
}

static void print_text(const findings *f) {
    char size[24];
    printf("headrace  %s\n", hr_version());
    print_gpus(f);
    printf("cuFile    %s\n", f->has_cufile ? "found" : "not found");
    printf("nvCOMP    %s\n", f->nvcomp == 0 ? "not found" : nvcomp_text(f, size));
    printf("threads   %d\n", f->ncores);
    printf("memlock   %s\n", f->memlock_nbytes == UINT64_MAX
                                 ? "unlimited"
                                 : cli_nbytes_text(f->memlock_nbytes, size));
    printf("\n%s%-20s %-4s %-5s %s%s\n", cli_bold(stdout), "codec", "cpu", "cuda",
           "library", cli_plain(stdout));
    hr_codec_support codec;
    for (size_t i = 0; hr_codec_list(i, &codec) != 0; i++) {
        printf("%-20s %-4s %-5s %s\n", codec.name, codec.on_cpu != 0 ? "yes" : "-",
               codec.on_cuda != 0 ? "yes" : "-", codec.library);
    }
}

static int run(cli *c) {
    findings f;
    look(&f);
    if (c->args.nthreads != 0) {
        f.ncores = (int)c->args.nthreads;
    }
    if (c->args.json) {
        print_json(&f);
    } else {
        print_text(&f);
    }
    return CLI_OK;
}

const cli_command cli_doctor = {
    .name = "doctor",
    .summary = "show what this build and this machine can do",
    .usage =
        "[--json]\n\n"
        "Version, driver, GPUs and their NUMA nodes, codecs, cuFile, nvCOMP, threads\n"
        "and the limit of locked memory.\n\n"
        "  --json                  print one JSON object\n\n",
    .takes = CLI_TAKES_JSON,
    .min_positional = 0,
    .max_positional = 0,
    .run = run,
};
