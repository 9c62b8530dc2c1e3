/* Times of stages, for people and programs. SPDX-License-Identifier: Apache-2.0 */
#include "stages.h"

#include <stdio.h>

#include "json.h"

static const char *bound_name(const hr_stage_times *times) {
    return times->bound < 0 ? NULL : hr_stage_name((hr_stage)times->bound);
}

static void print_stage(const hr_stage_times *times, hr_stage stage) {
    if (times->ns[stage] > 0) {
        printf("  %-8s %10.3f ms %6.1f %%\n", hr_stage_name(stage),
               (double)times->ns[stage] * 1e-6, 100 * hr_stage_share(times, stage));
    }
}

void cli_stages_print(const char *what, const hr_stage_times *times) {
    printf("stages   %s %.3f ms, %u threads", what, (double)times->wall_ns * 1e-6,
           times->nthreads);
    if (times->bound >= 0) {
        printf("; bound by %s", bound_name(times));
    }
    puts("");
    for (int i = 0; i < HR_NSTAGES; i++) {
        print_stage(times, (hr_stage)i);
    }
}

static json_object *seconds_json(uint64_t ns) {
    return ns == HR_UNKNOWN ? NULL : json_object_new_double((double)ns * 1e-9);
}

json_object *cli_stages_json(const hr_stage_times *times) {
    json_object *object = json_object_new_object();
    json_object *seconds = json_object_new_object();
    json_object *shares = json_object_new_object();
    for (int i = 0; i < HR_NSTAGES; i++) {
        const hr_stage stage = (hr_stage)i;
        json_object_object_add(seconds, hr_stage_name(stage), seconds_json(times->ns[i]));
        json_object_object_add(shares, hr_stage_name(stage),
                               json_object_new_double(hr_stage_share(times, stage)));
    }
    json_object_object_add(object, "bound", cli_json_text(bound_name(times)));
    json_object_object_add(object, "wall_seconds", seconds_json(times->wall_ns));
    json_object_object_add(object, "threads",
                           json_object_new_int64((int64_t)times->nthreads));
    json_object_object_add(object, "seconds", seconds);
    json_object_object_add(object, "shares", shares);
    return object;
}
