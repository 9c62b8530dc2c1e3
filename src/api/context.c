/* The context. SPDX-License-Identifier: Apache-2.0 */
#include "exec/context.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "api/options.h"
#include "exec/run.h"

#define MIB (UINT64_C(1) << 20)
#define DEFAULT_SCRATCH (256 * MIB)
#define DEFAULT_DEVICE_SCRATCH (1024 * MIB)
#define DEFAULT_INDEX_CACHE (64 * MIB)
#define DEFAULT_METADATA_MAX (64 * MIB)
#define SLOTS_PER_THREAD 2
#define MAX_THREADS 1024
#define DIRECT_THREADS 16

const char *hr_version(void) {
    return HR_VERSION;
}

/* Cores this process may run on. */
static uint32_t available_cores(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        return (uint32_t)CPU_COUNT(&set);
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < MAX_THREADS ? (uint32_t)n : 1;
}

/* A thread that reads past the page cache waits for the disk, which is only busy with
 * many reads at once. */
static uint32_t usual_threads(hr_io_mode io) {
    const uint32_t ncores = available_cores();
    return io == HR_IO_DIRECT && ncores < DIRECT_THREADS ? DIRECT_THREADS : ncores;
}

static uint64_t or_default(uint64_t value, uint64_t otherwise) {
    return value == 0 ? otherwise : value;
}

static hr_status read_options(const hr_context_options *options, hr_context_options *o,
                              hr_allocator *allocator, hr_error *err) {
    HR__TRY(hr__options_read(o, sizeof *o, options, "hr_context_options", err));
    *allocator = hr__malloc_allocator;
    if (o->allocator != NULL) {
        HR__TRY(hr__options_read(allocator, sizeof *allocator, o->allocator,
                                 "hr_allocator", err));
        if (allocator->alloc == NULL || allocator->free == NULL) {
            return hr__fail(err, HR_ERR_ARGUMENT, "hr_allocator: alloc or free is NULL");
        }
    }
    if (o->nthreads > MAX_THREADS) {
        return hr__fail(err, HR_ERR_ARGUMENT, "nthreads is %u, at most %d", o->nthreads,
                        MAX_THREADS);
    }
    if (o->io != HR_IO_BUFFERED && o->io != HR_IO_DIRECT) {
        return hr__fail(err, HR_ERR_ARGUMENT, "io is %d, no hr_io_mode", (int)o->io);
    }
    return HR_OK;
}

static hr_status read_device_allocator(const hr_device_allocator *given,
                                       hr_device_allocator *out, hr_error *err) {
    HR__TRY(hr__options_read(out, sizeof *out, given, "hr_device_allocator", err));
    if ((out->alloc == NULL) != (out->free == NULL) ||
        (out->alloc_pinned == NULL) != (out->free_pinned == NULL)) {
        return hr__fail(err, HR_ERR_ARGUMENT,
                        "hr_device_allocator: one of a pair is NULL");
    }
    return HR_OK;
}

static void context_free(hr_context *c) {
    if (c->pool != NULL) {
        hr__pool_destroy(c->pool);
    }
    hr__ring_set_free(&c->rings);
    hr__cache_destroy(c->indexes);
    hr__history_destroy(&c->history);
    hr__cache_destroy(c->encoded);
    hr__cache_destroy(c->decoded);
    hr__custom_free(&c->codecs);
    hr__recycler_free(&c->records);
    hr_allocator allocator = c->allocator;
    hr__free(&allocator, c, sizeof *c);
}

/* None for no bytes. */
static bool create_cache(hr_context *c, uint64_t max_nbytes, hr__cache **out) {
    *out = max_nbytes > 0 ? hr__cache_create(&c->allocator, max_nbytes) : NULL;
    return *out != NULL || max_nbytes == 0;
}

static bool create_caches(hr_context *c, const hr_context_options *o) {
    return create_cache(c, or_default(o->index_cache_nbytes, DEFAULT_INDEX_CACHE),
                        &c->indexes) &&
           create_cache(c, o->encoded_cache_nbytes, &c->encoded) &&
           create_cache(c, o->chunk_cache_nbytes, &c->decoded);
}

