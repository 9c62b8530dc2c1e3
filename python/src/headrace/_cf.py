"""Packed numbers: what CF attributes say of an array. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import struct
from typing import Any, Collection, Mapping

import numpy as np

from . import _dtypes
from ._errors import ArgumentError, DTypeError, MetadataError

MAX_FILLS = 2


@dataclasses.dataclass(frozen=True)
class Packing:
    """Elements that equal one of `fills` become NaN, the others element * scale + offset.

    fills are values of the array's type. None for scale or offset: none. unsigned: signed
    integers stand for the unsigned ones with the same bits.
    """

    scale: float | None = None
    offset: float | None = None
    fills: tuple[Any, ...] = ()
    unsigned: bool = False

    def request(self, dtype: np.dtype[Any]) -> tuple[Any, ...]:
        """As the extension takes it. dtype is the array's."""
        if not isinstance(self.fills, Collection):
            raise ArgumentError(f"fills are a tuple of values, not {self.fills!r}")
        if len(self.fills) > MAX_FILLS:
            raise ArgumentError(f"{len(self.fills)} fill values, at most {MAX_FILLS}")
        stored = dtype.newbyteorder("<")
        items = [_exactly(fill, dtype).astype(stored).tobytes() for fill in self.fills]
        return (_float("scale", self.scale, 1.0), _float("offset", self.offset, -0.0),
                b"".join(items), len(items), self.unsigned, True)

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """The float type that xarray takes for an array of this type."""
        is_scaled = self.scale is not None or self.offset is not None
        most = 4 if dtype.kind == "f" else 2
        return "<f4" if not is_scaled and dtype.itemsize <= most else "<f8"


def _float(name: str, value: Any, absent: float) -> float:
    try:
        return absent if value is None else float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} {value!r} is no number") from None


def _exactly(fill: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """As an element of the type; a float is rounded to it, an integer has to be one of it."""
    value = np.asarray(fill)
    if value.dtype.kind not in "iuf" or value.ndim != 0:
        raise ArgumentError(f"fill value {fill!r} is no number")
    with np.errstate(all="ignore"):
        element = value.astype(dtype)
    is_lost = int(element) != fill if dtype.kind in "iu" else \
        not np.isfinite(element) and np.isfinite(value)
    if is_lost:
        raise ArgumentError(f"{dtype} has no fill value {fill!r}")
    return element


def _number(attributes: Mapping[str, Any], name: str) -> float | None:
    value = attributes.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise MetadataError(f"attribute {name} cannot be understood: {value!r}")
    return float(value)


def _fill(value: Any, name: str, dtype: np.dtype[Any]) -> Any:
    """A value of the type, or None where the type has no such value."""
    if isinstance(value, str):
        if dtype.kind == "f" and len(value) == 12:  # as xarray writes a double
            try:
                (value,) = struct.unpack("<d", base64.b64decode(value, validate=True))
            except ValueError:
                pass
        try:
            value = float(value) if dtype.kind == "f" else int(value)
        except (TypeError, ValueError):
            raise MetadataError(f"attribute {name} cannot be understood: {value!r}") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MetadataError(f"attribute {name} cannot be understood: {value!r}")
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.asarray(value).astype(dtype)[()]
    info = np.iinfo(dtype)
    is_whole = isinstance(value, int) or value.is_integer()
    return dtype.type(int(value)) if is_whole and info.min <= value <= info.max else None


def _fills(attributes: Mapping[str, Any], info: Mapping[str, Any],
           dtype: np.dtype[Any]) -> tuple[Any, ...]:
    found: list[Any] = []
    names = ["_FillValue", "missing_value"]
    if info["format"] == "zarr2" and info["fill_value_json"] != "null":
        found.append(np.frombuffer(info["fill_value"], dtype.newbyteorder("<"))[0])
        names.remove("_FillValue")  # the metadata's goes before it
    for name in names:
        values = attributes.get(name, [])
        for value in values if isinstance(values, list) else [values]:
            fill = _fill(value, name, dtype)
            if fill is not None:
                found.append(fill)
    unique = {np.asarray(fill).astype(dtype).tobytes(): fill for fill in found}
    if len(unique) > MAX_FILLS:
        raise MetadataError(f"the attributes name more than {MAX_FILLS} fill values")
    return tuple(unique.values())


def from_attributes(info: Mapping[str, Any], attributes: Mapping[str, Any]) -> Packing | None:
    """What the attributes ask for; None where the elements are to stay as they are."""
    text = info["dtype"]
    if text == "bfloat16" or text[1:2] not in ("i", "u", "f") or text.startswith("["):
        return None
    dtype = _dtypes.to_numpy(text)
    packing = Packing(scale=_number(attributes, "scale_factor"),
                      offset=_number(attributes, "add_offset"),
                      fills=_fills(attributes, info, dtype),
                      unsigned=attributes.get("_Unsigned") == "true" and dtype.kind == "i")
    return None if packing == Packing() else packing


def choose(info: Mapping[str, Any], given: bool | Packing) -> Packing | None:
    """The packing for mask_and_scale=."""
    if isinstance(given, Packing):
        if info["dtype"][1:2] not in ("i", "u", "f"):
            raise DTypeError(f"{info['dtype']} cannot be unpacked")
        return given
    if not isinstance(given, (bool, np.bool_)):
        raise ArgumentError(f"mask_and_scale is True, False or a Packing, not {given!r}")
    return from_attributes(info, json.loads(info["attributes"])) if given else None
