"""Encoded streams that others hold in memory. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import collections
import contextlib
import itertools
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
        self._places: np.ndarray[Any, Any] | None = None
        self._owners: list[Any] = []
        away = [i for i, obj in enumerate(self.data) if not isinstance(obj, _PLAIN)]
        if away:
            self._places = np.zeros((len(self.data), 3), np.int64)
        with contextlib.suppress(ImportError):
            away = self._bring_from_gpus(away)
        for i in away:
            self._bring(i)

    def _bring(self, i: int) -> None:
        obj = self.data[i]
        if not isinstance(obj, memoryview):
            tensor = as_tensor(obj, 0)[0]
            if tensor.device_id != HOST and tensor.contiguous:
                self._set_place(i, tensor.device_id, tensor.ptr, tensor)
        self.data[i] = on_host(obj)

    def _set_place(self, i: int, device: tuple[int, int], address: int, owner: Any) -> None:
        assert self._places is not None
        self._places[i] = (*device, address)
        self._owners.append(owner)

    def _bring_from_gpus(self, away: list[int]) -> list[int]:
        """By one copy from each GPU. Gives those that are not there."""
        there = {i for i in away if hasattr(self.data[i], "__cuda_array_interface__")}
        lists = collections.defaultdict[int, list[int]](list)
        if there:
            import cupy
        for i in sorted(there):
            array = cupy.asarray(self.data[i])
            if array.ndim != 1 or array.dtype != "u1" or not array.flags.c_contiguous:
                with array.device:
                    array = cupy.ascontiguousarray(array).ravel().view("u1")
            self.data[i] = array
            lists[array.device.id].append(i)
            self._set_place(i, (CUDA, array.device.id), array.data.ptr, array)
        for device, numbers in lists.items():
            with cupy.cuda.Device(device):
                whole = cupy.concatenate([self.data[i] for i in numbers])
                pinned = cupy.cuda.alloc_pinned_memory(max(whole.size, 1))
                host = whole.get(out=np.frombuffer(pinned, "u1", whole.size))
            ends = itertools.accumulate(self.data[i].size for i in numbers)
            for i, end in zip(numbers, ends):
                self.data[i] = host[end - self.data[i].size:end]
        return [i for i in away if i not in there]

    def store(self, context: _ext.Context, order: Sequence[int]) -> _ext.Store:
        """That has them in this order: `arrays` of it have them as their chunks."""
        places = None if self._places is None else np.ascontiguousarray(self._places[list(order)])
        return _ext.streams_store(context, [self.data[i] for i in order], places, self._owners)


def array(store: _ext.Store, context: _ext.Context, first: int, document: bytes) -> _node.Array:
    """Of metadata of Zarr v2, whose chunks are the streams from the first on."""
    store.set(f"{first}/.zarray", document)
    node = _ext.open_store(store, str(first), 2, 2)
    return _node.Array(node, node.describe(), context, HOST, (None, str(first), None, 2))
