/* How batches of LZ streams are decoded. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/lz_regime.h"

static const hr__lz_machine big = {132, 232448}, small = {40, 65536};

typedef uint32_t chooser(const hr_k_task *tasks, uint32_t ntasks, bool is_shuffled,
                         const hr__lz_machine *machine);

static uint32_t ratio = 2;

static uint32_t choose_by(chooser *by, uint32_t ntasks, uint32_t nbytes, bool is_shuffled,
                          const hr__lz_machine *machine) {
    hr_k_task *tasks = calloc(ntasks, sizeof *tasks);
    assert_non_null(tasks);
    for (uint32_t i = 0; i < ntasks; i++) {
        tasks[i].src_nbytes = nbytes / ratio;
        tasks[i].dst_nbytes = nbytes;
    }
    uint32_t team = by(tasks, ntasks, is_shuffled, machine);
    free(tasks);
    return team;
}

static uint32_t choose(uint32_t ntasks, uint32_t nbytes, bool is_shuffled,
                       const hr__lz_machine *machine) {
    return choose_by(hr__lz_choose_team, ntasks, nbytes, is_shuffled, machine);
}

static void lzw_has_teams_of_its_own(void **state) {
    (void)state;
    static const struct {
        uint32_t ntasks, nbytes, team;
    } cases[] = {{8192, 64 << 10, HR_K_LZW_w4},
                 {1024, 512 << 10, HR_K_LZW_w8},
                 {256, 512 << 10, HR_K_LZW_p8},
                 {256, 16 << 10, HR_K_LZW_w4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int is_shuffled = 0; is_shuffled < 2; is_shuffled++) {
            assert_int_equal(choose_by(hr__lzw_choose_team, cases[i].ntasks,
                                       cases[i].nbytes, is_shuffled, &big),
                             cases[i].team);
        }
    }
    assert_int_equal(choose_by(hr__lzw_choose_team, 4, 4 << 20, false, &small),
                     HR_K_LZW_w8);
}

static void packbits_takes_the_teams_for_runs(void **state) {
    (void)state;
    static const struct {
        uint32_t ntasks, nbytes, team;
    } cases[] = {{100000, 8 << 10, HR_K_LZ_w1s}, {8192, 64 << 10, HR_K_LZ_w4s},
                 {2048, 256 << 10, HR_K_LZ_w4s}, {512, 1 << 20, HR_K_LZ_p4s},
                 {128, 4 << 20, HR_K_LZ_p16s},   {1, 8 << 10, HR_K_LZ_w1s}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int is_shuffled = 0; is_shuffled < 2; is_shuffled++) {
            assert_int_equal(choose_by(hr__packbits_choose_team, cases[i].ntasks,
                                       cases[i].nbytes, is_shuffled, &big),
                             cases[i].team);
        }
    }
}

static void deflate_has_teams_of_its_own(void **state) {
    (void)state;
    static const struct {
        uint32_t ntasks, nbytes, plain, shuffled;
    } cases[] = {
        {8192, 64 << 10, HR_K_DEFLATE_w4, HR_K_DEFLATE_w4s},
        {2048, 256 << 10, HR_K_DEFLATE_w4, HR_K_DEFLATE_w4s},
        {512, 1 << 20, HR_K_DEFLATE_w8, HR_K_DEFLATE_w8s},
        {128, 4 << 20, HR_K_DEFLATE_p16, HR_K_DEFLATE_p24s},
        {10, 4096, HR_K_DEFLATE_w4, HR_K_DEFLATE_w4s},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            assert_int_equal(choose_by(hr__deflate_choose_team, cases[i].ntasks,
                                       cases[i].nbytes, shuffled != 0, &big),
                             shuffled != 0 ? cases[i].shuffled : cases[i].plain);
        }
    }
    assert_int_equal(choose_by(hr__deflate_choose_team, 4, 4 << 20, false, &small),
                     HR_K_DEFLATE_w8);
}

static void zstd_has_teams_of_its_own(void **state) {
    (void)state;
    static const struct {
        uint32_t ntasks, nbytes, plain, shuffled;
    } cases[] = {
        {8192, 64 << 10, HR_K_ZSTD_w4, HR_K_ZSTD_w2s},
        {2048, 256 << 10, HR_K_ZSTD_w4, HR_K_ZSTD_p4s},
        {512, 1 << 20, HR_K_ZSTD_p8, HR_K_ZSTD_p4s},
        {128, 4 << 20, HR_K_ZSTD_w32, HR_K_ZSTD_p16s},
        {10, 4096, HR_K_ZSTD_w4, HR_K_ZSTD_w2s},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            assert_int_equal(choose_by(hr__zstd_choose_team, cases[i].ntasks,
                                       cases[i].nbytes, shuffled != 0, &big),
                             shuffled != 0 ? cases[i].shuffled : cases[i].plain);
        }
    }
}

static void zstd_takes_small_teams_for_dense_frames(void **state) {
    (void)state;
    static const struct {
        uint32_t ratio, ntasks, nbytes, plain, shuffled;
    } cases[] = {
        {9, 8192, 64 << 10, HR_K_ZSTD_w4, HR_K_ZSTD_w2s},
        {9, 320, 768 << 10, HR_K_ZSTD_p4s, HR_K_ZSTD_p4s},
        {400, 26, 1 << 20, HR_K_ZSTD_p4s, HR_K_ZSTD_p4s},
        {9, 10, 4096, HR_K_ZSTD_w4, HR_K_ZSTD_w2s},
        {7, 128, 4 << 20, HR_K_ZSTD_w32, HR_K_ZSTD_p16s},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            ratio = cases[i].ratio;
            assert_int_equal(choose_by(hr__zstd_choose_team, cases[i].ntasks,
                                       cases[i].nbytes, shuffled != 0, &big),
                             shuffled != 0 ? cases[i].shuffled : cases[i].plain);
        }
    }
    ratio = 2;
}

static void the_fewer_streams_the_larger_the_team(void **state) {
    (void)state;
    assert_int_equal(choose(8192, 64 << 10, false, &big), HR_K_LZ_w2);
    assert_int_equal(choose(8192, 64 << 10, true, &big), HR_K_LZ_w1s);
    assert_int_equal(choose(2048, 256 << 10, false, &big), HR_K_LZ_w4);
    assert_int_equal(choose(2048, 256 << 10, true, &big), HR_K_LZ_p4s);
    assert_int_equal(choose(512, 1 << 20, false, &big), HR_K_LZ_w8);
    assert_int_equal(choose(512, 1 << 20, true, &big), HR_K_LZ_p4s);
    assert_int_equal(choose(128, 4 << 20, false, &big), HR_K_LZ_p16);
    assert_int_equal(choose(128, 4 << 20, true, &big), HR_K_LZ_p16s);
}

static void long_runs_get_smaller_teams(void **state) {
    (void)state;
    ratio = 50;
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        assert_int_equal(choose(4096, 64 << 10, shuffled != 0, &big), HR_K_LZ_r1);
        assert_int_equal(choose(1024, 256 << 10, shuffled != 0, &big),
                         shuffled != 0 ? HR_K_LZ_w2s : HR_K_LZ_r1);
        assert_int_equal(choose(64, 4 << 20, shuffled != 0, &big), HR_K_LZ_p4s);
    }
    ratio = 2;
}

static bool is_for_whole(uint32_t ntasks, uint32_t src_nbytes, uint32_t dst_nbytes,
                         const hr__lz_machine *machine) {
    hr_k_task tasks[64] = {{0}};
    for (uint32_t i = 0; i < ntasks; i++) {
        tasks[i] = (hr_k_task){.src_nbytes = src_nbytes, .dst_nbytes = dst_nbytes};
    }
    assert_false(hr__lz_is_for_whole(tasks, ntasks, true, machine));
    return hr__lz_is_for_whole(tasks, ntasks, false, machine);
}

static void a_few_large_streams_share_the_device(void **state) {
    (void)state;
    assert_true(is_for_whole(1, 2 << 20, 4 << 20, &big));
    assert_true(is_for_whole(8, 2 << 20, 4 << 20, &big));
    assert_false(is_for_whole(1, 2 << 20, 4 << 20, &small));
    assert_false(is_for_whole(0, 2 << 20, 4 << 20, &big));
    assert_false(is_for_whole(64, 2 << 20, 4 << 20, &big));
    assert_false(is_for_whole(1, 100000, 200000, &big));
    assert_false(is_for_whole(1, 10000, 4 << 20, &big));
    assert_false(is_for_whole(1, 2 << 20, UINT32_MAX, &big));
    assert_false(is_for_whole(1, UINT32_MAX, 4 << 20, &big));
    const hr_k_task tasks[] = {{.src_nbytes = HR_K_WHOLE_REGION + 1, .dst_nbytes = 1},
                               {.src_nbytes = 1, .dst_nbytes = HR_K_WHOLE_TILE}};
    const hr_k_decode decode = {.ntasks = 2};
    const hr_k_whole whole = hr__lz_whole(&decode, tasks);
    assert_int_equal(whole.nregions, 3);
    assert_int_equal(whole.ntiles, 2);
}

static void snappy_always_has_long_ways(void **state) {
    (void)state;
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        assert_int_equal(
            choose_by(hr__snappy_choose_team, 8192, 64 << 10, shuffled != 0, &big),
            HR_K_LZ_w1s);
        assert_int_equal(
            choose_by(hr__snappy_choose_team, 128, 4 << 20, shuffled != 0, &big),
            HR_K_LZ_p16s);
    }
}

static void short_streams_get_small_teams(void **state) {
    (void)state;
    assert_int_equal(choose(10, 4096, false, &big), HR_K_LZ_w2);
    assert_int_equal(choose(10, 40000, true, &big), HR_K_LZ_w2s);
}

static void teams_fit_the_machine(void **state) {
    (void)state;
    assert_int_equal(choose(4, 4 << 20, false, &small), HR_K_LZ_w8);
    assert_int_equal(choose(4, 4 << 20, true, &small), HR_K_LZ_p4s);
}

static void one_long_stream_counts(void **state) {
    (void)state;
    enum { N = 8192 };
    hr_k_task *tasks = calloc(N, sizeof *tasks);
    assert_non_null(tasks);
    for (uint32_t i = 0; i < N; i++) {
        tasks[i].dst_nbytes = i == 77 ? 16 << 20 : 64 << 10;
        tasks[i].src_nbytes = tasks[i].dst_nbytes / ratio;
    }
    assert_int_equal(hr__lz_choose_team(tasks, N, false, &big), HR_K_LZ_w8);
    assert_int_equal(hr__lz_choose_team(tasks, 0, false, &big), HR_K_LZ_w2);
    free(tasks);
}

static void the_longest_work_comes_first(void **state) {
    (void)state;
    hr_k_task tasks[] = {{.src = 1, .src_nbytes = 10, .dst_nbytes = 100},
                         {.src = 2, .src_nbytes = 101, .dst_nbytes = 100},
                         {.src = 3, .src_nbytes = 30, .dst_nbytes = 40},
                         {.src = 4, .src_nbytes = 10, .dst_nbytes = 50}};
    static const uint64_t order[] = {3, 1, 4, 2};
    hr__lz_sort_tasks(tasks, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tasks[i].src, order[i]);
    }
    hr__lz_sort_tasks(tasks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fewer_streams_the_larger_the_team),
        cmocka_unit_test(deflate_has_teams_of_its_own),
        cmocka_unit_test(lzw_has_teams_of_its_own),
        cmocka_unit_test(packbits_takes_the_teams_for_runs),
        cmocka_unit_test(zstd_has_teams_of_its_own),
        cmocka_unit_test(zstd_takes_small_teams_for_dense_frames),
        cmocka_unit_test(long_runs_get_smaller_teams),
        cmocka_unit_test(a_few_large_streams_share_the_device),
        cmocka_unit_test(snappy_always_has_long_ways),
        cmocka_unit_test(short_streams_get_small_teams),
        cmocka_unit_test(teams_fit_the_machine),
        cmocka_unit_test(one_long_stream_counts),
        cmocka_unit_test(the_longest_work_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
