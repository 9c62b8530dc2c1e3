/* Where an image lies, as text. SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include <headrace/node.h>

/* Reference, origin, size of a pixel, corners, control points, polynomials and overviews
 * of a TIFF on stdout, as far as it has them. */
void cli_place_print(const hr_node_info *info);

#endif
