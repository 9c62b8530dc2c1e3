"""xarray's indexers as selections of headrace. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np
from xarray.core.indexing import BasicIndexer, ExplicitIndexer, OuterIndexer, VectorizedIndexer

from . import _select

Arrange = Callable[[Any], Any]
_WORTH_A_REQUEST = 64  # elements of one point, from which on it is read by a slice


def _as_is(result: Any) -> Any:
    return result


def _axis(key: Any) -> Any:
    """An index along one axis; equal steps as a slice, which is quicker to plan."""
    if isinstance(key, slice):
        return key
    if not isinstance(key, np.ndarray):
        return int(key)
    if key.size > 1:
        step = int(key[1]) - int(key[0])
        if step and key[0] >= 0 and key[-1] >= 0 and bool((np.diff(key) == step).all()):
            stop = int(key[-1]) + (1 if step > 0 else -1)
            return slice(int(key[0]), stop if stop >= 0 else None, step)
    return key


def _outer(key: tuple[Any, ...]) -> Any:
    return _select.oindex[tuple(_axis(k) for k in key)]


def _moves(arrays: list[Any]) -> list[int | None] | None:
    """The axis of the result along which each array varies (None: it is one number), or
    None where they do not vary one by one."""
    found: list[int | None] = []
    for array in arrays:
        along = [d for d, n in enumerate(array.shape) if n != 1]
        if len(along) > 1 or (along and along[0] in found):
            return None
        found.append(along[0] if along else None)
    return found


def _transposed(key: tuple[Any, ...], arrays: list[Any],
                moves: list[int | None]) -> tuple[Any, Arrange]:
    """Arrays that vary each along an axis of its own: an outer product with axes moved.
    That is what a lazy transpose asks for."""
    left = iter(moves)
    places: list[int] = []  # of each axis of what is read, in the result
    ndim = arrays[0].ndim
    nslices = 0
    parts: list[Any] = []
    for k in key:
        if isinstance(k, slice):
            places.append(ndim + nslices)
            nslices += 1
            parts.append(k)
            continue
        place = next(left)
        if place is None:
            parts.append(int(k.item()))
        else:
            places.append(place)
            parts.append(k.reshape(-1))
    order = sorted(range(len(places)), key=places.__getitem__)
    absent = tuple(d for d in range(ndim) if d not in places)

    def arrange(result: Any) -> Any:
        result = result.transpose(order)
        for d in absent:
            result = result[(slice(None),) * d + (None,)]
        return result

    return _outer(tuple(parts)), arrange


def _pointwise(key: tuple[Any, ...], arrays: list[Any],
               shape: tuple[int, ...]) -> tuple[Any, Arrange]:
    """Points; axes with slices come last."""
    points = np.broadcast_arrays(*arrays)
    wide = [len(range(*k.indices(n))) for k, n in zip(key, shape) if isinstance(k, slice)]
    whole = points[0].shape + tuple(wide)
    if math.prod(wide) >= _WORTH_A_REQUEST:
        flat = iter(points)
        columns = [k if isinstance(k, slice) else next(flat).reshape(-1).tolist() for k in key]
        requests = [tuple(c if isinstance(c, slice) else c[i] for c in columns)
                    for i in range(points[0].size)]
        return requests, lambda result: result.reshape(whole)
    ndim, nslices, at = points[0].ndim, len(wide), 0
    parts, left = [], iter(points)
    for k, n in zip(key, shape):
        if isinstance(k, slice):
            along = np.arange(*k.indices(n))
            parts.append(along.reshape((1,) * (ndim + at) + (-1,) + (1,) * (nslices - at - 1)))
            at += 1
        else:
            part = next(left)
            parts.append(part.reshape(part.shape + (1,) * nslices))
    return _select.vindex[tuple(parts)], _as_is


def selection(key: ExplicitIndexer, shape: tuple[int, ...]) -> tuple[Any, Arrange]:
    """What to read (a list: results one after the other), and what to do with the result."""
    if isinstance(key, OuterIndexer):
        return _outer(key.tuple), _as_is
    if isinstance(key, VectorizedIndexer):
        arrays = [k for k in key.tuple if not isinstance(k, slice)]
        if not arrays:
            return key.tuple, _as_is
        moves = _moves(arrays)
        if moves is not None:
            return _transposed(key.tuple, arrays, moves)
        return _pointwise(key.tuple, arrays, shape)
    return tuple(k if isinstance(k, slice) else int(k) for k in key.tuple), _as_is


def _points_in(key: tuple[Any, ...], shape: tuple[int, ...],
               axes: tuple[int | None, ...]) -> ExplicitIndexer:
    """All indexes as arrays, slices along axes behind those of the points: then they may
    stand in any order."""
    ndim = max(k.ndim for k in key if not isinstance(k, slice))
    wide = [d for d, k in enumerate(key) if isinstance(k, slice)]
    arrays = []
    for d, (k, n) in enumerate(zip(key, shape)):
        if isinstance(k, slice):
            at = wide.index(d)
            k = np.arange(*k.indices(n)).reshape((-1,) + (1,) * (len(wide) - at - 1))
        else:
            k = k.reshape(k.shape + (1,) * len(wide))
        arrays.append(k)
    whole = np.broadcast_shapes(*(k.shape for k in arrays))
    found = {axis: k.reshape((1,) * (ndim + len(wide) - k.ndim) + k.shape)
             for axis, k in zip(axes, arrays) if axis is not None}
    if np.broadcast_shapes(*(k.shape for k in found.values())) != whole:
        found[0] = np.broadcast_to(found[0], whole)
    return VectorizedIndexer(tuple(found[axis] for axis in range(len(found))))


def stored(key: ExplicitIndexer, shape: tuple[int, ...],
           axes: tuple[int | None, ...]) -> tuple[ExplicitIndexer, list[int], Arrange]:
    """For a variable of this shape whose dimensions are these axes of an array (None: none,
    one element): the key of the array, the axes of the result in the order that they are to
    have in memory, and what is left to do then."""
    if axes == tuple(range(len(axes))):
        return key, [], _as_is
    if isinstance(key, VectorizedIndexer) and any(not isinstance(k, slice) for k in key.tuple):
        return _points_in(key.tuple, shape, axes), [], _as_is
    by_axis = {axis: k for axis, k in zip(axes, key.tuple) if axis is not None}
    indexes = tuple(by_axis[axis] for axis in range(len(by_axis)))
    is_left = [isinstance(k, (slice, np.ndarray)) for k in indexes]
    order = [sum(is_left[:axis]) for axis in axes if axis is not None and is_left[axis]]
    kind = OuterIndexer if isinstance(key, OuterIndexer) else BasicIndexer
    added: list[tuple[int, int]] = []  # dimensions that the array does not have, their lengths
    at = 0
    for axis, k in zip(axes, key.tuple):
        if isinstance(k, (slice, np.ndarray)):
            if axis is None:
                added.append((at, len(range(*k.indices(1))) if isinstance(k, slice) else len(k)))
            at += 1

    def arrange(result: Any) -> Any:
        for d, n in added:
            result = result[(slice(None),) * d + (None,)]
            if n != 1:
                result = result.repeat(n, d)
        return result

    return kind(indexes), order, arrange
