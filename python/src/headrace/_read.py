"""Reading: many selections of many arrays in one call. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

import numpy as np

from . import _cf, _config, _dtypes, _ext, _select
from ._config import HOST
from ._errors import ArgumentError, DTypeError, ShapeError
from ._future import Future, Progress
from ._outputs import Outputs, flat
from ._tensor import Tensor, view

if TYPE_CHECKING:
    from ._node import Array


class Want:
    """One selection of one array, and the type it is wanted in."""

    __slots__ = ("array", "is_flat", "is_vlen", "itemsize", "packing", "selection", "shape", "text")

    def __init__(self, array: Array, key: Any, dtype: Any = None,
                 mask_and_scale: bool | _cf.Packing = False) -> None:
        self.array = array
        self.selection, self.shape = _select.resolve(array._node, array.shape, key)
        self.is_flat = self.selection.ndim != len(self.shape)  # coordinates
        info = array._info
        self.is_vlen = info["kind"] >= _dtypes.VLEN_UTF8
        self.text, self.itemsize = info["dtype"], info["itemsize"]
        self.packing = None
        if mask_and_scale:
            packing = _cf.choose(info, mask_and_scale)
            if packing is not None:
                self.packing = packing.request(array.dtype)
                self.text, self.itemsize = _dtypes.from_numpy(packing.dtype(array.dtype))
        if dtype is not None:
            self._set_dtype(dtype)

    def _set_dtype(self, dtype: Any) -> None:
        if self.is_vlen:
            if np.dtype(dtype) != self.array.dtype:
                raise DTypeError(f"{self.text} cannot be read as {dtype}")
            return
        text, itemsize = _dtypes.from_numpy(dtype)
        if self.array.dtype.fields is None or np.dtype(dtype) != self.array.dtype:
            self.text, self.itemsize = text, itemsize

    def allocate(self, outputs: Outputs, device: tuple[int, int]) -> Tensor:
        text = self.text if device == HOST else _dtypes.native(self.text)
        return outputs.allocate(device, self.shape, text, self.itemsize)

    def check(self, tensor: Tensor, may_cast: bool) -> None:
        """May the caller's memory be the destination?"""
        if tensor.shape != self.shape:
            raise ShapeError(f"out has the shape {tensor.shape}, the selection {self.shape}")
        if tensor.dtype_text == self.text or may_cast:
            return
        if self.is_vlen or _dtypes.native(tensor.dtype_text) != _dtypes.native(self.text):
            if self.text.startswith("[") and tensor.dtype == self.array.dtype:
                return
            raise DTypeError(f"out has elements of {tensor.dtype_text}, the array of "
                             f"{self.text}; give dtype= to have them converted")

    def request(self, tensor: Tensor) -> tuple[Any, ...]:
        if self.is_flat:
            tensor = flat(tensor, self.selection.shape[0])
        text, own = tensor.dtype_text, self.array._info["dtype"]
        is_cast = text != own and _dtypes.native(text) != _dtypes.native(own)
        return (self.array._node, self.selection, tensor, is_cast, self.packing)

    def result(self, batch: _ext.Batch, tensor: Tensor) -> Any:
        """What the caller gets: the tensor, or objects of variable length as NumPy has
        them."""
        if not self.is_vlen:
            return tensor
        info = self.array._info
        items: list[Any] = batch.items(tensor, info["kind"] == _dtypes.VLEN_UTF8)
        if info["kind"] == _dtypes.VLEN_ARRAY:
            base = _dtypes.to_numpy(info["vlen_base"])
            items = [np.frombuffer(item, base) for item in items]
        out = np.empty(len(items), self.array.dtype)
        for i, item in enumerate(items):
            out[i] = item
        return out.reshape(self.shape)


@dataclasses.dataclass(frozen=True)
class Packed:
    """Results one after the other in one tensor; packed[i] is the i-th in its shape."""

    data: Tensor
    offsets: np.ndarray[Any, Any]
    """In elements; one more than there are results."""
    shapes: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, i: int) -> Tensor:
        i = range(len(self.shapes))[i]
        return view(self.data, int(self.offsets[i]), self.shapes[i])


def get(array: Array, key: Any, device: tuple[int, int]) -> Any:
    """One selection, waited for."""
    want = Want(array, key)
    if want.is_vlen:
        device = HOST
    settings = _config.config.get()
    outputs = Outputs(array._context, None)
    tensor = want.allocate(outputs, device)
    batch = _ext.submit(array._context, (want.request(tensor),), outputs.stream,
                        settings.strict, settings.skip_checksums)
    batch.wait(-1)
    return want.result(batch, tensor)


def _tensors(wants: Sequence[Want], out: Any, outputs: Outputs, may_cast: bool,
             devices: Sequence[tuple[int, int]]) -> tuple[list[Tensor], Any]:
    """The destinations, and what the caller gets (None: what each request gives)."""
    if out is None:
        made = [want.allocate(outputs, HOST if want.is_vlen else device)
                for want, device in zip(wants, devices)]
        return made, None
    if any(want.is_vlen for want in wants):
        raise DTypeError("elements of variable length are not delivered into given memory")
    if isinstance(out, str):
        if out != "packed":
            raise ArgumentError(f"out is {out!r}: a list, \"packed\", or memory")
        return _packed(wants, outputs, devices)
    if isinstance(out, (list, tuple)):
        if len(out) != len(wants):
            raise ShapeError(f"{len(out)} outputs for {len(wants)} selections")
        taken = [outputs.take(obj) for obj in out]
        for want, tensor in zip(wants, taken):
            want.check(tensor, may_cast)
        outputs.check_overlaps()
        return taken, out
    return _split(wants, out, outputs, may_cast), out


