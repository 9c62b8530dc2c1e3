/* Times of stages, for people and programs. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_STAGES_H
#define CLI_STAGES_H

#include <json-c/json.h>

#include <headrace/read.h>

/* A line per stage that takes time, after one with the time of all and what bounds it;
 * `what`: that time is "of" the read, or one that it takes "at least". */
void cli_stages_print(const char *what, const hr_stage_times *times);
/* {"bound", "wall_seconds", "threads", "seconds": {…}, "shares": {…}}; null: not known.
 */
json_object *cli_stages_json(const hr_stage_times *times);

#endif
