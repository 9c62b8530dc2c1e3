/* Threads of a block that wait for each other, on the host.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every thread of a block is a fiber; what it does between two waits it does alone, and
 * who goes first is drawn from the seed anew after every wait, so that a barrier which is
 * missing shows as wrong data. Warps and barriers whose threads cannot all come, or come
 * by different lines of the source, end the program with a list of who waits where.
 * Dynamic shared memory is a fresh allocation per block, for the address sanitizer.
 * Included by simt.h. State is static: one block at a time, whatever the threads of the
 * process. */
#ifndef HR_CUDA_SIMT_LANES_H
#define HR_CUDA_SIMT_LANES_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define HR_SIMT_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HR_SIMT_ASAN
#endif
#endif
#ifdef HR_SIMT_ASAN
#include <sanitizer/common_interface_defs.h>
#define HR_SIMT_FAST __attribute__((no_sanitize("address", "undefined")))
#else
#define HR_SIMT_FAST
#endif

#define __shared__ static

#define HR_SIMT_STACK_NBYTES (UINT64_C(1) << 16)
#define HR_SIMT_GUARD_NBYTES (UINT64_C(1) << 12)
#define HR_SIMT_POISON 0xCD
#define HR_SIMT_WARP 32
#define HR_SIMT_NBARRIERS 16

/* Where in the source a thread waits. As a default argument: at the call. */
struct hr_site {
    const char *file;
    int line;

    static constexpr hr_site here(const char *file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
        return {file, line};
    }
    bool operator==(const hr_site &other) const {
        return line == other.line &&
               (file == other.file || strcmp(file, other.file) == 0);
    }
};

enum hr_simt_wait {
    HR_SIMT_READY,
    HR_SIMT_AT_WARP,
    HR_SIMT_AT_BARRIER,
    HR_SIMT_FINISHED,
};

struct hr_simt_lane {
    void *stack_pointer;
    void *fake_stack; /* of the address sanitizer */
    hr_simt_wait wait;
    uint32_t mask, barrier; /* of what it waits for */
    uint32_t meeting;       /* the last one it was at */
    uint64_t value;         /* brought to the other lanes */
    hr_site site;
};

struct hr_simt_meeting {
    uint32_t present; /* lanes that may still look at what was brought */
    uint64_t brought[HR_SIMT_WARP];
};

struct hr_simt_warp {
    uint32_t arrived;
    hr_simt_meeting meetings[HR_SIMT_WARP];
};

struct hr_simt_barrier {
    uint32_t arrived, waiting;
    hr_site site; /* of those waiting */
};

struct hr_simt_block {
    hr_simt_lane lanes[HR_SIMT_MAX_THREADS];
    hr_simt_warp warps[HR_SIMT_MAX_THREADS / HR_SIMT_WARP];
    hr_simt_barrier barriers[HR_SIMT_NBARRIERS];
    uint32_t nlanes, nfinished, current;
    uint8_t *shared, *stacks;
    void (*call)(const void *kernel, const void *params);
    const void *kernel, *params;
    void *scheduler; /* its stack pointer while a lane runs */
    const void *scheduler_stack;
    size_t scheduler_stack_nbytes;
};

static hr_simt_block hr_simt_block_now;
static pthread_mutex_t hr_simt_block_lock = PTHREAD_MUTEX_INITIALIZER;

/* Save the registers a call must keep and the stack pointer, and take up others. By hand,
 * since swapcontext makes two system calls. */
