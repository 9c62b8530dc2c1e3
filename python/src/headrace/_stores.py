"""Stores that are objects of Python. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import contextlib
import operator
import os
import queue
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from . import _config, _ext
from ._errors import ArgumentError, CancelledError

_T = TypeVar("_T")
_SLICE = 0.05  # seconds between looks whether anybody still wants it
_DOCUMENTS = {"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"}


def _is_whole(key: str, in_parts: bool | None) -> bool:
    """Metadata, and chunks that are one value each; not shards and files."""
    return key.rpartition("/")[2] in _DOCUMENTS if in_parts is None else not in_parts


_loops: set[asyncio.AbstractEventLoop] = set()  # of zarr-python, in other threads
_idle: collections.deque[queue.SimpleQueue[Any]] = collections.deque()


def _serve(calls: queue.SimpleQueue[Any]) -> None:
    _ext.stay_inside()
    while True:
        future, function, args = calls.get()
        try:
            future.set_result(function(*args))
        except BaseException as error:  # told to who waits
            future.set_exception(error)
        del future, function, args
        _idle.append(calls)


def _start(function: Callable[..., _T], *args: Any) -> concurrent.futures.Future[_T]:
    """Call it in a thread that can be left alone should it never return."""
    future: concurrent.futures.Future[_T] = concurrent.futures.Future()
    try:
        calls = _idle.pop()
    except IndexError:
        calls = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(calls,), daemon=True).start()
    calls.put((future, function, args))
    return future


def _wait(future: concurrent.futures.Future[_T], reading: Any) -> _T:
    """Its result, unless nobody wants that any more."""
    while True:
        try:
            return future.result(_SLICE)
        except TimeoutError:
            if future.done():  # by now, or it is what the store raised
                return future.result()
            if _ext.is_given_up(reading):
                raise CancelledError("the read was cancelled") from None


class ObjectStore:
    """What the extension calls, over an object with get(key) and perhaps more."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._has_parts = hasattr(store, "size") and hasattr(store, "read")
        self._has_versions = hasattr(store, "version")

    def _call(self, function: Callable[..., Any], *args: Any, reading: Any = None) -> Any:
        if type(self._store) is dict:  # which answers at once
            return function(*args)
        return _wait(_start(function, *args), reading)

    def open(self, key: str, in_parts: bool | None, reading: Any) -> tuple[Any, int] | None:
        return self._call(self._open, key, in_parts, reading=reading)  # type: ignore[no-any-return]

    def _open(self, key: str, in_parts: bool | None) -> tuple[Any, int] | None:
        # The version first: should the value change, it is older than what is read. Bytes that
        # are kept need not be asked for; metadata is not kept.
        version = 0
        if self._has_versions and in_parts is not None:
            version = operator.index(self._store.version(key))
        if self._has_parts and (version or not _is_whole(key, in_parts)):
            size = self._store.size(key)
            return None if size is None else (operator.index(size), version)
        value = self._store.get(key)
        return None if value is None else (memoryview(value), version)

    def read(self, key: str, offset: int, nbytes: int, reading: Any) -> Any:
        return self._call(self._store.read, key, offset, nbytes, reading=reading)

    def list(self, prefix: str) -> Iterable[tuple[str, bool]]:
        return self._call(self._list, prefix)  # type: ignore[no-any-return]

    def _list(self, prefix: str) -> Iterable[tuple[str, bool]]:
        if hasattr(self._store, "list"):
            return list(self._store.list(prefix))
        start = prefix + "/" if prefix else ""
        parts = (key[len(start):].partition("/") for key in self._store if key.startswith(start))
        return {(name, bool(slash)) for name, slash, _ in parts}


