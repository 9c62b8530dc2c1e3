/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/host_share.h"

#define LEAST_GAIN 0.2

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* With k of n chunks on the host. What the host takes on grows with k; a thread decodes
 * one chunk at a time. */
static double host_ns(const hr__host_share_costs *c, uint64_t n, uint64_t k,
                      uint32_t nthreads) {
    const uint64_t turns = k / nthreads + (k % nthreads != 0);
    const double threads = (double)n * c->thread / nthreads + (double)turns * c->decode;
    return larger(threads,
                  (double)(n - k) * c->copy_encoded + (double)k * c->copy_decoded);
}

static double batch_ns(const hr__host_share_costs *c, uint64_t n, uint64_t k,
                       uint32_t nthreads) {
    const double kernels = k < n ? larger((double)(n - k) * c->kernels, c->latency) : 0;
    return larger(host_ns(c, n, k, nthreads), kernels + (double)n * c->store);
}

uint64_t hr__host_share_choose(const hr__host_share_costs *c, uint64_t n,
                               uint32_t nthreads) {
    uint64_t low = 0, high = n; /* the kernels' time falls with k, the other grows */
    while (low < high) {
        const uint64_t k = low + (high - low) / 2;
        if (batch_ns(c, n, k, nthreads) > host_ns(c, n, k, nthreads)) {
            low = k + 1;
        } else {
            high = k;
        }
    }
    if (low > 0 && batch_ns(c, n, low - 1, nthreads) <= batch_ns(c, n, low, nthreads)) {
        low--;
    }
    const double none = batch_ns(c, n, 0, nthreads);
    return batch_ns(c, n, low, nthreads) < (1 - LEAST_GAIN) * none ? low : 0;
}
