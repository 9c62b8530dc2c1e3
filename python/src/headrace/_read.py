"""Reading: many selections of many arrays in one call. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import itertools
import operator
import reprlib
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence, cast

import numpy as np

from . import _cf, _config, _dtypes, _ext, _select
from ._config import HOST
from ._errors import ArgumentError, DTypeError, ShapeError
from ._future import Future, Progress
from ._outputs import Outputs, flat
from ._tensor import Tensor, transposed, view

if TYPE_CHECKING:
    from ._node import Array


class Want:
    """Selections of one array, and the type they are wanted in. order: that of their axes in
    memory that is allocated for them, and of the results; empty: as they are."""

    __slots__ = ("array", "is_flat", "is_vlen", "itemsize", "order", "packing", "selection",
                 "shape", "text")

    def __init__(self, array: Array, selection: _ext.Selection, shape: tuple[int, ...] | None,
                 dtype: Any = None, mask_and_scale: bool | _cf.Packing = False,
                 order: Sequence[int] = ()) -> None:
        self.array, self.selection, self.order = array, selection, order
        self.shape = shape
        """Of each result; None where they differ."""
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

    @property
    def n(self) -> int:
        """Number of selections."""
        return self.selection.n

    @property
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """Of the results."""
        return self.selection.shapes if self.shape is None else [self.shape] * self.n

    @property
    def sizes(self) -> np.ndarray[Any, Any]:
        """Elements of the results."""
        return np.frombuffer(self.selection.sizes, np.int64)

    def allocate(self, outputs: Outputs, device: tuple[int, int]) -> list[Tensor]:
        if self.is_vlen:
            device = HOST
        text = self.text if device == HOST else _dtypes.native(self.text)
        if not self.order:
            return [outputs.allocate(device, shape, text, self.itemsize) for shape in self.shapes]
        back = [self.order.index(axis) for axis in range(len(self.order))]
        return [transposed(outputs.allocate(device, tuple(shape[k] for k in self.order), text,
                                            self.itemsize), back) for shape in self.shapes]

    def check(self, tensor: Tensor, may_cast: bool) -> None:
        """May the caller's memory, whatever its shape, be the destination?"""
        if tensor.dtype_text == self.text or may_cast:
            return
        if self.is_vlen or _dtypes.native(tensor.dtype_text) != _dtypes.native(self.text):
            if self.text.startswith("[") and tensor.dtype == self.array.dtype:
                return
            raise DTypeError(f"out has elements of {tensor.dtype_text}, the array of "
                             f"{self.text}; give dtype= to have them converted")

    def request(self, memory: Sequence[Tensor] | Tensor) -> tuple[Any, ...]:
        """As the extension takes it: into a tensor for each selection, or one for all."""
        tensors = [memory] if isinstance(memory, Tensor) else memory
        own = self.array._info["dtype"]
        is_cast = any(text != own and _dtypes.native(text) != _dtypes.native(own)
                      for text in {tensor.dtype_text for tensor in tensors})
        if self.n == 1 and self.selection.shape != self.shape:  # coordinates, with several axes
            tensors = memory = [flat(tensors[0], self.selection.shapes[0][0])]
        return (self.array._node, self.selection,
                memory if isinstance(memory, Tensor) else tuple(tensors), is_cast, self.packing)

    def results(self, batch: _ext.Batch, tensors: Sequence[Tensor]) -> Sequence[Any]:
        """What the caller gets: the tensors, or objects of variable length as NumPy has
        them."""
        if self.is_vlen:
            return [self._objects(batch, tensor) for tensor in tensors]
        return [transposed(t, self.order) for t in tensors] if self.order else tensors

    def _objects(self, batch: _ext.Batch, tensor: Tensor) -> Any:
        info = self.array._info
        items: list[Any] = batch.items(tensor, info["kind"] == _dtypes.VLEN_UTF8)
        if info["kind"] == _dtypes.VLEN_ARRAY:
            base = _dtypes.to_numpy(info["vlen_base"])
            items = [np.frombuffer(item, base) for item in items]
        out = np.empty(len(items), self.array.dtype)
        for i, item in enumerate(items):
            out[i] = item
        return out.reshape(tensor.shape)


