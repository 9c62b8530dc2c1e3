/* Uncompressed chunks cut into parts. SPDX-License-Identifier: Apache-2.0 */
#include "plan_model.h"

static void set_chain(hr__array *a, uint64_t itemsize) {
    a->stored = a->dtype = hr__dtype(HR_KIND_VOID, itemsize);
    hr__spec *decoded = &a->chain.decoded;
    decoded->ndim = a->ndim;
    decoded->dtype = a->stored;
    for (int32_t i = 0; i < a->ndim; i++) {
        decoded->shape[i] = a->grid[a->order[i]].chunk;
    }
    assert_true(hr__spec_measure(decoded));
    a->chain.encoded = hr__spec_bytes(decoded->nbytes);
}

/* One chunk of this shape, C order. */
static hr__array one_chunk(int32_t ndim, const int64_t *shape, uint64_t itemsize) {
    hr__array a = {.ndim = ndim};
    for (int32_t axis = 0; axis < ndim; axis++) {
        a.order[axis] = axis;
        a.shape[axis] = shape[axis];
        a.grid[axis] = a.outer[axis] = regular_axis(shape[axis], shape[axis]);
    }
    set_chain(&a, itemsize);
    return a;
}

static void expect_parts(hr__array *a, uint64_t target, const int64_t *shape) {
    hr__array before = *a;
    hr__array_split_raw(a, target);
    assert_int_equal(a->nlevels, 1);
    const hr__level *level = &a->levels[0];
    assert_true(level->is_split);
    uint64_t nbytes = a->stored.itemsize;
    uint64_t ninner = 1;
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        assert_int_equal(level->shape[axis], shape[axis]);
        assert_int_equal(level->counts[axis], before.grid[axis].chunk / shape[axis]);
        assert_int_equal(a->grid[axis].chunk, shape[axis]);
        assert_int_equal(a->chain.decoded.shape[axis], shape[axis]);
        assert_int_equal(a->outer[axis].chunk, before.outer[axis].chunk);
        nbytes *= (uint64_t)shape[axis];
        ninner *= (uint64_t)level->counts[axis];
    }
    assert_int_equal(level->ninner, ninner);
    assert_int_equal(level->part_nbytes, nbytes);
    assert_int_equal(a->chain.decoded.nbytes, nbytes);
    assert_int_equal(a->chain.decoded.nelems, nbytes / a->stored.itemsize);
    assert_int_equal(a->chain.encoded.nbytes, nbytes);
    assert_true(hr__chain_is_raw(&a->chain));
}

static void expect_whole(hr__array *a, uint64_t target) {
    hr__array before;
    memcpy(&before, a, sizeof before);
    hr__array_split_raw(a, target);
    assert_memory_equal(a, &before, sizeof before);
}

#define MIB (UINT64_C(1) << 20)

static void parts_are_whole_rows_near_the_target(void **state) {
    (void)state;
    hr__array a = one_chunk(3, (int64_t[]){100, 1000, 1000}, 4);
    expect_parts(&a, MIB, (int64_t[]){1, 250, 1000}); /* 262 rows fit, 250 divide */
    a = one_chunk(3, (int64_t[]){100, 64, 64}, 4);
    expect_parts(&a, MIB, (int64_t[]){50, 64, 64});
    a = one_chunk(1, (int64_t[]){1 << 24}, 1);
    expect_parts(&a, MIB, (int64_t[]){1 << 20});
    a = one_chunk(2, (int64_t[]){5, 3}, 2 * MIB);
    expect_parts(&a, MIB, (int64_t[]){1, 1});
}

