/* Reading JSON: json-c with limits and exact integers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CORE_JSON_H
#define HR_CORE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include <headrace/status.h>

#define HR__JSON_MAX_DEPTH 64
/* What the values of a document may take in memory, about: this much, or so many times
 * the document where that is more. Real documents take ten times their size. */
#define HR__JSON_MAX_NBYTES ((uint64_t)1 << 30)
#define HR__JSON_MAX_GROWTH 16

/* Parse a whole document (trailing white space allowed, anything else is an error).
 * NaN, Infinity and -Infinity are accepted as numbers. On success the caller owns *out
 * (json_object_put). Errors: HR_ERR_METADATA with the offset, HR_ERR_OVERFLOW where the
 * values would take too much memory, HR_ERR_MEMORY. */
hr_status hr__json_parse(const char *text, size_t nbytes, json_object **out,
                         hr_error *err);

/* Member of an object, borrowed; NULL when absent, when it is null, or when `object` is
 * not an object. */
json_object *hr__json_get(json_object *object, const char *name);
/* Is there such a member, null included? */
bool hr__json_has(json_object *object, const char *name);

/* Text of a string value, else NULL, also where it contains a NUL. Borrowed. */
const char *hr__json_str(json_object *value);
bool hr__json_is(json_object *value, const char *text); /* a string equal to text */

bool hr__json_is_false(json_object *value); /* the value false, as nothing else is */

/* Exact integers: an integer number (or a float with no fraction that is exactly
 * representable). False for anything else, *out untouched. */
bool hr__json_i64(json_object *value, int64_t *out);
bool hr__json_u64(json_object *value, uint64_t *out);
/* The same, also from a decimal string ("1"), as NCZarr writes codec numbers. */
bool hr__json_i64_lenient(json_object *value, int64_t *out);
/* Any number, as double. */
bool hr__json_double(json_object *value, double *out);

/* A named member with a default when absent; an error naming `what` and the member when
 * present and of the wrong type or outside [lo, hi]. null counts as absent, a decimal
 * string as a number. */
hr_status hr__json_member_i64(json_object *object, const char *what, const char *name,
                              int64_t lo, int64_t hi, int64_t absent, int64_t *out,
                              hr_error *err);

#endif
