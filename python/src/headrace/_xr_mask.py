"""What alpha and internal masks leave out. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from xarray.backends import BackendArray
from xarray.core import indexing

from . import _cf, _node
from ._xr_array import LazyArray, as_array

_FRAGMENT = re.compile(r"#(ifd|level)=\d+$")


def _image(a: _node.Array) -> _node.Array:
    """The directory of the same file that is the mask of the image."""
    url, path = a._source[:2]
    fragment = f"#ifd={a.attrs['mask_ifd']}"
    if path:
        path = _FRAGMENT.sub("", path) + fragment
    else:
        url = _FRAGMENT.sub("", url) + fragment
    image: _node.Array = _node.open(url, "cpu", path=path)
    return image


def _has_alpha(a: _node.Array) -> bool:
    """Opacity behind one band or three, of 8 or 16 bits and without nodata: what GDAL heeds."""
    nbands = dict(zip(a.dims or (), a.shape)).get("band", 1)
    return nbands in (2, 4) and a.dtype.str[1:] in ("u1", "u2") and \
        a.attrs.get("extra_samples", [])[-1:] in ([1], [2]) and "_FillValue" not in a.attrs


def masked(a: _node.Array, data: LazyArray, device: str,
           axes: tuple[int | None, ...]) -> LazyArray | MaskedArray:
    """The array, a, with what the file's mask, else its alpha, leaves out as NaN."""
    holes = _cf.Packing(fills=(0,))
    if "mask_ifd" in a.attrs:
        mask = LazyArray(_image(a), device, np.dtype("f4"), holes, (None, 0, 1))
        return MaskedArray(data, mask, None)
    if _has_alpha(a):
        alpha = LazyArray(a, device, np.dtype("f4"), holes, axes)
        return MaskedArray(data, alpha, data.shape[0] - 1)
    return data


class MaskedArray(BackendArray):
    """Floats of (band, y, x), NaN where a mask is 0. alpha: the band that is the mask, and
    is left as it is; None: another image is."""

    __slots__ = ("_alpha", "_data", "_mask", "dtype", "shape")

    def __init__(self, data: LazyArray, mask: LazyArray, alpha: int | None) -> None:
        self._data, self._mask, self._alpha = data, mask, alpha
        self.dtype, self.shape = data.dtype, data.shape

    def _start(self, key: indexing.ExplicitIndexer) -> Any:
        """Both reads under way, and what makes one result of theirs."""
        band, *rest = key.tuple
        at = self._alpha or 0
        chosen: Any = slice(at, at + 1) if isinstance(band, slice) else \
            np.full_like(band, at) if isinstance(band, np.ndarray) else at
        if isinstance(key, indexing.OuterIndexer) and isinstance(band, np.ndarray):
            chosen = slice(at, at + 1)
        data, arrange_data = self._data._start(key)
        mask, arrange_mask = self._mask._start(type(key)((chosen, *rest)))

        def finish(data: Any, mask: Any) -> Any:
            return self._combine(key, arrange_data(data), arrange_mask(mask) * 0)

        return data, mask, finish

    def _combine(self, key: indexing.ExplicitIndexer, data: Any, hole: Any) -> Any:
        """hole: 0 or NaN."""
        if self._alpha is None:
            return data + hole
        band, made = key.tuple[0], data + hole
        is_points = isinstance(key, indexing.VectorizedIndexer)
        if is_points and isinstance(band, np.ndarray):
            is_alpha = (band == self._alpha).reshape(band.shape + (1,) * (data.ndim - band.ndim))
            places = np.nonzero(np.broadcast_to(is_alpha, data.shape))
            kept = tuple(place.tolist() for place in places)
            made[kept] = data[kept]
            return made
        if not isinstance(band, (slice, np.ndarray)):
            return data if band == self._alpha else made
        bands = np.arange(*band.indices(self.shape[0])) if isinstance(band, slice) else band
        # axes of slices stand behind those of points
        axis = max((k.ndim for k in key.tuple if not isinstance(k, slice)), default=0) \
            if is_points else 0
        for i in np.flatnonzero(bands == self._alpha).tolist():
            place = (slice(None),) * axis + (i,)
            made[place] = data[place]
        return made

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        data, mask, finish = self._start(key)
        return finish(*(as_array(future.result()) for future in (data, mask)))

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        data, mask, finish = self._start(key)
        return finish(as_array(await data), as_array(await mask))
