"""Dask reads through headrace, in threads and in processes of a cluster. SPDX-License-Identifier: Apache-2.0"""

import sys
import warnings

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
xr = pytest.importorskip("xarray")

import cupy_standin  # noqa: E402
import headrace.dask  # noqa: E402

DATA = np.random.default_rng(4).integers(-999, 999, (40, 30, 20)).astype("i2")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("dask") / "d.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = zarr.create_group(path)
        a = root.create_array("a", data=DATA, chunks=(9, 10, 20), dimension_names=("t", "y", "x"))
        a.attrs.update({"scale_factor": 0.5, "_FillValue": 3})
        root.create_array("words", shape=(5,), chunks=(2,), dtype=str,
                          dimension_names=("w",))[:] = np.array(["ä", "", "b", "cc", "d"], dtype=object)
    return path


def unpacked():
    return np.where(DATA == 3, np.nan, DATA * 0.5)


def test_blocks_are_chunks_or_as_asked(stored):
    a = hr.open(stored / "a")
    x = headrace.dask.from_array(a)
    assert x.chunks[0] == (9, 9, 9, 9, 4) and x.dtype == DATA.dtype
    assert (x.compute() == DATA).all()
    assert (x[5:30:4, ::-1, 3].compute() == DATA[5:30:4, ::-1, 3]).all()
    x = headrace.dask.from_array(a, (20, -1, 7), mask_and_scale=True)
    assert x.chunks == ((20, 20), (30,), (7, 7, 6)) and x.dtype == np.float64
    assert np.array_equal(x.compute(), unpacked(), equal_nan=True)
    assert (headrace.dask.from_array(a, dtype="f4").sum().compute() == DATA.astype("f4").sum())
    assert headrace.dask.from_array(a).name == headrace.dask.from_array(a).name
    words = headrace.dask.from_array(hr.open(stored / "words"))
    assert words.compute().tolist() == ["ä", "", "b", "cc", "d"]
    with pytest.raises(hr.ArgumentError):
        headrace.dask.from_array(DATA)


def test_blocks_stay_on_the_device(stored, monkeypatch):
    try:
        hr.device_info("cuda:0")
        device = "cuda"
    except hr.Error:
        device = "simt"
        try:
            hr.open(stored / "a", device)[0]
        except hr.UnsupportedError:
            pytest.skip("neither a GPU nor the simt device")
        cupy_standin.install(monkeypatch)
    cupy = pytest.importorskip("cupy")
    x = headrace.dask.from_array(hr.open(stored / "a", device))
    assert isinstance(x._meta, cupy.ndarray)
    result = x.max(axis=0).compute(scheduler="threads")
    assert isinstance(result, cupy.ndarray)
    assert (result.get() == DATA.max(axis=0)).all()


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None,
                                  worker_dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        yield client


def test_two_workers_read(stored, client):
    x = headrace.dask.from_array(hr.open(stored / "a"), mask_and_scale=True)
    assert np.array_equal(x.compute(), unpacked(), equal_nan=True)
    ds = xr.open_dataset(stored, engine="headrace", chunks={"t": 18})
    assert np.array_equal(ds.a.compute(), unpacked(), equal_nan=True)
    np.testing.assert_allclose(ds.a.mean("t").compute(), np.nanmean(unpacked(), axis=0))
    assert ds.words.compute().values.tolist() == ["ä", "", "b", "cc", "d"]
    assert all(client.run(lambda: "headrace" in sys.modules).values())
    assert len(client.run(lambda: sys.modules["os"].getpid()).values()) == 2


def test_a_bad_chunk_is_named_by_the_worker(stored, client, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.create_array(tmp_path / "b", data=DATA[0], chunks=(10, 20))
    next((tmp_path / "b" / "c" / "1").iterdir()).write_bytes(b"garbage")
    with pytest.raises(hr.DataError) as caught:
        headrace.dask.from_array(hr.open(tmp_path / "b")).compute()
    assert caught.value.key == "c/1/0" and caught.value.codec == "zstd"


def test_workers_read_into_their_gpu(stored, client):
    try:
        hr.device_info("cuda:0")
    except hr.Error as error:
        pytest.skip(f"no GPU: {error}")
    cupy = pytest.importorskip("cupy")
    x = headrace.dask.from_array(hr.open(stored / "a", "cuda"))
    kinds = x.map_blocks(lambda block: np.array([[[type(block).__module__.split(".")[0]]]]),
                         dtype="U9", meta=np.empty((0, 0, 0), "U9"), chunks=(1, 1, 1))
    assert set(np.unique(kinds.compute())) == {"cupy"}
    result = x.max(axis=0).compute()
    assert isinstance(result, cupy.ndarray) and (result.get() == DATA.max(axis=0)).all()
