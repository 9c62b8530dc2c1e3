"""TIFF files of many kinds, written by tifffile and by GDAL, read as they were written.

HEADRACE_EXAMPLES=20 writes twenty times as many. SPDX-License-Identifier: Apache-2.0
"""

import os
import random
import re

import numpy as np
import pytest

hr = pytest.importorskip("headrace", reason="the package is not built")
tifffile = pytest.importorskip("tifffile")
pytest.importorskip("imagecodecs")
try:
    import rasterio
except ImportError:
    rasterio = None

pytestmark = pytest.mark.filterwarnings("ignore")
EXAMPLES = int(os.environ.get("HEADRACE_EXAMPLES", "1"))
SEED = 8 if EXAMPLES == 1 else random.SystemRandom().randrange(1 << 32)
DTYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16")


def image(rng, shape, dtype):
    """Smooth, with noise, repetitions and extremes."""
    values = np.cumsum(rng.integers(-3, 4, shape), axis=-1)
    if dtype.kind == "c":
        return (values + 1j * values[..., ::-1] / 3).astype(dtype)
    if dtype.kind in "iu":
        extreme = np.iinfo(dtype).max if rng.random() < 0.5 else 0
        values = np.where(rng.random(shape) < 0.02, dtype.type(extreme), values.astype(dtype))
    made = (values / 4 if dtype.kind == "f" else values).astype(dtype)
    made[..., : shape[-1] // 3, :] = made.flat[0]
    return made


def by_tifffile(choose, rng, path):
    """A random file; returns what is in it and how it was made."""
    dtype = np.dtype(choose.choice(DTYPES))
    height, width, samples = choose.randint(1, 90), choose.randint(1, 90), choose.choice((1, 1, 2, 3, 5))
    is_planar = samples > 1 and choose.random() < 0.5
    shape = (samples, height, width) if is_planar else (height, width, samples)
    data = image(rng, tuple(n for n in shape if n > 1 or samples > 1) if samples > 1
                 else (height, width), dtype)
    compression = choose.choice((None, None, "lzw", "zlib", "adobe_deflate", "zstd", "packbits", "lzma"))
    options = {
        "byteorder": choose.choice("<>"), "bigtiff": choose.random() < 0.3,
        "photometric": "minisblack", "compression": compression, "metadata": None}
    if samples > 1:
        options |= {"planarconfig": "separate" if is_planar else "contig",
                    "extrasamples": ["unspecified"] * (samples - 1)}
    if compression not in (None, "packbits") and dtype.kind != "c" and choose.random() < 0.7:
        options["predictor"] = 2 if dtype.kind in "iu" else 3
    if choose.random() < 0.5:
        options["tile"] = (16 * choose.randint(1, 4), 16 * choose.randint(1, 4))
    elif choose.random() < 0.8:
        options["rowsperstrip"] = choose.randint(1, height)
    tifffile.imwrite(path, data, **options)
    return data, options


def by_gdal(choose, rng, path):
    dtype = np.dtype(choose.choice(("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "c8", "c16")))
    shape = (choose.choice((1, 1, 3, 4)), choose.randint(1, 90), choose.randint(1, 90))
    data = image(rng, shape, dtype)
    options = {
        "compress": choose.choice(("none", "lzw", "deflate", "zstd", "packbits", "lzma")),
        "interleave": choose.choice(("band", "pixel")), "bigtiff": choose.choice(("yes", "no")),
        "endianness": choose.choice(("little", "big")), "photometric": "minisblack"}
    if dtype.kind == "u" and choose.random() < 0.4:
        bits = choose.randint(8 * dtype.itemsize // 2, 8 * dtype.itemsize - 1)
        is_odd = dtype.itemsize <= 4 and (bits != 24 or options["endianness"] == "little")
        if is_odd and (dtype.itemsize > 1 or bits < 8):
            options["nbits"] = bits
            data &= dtype.type((1 << bits) - 1)
    if options["compress"] in ("lzw", "deflate", "zstd") and "nbits" not in options and \
            dtype.kind != "c" and choose.random() < 0.7:
        options["predictor"] = choose.choice((2, 3)) if dtype.kind == "f" else 2
    if choose.random() < 0.5:
        options |= {"tiled": True, "blockxsize": 16 * choose.randint(1, 4),
                    "blockysize": 16 * choose.randint(1, 4)}
    else:
        options["blockysize"] = choose.randint(1, shape[1])
    if choose.random() < 0.3:
        options |= {"sparse_ok": True, "nodata": 0}
        data[:, shape[1] // 2:] = 0
    with rasterio.open(path, "w", driver="GTiff", height=shape[1], width=shape[2], count=shape[0],
                       dtype=dtype, **options) as file:
        file.write(data)
    if shape[0] == 1:
        return data[0], options
    return data if options["interleave"] == "band" else np.moveaxis(data, 0, -1), options


def window(choose, shape):
    key = []
    for n in shape:
        first, last = sorted((choose.randrange(n), choose.randrange(n)))
        key.append(slice(first, last + 1, choose.choice((1, 1, 3))))
    return tuple(key)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """(path, contents, how it was made) of many."""
    folder = tmp_path_factory.mktemp("sweep")
    choose, rng = random.Random(SEED), np.random.default_rng(SEED)
    made = []
    for i in range(150 * EXAMPLES):
        path = str(folder / f"{i}.tif")
        by = by_gdal if rasterio and i % 3 == 0 else by_tifffile
        data, options = by(choose, rng, path)
        made.append((path, data, f"seed {SEED}, file {i}: {data.dtype} {data.shape} {options}"))
    return made


def by_kernels(name):
    """Does nothing of the file need the host?"""
    return not re.search("lzma|sparse_ok", name)


@pytest.mark.parametrize("device", ["cpu", "simt", "cuda"])
def test_many_files_are_read_in_one_batch(files, device):
    """Codecs, types and layouts mixed, whole and in part; on devices by kernels alone where all
    that a file needs is theirs."""
    try:
        hr.open(files[0][0], device)[:1]
    except (hr.UnsupportedError, hr.DeviceError) as error:
        pytest.skip(str(error))
    choose = random.Random(SEED)
    items, want, names = [], [], []
    for path, data, name in files:
        a = hr.open(path, device)
        assert (a.shape, a.dtype) == (data.shape, data.dtype), name
        for key in (..., window(choose, data.shape)):
            items.append((a, key))
            want.append(data[key])
            names.append(f"{name} {key}")
    for strict in {False, device != "cpu"}:
        chosen = [i for i, name in enumerate(names) if not strict or by_kernels(name)]
        batch = hr.read_batch([items[i] for i in chosen], strict=strict)
        for i, result in zip(chosen, batch.result()):
            np.testing.assert_array_equal(result.to("numpy"), want[i], err_msg=names[i])


@pytest.mark.skipif(rasterio is None, reason="needs rasterio")
@pytest.mark.parametrize("endianness", ["little", "big"])
@pytest.mark.parametrize("predictor", [1, 2])
def test_complex_integers_are_read_as_gdal_writes_them(folder, endianness, predictor):
    rng = np.random.default_rng(1)
    data = (rng.integers(-300, 300, (2, 20, 30)) + 1j * rng.integers(-300, 300, (2, 20, 30)))
    path = str(folder / "c.tif")
    with rasterio.open(path, "w", driver="GTiff", height=20, width=30, count=2, compress="lzw",
                       dtype="complex_int16", endianness=endianness, predictor=predictor) as file:
        file.write(data.astype("c8"))
    np.testing.assert_array_equal(np.moveaxis(np.asarray(hr.open(path)), -1, 0), data)


@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("options", [
    {"tile": (4, 16, 16)}, {"tile": (4, 16, 16), "compression": "zlib", "predictor": 2},
    {"rowsperstrip": 7}, {"compression": "lzw", "byteorder": ">", "bigtiff": True}])
def test_volumes_are_one_array(folder, options, planar):
    data = image(np.random.default_rng(3), (9, 20, 30), np.dtype("u2"))
    if planar == "separate":
        data = np.stack([data, data[::-1], data[:, ::-1]])
        options = {**options, "planarconfig": "separate", "extrasamples": ["unspecified"] * 2}
    path = str(folder / "v.tif")
    tifffile.imwrite(path, data, volumetric=True, photometric="minisblack", metadata=None, **options)
    np.testing.assert_array_equal(tifffile.imread(path), data)
    a = hr.open(path)
    assert a.dims == (("band",) if planar == "separate" else ()) + ("z", "y", "x")
    np.testing.assert_array_equal(a[...], data)
    np.testing.assert_array_equal(a[..., 5:8, 3:19:2, 2], data[..., 5:8, 3:19:2, 2])


@pytest.mark.parametrize("options", [
    {}, {"compression": "zstd", "tile": (16, 16)}, {"rowsperstrip": 3, "byteorder": ">"},
    {"planarconfig": "separate", "extrasamples": ["unspecified"] * 2, "bigtiff": True}])
def test_pages_are_a_stack(folder, options):
    shape = (7, 3, 20, 30) if "planarconfig" in options else (7, 20, 30)
    data = image(np.random.default_rng(3), shape, np.dtype("i2"))
    path = str(folder / "s.tif")
    with tifffile.TiffWriter(path, bigtiff=options.pop("bigtiff", False),
                             byteorder=options.pop("byteorder", "<")) as file:
        for page in data:
            file.write(page, photometric="minisblack", metadata=None, **options)
            file.write(page[..., ::2, ::2], photometric="minisblack", metadata=None, subfiletype=1,
                       **options)
    a = hr.open(path + "#stack")
    assert (a.shape, a.dims[0], a.chunks[0]) == (data.shape, "page", 1)
    np.testing.assert_array_equal(a[...], data)
    np.testing.assert_array_equal(a[1:6:2, ..., 5:9, 3], data[1:6:2, ..., 5:9, 3])
    np.testing.assert_array_equal(hr.open(path)[...], data[0])
    with tifffile.TiffWriter(path, append=True) as file:
        file.write(data[0, ..., :-1], photometric="minisblack", metadata=None, **options)
    with pytest.raises(hr.UnsupportedError, match="page 7 .* is not like the first"):
        hr.open(path + "#stack")


@pytest.mark.parametrize("truncate", [False, True])
def test_imagej_hyperstacks_have_their_axes(folder, truncate):
    data = image(np.random.default_rng(3), (3, 4, 2, 20, 300), np.dtype("u2"))  # TZCYX
    path = str(folder / "j.tif")
    tifffile.imwrite(path, data, imagej=True, metadata={"axes": "TZCYX"})
    if truncate:  # as ImageJ writes what is too large for offsets of 32 bits
        with open(path, "r+b") as file, tifffile.TiffFile(path) as known:
            page = known.pages[0]
            file.seek(page.offset + 2 + 12 * len(page.tags))
            file.write(bytes(4))
    a = hr.open(path + "#stack")
    assert a.dims == ("frame", "slice", "channel", "y", "x")
    np.testing.assert_array_equal(a[...], data)
    np.testing.assert_array_equal(a[1, :, 1, 3:5, ::7], data[1, :, 1, 3:5, ::7])
    assert hr.open(path).shape == (20, 300)


def test_a_stack_that_the_file_cannot_hold_is_none(folder):
    data = np.arange(600, dtype="u2").reshape(20, 30)
    path = str(folder / "j.tif")
    tifffile.imwrite(path, data, description="ImageJ=1.54\nimages=2000000000000\n", metadata=None)
    assert hr.open(path + "#stack").shape == (1, 20, 30)
