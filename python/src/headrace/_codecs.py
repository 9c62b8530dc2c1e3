"""Codecs that are functions of Python. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from . import _config, _dtypes, _ext
from ._errors import ArgumentError

# In the order of the library's numbers, which begin with 1.
_KINDS = ("array-to-array", "array-to-bytes", "bytes-to-bytes")
Decode = Callable[[bytes], Any]
Make = Callable[..., Decode]


class _Adapter:
    """What the extension calls: decoders by their number, kept for what they are told."""

    def __init__(self, make: Make, is_told_of_chunks: bool) -> None:
        self._make, self._is_told_of_chunks = make, is_told_of_chunks
        self._lock = threading.Lock()
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._decoders: list[Decode] = []

    def parse(self, configuration: str, shape: tuple[int, ...] | None, dtype: str | None) -> int:
        about = (shape, _dtypes.to_numpy(dtype or "|u1")) if self._is_told_of_chunks else ()
        told = (configuration, *about)
        number = self._numbers.get(told)
        if number is None:
            decode = self._make(json.loads(configuration), *about)  # which may open arrays, too
            with self._lock:
                number = self._numbers.setdefault(told, len(self._decoders))
                if number == len(self._decoders):
                    self._decoders.append(decode)
        return number

    def decode(self, number: int, data: bytes) -> Any:
        return self._decoders[number](data)


def add_codec(name: str, make: Make, kind: str = "bytes-to-bytes") -> None:
    """Have arrays that are opened from now on use a codec of yours.

        hr.add_codec("rot", lambda config: lambda data: rotate(data, config["by"]))

    name: as metadata has it, of Zarr v2 and v3. make(config) gets the configuration, a dict,
    and gives decode(data: bytes) -> bytes, or anything contiguous with the buffer protocol.
    kind: "bytes-to-bytes"; or "array-to-bytes" or "array-to-array" (v3's words, for how it
    encodes): then make(config, shape, dtype) is told of the chunk that the bytes decode to,
    whose elements are wanted in C order.

    Decoders run on the host, several at once, also for results on a GPU, unless strict; what
    they raise is a DataError of the read, what make raises a MetadataError. They are waited
    for. Raises ArgumentError where a codec of that name is there already.
    """
    if kind not in _KINDS:
        raise ArgumentError(f"kind is {kind!r}: {', '.join(_KINDS)}")
    if not name or not callable(make):
        raise ArgumentError(f"a codec has a name and a function, not {name!r} and {make!r}")
    adapter = _Adapter(make, kind != "bytes-to-bytes")
    _config.add_to_contexts(
        lambda context: _ext.add_codec(context, adapter, _KINDS.index(kind) + 1, name))
