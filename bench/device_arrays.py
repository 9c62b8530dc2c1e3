"""Write arrays for reads into a device's memory. SPDX-License-Identifier: Apache-2.0

usage: device_arrays.py DIRECTORY MIB [NAME…]

float32 fields of 1024 x 1024 in chunks of 1 MiB (a quarter of a field), like packed
reanalysis data: smooth waves, a little noise, 12 bits of the mantissa. Uncompressed (raw),
as Blosc-LZ4 with shuffle (blosc-lz4), and as zstd (zstd); the first two with a checksum of
each chunk, too (raw-crc32c, blosc-lz4-crc32c), and as LZ4 (lz4), zlib, gzip and Blosc-zlib
with shuffle (zlib, gzip, blosc-zlib) and Blosc-zstd with bit shuffle (blosc-zstd). The first
three, or those named. There are 64 fields; what is more are copies of their chunks.
"""

import pathlib
import shutil
import sys

import numpy as np
import zarr
from numcodecs import LZ4, Blosc, GZip, Zlib, Zstd
from zarr.codecs import BloscCodec, Crc32cCodec

N = 1024
y, x = np.meshgrid(np.arange(N, dtype="f4"), np.arange(N, dtype="f4"), indexing="ij")


def field(t):
    r = np.random.default_rng(t)
    f = np.full((N, N), 280, "f4")
    for k in range(1, 9):
        a, b, p, q = r.normal(size=4).astype("f4")
        f += np.float32(20 / k) * np.sin(np.float32(2 * np.pi * k / N) * (a * x + b * y) + p)
    f += r.normal(scale=0.05, size=(N, N)).astype("f4")
    bits = f.view("u4")
    return ((bits + np.uint32(1 << 10)) & np.uint32(0xFFFFF800)).view("f4")


def main(folder, mib, names):
    count = mib // 4
    distinct = np.stack([field(t) for t in range(min(count, 64))])
    codecs = {"raw": None, "blosc-lz4": Blosc("lz4", 5, Blosc.SHUFFLE), "zstd": Zstd(3),
              "lz4": LZ4(), "zlib": Zlib(5), "gzip": GZip(5),
              "blosc-zlib": Blosc("zlib", 5, Blosc.SHUFFLE),
              "blosc-zstd": Blosc("zstd", 3, Blosc.BITSHUFFLE), "raw-crc32c": [Crc32cCodec()],
              "blosc-lz4-crc32c": [BloscCodec(cname="lz4", clevel=5, shuffle="shuffle",
                                              typesize=4), Crc32cCodec()]}
    for name in names or ["raw", "blosc-lz4", "zstd"]:
        array = zarr.create_array(f"{folder}/{name}.zarr", shape=(count, N, N), dtype="f4",
                                  chunks=(1, N // 4, N), compressors=codecs[name], filters=None,
                                  zarr_format=3 if "crc32c" in name else 2,
                                  overwrite=True)
        array[:len(distinct)] = distinct
        root, key = pathlib.Path(folder, f"{name}.zarr"), array.metadata.encode_chunk_key
        for t in range(len(distinct), count):
            for y in range(4):
                path = root / key((t, y, 0))
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / key((t % len(distinct), y, 0)), path)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
