/* Colours for one band. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COLORMAP_H
#define CLI_COLORMAP_H

#include <stdint.h>

/* Colour of t in [0, 1] on a scale of even lightness steps, dark to bright (viridis). */
void cli_colormap(double t, uint8_t rgb[3]);

#endif
