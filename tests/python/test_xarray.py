"""engine="headrace" gives what xarray's own engine for Zarr gives. SPDX-License-Identifier: Apache-2.0"""

import asyncio
import pathlib
import pickle
import shutil

import numpy as np
import pytest
import test_corpus

hr = pytest.importorskip("headrace", reason="the package is not built")
xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")
dask = pytest.importorskip("dask")

import cupy_standin  # noqa: E402
from headrace.xarray import Backend  # noqa: E402

RNG = np.random.default_rng(3)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning",
                                        "ignore::FutureWarning")


def ours(path, **options):
    return xr.open_dataset(path, engine=Backend, **options)


def theirs(path, **options):
    return xr.open_dataset(path, engine="zarr", consolidated=False, **options)


@pytest.fixture(params=["cpu", "device"])
def device(request, monkeypatch, folder):
    """The host, and a device: a GPU where there is one, else the simt device with arrays
    that behave as CuPy's."""
    if request.param == "cpu":
        return "cpu"
    return use_device(monkeypatch, folder)


@pytest.fixture
def gpu(monkeypatch, folder):
    return use_device(monkeypatch, folder)


def use_device(monkeypatch, folder):
    try:
        hr.device_info("cuda:0")
    except hr.Error:
        zarr.create_array(folder / "probe", data=np.zeros(3))
        try:
            hr.open(folder / "probe", "simt")[:]
        except hr.UnsupportedError:
            pytest.skip("neither a GPU nor the simt device")
        cupy_standin.install(monkeypatch)
        return "simt"
    pytest.importorskip("cupy")
    return "cuda"


def weather(nt=10, ny=8, nx=6):
    time = np.arange("2001-01-01", f"2001-01-{nt + 1:02}", dtype="datetime64[D]").astype("M8[ns]")
    values = RNG.normal(280, 9, (nt, ny, nx))
    holes = values.copy()
    holes[RNG.random(values.shape) < 0.2] = np.nan
    dims = ("time", "y", "x")
    return xr.Dataset(
        {"t2m": (dims, holes.astype("f4"), {"units": "K", "coordinates": "lat2d"}),
         "packed": (dims, holes, {"long_name": "packed to i2"}),
         "masked": (dims, np.where(np.isnan(holes), np.nan, values.round()).astype("f4")),
         "count": (dims, RNG.integers(0, 99, values.shape).astype("i8")),
         "flag": (("y", "x"), RNG.random((ny, nx)) < 0.5),
         "wave": (("y", "x"), RNG.normal(size=(ny, nx)) + 1j),
         "when": ("time", time + np.timedelta64(6, "h")),
         "lasting": ("time", np.arange(nt).astype("m8[h]").astype("m8[ns]")),
         "name": ("y", np.array([f"row {i}ä" for i in range(ny)], dtype=object)),
         "fixed": ("y", np.array([f"r{i}" for i in range(ny)])),
         "level": ((), 850.0)},
        coords={"time": ("time", time, {"bounds": "time_bnds"}), "y": np.linspace(50, 60, ny),
                "x": np.arange(nx), "lat2d": (("y", "x"), RNG.random((ny, nx))),
                "label": ("x", np.array(list("abcdef")[:nx], dtype=object)),
                "time_bnds": (("time", "nv"), np.stack([time, time + np.timedelta64(1, "D")], 1))},
        attrs={"title": "weather", "levels": [1, 2]})


ENCODING = {
    "packed": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 250.0, "_FillValue": -32768,
               "chunks": (3, 4, 5)},
    "masked": {"dtype": "i4", "_FillValue": -1, "missing_value": -1, "chunks": (4, 8, 3)},
    "t2m": {"chunks": (4, 4, 4)}, "count": {"chunks": (10, 8, 6)}}


