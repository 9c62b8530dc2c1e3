"""Reads that are under way. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import asyncio
import math
import threading
from typing import Any, Callable, Generator, Sequence

from . import _ext, _stages
from ._errors import ArgumentError, CancelledError, Error, ForkedError
from ._outputs import stream_handle

Progress = Callable[[int, int], object]
_TICK_NS = 50_000_000  # between calls of a progress function
_LONGEST = 9e9  # seconds: about what 63 bits of nanoseconds hold


def _nanoseconds(timeout: float | None) -> int:
    """As the extension takes it: -1 is for ever, and so is what 64 bits do not hold."""
    if timeout is None:
        return -1
    if math.isnan(timeout):
        raise ArgumentError("a timeout is a number of seconds, or None, not NaN")
    return -1 if timeout > _LONGEST else int(max(0, timeout) * 1e9)


class Future:
    """The result of a read to come.

        future = a.read(np.s_[0:8])
        future.result(timeout=10)       # or: await future

    Dropping it cancels the read and waits until nothing is written any more.
    """

    def __init__(self, batch: _ext.Batch, finish: Callable[[_ext.Batch], Any], nrequests: int,
                 progress: Progress | None) -> None:
        self._batch, self._finish = batch, finish
        self._progress = progress
        self._requests: Sequence[int] = range(nrequests)
        """Of the batch, in the order in which they were wanted."""
        self._lock = threading.Lock()
        self._has_result, self._result = False, None
        self._waiters: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}

    def done(self) -> bool:
        """Is nothing left to wait for?"""
        return self._batch.poll()

    def cancel(self) -> bool:
        """Drop what has not begun; false when there was nothing left to drop."""
        if self.done():
            return False
        self._batch.cancel()
        return True

    def result(self, timeout: float | None = None, *, partial: bool = False) -> Any:
        """Wait (in seconds; None: for ever) and give the result, or raise the first error.

        partial: give the result though chunks failed. exceptions() tells which selections have
        some; the elements are the fill value with on_error="fill", else not defined.

        Raises TimedOutError when the time is over; the read goes on.
        """
        ns = _nanoseconds(timeout)
        try:
            if self._progress is None:
                self._batch.wait(ns)
            else:
                self._wait_with_progress(ns, self._progress)
        except (CancelledError, ForkedError):  # which nothing can be told of
            raise
        except Error:
            if not partial or not self.done():
                raise
        return self._give()

    def result_on(self, stream: Any) -> Any:
        """The result for use on a CUDA stream only, without waiting for the GPU: what is
        queued on the stream from now on comes after the last write. Whether all chunks were
        right is known later: call result() before you trust the numbers.
        """
        self._batch.wait_on_stream(stream_handle(stream))
        return self._give()

    def _give(self) -> Any:
        with self._lock:
            if not self._has_result:
                self._result, self._has_result = self._finish(self._batch), True
        return self._result

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait, and give the first error instead of raising it."""
        return next((e for e in self.exceptions(timeout) if e is not None), None)

    def exceptions(self, timeout: float | None = None) -> list[BaseException | None]:
        """Wait, and tell for every selection whether it failed: one bad chunk does not
        spoil the others."""
        try:
            self._batch.wait(_nanoseconds(timeout))
        except Exception:
            if not self.done():
                raise
        return [self._batch.error(i) for i in self._requests]

    def stats(self) -> dict[str, int]:
        """Counts so far: chunks, reads, bytes, and where chunks were decoded."""
        return self._batch.stats()

    def stages(self) -> _stages.Stages:
        """Times so far: what threads and devices did, and which stage sets the time."""
        return _stages.from_ext(self._batch.stages())

    def _wait_with_progress(self, ns: int, progress: Progress) -> None:
        while not self.done():
            if ns == 0:
                self._batch.wait(0)
                break
            tick = _TICK_NS if ns < 0 else min(ns, _TICK_NS)
            try:
                self._batch.wait(tick)
            except TimeoutError:
                if ns > 0:
                    ns -= tick
            if not self.done():
                progress(*self._batch.progress())
        self._batch.wait(-1)
        progress(*self._batch.progress())

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done():
            yield from self._wait_in_loop()
        return self.result()

    def _wait_in_loop(self) -> Generator[Any, None, None]:
        """Let the loop watch a file that becomes readable when the read is done."""
        loop = asyncio.get_running_loop()
        fd = self._batch.fileno()
        waiter = loop.create_future()
        waiters = self._waiters.setdefault(loop, [])
        if not waiters:
            loop.add_reader(fd, _wake, waiters)
        waiters.append(waiter)
        try:
            yield from waiter
        except asyncio.CancelledError:
            self.cancel()
            raise
        finally:
            waiters.remove(waiter)
            if not waiters:
                loop.remove_reader(fd)
                del self._waiters[loop]


def _wake(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