class ZarrStore:
    """What the extension calls, over a store of zarr-python, whose coroutines run on a loop
    in another thread than those that call. absent: keys of chunks that are not there."""

    def __init__(self, store: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._store, self._loop = store, loop
        self.absent: set[str] = set()
        self._lock = threading.Lock()
        self._running: set[concurrent.futures.Future[Any]] | None = set()

    def close(self) -> None:
        """Let nobody wait for the loop any more: it may be about to wait itself."""
        with self._lock:
            running, self._running = self._running or set(), None
        for future in running:
            future.cancel()

    def _run(self, coroutine: Coroutine[Any, Any, Any], reading: Any = None) -> Any:
        with self._lock:
            if self._running is None or asyncio._get_running_loop() is self._loop:
                coroutine.close()
                raise (CancelledError("the read was cancelled") if self._running is None else
                       ArgumentError("the loop cannot wait for itself"))
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            self._running.add(future)
        try:
            return _wait(future, reading)
        finally:
            future.cancel()  # where nobody waits for it any more
            with self._lock:
                (self._running or set()).discard(future)

    def _get(self, key: str, reading: Any, byte_range: Any = None) -> Any:
        from zarr.core.buffer import cpu

        buffer = self._run(self._store.get(key, cpu.buffer_prototype, byte_range), reading)
        return None if buffer is None else memoryview(buffer.as_numpy_array())

    def open(self, key: str, in_parts: bool | None, reading: Any) -> tuple[Any, int] | None:
        try:
            if in_parts is None:  # nobody may have used the store yet
                self._run(self._store._ensure_open())
            value = self._get(key, reading) if _is_whole(key, in_parts) else \
                self._run(self._store.getsize(key), reading)
        except FileNotFoundError:
            value = None
        if value is None:
            self.absent.add(key)
            return None
        return value, 0

    def read(self, key: str, offset: int, nbytes: int, reading: Any) -> Any:
        from zarr.abc.store import RangeByteRequest

        part = self._get(key, reading, RangeByteRequest(offset, offset + nbytes))
        return b"" if part is None else part

    def list(self, prefix: str) -> Iterable[tuple[str, bool]]:
        async def names() -> set[str]:
            return {name.strip("/") async for name in self._store.list_dir(prefix)}

        # Whether there is something below a name is not said.
        return [(name, True) for name in self._run(names()) - _DOCUMENTS]


def _is_zarr_store(store: Any) -> bool:
    return "zarr" in sys.modules and isinstance(store, sys.modules["zarr"].abc.store.Store)


def directory_of(store: Any) -> str | None:
    """Of a zarr-python store that is one: the library reads it without Python."""
    if not _is_zarr_store(store):
        return None
    from zarr.storage import LocalStore

    return os.fspath(store.root) if isinstance(store, LocalStore) else None


def _settle() -> None:
    """What was cancelled has ended."""

    async def settle() -> None:
        cancelled = {task for task in asyncio.all_tasks() if task.cancelling()}
        if cancelled:
            await asyncio.wait(cancelled, timeout=1)

    for loop in [loop for loop in _loops if loop.is_running()]:
        with contextlib.suppress(TimeoutError):  # it may be stuck itself
            asyncio.run_coroutine_threadsafe(settle(), loop).result(2)


def _forget_threads() -> None:
    """They are the parent's."""
    _idle.clear()
    _loops.clear()


_config.after_calls.append(_settle)
os.register_at_fork(after_in_child=_forget_threads)


def handle(context: _ext.Context, store: Any, adapter: Any, can_list: bool) -> _ext.Store:
    """The store for the library; what is set in it goes before what the adapter has."""
    _config.end_calls_in_time()
    return _ext.python_store(context, adapter, f"python:{type(store).__name__}", can_list)


def open_store(context: _ext.Context, store: Any) -> _ext.Store:
    """A handle for a mapping, an object with get, or a store of zarr-python."""
    if _is_zarr_store(store):
        from zarr.core.sync import _get_loop

        loop = _get_loop()
        _loops.add(loop)
        return handle(context, store, ZarrStore(store, loop), store.supports_listing)
    if not callable(getattr(store, "get", None)):
        raise TypeError(f"neither a path nor a store: {type(store).__name__}")
    can_list = hasattr(store, "list") or isinstance(store, Mapping)
    return handle(context, store, ObjectStore(store), can_list)
