"""Earth observation for training: one batch of windows from many files, into memory that is kept.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/tiff_batch.py [DEVICE [FILE...]]

On a GPU the batch is CuPy's, and is filled on a stream of its own.
"""

import pathlib
import sys

import numpy as np

import headrace as hr

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
SCENES = (DATA / "jacksboro.tif", f"{DATA}/jacksboro.tif#level=1", DATA / "jacksboro_v2.zarr/elevation")


def picks(scenes, count, size, rng):
    """(array, window) pairs, each of any of the scenes."""
    for number in rng.integers(len(scenes), size=count):
        a = scenes[number]
        row, column = (int(rng.integers(n - size + 1)) for n in a.shape)
        yield a, np.s_[row:row + size, column:column + size]


def main(device="cpu", *files):
    scenes = [hr.open(file, device) for file in files or SCENES]
    rng, shape, stream = np.random.default_rng(0), (32, 64, 64), None
    if device == "cpu":
        batch = np.empty(shape, "f4")
    else:
        import cupy
        batch, stream = cupy.empty(shape, "f4"), cupy.cuda.Stream(non_blocking=True)
    for step in range(3):
        future = hr.read_batch(picks(scenes, *shape[:2], rng), out=batch, dtype="float32", stream=stream)
        future.result()
        print(f"step {step}: mean {float(batch.mean()):.1f} of {len(batch)} windows, "
              f"{future.stats()['nchunks']} chunks")


if __name__ == "__main__":
    main(*sys.argv[1:])
