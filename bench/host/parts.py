"""What small reads of large chunks cost, and what caches save. SPDX-License-Identifier: Apache-2.0

usage: PYTHONPATH=build/python parts.py [--dir build/bench] [--size 256] [--count 8] [--repeat 7]

Reads rows, planes, points and crops of one cube of size³ float32, in chunks of 4 MiB or less,
from the page cache, `count` selections in a call; gives the median time of one selection in µs, and
what was read and decoded for it. "again" are the same crops with decoded chunks kept between
calls. PYTHONPATH may name the build of another version, to compare.
"""

import argparse
import pathlib
import statistics
import time

import headrace as hr
import numcodecs
import numpy as np
import zarr

CODECS = {"raw": None, "blosc-lz4-shuffle": ("lz4", 1), "blosc-zstd-bitshuffle": ("zstd", 2),
          "zstd": numcodecs.Zstd(level=3)}
KIB = 1 << 10


def write(folder, size):
    """One array per codec, unless it is there."""
    edge = min(size, 100)
    noise = np.random.default_rng(0).normal(0, 0.05, (size,) * 3)
    axis = np.linspace(0, 9, size)
    data = (np.sin(axis[:, None, None] + axis[None, :, None] * axis) + noise).astype("f4")
    for name, codec in CODECS.items():
        path = folder / f"{name}-{size}"
        if isinstance(codec, tuple):
            codec = numcodecs.Blosc(cname=codec[0], clevel=5, shuffle=codec[1])
        if not path.exists():
            zarr.create_array(str(path), shape=data.shape, chunks=(edge,) * 3, dtype="f4",
                              compressors=codec, zarr_format=2)[...] = data
        yield name, path


def selections(kind, size, n):
    rng = np.random.default_rng(1)
    at = rng.integers(0, size - 32, (n, 3))
    if kind == "rows":
        return [np.s_[i, j] for i, j, _ in at]
    if kind == "planes":
        return [np.s_[i] for i, _, _ in at]
    if kind == "points":
        return [hr.vindex[rng.integers(0, size, 8), rng.integers(0, size, 8),
                          rng.integers(0, size, 8)] for _ in at]
    return [np.s_[i:i + 32, j:j + 32, k:k + 32] for i, j, k in at]


def measure(path, wants, repeat):
    a = hr.open(str(path))
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        future = a.read(wants)
        future.result()
        times.append(time.perf_counter() - start)
    stats = future.stats()
    return (statistics.median(times[1:]) * 1e6 / len(wants), stats["read_nbytes"] / len(wants) / KIB,
            stats["decoded_nbytes"] / len(wants) / KIB)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("build/bench"))
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=7)
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    print(f"{'codec':22} {'selection':9} {'µs each':>9} {'KiB read':>9} {'KiB decoded':>11}")
    for name, path in write(args.dir, args.size):
        for kind in ("rows", "planes", "points", "crops", "again"):
            kept = {"chunk_cache_nbytes": 4 << 30} if kind == "again" else {}
            with hr.config(**kept):
                row = measure(path, selections(kind, args.size, args.count), args.repeat)
            print(f"{name:22} {kind:9} {row[0]:9.1f} {row[1]:9.1f} {row[2]:11.1f}")


if __name__ == "__main__":
    main()
