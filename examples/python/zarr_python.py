"""zarr-python, with headrace doing the reading. SPDX-License-Identifier: Apache-2.0

usage: python examples/python/zarr_python.py [ARRAY]

On a machine with a GPU and CuPy the result is a CuPy array, decoded on the GPU.
"""

import contextlib
import pathlib
import sys

import zarr

import headrace as hr
import headrace.zarr

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "jacksboro.zarr" / "elevation"


def on_gpu():
    """zarr-python's own switch, where it can be used."""
    try:
        import cupy  # noqa: F401

        hr.device_info("cuda")
    except (ImportError, hr.Error):
        return contextlib.nullcontext()
    return zarr.config.enable_gpu()


def main(url=EXAMPLE):
    with zarr.config.set({"codec_pipeline.path": "headrace.zarr.Pipeline"}), on_gpu():
        z = zarr.open_array(url, mode="r")
        everything = z[:]
        some = z.oindex[[300, 7], ::50]
        print(type(everything).__module__, everything.shape, everything.mean(), some.tolist())
    print("read by headrace:", headrace.zarr.stats())


if __name__ == "__main__":
    main(*sys.argv[1:])
