"""Write a field as Zarr v3 arrays for the end-to-end bench. SPDX-License-Identifier: Apache-2.0

usage: data.py FIELD.npy DIRECTORY CODECS LAYOUTS     (comma-separated)

FIELD is one that make_data.py wrote: (t, 1024, 1024). Each array is called
field-codec-layout.zarr: chunks of 1 MiB or 4 MiB, or shards of 64 inner chunks of 256 KiB.
"""

import pathlib
import sys

import numpy as np
import zarr
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

N = 1024
LAYOUTS = {"1m": (1 << 20, 1), "4m": (1 << 22, 1), "shards": (1 << 18, 64)}
CODECS = {"raw": lambda itemsize: None,
          "zstd": lambda itemsize: ZstdCodec(level=3),
          "blosc-lz4": lambda itemsize: BloscCodec(cname="lz4", clevel=5, shuffle="shuffle",
                                                   typesize=itemsize),
          "blosc-zstd": lambda itemsize: BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle",
                                                    typesize=itemsize),
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
    step = 16
    for t in range(0, len(field), step):
        array[t:t + step] = field[t:t + step]


def main(path, folder, codecs, layouts):
    path, folder = pathlib.Path(path), pathlib.Path(folder)
    field = np.load(path, mmap_mode="r")
    for codec in codecs.split(","):
        for layout in layouts.split(","):
            target = folder / f"{path.stem}-{codec}-{layout}.zarr"
            done = target / "written"
            if not done.exists():
                write(field, target, codec, layout)
                done.touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
