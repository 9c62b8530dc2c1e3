/* Grouping chunks into byte ranges. SPDX-License-Identifier: Apache-2.0 */
#include "plan_model.h"

#define MOST 64

typedef struct extent {
    uint64_t offset, nbytes;
} extent;

typedef struct grouped {
    hr__chunk chunks[MOST];
    hr__range ranges[MOST];
    uint64_t n;
    hr_status status;
} grouped;

static void group(const extent *extents, uint64_t n, uint64_t gap, uint64_t max,
                  grouped *g) {
    hr__chunk *pointers[MOST];
    memset(g, 0, sizeof *g);
    for (uint64_t i = 0; i < n; i++) {
        g->chunks[i].offset = extents[i].offset;
        g->chunks[i].nbytes = extents[i].nbytes;
        g->chunks[i].next = &g->chunks[0]; /* of its object: is replaced */
        pointers[i] = &g->chunks[i];
    }
    g->status = hr__plan_ranges(pointers, n, gap, max, g->ranges, &g->n);
}

static void expect(const grouped *g, const extent *ranges, uint64_t n) {
    assert_int_equal(g->status, HR_OK);
    assert_int_equal(g->n, n);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(g->ranges[i].offset, ranges[i].offset);
        assert_int_equal(g->ranges[i].nbytes, ranges[i].nbytes);
        assert_ptr_equal(g->ranges[i].next, i + 1 < n ? &g->ranges[i + 1] : NULL);
    }
}

static void neighbours_merge_up_to_the_gap(void **state) {
    (void)state;
    const extent extents[] = {{250, 50}, {0, 100}, {100, 100}, {211, 10}};
    grouped g;
    group(extents, 4, 0, 1000, &g);
    expect(&g, (extent[]){{0, 200}, {211, 10}, {250, 50}}, 3);
    assert_ptr_equal(g.ranges[0].chunks, &g.chunks[1]);
    assert_ptr_equal(g.chunks[1].next, &g.chunks[2]);
    assert_null(g.chunks[2].next);
    assert_null(g.chunks[0].next);
    group(extents, 4, 11, 1000, &g);
    expect(&g, (extent[]){{0, 221}, {250, 50}}, 2);
    group(extents, 4, 10, 1000, &g);
    expect(&g, (extent[]){{0, 200}, {211, 10}, {250, 50}}, 3);
    group(extents, 4, UINT64_MAX, UINT64_MAX, &g);
    expect(&g, (extent[]){{0, 300}}, 1);
}

static void ranges_stay_within_the_limit(void **state) {
    (void)state;
    const extent extents[] = {{0, 100}, {100, 100}, {200, 100}, {300, 500}, {800, 1}};
    grouped g;
    group(extents, 5, 0, 200, &g);
    expect(&g, (extent[]){{0, 200}, {200, 100}, {300, 500}, {800, 1}}, 4);
    group(extents, 5, 0, 0, &g);
    assert_int_equal(g.n, 5);
}

static void chunks_may_share_bytes_or_have_none(void **state) {
    (void)state;
    const extent shared[] = {{50, 100}, {50, 100}, {0, 300},
                             {60, 0},   {400, 0},  {290, 20}};
    grouped g;
    group(shared, 6, 0, 300, &g);
    expect(&g, (extent[]){{0, 300}, {290, 20}, {400, 0}}, 3);
    group(shared, 6, 0, 310, &g);
    expect(&g, (extent[]){{0, 310}, {400, 0}}, 2);
    group(shared, 0, 0, 300, &g);
    expect(&g, NULL, 0);
}

static void a_whole_object_is_a_range_of_its_own(void **state) {
    (void)state;
    const extent extents[] = {{0, UINT64_MAX}, {0, 10}, {5, 10}, {0, UINT64_MAX}};
    grouped g;
    group(extents, 1, 0, 100, &g);
    expect(&g, (extent[]){{0, UINT64_MAX}}, 1);
    group(extents, 4, 100, UINT64_MAX, &g);
    assert_int_equal(g.status, HR_OK);
    assert_int_equal(g.n, 4);
}

static void an_end_beyond_2_to_64_is_refused(void **state) {
    (void)state;
    const extent extents[] = {{0, 10}, {UINT64_MAX - 5, 6}};
    grouped g;
    group(extents, 2, 10, 100, &g);
    assert_int_equal(g.status, HR_ERR_OVERFLOW);
    const extent last[] = {{0, 10}, {UINT64_MAX - 5, 5}};
    group(last, 2, 10, 100, &g);
    expect(&g, last, 2);
}

/* However far apart the chunks are. */
static void at_most_the_gap_per_chunk_is_read_in_vain(void **state) {
    (void)state;
    extent extents[MOST];
    for (uint64_t between = 0; between < 20; between++) {
        for (uint64_t i = 0; i < MOST; i++) {
            extents[i] = (extent){.offset = i * (8 + between), .nbytes = 8};
        }
        grouped g;
        group(extents, MOST, 10, 1000, &g);
        uint64_t nbytes = 0;
        for (uint64_t i = 0; i < g.n; i++) {
            nbytes += g.ranges[i].nbytes;
            assert_in_range(g.ranges[i].nbytes, 8, 1000);
        }
        assert_in_range(nbytes, MOST * 8, MOST * 8 + (MOST - g.n) * 10);
        assert_int_equal(g.n == MOST, between > 10);
    }
}

/* Each chunk in one range that covers it, ranges in order and never mergeable. */
static void check_random(random_source *r) {
    extent extents[MOST];
    uint64_t n = (uint64_t)pick(r, 1, MOST);
    for (uint64_t i = 0; i < n; i++) {
        extents[i] = (extent){(uint64_t)pick(r, 0, 2000), (uint64_t)pick(r, 0, 60)};
    }
    uint64_t gap = (uint64_t)pick(r, 0, 30);
    uint64_t max = (uint64_t)pick(r, 0, 300);
    static grouped g;
    group(extents, n, gap, max, &g);
    EXPECT(r, g.status == HR_OK);
    uint64_t seen = 0;
    for (uint64_t i = 0; i < g.n; i++) {
        const hr__range *range = &g.ranges[i];
        uint64_t end = range->offset;
        for (const hr__chunk *c = range->chunks; c != NULL; c = c->next, seen++) {
            EXPECT(r, c->offset >= range->offset && c->offset <= end + gap);
            EXPECT(r, c == range->chunks || c->offset + c->nbytes <= end ||
                          c->offset + c->nbytes - range->offset <= max);
            end = c->offset + c->nbytes > end ? c->offset + c->nbytes : end;
        }
        EXPECT(r, range->chunks->offset == range->offset);
        EXPECT(r, end == range->offset + range->nbytes);
        if (range->next != NULL) {
            const hr__chunk *c = range->next->chunks;
            EXPECT(r, c->offset >= range->offset);
            EXPECT(r,
                   c->offset > end + gap || c->offset + c->nbytes - range->offset > max);
        }
    }
    EXPECT(r, seen == n);
}

static void random_chunks_are_covered_once(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        random_source r = random_from(seed);
        check_random(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_merge_up_to_the_gap),
        cmocka_unit_test(ranges_stay_within_the_limit),
        cmocka_unit_test(chunks_may_share_bytes_or_have_none),
        cmocka_unit_test(a_whole_object_is_a_range_of_its_own),
        cmocka_unit_test(an_end_beyond_2_to_64_is_refused),
        cmocka_unit_test(at_most_the_gap_per_chunk_is_read_in_vain),
        cmocka_unit_test(random_chunks_are_covered_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
