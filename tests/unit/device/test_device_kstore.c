/* Stores made ready for the kernel. SPDX-License-Identifier: Apache-2.0 */
#include "kstore_fixture.h"

#include <stdlib.h>
#include <string.h>

static void the_last_block_is_measured_apart(void **state) {
    (void)state;
    hr_k_store s = store_of("<f4", "<f4", HR_K_BITS_SHUFFLED);
    s.block_nbytes = 3200 + 2; /* 800 items, then two bytes as they are */
    hr_k_store_task t = lower(&s);
    assert_int_equal(t.source.last_block, 9);
    assert_int_equal(t.source.shuffled_nbytes[0], 3200);
    assert_int_equal(t.source.stride[0], 100);
    assert_int_equal(t.source.shuffled_nbytes[1], 0); /* 795 items, no multiple of 8 */
    s.shuffle = HR_K_BYTES_SHUFFLED;
    t = lower(&s);
    assert_int_equal(t.source.shuffled_nbytes[1], 795 * 4);
    assert_int_equal(t.source.stride[1], 795);
}

static uint32_t divide(const hr_k_divisor *d, uint32_t n) {
    uint32_t t = (uint32_t)((uint64_t)n * d->factor >> 32);
    return (t + ((n - t) >> d->shift1)) >> d->shift2;
}

static void divisors_divide_all_numbers(void **state) {
    (void)state;
    for (uint64_t d = 1; d <= UINT32_MAX; d += d < 300 ? 1 : d / 7) {
        hr_k_store s = store_of("|u1", "|u1", HR_K_BITS_SHUFFLED);
        s.typesize = (uint32_t)d;
        s.block_nbytes = UINT32_MAX;
        hr_k_divisor divisor = lower(&s).source.typesize;
        assert_int_equal(divisor.divisor, d);
        for (uint64_t k = 0; k <= UINT32_MAX; k += k / 3 + 1) {
            uint64_t near = k / d * d; /* where quotients change */
            const uint64_t numbers[] = {k, near, near > 0 ? near - 1 : 0, UINT32_MAX - k};
            for (size_t i = 0; i < 4; i++) {
                assert_int_equal(divide(&divisor, (uint32_t)numbers[i]), numbers[i] / d);
            }
        }
    }
}

static void complex_numbers_become_others_by_their_parts(void **state) {
    (void)state;
    hr_k_store s = store_of("<c8", "<c16", HR_K_PLAIN);
    hr_k_store_task t = lower(&s);
    assert_int_equal(t.from, HR_K_F32);
    assert_int_equal(t.to, HR_K_F64);
    assert_int_equal(t.steps[0].number, HR_K_F64);
    assert_int_equal(t.slot_nbytes, 8);
    s = store_of("<c8", "<f4", HR_K_PLAIN);
    t = lower(&s);
    assert_int_equal(t.from, HR_K_C64);
    assert_false(t.either_part);
    s = store_of("<c8", "|b1", HR_K_PLAIN);
    t = lower(&s);
    assert_true(t.either_part);
}

static void byte_order_is_turned_once(void **state) {
    (void)state;
    hr_k_store s = store_of(">f4", "<f4", HR_K_PLAIN);
    assert_int_equal(s.from_unit, 4);
    assert_int_equal(s.nsteps, 0);
    s = store_of(">f4", ">f4", HR_K_PLAIN);
    assert_int_equal(s.from_unit, 1);
    s = store_of("<c8", ">c8", HR_K_PLAIN);
    assert_int_equal(s.from_unit, 4);
    s = store_of(">U3", "<U3", HR_K_PLAIN);
    assert_int_equal(s.from_unit, 4);
    assert_int_equal(lower(&s).slot_nbytes, 16);
    s = store_of(">i2", ">f8", HR_K_PLAIN);
    assert_int_equal(s.from_unit, 2);
    assert_int_equal(s.to_unit, 8);
}

static void types_that_the_kernel_does_not_know_are_declined(void **state) {
    (void)state;
    hr_k_store s;
    hr_dtype big = type_of(">i4"), little = type_of("<i4"), text = type_of("string");
    hr_field fields[2] = {{.name = "a", .dtype = big}, {.name = "a", .dtype = little}};
    hr_dtype from = hr__dtype(HR_KIND_STRUCT, 4), to = from;
    from.fields = &fields[0];
    to.fields = &fields[1];
    from.nfields = to.nfields = 1;
    from.byte_order = HR_BIG;
    assert_false(hr__kstore_begin(&s, &text));
    assert_true(hr__kstore_begin(&s, &from));
    assert_false(hr__kstore_end(&s, &from, &to)); /* fields to be turned */
    assert_true(hr__kstore_begin(&s, &from));
    assert_true(hr__kstore_end(&s, &from, &from));
    assert_int_equal(s.from_unit, 1);
    hr_dtype date = type_of("<M8[s]"), day = type_of("<M8[D]");
    assert_true(hr__kstore_begin(&s, &date));
    assert_false(hr__kstore_cast(&s, &little));
    assert_false(hr__kstore_end(&s, &date, &day));
    assert_true(hr__kstore_begin(&s, &little));
    assert_false(
        hr__kstore_scale(&s, HR_K_DIV_ADD, 2, 3)); /* integers divide otherwise */
    for (int i = 0; i < HR_K_MAX_STEPS; i++) {
        assert_true(hr__kstore_cast(&s, &little));
    }
    assert_false(hr__kstore_cast(&s, &little));
}

