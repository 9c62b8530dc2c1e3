"""Settings, contexts and devices. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import dataclasses
import operator
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import _ext, _pools
from ._errors import ArgumentError

CPU, CUDA, SIMT = 1, 2, 3  # the library's numbers
HOST = (CPU, 0)
IO_MODES = ("buffered", "direct")  # in the order of the library's numbers
ON_ERROR = ("deliver", "fill", "stop")  # likewise


@dataclasses.dataclass(frozen=True)
class Settings:
    """What `config` holds; see there."""

    device: Any = "cpu"
    strict: bool = False
    on_error: str = "deliver"
    skip_checksums: bool = False
    host_share: Any = 0
    allocator: Any = None
    nthreads: int = 0
    scratch_nbytes: int = 0
    device_scratch_nbytes: int = 0
    index_cache_nbytes: int = 0
    metadata_max_nbytes: int = 0
    chunk_cache_nbytes: int = 0
    encoded_cache_nbytes: int = 0
    io: str = "buffered"

    @property
    def reading(self) -> tuple[bool, bool, int, int]:
        """As the extension takes them with a read; a negative share is as measured."""
        return (self.strict, self.skip_checksums,
                -1 if self.host_share == "auto" else self.host_share,
                ON_ERROR.index(self.on_error))

    @property
    def budgets(self) -> tuple[int, ...]:
        return (self.nthreads, self.scratch_nbytes, self.device_scratch_nbytes,
                self.index_cache_nbytes, self.metadata_max_nbytes,
                self.chunk_cache_nbytes, self.encoded_cache_nbytes, IO_MODES.index(self.io))


def _from_environment() -> Settings:
    env = os.environ
    strict, nthreads = env.get("HEADRACE_STRICT", ""), env.get("HEADRACE_THREADS", "") or "0"
    if not nthreads.isdecimal():
        raise ArgumentError(f"HEADRACE_THREADS is {nthreads!r}, which is no number")
    return Settings(device=env.get("HEADRACE_DEVICE") or "cpu", nthreads=int(nthreads),
                    strict=strict.lower() not in ("", "0", "false", "no", "off"))


class _Scope:
    """Settings for the body of a `with`, in this thread or task only."""

    def __init__(self, changes: dict[str, Any]) -> None:
        self._changes = changes
        self._tokens: list[contextvars.Token[Settings | None]] = []

    def __enter__(self) -> Settings:
        settings = dataclasses.replace(config.get(), **self._changes)
        self._tokens.append(_local.set(settings))
        return settings

    def __exit__(self, *_: object) -> None:
        _local.reset(self._tokens.pop())


class Config:
    """Settings of the package.

        with hr.config(strict=True, device="cuda"): ...   # in this thread or task
        hr.config.set(nthreads=8)                         # for the process

    device: where results go that say nothing else: "cpu" (the default), "cuda", "cuda:1",
    "auto" (the GPU where there is one), or an object of a framework that names a device.
    strict: a missing chunk, or a fallback to the host for a GPU destination, is an error.
    on_error: what follows from a chunk that fails, beside its error: "deliver": the others are
    delivered; "fill": and its own elements get the fill value; "stop": the read is cancelled.
    skip_checksums: do not verify checksums. host_share: per cent of the chunks that a GPU could
    decode for the host to decode beside it, or "auto": as many as earlier reads let expect to
    help. allocator: where device memory comes from: None (the driver), the pool of "cupy",
    "torch" or "rmm", for results and, of what is opened from then on, for staging; or a function
    (nbytes, index) -> object with the CUDA array interface, for results only. nthreads,
    scratch_nbytes (pinned memory) and device_scratch_nbytes (each per device), index_cache_nbytes,
    metadata_max_nbytes: budgets of what is opened from then on; 0 = the library's default.
    chunk_cache_nbytes, encoded_cache_nbytes: as much of decoded chunks, and of chunks as they are
    stored, is kept in host memory between calls; 0 = none. See `caches`. io: how files are read
    from then on: "buffered" through the kernel's page cache, "direct" past it where they are not in
    it: faster for files that are read once.

    HEADRACE_DEVICE, HEADRACE_STRICT and HEADRACE_THREADS set the defaults.
    """

    def __init__(self) -> None:
        self._process = _from_environment()

    def __call__(self, **changes: Any) -> _Scope:
        return _Scope(_checked(changes))

    def set(self, **changes: Any) -> None:
        """Change settings for the whole process."""
        self._process = dataclasses.replace(self._process, **_checked(changes))

    def get(self) -> Settings:
        """The settings in force here."""
        return _local.get() or self._process

    def given(self, **options: Any) -> Settings:
        """The same, but for options that are not None."""
        changes = {name: value for name, value in options.items() if value is not None}
        return dataclasses.replace(self.get(), **_checked(changes)) if changes else self.get()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.get(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"say config.set({name}=…), or with config({name}=…)")
        super().__setattr__(name, value)


_local: contextvars.ContextVar[Settings | None] = contextvars.ContextVar(
    "headrace", default=None)


def _plain(value: Any) -> Any:
    """An int of what is an integer, NumPy's too; anything else as it is."""
    if hasattr(type(value), "__index__") and not isinstance(value, bool):
        with contextlib.suppress(TypeError):  # an array of several has it, too
            return operator.index(value)
    return value


