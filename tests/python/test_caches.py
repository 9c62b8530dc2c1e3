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