static void marks_are_numbers_extended(void **state) {
    (void)state;
    hr_k_store s;
    hr_dtype i2 = type_of(">i2"), u2 = type_of("<u2");
    const uint8_t item[] = {0x01, 0x80};
    assert_true(hr__kstore_begin(&s, &i2));
    assert_true(hr__kstore_mark(&s, HR_K_MARK, item));
    assert_int_equal(s.steps[0].a, (uint64_t)INT64_C(-32767));
    assert_true(hr__kstore_begin(&s, &u2));
    assert_true(hr__kstore_mark(&s, HR_K_MARK, item));
    assert_int_equal(s.steps[0].a, 0x8001);
}

static hr_status status_of(const hr_k_store *s) {
    hr_k_store_task t = {.path = 77};
    hr_error err = HR_ERROR_INIT;
    hr_status status = hr__kstore_lower(s, &t, &err);
    assert_int_equal(err.status, status);
    assert_true((t.path == 77) == (status != HR_OK));
    return status;
}

static void blocks_that_contradict_themselves_are_refused(void **state) {
    (void)state;
    const hr_k_store good = store_of("<i2", "<f4", HR_K_BYTES_SHUFFLED);
    hr_k_store s = good;
    assert_int_equal(status_of(&s), HR_OK);
    s.copy.nitems++;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s = good;
    s.copy.itemsize = 4;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s = good;
    s.to = HR_K_F64;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s = good;
    s.from = HR_K_NNUMBERS;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s = good;
    s.nsteps = HR_K_MAX_STEPS + 1;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s = good;
    s.steps[0].code = 77;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s = good;
    s.from_unit = 4;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s = good;
    s.typesize = 0;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s = good;
    s.block_nbytes = 0;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s = good;
    s.shuffle = 3;
    assert_int_equal(status_of(&s), HR_ERR_ARGUMENT);
    s = good;
    s.chunk_nbytes = UINT64_C(1) << 32;
    assert_int_equal(status_of(&s), HR_ERR_UNSUPPORTED);
    s.shuffle = HR_K_PLAIN;
    assert_int_equal(status_of(&s), HR_OK);
}

static void a_store_of_nothing_has_no_tiles(void **state) {
    (void)state;
    hr_k_store s = store_of("<f4", "<f4", HR_K_BYTES_SHUFFLED);
    s.copy.nitems = s.copy.dims[0].n = s.chunk_nbytes = 0;
    assert_int_equal(lower(&s).tiles.ntiles, 0);
    s = store_of("<f4", "<f4", HR_K_BYTES_SHUFFLED);
    s.copy.nitems = 1;
    s.copy.ndim = 0;
    assert_int_equal(lower(&s).tiles.ntiles, 1);
}

static void tiles_are_listed_first_of_those_that_only_move(void **state) {
    (void)state;
    hr_k_store moving = store_of("<f4", "<f4", HR_K_PLAIN);
    hr_k_store converting = store_of("<f4", "<i2", HR_K_PLAIN);
    const hr_k_store_task tasks[] = {lower(&converting), lower(&moving),
                                     lower(&converting)};
    uint32_t nmoving = tasks[1].tiles.ntiles, nconverting = tasks[0].tiles.ntiles;
    hr_k_store_batch b = {0};
    assert_int_equal(hr__kstore_list(tasks, 3, NULL, &b, NULL), HR_OK);
    assert_int_equal(b.nmoving, nmoving);
    assert_int_equal(b.nconverting, 2 * nconverting);
    hr_k_store_tile *tiles = calloc(nmoving + 2 * (size_t)nconverting, sizeof *tiles);
    assert_non_null(tiles);
    assert_int_equal(hr__kstore_list(tasks, 3, tiles, &b, NULL), HR_OK);
    for (uint32_t i = 0; i < nmoving + 2 * nconverting; i++) {
        uint32_t task = i < nmoving ? 1 : i < nmoving + nconverting ? 0 : 2;
        assert_int_equal(tiles[i].task, task);
        assert_int_equal(tiles[i].tile, task == 1   ? i
                                        : task == 0 ? i - nmoving
                                                    : i - nmoving - nconverting);
    }
    free(tiles);
    hr_k_store_task huge[2] = {tasks[0], tasks[1]};
    huge[0].tiles.ntiles = huge[1].tiles.ntiles = UINT32_MAX;
    assert_int_equal(hr__kstore_list(huge, 2, NULL, &b, NULL), HR_ERR_OVERFLOW);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_block_is_measured_apart),
        cmocka_unit_test(divisors_divide_all_numbers),
        cmocka_unit_test(complex_numbers_become_others_by_their_parts),
        cmocka_unit_test(byte_order_is_turned_once),
        cmocka_unit_test(types_that_the_kernel_does_not_know_are_declined),
        cmocka_unit_test(marks_are_numbers_extended),
        cmocka_unit_test(blocks_that_contradict_themselves_are_refused),
        cmocka_unit_test(a_store_of_nothing_has_no_tiles),
        cmocka_unit_test(tiles_are_listed_first_of_those_that_only_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
