"""Codecs under numcodecs' ids that decode into GPU or host memory.

    codec = headrace.numcodecs.get_codec({"id": "zstd"}, device="cuda")
    codec.decode(data, nbytes=65536)            # a cupy.ndarray of bytes
    codec.decode(data, out=array)               # into memory of any framework
    codec.decode_batch(many, nbytes=65536)      # in one call
    codec.submit(many, nbytes=65536)            # a future of the same

The streams are those of numcodecs; encoding is left to numcodecs. Under numcodecs' registry the
codecs are called "headrace.zstd", "headrace.blosc" and so on, so they stand for the originals
only where register() or metadata says so. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import collections
import itertools
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numcodecs
import numpy as np
from numcodecs.abc import Codec as _Base

from . import _config, _dtypes, _ext, _read, _select, _streams
from ._config import HOST
from ._errors import ArgumentError, DataError, ShapeError, StrictError
from ._future import Future
from ._streams import Streams
from ._tensor import Tensor, as_tensor

__all__ = ["COMPRESSORS", "FILTERS", "Codec", "get_codec", "register"]

COMPRESSORS = ("blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd")
FILTERS = ("astype", "bitround", "delta", "fixedscaleoffset", "packbits", "quantize", "shuffle")
_PREFIX = "headrace."


def _zstd_nbytes(data: memoryview) -> int | None:
    """The content size in the header of the first frame, if it has one."""
    if len(data) < 6 or bytes(data[:4]) != b"\x28\xb5\x2f\xfd":
        return None
    flags = data[4]
    is_single = flags >> 5 & 1
    at = 5 + (0 if is_single else 1) + (0, 1, 2, 4)[flags & 3]
    length = (1 if is_single else 0, 2, 4, 8)[flags >> 6]
    if not length or len(data) < at + length:
        return None
    return int.from_bytes(data[at:at + length], "little") + (256 if length == 2 else 0)


def _header_nbytes(codec: str, data: memoryview) -> int | None:
    """Decoded bytes as the stream itself says; None where it does not."""
    if codec == "blosc" and len(data) >= 16:
        return int(struct.unpack_from("<I", data, 4)[0])
    if codec == "lz4" and len(data) >= 4:
        return int(struct.unpack_from("<I", data)[0])
    return _zstd_nbytes(data) if codec == "zstd" else None


def _flat(obj: Any, dtype: str) -> Tensor:
    """The caller's memory as one axis of a type."""
    tensor = as_tensor(obj, 0)[0]
    itemsize = np.dtype(dtype).itemsize
    if not tensor.contiguous or tensor.nbytes % itemsize:
        raise ShapeError(f"out is not contiguous, or its {tensor.nbytes} bytes are no {dtype}")
    return _ext.wrap(Tensor, tensor.ptr, tensor.device_id, (tensor.nbytes // itemsize,), None,
                     _dtypes.from_numpy(dtype)[0], itemsize, tensor.readonly, tensor)


def _type_of(configs: Sequence[Mapping[str, Any]]) -> str:
    """Of what a chain decodes to: filters say it, compressors make bytes."""
    first = configs[0]
    if first["id"] == "packbits":
        return "|b1"
    name = "decode_dtype" if first["id"] == "astype" else "dtype"
    return str(np.dtype(first.get(name, "u1")).str)


class Codec(_Base):  # type: ignore[misc]  # numcodecs has no types
    """A codec of numcodecs, or a chain of them, whose decoder is headrace's.

    config: numcodecs' configuration with "id", or a list of them in the order of encoding.
    device: where results go, as in hr.open. dtype: of results, where the configurations do
    not say it.
    """

    codec_id = "headrace"

    def __init__(self, config: Mapping[str, Any] | Sequence[Mapping[str, Any]],
                 device: Any = None, dtype: Any = None) -> None:
        given = [config] if isinstance(config, Mapping) else list(config or [])
        if not all(isinstance(part, Mapping) for part in given):
            raise ArgumentError(f"a configuration is a dict, or a list of them, not {config!r}")
        chain = [dict(part) for part in given]
        for part in chain:
            name = str(part.get("id", ""))
            part["id"] = name.removeprefix(_PREFIX)
            if part["id"] not in COMPRESSORS + FILTERS:
                raise ArgumentError(f"no codec {name!r}: {', '.join(COMPRESSORS + FILTERS)}")
        if not chain:
            raise ArgumentError("a chain has at least one codec")
        self._chain, self._device = chain, device
        self._dtype = _type_of(chain) if dtype is None else np.dtype(dtype).str
        _config.parse_device(device)

    def get_config(self) -> dict[str, Any]:
        """As in numcodecs, under the id of this class; a chain has none."""
        if len(self._chain) != 1:
            raise ArgumentError("a chain of codecs has no one configuration")
        config = {**self._chain[0], "id": _PREFIX + self._chain[0]["id"]}
        return config if self._device is None else {**config, "device": self._device}

    def encode(self, buf: Any) -> Any:
        """numcodecs' encoder, on the host."""
        data: Any = np.asarray(buf if isinstance(buf, np.ndarray) else _streams.on_host(buf))
        for config in self._chain:
            data = numcodecs.get_codec(dict(config)).encode(data)
        return data

    def decode(self, buf: Any, out: Any = None, *, nbytes: int | None = None) -> Any:
        """Decode a stream in host or GPU memory: kernels decode it where it is, but its bytes are
        copied to the host, too, which looks at the headers.

        out: memory of any framework that is filled, and is the result. nbytes: decoded
        bytes; without out and nbytes the header is asked, and numcodecs decodes on the host
        what has none (an error where strict). Gives an array of NumPy or CuPy with one axis.
        Raises DataError for streams that are wrong or of another size.
        """
        if out is not None:
            return self.submit([buf], out=[out]).result()[0]
        return self.decode_batch([buf], nbytes)[0]

    def decode_batch(self, bufs: Iterable[Any], nbytes: int | Sequence[int] | None = None) -> list[Any]:
        """Decode many streams in one call; nbytes: decoded bytes of all, or of each. The results
        are parts of one allocation."""
        streams = Streams(bufs)
        sizes = self._sizes(streams, nbytes)
        if None in sizes:
            return self._without_size(streams.data)
        future = self._start(streams, [int(size or 0) for size in sizes], None, None, as_one=True)
        return future.result()  # type: ignore[no-any-return]

    def submit(self, bufs: Iterable[Any], nbytes: int | Sequence[int] | None = None, *,
               out: Sequence[Any] | None = None, stream: Any = None) -> Future:
        """Begin to decode many streams; the future gives what decode_batch does, or `out`,
        memory for each. result_on(stream) gives it without waiting for the GPU. stream: the
        decoding is ordered after what it holds now.

        Raises ArgumentError where the headers do not say sizes that are not given.
        """
        streams = Streams(bufs)
        if out is not None:
            nbytes = [_flat(each, self._dtype).nbytes for each in out]
        sizes = self._sizes(streams, nbytes)
        known = [size for size in sizes if size is not None]
        if len(known) < len(sizes):
            raise ArgumentError("streams without a size: give nbytes or out")
        return self._start(streams, known, out, stream)

    def _sizes(self, streams: Streams, nbytes: int | Sequence[int] | None) -> list[int | None]:
        """Decoded bytes of each, as given or as the headers say."""
        n = len(streams.data)
        sizes: list[int | None] = list(nbytes) if isinstance(nbytes, Sequence) else [nbytes] * n
        if len(sizes) != n:
            raise ArgumentError(f"{len(sizes)} sizes for {n} streams")
        if len(self._chain) == 1:
            for i, (size, stream) in enumerate(zip(sizes, streams.data)):
                if size is None:
                    sizes[i] = _header_nbytes(self._chain[0]["id"], memoryview(stream))
        return sizes

    def _without_size(self, data: Sequence[Any]) -> list[Any]:
        device = _config.parse_device(self._device)
        if device != HOST and _config.config.get().strict:
            raise StrictError("streams without a size are decoded on the host: give out= or nbytes=")
        results = []
        for stream in data:
            decoded: Any = stream
            try:
                for config in reversed(self._chain):
                    decoded = numcodecs.get_codec(dict(config)).decode(decoded)
            except Exception as error:
                raise DataError(f"{self._chain[-1]['id']}: {error}") from error
            array = np.frombuffer(decoded, self._dtype)
            if device != HOST:
                import cupy
                with cupy.cuda.Device(device[1]):
                    array = cupy.asarray(array)
            results.append(array)
        return results

    def _empty(self, n: int) -> Any:
        device = _config.parse_device(self._device)
        if device == HOST:
            return np.empty(n, self._dtype)
        import cupy
        with cupy.cuda.Device(device[1]):
            return cupy.empty(n, np.dtype(self._dtype).newbyteorder("="))

    def _start(self, streams: Streams, sizes: Sequence[int], out: Sequence[Any] | None,
               stream: Any, *, as_one: bool = False) -> Future:
        """Streams of one size are the chunks of an array. Without out, all go into one array.
        as_one: errors of single streams are not asked for, which makes the plan short."""
        groups = collections.defaultdict[int, list[int]](list)
        for i, size in enumerate(sizes):
            groups[size].append(i)
        order = list(itertools.chain.from_iterable(groups.values()))
        context = _config.context()
        store = streams.store(context, order)
        wants, first = [], 0
        for size, numbers in groups.items():
            array = _streams.array(store, context, first, self._document(size, len(numbers)))
            n = array.shape[0] // len(numbers)
            keys = [...] if as_one else _select.boxes(n * np.arange(len(numbers))[:, None], (n,))
            wants += _read.wants(array, keys, None, False)
            first += len(numbers)
        itemsize = np.dtype(self._dtype).itemsize
        into: Any = self._empty(sum(sizes) // itemsize) if out is None else \
            [_flat(out[i], self._dtype) for i in order]
        future = _read.submit(wants, lambda results: results, out=into, stream=stream,
                              may_cast=False, devices=[HOST] * len(wants))

        def cut(_: Any) -> list[Any]:
            ends = dict(zip(order, itertools.accumulate(sizes[i] // itemsize for i in order)))
            return [into[ends[i] - size // itemsize:ends[i]] for i, size in enumerate(sizes)]

        future._finish = cut if out is None else lambda _: out
        if not as_one:
            future._requests = np.argsort(order).tolist()
        return future

    def _document(self, nbytes: int, nstreams: int) -> bytes:
        """Metadata of an array whose chunks are streams."""
        itemsize = np.dtype(self._dtype).itemsize
        n = -(-nbytes // itemsize)
        if nbytes < 0 or n * itemsize != nbytes:
            raise ShapeError(f"{nbytes} bytes are no number of {self._dtype}")
        filters = [c for c in self._chain if c["id"] in FILTERS]
        compressors = [c for c in self._chain if c["id"] in COMPRESSORS]
        if self._chain != filters + compressors[:1]:
            raise ArgumentError("a chain is filters, and then a compressor at most")
        return json.dumps({
            "zarr_format": 2, "shape": [n * nstreams], "chunks": [max(n, 1)],
            "dtype": self._dtype, "compressor": compressors[0] if compressors else None,
            "filters": filters or None, "fill_value": None, "order": "C"}).encode()


def get_codec(config: Mapping[str, Any] | Sequence[Mapping[str, Any]], device: Any = None,
              dtype: Any = None) -> Codec:
    """The codec, or chain, for numcodecs' configuration, whose results go to a device."""
    return Codec(config, device, dtype)


def _named(name: str) -> type[Codec]:
    """The class that numcodecs' registry wants for an id."""

    def init(self: Codec, device: Any = None, **config: Any) -> None:
        Codec.__init__(self, {"id": name, **config}, device)

    return type(name, (Codec,), {
        "__init__": init, "codec_id": _PREFIX + name, "__module__": __name__,
        "__doc__": f"numcodecs' {name}, decoded by headrace."})


_CLASSES = {name: _named(name) for name in COMPRESSORS + FILTERS}


def __getattr__(name: str) -> Any:
    """headrace.numcodecs.zstd and so on, for entry points."""
    if name in _CLASSES:
        return _CLASSES[name]
    raise AttributeError(name)


def register(*names: str) -> None:
    """Let numcodecs.get_codec give these codecs for numcodecs' own ids, too: all, or by name."""
    for name in names or COMPRESSORS + FILTERS:
        numcodecs.register_codec(_CLASSES[name], name)
