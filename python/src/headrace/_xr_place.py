"""Where the pixels of an image are: coordinates and CF's grid mapping, as rioxarray has them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from xarray import Coordinates, Variable

from . import _xr_crs
from ._errors import UnsupportedError

GRID_MAPPING = "spatial_ref"
_NOWHERE = [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]  # pixels are their own places


def _transform(attrs: Mapping[str, Any]) -> list[float]:
    """GDAL's six numbers: x = t[0] + column·t[1] + row·t[2], y = t[3] + …"""
    return [float(n) for n in attrs.get("GeoTransform", _NOWHERE)]


def _control_points(attrs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The points of a file that says no more than where some pixels are."""
    numbers = attrs.get("ModelTiepoint", [])
    if "GeoTransform" in attrs or len(numbers) < 6:
        return []
    points = [numbers[i:i + 6] for i in range(0, len(numbers) - 5, 6)]
    return [{"type": "Feature",
             "properties": {"id": str(i + 1), "info": "", "row": row, "col": column},
             "geometry": {"type": "Point", "coordinates": [x, y, z]}}
            for i, (column, row, _, x, y, z) in enumerate(points)]


def _centres(t: list[float], width: int, height: int) -> dict[str, Variable]:
    """In the order of operations that gives what the affine package gives."""
    x, dx, rx, y, ry, dy = t
    x, y = dx * 0.5 + rx * 0.5 + x, ry * 0.5 + dy * 0.5 + y
    columns: Any = np.arange(width)
    rows: Any = np.arange(height)
    if rx == ry == 0:
        return {"x": Variable("x", columns * dx + 0.0 * rx + x),
                "y": Variable("y", 0.0 * ry + rows * dy + y)}
    columns, rows = np.meshgrid(columns, rows)
    return {"xc": Variable(("y", "x"), columns * dx + rows * rx + x),
            "yc": Variable(("y", "x"), columns * ry + rows * dy + y)}


def _raster_index(t: list[float], width: int, height: int) -> Coordinates:
    try:
        from affine import Affine
        from rasterix import RasterIndex
    except ImportError as error:
        raise UnsupportedError("raster_index=True needs the package rasterix") from error
    index = RasterIndex.from_transform(Affine.from_gdal(*t), width=width, height=height)
    return Coordinates.from_xindex(index)


def coordinates(attrs: Mapping[str, Any], width: int, height: int,
                raster_index: bool) -> tuple[dict[str, Variable], Coordinates | None]:
    """The coordinates, and those that come with an index of their own."""
    t = _transform(attrs)
    mapping = _xr_crs.describe(attrs)
    mapping["GeoTransform"] = " ".join(map(str, t))
    points = _control_points(attrs)
    found: dict[str, Variable] = {}
    indexed = None
    if points:
        mapping["gcps"] = json.dumps({"type": "FeatureCollection", "features": points})
    elif raster_index:
        indexed = _raster_index(t, width, height)
    else:
        found |= _centres(t, width, height)
    found[GRID_MAPPING] = Variable((), 0, mapping)
    return found, indexed
