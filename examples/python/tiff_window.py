"""Earth observation: a window of a cloud-optimized GeoTIFF, from the overview that is fine enough.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/tiff_window.py [FILE [METRES [DEVICE]]]
"""

import pathlib
import sys

import numpy as np

import headrace as hr

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "jacksboro.tif"
METRES_PER_DEGREE = 111_320


def coarsest(url, metres, device):
    """The level with the largest pixels that are no larger than so many metres."""
    full = hr.open(url, device)
    levels = [hr.open(f"{url}#level={i}", device) if i else full
              for i in range(len(full.attrs["levels"]))]
    return [a for a in levels
            if a is full or abs(a.attrs["GeoTransform"][5]) * METRES_PER_DEGREE <= metres][-1]


def window(a, west, north, size):
    """Rows and columns of a square of so many degrees, by the array's GeoTransform."""
    x0, dx, _, y0, _, dy = a.attrs["GeoTransform"]
    row, column = round((north - y0) / dy), round((west - x0) / dx)
    return np.s_[row:row + round(size / -dy), column:column + round(size / dx)]


def main(url=EXAMPLE, metres=200, device="auto"):
    a = coarsest(url, float(metres), device)
    print(a, "EPSG", a.attrs["EPSG"])
    x0, _, _, y0, *_ = a.attrs["GeoTransform"]
    tile = a.read(window(a, x0 + 0.1, y0 - 0.05, 0.1), mask_and_scale=True).result()
    heights = tile.to("numpy")  # nodata has become NaN where it was decoded
    print(f"a window of {tile.shape} on {tile.device}: {np.nanmin(heights):.0f} to "
          f"{np.nanmax(heights):.0f} m, {np.isnan(heights).sum()} without data")


if __name__ == "__main__":
    main(*sys.argv[1:])
