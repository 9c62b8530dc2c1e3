/* Codecs of the caller's. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_CUSTOM_H
#define HR_CODEC_CUSTOM_H

#include <headrace/codec.h>

#include "codec/codec.h"
#include "core/lock.h"

struct hr__custom;

/* Those of a context. They are only ever added, so that who looks for one needs no lock.
 */
typedef struct hr__custom_codecs {
    const hr_allocator *allocator;
    hr__lock lock; /* over adding */
    _Atomic(struct hr__custom *) newest;
} hr__custom_codecs;

void hr__custom_init(hr__custom_codecs *codecs, const hr_allocator *a);
void hr__custom_free(hr__custom_codecs *codecs);
hr_status hr__custom_add(hr__custom_codecs *codecs, const hr_custom_codec *functions,
                         hr_error *err);
/* One after the other, `before` NULL at first; NULL at the end. codecs may be NULL. */
const hr__codec_type *hr__custom_next(const hr__custom_codecs *codecs,
                                      const hr__codec_type *before);

#endif
