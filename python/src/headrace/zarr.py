"""A codec pipeline for zarr-python: its arrays, read by headrace.

SPDX-License-Identifier: Apache-2.0

    zarr.config.set({"codec_pipeline.path": "headrace.zarr.Pipeline"})
    # or ZARR_CODEC_PIPELINE__PATH=headrace.zarr.Pipeline

Whatever zarr.Array is asked for is read in one batch, each chunk once, on all cores, into
host memory or, under zarr.config.enable_gpu(), into GPU memory. Files of a LocalStore are
read by the library; other stores hand their bytes over, parts of shards when the library
asks for them. Writing is zarr-python's own.

What headrace does not read falls back to zarr-python, and stats() says how often and why;
with zarr.config.set({"codec_pipeline.strict": True}) it is an error instead.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from zarr.core.array import create_codec_pipeline
from zarr.core.buffer import cpu
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.common import concurrent_map
from zarr.core.config import config as zarr_config
from zarr.core.sync import sync
from zarr.registry import register_pipeline
from zarr.storage import LocalStore, StorePath

from . import _config, _dtypes, _ext, _stores
from ._errors import Error, MetadataError, StrictError, TooLargeError, UnsupportedError
from ._future import Future
from ._tensor import Tensor, as_tensor
from ._zarr_items import ItemContext, chosen, read_items, write_items
from ._zarr_rows import Merged, Unmergeable, merge

__all__ = ["ItemContext", "Pipeline", "getitems", "reset_stats", "setitems", "stats"]

_INLINE_NBYTES = 1 << 18  # so little is waited for at once: quicker than the event loop
_counts: collections.Counter[str] = collections.Counter()
_reasons: collections.Counter[str] = collections.Counter()


def stats() -> dict[str, Any]:
    """How often arrays were read from files ("native"), from bytes of another store
    ("callback"), or by zarr-python ("fallback", a count for each reason)."""
    return {"native": _counts["native"], "callback": _counts["callback"],
            "fallback": dict(_reasons)}


def reset_stats() -> None:
    """Begin counting anew."""
    _counts.clear()
    _reasons.clear()


class _NotHere(Exception):
    """Why zarr-python has to do it."""


class _Source:
    """The array that a pipeline was made for: its metadata, and nodes opened by them."""

    def __init__(self, metadata: Any, store: Any) -> None:
        self.metadata, self.store = metadata, store
        self._lock = threading.Lock()
        self._opened: tuple[Any, tuple[_ext.Node, Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"metadata": self.metadata, "store": self.store}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def ndim(self) -> int:
        return len(self.metadata.shape)

    def document(self, reach: Sequence[int]) -> tuple[str, bytes]:
        """Name and text of the metadata; the array may have grown since, up to `reach`."""
        documents = self.metadata.to_buffer_dict(cpu.buffer_prototype)
        name = "zarr.json" if self.metadata.zarr_format == 3 else ".zarray"
        content = json.loads(documents[name].to_bytes())
        content["shape"] = [max(n, m) for n, m in zip(content["shape"], reach)]
        return name, json.dumps(content).encode()

    def local_node(self, path: str, reach: Sequence[int]) -> _ext.Node:
        """The array in its directory. Opened again when it has grown, or when another
        directory has taken the place."""
        root = os.fspath(self.store.root)
        try:
            about = os.stat(root)
        except OSError as error:
            raise _NotHere(f"no directory: {error}") from None
        context = _config.context()
        place = (about.st_dev, about.st_ino, path, id(context))
        with self._lock:
            if self._opened is not None and self._opened[0] == place:
                node, shape = self._opened[1]
                if all(n <= m for n, m in zip(reach, shape)):
                    return node
            node = self._node(_ext.directory_store(context, root), path, reach)
            self._opened = (place, (node, node.describe()["shape"]))
            return node

    def _node(self, store: _ext.Store, path: str, reach: Sequence[int]) -> _ext.Node:
        name, text = self.document(reach)
        store.set(f"{path}/{name}" if path else name, text)
        return _ext.open_store(store, path, 2, self.metadata.zarr_format)

    def lazy_node(self, adapter: _stores.ZarrStore, path: str,
                  reach: Sequence[int]) -> _ext.Node:
        """The array over a store that is asked for chunks, or parts of them, as they are read."""
        store = _stores.handle(_config.context(), self.store, adapter, False)
        return self._node(store, path, reach)

    def loaded_node(self, reach: Sequence[int], values: dict[str, Any]) -> _ext.Node:
        """The array over chunks in memory."""
        store = _ext.memory_store(_config.context())
        for key, value in values.items():
            store.set(key, value)
        return self._node(store, "", reach)


def _encoding(source: _Source) -> tuple[str, int]:
    """How chunk keys are written: the separator, and how many parts of a path they are."""
    metadata = source.metadata
    nparts = max(source.ndim, 1)
    if metadata.zarr_format == 2:
        separator = metadata.dimension_separator
    else:
        encoding = metadata.chunk_key_encoding
        if encoding.name not in ("default", "v2"):
            raise _NotHere(f"chunk keys of the kind {encoding.name}")
        separator = encoding.separator
        nparts = source.ndim + 1 if encoding.name == "default" else nparts
    return separator, nparts if separator == "/" else 1


def _path_of_array(source: _Source, path: str) -> str:
    """What comes before the key in the path of a chunk."""
    _, nparts = _encoding(source)
    parts = path.rsplit("/", nparts)
    return parts[0] if len(parts) > nparts else ""


def _coordinates(key: str, separator: str, ndim: int) -> tuple[int, ...]:
    """Numbers of a chunk, of its key."""
    return tuple(map(int, key.split(separator)[-ndim:])) if ndim else ()


class Pipeline(BatchedCodecPipeline):
    """Reads with headrace, writes as zarr-python does."""

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Any) -> Pipeline:
        """The pipeline of an array; zarr-python calls it."""
        codecs: Any = create_codec_pipeline(array_metadata)
        with warnings.catch_warnings():  # which were given just now
            warnings.simplefilter("ignore")
            self = cls.from_codecs(tuple(codecs))
        return self._with_source(_Source(array_metadata, store))

    def _with_source(self, source: _Source | None) -> Pipeline:
        object.__setattr__(self, "_source", source)
        return self

    def evolve_from_array_spec(self, array_spec: Any) -> Pipeline:
        evolved = super().evolve_from_array_spec(array_spec)
        return evolved._with_source(getattr(self, "_source", None))

    async def read(self, batch_info: Iterable[Any], out: Any,
                   drop_axes: tuple[int, ...] = ()) -> Any:
        rows = list(batch_info)
        try:
            return await self._read(rows, out, drop_axes)
        except (_NotHere, Unmergeable) as reason:
            if zarr_config.get("codec_pipeline.strict", False):
                raise StrictError(f"headrace does not read this: {reason}") from None
            _reasons[str(reason)] += 1
        return await super().read(rows, out, drop_axes)

    async def _read(self, rows: list[Any], out: Any, drop_axes: tuple[int, ...]) -> Any:
        source: _Source | None = getattr(self, "_source", None)
        if source is None:
            raise _NotHere("chunks inside a shard, read by zarr-python")
        if rows and not isinstance(rows[0][0], StorePath):
            raise _NotHere("chunks that lie in no store")
        path = _path_of_array(source, rows[0][0].path) if rows else ""
        skip = len(path) + 1 if path else 0
        keys = [row[0].path[skip:] for row in rows]
        array = out.as_ndarray_like()
        separator, ndim = _encoding(source)[0], source.ndim
        merged = merge([(_coordinates(key, separator, ndim), row[2], row[3])
                        for key, row in zip(keys, rows)],
                       _origins(source), array.shape, drop_axes)
        if is_local := isinstance(source.store, LocalStore):
            absent = await _from_files(source, path, rows, merged, array)
        elif _is_sharded(source.metadata) and not all(row[4] for row in rows):
            absent = await _in_parts(source, path, merged, array)
        else:
            absent = await _from_values(source, rows, keys, merged, array)
        _counts["native" if is_local else "callback"] += 1
        if not absent:
            return ({"status": "present"},) * len(rows)
        return tuple({"status": "missing" if row[0].path in absent else "present"}
                     for row in rows)


@contextlib.contextmanager
def _given_up() -> Iterator[None]:
    """What the library does not open is for zarr-python."""
    try:
        yield
    except (UnsupportedError, MetadataError, TooLargeError) as error:
        raise _NotHere(str(error)) from None


async def _from_files(source: _Source, path: str, rows: list[Any], merged: Merged,
                      array: Any) -> set[str]:
    """Read, by the library alone; paths of chunks that are absent."""
    with _given_up():
        node = source.local_node(path, merged.reach)
    root = os.fspath(source.store.root)
    if not await _deliver(node, merged, array):
        return set()
    return {row[0].path for row in rows if not os.path.exists(os.path.join(root, row[0].path))}


async def _in_parts(source: _Source, path: str, merged: Merged, array: Any) -> set[str]:
    """The same of a store that the library asks for what it needs of each shard."""
    adapter = _stores.ZarrStore(source.store, asyncio.get_running_loop())
    try:
        with _given_up():
            node = source.lazy_node(adapter, path, merged.reach)
        await _deliver(node, merged, array, may_block=False)
    finally:
        adapter.close()  # what is given up shall not wait for this loop, which waits for it
    return adapter.absent


async def _from_values(source: _Source, rows: list[Any], keys: list[str], merged: Merged,
                       array: Any) -> set[str]:
    """The same of whole chunks, which are fetched first, as many at once as zarr-python has
    it."""
    values = await _fetch(rows, keys)
    with _given_up():
        node = source.loaded_node(merged.reach, values)
    await _deliver(node, merged, array)
    return {row[0].path for row, key in zip(rows, keys) if key not in values}


def _origins(source: _Source) -> Any:
    """Shape of the chunks, which places them; only regular grids have one."""
    metadata = source.metadata
    shape = metadata.chunks if metadata.zarr_format == 2 else \
        getattr(metadata.chunk_grid, "chunk_shape", None)
    if shape is None:
        raise _NotHere("a grid of chunks that is not regular")
    return shape


async def _fetch(rows: list[Any], keys: list[str]) -> dict[str, Any]:
    """Encoded chunks from any store, many at once."""
    wanted = dict(zip(keys, (row[0] for row in rows)))
    buffers = await concurrent_map(
        [(getter,) for getter in wanted.values()],
        lambda getter: getter.get(cpu.buffer_prototype), zarr_config.get("async.concurrency"))
    return {key: np.ascontiguousarray(buffer.as_numpy_array())
            for key, buffer in zip(wanted, buffers) if buffer is not None}


def _is_sharded(metadata: Any) -> bool:
    return any(type(codec).__name__ == "ShardingCodec" for codec in
               getattr(metadata, "codecs", ()))


async def _deliver(node: _ext.Node, merged: Merged, array: Any, may_block: bool = True) -> int:
    """Read into the array; how many chunks were absent, inner ones of shards too."""
    info = node.describe()
    selection = _ext.selection(node, merged.kind, merged.key)
    is_vlen = info["kind"] >= _dtypes.VLEN_UTF8
    if is_vlen:
        tensor = _ext.empty(Tensor, _config.context(), _config.HOST, selection.shapes[0],
                            info["dtype"], info["itemsize"])
    else:
        tensor = _destination(info, array)
    batch = _ext.submit(_config.context(), ((node, selection, tensor, False, None),), 0,
                        *_config.config.given(strict=False).reading)
    if may_block and tensor.nbytes <= _INLINE_NBYTES:
        batch.wait(-1)
    else:
        await Future(batch, lambda _: None, 1, None)
    if is_vlen:
        if info["kind"] == _dtypes.VLEN_ARRAY:
            raise _NotHere("elements that are arrays")
        items = batch.items(tensor, info["kind"] == _dtypes.VLEN_UTF8)
        flat = np.empty(len(items), array.dtype)
        for i, item in enumerate(items):
            flat[i] = item
        array[...] = flat.reshape(array.shape)
    return batch.stats()["nchunks_missing"]


def _destination(info: dict[str, Any], array: Any) -> Tensor:
    """zarr-python's memory, in the types of the library."""
    own = _dtypes.to_numpy(info["dtype"])
    given = np.dtype(array.dtype)
    if given.newbyteorder("=") != own.newbyteorder("="):
        raise _NotHere(f"elements of {own} as {given}")
    if own.fields is not None and isinstance(array, np.ndarray):
        if given != own:
            raise _NotHere(f"elements of {own} as {given}")
        return _ext.wrap(Tensor, array.__array_interface__["data"][0], _config.HOST, array.shape,
                         array.strides, info["dtype"], own.itemsize, False, array)
    try:
        return as_tensor(array, 0)[0]
    except (Error, BufferError) as error:
        raise _NotHere(f"memory of the kind {type(array).__name__}: {error}") from None


