"""A TIFF as a dataset of one variable, placed as rioxarray has it. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any

import numpy as np
from xarray import Variable

from . import _node

NAME = "band_data"
GRID_MAPPING = "spatial_ref"


def is_tiff(node: Any) -> bool:
    return isinstance(node, _node.Array) and node.format in ("tiff", "bigtiff")


def _transform(a: _node.Array, full: _node.Array) -> list[float] | None:
    """GDAL's six numbers: those of the full image, in pixels of this level of it."""
    numbers = full.attrs.get("GeoTransform")
    if numbers is None or a.dims is None or full.dims is None:
        return None
    sizes = [dict(zip(of.dims or (), of.shape)) for of in (full, a)]
    across, down = (sizes[0][d] / max(1, sizes[1][d]) for d in ("x", "y"))
    x, dx, rx, y, ry, dy = (float(n) for n in numbers)
    return [x, dx * across, rx * down, y, ry * across, dy * down]


def coordinates(a: _node.Array, full: _node.Array) -> dict[str, Variable]:
    """Numbers of the bands from 1 on, centres of the pixels where axes are straight, and
    the reference system. full: the image that a is a level of, or a itself."""
    found: dict[str, Variable] = {}
    sizes = dict(zip(a.dims or (), a.shape))
    if "band" in sizes:
        found["band"] = Variable("band", np.arange(1, sizes["band"] + 1))
    numbers = _transform(a, full)
    attrs: dict[str, Any] = {}
    if "EPSG" in full.attrs:
        attrs["spatial_ref"] = f"EPSG:{full.attrs['EPSG']}"
    if numbers is not None:
        x, dx, rx, y, ry, dy = numbers
        attrs["GeoTransform"] = " ".join(map(repr, numbers))
        if rx == ry == 0:
            found["x"] = Variable("x", x + dx * (np.arange(sizes["x"]) + 0.5))
            found["y"] = Variable("y", y + dy * (np.arange(sizes["y"]) + 0.5))
    if attrs:
        found[GRID_MAPPING] = Variable((), 0, attrs)
    return found
