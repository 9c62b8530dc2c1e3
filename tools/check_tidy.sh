#!/usr/bin/env bash
# clang-tidy finds nothing. SPDX-License-Identifier: Apache-2.0
# usage: tools/check_tidy.sh BUILD_DIR [FILE...]
#
# Files default to every C file of the library, the command, the Python extension and the
# examples: the build must compile them. The stamps in BUILD_DIR/tidy let an unchanged file be left out the
# next time: a file is looked at again when it, a header or the settings are newer.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
jobs=${JOBS:-$(nproc)}
mkdir -p "$build/tidy"

newest_shared=$(git ls-files -z --cached --others --exclude-standard -- '*.h' .clang-tidy \
    tools/check_tidy.sh | xargs -0 ls -t | sed -n 1p)

wanted=("$@")
if [[ ${#wanted[@]} -eq 0 ]]; then
    folders=()
    for folder in src cli python examples; do
        [[ -d $folder ]] && folders+=("$folder")
    done
    mapfile -t wanted < <(find "${folders[@]}" -name '*.c' | sort)
fi

todo=()
for file in "${wanted[@]}"; do
    stamp=$build/tidy/${file//\//_}
    [[ $stamp -nt $file && $stamp -nt $newest_shared ]] || todo+=("$file")
done
[[ ${#todo[@]} -gt 0 ]] || exit 0

export build
printf '%s\0' "${todo[@]}" | xargs -0 -n 1 -P "$jobs" bash -c '
    log=$(clang-tidy --quiet -p "$build" "$0" 2>&1) && touch "$build/tidy/${0//\//_}" && exit 0
    printf "%s\n" "$log"
    exit 1'
