/* The simt shim itself: threads that wait for each other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/simt.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NTHREADS 128
#define NSEEDS 50

struct job {
    uint32_t *out;
};

static void check(bool holds, const char *what) {
    if (!holds) {
        printf("FAILED: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

static void exchange_kernel(const job j) {
    const uint32_t t = threadIdx.x, lane = t % 32;
    uint32_t sum = t;
    for (uint32_t d = 1; d < 32; d <<= 1) {
        uint32_t below = __shfl_up_sync(0xFFFFFFFF, sum, d);
        sum += lane >= d ? below : 0;
    }
    uint32_t odd = __ballot_sync(0xFFFFFFFF, t % 2 == 1);
    if (lane < 8) { /* some lanes alone */
        odd += __shfl_xor_sync(0xFF, lane, 7);
        __syncwarp(0xFF);
    }
    uint64_t wide = __shfl_sync(0xFFFFFFFF, UINT64_C(1) << 40 | t, 3);
    j.out[t] = sum + odd + (uint32_t)(wide >> 40) + hr_warp_min(t) + hr_warp_sum(1);
}

static void test_lanes_exchange_values() {
    uint32_t out[NTHREADS];
    for (uint64_t seed = 0; seed < NSEEDS; seed++) {
        hr_simt_run_lanes(exchange_kernel, job{out}, 1, NTHREADS, 0, seed);
        for (uint32_t t = 0; t < NTHREADS; t++) {
            uint32_t first = t - t % 32, sum = 0;
            for (uint32_t i = first; i <= t; i++) {
                sum += i;
            }
            uint32_t odd = 0xAAAAAAAA + (t % 32 < 8 ? t % 32 ^ 7 : 0);
            check(out[t] == sum + odd + 1 + first + 32, "lanes exchange values");
        }
    }
}

template <bool BARRIER> static void reverse_kernel(const job j) {
    __shared__ uint32_t values[NTHREADS];
    uint32_t *dynamic = (uint32_t *)hr_shared();
    values[threadIdx.x] = threadIdx.x;
    dynamic[threadIdx.x] = 1;
    if (BARRIER) {
        __syncthreads();
    }
    uint32_t other = NTHREADS - 1 - threadIdx.x;
    j.out[blockIdx.x * NTHREADS + threadIdx.x] = values[other] + dynamic[other];
}

static uint32_t count_reversed(void (*kernel)(const job)) {
    uint32_t right = 0;
    for (uint64_t seed = 0; seed < NSEEDS; seed++) {
        uint32_t out[2 * NTHREADS] = {};
        hr_simt_run_lanes(kernel, job{out}, 2, NTHREADS, NTHREADS * sizeof *out, seed);
        for (uint32_t t = 0; t < 2 * NTHREADS; t++) {
            right += out[t] == NTHREADS - t % NTHREADS;
        }
    }
    return right;
}

static void test_a_missing_barrier_shows() {
    check(count_reversed(reverse_kernel<true>) == NSEEDS * 2 * NTHREADS,
          "a barrier orders the block");
    check(count_reversed(reverse_kernel<false>) < NSEEDS * 2 * NTHREADS * 3 / 4,
          "a missing barrier shows");
}

/* The first warp makes, the others take, through two buffers. */
static void pipeline_kernel(const job j) {
    enum { FULL = 1, EMPTY = 3, ROUNDS = 9 };
    volatile uint32_t *buffers = (uint32_t *)hr_shared();
    uint32_t sum = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (threadIdx.x < 32) {
            if (i >= 2) {
                hr_barrier_sync(EMPTY + i % 2, NTHREADS);
            }
            buffers[i % 2 * 32 + threadIdx.x] = i * 100 + threadIdx.x;
            hr_barrier_arrive(FULL + i % 2, NTHREADS);
        } else {
            hr_barrier_sync(FULL + i % 2, NTHREADS);
            sum += buffers[i % 2 * 32 + threadIdx.x % 32];
            hr_barrier_arrive(EMPTY + i % 2, NTHREADS);
        }
    }
    j.out[threadIdx.x] = sum;
}

static void test_named_barriers_hand_over() {
    uint32_t out[NTHREADS];
    for (uint64_t seed = 0; seed < NSEEDS; seed++) {
        hr_simt_run_lanes(pipeline_kernel, job{out}, 1, NTHREADS, 64 * sizeof *out, seed);
        for (uint32_t t = 32; t < NTHREADS; t++) {
            check(out[t] == 3600 + 9 * (t % 32), "named barriers hand over");
        }
    }
}

static void divergent_kernel(const job) {
    if (threadIdx.x % 32 == 5) {
        __syncthreads();
    }
    __syncwarp();
}
static void two_lines_kernel(const job) {
    if (threadIdx.x % 32 == 5) {
        __syncwarp();
    } else {
        __syncwarp();
    }
}
static void never_met_kernel(const job) {
    if (threadIdx.x != 7) {
        (void)__ballot_sync(0xFFFFFFFF, true);
    }
}

static void test_ends_the_program(void (*kernel)(const job), const char *what) {
    pid_t child = fork();
    if (child == 0) {
        check(freopen("/dev/null", "w", stderr) != nullptr, "freopen");
        hr_simt_run_lanes(kernel, job{nullptr}, 1, 64, 0, 1);
        _exit(0);
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child, "waitpid");
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, what);
}

int main() {
    test_lanes_exchange_values();
    test_a_missing_barrier_shows();
    test_named_barriers_hand_over();
    test_ends_the_program(divergent_kernel, "a barrier that some miss ends the program");
    test_ends_the_program(two_lines_kernel, "meeting at two lines ends the program");
    test_ends_the_program(never_met_kernel, "a meeting that never is ends the program");
    printf("ok\n");
    return EXIT_SUCCESS;
}
