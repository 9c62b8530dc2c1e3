#!/usr/bin/env bash
# Every header compiles alone. SPDX-License-Identifier: Apache-2.0
# Public ones as C11 and as C++17, with all that their HR_…_INIT make; internal ones as C11, those of the kernels as C++17.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0

# alone COMPILER FLAGS HEADER [STATEMENTS]
alone() {
    local compiler=$1 flags=$2 header=$3 statements=${4:-}
    # shellcheck disable=SC2086
    if ! printf '#include "%s"\nvoid use(void);\nvoid use(void) { %s }\n' "$header" "$statements" |
        $compiler $flags -Wall -Wextra -Werror -fsyntax-only -; then
        printf 'not self-contained: %s (%s %s)\n' "$header" "$compiler" "$flags"
        failed=1
    fi
}

while IFS= read -r header; do
    inits=$(sed -n 's/^#define \(HR_[A-Z_]*_INIT\).*/(void)\1;/p' "$header" | tr '\n' ' ')
    alone cc "-x c -std=c11 -pedantic -Iinclude" "${header#include/}" "$inits"
    alone c++ "-x c++ -std=c++17 -pedantic -Iinclude" "${header#include/}" "$inits"
done < <(find include -name '*.h' | sort)

deps=$(pkg-config --cflags json-c)
while IFS= read -r header; do
    alone cc "-x c -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -I. $deps" "$header"
done < <(find src cli cuda/kernel_abi.h -name '*.h' | sort)
while IFS= read -r header; do
    alone c++ "-x c++ -std=c++17 -D_GNU_SOURCE -I." "$header"
done < <(find cuda -name '*.h' ! -name 'simt_*.h' | sort) # those are parts of simt.h
exit $failed
