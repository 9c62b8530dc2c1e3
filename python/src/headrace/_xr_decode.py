"""From a group to variables as CF has them. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import base64
import struct
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from xarray import Variable, conventions
from xarray.core import indexing

from . import _cf, _config, _node, _read
from ._errors import MetadataError, StrictError
from ._xr_array import DeviceVariable, LazyArray

NUMBERS = "biufc"
_RELATED = ("bounds", "climatology", "coordinates", "grid_mapping")
_EAGER_NBYTES = 1 << 20  # so much of an auxiliary coordinate is read when it is opened
_DIMENSIONS = "_ARRAY_DIMENSIONS"
_MASKS = ("_FillValue", "missing_value", "scale_factor", "add_offset")


def _fill_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """_FillValue as xarray writes it to format 3: doubles in base64; or "NaN"."""
    if dtype.kind == "f" and isinstance(value, str):
        if len(value) != 12:
            return float(value)
        return struct.unpack("<d", base64.standard_b64decode(value))[0]
    if dtype.kind == "c" and isinstance(value, list):
        return complex(*(struct.unpack("<d", base64.standard_b64decode(v))[0] for v in value))
    if dtype.kind == "S" and isinstance(value, str):
        return base64.standard_b64decode(value)
    return value


def _attributes(a: _node.Array) -> dict[str, Any]:
    attributes = dict(a.attrs)
    if a.format == "zarr2":
        attributes = {k: v for k, v in attributes.items()
                      if k != _DIMENSIONS and not k.lower().startswith("_nc")}
        if a.fill_value is not None:
            attributes["_FillValue"] = a.fill_value
    elif "_FillValue" in attributes:
        attributes["_FillValue"] = _fill_value(attributes["_FillValue"], a.dtype)
    return attributes


def _dims(name: str, a: _node.Array) -> tuple[str, ...]:
    dims = a.dims or ()
    if len(dims) != a.ndim or None in dims:
        raise MetadataError(f"{a.url}: {a.ndim} axes, named {list(dims)}: xarray needs a name for "
                            f"each (drop_variables=[{name!r}] opens the rest)")
    return tuple(str(d) for d in dims)


def _chunk_lengths(a: _node.Array) -> tuple[Any, ...]:
    """Per axis, or a tuple of all where they vary."""
    if not a._info["is_rectilinear"]:
        return a.chunks
    lengths: list[Any] = []
    for axis, n in enumerate(a.grid_shape):
        along = tuple(a.chunk_extent(axis, i)[1] for i in range(n)) or (0,)
        is_regular = len(set(along[:-1])) <= 1 and along[-1] <= along[0]
        lengths.append(along[0] if is_regular else along)
    return tuple(lengths)


def _encoding(a: _node.Array, dims: tuple[str, ...]) -> dict[str, Any]:
    chunks = _chunk_lengths(a)
    encoding: dict[str, Any] = {
        "chunks": chunks, "preferred_chunks": dict(zip(dims, chunks)), "shards": a.shards}
    if a.dtype.kind == "T":
        encoding["dtype"] = a.dtype
    if a.format == "zarr3":
        encoding["fill_value"] = a.fill_value
    return encoding


def _related(attributes: Iterable[Mapping[str, Any]]) -> set[str]:
    """Names of the variables that others are placed by."""
    words: set[str] = set()
    for attrs in attributes:
        for name in _RELATED:
            if isinstance(attrs.get(name), str):
                words.update(word.rstrip(":") for word in attrs[name].split())
    return words


def _read_eagerly(arrays: Mapping[str, _node.Array]) -> dict[str, Any]:
    """All of them in one batch, to the host. What fails is left for when it is asked for."""
    future = _read.read_batch([(a, ...) for a in arrays.values()], device="cpu")
    if not any(future.exceptions()):
        return {name: np.asarray(r) for name, r in zip(arrays, future.result())}
    return {name: np.asarray(a.read(device="cpu").result())
            for (name, a), error in zip(arrays.items(), future.exceptions()) if error is None}


def _asked(option: Any, name: str) -> Any:
    """mask_and_scale may be a mapping by variable."""
    return option.get(name, True) if isinstance(option, Mapping) else option


def _packing(a: _node.Array, raw: Variable, decoded: Variable) -> _cf.Packing | None:
    """How the kernels come to what xarray's decoder would. Raises where they do not."""
    if raw.dtype.kind not in "iuf":
        masks = [raw.attrs[name] for name in _MASKS if name in raw.attrs]
        if any(value == value for value in masks):  # NaN masks nothing
            raise MetadataError(f"{raw.dtype} with fill values or a scale")
        return None
    attributes = dict(raw.attrs)
    if a.format == "zarr2" and a.fill_value is not None:
        attributes.pop("_FillValue")  # it is in the metadata
    packing = _cf.from_attributes(a._info, attributes)
    if packing == _cf.Packing(unsigned=True):
        return None  # the same bits as another type
    if packing is None and raw.attrs.get("_Unsigned") == "false" and "_FillValue" in raw.attrs:
        raise MetadataError("_Unsigned is \"false\" and there are fill values")
    if packing is not None and decoded.dtype.kind != "f":
        raise MetadataError(f"packed numbers that become {decoded.dtype}")
    return packing


