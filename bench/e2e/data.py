"""Write fields as Zarr v3 arrays for the end-to-end bench. SPDX-License-Identifier: Apache-2.0

usage: data.py FIELDS DIRECTORY NAME…

FIELDS has the fields that make_data.py wrote, (t, 1024, 1024) each. A NAME is FIELD-CODEC-LAYOUT:
chunks of 1 MiB or 4 MiB, or shards of 64 inner chunks of 256 KiB or 1 MiB.
"""

import pathlib
import sys

import numpy as np
import zarr
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

N = 1024
LAYOUTS = {"1m": (1 << 20, 1), "4m": (1 << 22, 1), "shards": (1 << 18, 64),
           "shards64k": (1 << 16, 64), "shards1m": (1 << 20, 64)}


def blosc(cname, clevel, shuffle):
    return lambda itemsize: BloscCodec(cname=cname, clevel=clevel, shuffle=shuffle,
                                       typesize=itemsize)


CODECS = {"raw": lambda itemsize: None,
          "zstd": lambda itemsize: ZstdCodec(level=3),
          "blosc-lz4": blosc("lz4", 5, "shuffle"),
          "blosc-zstd": blosc("zstd", 3, "bitshuffle"),
          "blosc-zstd-shuffle": blosc("zstd", 3, "shuffle"),
          "gzip": lambda itemsize: GzipCodec(level=5)}


def shape_of(nbytes, itemsize):
    """Whole planes, or whole rows of one."""
    rows = nbytes // (N * itemsize)
    return (max(1, rows // N), min(rows, N), N)


def write(field, path, codec, layout):
    nbytes, ninner = LAYOUTS[layout]
    itemsize = field.dtype.itemsize
    array = zarr.create_array(path, shape=field.shape, dtype=field.dtype,
                              chunks=shape_of(nbytes, itemsize),
                              shards=None if ninner == 1 else shape_of(nbytes * ninner, itemsize),
                              compressors=CODECS[codec](itemsize), overwrite=True)
    step = 32  # whole shards
    for t in range(0, len(field), step):
        array[t:t + step] = field[t:t + step]


def main(fields, folder, *names):
    for name in names:
        field, rest = name.split("-", 1)
        codec, layout = rest.rsplit("-", 1)
        target = pathlib.Path(folder) / f"{name}.zarr"
        done = target / "written"
        if not done.exists():
            write(np.load(f"{fields}/{field}.npy", mmap_mode="r"), target, codec, layout)
            done.touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
