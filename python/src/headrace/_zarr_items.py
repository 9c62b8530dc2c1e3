"""Chunks of zarr-python's arrays in one batch, each with a context of its own.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _config, _dtypes, _ext, _read
from ._errors import ArgumentError, DTypeError, SelectionError, ShapeError
from ._node import Array
from ._tensor import Tensor


@dataclasses.dataclass(frozen=True)
class ItemContext:
    """What is wanted of one chunk.

    selection: of the chunk, slices and integers; out: where it goes, anything that
    read_batch takes (None: a Tensor is allocated); dtype: converted to; device: of what is
    allocated.
    """

    selection: Any = ...
    out: Any = None
    dtype: Any = None
    device: Any = None


def _check_numbers(given: Any, what: str) -> None:
    """Is it a mapping whose keys are numbers of chunks?"""
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{what} are a mapping by numbers of chunks, not {given!r}")
    for numbers in given:
        if not isinstance(numbers, tuple) or not all(
                hasattr(type(number), "__index__") for number in numbers):
            raise ArgumentError(f"a chunk is a tuple of integers, not {numbers!r}")


def chosen(contexts: Mapping[tuple[int, ...], ItemContext | None],
           ) -> dict[tuple[int, ...], ItemContext]:
    """Checked, with the plain one in place of None."""
    _check_numbers(contexts, "contexts")
    for numbers, context in contexts.items():
        if not (context is None or isinstance(context, ItemContext)):
            raise ArgumentError(f"the context of chunk {numbers} is an ItemContext or None, not "
                                f"{context!r}")
    return {numbers: context or ItemContext() for numbers, context in contexts.items()}


def _in_array(part: Any, start: int, length: int) -> Any:
    """An index within the chunk as one of the array."""
    if not isinstance(part, slice):
        if not -length <= part < length:
            raise SelectionError(f"index {part} of a chunk with {length} elements")
        return start + part % length
    numbers = range(*part.indices(length))
    if not numbers:
        return slice(0, 0)
    stop = start + numbers.stop
    return slice(start + numbers.start, stop if stop >= 0 else None, numbers.step)


def _key(coordinates: Sequence[int], grid: Sequence[int], shape: Sequence[int],
         selection: Any) -> tuple[Any, ...]:
    parts = list(selection) if isinstance(selection, tuple) else [selection]
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts[at:at + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
    parts += [slice(None)] * (len(shape) - len(parts))
    starts = [number * side for number, side in zip(coordinates, grid)]
    if len(coordinates) != len(shape) or len(parts) != len(shape) or any(
            not 0 <= start < n for start, n in zip(starts, shape)):
        raise SelectionError(f"no chunk {tuple(coordinates)}, or not {selection!r} of it")
    return tuple(_in_array(part, start, min(side, n - start))
                 for part, start, side, n in zip(parts, starts, grid, shape))


def read_items(node: _ext.Node, grid: Sequence[int],
               contexts: Mapping[tuple[int, ...], ItemContext]) -> dict[Any, Any]:
    """All of them, waited for."""
    array = Array(node, node.describe(), _config.context(), _config.parse_device(None), ())
    wants, outs = [], []
    for coordinates, context in contexts.items():
        want = _read.want(array, _key(coordinates, grid, array.shape, context.selection),
                          context.dtype)
        device = _config.parse_device(context.device)
        text = want.text if device == _config.HOST else _dtypes.native(want.text)
        wants.append(want)
        outs.append(context.out if context.out is not None else _ext.empty(
            Tensor, array._context, device, want.shapes[0], text, want.itemsize))
    _read.submit(wants, lambda results: results, out=outs, stream=None, may_cast=False,
                 devices=[_config.HOST] * len(wants)).result()
    return dict(zip(contexts, outs))


def _shape_of(key: Sequence[Any], shape: Sequence[int]) -> tuple[int, ...]:
    """Of what an index of integers and forward slices selects."""
    slices = [(part, n) for part, n in zip(key, shape) if isinstance(part, slice)]
    if any((part.step or 1) < 0 for part, _ in slices):
        raise SelectionError("zarr-python writes no slices that go backwards")
    return tuple(len(range(*part.indices(n))) for part, n in slices)


def _on_host(value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, Tensor):
        value = value.to("numpy")
    elif hasattr(value, "__cuda_array_interface__"):  # CuPy's way, and torch's
        value = value.get() if hasattr(value, "get") else value.cpu()
    return np.asarray(value)


def write_items(array: Any, grid: Sequence[int], values: Mapping[tuple[int, ...], Any],
                contexts: Mapping[tuple[int, ...], ItemContext | None]) -> list[tuple[Any, Any]]:
    """What is to be written, checked: indices of the zarr.Array and values on the host."""
    _check_numbers(values, "values")
    given = chosen(contexts)
    if unknown := given.keys() - values.keys():
        raise ArgumentError(f"contexts without values: {sorted(unknown)}")
    writes = []
    for coordinates, value in values.items():
        context = given.get(coordinates, ItemContext())
        if (context.out, context.dtype, context.device) != (None, None, None):
            raise ArgumentError("out, dtype and device of a context are for reading")
        key = _key(coordinates, grid, array.shape, context.selection)
        host, shape = _on_host(value), _shape_of(key, array.shape)
        if host.dtype.hasobject and array.dtype.kind not in "OT":
            raise DTypeError(f"values for chunk {coordinates} are {type(value).__name__}, the "
                             f"array has {array.dtype}")
        try:
            writes.append((key, np.broadcast_to(host, shape)))
        except ValueError:
            raise ShapeError(f"values for chunk {coordinates} have shape {host.shape}, "
                             f"expected {shape}") from None
    return writes
