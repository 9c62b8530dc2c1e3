#!/usr/bin/env bash
# clang-format finds nothing to change. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
folders=()
for folder in include src cuda cli python examples bench tests fuzz; do
    [[ -d $folder ]] && folders+=("$folder")
done
find "${folders[@]}" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -0 clang-format --dry-run -Werror
