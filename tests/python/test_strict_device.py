"""Which arrays of the corpus kernels decode: read onto the simt device with --strict.

The table below may grow only: a row that the kernels lose fails here.
SPDX-License-Identifier: Apache-2.0
"""

import collections
import concurrent.futures
import hashlib
import os

import pytest

from test_corpus import place, rows

# Arrays read without the host's decoders, at least, by what the manifest says of them.
STRICT = {
    ("none", ""): 38,
    ("blosc:lz4:shuffle1", ""): 24,
    ("blosc:lz4:shuffle0", ""): 5,
    ("blosc:lz4:shuffle-1", ""): 2,
    ("zstd", ""): 3,
    ("blosc:zstd:shuffle2", ""): 7,
    ("blosc:zstd:shuffle1", ""): 5,
    ("blosc:zstd:shuffle0", ""): 4,
    ("bytes:little+blosc:zstd:noshuffle", ""): 15,
    ("bytes:-+blosc:zstd:noshuffle", ""): 1,
    ("bytes:big+blosc:zstd:noshuffle", ""): 1,
    ("bytes:little+blosc:zstd:bitshuffle", ""): 1,
    ("bytes:little+zstd", ""): 1,
    ("sharding[end; inner bytes:little+zstd; index bytes:little+crc32c]", ""): 1,
    ("zlib", ""): 7,
    ("zlib", "shuffle"): 1,
    ("zlib", "delta+shuffle"): 1,
    ("gzip", ""): 2,
    ("gzip", "delta"): 1,
    ("bytes:little+gzip", ""): 4,
    ("sharding[end; inner bytes:little+gzip; index bytes:little+crc32c]", ""): 13,
    ("sharding[end; inner bytes:-+gzip; index bytes:little+crc32c]", ""): 1,
    ("bytes:little", ""): 8,
    ("lz4", ""): 1,
    ("none", "shuffle"): 1,
    ("none", "fixedscaleoffset"): 3,
    ("fletcher32", ""): 1,
    ("adler32", ""): 1,
    ("transpose:[1, 0]+bytes:little", ""): 2,
    ("numcodecs.delta+bytes:little", ""): 1,
    ("transpose:[1, 0, 2]+numcodecs.delta+bytes:little", ""): 1,
    ("bitround+bytes:little", ""): 1,
    ("bytes:little+numcodecs.adler32", ""): 1,
    ("bytes:little+numcodecs.fletcher32", ""): 1,
}


@pytest.mark.parametrize("row", rows("zarr-array")[:1])
def test_strict_reads_onto_a_device(row, cli):
    """All at once: right bytes, or a refusal in words; no fewer than in the table."""
    del row  # absent with the corpus
    chosen = [p.values[0] for p in rows("zarr-array")]

    def read(row):
        return cli("read", place(row), "-o", "-", "--device", "simt", "--strict")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(read, chosen))
    if any(b"this build has no device" in result.stderr for result in results):
        pytest.skip("built without the simt device")
    right = collections.Counter()
    for row, result in zip(chosen, results):
        assert not cli.crashed(result), (row["path"], result.stderr.decode())
        if result.returncode != 0:
            assert result.stderr.strip(), row["path"]
            continue
        assert hashlib.sha256(result.stdout).hexdigest() == row["expected_sha256"], row["path"]
        right[row["compression"], row["filters"]] += 1
    lost = {key: (right[key], n) for key, n in STRICT.items() if right[key] < n}
    assert not lost, f"strict reads that are no more (now, before): {lost}"