def _packed(wants: Sequence[Want], outputs: Outputs,
            devices: Sequence[tuple[int, int]]) -> tuple[list[Tensor], Packed]:
    kinds = {(want.text, want.itemsize) for want in wants}
    if len(kinds) > 1 or len(set(devices)) > 1:
        raise DTypeError("packed results are of one type on one device; give dtype= or device=")
    text, itemsize = kinds.pop() if kinds else ("|u1", 1)
    device = devices[0] if devices else HOST
    offsets = np.zeros(len(wants) + 1, np.int64)
    np.cumsum([math.prod(want.shape) for want in wants], out=offsets[1:])
    text = text if device == HOST else _dtypes.native(text)
    data = outputs.allocate(device, (int(offsets[-1]),), text, itemsize)
    packed = Packed(data, offsets, tuple(want.shape for want in wants))
    return [packed[i] for i in range(len(wants))], packed


def _split(wants: Sequence[Want], out: Any, outputs: Outputs, may_cast: bool) -> list[Tensor]:
    """One block of memory: a result per entry of the first axis, or all in a row."""
    whole = outputs.take(out)
    outputs.check_overlaps()
    sizes = [math.prod(want.shape) for want in wants]
    is_stacked = whole.ndim > 0 and whole.shape[0] == len(wants) and all(
        want.shape == whole.shape[1:] for want in wants)
    if not is_stacked and (whole.ndim != 1 or whole.shape[0] != sum(sizes)):
        raise ShapeError(f"out has the shape {whole.shape}; the selections want "
                         f"({len(wants)}, …) of one shape each, or ({sum(sizes)},)")
    step = whole.strides[0] if whole.shape[0] else 0
    made, at = [], whole.ptr
    for want, size in zip(wants, sizes):
        if not is_stacked and want.shape and step != whole.itemsize:
            raise ShapeError("out must be contiguous to hold results in a row")
        tensor = _ext.wrap(Tensor, at, whole.device_id, want.shape,
                           whole.strides[1:] if is_stacked else None, whole.dtype_text,
                           whole.itemsize, False, whole)
        want.check(tensor, may_cast)
        made.append(tensor)
        at += step if is_stacked else step * size
    return made


def submit(wants: Sequence[Want], finish: Callable[[list[Any]], Any], *, out: Any, stream: Any,
           may_cast: bool, devices: Sequence[tuple[int, int]], strict: bool | None,
           progress: Progress | None) -> Future:
    """Start reading. finish makes the future's result of the list of results."""
    settings = _config.config.get()
    context = wants[0].array._context if wants else _config.context()
    outputs = Outputs(context, stream)
    tensors, given = _tensors(wants, out, outputs, may_cast, devices)
    requests = tuple(want.request(tensor) for want, tensor in zip(wants, tensors))
    batch = _ext.submit(context, requests, outputs.stream,
                        settings.strict if strict is None else strict, settings.skip_checksums)

    def result(done: _ext.Batch) -> Any:
        if given is not None:
            return given
        return finish([want.result(done, tensor) for want, tensor in zip(wants, tensors)])

    return Future(batch, result, len(wants), progress)


def wants_of(items: Iterable[Any], dtype: Any,
             mask_and_scale: bool | _cf.Packing) -> list[Want]:
    """Of the items of read_batch."""
    from ._node import Array  # which reads through this module

    wants = []
    for item in items:
        pair = item if isinstance(item, (tuple, list)) else (item, ...)
        if len(pair) != 2 or not isinstance(pair[0], Array):
            raise ArgumentError(f"an item is an array, or (array, selection), not {item!r}")
        array, key = pair
        wants.append(Want(array, key, dtype, mask_and_scale))
    return wants


def read_batch(items: Iterable[Any], out: Any = None, *, stream: Any = None, dtype: Any = None,
               device: Any = None, mask_and_scale: bool | _cf.Packing = False,
               strict: bool | None = None, progress: Progress | None = None) -> Future:
    """Read many selections of many arrays in one call; each chunk is read and decoded once.

        hr.read_batch([(a, np.s_[0:4]), (b, hr.oindex[[3, 1]]), (b, ...)]).result()

    items: (array, selection) pairs, or arrays (all of them). A selection is an index as in
    brackets, or hr.oindex[…], hr.vindex[…], hr.blocks[…], hr.mask(…).
    out: None: a Tensor for each is allocated, and the result is a list of them. "packed": a
    Packed, all in one tensor. A list of arrays: they are filled, and are the result. One
    array: its entries along the first axis are filled, or, if it has one axis, all in a row.
    out is anything with DLPack, the CUDA array interface or the buffer protocol.
    stream: the reads are ordered after what this CUDA stream holds now; an int, or anything
    with __cuda_stream__. None is the legacy default stream.
    dtype: convert as NumPy's astype does. device: of what is allocated; None is each
    array's. mask_and_scale: CF's packed numbers become floats (True: by the attributes; or
    a Packing). strict: as in config. progress: called as progress(done, total), in chunks,
    from within result().

    Wrong selections, shapes, types, devices, and memory that is read-only or overlaps are
    refused before any work. Returns a Future.
    """
    wants = wants_of(items, dtype, mask_and_scale)
    devices = [_config.parse_device(device) if device is not None else want.array._device
               for want in wants]
    return submit(wants, lambda results: results, out=out, stream=stream,
                  may_cast=dtype is not None or bool(mask_and_scale), devices=devices,
                  strict=strict, progress=progress)
