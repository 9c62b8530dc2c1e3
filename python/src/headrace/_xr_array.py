"""What xarray keeps of an array until it reads. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any

import numpy as np
from xarray import Variable
from xarray.backends import BackendArray
from xarray.core import indexing

from . import _cf, _config, _node, _read, _xr_index
from ._config import HOST
from ._read import Packed
from ._tensor import Tensor


class LazyArray(BackendArray):
    """An array of a dataset: read where it is indexed, unpacked on the way.

    axes: of the array, for each dimension; None for one of one element that it does not have.
    It is pickled as its place and options; device stays as it was named, so that "cuda" is
    the GPU of the process that reads.
    """

    __slots__ = ("_array", "_axes", "_device", "_packing", "dtype", "shape")

    def __init__(self, array: _node.Array, device: str, dtype: np.dtype[Any] | None = None,
                 packing: _cf.Packing | None = None,
                 axes: tuple[int | None, ...] | None = None) -> None:
        self._array, self._device, self._packing = array, device, packing
        self._axes = tuple(range(array.ndim)) if axes is None else axes
        self.shape = tuple(1 if axis is None else array.shape[axis] for axis in self._axes)
        self.dtype = array.dtype if dtype is None else dtype

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyArray, (self._array.to_device("cpu"), self._device, self.dtype, self._packing,
                           self._axes)

    def _start(self, key: indexing.ExplicitIndexer) -> Any:
        """The future of what is read, and what to do with it."""
        key, order, arrange = _xr_index.stored(key, self.shape, self._axes)
        selection, arrange_points = _xr_index.selection(key, self._array.shape)
        is_packed = isinstance(selection, list)
        dtype = self.dtype if self._packing or self.dtype != self._array.dtype else None
        packing = self._packing or False
        wants = _read.wants(self._array, selection, dtype, packing) if is_packed else \
            [_read.want(self._array, selection, dtype, packing, order)]
        future = _read.submit(
            wants, lambda results: results[0], out="packed" if is_packed else None, stream=None,
            may_cast=dtype is not None, devices=[_config.parse_device(self._device)] * len(wants))
        return future, lambda result: arrange(arrange_points(result))

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        future, arrange = self._start(key)
        return arrange(as_array(future.result()))

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        future, arrange = self._start(key)
        return arrange(as_array(await future))


def as_array(result: Any) -> Any:
    """What xarray takes: NumPy's array, or CuPy's."""
    if isinstance(result, Packed):
        result = result.data
    if not isinstance(result, Tensor):
        return result  # of variable length
    return result.to("numpy" if result.device_id == HOST else "cupy")


class _Blocks:
    """What Dask cuts into blocks: each is read when it is computed, and stays where it is."""

    def __init__(self, lazy: Any) -> None:
        self._lazy = indexing.ImplicitToExplicitIndexingAdapter(lazy, indexing.OuterIndexer)
        self.shape, self.dtype, self.ndim = lazy.shape, lazy.dtype, len(lazy.shape)

    def __getitem__(self, key: Any) -> Any:
        block = self._lazy[key]
        return block.get_duck_array() if hasattr(block, "get_duck_array") else block


class DeviceVariable(Variable):
    """A variable on a GPU: `chunks=` and `.chunk()` keep it there.

    xarray tells Dask that what backends give is NumPy's, whatever they give.
    """

    __slots__ = ()

    def chunk(  # type: ignore[override]  # as Variable does
            self, chunks: Any = {}, name: Any = None, lock: Any = None,  # noqa: B006
            inline_array: Any = None, chunked_array_type: Any = None,
            from_array_kwargs: Any = None, **chunks_kwargs: Any) -> Any:
        variable: Any = super()
        if isinstance(self._data, indexing.ExplicitlyIndexed):
            import cupy
            variable = Variable(self._dims, _Blocks(self._data), self._attrs, self._encoding,
                                fastpath=True)
            from_array_kwargs = {**(from_array_kwargs or {}), "asarray": False,
                                 "meta": cupy.empty((0,) * self.ndim, self.dtype)}
        return variable.chunk(chunks, name=name, lock=lock, inline_array=inline_array,
                              chunked_array_type=chunked_array_type,
                              from_array_kwargs=from_array_kwargs, **chunks_kwargs)


def device_text(device: Any) -> str:
    """A name for a device that means in another process what it means here."""
    if device is None:
        device = _config.config.get().device
    where = _config.parse_device(device)
    return device if isinstance(device, str) else _config.device_text(where)
