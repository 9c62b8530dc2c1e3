"""Destinations: allocated here, or the caller's and checked. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _config, _ext, _pools
from ._config import CUDA
from ._errors import ArgumentError, ShapeError
from ._tensor import Tensor, as_tensor


def stream_handle(stream: Any) -> int:
    """A CUstream's address of what frameworks call a stream; 0 = the legacy default one."""
    if stream is None:
        return 0
    if isinstance(stream, int):
        if not 0 <= stream < 1 << 64:
            raise ArgumentError(f"{stream} is no address of a stream")
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise ArgumentError(f"version {version} of __cuda_stream__ is not understood")
        return int(handle)
    for name in ("cuda_stream", "ptr"):  # torch, CuPy
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise ArgumentError(f"{stream!r} is no stream: it has no __cuda_stream__")


class Outputs:
    """Makes and checks the destinations of one batch; `stream` is what it is ordered after,
    `place` the device that the caller's memory must lie on."""

    def __init__(self, context: _ext.Context, stream: Any,
                 place: tuple[int, int] | None = None) -> None:
        self.context, self.stream, self._place = context, stream_handle(stream), place
        self._is_given = stream is not None
        self._foreign: list[Tensor] = []

    def allocate(self, device: tuple[int, int], shape: tuple[int, ...], text: str,
                 itemsize: int) -> Tensor:
        allocator = _config.config.get().allocator
        if allocator is None or device[0] != CUDA:
            return _ext.empty(Tensor, self.context, device, shape, text, itemsize)
        nbytes = itemsize
        for n in shape:
            nbytes *= n
        if isinstance(allocator, str):
            memory, stream = _pools.TAKERS[allocator](nbytes, device[1], self.stream)
            self._follow(stream)
        else:
            memory = allocator(nbytes, device[1])
            self._follow(memory.__cuda_array_interface__.get("stream"))
        pointer = memory.__cuda_array_interface__["data"][0]
        return _ext.wrap(Tensor, pointer, device, shape, None, text, itemsize, False, memory)

    def _follow(self, stream: int | None) -> None:
        """Be ordered after a stream that memory depends on, if the caller named none."""
        if stream is not None and not self._is_given:
            self.stream = stream

    def take(self, obj: Any) -> Tensor:
        """The caller's memory."""
        tensor, stream = as_tensor(obj, self.stream)
        self._follow(stream)
        if tensor.readonly:
            raise ArgumentError("out is read-only")
        if self._place not in (None, tensor.device_id):
            raise ArgumentError(f"out lies on {tensor.device}, not on "
                                f"{_config.device_text(self._place)} as device= says")
        self._foreign.append(tensor)
        return tensor

    def check_overlaps(self) -> None:
        """No element of the caller's memory may be written twice."""
        spans = []
        for tensor in self._foreign:
            if tensor.nbytes == 0:
                continue
            if not tensor.contiguous and _overlaps_itself(tensor):
                raise ArgumentError("elements of out share memory with each other")
            reach = [(n - 1) * stride for n, stride in zip(tensor.shape, tensor.strides)]
            low = tensor.ptr + sum(min(r, 0) for r in reach)
            high = tensor.ptr + sum(max(r, 0) for r in reach) + tensor.itemsize
            spans.append((tensor.device_id, low, high, tensor))
        spans.sort(key=lambda span: span[:3])
        for i, (device, _, high, tensor) in enumerate(spans):
            for other_device, low, _, other in spans[i + 1:]:
                if other_device != device or low >= high:
                    break
                if np.shares_memory(_stand_in(tensor), _stand_in(other)):
                    raise ArgumentError("two of the outputs share memory")


def _overlaps_itself(tensor: Tensor) -> bool:
    """Each stride steps over all that the smaller ones reach (as in every view that NumPy
    makes by indexing); anything else counts as overlapping."""
    axes = sorted((abs(stride), n) for n, stride in zip(tensor.shape, tensor.strides) if n > 1)
    reach = tensor.itemsize
    for stride, n in axes:
        if stride < reach:
            return True
        reach = stride * (n - 1) + reach
    return False


class _StandIn:
    """The place of a tensor's memory, which is only compared, never touched."""

    def __init__(self, tensor: Tensor) -> None:
        self.__array_interface__ = {
            "shape": tensor.shape, "strides": tensor.strides, "version": 3,
            "typestr": f"|V{tensor.itemsize}", "data": (tensor.ptr, True)}


def _stand_in(tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.asarray(_StandIn(tensor))


def flat(tensor: Tensor, size: int) -> Tensor:
    """The same memory with one axis; it must be contiguous."""
    if tensor.ndim == 1:
        return tensor
    if not tensor.contiguous:
        raise ShapeError("out must be contiguous for coordinates with several axes")
    return _ext.wrap(Tensor, tensor.ptr, tensor.device_id, (size,), None, tensor.dtype_text,
                     tensor.itemsize, tensor.readonly, tensor)
