"""Batches, outputs, settings and errors of the package. SPDX-License-Identifier: Apache-2.0"""

import array
import errno
import os
import pathlib
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest
import zarr

import test_cli_tiff

hr = pytest.importorskip("headrace", reason="the package is not built")
DATA = np.arange(40, dtype="<i4").reshape(8, 5)


@pytest.fixture
def a(folder):
    zarr.create_array(folder / "a.zarr", data=DATA, chunks=(3, 2), fill_value=-1)
    return hr.open(folder / "a.zarr")


def test_one_read_and_many(a):
    future = a.read(np.s_[1:3, ::-1])
    assert isinstance(future, hr.Future)
    assert future.result().tolist() == DATA[1:3, ::-1].tolist() and future.done()
    many = a.read([np.s_[0], hr.oindex[[7, 0], [4, 1]], hr.vindex[[1, 2], [3, 4]],
                   hr.blocks[0, 1], hr.mask(DATA % 7 == 0), ...]).result()
    expected = [DATA[0], DATA[np.ix_([7, 0], [4, 1])], DATA[[1, 2], [3, 4]], DATA[:3, 2:4],
                DATA[DATA % 7 == 0], DATA]
    for result, value in zip(many, expected, strict=True):
        assert result.tolist() == value.tolist()
    assert a.read([]).result() == [] and hr.read_batch([]).result() == []


def test_each_chunk_of_a_batch_is_read_once(a):
    future = hr.read_batch([(a, ...), (a, np.s_[0:3, 0:2]), a])
    future.result()
    assert future.stats()["nchunks"] == 9 and future.stats()["nreads"] == 9
    stages = future.stages()
    assert stages["read"].seconds > 0 and stages["copy"].seconds == 0
    assert stages.bound in {stage.name for stage in stages.stages} and stages.nthreads >= 1
    assert f"bound by {stages.bound}" in repr(stages)


def test_types_are_converted_when_asked(a):
    assert a.read(0, dtype="float64").result().to("numpy").dtype == np.float64
    out = np.empty(5, ">f4")
    assert a.read(1, out=out, dtype="f4").result() is out
    assert out.tolist() == DATA[1].tolist()
    with pytest.raises(TypeError, match="dtype="):
        a.read(1, out=np.empty(5, "f4"))
    swapped = np.empty(5, ">i4")  # the order of bytes is no other type
    a.read(1, out=swapped).result()
    assert swapped.tolist() == DATA[1].tolist()


def test_any_memory_can_be_filled(a):
    backwards = np.empty((5, 8), "i4").T[::-1]
    a.read(..., out=backwards).result()
    assert backwards.tolist() == DATA.tolist()
    plain = array.array("i", [0] * 5)
    a.read(2, out=plain).result()
    assert plain.tolist() == DATA[2].tolist()
    raw = bytearray(20)
    a.read(2, out=np.frombuffer(raw, "i4")).result()
    assert np.frombuffer(raw, "i4").tolist() == DATA[2].tolist()

    class Foreign:  # DLPack of before version 1
        def __init__(self):
            self.data = np.zeros(5, "i4")

        def __dlpack__(self, *, stream=None):
            return self.data.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    foreign = Foreign()
    a.read(2, out=foreign).result()
    assert foreign.data.tolist() == DATA[2].tolist()
    tensor = a[3]
    assert a.read(2, out=tensor).result() is tensor
    assert tensor.tolist() == DATA[2].tolist()


def test_outputs_of_a_batch(a):
    keys = [np.s_[0], np.s_[7], np.s_[3]]
    items = [(a, key) for key in keys]
    expected = DATA[[0, 7, 3]]
    outs = [np.empty(5, "i4") for _ in keys]
    assert hr.read_batch(items, out=outs).result() is outs
    assert [out.tolist() for out in outs] == expected.tolist()
    stacked = np.empty((3, 5), "i4")
    assert hr.read_batch(items, out=stacked).result() is stacked
    assert stacked.tolist() == expected.tolist()
    wide = np.zeros((3, 10), "i4")
    hr.read_batch(items, out=wide[::-1, ::2]).result()
    assert wide[::-1, ::2].tolist() == expected.tolist() and not wide[:, 1::2].any()
    row = np.empty(15, "i4")
    hr.read_batch(items, out=row).result()
    assert row.tolist() == expected.reshape(-1).tolist()
    columns = np.empty((5, 3), "i4")  # interleaved, without sharing an element
    hr.read_batch(items, out=list(columns.T)).result()
    assert columns.T.tolist() == expected.tolist()


