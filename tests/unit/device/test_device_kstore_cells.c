/* How a store takes items out of a chunk. SPDX-License-Identifier: Apache-2.0 */
#include "kstore_fixture.h"

static void whole_chunks_go_by_slots_of_16_bytes(void **state) {
    (void)state;
    static const char *const types[] = {"<u2", "<f4", "<f8", "<c16"};
    static const uint32_t paths[][2] = {{HR_K_PATH_PLANES, 1},
                                        {HR_K_PATH_PLANES, 1},
                                        {HR_K_PATH_PLANES, 1},
                                        {HR_K_PATH_ROWS, 4}};
    for (size_t i = 0; i < 4; i++) {
        hr_k_store s = store_of(types[i], types[i], HR_K_PLAIN);
        hr_k_store_task t = lower(&s);
        assert_int_equal(t.path, HR_K_PATH_PLAIN);
        assert_int_equal(t.slot_nbytes, 16);
        assert_int_equal(t.write_nbytes, 16);
        s.shuffle = HR_K_BYTES_SHUFFLED;
        t = lower(&s);
        assert_int_equal(t.path, paths[i][0]);
        assert_int_equal(t.nslots, paths[i][1]);
        assert_int_equal(t.slot_nbytes, 16);
        assert_int_equal(t.write_nbytes, 16);
        assert_int_equal(t.tiles.along.n * t.tiles.across.n * t.nslots,
                         ROWS * ROW * s.copy.itemsize / 16);
        assert_int_equal(t.tiles.nouter, 0);
    }
}

