"""xarray: a lazy dataset, its data on the device, many reads under way at once.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/xarray_dataset.py [STORE [VARIABLE [DEVICE]]]
"""

import asyncio
import pathlib
import sys

import xarray as xr

import headrace as hr

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "jacksboro.zarr"


def best_device():
    """The GPU where there is one."""
    try:
        hr.device_info("cuda")
        return "cuda"
    except hr.Error:
        return "cpu"


async def bands(variable, count):
    """Stripes of the variable, all of them read at the same time."""
    axis = variable.dims[0]
    step = -(-variable.sizes[axis] // count)
    parts = [variable.isel({axis: slice(i * step, (i + 1) * step)}) for i in range(count)]
    return await asyncio.gather(*(part.load_async() for part in parts))


def main(store=EXAMPLE, name="elevation", device=None):
    ds = xr.open_dataset(store, engine="headrace", device=device or best_device())
    variable = ds[name]
    print(variable.dims, variable.dtype, "chunks", variable.encoding["preferred_chunks"])
    window = variable.isel({axis: slice(0, 100) for axis in variable.dims}).load()
    print("a window in", type(window.data).__module__, "with the mean", float(window.mean().as_numpy()))
    parts = asyncio.run(bands(ds[name], 8))
    print(f"{len(parts)} bands, the highest at {max(float(part.max().as_numpy()) for part in parts)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
