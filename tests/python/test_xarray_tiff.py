"""engine="headrace" makes of a TIFF what rioxarray does. SPDX-License-Identifier: Apache-2.0"""

import pickle
import sys

import numpy as np
import pytest
import test_corpus
from test_xarray import device, ours  # noqa: F401  (a fixture)

hr = pytest.importorskip("headrace", reason="the package is not built")
xr = pytest.importorskip("xarray")
pytest.importorskip("dask")
pyproj = pytest.importorskip("pyproj")
rasterio = pytest.importorskip("rasterio")
pytest.importorskip("rioxarray")

from headrace import _xr_crs  # noqa: E402
from headrace.xarray import Backend  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

# What is not as rioxarray has it, and why. Files of the corpus, by the end of their names.
OTHER_REFERENCES = {  # codes, and names, that stand beside numbers that contradict them
    "geogtowgs_subset_USGS_13_s14w171.tif", "propval_bg_01_01.tif", "lcmap_tiny_cog_2020.tif",
    "SBN_inc_percap-nodata-clip.tif"}
NO_REFERENCES = {  # local, and of arc seconds
    "3376.tif", "geog_arc_second.tif"}
OTHER_ATTRIBUTES = {  # a text that is no UTF-8, which rasterio leaves out
    "hopper_jpg.tif": "TIFFTAG_IMAGEDESCRIPTION", "hopper_lzma.tif": "TIFFTAG_IMAGEDESCRIPTION",
    "hopper_lzw.tif": "TIFFTAG_IMAGEDESCRIPTION"}
OTHER_VALUES = {  # masked where all bands are; scaled band by band
    "test_nodatavalues.tif", "cog_scale.tif", "cog_scale_epsg4326.tif"}


def named(row, names):
    return next((name for name in names if row["path"].endswith(name)), None)


def theirs(path, **options):
    return xr.open_dataset(path, engine="rasterio", **options)


def equal(a, b):
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b or (a != a and b != b)


def same_attributes(got, want, but=()):
    for name in set(got) | set(want) - set(but):
        if name not in but:
            assert name in got and name in want, (name, got.get(name), want.get(name))
            assert equal(got[name], want[name]), (name, got[name], want[name])


def both(row, **options):
    path = str(test_corpus.CORPUS / row["path"])
    try:
        want = theirs(path, **options)
    except Exception as error:  # whatever GDAL cannot read
        pytest.skip(f"rioxarray: {str(error)[:60]}")
    if "band_data" not in want:
        pytest.skip("a dataset of several images for rioxarray")
    try:
        return ours(path, **options), want
    except hr.UnsupportedError as error:
        pytest.skip(str(error)[:60])


def has_other_type(row):
    """GDAL gives the nearest of its own."""
    return row["dtype"] in ("float16", "complex128") or row["bits"] == "24"


def converts_colours(row):
    """GDAL gives RGB of these, headrace what is stored."""
    return row["photometric"] in ("SEPARATED", "CIELAB") or \
        (row["photometric"] == "YCBCR" and row["compression"] != "JPEG")


def same_values(row, got, want):
    if got.size > 200_000:
        corner = {"x": slice(3, 80), "y": slice(2, 70)}
        got, want = got.isel(corner), want.isel(corner)
    got, want = got.values, want.values
    np.testing.assert_array_equal(got, want)


def same_place(row, got, want):
    """Systems that are given by parameters have names of ours; places are the same."""
    mapping = got.spatial_ref.attrs
    assert mapping["GeoTransform"] == want["GeoTransform"]
    if named(row, NO_REFERENCES):
        assert "crs_wkt" not in mapping
        return
    place = float(got.x.mean()), float(got.y.mean())
    both = [pyproj.CRS.from_wkt(m["crs_wkt"]) for m in (mapping, want)]
    on_earth = [pyproj.Proj(crs)(*place, inverse=True) for crs in both]
    numbers = [[crs.ellipsoid.semi_major_metre, crs.ellipsoid.inverse_flattening] for crs in both]
    is_clear = not named(row, OTHER_REFERENCES)
    np.testing.assert_allclose(*on_earth, rtol=1e-12 if is_clear else 1e-6)
    assert not is_clear or np.allclose(*numbers, rtol=1e-4)


def tiff_rows():
    found = [r for r in test_corpus.MANIFEST if r["class"] == "tiff"]
    rows = [pytest.param(r, True, id=r["path"]) for r in found]
    rows += [pytest.param(r, False, id="stored:" + r["path"]) for r in found[::4]]
    return rows or [pytest.param(None, True, marks=pytest.mark.skip(
        reason=f"no corpus at {test_corpus.CORPUS}"))]


