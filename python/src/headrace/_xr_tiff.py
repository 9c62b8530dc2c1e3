"""A TIFF as a dataset of one variable, described as rioxarray describes it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from xarray import Coordinates, Dataset, Variable
from xarray.core import indexing

from . import _cf, _node, _xr_mask, _xr_place
from ._xr_array import DeviceVariable, LazyArray

NAME = "band_data"
DIMS = ("band", "y", "x")
_UNITS_OF_RESOLUTION = {1: "1 (unitless)", 2: "2 (pixels/inch)", 3: "3 (pixels/cm)"}
_TAGS = {  # of an array's attributes: GDAL's names
    "document_name": "TIFFTAG_DOCUMENTNAME", "description": "TIFFTAG_IMAGEDESCRIPTION",
    "software": "TIFFTAG_SOFTWARE", "date_time": "TIFFTAG_DATETIME",
    "artist": "TIFFTAG_ARTIST", "host_computer": "TIFFTAG_HOSTCOMPUTER",
    "copyright": "TIFFTAG_COPYRIGHT", "x_resolution": "TIFFTAG_XRESOLUTION",
    "y_resolution": "TIFFTAG_YRESOLUTION", "resolution_unit": "TIFFTAG_RESOLUTIONUNIT",
    "min_sample_value": "TIFFTAG_MINSAMPLEVALUE", "max_sample_value": "TIFFTAG_MAXSAMPLEVALUE",
    "AREA_OR_POINT": "AREA_OR_POINT"}
_NOT_SHOWN = ("_FillValue", "missing_value", "fill_value", "nodata", "nodatavals", "is_tiled",
              "res")


def is_tiff(node: Any) -> bool:
    return isinstance(node, _node.Array) and node.format in ("tiff", "bigtiff")


def _parsed(text: str) -> Any:
    """A number, or numbers in braces, where a text is one."""
    if text.startswith("{") and text.endswith("}"):
        try:
            return np.array([float(part) for part in text.strip("{}").split(",")])
        except ValueError:
            return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _tag(name: str, value: Any) -> str:
    """As GDAL writes it."""
    if name in ("x_resolution", "y_resolution"):
        return f"{np.float32(value):.8g}"
    return _UNITS_OF_RESOLUTION.get(value, "") if name == "resolution_unit" else str(value)


def _by_band(items: list[dict[str, str]], role: str, nbands: int) -> tuple[str | None, ...]:
    texts: list[str | None] = [None] * nbands
    for item in items:
        if item.get("role") == role and item.get("sample", "").isdecimal() and \
                int(item["sample"]) < nbands:
            texts[int(item["sample"])] = item["value"]
    return tuple(texts)


def _attributes(a: _node.Array, nbands: int) -> dict[str, Any]:
    """Tags and what GDAL's metadata say of the file and of its first band."""
    items = [i for i in a.attrs.get("GDAL_METADATA", []) if not i.get("domain") and i["value"]]
    texts = {gdal: _tag(own, a.attrs[own]) for own, gdal in _TAGS.items() if own in a.attrs}
    texts |= {i["name"]: i["value"] for i in items if "sample" not in i and "name" in i}
    texts |= {i["name"]: i["value"] for i in items
              if i.get("sample") == "0" and "role" not in i and "name" in i}
    found = {k: _parsed(v) for k, v in texts.items() if k not in _NOT_SHOWN}
    for many, one, absent in (("scales", "scale_factor", 1.0), ("offsets", "add_offset", 0.0)):
        if many in a.attrs:
            found[many] = tuple(a.attrs[many])
        else:
            found[one] = float(a.attrs.get(one, absent))
    names, units = (_by_band(items, role, nbands) for role in ("description", "unittype"))
    if any(names):
        found["long_name"] = names[0] if len(set(names)) == 1 else names
    if any(units):
        found["units"] = units[0] if nbands == 1 else units
    return found


def _promoted(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that has the values, and NaN."""
    if dtype.kind in "iu":
        return np.dtype("f4" if dtype.itemsize <= 2 else "f8")
    return dtype


def _preferred_chunks(a: _node.Array) -> dict[str, int]:
    return {"band": 1, **dict(zip(map(str, a.dims or ()), a.chunks))}


def _variable(a: _node.Array, device: str, is_masked: bool, source: str) -> Variable:
    stored = [str(d) for d in a.dims or ()]
    dims = (*(d for d in stored if d not in DIMS), *DIMS)
    axes = tuple(stored.index(d) if d in stored else None for d in dims)
    may_have_mask = is_masked and len(dims) == 3 and a.dtype.kind != "c"
    told = dict(a.attrs)
    if may_have_mask and "mask_ifd" in told:
        told.pop("_FillValue", None)  # the mask goes before it
    packing = _cf.from_attributes(a._info, told) if is_masked else None
    dtype = _promoted(a.dtype) if is_masked else a.dtype
    data = LazyArray(a, device, dtype, packing, axes)
    lazy = _xr_mask.masked(a, data, device, axes) if may_have_mask else data
    attrs = _attributes(a, data.shape[-3])
    if "_FillValue" in a.attrs:
        fill = float(a.attrs["_FillValue"]) if is_masked else a.fill_value
        attrs["_FillValue"] = dtype.type(fill)
    encoding: dict[str, Any] = {
        "preferred_chunks": _preferred_chunks(a), "source": source,
        "rasterio_dtype": str(a.dtype), "grid_mapping": _xr_place.GRID_MAPPING}
    if is_masked:
        encoding["dtype"] = str(a.dtype)
        for name in ("scale_factor", "add_offset", "_FillValue"):
            if name in attrs:
                encoding[name] = attrs.pop(name)
        if "scales" in attrs or "offsets" in attrs:
            warnings.warn(f"{a.url}: scales that differ by band are not applied; they are in the "
                          "attributes", stacklevel=4)
    kind = Variable if device == "cpu" else DeviceVariable
    return kind(dims, indexing.LazilyIndexedArray(lazy), attrs, encoding)


def dataset(a: _node.Array, source: str, device: str, mask_and_scale: bool | Mapping[str, bool],
            drop: Iterable[str], raster_index: bool) -> Dataset:
    """One variable (band, y, x), pages and depth before them, and where its pixels are."""
    is_masked = mask_and_scale.get(NAME, True) if isinstance(mask_and_scale, Mapping) \
        else bool(mask_and_scale)
    variable = _variable(a, device, is_masked, source)
    nbands, height, width = variable.shape[-3:]
    coords, indexed = _xr_place.coordinates(a.attrs, width, height, raster_index)
    coords["band"] = Variable("band", np.arange(1, nbands + 1))
    made = Dataset({NAME: variable}, coords=Coordinates(coords, indexes={}))
    if indexed is not None:
        made = made.assign_coords(indexed)
    return made.drop_vars([name for name in drop if name in made.variables])
