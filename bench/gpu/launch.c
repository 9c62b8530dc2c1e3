/* What launches cost on their own. SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_launch cuda|simt
 *
 * One LZ4 stream of a byte, by itself and in the chain of a slab: 64 KiB up, the decoder,
 * two small copies (as the store and the words of the statuses are), 8 bytes down. Per
 * launch or chain, of many in a row: what the calling thread spends, and how long it
 * takes the device; and how long one takes that is waited for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "cuda/kernel_abi.h"
#include "kern/device_run.h"
#include "timer.h"

#define NROUNDS 1000
#define UP_NBYTES 65536

typedef struct chain {
    runner r;
    timer t;
    hr__devptr data; /* the stream, the output, status and counter, the task */
    uint8_t *up;
    hr_k_decode decode;
    hr_k_scatter copy;
} chain;

static void chain_open(chain *c, const char *device) {
    runner_open(&c->r, device);
    timer_open(&c->t, &c->r);
    c->data = runner_alloc(&c->r, UP_NBYTES);
    c->up = must_malloc(UP_NBYTES);
    memset(c->up, 0, UP_NBYTES);
    c->up[0] = 1 << 4; /* one literal, the stream's end */
    const hr_k_task task = {
        .src = c->data, .dst = c->data + 64, .src_nbytes = 2, .dst_nbytes = 1};
    memcpy(c->up + 256, &task, sizeof task);
    c->decode = (hr_k_decode){.tasks = c->data + 256,
                              .counter = c->data + 136,
                              .status = c->data + 128,
                              .ntasks = 1,
                              .team = HR_K_LZ_w2};
    c->copy = (hr_k_scatter){
        .src = c->data + 128, .dst = c->data + 192, .nitems = 1, .itemsize = 8};
}

static void launch_decoder(chain *c) {
    runner_launch(&c->r, HR__KERNEL_LZ4, &c->decode);
}

static void launch_chain(chain *c) {
    runner_upload(&c->r, c->data, c->up, UP_NBYTES);
    launch_decoder(c);
    runner_launch(&c->r, HR__KERNEL_SCATTER, &c->copy);
    runner_launch(&c->r, HR__KERNEL_SCATTER, &c->copy);
}

static void measure(chain *c, const char *name, void (*launch)(chain *)) {
    launch(c);
    runner_sync(&c->r);
    timer_start(&c->t);
    double begin = now_s();
    for (int i = 0; i < NROUNDS; i++) {
        launch(c);
    }
    double host = now_s() - begin, device = timer_stop(&c->t);
    begin = now_s();
    for (int i = 0; i < NROUNDS; i++) {
        launch(c);
        runner_sync(&c->r);
    }
    double waited = now_s() - begin;
    printf("%-8s %6.2f us of the caller, %6.2f us of the device, %6.2f us waited for\n",
           name, 1e6 * host / NROUNDS, 1e6 * device / NROUNDS, 1e6 * waited / NROUNDS);
}

int main(int argc, char **argv) {
    chain c = {0};
    chain_open(&c, argc > 1 ? argv[1] : "cuda");
    measure(&c, "decoder", launch_decoder);
    measure(&c, "chain", launch_chain);
    c.r.ops->free(c.r.device, c.data);
    free(c.up);
    runner_close(&c.r);
    return EXIT_SUCCESS;
}