@pytest.mark.parametrize("row, mask_and_scale", tiff_rows())
def test_it_is_what_rioxarray_gives(row, mask_and_scale):
    ds, other = both(row, mask_and_scale=mask_and_scale)
    got, want = ds.band_data, other.band_data
    assert got.dims == want.dims
    if converts_colours(row):
        got, want = ds.band_data[:1], other.band_data[:1]
    assert got.shape == want.shape
    types = ("dtype", "rasterio_dtype") if has_other_type(row) else ()
    assert got.dtype == want.dtype or types
    scales = ("scales", "offsets") if mask_and_scale else ()  # not applied: still attributes
    same_attributes(got.attrs, want.attrs,
                    (OTHER_ATTRIBUTES.get(named(row, OTHER_ATTRIBUTES)), *scales))
    same_attributes(got.encoding, want.encoding, ("preferred_chunks", *types, *scales))
    chunks = got.encoding["preferred_chunks"]  # samples that lie together are one chunk
    assert chunks["band"] in (1, ds.sizes["band"]) and {*chunks} == {"band", "y", "x"}
    with rasterio.open(test_corpus.CORPUS / row["path"]) as file:
        has_code = not file.crs or file.crs.to_epsg() is not None
    if has_code and not named(row, OTHER_REFERENCES):
        xr.testing.assert_identical(got.coords.to_dataset(), want.coords.to_dataset())
    else:
        xr.testing.assert_equal(got.coords.to_dataset(), want.coords.to_dataset())
        same_place(row, got, want.spatial_ref.attrs)
    is_lossy = row["compression"] == "JPEG"
    if not is_lossy and not converts_colours(row) and not named(row, OTHER_VALUES):
        same_values(row, got, want)


@pytest.mark.parametrize("row", [
    pytest.param(r, id=r["path"]) for r in test_corpus.MANIFEST
    if r["class"] == "tiff" and "chroma subsampling" in r["note"]])
def test_chroma_of_several_pixels_is_of_the_colours_that_gdal_shows(row):
    path = str(test_corpus.CORPUS / row["path"])
    try:
        with rasterio.open(path) as file:
            want = file.read((1, 2, 3)).astype("f4")
    except rasterio.errors.RasterioError as error:
        pytest.skip(str(error)[:60])
    a = hr.open(path)
    assert a.attrs["photometric"] == "YCbCr" and a.shape[-1] == 3
    y, cb, cr = np.moveaxis(np.asarray(a[...], "f4"), -1, 0)
    red, blue = y + 1.402 * (cr - 128), y + 1.772 * (cb - 128)
    green = (y - 0.299 * red - 0.114 * blue) / 0.587
    got = np.clip([red, green, blue], 0, 255)
    others = (np.abs(got - want) > 2.5).any(0)
    assert others.sum() <= 15  # libtiff loses the chroma of one file's last units


def make(path, array, **profile):
    """(band, y, x) as rasterio writes it."""
    profile = {"driver": "GTiff", "height": array.shape[1], "width": array.shape[2],
               "count": array.shape[0], "dtype": array.dtype, **profile}
    with rasterio.open(path, "w", **profile) as file:
        file.write(array)
    return str(path)


LAYOUTS = {
    "one band": (1, {}), "planes": (3, {"interleave": "band"}),
    "together": (3, {"interleave": "pixel", "tiled": True, "blockxsize": 16, "blockysize": 16})}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_selection_of_any_layout(device, folder, layout):  # noqa: F811
    nbands, profile = LAYOUTS[layout]
    array = np.arange(nbands * 40 * 50, dtype="i2").reshape(nbands, 40, 50)
    path = make(folder / "x.tif", array, nodata=7, **profile)
    got = ours(path, device=device, mask_and_scale=False).band_data
    want = xr.DataArray(array, dims=("band", "y", "x"))
    rng = np.random.default_rng(5)
    points = {d: xr.DataArray(rng.integers(0, n, (2, 4)), dims=("r", "p"))
              for d, n in want.sizes.items()}
    last = nbands - 1
    for key in ({}, {"y": slice(5, 30, 3), "x": slice(40, 2, -7)}, {"band": last},
                {"band": [last, 0]}, {"band": slice(0, 0)}, {"y": 3}, {"x": -1, "band": 0},
                {"y": [3, 30, 4], "x": [9, 9, 1, 0]}, {"band": 0, "y": 1, "x": 2},
                {d: points[d] for d in ("y", "x")}, {"band": points["band"], "x": points["x"]},
                {"y": points["y"]}, points):
        chosen = want.isel(key)
        np.testing.assert_array_equal(got.isel(key).as_numpy(), chosen, err_msg=str(key))
        turned = got.isel(key).transpose(*reversed(chosen.dims))  # lazily
        np.testing.assert_array_equal(turned.as_numpy(), chosen.data.T, err_msg=str(key))
    assert pickle.loads(pickle.dumps(got)).isel(y=3).as_numpy().equals(got.isel(y=3).as_numpy())
    masked = ours(path, device=device).band_data
    assert masked.dtype == np.float32
    np.testing.assert_array_equal(masked.as_numpy(), np.where(array == 7, np.nan, array))


