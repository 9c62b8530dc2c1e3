/* Stable sorting of elements by chunk. SPDX-License-Identifier: Apache-2.0 */
#include "plan/build.h"

#define DIGIT_BITS 8
#define NDIGITS (1 << DIGIT_BITS)

static uint64_t digit_of(const hr__item *item, unsigned shift) {
    return item->key >> shift & (NDIGITS - 1);
}

/* One pass of a radix sort: by the digit at `shift`. */
static void sort_by_digit(const hr__item *from, hr__item *to, int64_t n, unsigned shift) {
    int64_t place[NDIGITS] = {0};
    for (int64_t i = 0; i < n; i++) {
        place[digit_of(&from[i], shift)]++;
    }
    int64_t sum = 0;
    for (int digit = 0; digit < NDIGITS; digit++) {
        int64_t count = place[digit];
        place[digit] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) {
        to[place[digit_of(&from[i], shift)]++] = from[i];
    }
}

hr__item *hr__items_sort(hr__item *items, hr__item *spare, int64_t n) {
    uint64_t varying = 0; /* bits in which keys differ */
    bool is_sorted = true;
    for (int64_t i = 1; i < n; i++) {
        varying |= items[i].key ^ items[0].key;
        is_sorted = is_sorted && items[i - 1].key <= items[i].key;
    }
    if (is_sorted) {
        return items;
    }
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((varying >> shift & (NDIGITS - 1)) != 0) {
            sort_by_digit(items, spare, n, shift);
            hr__item *sorted = spare;
            spare = items;
            items = sorted;
        }
    }
    return items;
}
