/* Times of stages, for people and programs. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_STAGES_H
#define CLI_STAGES_H

#include <json-c/json.h>

#include <headrace/read.h>

/* A line per stage that took time, then which one bounds. */
void cli_stages_print(const hr_stage_times *times);
/* {"bound", "wall_seconds", "threads", "seconds": {…}, "shares": {…}}; null: not known.
 */
json_object *cli_stages_json(const hr_stage_times *times);

#endif