def test_packed_results_may_be_ragged(a):
    packed = hr.read_batch([(a, np.s_[0]), (a, np.s_[1:3, :2]), (a, np.s_[0:0])], out="packed",
                           dtype="f8").result()
    assert packed.data.shape == (9,) and packed.offsets.tolist() == [0, 5, 9, 9]
    assert packed.shapes == ((5,), (2, 2), (0, 5)) and len(packed) == 3
    assert packed[1].tolist() == DATA[1:3, :2].tolist()
    assert [p.shape for p in packed] == [(5,), (2, 2), (0, 5)]


REFUSED = {
    "shape": (np.empty((5, 8), "i4"), hr.ShapeError),
    "dtype": (np.empty((8, 5), "i8"), hr.DTypeError),
    "objects": (np.empty((8, 5), object), hr.DTypeError),
    "read-only": (np.broadcast_to(np.int32(0), (8, 5)), hr.ArgumentError),
    "overlapping itself": (np.lib.stride_tricks.as_strided(
        np.empty(12, "i4"), (8, 5), (4, 4)), hr.ArgumentError),
    "no memory": ("text", hr.ArgumentError),
    "a list": ([1, 2], hr.ArgumentError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_outputs_that_cannot_be_are_refused_before_any_work(a, name):
    out, error = REFUSED[name]
    with pytest.raises(error):
        a.read(..., out=out)


def test_outputs_that_share_memory_are_refused(a):
    out = np.zeros((2, 5), "i4")
    with pytest.raises(hr.ArgumentError, match="share"):
        a.read([0, 1], out=[out[0], out[0]])
    with pytest.raises(hr.ArgumentError, match="share"):
        a.read([0, np.s_[1, :4]], out=[out[0], out.reshape(-1)[3:7]])
    with pytest.raises(hr.ShapeError):
        a.read([0, 1], out=[out[0]])
    with pytest.raises(hr.ShapeError):
        a.read([0, np.s_[:2]], out=np.zeros((2, 5), "i4"))
    assert not out.any()


def test_wrong_streams_and_devices_are_refused(a):
    class Stream:
        def __cuda_stream__(self):
            return (0, 0x1234)

    class Torch:
        cuda_stream = 7

    out = np.zeros((8, 5), "i4")
    for read in (lambda device: a.read(..., out, device=device),
                 lambda device: hr.read_batch([a], [out], device=device)):
        with pytest.raises(hr.ArgumentError, match="out lies on cpu, not on cuda:7"):
            read("cuda:7")
        assert not out.any()
    assert a.read(..., out, device="cpu").result() is out
    assert a.read(0, stream=Stream()).result().tolist() == DATA[0].tolist()
    assert a.read(0, stream=Torch()).result().tolist() == DATA[0].tolist()
    with pytest.raises(hr.ArgumentError):
        a.read(0, stream="fast")
    for stream in (-1, 1 << 64):
        with pytest.raises(hr.ArgumentError):
            a.read(0, stream=stream)
    for device in ("tpu", 1.5, (9, 0), object(), 1 << 40):
        with pytest.raises(hr.ArgumentError):
            a.read(0, device=device)


def test_wrong_items_of_a_batch_are_refused(folder, a):
    group = hr.open(zarr.create_group(folder / "g").store.root)
    for item in (5, group, (group, 0), (a, 1, 2), (zarr.open(folder / "a.zarr"), 0), np.ones(3)):
        with pytest.raises(hr.ArgumentError, match="an item is"):
            hr.read_batch([item])


def test_results_for_a_stream(folder, a):
    future = a.read(np.s_[2:4])
    assert future.result_on(None).tolist() == DATA[2:4].tolist()  # host memory is complete
    assert future.result() is future.result_on(7)
    try:
        b = hr.open(folder / "a.zarr", "simt")
        future = b.read(np.s_[2:4])
    except hr.UnsupportedError:
        pytest.skip("this build has no simt device")
    tensor = future.result_on(None)
    future.result()
    assert tensor.to("numpy").tolist() == DATA[2:4].tolist()


def test_errors_name_the_place(folder, a):
    chunk = folder / "a.zarr" / "c" / "1" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    future = a.read([np.s_[0], np.s_[3:6], np.s_[7]])
    with pytest.raises(hr.DataError) as caught:
        future.result()
    error = caught.value
    assert error.key == "c/1/0" and error.url.endswith("a.zarr") and error.codec
    assert isinstance(error, ValueError) and "c/1/0" in str(error)
    assert [e is None for e in future.exceptions()] == [True, False, True]
    assert isinstance(future.exception(), hr.DataError)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is hr.DataError and str(again) == str(error) and again.key == error.key
    with pytest.raises(hr.NotFoundError) as caught:
        hr.open(folder / "nothing")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert error.errno == error.os_errno == errno.ENOENT
    (folder / "bad").mkdir()
    (folder / "bad" / "zarr.json").write_text("{")
    with pytest.raises(hr.MetadataError):
        hr.open(folder / "bad")


def test_errors_say_where_in_a_shard(folder):
    zarr.create_array(folder / "s.zarr", data=DATA, chunks=(2, 5), shards=(8, 5))
    path = folder / "s.zarr" / "c" / "0" / "0"
    shard = bytearray(path.read_bytes())
    places = np.frombuffer(shard[-4 - 4 * 16:-4], "<u8").reshape(4, 2)  # of inner chunks: offset, bytes
    at, nbytes = map(int, places[2])
    shard[at:at + nbytes] = bytes(nbytes)
    path.write_bytes(shard)
    errors = hr.open(folder / "s.zarr").read([np.s_[i] for i in range(8)]).exceptions()
    assert [e and (e.key, e.offset, e.codec) for e in errors] == [
        *[None] * 4, *[("c/0/0", at, "zstd")] * 2, *[None] * 2]


def test_places_need_not_be_utf8(folder):
    place = os.fsencode(folder) + b"/\xff.zarr"
    zarr.create_array(folder / "a.zarr", data=DATA)
    os.rename(folder / "a.zarr", place)
    for name in (place, os.fsdecode(place)):
        assert hr.open(name)[0].tolist() == DATA[0].tolist() and "\\xff" in hr.open(name).url
        with pytest.raises(hr.NotFoundError, match=r"\\xff"):
            hr.open(name + name[-1:])
    for n in range(180, 250):  # cut within a letter somewhere
        with pytest.raises(hr.NotFoundError):
            hr.open(folder / ("é" * n)[:120] / ("é" * (n - 120)))


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_a_tiff_that_goes_away_is_no_fill(folder, device):
    path = folder / "x.tif"
    path.write_bytes(test_cli_tiff.one_strip("<", DATA.astype("u1").tobytes(), DATA.shape, 8))
    a = hr.open(path, device)
    try:
        assert a[3].tolist() == DATA[3].tolist()
    except hr.UnsupportedError:
        pytest.skip("this build has no simt device")
    path.unlink()
    with pytest.raises(hr.NotFoundError, match="x.tif"):
        a[3]


def test_an_array_is_not_searched(a):
    with pytest.raises(TypeError):
        5 in a  # noqa: B015


def test_strict_refuses_missing_chunks(folder, a):
    (folder / "a.zarr" / "c" / "0" / "0").unlink()
    assert a[0, 0].item() == -1
    with pytest.raises(hr.MissingChunkError, match="c/0/0"):
        a.read(0, strict=True).result()
    with hr.config(strict=True):
        with pytest.raises(LookupError):
            a[0]
        with hr.config(strict=False):
            assert a[0, 0].item() == -1
    assert a[0, 0].item() == -1 and hr.config.strict is False


def test_settings(folder, a):
    with pytest.raises(hr.ArgumentError, match="nthreads"):
        hr.config(threads=3)
    with pytest.raises(hr.ArgumentError):
        hr.config(device="tpu")
    for wrong in ({"nthreads": -1}, {"nthreads": 1.5}, {"scratch_nbytes": 1 << 70},
                  {"strict": "no"}, {"allocator": "malloc"}, {"allocator": 5}, {"io": "mmap"},
                  {"io": None}, {"io": DATA}, {"host_share": DATA}, {"host_share": "all"},
                  {"allocator": DATA}, {"allocator": ["cupy"]}, {"nthreads": DATA},
                  {"nthreads": True}, {"device": DATA}, {"device": True}):
        with pytest.raises(hr.ArgumentError):
            hr.config(**wrong)
    for many in (1025, 1 << 32, (1 << 40) + 1):
        with hr.config(nthreads=many), pytest.raises(hr.ArgumentError, match="at most"):
            hr.open(folder / "a.zarr")
    with pytest.raises(AttributeError, match="config.set"):
        hr.config.strict = True
    with hr.config(nthreads=np.int64(4), host_share=np.uint8(20), device=np.int64(0)) as plain:
        assert (type(plain.nthreads), plain.nthreads, plain.reading[2]) == (int, 4, 20)
        assert hr.open(folder / "a.zarr").device == "cuda:0"
    with hr.config(nthreads=1, scratch_nbytes=1 << 20):
        few = hr.open(folder / "a.zarr")
    assert few[...].tolist() == DATA.tolist()
    with hr.config(io="direct"):
        past = hr.open(folder / "a.zarr")
    future = past.read(...)
    assert future.result().tolist() == DATA.tolist()
    assert future.stats()["direct_nbytes"] <= future.stats()["read_nbytes"]
    with hr.config(device="cpu"):
        assert hr.open(folder / "a.zarr", "auto").device in ("cpu", "cuda:0")
    assert hr.codecs()["zstd"]["cpu"] and hr.device_info("cpu")["name"] == "cpu"
    script = ("import headrace as hr; c = hr.config; "
              "print(c.strict, c.nthreads, c.device)")
    environment = {**os.environ, "HEADRACE_STRICT": "1", "HEADRACE_THREADS": "3",
                   "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True,
                         text=True, check=True).stdout
    assert out.split() == ["True", "3", "cpu"]
    environment |= {"HEADRACE_STRICT": "off", "HEADRACE_THREADS": ""}
    out = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True,
                         text=True, check=True).stdout
    assert out.split() == ["False", "0", "cpu"]
    environment["HEADRACE_THREADS"] = "many"
    process = subprocess.run([sys.executable, "-c", script], env=environment,
                             capture_output=True, text=True, check=False)
    assert process.returncode != 0 and "HEADRACE_THREADS is 'many'" in process.stderr


def test_cupy_without_a_driver_means_the_first_gpu(a, folder, monkeypatch):
    def no_driver():
        raise OSError("cudaErrorInsufficientDriver")

    runtime = types.SimpleNamespace(getDevice=no_driver, CUDARuntimeError=OSError)
    monkeypatch.setitem(sys.modules, "cupy",
                        types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime)))
    assert hr.open(folder / "a.zarr", "cuda").device == "cuda:0"