def test_an_overview_is_as_rioxarray_opens_it():
    if not test_corpus.ROWS:
        pytest.skip(f"no corpus at {test_corpus.CORPUS}")
    folder = test_corpus.CORPUS / "tiff" / "cogeotiff-js" / "packages" / "core" / "data"
    path = str(folder / "rgba8_cog.tiff")
    for level in (1, 2):
        got = ours(f"{path}#level={level}")
        want = theirs(path, open_kwargs={"overview_level": level - 1})
        xr.testing.assert_identical(got.coords.to_dataset(), want.coords.to_dataset())
        same_attributes(got.band_data.attrs, want.band_data.attrs)
        assert got.band_data.shape == want.band_data.shape
    with pytest.raises(hr.ArgumentError, match="no groups"):
        xr.open_datatree(path, engine=Backend)


def test_overviews_beside_the_file_are_levels(folder):
    array = np.arange(3 * 70 * 90, dtype="u2").reshape(3, 70, 90)
    path = make(folder / "x.tif", array, nodata=9, crs="EPSG:2193", compress="lzw",
                transform=rasterio.Affine(2, 0, 10, 0, -2, 20))
    with rasterio.Env(TIFF_USE_OVR=True), rasterio.open(path, "r+") as file:
        file.build_overviews([2, 4])
    assert (folder / "x.tif.ovr").exists()
    assert hr.open(path).attrs["levels"] == [[70, 90], [35, 45], [18, 23]]
    for level in (1, 2):
        got = ours(f"{path}#level={level}")
        want = theirs(path, open_kwargs={"overview_level": level - 1})
        want.band_data.attrs.pop("RESAMPLING", None)  # how it was made
        xr.testing.assert_identical(got, want)
    with pytest.raises(hr.NotFoundError, match="no level 3: the image has 2 overviews"):
        ours(f"{path}#level=3")
    (folder / "x.tif.ovr").write_bytes(b"something else")
    assert "levels" not in hr.open(path).attrs


ROTATED = rasterio.Affine(0.5, 0.25, 100, -0.25, -0.5, 200)


@pytest.mark.parametrize("kind", ["mask", "alpha", "nodata and alpha"])
def test_what_mask_and_alpha_leave_out_is_nan(device, folder, kind):  # noqa: F811
    array = np.random.default_rng(2).integers(1, 99, (4, 40, 50)).astype("u1")
    hole = np.zeros((40, 50), bool)
    hole[5:20, 7:31] = True
    options = {"interleave": "pixel", "tiled": True, "blockxsize": 16, "blockysize": 16}
    if kind == "mask":
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
            path = make(folder / "x.tif", array[:3], nodata=50, **options)
            with rasterio.open(path, "r+") as file:
                file.write_mask(~hole)
                file.build_overviews([2])
    else:
        array[3][hole] = 0
        path = make(folder / "x.tif", array, photometric="rgb", alpha="yes",
                    nodata=50 if "nodata" in kind else None, **options)
    want = theirs(path).load()
    assert np.isnan(want.band_data).any()
    got = ours(path, device=device).band_data
    assert got.encoding["preferred_chunks"] and got.dtype == np.float32
    points = {d: xr.DataArray([3, 12, 19, 8], dims="p") for d in ("y", "x")}
    bands = xr.DataArray([0, 2, len(want.band) - 1, 1], dims="p")
    for key in ({}, {"y": slice(2, 30, 3)}, {"band": -1}, {"band": 0, "x": 9}, {"band": [2, -1, 0]},
                points, {**points, "band": bands}, {"band": bands, "y": slice(4, 9)}):
        np.testing.assert_array_equal(got.isel(key).as_numpy(), want.band_data.isel(key),
                                      err_msg=f"{kind} {key}")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(got)).as_numpy(), want.band_data)
    if kind == "mask":
        level = theirs(path, open_kwargs={"overview_level": 0}).band_data
        np.testing.assert_array_equal(ours(f"{path}#level=1").band_data, level)
        assert ours(path, mask_and_scale=False).band_data.dtype == np.uint8


def test_rotated_images_have_places_of_two_axes(folder):
    path = make(folder / "x.tif", np.ones((1, 4, 6), "u1"), transform=ROTATED, crs="EPSG:32633")
    xr.testing.assert_identical(ours(path), theirs(path))
    assert ours(path).xc.dims == ("y", "x")


