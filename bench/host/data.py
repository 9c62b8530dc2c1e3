"""Write the data sets of the host benchmark. SPDX-License-Identifier: Apache-2.0

usage: data.py DIRECTORY SIZE

Three arrays of SIZE³ uint16 with the same values, as plain chunks, as zstd chunks and as
shards of zstd chunks; and one of SIZE³/10.74 random doubles in zarr-python's default
layout (100 million of them for 1024).
"""

import pathlib
import shutil
import sys

import numpy as np
import zarr

CHUNK, INNER = 256, 64


def values(start, stop, size):
    """Rows start…stop of (i³ + j²/32 + k) mod 65536."""
    i = np.arange(start, stop, dtype="u8")[:, None, None] ** 3
    j = (np.arange(size, dtype="u8")[None, :, None] ** 2) // 32
    k = np.arange(size, dtype="u8")[None, None, :]
    return ((i + j + k) % 65536).astype("u2")


def write_volumes(folder, size):
    zstd = zarr.codecs.ZstdCodec(level=0)
    layouts = {"plain": {"chunks": (CHUNK,) * 3, "compressors": None},
               "zstd": {"chunks": (CHUNK,) * 3, "compressors": zstd},
               "shards": {"chunks": (INNER,) * 3, "shards": (CHUNK,) * 3, "compressors": zstd}}
    arrays = [zarr.create_array(f"{folder}/{name}.zarr", shape=(size,) * 3, dtype="u2",
                                fill_value=0, overwrite=True, **layout)
              for name, layout in layouts.items()]
    for start in range(0, size, CHUNK):
        block = values(start, start + CHUNK, size)
        for array in arrays:
            array[start:start + CHUNK] = block


def write_doubles(folder, size):
    count = 100_000_000 * size**3 // 1024**3
    zarr.create_array(f"{folder}/doubles.zarr", overwrite=True,
                      data=np.random.default_rng(0).standard_normal(count))


def main(folder, size):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_volumes(folder, size)
    write_doubles(folder, size)
    (folder / "done").touch()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
