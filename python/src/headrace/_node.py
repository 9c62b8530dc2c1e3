"""Arrays, groups and stores. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _cf, _config, _dtypes, _ext, _read, _select, _stores
from ._errors import ArgumentError, NotFoundError
from ._future import Future, Progress

_CONSOLIDATED = {None: 0, True: 1, False: 2}


class MemoryStore:
    """A store in memory: keys to bytes.

        store = hr.MemoryStore({"zarr.json": b"..."})
        store["c/0"] = b"..."
        hr.open(store)
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._context = _config.context()
        self._store = _ext.memory_store(self._context)
        for key, value in (values or {}).items():
            self[key] = value

    def __setitem__(self, key: str, value: Any) -> None:
        self._store.set(key, value)


class _Node:
    """What arrays and groups have in common."""

    def __init__(self, node: _ext.Node, info: dict[str, Any], context: _ext.Context,
                 device: tuple[int, int], source: tuple[Any, ...]) -> None:
        self._node, self._info, self._context = node, info, context
        self._device, self._source = device, source

    @functools.cached_property
    def attrs(self) -> dict[str, Any]:
        """The attributes."""
        return dict(json.loads(self._info["attributes"]))

    @property
    def url(self) -> str:
        """Of the store, then the path inside it."""
        return str(self._info["url"])

    @property
    def format(self) -> str:
        """"zarr2", "zarr3", "tiff" or "bigtiff"."""
        return str(self._info["format"])

    @property
    def device(self) -> str:
        """Where results go."""
        return _config.device_text(self._device)

    def to_device(self, device: Any) -> Any:
        """The same array or group with results going elsewhere."""
        return type(self)(self._node, self._info, self._context, _config.parse_device(device),
                          self._source)

    def __reduce__(self) -> tuple[Any, ...]:
        """By place and options: another process opens it anew."""
        url, path, consolidated, zarr_format = self._source
        if isinstance(url, MemoryStore):
            raise TypeError("what lies in a store in memory cannot be pickled")
        return (_reopen, (url, path, consolidated, zarr_format, self.device))


def _reopen(url: str, path: str, consolidated: bool | None, zarr_format: int | None,
            device: str) -> Any:
    return open(url, device, path=path, consolidated=consolidated, zarr_format=zarr_format)


class _Indexer:
    """array.oindex and its like."""

    __slots__ = ("_array", "_maker")

    def __init__(self, array: Array, maker: Any) -> None:
        self._array, self._maker = array, maker

    def __getitem__(self, key: Any) -> Any:
        return self._array[self._maker[key]]


class Array(_Node):
    """A chunked array. Indexing reads: a[1:5, ::-2, ..., 3] is a Tensor.

    An index is what NumPy takes as a basic one, a boolean array of the same shape, or one
    with a single list; oindex, vindex and blocks take the rest. Elements of variable
    length (strings) come as NumPy arrays, in host memory.
    """

    @functools.cached_property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return tuple(self._info["shape"])

    @functools.cached_property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of the elements."""
        return _dtypes.to_numpy(self._info["dtype"])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self._info["itemsize"])

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, decoded."""
        return self.size * self.itemsize

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of the innermost chunks (the longest, where lengths vary)."""
        return tuple(self._info["chunks"])

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of the outermost chunks, or None without shards."""
        shards = self._info["shards"]
        return None if shards is None else tuple(shards)

    @property
    def grid_shape(self) -> tuple[int, ...]:
        """Number of innermost chunks along each axis."""
        return tuple(self._info["grid"])

    @property
    def dims(self) -> tuple[str | None, ...] | None:
        """Names of the axes, where there are some."""
        dims = self._info["dims"]
        return None if dims is None else tuple(dims)

    @property
    def codecs(self) -> Any:
        """The codecs as the metadata has them."""
        return json.loads(self._info["codecs"])

    @functools.cached_property
    def fill_value(self) -> Any:
        """What elements of absent chunks are; None where format 2 says null."""
        info = self._info
        if info["fill_value_json"] == "null":
            return None
        if info["kind"] >= _dtypes.VLEN_UTF8:
            return json.loads(info["fill_value_json"])
        stored = np.frombuffer(info["fill_value"], self.dtype.newbyteorder("<"))
        return stored.astype(self.dtype)[0]

    @property
    def oindex(self) -> _Indexer:
        """a.oindex[[3, 1], :, 5]: each axis by itself, the outer product."""
        return _Indexer(self, _select.oindex)

    @property
    def vindex(self) -> _Indexer:
        """a.vindex[rows, columns]: single elements by coordinates; or a mask."""
        return _Indexer(self, _select.vindex)

    @property
    def blocks(self) -> _Indexer:
        """a.blocks[0, 1:3]: whole innermost chunks by their number."""
        return _Indexer(self, _select.blocks)

    def chunk_extent(self, axis: int, i: int) -> tuple[int, int]:
        """(first element, number of elements) of innermost chunk i along an axis."""
        return self._node.chunk_extent(axis, i)

    def __getitem__(self, key: Any) -> Any:
        return _read.get(self, key, self._device)

    def read(self, selections: Any = ..., out: Any = None, *, axis: int | None = None,
             stream: Any = None, dtype: Any = None, device: Any = None,
             mask_and_scale: bool | _cf.Packing = False, strict: bool | None = None,
             on_error: str | None = None, progress: Progress | None = None) -> Future:
        """Start reading one selection (the future gives a Tensor), or a list of them, or
        hr.boxes (a list).

        With out=, an array for one selection or what read_batch takes for a list, that is
        filled and is the result. The rest is as in read_batch.
        """
        is_one = not isinstance(selections, (list, _select.Boxes))
        wants = [_read.want(self, selections, dtype, mask_and_scale)] if is_one else \
            _read.wants(self, selections, dtype, mask_and_scale)
        where = self._device if device is None else _config.parse_device(device)
        future = _read.submit(
            wants, (lambda results: results[0]) if is_one else (lambda results: results),
            out=[out] if is_one and out is not None and axis is None else out, stream=stream,
            may_cast=dtype is not None or bool(mask_and_scale), devices=[where] * len(wants),
            strict=strict, on_error=on_error, progress=progress, axis=axis,
            place=None if device is None else where)
        if is_one and out is not None:
            future._finish = lambda _: out
        return future

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("reading an array makes a copy")
        array = np.asarray(_read.get(self, ..., _config.HOST))
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-dimensional array")
        return self.shape[0]

    __contains__ = None  # Python would compare rows with the element: always false

    def __repr__(self) -> str:
        return (f"Array({self.url!r}, shape={self.shape}, dtype={self._info['dtype']!r}, "
                f"chunks={self.chunks}, device={self.device!r})")


