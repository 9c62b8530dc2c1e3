"""Staging memory by the pool of a framework, here a stand-in on the simt device.

SPDX-License-Identifier: Apache-2.0
"""

import gc
import threading

import numpy as np
import pytest
import zarr

import headrace as hr
from headrace import _config, _pools

DATA = np.random.default_rng(3).integers(0, 999, (64, 256), "i4")


class Memory:
    """As a GPU array shows itself, aligned as device memory is."""

    def __init__(self, nbytes):
        self.array = np.empty(nbytes + 256, "u1")
        address = self.array.ctypes.data
        self.__cuda_array_interface__ = {"data": ((address + 255) // 256 * 256, False)}


class Framework:
    def __init__(self):
        self.calls, self.refuses = [], None

    def take(self, nbytes, index, stream):
        assert stream != 0
        self.calls.append((nbytes, index))
        if self.refuses is not None:
            raise self.refuses
        return Memory(nbytes), stream


@pytest.fixture
def framework(monkeypatch):
    """In the place of torch, in contexts that no other test has."""
    one = Framework()
    monkeypatch.setitem(_pools.TAKERS, "torch", one.take)
    pools = []
    monkeypatch.setattr(_pools, "Pool", lambda name, new=_pools.Pool: pools.append(new(name)) or pools[-1])
    one.pools = pools
    yield one
    for key in [k for k in _config._contexts if k[-1] == "torch"]:
        del _config._contexts[key]


@pytest.fixture
def path(tmp_path):
    zarr.create_array(tmp_path / "a", data=DATA, chunks=(8, 64),
                      compressors=zarr.codecs.BloscCodec(cname="lz4", typesize=4))
    return tmp_path / "a"


def open_simt(path):
    with hr.config(allocator="torch", nthreads=3):
        a = hr.open(path)
    try:
        a.read(0, device="simt").result()
    except hr.UnsupportedError:
        pytest.skip("built without the simt device")
    except MemoryError:
        pass
    return a


def test_staging_is_of_the_pool_and_goes_back_with_the_context(framework, path):
    a = open_simt(path)
    threads = [threading.Thread(target=lambda i=i: results.append(
        (i, a.read(np.s_[i:i + 40], device="simt").result().to("numpy")))) for i in range(6)]
    results = []
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    for i, result in results:
        assert (result == DATA[i:i + 40]).all()
    assert framework.calls and {index for _, index in framework.calls} == {0}
    (pool,) = framework.pools
    assert pool._held
    (key,) = [k for k in _config._contexts if k[-1] == "torch"]
    del a, _config._contexts[key]
    gc.collect()
    assert not pool._held


@pytest.mark.parametrize("refusal", [MemoryError("none"), type("OutOfMemoryError", (RuntimeError,), {})()])
def test_a_pool_without_memory_is_an_error_of_the_read(framework, path, refusal):
    framework.refuses = refusal
    a = open_simt(path)
    with pytest.raises(MemoryError, match="the allocator given has no"):
        a.read(..., device="simt").result()
    framework.refuses = None
    assert (a.read(..., device="simt").result().to("numpy") == DATA).all()


def test_what_a_pool_raises_is_told(framework, path, monkeypatch):
    told = []
    monkeypatch.setattr("sys.unraisablehook", told.append)
    framework.refuses = ValueError("a bug")
    a = open_simt(path)
    with pytest.raises(MemoryError):
        a.read(..., device="simt").result()
    assert any(str(each.exc_value) == "a bug" for each in told)


def test_results_on_the_host_ask_no_pool(framework, path):
    with hr.config(allocator="torch", nthreads=3):
        assert (hr.open(path)[...].to("numpy") == DATA).all()
    assert framework.calls == []
