/* The configuration of TIFF's predictors. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_TIFF_PREDICTOR_H
#define HR_CODEC_TIFF_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

/* What codec->config of tiff_predictor2 and tiff_predictor3 points to. */
typedef struct hr__predictor_config {
    uint64_t row;       /* items of a row; sums begin anew with each */
    uint64_t stride;    /* an item is the difference to the one so many before it */
    uint32_t itemsize;  /* bytes */
    bool is_big_endian; /* predictor 2: order of the encoded items */
} hr__predictor_config;

#endif
