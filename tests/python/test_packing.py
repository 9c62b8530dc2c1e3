"""Unpacking by the command against what xarray computes. SPDX-License-Identifier: Apache-2.0"""

import base64
import struct

import numcodecs
import numpy as np
import pytest
import zarr

from cli_support import succeed, write

DEVICES = ["cpu", "simt"]


def packed(dtype, seed=0):
    """Any bits, fills among them."""
    random = np.random.default_rng(seed)
    data = random.integers(0, 256, 35 * 41 * np.dtype(dtype).itemsize, dtype="u1").view(dtype)
    data[::7] = data[3]
    return data.reshape(35, 41)


def decode(data, fills=(), scale=None, offset=None, work="f8"):
    """xarray's _apply_mask, then _scale_offset_decoding."""
    marked = np.zeros(data.shape, bool)
    for fill in fills:
        marked |= data == fill
    out = np.where(marked, np.nan, data.astype(work)).astype(work)
    if scale is not None:
        out *= scale
    if offset is not None:
        out += offset
    return out


def read(cli, path, folder, *options, device="cpu"):
    out = folder / "out.npy"
    result = cli("read", path, "-o", out, "--device", device, *options)
    if device == "simt" and b"simt" in result.stderr:
        pytest.skip("built without the simt device")
    succeed(result)
    return np.load(out)


def equal(got, want):
    return got.dtype == want.dtype and np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["<i2", ">u2", "|i1", "<i4", "<u8", "<f4", "<f8"])
def test_attributes_unpack_as_in_xarray(cli, folder, device, dtype):
    data = packed(dtype)
    fill, missing = data[0, 3].item(), data[1, 1].item()
    text = base64.b64encode(struct.pack("<d", fill)).decode() if dtype[1] == "f" else fill
    path = write(folder / "a", data, (8, 9), attributes={
        "scale_factor": 0.01, "add_offset": 273.15, "_FillValue": text,
        "missing_value": [missing]})
    with np.errstate(all="ignore"):
        want = decode(data, (fill, missing), 0.01, 273.15)
        assert equal(read(cli, path, folder, "--mask-and-scale", device=device), want)
        want = want.astype("f4")
        got = read(cli, path, folder, "--mask-and-scale", "--dtype", "float32", device=device)
        assert equal(got, want)


@pytest.mark.parametrize("device", DEVICES)
def test_a_mask_alone_keeps_small_types_small(cli, folder, device):
    for dtype, want in ("<i2", "f4"), ("<i4", "f8"), ("<f4", "f4"):
        data = packed(dtype)
        fill = data[0, 3].item()
        path = write(folder / dtype[1:], data, (8, 9), attributes={
            "_FillValue": base64.b64encode(struct.pack("<d", fill)).decode()
            if dtype[1] == "f" else fill})
        got = read(cli, path, folder, "--mask-and-scale", device=device)
        assert equal(got, decode(data, (fill,), work=want))


@pytest.mark.parametrize("device", DEVICES)
def test_unsigned_and_numbers_of_ones_own(cli, folder, device):
    data = packed("|i1")
    path = write(folder / "u", data, (8, 9), attributes={"_Unsigned": "true", "_FillValue": -1,
                                                         "scale_factor": 0.5})
    got = read(cli, path, folder, "--mask-and-scale", device=device)
    assert equal(got, decode(data.view("u1"), (255,), 0.5))
    got = read(cli, path, folder, "--scale", "3", "--offset", "-0.1", "--fill", "7", device=device)
    assert equal(got, decode(data, (7,), 3.0, -0.1))
    assert np.array_equal(read(cli, path, folder, device=device), data)


@pytest.mark.parametrize("device", DEVICES)
def test_zarr2_masks_its_fill_value_and_missing_chunks(cli, folder, device):
    data = packed("<i2")
    data[:8, :9] = -5
    path = write(folder / "z", data, (8, 9), zarr_format=2, fill_value=-5,
                 attributes={"scale_factor": 2.0}, config={"write_empty_chunks": False})
    got = read(cli, path, folder, "--mask-and-scale", device=device)
    assert np.isnan(got[:8, :9]).all() and equal(got, decode(data, (-5,), 2.0))


@pytest.mark.parametrize("device", DEVICES)
def test_casts_and_arrays_without_attributes(cli, folder, device):
    data = packed("<i2")
    path = write(folder / "p", data, (8, 9))
    assert equal(read(cli, path, folder, "--mask-and-scale", device=device), data)
    got = read(cli, path, folder, "--dtype", "float32", device=device)
    assert equal(got, data.astype("f4"))
    half = read(cli, path, folder, "--dtype", "<f2", device=device)
    assert equal(half, data.astype("f2"))


@pytest.mark.parametrize("options", [("--dtype", "float33"), ("--dtype", ">f4"),
                                     ("--scale", "x"), ("--fill", "70000"),
                                     ("--scale", "inf"), ("--offset", "1e400"),
                                     ("--scale", "2", "--dtype", "<i4")])
