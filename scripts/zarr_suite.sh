#!/usr/bin/env bash
# zarr-python's own tests of indexing, codecs and pipelines, with headrace as the pipeline.
# SPDX-License-Identifier: Apache-2.0
#
# usage: scripts/zarr_suite.sh [BUILD [VERSION [PYTHON]]]
#
# Fetches zarr-python's source release of that version (default 3.1.6) from the package
# index, and runs its tests in an environment of their own in BUILD (default build), where
# the package is built. Some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
version=${2:-3.1.6}
python=${3:-python3}
place=$build/zarr-suite-$version

[[ -e $build/python/headrace ]] || { printf 'build the package first: make build-tests\n' >&2; exit 1; }
if [[ ! -e $place/ready ]]; then
    "$python" -m venv "$place/venv"
    "$place/venv/bin/pip" install -q "zarr==$version" pytest pytest-asyncio pytest-benchmark \
        pytest-codspeed hypothesis fsspec rich tomlkit typer
    "$place/venv/bin/pip" download -q --no-deps --no-binary zarr -d "$place" "zarr==$version"
    tar xf "$place/zarr-$version.tar.gz" -C "$place"
    touch "$place/ready"
fi

cd "$place/zarr-$version"
files=(tests/test_indexing.py tests/test_codecs tests/test_v2.py tests/test_array.py
    tests/test_properties.py)
for name in tests/test_codec_pipeline{,_suite}.py tests/test_pipeline_parity.py; do
    [[ ! -e $name ]] || files+=("$name")
done
# Left out: what counts how zarr-python's own codec reads parts of shards, or makes that
# fail; the words of errors that are raised as they should be.
mocks="partial_shard_read or duplicate_read_indexes or load_partial_shard"
words="test_integer_decode_rejects_non_exact_division or test_decode_rejects_integer_overflow"
ZARR_CODEC_PIPELINE__PATH=headrace.zarr.Pipeline PYTHONPATH=$build/python \
    "$place/venv/bin/python" -m pytest -q -p no:cacheprovider -W ignore --durations 0 \
    --durations-min 20 -k "not ($mocks) and not ($words)" "${files[@]}"