def test_degree_grids_are_exact(folder):
    rng = np.random.default_rng(11)
    for _ in range(40):
        step = 1 / rng.integers(3, 4000)
        transform = rasterio.Affine(step, 0, rng.uniform(-180, 180), 0, -step, rng.uniform(-90, 90))
        path = make(folder / "x.tif", np.ones((1, 30, 70), "u1"), transform=transform,
                    crs="EPSG:4326")
        xr.testing.assert_identical(ours(path), theirs(path))


def test_control_points_are_rioxarrays(folder):
    points = [rasterio.control.GroundControlPoint(r, c, 10.0 * c, 20.0 * r, 1.0)
              for r, c in ((0, 0), (0, 6), (4, 0), (4, 6))]
    path = make(folder / "x.tif", np.ones((1, 4, 6), "u1"), gcps=points, crs="EPSG:32633")
    got, want = ours(path), theirs(path)
    assert set(got.coords) == set(want.coords) == {"band", "spatial_ref"}
    assert got.rio.get_gcps() and [p.asdict() for p in got.rio.get_gcps()] == \
        [p.asdict() for p in want.rio.get_gcps()]


def test_what_it_gives_is_written_back_as_it_was(folder):
    array = np.arange(2 * 8 * 9, dtype="u2").reshape(2, 8, 9)
    path = make(folder / "x.tif", array, nodata=5, crs="EPSG:2193",
                transform=rasterio.Affine(2, 0, 10, 0, -2, 20))
    ours(path).band_data.rio.to_raster(folder / "y.tif")
    with rasterio.open(folder / "y.tif") as file:
        assert (file.crs.to_epsg(), file.dtypes[0], file.nodata) == (2193, "uint16", 5)
        np.testing.assert_array_equal(file.read(), array)


def test_a_reference_without_pyproj_is_its_code(folder, monkeypatch):
    path = make(folder / "x.tif", np.ones((1, 4, 6), "u1"), crs="EPSG:32633",
                transform=rasterio.Affine(2, 0, 10, 0, -2, 20))
    _xr_crs._described.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyproj", None)
        attrs = ours(path).spatial_ref.attrs
    _xr_crs._described.cache_clear()
    assert attrs == {"spatial_ref": "EPSG:32633", "GeoTransform": "10.0 2.0 0.0 20.0 0.0 -2.0"}


def test_a_raster_index_computes_the_coordinates(folder):
    rasterix = pytest.importorskip("rasterix")
    path = make(folder / "x.tif", np.ones((1, 30, 70), "u1"), crs="EPSG:4326",
                transform=rasterio.Affine(1 / 120, 0, 7, 0, -1 / 120, 48))
    ds = ours(path, raster_index=True)
    assert isinstance(ds.xindexes["x"], rasterix.RasterIndex)
    want = ours(path)
    np.testing.assert_allclose(ds.x, want.x, rtol=1e-15)
    np.testing.assert_allclose(ds.y, want.y, rtol=1e-15)
    assert ds.isel(x=slice(5, 9)).sel(y=want.y[3], method="nearest").band_data.shape == (1, 4)


def test_pages_stand_before_the_bands(folder):
    tifffile = pytest.importorskip("tifffile")
    data = np.arange(5 * 8 * 9, dtype="u1").reshape(5, 8, 9)
    tifffile.imwrite(folder / "x.tif", data, photometric="minisblack", metadata=None)
    got = ours(f"{folder / 'x.tif'}#stack", mask_and_scale=False).band_data
    assert got.dims == ("page", "band", "y", "x")
    np.testing.assert_array_equal(got[:, 0], data)
    np.testing.assert_array_equal(got.transpose("y", "x", "band", "page")[2, :, 0, 3], data[3, 2])


def test_many_files_are_a_dataset(device, folder):  # noqa: F811
    arrays = [np.full((2, 20, 30), i, "u2") + np.arange(30, dtype="u2") for i in range(3)]
    paths = [make(folder / f"{i}.tif", a, tiled=True, blockxsize=16, blockysize=16)
             for i, a in enumerate(arrays)]
    ds = xr.open_mfdataset(paths, engine=Backend, device=device, chunks={}, combine="nested",
                           concat_dim="time", mask_and_scale=False)
    assert ds.band_data.chunks == ((1,) * 3, (2,), (16, 4), (16, 14)) or \
        ds.band_data.chunks[2:] == ((16, 4), (16, 14))
    np.testing.assert_array_equal(ds.band_data.compute().as_numpy(), np.stack(arrays))
    total = ds.band_data.isel(x=slice(3, 20)).sum().compute().as_numpy()
    assert total == np.stack(arrays)[..., 3:20].sum()