def _is_one_of(names: tuple[str, ...], value: Any) -> bool:
    return isinstance(value, str) and value in names  # an array compares with each


def _checked(changes: dict[str, Any]) -> dict[str, Any]:
    known = {f.name: f.type for f in dataclasses.fields(Settings)}
    checked = {}
    for name, value in changes.items():
        if name not in known:
            raise ArgumentError(f"config has no {name!r}; it has {', '.join(known)}")
        if known[name] == "bool" and not isinstance(value, bool):
            raise ArgumentError(f"{name} is True or False, not {value!r}")
        if known[name] == "int" or name == "host_share":
            value = _plain(value)
        if known[name] == "int" and (type(value) is not int or not 0 <= value < 1 << 63):
            raise ArgumentError(f"{name} is a number from 0 to 2**63 - 1, not {value!r}")
        checked[name] = value
    for name, names in (("io", IO_MODES), ("on_error", ON_ERROR)):
        if name in checked and not _is_one_of(names, checked[name]):
            raise ArgumentError(f"{name} is {' or '.join(names)}, not {checked[name]!r}")
    if "device" in checked:
        parse_device(checked["device"])
    share = checked.get("host_share", 0)
    if not (_is_one_of(("auto",), share) or type(share) is int and 0 <= share <= 100):
        raise ArgumentError(f"host_share is a number from 0 to 100, or 'auto', not {share!r}")
    allocator = checked.get("allocator")
    pools = tuple(_pools.TAKERS)
    if not (allocator is None or _is_one_of(pools, allocator) or callable(allocator)):
        raise ArgumentError(f"no allocator {allocator!r}: {', '.join(pools)}, a function")
    return checked


config = Config()
_contexts: dict[tuple[Any, ...], _ext.Context] = {}
_contexts_lock = threading.Lock()
_additions: list[Callable[[_ext.Context], None]] = []
os.register_at_fork(after_in_child=_contexts_lock._at_fork_reinit)  # type: ignore[attr-defined]
os.register_at_fork(after_in_child=_ext.calls_forked)
after_calls: list[Callable[[], None]] = []
"""Called when the interpreter ends and no thread of the library's is in Python any more."""


def _end_calls() -> None:
    _ext.end_calls()
    for function in after_calls:
        function()


def end_calls_in_time() -> None:
    """No thread of the library's may be in Python when the interpreter ends. Registered anew
    each time, so that it is before what those who are called registered themselves."""
    atexit.unregister(_end_calls)
    atexit.register(_end_calls)


