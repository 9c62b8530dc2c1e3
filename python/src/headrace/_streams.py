"""Encoded streams that others hold in memory. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import collections
import importlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import _config, _ext, _node
from ._config import CUDA, HOST
from ._tensor import as_tensor

_PLAIN = (bytes, bytearray)


def on_host(obj: Any) -> memoryview:
    """Its bytes; those on a GPU are copied."""
    if isinstance(obj, (*_PLAIN, memoryview)):
        return memoryview(obj).cast("B")
    tensor = as_tensor(obj, 0)[0]
    if tensor.device_id != HOST:
        tensor = tensor._copy()
    return memoryview(np.ascontiguousarray(tensor).reshape(-1).view("u1").data)


class Streams:
    """The bytes of each in host memory, which looks at headers; and, of those that lie on a
    device, where: kernels decode them there."""

    def __init__(self, bufs: Iterable[Any]) -> None:
        self.data: list[Any] = list(bufs)
        self._places: list[tuple[int, int, int]] | None = None  # device type, index, address
        self._owners: list[Any] = []
        away = [i for i, obj in enumerate(self.data) if not isinstance(obj, _PLAIN)]
        if away:
            self._places = [(0, 0, 0)] * len(self.data)
            for i in self._bring_from_gpus(away, self._places):
                self._bring(i, self._places)

    def _bring(self, i: int, places: list[tuple[int, int, int]]) -> None:
        obj = self.data[i]
        if not isinstance(obj, memoryview):
            tensor = as_tensor(obj, 0)[0]
            if tensor.device_id != HOST and tensor.contiguous:
                places[i] = (*tensor.device_id, tensor.ptr)
                self._owners.append(tensor)
        self.data[i] = on_host(obj)

    def _bring_from_gpus(self, away: list[int], places: list[tuple[int, int, int]]) -> list[int]:
        """By one copy from each GPU. Gives those that are not there."""
        rest: list[int] = []
        lists = collections.defaultdict[int, list[int]](list)
        for i in away:
            array = _on_gpu(self.data[i])
            if array is None:
                rest.append(i)
                continue
            device = array.data.device_id
            places[i] = (CUDA, device, array.data.ptr)
            lists[device].append(i)
            self._owners.append(array)
            self.data[i] = array
        for device, numbers in lists.items():
            import cupy
            with cupy.cuda.Device(device):
                whole = cupy.concatenate([self.data[i] for i in numbers])
                pinned = cupy.cuda.alloc_pinned_memory(max(whole.size, 1))
                host = whole.get(out=np.frombuffer(pinned, "u1", whole.size))
            at = 0
            for i in numbers:
                at, start = at + self.data[i].size, at
                self.data[i] = host[start:at]
        return rest

    def store(self, context: _ext.Context, order: Sequence[int]) -> _ext.Store:
        """That has them in this order: `arrays` of it have them as their chunks."""
        places = None if self._places is None else \
            np.array([self._places[i] for i in order], np.int64)
        return _ext.streams_store(context, [self.data[i] for i in order], places, self._owners)


def _on_gpu(obj: Any) -> Any:
    """Its bytes as an array of CuPy's; None where it has none there, or CuPy is not."""
    cupy: Any = sys.modules.get("cupy")
    if cupy is None or not isinstance(obj, cupy.ndarray):
        if not hasattr(obj, "__cuda_array_interface__"):
            return None
        try:
            cupy = importlib.import_module("cupy")
        except ImportError:
            return None
        obj = cupy.asarray(obj)
    if obj.ndim == 1 and obj.dtype.char == "B" and obj.flags.c_contiguous:
        return obj
    with obj.device:
        return cupy.ascontiguousarray(obj).ravel().view("u1")


def array(store: _ext.Store, context: _ext.Context, first: int, document: bytes) -> _node.Array:
    """Of metadata of Zarr v2, whose chunks are the streams from the first on."""
    store.set(f"{first}/.zarray", document)
    node = _ext.open_store(store, str(first), 2, 2)
    return _node.Array(node, node.describe(), context, HOST, (None, str(first), None, 2))
