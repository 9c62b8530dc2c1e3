"""Arrays in stores that are objects of Python. SPDX-License-Identifier: Apache-2.0"""

import asyncio
import collections
import gc
import pickle
import threading
import time
import weakref
import zipfile

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
hz = pytest.importorskip("headrace.zarr")
from headrace import _config, _ext, _stores  # noqa: E402
DATA = np.arange(120, dtype="<i4").reshape(12, 10)


def values(shards=None, name="a/b", compressors="auto"):
    """Keys and bytes of a group with an array."""
    store = zarr.storage.MemoryStore()
    zarr.create_group(store)
    z = zarr.create_array(store, name=name, shape=DATA.shape, dtype=DATA.dtype, chunks=(3, 2),
                          shards=shards, fill_value=-3, compressors=compressors)
    z[:6] = DATA[:6]
    return {key: value.to_bytes() for key, value in store._store_dict.items()}


EXPECTED = np.where(np.arange(12)[:, None] < 6, DATA, -3)


class Ranged:
    """A store that says what it was asked for."""

    def __init__(self, held):
        self.held, self.asked, self.lock = held, [], threading.Lock()

    def note(self, *what):
        with self.lock:
            self.asked.append(what)

    def get(self, key):
        self.note("get", key)
        return self.held.get(key)

    def size(self, key):
        self.note("size", key)
        return len(self.held[key]) if key in self.held else None

    def read(self, key, offset, nbytes):
        self.note("read", key, nbytes)
        return self.held[key][offset:offset + nbytes]

    def list(self, prefix):
        start = prefix + "/" if prefix else ""
        return [(key[len(start):].split("/")[0], True) for key in self.held
                if key.startswith(start)]


def obstore():
    memory = pytest.importorskip("obstore.store").MemoryStore()
    return zarr.storage.ObjectStore(memory)


@pytest.mark.parametrize("shards", [None, (6, 6)])
@pytest.mark.parametrize("kind", ["dict", "object", "fsspec", "zarr", "zip", "local", "obstore"])
def test_arrays_are_read_from_any_store(folder, kind, shards):
    held = values(shards)
    if kind == "object":
        store = Ranged(held)
    elif kind == "fsspec":
        fsspec = pytest.importorskip("fsspec")
        store = fsspec.get_mapper(f"memory://{folder.name}/{shards}")
        store.update(held)
    elif kind in ("zarr", "zip", "local", "obstore"):
        store = {"zarr": lambda: zarr.storage.MemoryStore(),
                 "zip": lambda: zarr.storage.ZipStore(folder / "z.zip", mode="w"),
                 "local": lambda: zarr.storage.LocalStore(folder / "z"),
                 "obstore": obstore}[kind]()
        buffers = zarr.core.buffer.default_buffer_prototype().buffer
        for key, value in held.items():
            zarr.core.sync.sync(store.set(key, buffers.from_bytes(value)))
    else:
        store = held
    group = hr.open(store)
    assert list(group) == ["a"] or "a/b" in group.members(recursive=True)
    a = hr.open(store, path="a/b")
    assert a[...].tolist() == EXPECTED.tolist()
    assert a.oindex[[8, 1], :].tolist() == EXPECTED[[8, 1]].tolist()
    with pytest.raises(hr.NotFoundError):
        hr.open(store, path="nothing")
    with pytest.raises(hr.MissingChunkError):
        a.read(..., strict=True).result()


def test_parts_of_shards_are_asked_for():
    store = Ranged(values((6, 6), compressors=None))
    a = hr.open(store, path="a/b")
    store.asked.clear()
    assert a[0:3, 0:2].tolist() == DATA[0:3, 0:2].tolist()
    assert store.asked[0] == ("size", "a/b/c/0/0") and len(store.asked) == 3
    assert {what[0] for what in store.asked[1:]} == {"read"}
    assert min(what[2] for what in store.asked[1:]) == 24  # one inner chunk
    plain = Ranged(values())
    b = hr.open(plain, path="a/b")
    plain.asked.clear()
    assert b[0, 0].item() == 0
    assert plain.asked == [("get", "a/b/c/0/0")]  # whole at once


