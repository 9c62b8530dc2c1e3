/* Colours for one band. SPDX-License-Identifier: Apache-2.0 */
#include "colormap.h"

/* Nine evenly spaced points of viridis (public domain, CC0); straight lines between. */
static const uint8_t points[9][3] = {
    {68, 1, 84},    {71, 45, 123}, {59, 82, 139},  {44, 114, 142}, {33, 145, 140},
    {40, 174, 128}, {94, 201, 98}, {173, 220, 48}, {253, 231, 37},
};

void cli_colormap(double t, uint8_t rgb[3]) {
    double place = (t < 0 ? 0 : t > 1 ? 1 : t) * 8;
    int i = place >= 8 ? 7 : (int)place;
    double part = place - i;
    for (int k = 0; k < 3; k++) {
        double value = points[i][k] + part * (points[i + 1][k] - points[i][k]);
        rgb[k] = (uint8_t)(value + 0.5);
    }
}
