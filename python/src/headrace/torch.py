"""Batches for training: a loader, and a dataset for PyTorch's own.

    from headrace.torch import Loader

    loader = Loader(hr.open("x.zarr", "cuda"), crop=(16, 224, 224), batch_size=64, seed=0)
    for batch in loader:                  # a torch.Tensor on the GPU, (64, 16, 224, 224)
        ...

Samples are read in parallel, many in one call, each chunk once a call, by the library's own
threads: no worker processes are needed. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import collections
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _cf, _config, _dtypes, _node, _read, _sampling, _select
from ._config import CUDA
from ._errors import ArgumentError, DTypeError
from ._future import Future
from ._read import Packed
from ._tensor import view

__all__ = ["Dataset", "Loader", "collate"]


class _Reader:
    """Reads samples of one array or of several that are alike along the leading axes."""

    def __init__(self, arrays: Any, crop: Any, stride: Any, samples: int | None, device: Any,
                 dtype: Any, mask_and_scale: bool | _cf.Packing, to: str) -> None:
        self._arrays = arrays
        self._flat = _flatten(arrays)
        for a in self._flat:
            if not isinstance(a, _node.Array):
                raise ArgumentError(f"{a!r} is no array of headrace")
            if a._info["kind"] >= _dtypes.VLEN_UTF8:
                raise DTypeError(f"{a.url}: elements of variable length make no batches")
        self.places = _sampling.places(self._flat, crop, stride, samples)
        self._devices = [_config.parse_device(a.device if device is None else device)
                         for a in self._flat]
        self._options: dict[str, Any] = {"dtype": dtype, "mask_and_scale": mask_and_scale}
        self._to = to
        self._side: dict[int, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_side": {}}

    def start(self, starts: np.ndarray[Any, Any]) -> list[tuple[Future, Any]]:
        """Begin to read the samples, in this order: for each array a future, and torch's
        memory that it fills, or the shape of what it makes."""
        keys = self.places.selections(starts)
        begun: list[tuple[Future, Any]] = []
        for a, device in zip(self._flat, self._devices):
            shape = (len(starts), *self.places.sample_shape(a))
            if self._to == "torch" and device[0] == CUDA:
                begun.append(self._on_side_stream(a, keys, shape, device[1]))
            else:
                future = a.read(keys, "packed" if isinstance(keys, _select.Boxes) else None,
                                device=_config.device_text(device), **self._options)
                begun.append((future, shape))
        return begun

    def _on_side_stream(self, a: _node.Array, keys: Any, shape: tuple[int, ...],
                        index: int) -> tuple[Future, Any]:
        """Into memory of torch's that belongs to a stream of its own, so that a read waits
        for nothing that is queued for training."""
        import torch
        if index not in self._side:
            self._side[index] = torch.cuda.Stream(device=index)
        side = self._side[index]
        text = _dtypes.native(_read.want(a, ..., **self._options).text)
        dtype = torch.bfloat16 if text == "bfloat16" else \
            torch.from_numpy(np.empty(0, _dtypes.to_numpy(text))).dtype
        with torch.cuda.device(index), torch.cuda.stream(side):
            out = torch.empty(shape, dtype=dtype, device=f"cuda:{index}")
            flat = out if isinstance(keys, _select.Boxes) else \
                out.view(shape[0] * self.places.crop[0], *a.shape[1:])
            return a.read(keys, flat, stream=side, **self._options), out

    def finish(self, begun: list[tuple[Future, Any]]) -> list[Any]:
        """The samples of each array, one after the other along the first axis."""
        results = []
        for future, out in begun:
            done = future.result()
            if isinstance(out, tuple):
                tensor = done.data if isinstance(done, Packed) else done
                out = view(tensor, 0, out).to(self._to)
            else:
                import torch
                out.record_stream(torch.cuda.current_stream(out.device))
            results.append(out)
        return results

    def like_given(self, parts: Sequence[Any]) -> Any:
        """One, or a dict or tuple as the arrays were given."""
        if isinstance(self._arrays, Mapping):
            return dict(zip(self._arrays, parts))
        return tuple(parts) if isinstance(self._arrays, (list, tuple)) else parts[0]


def _flatten(arrays: Any) -> list[Any]:
    if isinstance(arrays, Mapping):
        found = list(arrays.values())
    else:
        found = list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]
    if not found:
        raise ArgumentError("no arrays are given")
    return found


def _distributed(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """As given, else as torch.distributed says, else one process."""
    if (rank is None) != (world_size is None):
        raise ArgumentError("rank and world_size come together")
    if rank is None or world_size is None:
        torch = sys.modules.get("torch")
        group = getattr(torch, "distributed", None)
        if group is None or not group.is_available() or not group.is_initialized():
            return 0, 1
        return int(group.get_rank()), int(group.get_world_size())
    if not 0 <= rank < world_size:
        raise ArgumentError(f"rank {rank} of {world_size}")
    return rank, world_size


class Loader:
    """Iterates over batches of samples.

    arrays: an array, or a dict or tuple of arrays alike along the leading axes; batches
    have the same form. crop: lengths of a sample along the leading axes (the others are
    taken whole), at multiples of stride (by default the crop); None: a sample is an entry
    along the first axis. samples: so many crops at random places in every epoch instead.
    batch_size: samples in a batch; the last may be smaller, unless drop_last.

    shuffle: "block": chunks in random order, samples mixed within `buffer` batches, which are
    read at once, so that a chunk is decoded about once; "full": any order; False: as they
    lie. seed, and the epoch, decide the order. rank, world_size: this process reads its
    part (by default what torch.distributed says).

    buffer: batches in one read. prefetch: reads under way while batches are used. device,
    dtype, mask_and_scale: as in Array.read. to: "torch", "numpy", "cupy" or "jax".

    Batches are views of what was read: nothing is copied. On a GPU reads are ordered on a
    stream of their own, in memory of torch's pool.
    """

    def __init__(self, arrays: Any, crop: Sequence[int] | None = None, *, stride: Any = None,
                 samples: int | None = None, batch_size: int = 1, shuffle: Any = "block",
                 seed: int = 0, rank: int | None = None, world_size: int | None = None,
                 drop_last: bool = False, buffer: int = 4, prefetch: int = 2, device: Any = None,
                 dtype: Any = None, mask_and_scale: bool | _cf.Packing = False,
                 to: str = "torch") -> None:
        if shuffle not in _sampling.SHUFFLES:
            raise ArgumentError(f"shuffle is {shuffle!r}: one of {_sampling.SHUFFLES}")
        for name, value, least in (("batch_size", batch_size, 1), ("buffer", buffer, 1),
                                   ("prefetch", prefetch, 1), ("seed", seed, 0)):
            if not isinstance(value, int) or value < least:
                raise ArgumentError(f"{name} is {value!r}: at least {least}")
        self._reader = _Reader(arrays, crop, stride, samples, device, dtype, mask_and_scale, to)
        rank, world_size = _distributed(rank, world_size)
        self.batch_size, self._buffer, self._prefetch = batch_size, buffer, prefetch
        self._order = _sampling.Order(shuffle, seed, buffer * batch_size, rank, world_size,
                                      drop_last)
        self._epoch, self._ndone, self._first = 0, 0, 0

    def __len__(self) -> int:
        """Batches of an epoch, for this process."""
        n = self._order.nsamples(len(self._reader.places))
        return n // self.batch_size if self._order.drop_last else -(-n // self.batch_size)

    @property
    def epoch(self) -> int:
        """Which epoch is under way, or comes next: it counts by itself."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Begin that epoch next."""
        self._epoch, self._ndone, self._first = int(epoch), 0, 0

    def state_dict(self) -> dict[str, int]:
        """Where it is: a loader made alike, given this, goes on with the next batch."""
        return {"epoch": self._epoch, "batch": self._ndone, "seed": self._order.seed,
                "world_size": self._order.world_size, "batch_size": self.batch_size}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on where another loader was. Raises ArgumentError where it was made otherwise."""
        own = self.state_dict()
        for name in ("seed", "world_size", "batch_size"):
            if state[name] != own[name]:
                raise ArgumentError(f"the state is of a loader with {name}={state[name]}, this "
                                    f"one has {own[name]}")
        self._epoch, self._ndone = int(state["epoch"]), int(state["batch"])
        self._first = self._ndone

    def _reads(self, first: int) -> Iterator[np.ndarray[Any, Any]]:
        """Places of the samples of each read of the epoch, from a batch on."""
        starts = self._order.starts(self._reader.places, self._epoch)
        starts = starts[:len(self) * self.batch_size]
        step, at = self._buffer * self.batch_size, first * self.batch_size
        while at < len(starts):
            end = at - at % step + step
            yield starts[at:end]
            at = end

    def __iter__(self) -> Iterator[Any]:
        self._ndone, self._first = self._first, 0
        reads = self._reads(self._ndone)
        begun = collections.deque(self._reader.start(starts)
                                  for starts in itertools.islice(reads, self._prefetch))
        while begun:  # the next begins before the first is waited for: to begin takes time, too
            begun.extend(self._reader.start(starts) for starts in itertools.islice(reads, 1))
            parts = self._reader.finish(begun.popleft())
            for i in range(0, len(parts[0]), self.batch_size):
                self._ndone += 1
                yield self._reader.like_given([p[i:i + self.batch_size] for p in parts])
        self._epoch, self._ndone = self._epoch + 1, 0


class _Samples(list[Any]):
    """Samples as a list, which default_collate takes, and the memory that they are views of."""

    whole: Any


def collate(samples: Any) -> Any:
    """For DataLoader(collate_fn=): the batch that a Dataset read, without a copy."""
    return samples.whole


class Dataset:
    """Samples by number, for torch.utils.data.DataLoader.

        DataLoader(Dataset(a, crop=(16, 224, 224)), batch_size=64, shuffle=True,
                   collate_fn=headrace.torch.collate)

    A batch is read in one call (`__getitems__`). The options are those of Loader. It pickles
    as the places of its arrays; workers, if any, want the start method "spawn" where results
    go to a GPU.
    """

    def __init__(self, arrays: Any, crop: Sequence[int] | None = None, *, stride: Any = None,
                 device: Any = None, dtype: Any = None,
                 mask_and_scale: bool | _cf.Packing = False, to: str = "torch") -> None:
        self._reader = _Reader(arrays, crop, stride, None, device, dtype, mask_and_scale, to)

    def __len__(self) -> int:
        return len(self._reader.places)

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        n = len(self)
        numbers = np.asarray(indices, np.int64)
        if ((numbers < -n) | (numbers >= n)).any():
            raise IndexError(f"sample {indices} of {n}")
        reader = self._reader
        parts = reader.finish(reader.start(reader.places.at(numbers % max(n, 1))))
        samples = _Samples(reader.like_given([p[i] for p in parts]) for i in range(len(numbers)))
        samples.whole = reader.like_given(parts)
        return samples
