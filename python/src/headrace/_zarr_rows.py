"""zarr-python's chunk-wise selections, put together again. SPDX-License-Identifier: Apache-2.0

An indexer of zarr-python gives one row per chunk: which elements of it go where in the
output. The library takes one selection of the whole array. This finds it, or says that
there is none.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._select import AXES, POINTS

Row = tuple[tuple[int, ...], Any, Any]
"""Numbers of the chunk, what is selected of it, and where that goes."""


class Unmergeable(Exception):
    """The rows are no selection that the library knows."""


@dataclasses.dataclass(frozen=True)
class Merged:
    """A selection of the array, as the extension takes it."""

    kind: int
    key: Any
    reach: tuple[int, ...]
    """The array is at least so large."""


def _as_tuple(selection: Any) -> tuple[Any, ...]:
    return selection if isinstance(selection, tuple) else (selection,)


def merge(rows: Sequence[Row], grid: Sequence[int], shape: tuple[int, ...],
          drop_axes: tuple[int, ...]) -> Merged:
    """rows of chunks on a regular grid, for an output of this shape."""
    if not rows:
        raise Unmergeable("no chunks")
    selected = _as_tuple(rows[0][1])
    is_points = not isinstance(rows[0][2], tuple) and len(grid) > 0 and \
        all(isinstance(part, np.ndarray) for part in selected)
    try:
        return _points(rows, grid, shape) if is_points else _outer(rows, grid, shape, drop_axes)
    except (ValueError, IndexError, TypeError) as error:
        raise Unmergeable(f"parts that do not fit together: {error}") from None


def _points(rows: Sequence[Row], grid: Sequence[int], shape: tuple[int, ...]) -> Merged:
    """Coordinates: row by row, places along the one axis of the output."""
    n = math.prod(shape)
    points = np.full((n, len(grid)), -1, np.int64)
    for coordinates, selected, where in rows:
        for axis, (part, number, side) in enumerate(zip(_as_tuple(selected), coordinates, grid)):
            points[where, axis] = part + number * side
    if len(shape) != 1 or (n and points.min() < 0):
        raise Unmergeable("coordinates that leave parts of the output alone")
    reach = tuple(int(i) + 1 for i in points.max(axis=0)) if n else (0,) * len(grid)
    return Merged(POINTS, points, reach)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and bool(a == b)


def _outer(rows: Sequence[Row], grid: Sequence[int], shape: tuple[int, ...],
           drop_axes: tuple[int, ...]) -> Merged:
    """An outer product: along each axis, every number of a chunk has one part of the
    selection, and every combination of them is a row."""
    ndim = len(grid)
    pieces: list[dict[int, tuple[Any, Any]]] = [{} for _ in range(ndim)]
    first = _as_tuple(rows[0][1])
    kept = [axis for axis in range(ndim)
            if axis not in drop_axes and not isinstance(first[axis], (int, np.integer))]
    if len(kept) != len(shape) or len(first) < ndim:
        raise Unmergeable("an output with another number of axes than the selection")
    places = {axis: i for i, axis in enumerate(kept)}
    for coordinates, selected, where in rows:
        selected, where = _as_tuple(selected), _as_tuple(where)
        for axis in range(ndim):
            at = where[places[axis]] if axis in places else None
            known = pieces[axis].setdefault(coordinates[axis], (selected[axis], at))
            if known[0] is not selected[axis] and not (
                    _same(known[0], selected[axis]) and _same(known[1], at)):
                raise Unmergeable("chunks whose parts differ")
    if len(rows) != math.prod(len(p) for p in pieces) or \
            len({row[0] for row in rows}) != len(rows):
        raise Unmergeable("chunks that are no outer product")
    key: list[Any] = []
    for axis in range(ndim):
        if axis in places:
            key.append(_axis(pieces[axis], grid[axis], shape[places[axis]]))
        else:
            key.append(_dropped(pieces[axis], grid[axis]))
    return Merged(AXES, tuple(key), tuple(_reach(part) for part in key))


def _dropped(pieces: dict[int, tuple[Any, Any]], side: int) -> int:
    """The one index along an axis that the output does not have."""
    if len(pieces) != 1:
        raise Unmergeable("an axis without a place in the output")
    ((number, (part, _)),) = pieces.items()
    if isinstance(part, np.ndarray):
        if part.size != 1:
            raise Unmergeable("an axis without a place in the output")
        part = part.reshape(-1)[0]
    return int(part) + number * side


def _reach(part: Any) -> int:
    if isinstance(part, slice):
        return int(part.stop)
    if isinstance(part, int):
        return part + 1
    return int(part.max()) + 1 if len(part) else 0


def _numbers(part: Any, side: int) -> np.ndarray[Any, Any]:
    """A part of a chunk as a list of indices."""
    if isinstance(part, slice):
        return np.arange(*part.indices(side))
    array = np.asarray(part).reshape(-1)
    return np.nonzero(array)[0] if array.dtype.kind == "b" else array


def _axis(pieces: dict[int, tuple[Any, Any]], side: int, n: int) -> Any:
    """Where the elements along one axis of the output are: a slice, or a list."""
    found = _slice(pieces, side, n)
    if found is not None:
        return found
    indices = np.full(n, -1, np.int64)
    for number, (part, at) in pieces.items():
        if isinstance(at, np.ndarray):
            at = at.reshape(-1)
        indices[at] = _numbers(part, side) + number * side
    if n and indices.min() < 0:
        raise Unmergeable("parts of the output are left alone")
    return indices


def _slice(pieces: dict[int, tuple[Any, Any]], side: int, n: int) -> slice | None:
    """One slice, where the pieces follow each other in even steps."""
    start = step = None
    end = 0  # of the output so far
    for number, (part, at) in sorted(pieces.items()):
        if not isinstance(part, slice) or not isinstance(at, slice):
            return None
        low, high, stride = part.indices(side)
        count = len(range(low, high, stride))
        if at.start != end or (at.step or 1) != 1 or (step is not None and stride != step):
            return None
        if start is None:
            start, step = low + number * side, stride
        elif count and low + number * side != start + end * stride:
            return None
        end += count
        if at.stop != end:
            return None
    if start is None or step is None or end != n:
        return None
    return slice(start, start + (n - 1) * step + 1 if n else start, step)
