"""Selections: NumPy's indices to the library's. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import functools
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from . import _ext
from ._errors import SelectionError

ALL, AXES, POINTS, MASK, BLOCKS = range(5)  # the library's kinds
_PLAIN = {int, slice, types.EllipsisType}
_Resolver = TypeVar("_Resolver", bound=Callable[..., Any])


class Keyed:
    """An index together with what is meant by it: "outer", "points", "blocks" or "mask"."""

    __slots__ = ("key", "kind")

    def __init__(self, kind: str, key: Any) -> None:
        self.kind, self.key = kind, key

    def __repr__(self) -> str:
        return f"{self.kind}[{self.key!r}]"


class _Maker:
    def __init__(self, kind: str, doc: str) -> None:
        self._kind, self.__doc__ = kind, doc

    def __getitem__(self, key: Any) -> Keyed:
        return Keyed(self._kind, key)


oindex = _Maker("outer", "oindex[[3, 1], :, 5]: each axis by itself, the outer product.")
vindex = _Maker("points", "vindex[rows, columns]: single elements by their coordinates.")
blocks = _Maker("blocks", "blocks[0, 1:3]: whole innermost chunks by their number.")


def mask(array: Any) -> Keyed:
    """The elements where a boolean array of the same shape is true."""
    return Keyed("mask", array)


@dataclasses.dataclass(frozen=True, eq=False)
class Boxes:
    """What boxes() makes."""

    starts: np.ndarray[Any, Any]
    shape: tuple[int, ...]


def boxes(starts: Any, shape: Sequence[int]) -> Boxes:
    """Many selections of one shape, which cost next to nothing each.

        a.read(hr.boxes([[0, 5], [7, 3]], (16, 16)), out="packed")

    starts: the first elements, of the shape (boxes, axes). shape: lengths along these, the
    leading axes; the others are taken whole. Array.read takes them as a list of selections.
    Raises SelectionError.
    """
    numbers = np.ascontiguousarray(_integers(starts))
    sides = tuple(map(operator.index, shape))
    if numbers.ndim != 2 or numbers.shape[1] != len(sides) or min(sides, default=1) < 0:
        raise SelectionError(f"starts of the shape {numbers.shape} for boxes of {sides}: "
                             f"(boxes, {len(sides)}) is wanted")
    return Boxes(numbers, sides)


def _is_list(key: Any) -> bool:
    return isinstance(key, list) or (isinstance(key, np.ndarray) and key.ndim > 0)


def _integers(key: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(key)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise SelectionError(f"indices are integers, not {array.dtype}")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise SelectionError(f"index {array.max()} is out of bounds")  # no negative number
    return array.astype(np.int64, copy=False)


def _list_of_axis(key: Any, n: int) -> np.ndarray[Any, Any]:
    array = np.asarray(key)
    if array.ndim != 1 and array.dtype.kind == "b":
        raise SelectionError(f"a mask has the array's shape or is for one axis, not {array.shape}")
    if array.ndim != 1:
        raise SelectionError(f"a list of indices has one axis, not {array.ndim}")
    if array.dtype.kind == "b":
        if len(array) != n:
            raise SelectionError(f"a mask of {len(array)} for an axis of {n}")
        array = np.nonzero(array)[0]
    return np.ascontiguousarray(_integers(array))


def _expand(key: Any, ndim: int) -> list[Any]:
    """One entry per axis from the left, without `...`."""
    parts = list(key) if isinstance(key, tuple) else [key]
    at = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(at) > 1 or len(parts) - len(at) > ndim:
        raise SelectionError(f"too many indices for {ndim} dimensions: {key!r}")
    if at:
        parts[at[0]:at[0] + 1] = [slice(None)] * (ndim - len(parts) + 1)
    return parts


def _outer(node: _ext.Node, shape: tuple[int, ...], key: Any) -> _ext.Selection:
    parts = _expand(key, len(shape))
    axes = tuple(_list_of_axis(part, n) if _is_list(part) else part
                 for part, n in zip(parts, shape))
    return _ext.selection(node, AXES, axes)


def _masked(node: _ext.Node, shape: tuple[int, ...], key: Any) -> _ext.Selection:
    array = np.asarray(key)
    if array.dtype.kind != "b" or array.shape != shape:
        raise SelectionError(f"a mask is a boolean array of the shape {shape}, not "
                             f"{array.dtype} {array.shape}")
    return _ext.selection(node, MASK, np.ascontiguousarray(array).view(np.uint8))


def _points(node: _ext.Node, shape: tuple[int, ...],
            key: Any) -> tuple[_ext.Selection, tuple[int, ...]]:
    parts = key if isinstance(key, tuple) else (key,)
    if len(parts) == 1 and getattr(parts[0], "dtype", None) == np.bool_:
        selection = _masked(node, shape, parts[0])
        return selection, selection.shapes[0]
    if len(parts) != len(shape) or not parts:
        raise SelectionError(f"vindex takes an index for each of {len(shape)} axes, or a mask")
    if any(isinstance(part, slice) or part is Ellipsis for part in parts):
        raise SelectionError("vindex takes integers and arrays of them: no slices, no ...")
    given = [_integers(part) for part in parts]
    arrays = np.broadcast_arrays(*given)
    for i, (array, n) in enumerate(zip(given, shape)):
        if arrays[0].size == 0 and array.size and not -n <= array.min() <= array.max() < n:
            raise SelectionError(f"axis {i}: an index is out of bounds for length {n}")
    points = np.stack([array.reshape(-1) for array in arrays], axis=-1)
    return _ext.selection(node, POINTS, points), arrays[0].shape


def _numpy_moves_it(parts: list[Any]) -> bool:
    """Is the list's axis the first of NumPy's result, though there are others before it?"""
    at = [i for i, part in enumerate(parts) if not isinstance(part, slice)]
    before = parts[:next(i for i in at if _is_list(parts[i]))]
    return at[-1] - at[0] >= len(at) and any(isinstance(part, slice) for part in before)


def _mixed(node: _ext.Node, shape: tuple[int, ...],
           key: Any) -> tuple[_ext.Selection, tuple[int, ...]]:
    """An index in brackets with lists or arrays in it."""
    if getattr(key, "dtype", None) == np.bool_ and key.shape == shape:
        selection = _masked(node, shape, key)
        return selection, selection.shapes[0]
    parts = key if isinstance(key, tuple) else (key,)
    lists = [part for part in parts if _is_list(part)]
    are_whole = all(_is_list(part) or isinstance(part, (int, np.integer)) for part in parts)
    are_bool = any(np.asarray(part).dtype.kind == "b" for part in lists)
    if lists and are_whole and len(parts) == len(shape) and not are_bool:
        return _points(node, shape, key)
    if len(lists) > 1:
        raise SelectionError("more than one list among the indices: say oindex or vindex")
    if lists and _numpy_moves_it(_expand(key, len(shape))):
        raise SelectionError("an integer and a list apart: NumPy puts the list's axis first, oindex "
                             "leaves it where it stands: say oindex")
    selection = _outer(node, shape, key)
    return selection, selection.shapes[0]


def _refused(function: _Resolver) -> _Resolver:
    """What is wrong with an index is a SelectionError."""
    @functools.wraps(function)
    def resolver(*args: Any) -> Any:
        try:
            return function(*args)
        except SelectionError:
            raise
        except (IndexError, TypeError, ValueError) as error:
            raise SelectionError(str(error)) from None
    return cast(_Resolver, resolver)


@_refused
def resolve(node: _ext.Node, shape: tuple[int, ...],
            key: Any) -> tuple[_ext.Selection, tuple[int, ...]]:
    """The selection, and the shape that its result is given."""
    if type(key) in _PLAIN or (type(key) is tuple and _PLAIN.issuperset(map(type, key))):
        selection = _ext.selection(node, AXES, key)
    elif not isinstance(key, Keyed):
        return _mixed(node, shape, key)
    elif key.kind == "points":
        return _points(node, shape, key.key)
    elif key.kind == "outer":
        selection = _outer(node, shape, key.key)
    elif key.kind == "mask":
        selection = _masked(node, shape, key.key)
    else:
        selection = _ext.selection(node, BLOCKS, key.key)
    return selection, selection.shapes[0]


@_refused
def resolve_many(node: _ext.Node, shape: tuple[int, ...],
                 keys: list[Any] | Boxes) -> _ext.Selection | None:
    """Boxes or basic indices, all in one; None where there are others among them."""
    if not isinstance(keys, Boxes):
        return _ext.selections(node, keys)
    starts, naxes = keys.starts, len(keys.shape)
    if naxes > len(shape):
        raise SelectionError(f"boxes with {naxes} axes in an array with {len(shape)}")
    room = np.subtract(shape[:naxes], keys.shape)
    if len(starts) and ((starts < 0) | (starts > room)).any():
        bad = starts[((starts < 0) | (starts > room)).any(axis=1)][0].tolist()
        raise SelectionError(f"a box of {keys.shape} at {bad} in an array of {shape}")
    return _ext.boxes(node, starts, keys.shape)
