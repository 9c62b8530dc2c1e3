/* Fletcher-32 and lookup3, the checksums of HDF5. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/checksum.h"

uint32_t hr__fletcher32(const uint8_t *data, size_t nbytes) {
    uint32_t sum1 = 0, sum2 = 0;
    size_t nwords = nbytes / 2;
    while (nwords > 0) {
        size_t n = nwords < 360 ? nwords : 360; /* more could overflow sum2 */
        nwords -= n;
        for (; n > 0; n--, data += 2) {
            sum1 += (uint32_t)data[0] << 8 | data[1];
            sum2 += sum1;
        }
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    if (nbytes % 2 != 0) {
        sum1 += (uint32_t)data[0] << 8;
        sum2 += sum1;
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    return sum2 << 16 | sum1;
}

static uint32_t rotate(uint32_t x, int k) {
    return x << k | x >> (32 - k);
}

static void mix(uint32_t s[3]) {
    static const int turns[6] = {4, 6, 8, 16, 19, 4};
    for (int i = 0; i < 6; i++) {
        int a = i % 3, b = (i + 1) % 3, c = (i + 2) % 3;
        s[a] -= s[c];
        s[a] ^= rotate(s[c], turns[i]);
        s[c] += s[b];
    }
}

static uint32_t final(uint32_t s[3]) {
    static const int turns[7] = {14, 11, 25, 16, 4, 14, 24};
    for (int i = 0; i < 7; i++) {
        int to = (i + 2) % 3, from = (i + 1) % 3;
        s[to] ^= s[from];
        s[to] -= rotate(s[from], turns[i]);
    }
    return s[2];
}

/* Add n ≤ 12 little-endian bytes to the three words. */
static void add(uint32_t s[3], const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        s[i / 4] += (uint32_t)bytes[i] << (8 * (i % 4));
    }
}

uint32_t hr__jenkins_lookup3(uint32_t initval, const uint8_t *prefix, size_t nprefix,
                             const uint8_t *data, size_t nbytes) {
    size_t left = nprefix + nbytes;
    uint32_t start = 0xdeadbeef + (uint32_t)left + initval;
    uint32_t s[3] = {start, start, start};
    if (left == 0) {
        return start;
    }
    for (;;) {
        uint8_t block[12];
        size_t n = left < 12 ? left : 12;
        size_t head = nprefix < n ? nprefix : n;
        if (head > 0) {
            memcpy(block, prefix, head);
            prefix += head;
            nprefix -= head;
        }
        if (n > head) {
            memcpy(block + head, data, n - head);
            data += n - head;
        }
        add(s, block, n);
        left -= n;
        if (left == 0) {
            return final(s);
        }
        mix(s);
    }
}
