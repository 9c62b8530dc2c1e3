/* Size-tagged option structs. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_API_OPTIONS_H
#define HR_API_OPTIONS_H

#include <stddef.h>

#include <headrace/status.h>

/* Copy a caller's options (or NULL) over *known, which holds the defaults and is
 * known_nbytes long. Options of an older caller are shorter: the rest keeps its
 * defaults. Those of a newer caller are longer: what is not known must be zero. */
hr_status hr__options_read(void *known, size_t known_nbytes, const void *given,
                           const char *what, hr_error *err);

/* Copy a result to a caller's struct of its own size, whose struct_size stays. */
hr_status hr__options_write(void *out, const void *known, size_t known_nbytes,
                            const char *what, hr_error *err);

#endif
