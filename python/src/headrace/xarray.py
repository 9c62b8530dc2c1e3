"""xarray's engine "headrace": datasets in GPU or host memory.

    ds = xarray.open_dataset("era5.zarr", engine="headrace", device="cuda")
    ds.t2m.isel(time=slice(0, 8)).load().data     # a cupy.ndarray

Nothing is read before it is asked for, but coordinates along dimensions and small auxiliary
ones, which come in one batch. Packed numbers (scale_factor, add_offset, _FillValue,
missing_value, _Unsigned) are unpacked where they are decoded. Coordinates, bounds, times and
strings are in host memory whatever the device. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from typing import Any

from xarray import Coordinates, Dataset, DataTree
from xarray.backends import BackendEntrypoint

from . import _node, _xr_tiff
from ._errors import ArgumentError
from ._xr_array import device_text
from ._xr_decode import Variables

__all__ = ["Backend"]


class Backend(BackendEntrypoint):
    """What xarray calls for engine="headrace".

    group: path of a group in the store. device: where data variables go, as in hr.open;
    "cuda" is the current GPU of whichever process reads. consolidated, zarr_format: as in
    hr.open. raster_index: x and y of an image are a rasterix.RasterIndex, computed where they
    are asked for. The other options are those of xarray.open_dataset.
    """

    description = "Open Zarr stores in GPU or host memory with headrace"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj", "mask_and_scale", "decode_times", "concat_characters",
        "decode_coords", "drop_variables", "use_cftime", "decode_timedelta", "group", "device",
        "consolidated", "zarr_format", "raster_index")

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Only where xarray has no engine of its own for Zarr."""
        return isinstance(filename_or_obj, (str, os.PathLike)) and \
            os.fspath(filename_or_obj).rstrip("/").endswith(".zarr") and \
            importlib.util.find_spec("zarr") is None

    def open_dataset(
            self, filename_or_obj: Any, *, mask_and_scale: Any = True, decode_times: Any = True,
            concat_characters: Any = True, decode_coords: Any = True,
            drop_variables: str | Iterable[str] | None = None, use_cftime: Any = None,
            decode_timedelta: Any = None, group: str | None = None, device: Any = None,
            consolidated: bool | None = None, zarr_format: int | None = None,
            raster_index: bool = False) -> Dataset:
        options = {
            "mask_and_scale": mask_and_scale, "decode_times": decode_times,
            "concat_characters": concat_characters, "decode_coords": decode_coords,
            "drop_variables": drop_variables, "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta}
        node = _open(filename_or_obj, group, consolidated, zarr_format)
        if _xr_tiff.is_tiff(node):
            return _xr_tiff.dataset(node, os.fspath(filename_or_obj), device_text(device),
                                    mask_and_scale, _names(drop_variables), raster_index)
        if raster_index:
            raise ArgumentError("raster_index is for images")
        return _dataset(node, device_text(device), options)

    def open_groups_as_dict(
            self, filename_or_obj: Any, *, mask_and_scale: Any = True, decode_times: Any = True,
            concat_characters: Any = True, decode_coords: Any = True,
            drop_variables: str | Iterable[str] | None = None, use_cftime: Any = None,
            decode_timedelta: Any = None, group: str | None = None, device: Any = None,
            consolidated: bool | None = None,
            zarr_format: int | None = None) -> dict[str, Dataset]:
        """A dataset for the group and each group below it, by path from it."""
        root = _open(filename_or_obj, group, consolidated, zarr_format)
        if not isinstance(root, _node.Group):
            raise ArgumentError(f"{root.url} is an array: it has no groups")
        members = root.members(recursive=True)
        nodes = {"/": root, **{f"/{path}": root[path]
                               for path, kind in members.items() if kind == "group"}}
        options = {
            "mask_and_scale": mask_and_scale, "decode_times": decode_times,
            "concat_characters": concat_characters, "decode_coords": decode_coords,
            "drop_variables": drop_variables, "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta}
        where = device_text(device)
        return {path: _dataset(node, where, options) for path, node in nodes.items()}

    def open_datatree(self, filename_or_obj: Any,
                      **options: Any) -> DataTree:
        """The groups as a tree."""
        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


def _open(url: Any, group: str | None, consolidated: bool | None, zarr_format: int | None) -> Any:
    return _node.open(url, "cpu", path=(group or "").strip("/"), consolidated=consolidated,
                      zarr_format=zarr_format)


def _names(drop: str | Iterable[str] | None) -> set[str]:
    return {drop} if isinstance(drop, str) else set(drop or ())


def _dataset(node: Any, device: str, options: dict[str, Any]) -> Dataset:
    drop = _names(options["drop_variables"])
    if not isinstance(node, _node.Group):
        raise ArgumentError(f"{node.url} is an array: xarray opens the group that it is in")
    arrays = {name: node[name] for name, kind in node.members().items()
              if kind != "group" and name not in drop}  # to open an unreadable one raises why
    attrs = {k: v for k, v in node.attrs.items() if not k.lower().startswith("_nc")}
    decoded, attrs, named = Variables(arrays, node.attrs, device).decode(attrs, options)
    coords = {name: v for name, v in decoded.items() if name in named or v.dims == (name,)}
    data = {name: v for name, v in decoded.items() if name not in coords}
    return Dataset(data, coords=Coordinates(coords, indexes={}), attrs=attrs)
