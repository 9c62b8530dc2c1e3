"""Samples of arrays: where they lie, and in what order. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import math
import operator
from typing import Any, Sequence

import numpy as np

from . import _node, _select
from ._errors import ArgumentError, ShapeError

SHUFFLES = (False, "block", "full")


@dataclasses.dataclass(frozen=True)
class Places:
    """Samples of the shape `crop` along the leading axes, at multiples of `stride`, or so
    many at random places. Without a crop a sample is one entry along the first axis."""

    shape: tuple[int, ...]  # of the leading axes
    crop: tuple[int, ...]
    stride: tuple[int, ...]
    block: tuple[int, ...]  # what is shuffled together: a chunk
    is_row: bool
    nrandom: int | None

    @property
    def grid(self) -> tuple[int, ...]:
        """Number of places along each axis."""
        return tuple((n - c) // s + 1 for n, c, s in zip(self.shape, self.crop, self.stride))

    def __len__(self) -> int:
        return math.prod(self.grid) if self.nrandom is None else self.nrandom

    def starts(self, seed: Sequence[int]) -> np.ndarray[Any, Any]:
        """First elements along each axis, (samples, axes); seed for random ones."""
        if self.nrandom is None:
            return self.at(np.arange(len(self)))
        most = [n - c + 1 for n, c in zip(self.shape, self.crop)]
        return np.random.default_rng(seed).integers(0, most, (self.nrandom, len(most)))

    def at(self, indices: Any) -> np.ndarray[Any, Any]:
        """First elements of samples of the grid by their number."""
        places = np.unravel_index(indices, self.grid)
        return np.stack([p * s for p, s in zip(places, self.stride)], axis=-1)

    def selections(self, starts: np.ndarray[Any, Any]) -> Any:
        """As a read takes them: one selection where samples are cut along one axis."""
        if len(self.crop) == 1:
            return _select.oindex[(starts + np.arange(self.crop[0])).reshape(-1)]
        return _select.Boxes(starts, self.crop)

    def sample_shape(self, array: _node.Array) -> tuple[int, ...]:
        rest = array.shape[len(self.crop):]
        return rest if self.is_row else self.crop + rest


def _integers(values: Any, name: str) -> tuple[int, ...]:
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError:
        raise ArgumentError(f"{name} is {values!r}: it wants a tuple of integers") from None


def _per_axis(value: Any, ndim: int, name: str) -> tuple[int, ...]:
    values = (value,) * ndim if isinstance(value, int) else _integers(value, name)
    if len(values) != ndim or any(v < 1 for v in values):
        raise ArgumentError(f"{name} is {value!r}: it wants {ndim} positive numbers, as crop has")
    return values


def places(arrays: Sequence[_node.Array], crop: Any, stride: Any, samples: int | None) -> Places:
    """Of arrays that are alike along the leading axes. Raises ShapeError where a crop does
    not fit."""
    if any(a.ndim == 0 for a in arrays):
        raise ShapeError("there are no samples in an array without axes")
    is_row = crop is None
    crop = (1,) if is_row else _integers(crop, "crop")
    if samples is not None and samples < 0:
        raise ArgumentError(f"samples is {samples}: at least 0")
    first = arrays[0]
    for a in arrays:
        if len(crop) > a.ndim or a.shape[:len(crop)] != first.shape[:len(crop)]:
            raise ShapeError(f"arrays of the shapes {first.shape} and {a.shape} have no crops "
                             f"of {len(crop)} axes in common")
    shape = first.shape[:len(crop)]
    if any(c < 1 or c > n for c, n in zip(crop, shape)) and not (is_row and shape == (0,)):
        raise ShapeError(f"crops of {crop} in arrays of {shape}")
    block = tuple(max(1, c) for c in first.chunks[:len(crop)])
    strides = crop if stride is None else _per_axis(stride, len(crop), "stride")
    return Places(shape, crop, strides, block, is_row, samples)


def _by_block(starts: np.ndarray[Any, Any], block: tuple[int, ...],
              rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Samples that begin in one chunk stay together; the chunks come in random order."""
    if not len(starts):
        return np.arange(0)
    chunks = starts // np.asarray(block)
    numbers = np.ravel_multi_index(tuple(chunks.T), tuple(chunks.max(axis=0) + 1))
    numbers = np.unique(numbers, return_inverse=True)[1]
    rank = rng.permutation(int(numbers.max()) + 1)
    return np.argsort(rank[numbers], kind="stable")


@dataclasses.dataclass(frozen=True)
class Order:
    """The samples of an epoch for one of `world_size` processes.

    "full": any order. "block": chunks in any order, and any order within `buffer` samples,
    which are read at once: so a chunk is decoded about once. False: as they lie. Each
    process has a run of neighbours of the common order, and as many as the others: some
    samples come twice, or, with drop_last, some not at all.
    """

    shuffle: Any
    seed: int
    buffer: int
    rank: int
    world_size: int
    drop_last: bool

    def nsamples(self, n: int) -> int:
        """That one process gets of n."""
        return n // self.world_size if self.drop_last else -(-n // self.world_size)

    def starts(self, where: Places, epoch: int) -> np.ndarray[Any, Any]:
        """Places of the samples, in order."""
        starts = where.starts([self.seed, epoch, 1])
        rng = np.random.default_rng([self.seed, epoch, 2])
        if self.shuffle == "full":
            starts = starts[rng.permutation(len(starts))]
        elif self.shuffle == "block":
            starts = starts[_by_block(starts, where.block, rng)]
        if not len(starts):
            return starts
        own = self.nsamples(len(starts))
        starts = starts[np.arange(self.rank * own, (self.rank + 1) * own) % len(starts)]
        if self.shuffle == "block":
            rng = np.random.default_rng([self.seed, epoch, 3, self.rank])
            for i in range(0, own, self.buffer):
                starts[i:i + self.buffer] = rng.permutation(starts[i:i + self.buffer])
        return starts
