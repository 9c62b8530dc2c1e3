"""Chunks kept between calls. SPDX-License-Identifier: Apache-2.0"""

import os

import numpy as np
import pytest

hr = pytest.importorskip("headrace")
zarr = pytest.importorskip("zarr")

DATA = np.arange(40 * 30, dtype="i4").reshape(40, 30)


@pytest.fixture
def path(tmp_path):
    z = zarr.create_array(str(tmp_path / "a"), shape=DATA.shape, chunks=(10, 10), dtype="i4",
                          compressors=zarr.codecs.ZstdCodec(level=1))
    z[...] = DATA
    long_ago = (1_000_000_000,) * 2
    for folder, _, files in os.walk(tmp_path):
        for name in files:
            os.utime(os.path.join(folder, name), long_ago)
    return str(tmp_path / "a")


def settle(path):
    """Wait until files are old enough to be kept."""
    import time
    newest = max(os.stat(os.path.join(folder, name)).st_ctime
                 for folder, _, files in os.walk(path) for name in files)
    while time.time() < newest + 0.2:
        time.sleep(0.05)


def test_nothing_is_kept_by_default(path):
    a = hr.open(path)
    for _ in range(2):
        future = a.read(...)
        future.result()
        assert future.stats()["nreads"] == 12
    assert hr.caches()["chunks"]["max_nbytes"] == hr.caches()["encoded_chunks"]["max_nbytes"] == 0


def test_decoded_chunks_are_kept(path):
    settle(path)
    with hr.config(chunk_cache_nbytes=1 << 20, nthreads=2):
        a = hr.open(path)
        assert a.read(np.s_[:25]).result().tolist() == DATA[:25].tolist()
        future = a.read(np.s_[5:35, 3:20])
        assert future.result().tolist() == DATA[5:35, 3:20].tolist()
        stats = future.stats()
        assert (stats["nkept_decoded"], stats["nreads"], stats["ndecoded_cpu"]) == (6, 2, 2)
        chunks = hr.caches()["chunks"]
        assert chunks["nhits"] == 6 and chunks["nblocks"] == 11
        assert 11 * 400 < chunks["nbytes"] <= chunks["max_nbytes"] == 1 << 20
        hr.clear_caches()
        assert hr.caches()["chunks"]["nbytes"] == 0
        assert a[...].tolist() == DATA.tolist()


def test_encoded_chunks_are_kept(path):
    settle(path)
    with hr.config(encoded_cache_nbytes=1 << 20, nthreads=2):
        a = hr.open(path)
        a[...]
        future = a.read(...)
        assert future.result().tolist() == DATA.tolist()
        assert future.stats()["nkept_encoded"] == 12 and future.stats()["nreads"] == 0


def test_a_file_that_was_written_again_is_read_again(path):
    settle(path)
    with hr.config(chunk_cache_nbytes=1 << 20, encoded_cache_nbytes=1 << 20):
        a = hr.open(path)
        assert a[0, 0] == 0
        zarr.open_array(path, mode="r+")[:10] = -DATA[:10]
        assert a[...].tolist() == np.concatenate([-DATA[:10], DATA[10:]]).tolist()


class Versioned:
    """A store of bytes by key that tells versions, and notes what is asked of it."""

    def __init__(self, path):
        self.path, self.asked, self.versions, self.told = path, [], {}, set()

    def _value(self, key):
        try:
            with open(os.path.join(self.path, key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def get(self, key):
        self.asked.append(key)
        return self._value(key)

    def version(self, key):
        self.told.add(key)
        return self.versions.get(key, -1)


class VersionedParts(Versioned):
    def size(self, key):
        value = self._value(key)
        return None if value is None else len(value)

    def read(self, key, offset, nbytes):
        return self.get(key)[offset:offset + nbytes]


@pytest.mark.parametrize("kind", [Versioned, VersionedParts])
def test_a_store_in_python_that_tells_versions_is_kept(path, kind):
    store = kind(path)
    with hr.config(encoded_cache_nbytes=1 << 20):
        a = hr.open(store)
        a[...]
        store.asked.clear()
        future = a.read(...)
        assert future.result().tolist() == DATA.tolist() and future.stats()["nkept_encoded"] == 12
        assert len(store.asked) == (0 if kind is VersionedParts else 12)
        z = zarr.open_array(path, mode="r+")
        z[:10, :10] = -DATA[:10, :10]
        store.versions["c/0/0"] = 2
        assert a[...].tolist() == z[...].tolist()
        store.versions = dict.fromkeys((f"c/{i}/{j}" for i in range(4) for j in range(3)), 0)
        future = a.read(...)
        assert future.result().tolist() == z[...].tolist() and future.stats()["nkept_encoded"] == 0
        store.versions = {"c/0/0": "new"}
        with pytest.raises(hr.StoreError, match="TypeError"):
            a[0]
        assert all(key.startswith("c/") for key in store.told)  # metadata is not kept