class Group(_Node, Mapping[str, Any]):
    """A group: a mapping from the names of its members to arrays and groups."""

    def __getitem__(self, path: str) -> Any:
        try:
            node = self._node.open(path)
        except NotFoundError as error:
            raise KeyError(path) from error
        url, own, consolidated, zarr_format = self._source
        source = (url, f"{own}/{path}".strip("/"), consolidated, zarr_format)
        return _wrap(node, self._context, self._device, source)

    def __iter__(self) -> Iterator[str]:
        return (path for path, _ in self._node.list(False))

    def __len__(self) -> int:
        return len(self._node.list(False))

    def members(self, recursive: bool = False) -> dict[str, str]:
        """Paths of the members, in order, to "array", "group", or "unreadable" where the metadata
        say neither: to open such a member raises why."""
        return dict(self._node.list(recursive))

    def arrays(self) -> dict[str, Array]:
        """The arrays directly in it. An unreadable member may be one: raises as it does."""
        return {path: self[path] for path, kind in self._node.list(False) if kind != "group"}

    def groups(self) -> dict[str, Group]:
        """The groups directly in it. An unreadable member may be one: raises as it does."""
        return {path: self[path] for path, kind in self._node.list(False) if kind != "array"}

    def __repr__(self) -> str:
        n = len(self)
        return (f"Group({self.url!r}, {n} member{'' if n == 1 else 's'}, "
                f"device={self.device!r})")


def _wrap(node: _ext.Node, context: _ext.Context, device: tuple[int, int],
          source: tuple[Any, ...]) -> Any:
    info = node.describe()
    return (Array if info["is_array"] else Group)(node, info, context, device, source)


def open(url: Any, device: Any = None, *, path: str = "", consolidated: bool | None = None,
         zarr_format: int | None = None) -> Any:
    """Open the array or group at a path or file:// URL of a Zarr directory or a TIFF file, or
    in a store: a MemoryStore, a mapping of keys to bytes (a dict, fsspec's FSMap), a store of
    zarr-python, or an object with get(key) -> bytes, or None where the key is absent.

    Such an object may also have list(prefix) -> pairs (name, is_prefix) of the direct children,
    without which groups tell members by consolidated metadata only; and size(key) -> int or
    None, read(key, offset, nbytes) -> bytes, by which parts of shards and of TIFF files are
    read; and version(key) -> an int that is another one when the bytes may be others (0: not
    known), by which the caches keep them. All of them are called by threads, several at once;
    what they raise is a StoreError of the read, and only None says that a chunk is absent.

    device: where results go: "cpu", "cuda" (the current GPU), "cuda:1", "auto" (the GPU
    where there is one), an index, or what frameworks call a device; None: as configured.
    path: of a member. consolidated: True: only consolidated metadata; False: never; None:
    where there is some. zarr_format: 2, 3, or None for whichever is there.

    Metadata is read and checked now; no chunk is touched. Raises NotFoundError,
    MetadataError, UnsupportedError (it names the extension), StoreError.
    """
    if consolidated not in _CONSOLIDATED or zarr_format not in (None, 2, 3):
        raise ArgumentError("consolidated is None, True or False; zarr_format None, 2 or 3")
    options = (_CONSOLIDATED[consolidated], zarr_format or 0)
    where = _config.parse_device(device)
    url = _stores.directory_of(url) or url
    if isinstance(url, MemoryStore):
        context = url._context
        node = _ext.open_store(url._store, path, *options)
    elif not isinstance(url, (str, bytes, os.PathLike)):
        context = _config.context()
        node = _ext.open_store(_stores.open_store(context, url), path, *options)
    else:
        context = _config.context()
        url = os.fspath(url)
        node = _ext.open(context, url, *options)
        if path:
            node = node.open(path)
        if isinstance(url, str) and "://" not in url:
            url = os.path.abspath(url)  # a pickle may be opened elsewhere
    return _wrap(node, context, where, (url, path, consolidated, zarr_format))