static void prime_lengths_give_coarse_parts_or_none(void **state) {
    (void)state;
    hr__array a = one_chunk(2, (int64_t[]){8, 2000003}, 1);
    expect_parts(&a, MIB, (int64_t[]){1, 2000003});
    a = one_chunk(1, (int64_t[]){2000003}, 1);
    expect_whole(&a, MIB);
    a = one_chunk(2, (int64_t[]){4, 3 * 1000003}, 1); /* not 3-byte parts */
    expect_parts(&a, MIB, (int64_t[]){1, 1000003});
    a = one_chunk(2, (int64_t[]){1009, 20000}, 1); /* rows of 20,000 bytes will do */
    expect_parts(&a, MIB, (int64_t[]){1, 20000});
    a = one_chunk(2, (int64_t[]){1009, 10000}, 1); /* of 10,000 will not */
    expect_whole(&a, MIB);
}

static void what_cannot_be_split_stays(void **state) {
    (void)state;
    const int64_t shape[] = {1000, 1000};
    hr__array a = one_chunk(2, shape, 4);
    expect_whole(&a, 4000000);
    a = one_chunk(0, NULL, 4);
    expect_whole(&a, 1);
    a = one_chunk(2, shape, 4);
    a.nlevels = HR__MAX_LEVELS;
    expect_whole(&a, MIB);
    a = one_chunk(2, shape, 4);
    const int64_t starts[] = {0, 1000};
    a.grid[1].starts = starts;
    expect_whole(&a, MIB);
    a = one_chunk(2, shape, 4);
    const hr__codec_type packed = {.name = "packed"};
    hr__codec codec = {.type = &packed,
                       .decoded = a.chain.decoded,
                       .encoded = hr__spec_unknown(5000000)};
    a.chain.ncodecs = 1;
    a.chain.codecs = &codec;
    expect_whole(&a, MIB);
}

/* Part number i of a stored chunk is bytes i × part_nbytes and on. */
static void check_random(random_source *r) {
    static model m;
    do {
        model_random(r, &m);
    } while (m.a.ndim == 0);
    hr__array *a = &m.a;
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        if (a->grid[axis].starts != NULL || a->shape[axis] == 0) {
            return;
        }
    }
    set_chain(a, 8);
    static hr__array stored;
    stored = *a;
    hr__array_split_raw(a, (uint64_t)pick(r, 16, 600));
    if (a->nlevels == stored.nlevels) {
        return;
    }
    const hr__level *level = &a->levels[a->nlevels - 1];
    int64_t nchunks[HR_MAX_NDIM];
    for (int32_t axis = 0; axis < a->ndim; axis++) {
        nchunks[axis] = a->grid[axis].nchunks;
    }
    int64_t coords[HR_MAX_NDIM] = {0};
    do {
        int64_t whole_coords[HR_MAX_NDIM];
        for (int32_t axis = 0; axis < a->ndim; axis++) {
            whole_coords[axis] = coords[axis] / level->counts[axis];
        }
        int64_t nwhole;
        int64_t npart;
        int64_t *whole = model_decode(&stored, whole_coords, &nwhole);
        int64_t *part = model_decode(a, coords, &npart);
        uint64_t number = hr__plan_inner_number(a, a->nlevels - 1, coords);
        EXPECT(r, (uint64_t)npart * 8 == level->part_nbytes);
        EXPECT(r, (number + 1) * (uint64_t)npart <= (uint64_t)nwhole);
        EXPECT(r,
               memcmp(whole + number * (uint64_t)npart, part, level->part_nbytes) == 0);
        if (stored.nlevels > 0) {
            EXPECT(r, hr__plan_inner_number(a, 0, coords) ==
                          hr__plan_inner_number(&stored, 0, whole_coords));
        }
        test_free(part);
        test_free(whole);
    } while (next_tuple(a->ndim, nchunks, coords));
}

static void parts_lie_one_after_the_other(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        random_source r = random_from(seed);
        check_random(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_whole_rows_near_the_target),
        cmocka_unit_test(prime_lengths_give_coarse_parts_or_none),
        cmocka_unit_test(what_cannot_be_split_stays),
        cmocka_unit_test(parts_lie_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