def getitems(array: Any, contexts: Mapping[tuple[int, ...], ItemContext | None]) -> dict[Any, Any]:
    """Chunks of a zarr.Array, by their numbers, in one batch: each where its context says.

        getitems(z, {(0, 1): ItemContext(out=x), (2, 0): ItemContext(device="cuda"), (2, 1): None})

    Of sharded arrays the chunks are the shards. Works with every store; returns what was
    read, under the same keys. Raises what headrace raises: there is no falling back.
    """
    items = chosen(contexts)
    source = _Source(array.metadata, array.store)
    if isinstance(source.store, LocalStore):
        node = source.local_node(array.path, source.metadata.shape)
    else:
        keys = [source.metadata.encode_chunk_key(numbers) for numbers in items]
        rows = [(array.async_array.store_path / key, None, None, None, True) for key in keys]
        node = source.loaded_node(source.metadata.shape, sync(_fetch(rows, keys)))
    return read_items(node, _origins(source), items)


def setitems(array: Any, values: Mapping[tuple[int, ...], Any],
             contexts: Mapping[tuple[int, ...], ItemContext | None] | None = None) -> None:
    """Write chunks of a zarr.Array, by their numbers: the values for each, or for the part of
    it that the selection of its context says (out, dtype and device are for reading).

        setitems(z, {(0, 1): x, (2, 0): 7}, {(2, 0): ItemContext(selection=np.s_[:3, 1])})

    Values are arrays in any memory that broadcast to the chunk as it lies in the array, or to
    the part. Numbers, selections and shapes are checked before anything is written. The
    writing is zarr-python's, through any store, many chunks at once: of a chunk that is
    written in part the rest is read first; if one fails, others may have been written.
    """
    writes = write_items(array, _origins(_Source(array.metadata, array.store)), values,
                         {} if contexts is None else contexts)
    sync(concurrent_map(writes, array.async_array.setitem, zarr_config.get("async.concurrency")))


register_pipeline(Pipeline)