hr_status hr_context_create(const hr_context_options *options, hr_context **out,
                            hr_error *err) {
    if (out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "out is NULL");
    }
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    hr_allocator allocator;
    hr_device_allocator device_allocator = {0};
    HR__TRY(read_options(options, &o, &allocator, err));
    HR__TRY(read_device_allocator(o.device_allocator, &device_allocator, err));
    hr_context *c = hr__calloc(&allocator, sizeof *c);
    if (c == NULL) {
        return hr__fail_memory(err, sizeof *c);
    }
    if (o.nvcomp != NULL) {
        hr_status status = hr__nvcomp_open(o.nvcomp, &c->nvcomp, err);
        if (status != HR_OK) {
            hr__free(&allocator, c, sizeof *c);
            return status;
        }
    }
    atomic_init(&c->refs, 1);
    atomic_init(&c->next_source_id, 1);
    c->allocator = allocator;
    hr__recycler_init(&c->records, &c->allocator);
    c->log = (hr__log){.fn = o.log, .user = o.log_user, .level = o.log_level};
    c->io = o.io;
    c->nthreads = o.nthreads == 0 ? usual_threads(o.io) : o.nthreads;
    c->metadata_max_nbytes = or_default(o.metadata_max_nbytes, DEFAULT_METADATA_MAX);
    hr__ring_set_init(&c->rings, &c->allocator,
                      or_default(o.scratch_nbytes, DEFAULT_SCRATCH),
                      or_default(o.device_scratch_nbytes, DEFAULT_DEVICE_SCRATCH),
                      c->nthreads * SLOTS_PER_THREAD);
    c->device_allocator = device_allocator;
    c->rings.hooks = &c->device_allocator;
    hr__history_init(&c->history);
    hr__custom_init(&c->codecs, &c->allocator);
    c->pool = hr__pool_create(&c->allocator, c->nthreads,
                              (hr__pool_hooks){.user = &c->allocator,
                                               .worker_create = hr__run_worker_create,
                                               .worker_destroy = hr__run_worker_destroy});
    if (!create_caches(c, &o) || c->pool == NULL) {
        context_free(c);
        return hr__fail_memory(err, sizeof *c);
    }
    *out = c;
    return HR_OK;
}

hr_status hr_context_get_stats(hr_context *context, hr_context_stats *stats,
                               hr_error *err) {
    if (context == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "context is NULL");
    }
    hr_context_stats known = HR_CONTEXT_STATS_INIT;
    hr__cache_get_stats(context->indexes, &known.indexes);
    hr__cache_get_stats(context->encoded, &known.encoded_chunks);
    hr__cache_get_stats(context->decoded, &known.decoded_chunks);
    return hr__options_write(stats, &known, sizeof known, "hr_context_stats", err);
}

void hr_context_clear_caches(hr_context *context) {
    if (context != NULL) {
        hr__cache_clear(context->indexes);
        hr__cache_clear(context->encoded);
        hr__cache_clear(context->decoded);
    }
}

hr_status hr_context_add_codec(hr_context *context, const hr_custom_codec *codec,
                               hr_error *err) {
    if (context == NULL || codec == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "context or codec is NULL");
    }
    return hr__custom_add(&context->codecs, codec, err);
}

hr_status hr_nvcomp_version(const char *library, uint32_t *out, hr_error *err) {
    hr__nvcomp nvcomp = {0};
    if (library == NULL || out == NULL) {
        return hr__fail(err, HR_ERR_ARGUMENT, "library or out is NULL");
    }
    HR__TRY(hr__nvcomp_open(library, &nvcomp, err));
    *out = nvcomp.version;
    return HR_OK;
}

hr_context *hr_context_ref(hr_context *context) {
    if (context != NULL) {
        atomic_fetch_add(&context->refs, 1);
    }
    return context;
}

void hr_context_unref(hr_context *context) {
    if (context != NULL && atomic_fetch_sub(&context->refs, 1) == 1) {
        const hr_device_allocator hooks = context->device_allocator;
        context_free(context);
        if (hooks.destroy != NULL) {
            hooks.destroy(hooks.user);
        }
    }
}

hr_status hr_device_describe(hr_device device, hr_device_info *out, hr_error *err) {
    hr_device_info info = HR_DEVICE_INFO_INIT;
    if (device.type == 0 || device.type == HR_DEVICE_CPU) {
        (void)strcpy(info.name, "cpu");
        info.memory_nbytes =
            (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    } else {
        const hr__device_ops *ops = NULL;
        HR__TRY(hr__device_require(device.type, &ops, err));
        HR__TRY(ops->describe(device.index, &info, err));
    }
    return hr__options_write(out, &info, sizeof info, "hr_device_info", err);
}
