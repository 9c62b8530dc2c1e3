"""Results to NumPy, CuPy, PyTorch, JAX and numba, without a copy, and their memory as destination.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/hand_over.py [ARRAY [DEVICE]]

Takes whichever of them are installed.
"""

import importlib.util
import pathlib
import sys

import numpy as np

import headrace as hr

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "jacksboro.zarr" / "elevation"


def is_there(name):
    return importlib.util.find_spec(name) is not None


def frameworks(tile):
    """(name, the same memory as an array of it)."""
    on_host = tile.device == "cpu"
    if on_host:
        yield "numpy", np.asarray(tile)
        yield "memoryview", memoryview(tile)
    if is_there("cupy") and not on_host:
        yield "cupy", tile.to("cupy")
    if is_there("torch"):
        yield "torch", tile.to("torch")
    if is_there("jax"):
        yield "jax", tile.to("jax")
    if is_there("numba") and not on_host:
        from numba import cuda
        yield "numba", cuda.as_cuda_array(tile)


def main(url=EXAMPLE, device="auto"):
    a = hr.open(url, device)
    tile = a[64:128, :128]
    print(f"{tile.shape} of {tile.dtype} on {tile.device}")
    for name, array in frameworks(tile):
        print(f"{name:10} {type(array).__module__}.{type(array).__name__}")

    if is_there("torch"):
        import torch
        out = torch.empty(tile.shape, dtype=torch.float32, device=tile.device)
    elif tile.device == "cpu":
        out = np.empty(tile.shape, np.float32)
    else:
        import cupy
        out = cupy.empty(tile.shape, np.float32)
    a.read(np.s_[64:128, :128], out=out, dtype="float32").result()
    print(f"filled {type(out).__module__} memory, mean {float(out.mean()):.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
