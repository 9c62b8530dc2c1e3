/* The configuration of transpose. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_TRANSPOSE_H
#define HR_CODEC_TRANSPOSE_H

#include "codec/codec.h"

/* "order" for ndim axes: axis i of the encoded chunk is axis order[i] of the decoded one.
 * "C" and "F" too, as drafts of the specification had them. HR_ERR_METADATA. */
hr_status hr__transpose_order(json_object *config, int32_t ndim, int32_t *order,
                              hr_error *err);

#endif
