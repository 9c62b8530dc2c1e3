"""Microscopy: of an image pyramid, the finest level that fits into so many bytes.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/pyramid.py [IMAGE [DEVICE [NBYTES]]]

Without an image it makes a small one (this needs zarr).
"""

import pathlib
import sys
import tempfile

import numpy as np

import headrace as hr


def level_that_fits(image, nbytes):
    """OME-Zarr lists its levels from fine to coarse."""
    attrs = image.attrs.get("ome", image.attrs)
    names = [level["path"] for level in attrs["multiscales"][0]["datasets"]]
    levels = [image[name] for name in names]
    return next((a for a in levels if a.nbytes <= nbytes), levels[-1])


def make_image(path):
    import zarr
    root = zarr.create_group(path, zarr_format=3)
    image = np.add.outer(np.arange(512), np.arange(768)).astype("u2")[None]
    for i in range(4):
        name = f"s{i}"
        root.create_array(name, data=image[:, ::2**i, ::2**i], chunks=(1, 64, 64),
                          dimension_names=("c", "y", "x"))
    root.attrs["ome"] = {"version": "0.5", "multiscales": [
        {"datasets": [{"path": f"s{i}"} for i in range(4)]}]}


def main(url=None, device="cpu", nbytes=100_000):
    with tempfile.TemporaryDirectory() as folder:
        if url is None:
            url = pathlib.Path(folder) / "image.zarr"
            make_image(url)
        level = level_that_fits(hr.open(url, device), int(nbytes))
        channel = level[0] if level.ndim > 2 else level[...]
        print(f"{level.url.rsplit('/', 1)[-1]} fits: {channel.shape}, {channel.nbytes} bytes, "
              f"on {channel.device}")


if __name__ == "__main__":
    main(*sys.argv[1:])
