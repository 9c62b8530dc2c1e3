#!/usr/bin/env bash
# Pack a build so that a machine with a GPU, but without our libraries, can run
# bench/gpu.sh from it. SPDX-License-Identifier: Apache-2.0
# usage: scripts/gpu_pack.sh BUILD_DIR OUT_DIR [CORPUS_DIR]
set -euo pipefail
build=$1 out=$2 corpus=${3:-}

rm -rf "$out"
mkdir -p "$out/bin" "$out/lib"
cp "$build/cli/headrace" "$build/tests/test_api_read" "$build/tests/test_api_parts" "$out/bin/"
find "$build/tests/kern" -maxdepth 1 -type f -executable -exec cp {} "$out/bin/" \;
cp "$build/bench/soak/soak" "$build/bench/engine/bench_engine" "$out/bin/"
find "$build/bench/gpu" "$build/bench/host" -maxdepth 1 -type f -executable -exec cp {} "$out/bin/" \;
fields=$(dirname "$0")/../../shared/bench/make_data.py
if [ -f "$fields" ]; then cp "$fields" "$out/"; fi
# A peer of the kernel benches: NVCOMP=…/libnvcomp.so.6 takes it along.
if [ -n "${NVCOMP:-}" ]; then mkdir "$out/nvcomp" && cp -L "$NVCOMP" "$out/nvcomp/libnvcomp.so"; fi
cp -L "$build/libheadrace.so.0" "$out/lib/"
# Every library that the C run-time does not bring.
for program in "$out"/bin/*; do
    ldd "$program" | awk '$3 ~ /^\// { print $3 }'
done | sort -u | grep -vE '/(libc|libm|libdl|libpthread|librt|libstdc..|libgcc_s|ld-linux[^/]*)\.so' |
    while read -r library; do
        case $library in
        */libheadrace.so*) ;;
        *) cp -L "$library" "$out/lib/" ;;
        esac
    done
# The package, where the build has it (HR_PYTHON).
if [ -d "$build/python/headrace" ]; then cp -rL "$build/python" "$out/python"; fi
strip --strip-unneeded "$out"/python/headrace/*.so 2>/dev/null || true
strip --strip-unneeded "$out"/bin/* "$out"/lib/* 2>/dev/null || true
# zarr-python's own tests: ZARR_SOURCE=… takes them along from its unpacked source release.
if [ -n "${ZARR_SOURCE:-}" ]; then
    mkdir "$out/zarr" && cp -r "$ZARR_SOURCE/tests" "$ZARR_SOURCE/pyproject.toml" "$out/zarr/"
fi
if [ -n "$corpus" ]; then
    (cd "$corpus" && find zarr bad/zarr codec tiff -type f ! \( -path 'tiff/*' -size +64k \)) |
        tar -C "$corpus" -cJf "$out/corpus.txz" -T -
    cp -L "$corpus/MANIFEST.tsv" "$out/"
fi
du -sh "$out"
