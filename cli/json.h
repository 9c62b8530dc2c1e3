/* Building JSON output. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdint.h>

#include <json-c/json.h>

#include <headrace/status.h>

/* A value that prints as `text`, which is JSON, exactly as it stands. */
json_object *cli_json_raw(const char *text);
/* null for NULL. */
json_object *cli_json_text(const char *text);
json_object *cli_json_shape(int32_t ndim, const int64_t *shape);
/* What an error says: status, message, and key, offset and codec where known. */
json_object *cli_json_error(const hr_error *err);
/* Print a value on stdout, release it. */
void cli_json_print(json_object *value);

#endif
