/* Tags for people, as JSON. SPDX-License-Identifier: Apache-2.0 */
#include "format/tiff/internal.h"

hr_status hr__tiff_attributes(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                              const hr__tiff_layout *layout, hr__tiff_node *node,
                              hr_error *err) {
    (void)file;
    (void)ifd;
    (void)layout;
    (void)err;
    node->attributes_json = "{}";
    return HR_OK;
}