def want(array: Array, key: Any, dtype: Any = None,
         mask_and_scale: bool | _cf.Packing = False, order: Sequence[int] = ()) -> Want:
    """Of one selection."""
    selection, shape = _select.resolve(array._node, array.shape, key)
    return Want(array, selection, shape, dtype, mask_and_scale, order)


def wants(array: Array, keys: list[Any] | _select.Boxes, dtype: Any,
          mask_and_scale: bool | _cf.Packing) -> list[Want]:
    """Of many selections: one, where they are boxes or basic indices all."""
    selection = _select.resolve_many(array._node, array.shape, keys)
    if selection is None:
        assert isinstance(keys, list)
        return [want(array, key, dtype, mask_and_scale) for key in keys]
    return [Want(array, selection, selection.shape, dtype, mask_and_scale)]


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
    one = want(array, key)
    outputs = Outputs(array._context, None)
    tensors = one.allocate(outputs, device)
    batch = _ext.submit(array._context, (one.request(tensors),), outputs.stream,
                        *_config.config.get().reading)
    batch.wait(-1)
    return one.results(batch, tensors)[0]


Memory = Sequence[Tensor] | Tensor


def _memory(chosen: Sequence[Want], out: Any, axis: int | None, outputs: Outputs,
            may_cast: bool, devices: Sequence[tuple[int, int]]) -> tuple[list[Memory], Any]:
    """The destinations, and what the caller gets (None: what each request gives)."""
    if axis is not None:
        return _concatenated(chosen, out, axis, outputs, may_cast, devices)
    if out is None:
        return [want.allocate(outputs, device) for want, device in zip(chosen, devices)], None
    if any(want.is_vlen for want in chosen):
        raise DTypeError("elements of variable length are not delivered into given memory")
    if isinstance(out, str):
        if out != "packed":
            raise ArgumentError(f"out is {out!r}: a list, \"packed\", or memory")
        return _packed(chosen, outputs, devices)
    if isinstance(out, (list, tuple)):
        return _listed(chosen, out, outputs, may_cast), out
    return _split(chosen, out, outputs, may_cast), out


def _common(chosen: Sequence[Want],
            devices: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], str, int]:
    """Device and type of results that share their memory."""
    kinds = {(want.text, want.itemsize) for want in chosen}
    if len(kinds) > 1 or len(set(devices)) > 1:
        raise DTypeError("results in one tensor are of one type on one device; give dtype= or "
                         "device=")
    text, itemsize = kinds.pop() if kinds else ("|u1", 1)
    device = devices[0] if devices else HOST
    return device, text if device == HOST else _dtypes.native(text), itemsize


def _concatenated(chosen: Sequence[Want], out: Any, axis: int, outputs: Outputs, may_cast: bool,
                  devices: Sequence[tuple[int, int]]) -> tuple[list[Memory], Any]:
    """One block of memory, whose parts along an axis are the results."""
    shapes = [shape for want in chosen for shape in want.shapes]
    if isinstance(out, (str, list, tuple)) or any(want.is_vlen for want in chosen):
        raise ArgumentError("with axis=, results of fixed size go into one array")
    if not shapes or not -len(shapes[0]) <= axis < len(shapes[0]):
        raise ArgumentError(f"axis {axis}: " + (f"results have {len(shapes[0])}" if shapes
                                                else "there are no results"))
    axis %= len(shapes[0])
    if len({(*shape[:axis], *shape[axis + 1:]) for shape in shapes}) > 1:
        raise ShapeError(f"results differ in more than axis {axis}: {sorted(set(shapes))}")
    shape = (*shapes[0][:axis], sum(s[axis] for s in shapes), *shapes[0][axis + 1:])
    if out is None:
        device, text, itemsize = _common(chosen, devices)
        out = whole = outputs.allocate(device, shape, text, itemsize)
    else:
        whole = outputs.take(out)
        outputs.check_overlaps()
        for want in chosen:
            want.check(whole, may_cast)
        if whole.shape != shape:
            raise ShapeError(f"out has the shape {whole.shape}, the results together {shape}")
    made: list[Memory] = []
    at = whole.ptr
    for want in chosen:
        tensors = []
        for part in want.shapes:
            tensors.append(_ext.wrap(Tensor, at, whole.device_id, part, whole.strides,
                                     whole.dtype_text, whole.itemsize, False, whole))
            at += part[axis] * whole.strides[axis]
        made.append(tensors)
    return made, out


