/* headrace: chunked arrays into GPU or host memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADRACE_HEADRACE_H
#define HEADRACE_HEADRACE_H

#include <headrace/codec.h>
#include <headrace/context.h>
#include <headrace/explain.h>
#include <headrace/memory.h>
#include <headrace/node.h>
#include <headrace/read.h>
#include <headrace/read_context.h>
#include <headrace/status.h>
#include <headrace/store.h>
#include <headrace/types.h>

#endif
