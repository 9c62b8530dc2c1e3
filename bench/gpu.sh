#!/usr/bin/env bash
# Everything that needs a GPU, in one go: the tests labelled gpu, the corpus read into GPU
# memory against the same read on the host, compute-sanitizer, the kernel benches.
# SPDX-License-Identifier: Apache-2.0
# usage: bench/gpu.sh PACK_DIR [OUT_DIR]     PACK_DIR comes from scripts/gpu_pack.sh
# ONLY=REGEX takes the steps of such names, TEAMS=all every team of the kernel benches; MUTANTS,
# CHUNK_MUTANTS and CASES are numbers of inputs, SOAK_MINUTES is how long the soak goes on. E2E are options of bench/e2e/run.py, as it is by
# default the smaller half: E2E="--fields era,cells --layouts 4m,shards" is the rest.
set -uo pipefail
pack=$(cd "$1" && pwd) out=${2:-/tmp/headrace-gpu}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
export LD_LIBRARY_PATH=$pack/lib
failed=0

step() { # step NAME COMMAND…: run it, keep its output, print the end and the time
    local name=$1 start=$SECONDS
    shift
    [[ $name =~ ${ONLY:-.} ]] || return 0
    if "$@" >"$out/$name.log" 2>&1; then
        echo "== $name: ok, $((SECONDS - start)) s"
    else
        echo "== $name: FAILED ($?), $((SECONDS - start)) s"
        failed=$((failed + 1))
    fi
    tail -n "${LINES_OF_LOG:-25}" "$out/$name.log"
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
LINES_OF_LOG=12 step doctor "$pack/bin/headrace" doctor
step kern_cuda "$pack/bin/kern_cuda"
step kern_scatter "$pack/bin/kern_scatter" cuda --cases 3000 --bench 1024
step kern_store "$pack/bin/kern_store" cuda --cases "${CASES:-500}" --bench 512
step kern_filters "$pack/bin/kern_filters" cuda --cases 500 --bench 512
for codec in lz4 snappy blosclz packbits deflate lzw zstd; do
    LINES_OF_LOG=3 step "kern_$codec" "$pack/bin/kern_$codec" cuda --mutants \
        "${MUTANTS:-20000}"
done
if [ -f "$pack/make_data.py" ]; then # writes era, cells, label
    peer=() teams=()
    if [ -n "${TEAMS:-}" ]; then teams=(--teams "$TEAMS"); fi
    if [ -f "$pack/nvcomp/libnvcomp.so" ]; then peer=(--nvcomp "$pack/nvcomp/libnvcomp.so"); fi
    LINES_OF_LOG=2 step fields python3 "$pack/make_data.py" "$out/fields" 512
    for field in "$out"/fields/*.npy; do
        name=$(basename "$field" .npy)
        LINES_OF_LOG=200 step "bench_lz4_$name" \
            "$pack/bin/bench_lz4" "$field" ${teams[@]+"${teams[@]}"} ${peer[@]+"${peer[@]}"}
        LINES_OF_LOG=200 step "bench_deflate_$name" \
            "$pack/bin/bench_deflate" "$field" ${teams[@]+"${teams[@]}"} ${peer[@]+"${peer[@]}"}
        for codec in snappy blosclz packbits lzw; do
            LINES_OF_LOG=30 step "bench_${codec}_$name" "$pack/bin/bench_$codec" "$field" \
                ${teams[@]+"${teams[@]}"}
        done
        LINES_OF_LOG=60 step "bench_zstd_$name" \
            "$pack/bin/bench_zstd" "$field" ${peer[@]+"${peer[@]}"}
    done
fi
LINES_OF_LOG=4 step parts "$pack/bin/test_api_parts" cuda
LINES_OF_LOG=2 step launches "$pack/bin/bench_launch" cuda
step kern_blosc "$pack/bin/kern_blosc" cuda --levels 10
LINES_OF_LOG=12 step kern_mutants timeout 150 "$pack/bin/kern_mutants" cuda \
    --mutants "${CHUNK_MUTANTS:-1000000}"
if [ -f "$pack/corpus.txz" ] && [ -d "$pack/python" ]; then
    tar -C "$out" -xJf "$pack/corpus.txz"
    cp "$pack/MANIFEST.tsv" "$out/"
    PYTHONPATH=$pack/python:${PYTHONPATH-} step corpus_cuda \
        python3 "$here/corpus_device.py" "$out" cuda:0
fi
# Whole reads, files in the page cache, into GPU and into host memory.
if python3 -c 'import zarr, numcodecs' 2>/dev/null; then
    LINES_OF_LOG=2 step arrays python3 "$here/device_arrays.py" "$out/arrays" 2048
    LINES_OF_LOG=2 step arrays_inflated python3 "$here/device_arrays.py" "$out/arrays" 512 \
        gzip blosc-zstd
    for array in "$out"/arrays/*.zarr; do
        for device in cuda:0 cpu; do
            LINES_OF_LOG=16 step "read_$(basename "$array" .zarr)_${device%:0}" \
                "$pack/bin/headrace" bench "$array" -n 15 --device "$device"
        done
    done
    # Few chunks: does a share for the host help, as the model has it? (See hr_read_options.)
    for share in 0 25 50 auto; do
        LINES_OF_LOG=18 step "host_share_$share" "$pack/bin/headrace" bench \
            "$out/arrays/zstd.zarr" -s 0:4 -n 15 --device cuda:0 --host-share="$share"
    done
    LINES_OF_LOG=20 step explain_measure "$pack/bin/headrace" explain "$out/arrays/zstd.zarr" \
        --device cuda:0 --measure
    # The same chunks, in the GPU's memory already.
    LINES_OF_LOG=20 step kern_chunks "$pack/bin/kern_chunks" cuda "$out/arrays/blosc-lz4.zarr"
fi
# What the engine promises: caps, latency, crops, cancel, turns; several devices at once.
mkdir -p "$out/engine"
for task in budget latency crops cancel turns; do
    step "engine_$task" timeout 90 "$pack/bin/bench_engine" "$task" cuda:0 "$out/engine"
done
if ldconfig -p | grep -q libcufile; then
    CUFILE_FORCE_COMPAT_MODE=true step engine_cufile timeout 30 "$pack/bin/bench_engine" cufile \
        cuda:0 "$out/engine"
fi
if [ "$(nvidia-smi --list-gpus | wc -l)" -gt 1 ]; then
    step engine_two "$pack/bin/bench_engine" two cuda:0 "$out/engine"
fi
# Files that are not in the page cache, on whatever disk that is.
LINES_OF_LOG=90 step cold timeout 120 "$pack/bin/bench_cold" "$out/cold" 512 3
if [ -d "$out/cold/1m" ]; then
    for io in buffered direct; do
        sync "$out/cold/1m"/* # and out of the cache with them
        python3 -c 'import glob, os, sys
for path in glob.glob(sys.argv[1] + "/*"):
    os.posix_fadvise(os.open(path, os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)' "$out/cold/1m"
        LINES_OF_LOG=20 step "cold_cuda_$io" "$pack/bin/headrace" bench "$out/cold/1m" -n 1 \
            --device cuda:0 --io "$io"
    done
fi
# Files to GPU and host memory, beside other readers, as far as they are installed.
if [ -f "$pack/make_data.py" ] && python3 -c 'import zarr, cupy' 2>/dev/null; then
    export HEADRACE_BIN=$pack/bin/headrace
    if [ -f "$pack/nvcomp/libnvcomp.so" ]; then export NVCOMP=$pack/nvcomp/libnvcomp.so; fi
    for device in cuda:0 cpu; do
        # shellcheck disable=SC2086  # E2E is several words
        PYTHONPATH=$pack/python:${PYTHONPATH-} LINES_OF_LOG=200 step "e2e_${device%:0}" \
            python3 "$here/e2e/run.py" --make-data "$pack/make_data.py" --dir "$out/e2e" \
            --device "$device" ${E2E:---fields era --layouts 1m}
    done
fi
# The package: its tests that want a GPU, the examples there, zarr-python's tests of GPU memory.
if [ -d "$pack/python/headrace" ] && python3 -c 'import pytest, zarr, cupy' 2>/dev/null; then
    tests=$here/../tests/python
    PYTHONPATH=$pack/python:${PYTHONPATH-} LINES_OF_LOG=12 step python \
        timeout 150 python3 -m pytest -p no:cacheprovider -q -rs "$tests"/test_*gpu*.py \
        "$tests"/test_{dask,numcodecs,on_error,package_examples,xarray}.py
    # But for two that want zarr-python's warning, on reading, that it copies host bytes up: headrace
    # does not (tests/python/test_package_zarr_gpu.py makes the same writes and reads).
    if [ -d "$pack/zarr" ]; then
        PYTHONPATH=$pack/python:${PYTHONPATH-} ZARR_CODEC_PIPELINE__PATH=headrace.zarr.Pipeline \
            LINES_OF_LOG=8 step python_zarr timeout 60 python3 -m pytest -p no:cacheprovider -q -W ignore \
            -m gpu -k "not use_of_gpu_prototype" "$pack"/zarr/tests/test_{api,buffer,config}.py \
            "$pack/zarr/tests/test_store/test_memory.py"
    fi
fi
if python3 -c 'import tifffile, imagecodecs, cupy' 2>/dev/null; then
    PYTHONPATH=$pack/python:${PYTHONPATH-} LINES_OF_LOG=4 step tiff_sweep timeout 100 python3 -m pytest \
        -p no:cacheprovider -q -rs "$here/../tests/python/test_tiff_sweep.py" -k cuda
    for device in cuda:0 cpu; do
        PYTHONPATH=$pack/python:${PYTHONPATH-} LINES_OF_LOG=12 step "tiff_${device%:0}" \
            python3 "$here/tiff/run.py" --dir "$out/tiff" --device "$device"
    done
fi
# Mixed batches, cancelled and with errors: right, and the process does not grow.
LINES_OF_LOG=30 step soak "$pack/bin/soak" --minutes "${SOAK_MINUTES:-2}" --threads 16 \
    --device cuda:0
# Small sets, each in the time that its tool leaves it: at most 300 s in all.
sanitizer() { # sanitizer TOOL SECONDS PROGRAM ARGUMENT…
    local tool=$1 limit=$2 program=$3
    shift 3
    LINES_OF_LOG=4 step "sanitizer_${tool}_$program" timeout "$limit" compute-sanitizer \
        --tool "$tool" --error-exitcode 9 "$pack/bin/$program" cuda "$@"
}
for tool in memcheck racecheck initcheck synccheck; do
    sanitizer "$tool" 8 kern_scatter --cases 20
    sanitizer "$tool" 10 kern_store --cases 10
    # Racecheck does not follow bar.arrive where readers free a buffer, which teams with a p
    # do (see bench/NOTES.md).
    turns=$([ $tool != racecheck ] || echo --teams 6)
    sanitizer "$tool" 10 kern_lz4 --drawn 4 --mutants 4 $turns
    for codec in snappy blosclz packbits; do
        sanitizer "$tool" 8 "kern_$codec" --small 1 --mutants 4 $turns
    done
    sanitizer "$tool" 10 kern_lzw --small 1 --mutants 4 \
        $([ $tool != racecheck ] || echo --teams 2)
    sanitizer "$tool" 20 kern_zstd --frames 24 --mutants 4 --draw 1 \
        $([ $tool != racecheck ] || echo --teams 2)
    sanitizer "$tool" 15 kern_deflate --small 1 --mutants 4 \
        $([ $tool != racecheck ] || echo --teams 4)
    sanitizer "$tool" 10 kern_filters --cases 10
done
for tool in memcheck initcheck; do
    sanitizer "$tool" 15 test_api_parts
done
sanitizer memcheck 15 kern_mutants --mutants 500 --batch 256 --largest 4096
sanitizer initcheck 15 kern_mutants --mutants 500 --batch 256 --largest 4096
echo "$failed steps failed"
exit $((failed > 0))