def test_what_cannot_be_is_refused(cli, folder, options):
    path = write(folder / "p", packed("<i2"), (8, 9))
    result = cli("read", path, "-o", folder / "o.npy", *options)
    assert result.returncode in (1, 2) and result.stderr and not (folder / "o.npy").exists()


def test_fills_are_numbers_however_they_are_written(cli, folder):
    data = packed("<i2")
    fill, missing = data[0, 3].item(), data[1, 1].item()
    path = write(folder / "a", data, (8, 9), attributes={
        "scale_factor": [0.5], "_FillValue": float(fill), "missing_value": [missing, fill, 1.5, 1e9]})
    assert equal(read(cli, path, folder, "--mask-and-scale"), decode(data, (fill, missing), 0.5))
    got = read(cli, path, folder, "--mask-and-scale", "--fill", f"{missing}.0")
    assert equal(got, decode(data, (missing,), 0.5))
    unsigned = packed("<u8")
    unsigned[0, 0] = 2**64 - 1
    path = write(folder / "u", unsigned, (8, 9))
    assert equal(read(cli, path, folder, "--fill", str(2**64 - 1)), decode(unsigned, (2**64 - 1,)))


def test_zarr2_goes_before_the_attribute(cli, folder):
    data = packed("<i2")
    path = write(folder / "z", data, (8, 9), zarr_format=2, fill_value=data[0, 3].item(),
                 attributes={"_FillValue": data[1, 1].item(), "missing_value": data[2, 2].item()})
    want = decode(data, (data[0, 3], data[2, 2]), work="f4")
    assert equal(read(cli, path, folder, "--mask-and-scale"), want)


@pytest.mark.parametrize("attributes", [
    {"scale_factor": "0.5"}, {"scale_factor": [1, 2]}, {"add_offset": None}, {"_FillValue": {}},
    {"_FillValue": "AAAA"}, {"missing_value": [1, 2, 3]}, {"missing_value": [[1]]},
    {"_FillValue": True}, {"scale_factor": float("nan")}])
def test_attributes_are_never_passed_over(cli, folder, attributes):
    path = write(folder / "p", packed("<i2"), (8, 9), attributes=attributes)
    result = cli("read", path, "-o", folder / "o.npy", "--mask-and-scale")
    said = next(iter(attributes)).encode() in result.stderr or b"more than 2" in result.stderr
    assert result.returncode == 1 and said
    assert not (folder / "o.npy").exists()
    own = "--scale=2", "--offset=1", "--fill=3"
    got = read(cli, path, folder, "--mask-and-scale", *own)
    assert equal(got, decode(packed("<i2"), (3,), 2, 1))


@pytest.mark.parametrize("text", ["", " ", "1e", "0x", "1 ", "-1", " -1", "+-1", "1.5", "256", "1e20",
                                  "nan", "inf", "99999999999999999999"])
def test_fills_that_the_type_does_not_have(cli, folder, text):
    path = write(folder / "p", packed("|u1"), (8, 9))
    result = cli("read", path, f"--fill={text}")
    assert result.returncode == 2 and b"--fill wants" in result.stderr


FILTERS = [
    ("<f4", numcodecs.FixedScaleOffset(offset=1000, scale=10, dtype="<f4", astype="|u1")),
    ("<f8", numcodecs.FixedScaleOffset(offset=0.1, scale=3, dtype="<f8", astype="<i4")),
    ("<f4", numcodecs.AsType(encode_dtype="<f8", decode_dtype="<f4")),
    ("<f8", numcodecs.Quantize(digits=2, dtype="<f8", astype="<f4")),
    ("<i4", numcodecs.Delta(dtype="<i4")),
    ("|u1", numcodecs.Delta(dtype="|u1")),
    ("<u2", numcodecs.Delta(dtype="<u2")),
    ("<i8", numcodecs.Delta(dtype="<i8")),
    ("|b1", numcodecs.PackBits()),
]


@pytest.mark.parametrize("compressor", [None, numcodecs.LZ4(), numcodecs.Blosc("lz4", shuffle=1),
                                        numcodecs.Blosc("lz4", shuffle=2)])
@pytest.mark.parametrize("dtype, codec", FILTERS)
def test_kernels_undo_filters_as_numcodecs_does(cli, folder, dtype, codec, compressor):
    random = np.random.default_rng(1)
    data = np.cumsum(random.integers(-3, 4, (33, 50)), axis=1).astype(dtype)
    if dtype == "|b1":
        data = random.integers(0, 2, (33, 50)).astype(bool)
    if dtype[1] == "f":
        data = data / 10 + np.asarray(1010, dtype)
    path = write(folder / "f", data.astype(dtype), (11, 13), zarr_format=2, filters=[codec],
                 compressors=compressor)
    want = read(cli, path, folder)
    got = read(cli, path, folder, "--strict", device="simt")
    assert got.tobytes() == want.tobytes()
    assert np.array_equal(want, zarr.open_array(path, mode="r")[...])