def _packed(chosen: Sequence[Want], outputs: Outputs,
            devices: Sequence[tuple[int, int]]) -> tuple[list[Memory], Packed]:
    device, text, itemsize = _common(chosen, devices)
    shapes = tuple(itertools.chain.from_iterable(want.shapes for want in chosen))
    offsets = np.zeros(len(shapes) + 1, np.int64)
    np.cumsum(np.concatenate([want.sizes for want in chosen] or [offsets[1:]]), out=offsets[1:])
    data = outputs.allocate(device, (int(offsets[-1]),), text, itemsize)
    return _rows(data, [int(want.sizes.sum()) for want in chosen]), Packed(data, offsets, shapes)


def _listed(chosen: Sequence[Want], out: Sequence[Any], outputs: Outputs,
            may_cast: bool) -> list[Memory]:
    """Memory for each selection."""
    total = sum(want.n for want in chosen)
    if len(out) != total:
        raise ShapeError(f"{len(out)} outputs for {total} selections")
    taken = iter([outputs.take(obj) for obj in out])
    made: list[Memory] = []
    for want in chosen:
        tensors = list(itertools.islice(taken, want.n))
        for tensor, shape in zip(tensors, want.shapes):
            if tensor.shape != shape:
                raise ShapeError(f"out has the shape {tensor.shape}, the selection {shape}")
            want.check(tensor, may_cast)
        made.append(tensors)
    outputs.check_overlaps()
    return made


def _split(chosen: Sequence[Want], out: Any, outputs: Outputs, may_cast: bool) -> list[Memory]:
    """One block of memory: a result per entry of the first axis, or all in a row."""
    whole = outputs.take(out)
    outputs.check_overlaps()
    for want in chosen:
        want.check(whole, may_cast)
    total = sum(want.n for want in chosen)
    if whole.ndim > 0 and whole.shape[0] == total and all(
            want.shape == whole.shape[1:] for want in chosen if want.n):
        return _rows(whole, [want.n for want in chosen])
    sizes = [int(want.sizes.sum()) for want in chosen]
    if whole.ndim != 1 or whole.shape[0] != sum(sizes):
        raise ShapeError(f"out has the shape {whole.shape}; the selections want "
                         f"({total}, …) of one shape each, or ({sum(sizes)},)")
    if not whole.contiguous:
        raise ShapeError("out must be contiguous to hold results in a row")
    return _rows(whole, sizes)


def _rows(whole: Tensor, counts: Iterable[int]) -> list[Memory]:
    """So many entries of its first axis each."""
    made: list[Memory] = []
    at = whole.ptr
    for n in counts:
        made.append(_ext.wrap(Tensor, at, whole.device_id, (n, *whole.shape[1:]), whole.strides,
                              whole.dtype_text, whole.itemsize, False, whole))
        at += n * whole.strides[0]
    return made


