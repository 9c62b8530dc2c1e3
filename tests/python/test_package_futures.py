"""Futures: waiting, cancelling, progress, threads and forks. SPDX-License-Identifier: Apache-2.0"""

import asyncio
import os
import signal
import threading
import time

import numpy as np
import pytest
import zarr

from test_package_reads import DATA, a  # a is a fixture

hr = pytest.importorskip("headrace", reason="the package is not built")


@pytest.fixture
def large(folder):
    """Many chunks: a read of it is not done at once."""
    zarr.create_array(folder / "l.zarr", shape=(40_000_000,), chunks=(40_000,), dtype="u1",
                      fill_value=3)
    z = zarr.open_array(folder / "l.zarr")
    z[::40_000] = np.arange(1000, dtype="u1")
    return hr.open(folder / "l.zarr")


@pytest.mark.parametrize("timeout", [float("inf"), 1e300, 60, None])
def test_a_long_timeout_is_for_ever(a, timeout):
    assert a.read(0).result(timeout).tolist() == DATA[0].tolist()
    assert a.read(0).exception(timeout) is None
    with pytest.raises(hr.ArgumentError):
        a.read(0).result(float("nan"))


def running(large):
    """A read that is under way: on a busy machine one may be done before it is asked."""
    for _ in range(100):
        future = large.read(...)
        try:
            future.result(timeout=0)
        except TimeoutError:
            return future
    raise AssertionError("every read was done at once")


def test_a_future_can_be_cancelled_and_timed(large):
    future = running(large)
    future.cancel()
    try:
        future.result()
    except hr.CancelledError:
        pass
    assert future.done() and not future.cancel()
    del future
    try:
        large.read(...).result(float("-inf"))  # no waiting at all
    except hr.TimedOutError:
        pass
    large.read(...)  # dropped at once: cancelled


def test_progress_is_told(large):
    seen = []
    future = large.read(..., progress=lambda done, total: seen.append((done, total)))
    assert np.asarray(future.result())[::40_000].tolist() == [i % 256 for i in range(1000)]
    assert seen[-1] == (1000, 1000) and seen == sorted(seen)


def test_futures_are_awaited(a, large):
    async def main():
        rows = await asyncio.gather(*(a.read(i) for i in range(8)))
        assert [row.tolist() for row in rows] == DATA.tolist()
        future = running(large)
        ticks = 0

        async def tick():
            nonlocal ticks
            while not future.done():
                ticks += 1
                await asyncio.sleep(0)

        first, second, _ = await asyncio.gather(future, future, tick())
        assert first is second and ticks > 0
        task = asyncio.ensure_future(asyncio.wait_for(large.read(...), 0))
        with pytest.raises(TimeoutError):
            await task
        bad = a.read(..., strict=True)
        await bad

    asyncio.run(main())


def test_threads_read_at_once(a):
    results = []

    def work():
        results.append([a[i].tolist() for i in range(8)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [DATA.tolist()] * 8


def test_ctrl_c_ends_a_wait(large):
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(1000):
                large[...]
            time.sleep(5)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, previous)


def test_a_forked_child_reads_and_is_told_of_the_parents_batches(a, large):
    a[0]
    future = large.read(...)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            assert a[1].tolist() == DATA[1].tolist()
            for partial in (False, True):
                try:
                    future.result(partial=partial)
                    code = 3
                    break
                except hr.ForkedError as error:
                    code = 0 if "spawn" in str(error) else 2
        finally:
            os._exit(code)
    for _ in range(600):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.kill(pid, signal.SIGKILL)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
    future.result()