def test_tiff_files_are_read_in_parts(folder):
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(folder / "x.tif", DATA.astype("u2"), rowsperstrip=3)
    store = Ranged({"d/x.tif": (folder / "x.tif").read_bytes()})
    assert hr.open(store, path="d/x.tif")[...].tolist() == DATA.tolist()
    assert ("size", "d/x.tif") in store.asked and ("get", "d/x.tif") not in store.asked


class Wrong(Ranged):
    """One that fails for chunks."""

    def __init__(self, held, failure):
        super().__init__(held)
        self.failure = failure

    def get(self, key):
        return self.failure() if "/c/" in key else self.held.get(key)

    def size(self, key):
        value = self.get(key)
        return len(value) if isinstance(value, bytes) else value

    def read(self, key, offset, nbytes):
        return self.failure()


def throw(error):
    def failure():
        raise error
    return failure


@pytest.mark.parametrize("failure, error, text", [
    (throw(PermissionError(13, "not yours")), hr.StoreError, "PermissionError: .*not yours"),
    (throw(KeyError("k")), hr.StoreError, "KeyError: 'k'"),
    (throw(FileNotFoundError("x")), hr.StoreError, "FileNotFoundError"),  # only None is absent
    (throw(MemoryError()), hr.AllocationError, "MemoryError"),
    (throw(SystemExit(3)), hr.StoreError, "SystemExit"),
    (throw(UnicodeError("\ud800")), hr.StoreError, "UnicodeError"),
    (lambda: "text", hr.StoreError, "TypeError"),
    (lambda: -5, hr.StoreError, "OverflowError|TypeError"),
    (lambda: 2**70, hr.StoreError, "OverflowError|TypeError"),
    (lambda: 1.5, hr.StoreError, "TypeError"),
    (lambda: b"", hr.DataError, "0 bytes"),
    (lambda: np.zeros((4, 4))[:, ::2], hr.StoreError, "contiguous|TypeError"),
])
@pytest.mark.parametrize("shards", [None, (6, 6)])
def test_what_a_store_does_wrong_is_an_error(failure, error, text, shards):
    a = hr.open(Wrong(values(shards, compressors=None), failure), path="a/b")
    if shards and text == "0 bytes":
        text = "index|0 bytes"
    with pytest.raises(error, match=text) as caught:
        a[...]
    assert caught.value.key.startswith("a/b/c/")
    if text.startswith("Permission"):
        assert caught.value.errno == 13


def test_ctrl_c_in_a_store_is_no_error_of_the_store():
    pressed = []

    def press():
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return b""

    a = hr.open(Wrong(values(compressors=None), press), path="a/b")
    with pytest.raises(KeyboardInterrupt):
        a[...]


@pytest.mark.parametrize("shards", [None, (6, 6)])
def test_sizes_are_integers_of_any_kind_and_values_are_not(shards):
    held = values(shards)
    store = Ranged(held)
    store.size = lambda key: np.int64(len(held[key])) if key in held else None
    a = hr.open(store, path="a/b")
    assert a[...].tolist() == EXPECTED.tolist()
    store.size = lambda key: held.get(key)  # bytes are no size
    store.get = lambda key: 100  # nor is a size what is there
    with pytest.raises(hr.StoreError, match="TypeError"):
        a[...]


def test_a_store_that_nobody_used_yet_is_opened(folder):
    held = values((6, 6))
    with zipfile.ZipFile(folder / "x.zip", "w") as file:
        for key, value in held.items():
            file.writestr(key, value)
    for shared in (zarr.storage.ZipStore(folder / "x.zip", mode="r"),
                   zarr.storage.WrapperStore(zarr.storage.ZipStore(folder / "x.zip", mode="r"))):
        assert hr.open(shared, path="a/b")[...].tolist() == EXPECTED.tolist()
        shared.close()
    with pytest.raises(hr.NotFoundError):
        hr.open(zarr.storage.ZipStore(folder / "none.zip", mode="r"))


@pytest.mark.parametrize("entry", ["ab", ["a", True], ("a",), 5, None])
def test_what_is_listed_is_a_pair(entry):
    store = Ranged(values())
    store.list = lambda prefix: [entry]
    with pytest.raises(hr.StoreError, match="TypeError"):
        list(hr.open(store))


