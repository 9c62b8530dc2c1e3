"""Dask: arrays that are larger than the memory of one GPU, reduced block by block.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/dask_blocks.py [ARRAY [DEVICE]]

With a GPU for each worker: begin with Client(dask_cuda.LocalCUDACluster()).
"""

import pathlib
import sys

import dask

import headrace as hr
import headrace.dask

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "jacksboro.zarr" / "elevation"


def main(url=EXAMPLE, device="cpu"):
    a = hr.open(url, device)
    x = headrace.dask.from_array(a, [4 * n for n in a.chunks], dtype="float64")
    print(f"{x.npartitions} blocks of {type(x._meta).__module__} arrays")
    low, mean, high = dask.compute(x.min(), x.mean(), x.max())
    print(f"from {float(low)} to {float(high)}, {float(mean):.2f} in the mean")


if __name__ == "__main__":
    main(*sys.argv[1:])