def submit(chosen: Sequence[Want], finish: Callable[[list[Any]], Any], *, out: Any, stream: Any,
           may_cast: bool, devices: Sequence[tuple[int, int]], strict: bool | None = None,
           on_error: str | None = None, progress: Progress | None = None,
           axis: int | None = None, place: tuple[int, int] | None = None) -> Future:
    """Start reading. finish makes the future's result of the list of results. place: the
    device that out must lie on."""
    settings = _config.config.given(strict=strict, on_error=on_error)
    context = chosen[0].array._context if chosen else _config.context()
    outputs = Outputs(context, stream, place)
    memory, given = _memory(chosen, out, axis, outputs, may_cast, devices)
    requests = tuple(want.request(own) for want, own in zip(chosen, memory))
    batch = _ext.submit(context, requests, outputs.stream, *settings.reading)

    def result(done: _ext.Batch) -> Any:
        if given is not None:
            return given
        return finish([result for want, tensors in zip(chosen, memory)
                       for result in want.results(done, cast(Sequence[Tensor], tensors))])

    return Future(batch, result, sum(want.n for want in chosen), progress)


def wants_of(items: Iterable[Any], dtype: Any,
             mask_and_scale: bool | _cf.Packing) -> list[Want]:
    """Of the items of read_batch; neighbours of one array go together."""
    from ._node import Array  # which reads through this module

    def pair(item: Any) -> Any:
        pair = item if isinstance(item, (tuple, list)) else (item, ...)
        if len(pair) != 2 or not isinstance(pair[0], Array):
            raise ArgumentError(f"an item is an array, or (array, selection), not {reprlib.repr(item)}")
        return pair

    if isinstance(items, Array):  # else its rows are read, to be refused
        raise ArgumentError("read_batch takes a list of items; one array reads by its own read()")
    pairs, first = list(items), operator.itemgetter(0)
    if not (set(map(type, pairs)) == {tuple} and set(map(len, pairs)) == {2}
            and set(map(type, map(first, pairs))) == {Array}):  # else no call for each of thousands
        pairs = list(map(pair, pairs))
    chosen: list[Want] = []
    for array, run in itertools.groupby(pairs, first):
        chosen += wants(array, [key for _, key in run], dtype, mask_and_scale)
    return chosen


def read_batch(items: Iterable[Any], out: Any = None, *, axis: int | None = None,
               stream: Any = None, dtype: Any = None, device: Any = None,
               mask_and_scale: bool | _cf.Packing = False, strict: bool | None = None,
               on_error: str | None = None, progress: Progress | None = None) -> Future:
    """Read many selections of many arrays in one call; each chunk is read and decoded once.

        hr.read_batch([(a, np.s_[0:4]), (b, hr.oindex[[3, 1]]), (b, ...)]).result()

    items: (array, selection) pairs, or arrays (all of them). A selection is an index as in
    brackets, or hr.oindex[…], hr.vindex[…], hr.blocks[…], hr.mask(…).
    out: None: a Tensor for each is allocated, and the result is a list of them. "packed": a
    Packed, all in one tensor. A list of arrays: they are filled, and are the result. One
    array: its entries along the first axis are filled, or, if it has one axis, all in a row.
    out is anything with DLPack, the CUDA array interface or the buffer protocol.
    axis: the results are concatenated along this axis of theirs, into one Tensor or into out,
    one array.
    stream: the reads are ordered after what this CUDA stream holds now; an int, or anything
    with __cuda_stream__. None is the legacy default stream.
    dtype: convert as NumPy's astype does. device: of what is allocated, and where out must
    lie; None is each array's. mask_and_scale: CF's packed numbers become floats (True: by the
    attributes; or a Packing). strict, on_error: as in config. progress: called as
    progress(done, total), in chunks, from within result().

    Wrong selections, shapes, types, devices, and memory that is read-only or overlaps are
    refused before any work. Returns a Future.
    """
    chosen = wants_of(items, dtype, mask_and_scale)
    place = None if device is None else _config.parse_device(device)
    devices = [place or want.array._device for want in chosen]
    return submit(chosen, lambda results: results, out=out, stream=stream,
                  may_cast=dtype is not None or bool(mask_and_scale), devices=devices,
                  strict=strict, on_error=on_error, progress=progress, axis=axis, place=place)