class Variables:
    """The arrays of a group on their way to variables."""

    def __init__(self, arrays: Mapping[str, _node.Array], attrs: Mapping[str, Any],
                 device: str) -> None:
        self._arrays, self._device = arrays, device
        self._raw: dict[str, Variable] = {}
        attributes = {name: _attributes(a) for name, a in self._arrays.items()}
        self._related = _related([*attributes.values(), attrs])
        dims = {name: _dims(name, a) for name, a in self._arrays.items()}
        self._eager = _read_eagerly({name: a for name, a in self._arrays.items()
                                     if self._is_eager(name, a, dims[name])})
        for name, a in self._arrays.items():
            data = self._eager.get(name)
            if data is None:
                data = indexing.LazilyIndexedArray(LazyArray(a, "cpu"))
            self._raw[name] = Variable(dims[name], data, attributes[name], _encoding(a, dims[name]))

    def _is_eager(self, name: str, a: _node.Array, dims: tuple[str, ...]) -> bool:
        if dims == (name,):
            return True
        is_auxiliary = name in self._related or a.dtype.kind not in NUMBERS
        return is_auxiliary and a.nbytes <= _EAGER_NBYTES

    def decode(self, attrs: dict[str, Any],
               options: Mapping[str, Any]) -> tuple[dict[Any, Any], dict[Any, Any], set[Any]]:
        """As xarray's decoder does, but numbers are masked and scaled where they are decoded,
        and stay on the device."""
        masks = options["mask_and_scale"]
        copies = {name: v.copy(deep=False) for name, v in self._raw.items()}
        decoded, kept, coordinates = conventions.decode_cf_variables(copies, attrs, **options)
        variables: dict[Any, Any] = dict(decoded)
        on_host = self._related | coordinates
        for name, variable in decoded.items():
            if name in self._eager or variable.dtype.kind not in NUMBERS or \
                    self._arrays[name].dtype.kind not in NUMBERS:
                continue
            device = "cpu" if name in on_host or variable.dims == (name,) else self._device
            lazy = self._lazy(name, variable, device, _asked(masks, name))
            if lazy is not None:
                kind = Variable if device == "cpu" else DeviceVariable
                variables[name] = kind(variable.dims, indexing.LazilyIndexedArray(lazy),
                                       variable.attrs, variable.encoding, fastpath=True)
        return variables, dict(kept), coordinates

    def _lazy(self, name: str, decoded: Variable, device: str, is_masked: bool) -> LazyArray | None:
        a = self._arrays[name]
        try:
            packing = _packing(a, self._raw[name], decoded) if is_masked else None
        except MetadataError as error:
            if device != "cpu":
                text = f"{a.url} is decoded by xarray, on the host: {error}"
                if _config.config.get().strict:
                    raise StrictError(text) from error
                warnings.warn(text, stacklevel=2)
            return None
        return LazyArray(a, device, decoded.dtype, packing)
