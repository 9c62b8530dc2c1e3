/* Sizes, shapes and elements as text. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <headrace/types.h>

/* Bytes of the UTF-8 character that NUL-terminated text begins with; 0 where these bytes
 * are none, and at the end. */
size_t cli_character(const char *text);
/* Would a terminal obey the character rather than show it? */
bool cli_is_control(const char *character);

/* Room for any shape. */
enum { CLI_SHAPE_TEXT = HR_MAX_NDIM * 22 + 4 };

/* "(3,)", "(2, 4)", "()", as Python writes a tuple. Returns `text`. */
const char *cli_shape_text(int32_t ndim, const int64_t *shape, char text[CLI_SHAPE_TEXT]);

/* The end of the noun for so many: "1 chunk", "2 chunks". */
const char *cli_plural(uint64_t n);

/* "1.5 GiB". Returns `text`. */
const char *cli_nbytes_text(uint64_t nbytes, char text[24]);

/* The dtype as the library writes it. Caller frees; NULL when out of memory. */
char *cli_dtype_text(const hr_dtype *dtype);

/* Shortest decimal that reads back as the same float or double; "1.0", "nan", "-inf". */
const char *cli_double_text(double value, char text[40]);
const char *cli_float_text(float value, char text[40]);

/* "2020-01-31T12:00:00.000000001" from a count of scale × unit since 1970; the bare
 * number and unit where the date is too far off. */
void cli_datetime_print(FILE *file, const hr_dtype *dtype, int64_t count);
void cli_timedelta_print(FILE *file, const hr_dtype *dtype, int64_t count);

#endif