def _new_context(budgets: tuple[int, ...], pool: str | None) -> _ext.Context:
    if pool is not None:
        end_calls_in_time()
    made = _ext.context(None if pool is None else _pools.Pool(pool), *budgets)
    for add in _additions:
        add(made)
    return made


def add_to_contexts(add: Callable[[_ext.Context], None]) -> None:
    """Let it add something to each context: those that there are, and those that come."""
    end_calls_in_time()
    context()  # one at least says whether it can be added
    with _contexts_lock:
        for each in _contexts.values():
            add(each)
        _additions.append(add)


def context() -> _ext.Context:
    """The library's context for the budgets and the pool in force: made once, kept."""
    settings = config.get()
    pool = settings.allocator if isinstance(settings.allocator, str) else None
    key = (*settings.budgets, pool)
    found = _contexts.get(key)
    if found is None:
        with _contexts_lock:
            found = _contexts.get(key)
            if found is None:
                found = _contexts[key] = _new_context(settings.budgets, pool)
    return found


def caches() -> dict[str, dict[str, int]]:
    """What the settings in force keep between calls: "indexes" of shards, decoded "chunks",
    "encoded_chunks". Of each nhits, nmisses, nevicted, nblocks, nbytes, max_nbytes (0: none).

    They are for data that do not change: a file counts as another when its size, its times or
    its place changed. An array that is opened again starts anew.
    """
    return context().caches()


def clear_caches() -> None:
    """Let go of all that is kept between calls, whatever the settings."""
    for each in list(_contexts.values()):
        each.clear_caches()


def _current_cuda() -> int:
    """The GPU that the frameworks in use call current, else the first."""
    cupy, torch = sys.modules.get("cupy"), sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return int(torch.cuda.current_device())
    if cupy is not None:
        try:
            return int(cupy.cuda.runtime.getDevice())
        except cupy.cuda.runtime.CUDARuntimeError:
            pass  # no driver: whoever opens the first GPU says so
    return 0


def _has_cuda() -> bool:
    try:
        return bool(_ext.describe_device(CUDA, 0)["has_kernels"])
    except Exception:  # no driver, no GPU, a build without kernels: the same answer
        return False


def parse_device(device: Any) -> tuple[int, int]:
    """(type, index) of what names a device; None is the configured one."""
    if device is None:
        device = config.get().device
    if isinstance(device, str):
        if device == "cpu":
            return HOST
        if device == "auto":
            return (CUDA, _current_cuda()) if _has_cuda() else HOST
        if device == "cuda":
            return (CUDA, _current_cuda())
        return _ext.parse_device(device)
    device = _plain(device)
    if type(device) is int and device < 1 << 31:
        return (CUDA, device)
    if isinstance(device, tuple) and len(device) == 2:  # as __dlpack_device__ gives it
        if device[0] in (1, 2):
            return (int(device[0]), int(device[1]))
    elif type(device).__module__.split(".")[0] == "torch":
        return parse_device(str(device))
    elif hasattr(device, "id") and type(device).__module__.split(".")[0] == "cupy":
        return (CUDA, int(device.id))
    raise ArgumentError(f"{device!r} names no device: give \"cpu\", \"cuda\", \"cuda:1\"")


def device_text(device: tuple[int, int]) -> str:
    name = {CPU: "cpu", CUDA: "cuda", SIMT: "simt"}[device[0]]
    return f"cuda:{device[1]}" if device[0] == CUDA else name


def device_info(device: Any = "cuda") -> dict[str, Any]:
    """What a device is: name, driver, memory_nbytes, compute_capability, has_kernels, numa
    (the node that it is near to; "" on machines with one).

    Raises DeviceError with the reason where it cannot be used.
    """
    return _ext.describe_device(*parse_device(device))


def codecs() -> dict[str, dict[str, Any]]:
    """The codecs that this build decodes: library, and where they run."""
    return {name: {"library": library, "cpu": on_cpu, "cuda": on_cuda}
            for name, library, on_cpu, on_cuda in _ext.codecs()}