@pytest.fixture(scope="module", params=[2, 3])
def stored(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("xarray") / "w.zarr"
    weather().to_zarr(path, zarr_format=request.param, encoding=ENCODING, consolidated=False)
    return path


@pytest.fixture(scope="module")
def stored3(tmp_path_factory):
    path = tmp_path_factory.mktemp("xarray") / "w3.zarr"
    weather().to_zarr(path, zarr_format=3, encoding=ENCODING, consolidated=False)
    return path


@pytest.fixture
def own_copy(stored3, folder):
    return pathlib.Path(shutil.copytree(stored3, folder / "w.zarr"))


def same(got, want):
    """Identical, the types too, wherever the elements are."""
    got = got.as_numpy()
    xr.testing.assert_identical(got, want)
    variables = got.variables if isinstance(got, xr.Dataset) else {None: got.variable}
    others = want.variables if isinstance(want, xr.Dataset) else {None: want.variable}
    for name, variable in variables.items():
        assert variable.dtype == others[name].dtype


@pytest.mark.parametrize("options", [
    {}, {"mask_and_scale": False}, {"decode_times": False}, {"decode_cf": False},
    {"decode_coords": "all"}, {"drop_variables": ["packed", "label"]}, {"drop_variables": "t2m"},
    {"mask_and_scale": {"packed": False}}, {"decode_timedelta": True},
    {"concat_characters": False}, {"decode_coords": False}])
def test_datasets_are_identical(stored, device, options):
    same(ours(stored, device=device, **options), theirs(stored, **options))


def test_encodings_say_how_it_is_stored(stored3):
    got, want = ours(stored3), theirs(stored3)
    for name in want.variables:
        for key in ("chunks", "preferred_chunks", "shards", "_FillValue", "scale_factor",
                    "add_offset", "missing_value", "dtype", "units", "coordinates"):
            a, b = got[name].encoding.get(key), want[name].encoding.get(key)
            assert a == b or (a != a and b != b), (name, key)


SELECTIONS = [
    {"time": 3}, {"time": slice(2, 9, 3)}, {"time": slice(None, None, -2)}, {"y": [5, 1, 1]},
    {"time": [0, 9], "x": [3, 0, 2]}, {"time": 0, "y": 1, "x": 2}, {"time": slice(4, 4)},
    {"time": xr.DataArray([1, 5, 2], dims="p"), "y": xr.DataArray([0, 7, 3], dims="p")},
    {"time": xr.DataArray([1, 5, 2], dims="p"), "y": xr.DataArray([0, 7, 3], dims="p"),
     "x": xr.DataArray([0, 1, 5], dims="p")},
    {"y": xr.DataArray([[0, 7], [3, 3]], dims=("a", "b")), "x": slice(1, 5, 2)},
    {"y": np.arange(8) % 3 == 0}, {"x": xr.DataArray([2], dims="p"), "y": 4}]


@pytest.mark.parametrize("key", SELECTIONS)
def test_lazy_selections(stored3, device, key):
    names = ["t2m", "packed", "masked", "count"]
    got, want = ours(stored3, device=device)[names], theirs(stored3)[names]
    same(got.isel(key), want.isel(key))
    if sum(isinstance(k, int) for k in key.values()) > 1:
        return  # xarray itself stumbles over the rest
    same(got.transpose().isel(key), want.transpose().isel(key))
    got, want = (d.isel(y=slice(1, None)).transpose("x", ...).isel(x=[2, 0, 4, 4, 5, 3])
                 .transpose("y", ...) for d in (got, want))
    key = {name: k for name, k in key.items() if name != "y"}
    same(got.isel(key), want.isel(key))


def test_many_points_with_long_slices(folder, device):
    data = RNG.normal(size=(300, 20, 30)).astype("f4")
    xr.Dataset({"a": (("t", "y", "x"), data)}).to_zarr(
        folder / "p.zarr", encoding={"a": {"chunks": (100, 5, 7)}}, consolidated=False)
    y = xr.DataArray(RNG.integers(0, 20, (3, 4)), dims=("p", "q"))
    x = xr.DataArray(RNG.integers(0, 30, (3, 4)), dims=("p", "q"))
    for key in ({"y": y, "x": x}, {"y": y, "x": x, "t": slice(10, 290, 3)}, {"t": y, "x": x}):
        same(ours(folder / "p.zarr", device=device).isel(key),
             theirs(folder / "p.zarr").isel(key))


PACKINGS = [
    ("i1", {"_Unsigned": "true"}), ("i1", {"_Unsigned": "true", "_FillValue": -1}),
    ("i2", {"_Unsigned": "true", "scale_factor": 0.5, "_FillValue": -7}),
    ("u1", {"_Unsigned": "false"}), ("u1", {"_Unsigned": "false", "_FillValue": 2}),
    ("i2", {"scale_factor": 2}), ("i2", {"add_offset": 100}), ("i4", {"scale_factor": 0.1}),
    ("u2", {"scale_factor": 1, "add_offset": 3}), ("i8", {"_FillValue": 5}),
    ("f2", {"missing_value": 3.0}), ("f4", {"scale_factor": 2.0, "missing_value": 3.0}),
    ("f4", {"_FillValue": 3.0, "missing_value": 7.0}), ("f8", {"missing_value": [3.0, 4.0]}),
    ("i2", {"missing_value": [3, 4, 5]}), ("u1", {"_FillValue": 3, "scale_factor": [0.25]}),
    (">i2", {"_FillValue": 3, "add_offset": 0.5}), ("i1", {"dtype": "bool"}),
    ("f4", {"units": "days since 2000-01-01", "missing_value": 3.0}),
    ("i4", {"units": "hours", "_FillValue": 3}), ("i4", {"units": "hours", "scale_factor": 0.5})]


@pytest.mark.parametrize("dtype, attributes", PACKINGS)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_packed_numbers(folder, device, dtype, attributes, zarr_format):
    data = (np.arange(60) % 11).astype(dtype).reshape(6, 10)
    if np.dtype(dtype).kind == "i":
        data -= 5
    if attributes.get("dtype") == "bool":
        data = (data > 0).astype(dtype)
    root = zarr.create_group(folder / "g.zarr", zarr_format=zarr_format)
    fill = {"fill_value": None if "scale_factor" in attributes else 4} \
        if zarr_format == 2 and "_FillValue" not in attributes else {}
    names = {"dimension_names": ("y", "x")} if zarr_format == 3 else {}
    a = root.create_array("v", shape=data.shape, dtype=dtype, chunks=(4, 4), **names, **fill)
    a[:] = data
    attributes = dict(attributes)
    if zarr_format == 2:
        attributes["_ARRAY_DIMENSIONS"] = ["y", "x"]
    elif dtype == "f4" and "_FillValue" in attributes:
        attributes["_FillValue"] = "AAAAAAAACEA="  # 3.0, as xarray writes it
    a.attrs.update(attributes)
    for options in ({}, {"decode_timedelta": True}):
        same(ours(folder / "g.zarr", device=device, **options), theirs(folder / "g.zarr", **options))


@pytest.mark.parametrize("fill", [0, float("nan"), 2 + 1j])
@pytest.mark.filterwarnings("ignore")
def test_complex_numbers(folder, device, fill):
    root = zarr.create_group(folder / "g.zarr", zarr_format=2)
    a = root.create_array("v", shape=(5,), dtype="c8", chunks=(3,), fill_value=fill)
    a[:] = np.array([0, 1j, 2 + 1j, np.nan, 3])
    a.attrs["_ARRAY_DIMENSIONS"] = ["x"]
    for options in ({}, {"mask_and_scale": False}):
        same(ours(folder / "g.zarr", device=device, **options), theirs(folder / "g.zarr", **options))


def test_what_xarray_must_decode_is_said(folder, gpu):
    root = zarr.create_group(folder / "g.zarr", zarr_format=3)
    a = root.create_array("v", shape=(4,), dtype="i2", dimension_names=("x",))
    a.attrs["missing_value"] = [1, 2, 3]
    with pytest.warns(UserWarning, match="on the host"):
        assert isinstance(ours(folder / "g.zarr", device=gpu).v.load().data, np.ndarray)
    with hr.config(strict=True), pytest.raises(hr.StrictError, match="on the host"):
        ours(folder / "g.zarr", device=gpu)


def test_coordinates_and_text_stay_on_the_host(stored, gpu):
    import cupy
    ds = ours(stored, device=gpu).load()
    for name in ("t2m", "packed", "masked", "count", "flag", "wave", "level"):
        assert isinstance(ds[name].data, cupy.ndarray), name
    for name in ("time", "x", "lat2d", "label", "time_bnds", "when", "name", "fixed"):
        assert isinstance(ds[name].variable.to_base_variable()._data, np.ndarray) or \
            not isinstance(ds[name].data, cupy.ndarray), name


def test_the_probe_list(stored3, gpu):
    """What users do with arrays on a GPU; each result is that of the host."""
    import cupy

    def each(ds):
        for name in ("t2m", "packed"):
            v = ds[name]
            yield v.isel(time=0, y=slice(1, 5))
            yield v.isel(y=[5, 1])
            yield v.isel(time=slice(None, None, -1))
            yield v.isel(x=xr.DataArray([1, 2], dims="p"), y=xr.DataArray([0, 7], dims="p"))
            yield v.sel(y=53.2, method="nearest")
            yield v[0, 0, 0]
            yield v.transpose("x", "y", "time")
            yield v.load().isel(time=1) + 1
            yield v.compute() * 2
            yield v.mean("time")
            yield v.max()
            yield v.where(v > 280, 0)
            yield v.fillna(0)
            yield v.astype("f8")
            yield v.groupby("time.dayofyear").mean()
            yield v.resample(time="5D").mean()
            yield v.coarsen(time=2).mean()
            yield xr.apply_ufunc(lambda x: x * 3, v)

    def quiet(path, **options):
        ds = path(stored3, **options)
        assert "t2m" in repr(ds) and "t2m" in repr(ds.t2m.load()) and ds._repr_html_()
        return each(ds)

    count = 0
    for got, want in zip(quiet(ours, device=gpu), quiet(theirs), strict=True):
        assert isinstance(got.data, cupy.ndarray)
        xr.testing.assert_allclose(got.as_numpy(), want)
        assert isinstance(got.to_numpy(), np.ndarray)
        count += 1
    assert count == 36
    assert isinstance(ours(stored3, device=gpu).t2m.load().chunk(time=2).data._meta, cupy.ndarray)


def test_chunks_keep_the_device(stored3, gpu):
    import cupy
    for name in ("t2m", "packed"):
        for ds in (ours(stored3, device=gpu, chunks={"time": 4}),
                   ours(stored3, device=gpu, chunks={}), ours(stored3, device=gpu).chunk(time=4),
                   ours(stored3, device=gpu).isel(y=slice(2, 7)).chunk(y=3)):
            v = ds[name]
            assert isinstance(v.data._meta, cupy.ndarray)
            blocks = dask.compute(*v.data.to_delayed().ravel(), scheduler="threads")
            assert all(isinstance(block, cupy.ndarray) for block in blocks)
            want = theirs(stored3)[name]
            if v.sizes["y"] == 5:
                want = want.isel(y=slice(2, 7))
            mean = v.mean("time").compute()
            assert isinstance(mean.data, cupy.ndarray)
            xr.testing.assert_allclose(mean.as_numpy(), want.mean("time"))


def test_chunks_on_the_host(stored3):
    got = ours(stored3, chunks={})
    want = theirs(stored3, chunks={})
    for name in ("t2m", "packed", "lat2d", "name"):
        assert got[name].chunks == want[name].chunks
    xr.testing.assert_identical(got.compute(), want.compute())


def test_pickles_are_places(stored3, device):
    ds = ours(stored3, device=device)
    data = pickle.dumps(ds)
    assert len(data) < 40_000
    same(pickle.loads(data), theirs(stored3))
    same(pickle.loads(pickle.dumps(ours(stored3, device=device, chunks={}))), theirs(stored3))


def test_async(stored3, device):
    async def main():
        ds = ours(stored3, device=device)
        parts = [ds[["t2m", "packed"]].isel(time=t) for t in range(10)]
        parts.append(ds.isel(time=[3, 1]))
        return await asyncio.gather(*(part.load_async() for part in parts))

    for t, got in enumerate(asyncio.run(main())):
        want = theirs(stored3)
        same(got, want[["t2m", "packed"]].isel(time=t) if t < 10 else want.isel(time=[3, 1]))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_groups_and_trees(folder, device, zarr_format):
    tree = xr.DataTree.from_dict({"/": xr.Dataset(attrs={"a": 1}), "/w": weather(4),
                                  "/deep/er": weather(3)[["t2m", "packed"]]})
    tree.to_zarr(folder / "t.zarr", zarr_format=zarr_format)
    path = folder / "t.zarr"
    same(ours(path, group="/deep/er", device=device), theirs(path, group="deep/er"))
    got = xr.open_datatree(path, engine=Backend, device=device)
    want = xr.open_datatree(path, engine="zarr", consolidated=False)
    assert sorted(got.groups) == sorted(want.groups)
    for name in want.groups:
        same(got[name].to_dataset(), want[name].to_dataset())
    got = xr.open_groups(path, engine=Backend, device=device)
    assert set(got) == set(xr.open_groups(path, engine="zarr", consolidated=False))
    below = xr.open_datatree(path, engine=Backend, group="deep")
    same(below["er"].to_dataset(), theirs(path, group="deep/er"))


def test_damage_elsewhere_does_not_keep_a_dataset_shut(own_copy):
    for name in ("lat2d", "t2m"):
        for chunk in own_copy.glob(f"{name}/**/*"):
            if chunk.is_file() and not chunk.name.startswith((".z", "zarr")):
                chunk.write_bytes(b"garbage")
    ds = ours(own_copy)
    assert ds.packed.variable.load().notnull().any()
    for name in ("lat2d", "t2m"):
        with pytest.raises(hr.DataError, match=name):
            ds[name].variable.load()


def test_the_engine_has_a_name(stored3):
    same(xr.open_dataset(stored3, engine="headrace"), theirs(stored3))
    assert not Backend().guess_can_open("a.zarr")  # zarr's own engine is there


def test_what_is_wrong_is_said(folder, own_copy):
    stored = own_copy
    with pytest.raises(hr.NotFoundError):
        ours(folder / "nothing.zarr")
    with pytest.raises(hr.ArgumentError, match="is an array"):
        ours(stored, group="t2m")
    zarr.create_group(stored, zarr_format=3, overwrite=True).create_array(
        "bare", shape=(2, 3), dtype="i4")
    with pytest.raises(hr.MetadataError, match="bare"):
        ours(stored)
    assert not ours(stored, drop_variables="bare").variables
    with pytest.raises(hr.ArgumentError, match="device"):
        ours(stored, device=3.5)


@pytest.mark.skipif(not test_corpus.ROWS, reason=f"no corpus at {test_corpus.CORPUS}")
def test_groups_of_the_corpus():
    """Whatever xarray's engine opens is the same here."""
    ncompared = 0
    for row in test_corpus.ROWS:
        if row["class"] != "zarr-group":
            continue
        path = test_corpus.place(row)
        try:
            want = xr.open_dataset(path, engine="zarr").load()
        except Exception:
            continue  # mostly arrays without names for their axes
        if b"_NCZARR_ARRAY" in b"".join(f.read_bytes() for f in path.glob("*/.zarray")):
            continue  # names of axes where headrace does not look
        same(ours(path).load(), want)
        ncompared += bool(want.variables)
    assert ncompared > 5


def test_many_files(folder, gpu):
    import cupy
    paths = [folder / f"{i}.zarr" for i in range(3)]
    whole = weather(9)[["t2m", "packed"]].drop_vars("label")
    for i, path in enumerate(paths):
        whole.isel(time=slice(3 * i, 3 * i + 3)).to_zarr(
            path, zarr_format=3, consolidated=False,
            encoding={"t2m": {"chunks": (2, 4, 4)}, "packed": dict(ENCODING["packed"])})
    options = {"data_vars": "minimal", "coords": "minimal", "compat": "override"}
    got = xr.open_mfdataset(paths, engine=Backend, device=gpu, **options)
    assert isinstance(got.t2m.data._meta, cupy.ndarray)
    got = got.isel(y=slice(2, 6)).compute()
    assert isinstance(got.packed.data, cupy.ndarray)
    want = xr.open_mfdataset(paths, engine="zarr", consolidated=False, **options)
    same(got, want.isel(y=slice(2, 6)).compute())


def test_a_malformed_member_is_an_error_unless_it_is_dropped(folder):
    path = folder / "g.zarr"
    xr.Dataset({"a": ("x", np.arange(3))}).to_zarr(path, consolidated=False, zarr_format=3)
    whole = theirs(path).load()
    (path / "bad").mkdir()
    (path / "bad" / "zarr.json").write_text("{")
    with pytest.raises(hr.MetadataError, match="bad/zarr.json"):
        ours(path)
    xr.testing.assert_identical(ours(path, drop_variables="bad").load(), whole)
    with pytest.raises(hr.MetadataError):
        xr.open_datatree(path, engine=Backend)
