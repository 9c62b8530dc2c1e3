"""zarr-python's arrays read by headrace are the same arrays. SPDX-License-Identifier: Apache-2.0"""

import asyncio
import json
import os
import pickle
import shutil
import subprocess
import sys
import warnings

import hypothesis
import numpy as np
import pytest
import zarr
from hypothesis import strategies as st

import strategies
from test_property import bits, bounded, place  # noqa: F401 (a fixture)

hr = pytest.importorskip("headrace", reason="the package is not built")
hz = pytest.importorskip("headrace.zarr")
DATA = np.arange(120, dtype="<i4").reshape(12, 10)


@pytest.fixture(autouse=True)
def pipeline():
    hz.reset_stats()
    with zarr.config.set({"codec_pipeline.path": "headrace.zarr.Pipeline",
                          "codec_pipeline.strict": True}):
        yield


def same(result, expected):
    result, expected = np.asarray(result), np.asarray(expected)
    assert result.shape == expected.shape and result.dtype == expected.dtype
    if result.dtype.kind in "OT":
        assert result.tolist() == expected.tolist()
    else:
        assert bits(result) == bits(expected)


def read_all(z, rng):
    """Every form of selection that zarr-python has."""
    shape = z.shape
    yield z[...]
    yield z[tuple(slice(0, n, 1 + i) for i, n in enumerate(shape))]
    if not shape or 0 in shape:
        return
    lists = [rng.integers(-n, n, 1 + i) for i, n in enumerate(shape)]
    yield z[tuple(n // 2 for n in shape)]
    yield z[(n := shape[0]) // 3, ...]
    yield z[..., n // (n + 1):]
    yield z.oindex[tuple(lists)]
    yield z.oindex[(rng.random(shape[0]) < 0.5, *lists[1:])]
    yield z.oindex[(shape[0] - 1, *(slice(0, m, 2) for m in shape[1:]))]
    yield z.oindex[(*(slice(1, m) for m in shape[:-1]), [0, 0, shape[-1] - 1])]
    yield z.vindex[tuple(rng.integers(0, m, (2, 3)) for m in shape)]
    yield z.vindex[tuple(np.sort(rng.integers(0, m, 7)) for m in shape)]
    yield z.get_mask_selection(rng.random(shape) < 0.2)
    yield z.blocks[tuple(0 for _ in shape)]
    yield z.blocks[tuple(slice(0, 2) for _ in shape)]


@bounded(40)
@hypothesis.given(st.data())
def test_every_selection_is_read_natively(place, data):  # noqa: F811
    written = data.draw(strategies.zarr_python(place))
    seed = data.draw(st.integers(0, 99))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = zarr.open_array(written.path, mode="r")
        assert type(z.async_array.codec_pipeline) is hz.Pipeline
        hz.reset_stats()
        ours = list(read_all(z, np.random.default_rng(seed)))
        counted = hz.stats()
        with zarr.config.set({"codec_pipeline.path":
                              "zarr.core.codec_pipeline.BatchedCodecPipeline"}):
            theirs = list(read_all(zarr.open_array(written.path, mode="r"),
                                   np.random.default_rng(seed)))
    assert counted["fallback"] == {} and counted["callback"] == 0
    assert counted["native"] > 0 or written.data.size == 0
    for our, their in zip(ours, theirs, strict=True):
        same(our, their)


@pytest.mark.parametrize("kind", ["memory", "zip", "fsspec", "obstore"])
@pytest.mark.parametrize("shards", [None, (6, 6)])
def test_other_stores_hand_their_bytes_over(folder, kind, shards):
    if kind == "memory":
        store = zarr.storage.MemoryStore()
    elif kind == "zip":
        store = zarr.storage.ZipStore(folder / "z.zip", mode="w")
    elif kind == "obstore":
        store = zarr.storage.ObjectStore(pytest.importorskip("obstore.store").MemoryStore())
    else:
        pytest.importorskip("fsspec")
        store = zarr.storage.FsspecStore.from_url(f"memory://{folder.name}", read_only=False)
    z = zarr.create_array(store, name="a/b", shape=DATA.shape, dtype=DATA.dtype, chunks=(3, 2),
                          shards=shards, fill_value=-3)
    z[:6] = DATA[:6]
    expected = np.where(np.arange(12)[:, None] < 6, DATA, -3)
    hz.reset_stats()
    same(z[...], expected)
    same(z[2:9, 3], expected[2:9, 3])
    same(z.oindex[[8, 1], :], expected[[8, 1]])
    assert hz.stats() == {"native": 0, "callback": 3, "fallback": {}}


def test_strings_and_fields(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s = zarr.create_array(folder / "s", shape=(4,), chunks=(3,), dtype=str, fill_value="?")
        s[:3] = np.array(["a", "", "漢"])
        same(s[...], np.array(["a", "", "漢", "?"], s[...].dtype))
        dtype = np.dtype([("x", "<i4"), ("y", "S3")])
        f = zarr.create_array(folder / "f", data=np.array([(1, b"a"), (2, b"b")], dtype),
                              zarr_format=2)
        assert f[...].tolist() == [(1, b"a"), (2, b"b")]
        assert hz.stats()["native"] == 3
        with pytest.raises(hr.StrictError, match="elements of"):
            f["x"]  # single fields are left to zarr-python


def test_what_is_written_is_read_at_once(folder):
    z = zarr.create_array(folder / "w", shape=(10,), chunks=(3,), dtype="i4", fill_value=5)
    same(z[:], np.full(10, 5, "i4"))
    z[2:5] = [1, 2, 3]
    same(z[:], np.array([5, 5, 1, 2, 3, 5, 5, 5, 5, 5], "i4"))
    z.resize((14,))
    z[12:] = 9
    same(z[8:], np.array([5, 5, 5, 5, 9, 9], "i4"))
    z.resize((4,))
    same(z[:], np.array([5, 5, 1, 2], "i4"))
    shutil.rmtree(folder / "w")
    again = zarr.create_array(folder / "w", data=np.arange(4, dtype="i4"), chunks=(3,))
    same(again[:], np.arange(4, dtype="i4"))
    same(z[:], np.arange(4, dtype="i4"))  # another directory in the same place


@pytest.mark.parametrize("dtype", ["<M8[D]", ">M8[ns]", "<m8[s]", "<f4", ">i2", "|b1", "<c8", "|S3",
                                   "<U2", "|V4", [["a", "<M8[s]"], ["b", "<f4"]]], ids=str)
def test_undefined_fill_values_are_those_of_zarr_python(folder, dtype):
    (folder / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [3], "chunks": [2], "dtype": dtype, "compressor": None,
        "filters": None, "fill_value": None, "order": "C"}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = zarr.open_array(folder, mode="r")[:]
        with zarr.config.set({"codec_pipeline.path":
                              "zarr.core.codec_pipeline.BatchedCodecPipeline"}):
            theirs = zarr.open_array(folder, mode="r")[:]
    same(ours, theirs)
    a = hr.open(folder)
    same(a[...], theirs.astype(theirs.dtype.newbyteorder("=")))
    assert a.fill_value is None


def test_missing_chunks_are_reported(folder):
    z = zarr.create_array(folder / "m", shape=(9,), chunks=(3,), dtype="i4", fill_value=7)
    z[:3] = 1
    seen = []
    read = hz.Pipeline.read

    async def spy(self, *arguments, **options):
        seen.append(await read(self, *arguments, **options))
        return seen[-1]

    hz.Pipeline.read = spy
    try:
        assert z[:].tolist() == [1] * 3 + [7] * 6
        assert z[:3].tolist() == [1] * 3
    finally:
        hz.Pipeline.read = read
    assert [[r["status"] for r in results] for results in seen] == [
        ["present", "missing", "missing"], ["present"]]


def test_errors_keep_their_fields(folder):
    z = zarr.create_array(folder / "e", data=DATA, chunks=(3, 2))
    chunk = folder / "e" / "c" / "2" / "1"
    chunk.write_bytes(chunk.read_bytes()[:-2])
    with pytest.raises(hr.DataError) as caught:
        z[...]
    assert caught.value.key == "c/2/1"


def test_outputs_of_any_order_and_type(folder):
    from zarr.core.buffer import default_buffer_prototype

    z = zarr.create_array(folder / "o", data=DATA, chunks=(5, 4))
    buffers = default_buffer_prototype().nd_buffer
    for array in (np.zeros(DATA.shape, "<i4", order="F"), np.zeros((24, 10), "<i4")[::2]):
        z.get_basic_selection(..., out=buffers.from_ndarray_like(array))
        same(array, DATA)
    assert hz.stats()["native"] == 2


@pytest.mark.parametrize("store", ["local", "memory"])
def test_chunks_go_where_their_contexts_say(folder, store):
    where = folder / "g" if store == "local" else zarr.storage.MemoryStore()
    z = zarr.create_array(where, name="x", data=DATA, chunks=(5, 4), fill_value=-1)
    out = np.zeros((2, 2), "f8")
    got = hz.getitems(z, {
        (0, 0): None, (2, 2): hz.ItemContext(dtype=">i4"),
        (1, 1): hz.ItemContext(selection=np.s_[1:5:3, ::-2], out=out, dtype="f8"),
        (0, 1): hz.ItemContext(selection=(..., -1))})
    assert got[0, 0].tolist() == DATA[:5, :4].tolist()
    assert got[2, 2].tolist() == DATA[10:, 8:].tolist()
    assert got[1, 1] is out and out.tolist() == DATA[5:10, 4:8][1:5:3, ::-2].tolist()
    assert got[0, 1].tolist() == DATA[:5, 7].tolist()
    assert hz.getitems(z, {}) == {}
    for wrong in ({(3, 0): None}, {(0,): None}, {(0, 0): hz.ItemContext(selection=9)}):
        with pytest.raises(hr.SelectionError):
            hz.getitems(z, wrong)
    for text, wrong in [("an ItemContext or None, not 5", {(0, 0): 5}),
                        ("a tuple of integers, not 'x'", {"x": hz.ItemContext()}),
                        ("a tuple of integers, not \\(0, 'x'\\)", {(0, "x"): None}),
                        ("a mapping", [(0, 0)]), ("a mapping", None)]:
        with pytest.raises(hr.ArgumentError, match=text):
            hz.getitems(z, wrong)


@pytest.mark.parametrize("store", ["local", "memory"])
@pytest.mark.parametrize("shards", [None, (10, 8)])
def test_chunks_are_written_as_their_contexts_say(folder, store, shards):
    where = folder / "s" if store == "local" else zarr.storage.MemoryStore()
    z = zarr.create_array(where, name="x", shape=DATA.shape, dtype="<i4", fill_value=-1,
                          chunks=(5, 4), shards=shards)
    rows, columns = shards or (5, 4)
    expected = np.full(DATA.shape, -1, "<i4")
    hz.setitems(z, {(0, 0): DATA[:rows, :columns], (1, 1): 7,
                    (0, 1): DATA[:rows, columns:2 * columns][1:4:2, -1]},
                {(0, 1): hz.ItemContext(selection=np.s_[1:4:2, -1]), (0, 0): None})
    expected[:rows, :columns] = DATA[:rows, :columns]
    expected[rows:2 * rows, columns:2 * columns] = 7
    expected[1:4:2, min(2 * columns, 10) - 1] = DATA[:rows, columns:2 * columns][1:4:2, -1]
    same(z[...], expected)
    hz.setitems(z, {})
    for values, contexts, error in [
            ({(9, 0): 1}, {}, hr.SelectionError), ({(0,): 1}, {}, hr.SelectionError),
            ({(0, 0): np.zeros(3)}, {}, hr.ShapeError),
            ({(0, 0): 1}, {(0, 1): None}, hr.ArgumentError),
            ({(0, 0): None}, {}, hr.DTypeError), ({"x": 1}, {}, hr.ArgumentError),
            ({(0, 0): 1}, {(0, 0): 5}, hr.ArgumentError),
            ({(0, 0): 1}, {(0, 0): hz.ItemContext(selection=np.s_[::-1])}, hr.SelectionError),
            ({(0, 0): 1}, {(0, 0): hz.ItemContext(device="cpu")}, hr.ArgumentError)]:
        with pytest.raises(error):
            hz.setitems(z, {(1, 1): 8} | values, contexts)
    for values, contexts in [([1], None), ({(0, 0): 1}, [(0, 0)]), ({}, [])]:
        with pytest.raises(hr.ArgumentError, match="a mapping"):
            hz.setitems(z, values, contexts)
    same(z[...], expected)  # nothing was written


def test_the_entry_point_is_found_by_another_process(folder):
    zarr.create_array(folder / "e", data=DATA, chunks=(3, 2))
    script = ("import sys, zarr; z = zarr.open_array(sys.argv[1]); print(z[3].tolist(), "
              "type(z.async_array.codec_pipeline).__module__)")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
                   "ZARR_CODEC_PIPELINE__PATH": "headrace.zarr.Pipeline"}
    out = subprocess.run([sys.executable, "-c", script, folder / "e"], env=environment,
                         capture_output=True, text=True, check=True).stdout
    assert out.strip() == f"{DATA[3].tolist()} headrace.zarr"


def test_a_pipeline_pickles_and_many_read_at_once(folder):
    z = zarr.create_array(folder / "p", data=DATA, chunks=(3, 2))
    z[0]
    again = pickle.loads(pickle.dumps(z))
    assert type(again.async_array.codec_pipeline) is hz.Pipeline
    same(again[...], DATA)

    async def main():
        return await asyncio.gather(*(z.async_array.getitem((i, slice(None))) for i in range(12)))

    same(np.stack(asyncio.run(main())), DATA)
    assert hz.stats()["fallback"] == {}