/* Chunks of so many items, rows of bits whose bytes are words, pairs, or neither. */
static void bits_are_gathered_from_rows_as_wide_as_they_are_aligned(void **state) {
    (void)state;
    static const struct {
        const char *type;
        uint64_t nitems;
        uint32_t slot_nbytes, nslots;
    } cases[] = {{"|u1", 8000, 16, 2}, {"<u2", 8000, 16, 4}, {"<f4", 8000, 16, 4},
                 {"<f8", 8000, 16, 4}, {"|u1", 8016, 8, 1},  {"<u2", 8016, 16, 1},
                 {"<f4", 8016, 16, 4}, {"<f4", 8008, 16, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_k_store s = store_of(cases[i].type, cases[i].type, HR_K_BITS_SHUFFLED);
        s.chunk_nbytes = s.block_nbytes = cases[i].nitems * s.copy.itemsize;
        hr_k_store_task t = lower(&s);
        assert_int_equal(t.path, HR_K_PATH_BITS);
        assert_int_equal(t.slot_nbytes, cases[i].slot_nbytes);
        assert_int_equal(t.nslots, cases[i].nslots);
        assert_int_equal(t.slot_dst_step, cases[i].slot_nbytes);
        assert_int_equal(t.tiles.along.n * t.tiles.across.n * t.nslots * t.slot_nbytes,
                         ROWS * ROW * s.copy.itemsize);
    }
}

/* Blocks that wide cells do not divide: none may reach over a block's end. */
static void cells_do_not_reach_over_blocks(void **state) {
    (void)state;
    hr_k_store s = store_of("<c16", "<c16", HR_K_BYTES_SHUFFLED);
    s.block_nbytes = 6400;
    assert_int_equal(lower(&s).path, HR_K_PATH_ROWS);
    s.block_nbytes = 6432;
    assert_int_equal(lower(&s).path, HR_K_PATH_PLANES);
    s = store_of("<f4", "<f4", HR_K_BITS_SHUFFLED);
    s.block_nbytes = 1600;
    assert_int_equal(lower(&s).nslots, 4);
    s.block_nbytes = 1632;
    assert_int_equal(lower(&s).nslots, 2);
}

static void some_casts_alone_are_made_while_moving(void **state) {
    (void)state;
    hr_k_store s = store_of("<f8", "<f4", HR_K_PLAIN);
    assert_int_equal(lower(&s).direct, HR_K_DIRECT_F64_F32);
    s = store_of("<c16", "<c8", HR_K_PLAIN);
    assert_int_equal(lower(&s).direct, HR_K_DIRECT_F64_F32);
    s = store_of(">f8", "<f4", HR_K_PLAIN);
    assert_int_equal(lower(&s).direct, HR_K_DIRECT_F64_F32);
    s = store_of("<f8", ">f4", HR_K_PLAIN);
    assert_int_equal(lower(&s).direct, HR_K_NOT_DIRECT);
    s = store_of("<f8", "<i2", HR_K_PLAIN);
    assert_int_equal(lower(&s).direct, HR_K_NOT_DIRECT);
    hr_dtype f64 = type_of("<f8"), f32 = type_of("<f4");
    assert_true(hr__kstore_begin(&s, &f64) && hr__kstore_cast(&s, &f32) &&
                hr__kstore_scale(&s, HR_K_MUL_ADD, 2, 1) &&
                hr__kstore_end(&s, &f64, &f32));
    s.copy.ndim = 0;
    s.copy.nitems = 1;
    s.chunk_nbytes = 8;
    assert_int_equal(lower(&s).direct, HR_K_NOT_DIRECT);
}

static void numbers_are_converted_by_four(void **state) {
    (void)state;
    hr_k_store s = store_of("<i2", "<f4", HR_K_BYTES_SHUFFLED);
    hr_k_store_task t = lower(&s);
    assert_int_equal(t.path, HR_K_PATH_PLANES);
    assert_int_equal(t.slot_nbytes, 8);
    assert_int_equal(t.out_nbytes, 16);
    assert_int_equal(t.write_nbytes, 16);
    s = store_of("<f8", "<f4", HR_K_PLAIN);
    t = lower(&s);
    assert_int_equal(t.path, HR_K_PATH_PLAIN);
    assert_int_equal(t.slot_nbytes, 16);
    assert_int_equal(t.out_nbytes, 8);
}

static void a_destination_that_is_not_aligned_gets_narrow_writes(void **state) {
    (void)state;
    hr_k_store s = store_of("<f4", "<f4", HR_K_BYTES_SHUFFLED);
    s.copy.dst += 2;
    hr_k_store_task t = lower(&s);
    assert_int_equal(t.path, HR_K_PATH_PLANES);
    assert_int_equal(t.slot_nbytes, 16);
    assert_int_equal(t.write_nbytes, 2);
}

static void rows_become_columns_slot_by_slot(void **state) {
    (void)state;
    hr_k_store s = store_of("<f4", "<f4", HR_K_BYTES_SHUFFLED);
    s.copy.dims[0].dst_step = 4;
    s.copy.dims[1].dst_step = ROWS * 4;
    hr_k_store_task t = lower(&s);
    assert_int_equal(t.path, HR_K_PATH_PLANES);
    assert_int_equal(t.slot_nbytes, 16);
    assert_int_equal(t.log_run, 2);
    assert_int_equal(t.run_step, ROWS * 4);
    assert_int_equal(t.write_nbytes, 4);
    assert_int_equal(t.tiles.log_threads_x, 3);
}

static void what_is_not_aligned_in_the_chunk_goes_item_by_item(void **state) {
    (void)state;
    hr_k_store s = store_of("<f4", "<f4", HR_K_BYTES_SHUFFLED);
    s.copy.src = 4;
    s.copy.dims[1].n = ROW - 1;
    s.copy.nitems -= ROWS;
    hr_k_store_task t = lower(&s);
    assert_int_equal(t.path, HR_K_PATH_PLANES);
    assert_int_equal(t.slot_nbytes, 4);
    s.copy.src = 2;
    t = lower(&s);
    assert_int_equal(t.path, HR_K_PATH_ANYTHING);
    s.shuffle = HR_K_PLAIN;
    s.copy.src = 0;
    s.chunk += 1;
    t = lower(&s);
    assert_int_equal(t.path, HR_K_PATH_ANYTHING);
}

static void shuffles_of_other_sizes_go_byte_by_byte(void **state) {
    (void)state;
    hr_k_store s = store_of("<f4", "<f4", HR_K_BYTES_SHUFFLED);
    s.typesize = 12;
    hr_k_store_task t = lower(&s);
    assert_int_equal(t.path, HR_K_PATH_ANYTHING);
    assert_int_equal(t.slot_nbytes, 16);
    s.typesize = 2; /* two of which are an item */
    assert_int_equal(lower(&s).path, HR_K_PATH_PLANES);
    s.typesize = 1;
    assert_int_equal(lower(&s).path, HR_K_PATH_PLAIN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_chunks_go_by_slots_of_16_bytes),
        cmocka_unit_test(bits_are_gathered_from_rows_as_wide_as_they_are_aligned),
        cmocka_unit_test(cells_do_not_reach_over_blocks),
        cmocka_unit_test(some_casts_alone_are_made_while_moving),
        cmocka_unit_test(numbers_are_converted_by_four),
        cmocka_unit_test(a_destination_that_is_not_aligned_gets_narrow_writes),
        cmocka_unit_test(rows_become_columns_slot_by_slot),
        cmocka_unit_test(what_is_not_aligned_in_the_chunk_goes_item_by_item),
        cmocka_unit_test(shuffles_of_other_sizes_go_byte_by_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
