#!/bin/sh
# What was installed is found and works, wherever it lies. SPDX-License-Identifier: Apache-2.0
#
# usage: check.sh BUILD CMAKE CC
set -eu
build=$1 cmake=$2 cc=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
place=$build/install-check
rm -rf "$place"

"$cmake" --install "$build" --prefix "$place/before" >/dev/null
mv "$place/before" "$place/after" # nothing installed may know where it was put
prefix=$place/after
unset LD_LIBRARY_PATH
"$prefix/bin/headrace" --version

cd "$root"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name headrace.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir headrace)
# shellcheck disable=SC2046
"$cc" -std=c11 examples/batch.c $(pkg-config --cflags --libs headrace) -Wl,-rpath,"$libdir" \
    -o "$place/batch"
"$place/batch" >"$place/by-pkg-config"

"$cmake" -S "$here" -B "$place/project" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
"$cmake" --build "$place/project" >/dev/null
"$place/project/batch" >"$place/by-cmake"
test -s "$place/by-cmake"
cmp "$place/by-pkg-config" "$place/by-cmake"
