"""Many selections in one call: each chunk is read and decoded once.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/batches.py [ARRAY [DEVICE]]
"""

import asyncio
import pathlib
import sys

import numpy as np

import headrace as hr

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "jacksboro.zarr" / "elevation"


def crops(a, size, count, seed=0):
    """Windows at random places, one array of floats for all of them."""
    places = np.random.default_rng(seed).integers(0, np.subtract(a.shape, size), (count, 2))
    out = np.empty((count, size, size), np.float32)
    future = a.read(hr.boxes(places, (size, size)), out=out, dtype="float32")
    future.result()
    return out, future.stats()


def ragged(a):
    """Rows of different length, one after the other in one tensor."""
    rows = [(a, np.s_[i, :10 * (i + 1)]) for i in range(5)]
    packed = hr.read_batch(rows, out="packed").result()
    return packed.offsets, packed[3].to("numpy")


async def many(a):
    """As many reads under way as you like; the event loop goes on meanwhile."""
    rows = await asyncio.gather(*(a.read(np.s_[i]) for i in range(0, a.shape[0], 50)))
    return [int(row.to("numpy").max()) for row in rows]


def main(url=EXAMPLE, device="auto"):
    a = hr.open(url, device)
    out, stats = crops(a, size=64, count=200)
    print(f"{len(out)} crops, mean {out.mean():.1f}: {stats['nchunks']} chunks, "
          f"{stats['nreads']} reads of {stats['read_nbytes']} bytes")
    offsets, row = ragged(a)
    print("offsets", offsets, "fourth row", row[:5])
    print("highest of every 50th row", asyncio.run(many(a)))


if __name__ == "__main__":
    main(*sys.argv[1:])
