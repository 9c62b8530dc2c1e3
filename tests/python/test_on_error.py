"""What follows from a chunk that fails is the caller's choice. SPDX-License-Identifier: Apache-2.0"""

import threading

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
DATA = np.arange(1, 41, dtype="i4")


def damaged(data, *bad, fill_value=0, **options):
    """An array whose chunks of 10 have a checksum, which those named fail."""
    store = zarr.storage.MemoryStore()
    zarr.create_array(store, data=data, chunks=(10,), fill_value=fill_value, **options)
    held = {key: value.to_bytes() for key, value in store._store_dict.items()}
    for i in bad:
        held[f"c/{i}"] = held[f"c/{i}"][:-1] + bytes([held[f"c/{i}"][-1] ^ 1])
    return hr.open(held)


CRC = {"compressors": zarr.codecs.Crc32cCodec()}


def test_the_other_chunks_are_delivered():
    a = damaged(DATA, 1, fill_value=-7, **CRC)
    future = a.read([np.s_[0:10], np.s_[5:20], np.s_[20:]])
    with pytest.raises(hr.ChecksumError):
        future.result()
    parts = future.result(partial=True)
    assert parts[0].tolist() == DATA[:10].tolist() and parts[2].tolist() == DATA[20:].tolist()
    assert parts[1].tolist()[:5] == DATA[5:10].tolist()
    assert [type(e) for e in future.exceptions()] == [type(None), hr.ChecksumError, type(None)]


@pytest.mark.parametrize("way", ["argument", "config", "batch"])
def test_elements_of_a_bad_chunk_are_filled(way):
    a = damaged(DATA, 1, 3, fill_value=-7, **CRC)
    want = np.where((DATA - 1) // 10 % 2 == 1, -7, DATA)
    out = np.zeros(40, "i4")
    if way == "argument":
        future = a.read(..., out, on_error="fill")
    elif way == "batch":
        future = hr.read_batch([a], [out], on_error="fill")
    else:
        with hr.config(on_error="fill"):
            future = a.read(..., out)
    with pytest.raises(hr.ChecksumError) as caught:
        future.result()
    assert caught.value.key in ("c/1", "c/3") and out.tolist() == want.tolist()
    assert future.result(partial=True) is not None
    assert a.read(..., on_error="fill").result(partial=True).tolist() == want.tolist()


def test_a_bad_chunk_stops_the_rest():
    """The other chunks are not given before the read has failed."""
    store = zarr.storage.MemoryStore()
    zarr.create_array(store, data=DATA, chunks=(10,), **CRC)
    held = {key: value.to_bytes() for key, value in store._store_dict.items()}
    failed = threading.Event()

    class Store:
        def get(self, key):
            if key == "c/0":
                return b"bad"
            if key.startswith("c/"):
                failed.wait(60)
            return held.get(key)

    with hr.config(nthreads=1):
        future = hr.open(Store()).read([np.s_[i:i + 10] for i in range(0, 40, 10)], on_error="stop")
        first = future.exception()
    failed.set()
    assert isinstance(first, hr.DataError) and first.key == "c/0"
    assert [type(e) for e in future.exceptions()[1:]] == 3 * [hr.CancelledError]


@pytest.mark.parametrize("on_error", ["deliver", "fill", "stop"])
def test_words_of_a_bad_chunk_are_empty_or_filled(on_error):
    words = np.array([f"w{i}" for i in range(40)], dtype=object)
    a = damaged(words.astype(np.dtypes.StringDType()), 1, fill_value="none", **CRC)
    future = a.read(..., on_error=on_error)
    got = future.result(partial=True)
    assert len(got) == 40 and isinstance(future.exception(), hr.ChecksumError)
    if on_error != "stop":
        assert got[:10].tolist() == words[:10].tolist() and got[20:].tolist() == words[20:].tolist()
        assert set(got[10:20]) == {"none" if on_error == "fill" else ""}


def test_a_cancelled_read_has_no_partial_result():
    go = threading.Event()

    class Store(dict):
        def get(self, key):
            if key.startswith("c/"):
                go.wait()
            return super().get(key)

    store = zarr.storage.MemoryStore()
    zarr.create_array(store, data=DATA, chunks=(10,))
    a = hr.open(Store({key: value.to_bytes() for key, value in store._store_dict.items()}))
    future = a.read()
    with pytest.raises(hr.TimedOutError):
        future.result(0, partial=True)
    future.cancel()
    with pytest.raises(hr.CancelledError):
        future.result(partial=True)
    go.set()


@pytest.mark.parametrize("wrong", ["", "raise", 1, None])
def test_other_words_are_refused(wrong):
    with pytest.raises(hr.ArgumentError, match="on_error"):
        hr.config(on_error=wrong)
    if wrong is not None:
        with pytest.raises(hr.ArgumentError, match="on_error"):
            damaged(DATA).read(..., on_error=wrong)


def test_elements_for_a_device_are_filled_too():
    a = damaged(DATA, 1, fill_value=-7, **CRC)
    try:
        future = a.read(..., device="cuda:0", on_error="fill")
    except hr.Error:
        try:
            future = a.read(..., device="simt", on_error="fill")
        except hr.Error as error:
            pytest.skip(f"neither a GPU nor the simt device: {error}")
    want = np.where((DATA - 1) // 10 == 1, -7, DATA)
    assert future.result(partial=True).to("numpy").tolist() == want.tolist()
