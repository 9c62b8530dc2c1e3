#!/usr/bin/env bash
# Every static check, one after the other. SPDX-License-Identifier: Apache-2.0
# usage: tools/check_all.sh [BUILD_DIR]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}

failed=0
for check in format layers files headers symbols tidy; do
    start=$SECONDS
    case $check in
    format) tools/check_format.sh ;;
    layers) python3 tools/check_layers.py ;;
    files) python3 tools/check_files.py ;;
    headers) tools/check_headers.sh ;;
    symbols) python3 tools/check_symbols.py "$build/libheadrace.so" ;;
    tidy) tools/check_tidy.sh "$build" ;;
    esac && result=passed || { result=FAILED; failed=$((failed + 1)); }
    printf 'check %s: %s (%d s)\n' "$check" "$result" $((SECONDS - start))
done
exit $((failed > 0))