@pytest.mark.parametrize("answer", [b"", b"x" * 1000])
def test_reads_of_another_length_are_errors(answer):
    store = Ranged(values((6, 6), compressors=None))
    a = hr.open(store, path="a/b")
    store.read = lambda key, offset, nbytes: answer
    with pytest.raises(hr.StoreError, match="gave 0 bytes|gave 1000 bytes"):
        a[...]


def test_what_is_no_store_is_refused():
    for wrong in (3, object(), None, [b""]):
        with pytest.raises(TypeError, match="neither a path nor a store"):
            hr.open(wrong)
    with pytest.raises(hr.UnsupportedError, match="listed"):
        class Least:
            def get(self, key):
                return b'{"zarr_format":3,"node_type":"group"}' if key == "zarr.json" else None
        list(hr.open(Least()))
    with pytest.raises(hr.StoreError, match="takes 1 positional|TypeError"):
        class Listing(Ranged):
            def list(self):
                return []
        list(hr.open(Listing(values())))
    made = collections.defaultdict(bytes, values())
    n = len(made)
    assert hr.open(made, path="a/b")[0, 0].item() == 0
    assert len(made) == n  # nothing came into being by looking


def test_many_threads_read_through_a_slow_store():
    class Slow(Ranged):
        def get(self, key):
            time.sleep(0.0005)
            return super().get(key)

    a = hr.open(Slow(values()), path="a/b")
    wrong = []

    def read():
        for _ in range(5):
            if a[...].tolist() != EXPECTED.tolist():
                wrong.append(1)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_store_goes_with_its_last_array():
    store = Ranged(values())
    a = hr.open(store, path="a/b")
    gone = weakref.ref(store)
    del store
    gc.collect()
    assert gone() is not None and a[0, 1].item() == 1
    del a
    gc.collect()
    assert gone() is None


def test_arrays_pickle_with_a_store_that_does():
    a = hr.open(values(), path="a/b")
    assert pickle.loads(pickle.dumps(a))[...].tolist() == EXPECTED.tolist()


class Waiting(zarr.storage.MemoryStore):
    """Parts of its values are there when somebody lets them go."""

    asked = go = None

    async def get(self, key, prototype=None, byte_range=None):
        if self.go is not None and byte_range is not None:
            self.asked.set()
            await self.go.wait()
        return await super().get(key, prototype, byte_range)


def test_zarr_stores_of_a_running_loop_are_read_in_parts():
    store = Waiting()
    z = zarr.create_array(store, name="x", data=DATA, chunks=(3, 2), shards=(6, 6))

    async def main():
        with zarr.config.set({"codec_pipeline.path": "headrace.zarr.Pipeline",
                              "codec_pipeline.strict": True}):
            x = await zarr.api.asynchronous.open_array(store=store, path="x")
            rows = await asyncio.gather(*(x.getitem((i, slice(1, 9, 3))) for i in range(12)))
            # one that is given up in the middle does not hold up the loop
            store.asked, store.go = asyncio.Event(), asyncio.Event()
            task = asyncio.ensure_future(x.getitem((slice(1, 9), slice(1, 9))))
            await store.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return rows

    assert np.stack(asyncio.run(main())).tolist() == DATA[:, 1:9:3].tolist()
    assert z.shape == DATA.shape


def test_what_tells_of_cancelling_tells_nothing_after_the_call():
    store = Ranged(values())
    kept = []
    a = hr.open(store, path="a/b")
    adapter = _stores.ObjectStore(store)
    own = adapter.open
    adapter.open = lambda *about: kept.append(about[-1]) or own(*about)
    node = _ext.open_store(_stores.handle(_config.context(), store, adapter, False), "a/b", 2, 0)
    assert kept[0] is None and not _ext.is_given_up(None)
    b = hr.Array(node, node.describe(), _config.context(), (1, 0), ())
    assert b[...].tolist() == a[...].tolist()
    with pytest.raises(ValueError):
        _ext.is_given_up(kept[-1])


def test_what_a_store_raises_late_or_as_a_timeout_is_its_error():
    class Late(Ranged):
        def get(self, key):
            if "/c/" in key:
                time.sleep(0.2)  # longer than a look whether anybody waits
                raise TimeoutError("too late")
            return super().get(key)

    with pytest.raises(hr.StoreError, match="TimeoutError: too late"):
        hr.open(Late(values()), path="a/b")[...]