extern "C" void hr_simt_switch(void **saved, void *resumed);
#if defined(__x86_64__)
asm(".text\n.globl hr_simt_switch\n.hidden hr_simt_switch\nhr_simt_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
#define HR_SIMT_FRAME_NWORDS 8 /* the last one only aligns */
#define HR_SIMT_FRAME_RETURN 6
#elif defined(__aarch64__)
asm(".text\n.globl hr_simt_switch\n.hidden hr_simt_switch\nhr_simt_switch:\n"
    "sub sp, sp, #160\n"
    "stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
    "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\n"
    "stp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
    "mov x2, sp\nstr x2, [x0]\nmov sp, x1\n"
    "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
    "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\n"
    "ldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
    "add sp, sp, #160\nret\n");
#define HR_SIMT_FRAME_NWORDS 20
#define HR_SIMT_FRAME_RETURN 11
#else
#error "the simt device switches stacks by hand: not yet on this processor"
#endif

/* Tell who waits where, and end. */
[[noreturn]] static void hr_simt_fail(const char *what) {
    static const char *const waits[] = {"goes on from", "waits for its warp at",
                                        "waits for the block at", "finished after"};
    const hr_simt_block &b = hr_simt_block_now;
    fprintf(stderr, "simt: %s, in block %u of %u threads\n", what, blockIdx.x, b.nlanes);
    for (uint32_t i = 0; i < b.nlanes; i++) {
        const hr_simt_lane &l = b.lanes[i], &before = b.lanes[i > 0 ? i - 1 : 0];
        if (i == 0 || l.wait != before.wait || l.site.line != before.site.line) {
            fprintf(stderr, "  thread %u and on %s %s:%d\n", i, waits[l.wait],
                    l.site.file == nullptr ? "the start" : l.site.file, l.site.line);
        }
    }
    abort();
}

HR_SIMT_FAST static void hr_simt_to_scheduler(bool for_good) {
    hr_simt_block &b = hr_simt_block_now;
    hr_simt_lane &self = b.lanes[b.current];
#ifdef HR_SIMT_ASAN
    __sanitizer_start_switch_fiber(for_good ? nullptr : &self.fake_stack,
                                   b.scheduler_stack, b.scheduler_stack_nbytes);
#endif
    (void)for_good;
    hr_simt_switch(&self.stack_pointer, b.scheduler);
#ifdef HR_SIMT_ASAN
    __sanitizer_finish_switch_fiber(self.fake_stack, &b.scheduler_stack,
                                    &b.scheduler_stack_nbytes);
#endif
}

static uint8_t *hr_simt_stack(uint32_t lane) {
    return hr_simt_block_now.stacks + lane * HR_SIMT_STACK_NBYTES + HR_SIMT_GUARD_NBYTES;
}

HR_SIMT_FAST static void hr_simt_to_lane(uint32_t lane) {
    hr_simt_block &b = hr_simt_block_now;
    b.current = lane;
    threadIdx = {lane, 0, 0};
#ifdef HR_SIMT_ASAN
    void *fake_stack;
    __sanitizer_start_switch_fiber(&fake_stack, hr_simt_stack(lane),
                                   HR_SIMT_STACK_NBYTES - HR_SIMT_GUARD_NBYTES);
#endif
    hr_simt_switch(&b.scheduler, b.lanes[lane].stack_pointer);
#ifdef HR_SIMT_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

static void hr_simt_lane_main() {
    hr_simt_block &b = hr_simt_block_now;
#ifdef HR_SIMT_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &b.scheduler_stack,
                                    &b.scheduler_stack_nbytes);
#endif
    b.call(b.kernel, b.params);
    b.lanes[b.current].wait = HR_SIMT_FINISHED;
    b.nfinished++;
    hr_simt_to_scheduler(true);
    abort(); /* a finished lane was resumed */
}

HR_SIMT_FAST static void hr_simt_hold_meeting(hr_simt_warp *warp, uint32_t first,
                                              uint32_t mask, hr_site site) {
    uint32_t room = 0;
    while (warp->meetings[room].present != 0) { /* each lane is at one at most */
        room++;
    }
    hr_simt_meeting &meeting = warp->meetings[room];
    meeting.present = mask;
    warp->arrived &= ~mask;
    for (uint32_t i = 0; i < HR_SIMT_WARP; i++) {
        if (mask >> i & 1) {
            hr_simt_lane &lane = hr_simt_block_now.lanes[first + i];
            if (lane.mask != mask || !(lane.site == site)) {
                hr_simt_fail("lanes meet with different masks or at different lines");
            }
            meeting.brought[i] = lane.value;
            lane.meeting = room;
            lane.wait = HR_SIMT_READY;
        }
    }
}

/* Wait for the lanes of the mask; what each brought, by lane, until the next meeting. */
HR_SIMT_FAST static const uint64_t *hr_simt_meet(uint32_t mask, uint64_t value,
                                                 hr_site site) {
    hr_simt_block &b = hr_simt_block_now;
    hr_simt_lane &self = b.lanes[b.current];
    const uint32_t first = b.current - b.current % HR_SIMT_WARP;
    const uint32_t bit = 1U << (b.current - first);
    hr_simt_warp &warp = b.warps[first / HR_SIMT_WARP];
    warp.meetings[self.meeting].present &= ~bit;
    warp.arrived |= bit;
    self.wait = HR_SIMT_AT_WARP;
    self.mask = mask;
    self.value = value;
    self.site = site;
    if ((mask & bit) == 0) {
        hr_simt_fail("a lane is not in its own mask");
    }
    if ((warp.arrived & mask) == mask) {
        hr_simt_hold_meeting(&warp, first, mask, site);
    } else {
        hr_simt_to_scheduler(false);
    }
    return warp.meetings[self.meeting].brought;
}

/* Come to a barrier; the last of nthreads frees those who wait. */
HR_SIMT_FAST static void hr_simt_arrive(uint32_t barrier, uint32_t nthreads) {
    hr_simt_block &b = hr_simt_block_now;
    hr_simt_barrier &bar = b.barriers[barrier];
    if (++bar.arrived < nthreads) {
        return;
    }
    for (uint32_t i = 0; i < b.nlanes && bar.waiting > 0; i++) {
        if (b.lanes[i].wait == HR_SIMT_AT_BARRIER && b.lanes[i].barrier == barrier) {
            b.lanes[i].wait = HR_SIMT_READY;
            bar.waiting--;
        }
    }
    bar = {};
}

HR_SIMT_FAST static void hr_simt_wait_at(uint32_t barrier, uint32_t nthreads,
                                         hr_site site) {
    hr_simt_block &b = hr_simt_block_now;
    hr_simt_lane &self = b.lanes[b.current];
    hr_simt_barrier &bar = b.barriers[barrier];
    self.wait = HR_SIMT_AT_BARRIER;
    self.barrier = barrier;
    self.site = site;
    if (bar.waiting++ == 0) {
        bar.site = site;
    } else if (!(bar.site == site)) {
        hr_simt_fail("threads wait for one barrier at different lines");
    }
    hr_simt_arrive(barrier, nthreads);
    if (self.wait == HR_SIMT_AT_BARRIER) {
        hr_simt_to_scheduler(false);
    }
}

static void hr_simt_start_lane(uint32_t lane) {
    hr_simt_lane &l = hr_simt_block_now.lanes[lane];
    uint8_t *top =
        hr_simt_stack(lane) + (HR_SIMT_STACK_NBYTES - HR_SIMT_GUARD_NBYTES) - 64;
    void **frame = (void **)top - HR_SIMT_FRAME_NWORDS;
    memset(frame, 0, HR_SIMT_FRAME_NWORDS * sizeof *frame);
    frame[HR_SIMT_FRAME_RETURN] = (void *)hr_simt_lane_main;
    l = {};
    l.stack_pointer = frame;
}

HR_SIMT_FAST static inline void hr_simt_run_block(uint64_t *seed) {
    hr_simt_block &b = hr_simt_block_now;
    b.nfinished = 0;
    memset(b.warps, 0, (b.nlanes + HR_SIMT_WARP - 1) / HR_SIMT_WARP * sizeof *b.warps);
    memset(b.barriers, 0, sizeof b.barriers);
    for (uint32_t i = 0; i < b.nlanes; i++) {
        hr_simt_start_lane(i);
    }
    while (b.nfinished < b.nlanes) {
        hr_simt_order order(b.nlanes, seed);
        bool somebody_ran = false;
        for (uint32_t k = 0; k < b.nlanes; k++) {
            uint32_t lane = order(k);
            if (b.lanes[lane].wait == HR_SIMT_READY) {
                hr_simt_to_lane(lane);
                somebody_ran = true;
            }
        }
        if (!somebody_ran) {
            hr_simt_fail("threads wait for others that never come");
        }
    }
}

/* Once, and kept: fibers that ended leave nothing behind. */
static inline void hr_simt_map_stacks() {
    hr_simt_block &b = hr_simt_block_now;
    if (b.stacks != nullptr) {
        return;
    }
    void *map =
        mmap(nullptr, HR_SIMT_MAX_THREADS * HR_SIMT_STACK_NBYTES, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        perror("simt: stacks");
        abort();
    }
    b.stacks = (uint8_t *)map;
    for (uint32_t i = 0; i < HR_SIMT_MAX_THREADS; i++) {
        (void)mprotect(b.stacks + i * HR_SIMT_STACK_NBYTES, HR_SIMT_GUARD_NBYTES,
                       PROT_NONE);
    }
}

template <class Params> static void hr_simt_call(const void *kernel, const void *params) {
    ((void (*)(Params))kernel)(*(const Params *)params);
}

/* Run a kernel whose threads wait for each other, with dynamic shared memory. */
template <class Params>
static void hr_simt_run_lanes(void (*kernel)(Params), const Params &params,
                              uint32_t nblocks, uint32_t nthreads, uint32_t shared_nbytes,
                              uint64_t seed) {
    pthread_mutex_lock(&hr_simt_block_lock);
    hr_simt_map_stacks();
    hr_simt_block &b = hr_simt_block_now;
    gridDim = {nblocks, 1, 1};
    blockDim = {nthreads, 1, 1};
    b.nlanes = nthreads;
    b.call = hr_simt_call<Params>;
    b.kernel = (const void *)kernel;
    b.params = &params;
    hr_simt_order block_order(nblocks, &seed);
    for (uint32_t i = 0; i < nblocks; i++) {
        blockIdx = {block_order(i), 0, 0};
        b.shared = (uint8_t *)malloc(shared_nbytes);
        if (b.shared == nullptr) {
            perror("simt: shared memory");
            abort();
        }
        memset(b.shared, HR_SIMT_POISON, shared_nbytes);
        hr_simt_run_block(&seed);
        free(b.shared);
    }
    pthread_mutex_unlock(&hr_simt_block_lock);
}

#endif