def test_pickles_open_anew(folder, a):
    again = pickle.loads(pickle.dumps(a))
    assert again.url == a.url and again[3].tolist() == DATA[3].tolist()
    zarr.create_group(folder / "g").create_array("x/y", data=DATA)
    g = hr.open(folder / "g")
    for node in (g, g["x"], g["x"]["y"], g["x/y"]):
        again = pickle.loads(pickle.dumps(node))
        assert again.url == node.url and type(again) is type(node)


def test_packed_numbers_are_unpacked(folder):
    stored = np.array([[0, 1, -5], [7, -99, 2]], "<i2")
    zarr.create_array(folder / "p", data=stored, attributes={
        "scale_factor": 0.5, "add_offset": 10, "_FillValue": -99, "missing_value": 7})
    a = hr.open(folder / "p")
    expected = np.where((stored == -99) | (stored == 7), np.nan, stored * 0.5 + 10)
    got = np.asarray(a.read(..., mask_and_scale=True).result())
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, expected)
    small = np.asarray(a.read(..., mask_and_scale=True, dtype="f4").result())
    np.testing.assert_array_equal(small, expected.astype("f4"))
    own = a.read(..., mask_and_scale=hr.Packing(scale=2.0, fills=(0,))).result()
    np.testing.assert_array_equal(own, np.where(stored == 0, np.nan, stored * 2.0))
    plain = np.asarray(a.read(...).result())
    np.testing.assert_array_equal(plain, stored)
    for fills in ((1 << 40,), (1.5,), (np.nan,), ("7",), (1, 2, 7)):
        with pytest.raises(hr.ArgumentError, match="fill value"):
            a.read(..., mask_and_scale=hr.Packing(fills=fills))
    with pytest.raises(hr.ArgumentError, match="mask_and_scale"):
        a.read(..., mask_and_scale="no")
    for wrong in (dict(scale="x"), dict(offset=[1]), dict(fills=3)):
        with pytest.raises(hr.ArgumentError, match=next(iter(wrong))):
            a.read(..., mask_and_scale=hr.Packing(**wrong))
    zarr.create_array(folder / "q", data=stored.astype("f4"), attributes={
        "_FillValue": "AAAAAAAAHEA="})  # 7.0 as xarray writes it
    with pytest.raises(hr.ArgumentError, match="fill value"):
        hr.open(folder / "q").read(..., mask_and_scale=hr.Packing(fills=(1e300,)))
    got = np.asarray(hr.open(folder / "q").read(..., mask_and_scale=True).result())
    assert got.dtype == np.float32 and np.isnan(got).tolist() == (stored == 7).tolist()
    zarr.create_array(folder / "r", data=stored, attributes={"scale_factor": "much"})
    with pytest.raises(hr.MetadataError, match="scale_factor"):
        hr.open(folder / "r").read(..., mask_and_scale=True)


def test_the_package_needs_numpy_only():
    script = ("import sys, headrace; "
              "print([m for m in ('zarr', 'torch', 'cupy', 'jax', 'xarray', 'dask') "
              "if m in sys.modules])")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True,
                         text=True, check=True).stdout
    assert out.strip() == "[]"
    assert (pathlib.Path(hr.__file__).parent / "py.typed").exists()
