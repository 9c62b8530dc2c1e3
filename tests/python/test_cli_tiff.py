"""The command on TIFF files. SPDX-License-Identifier: Apache-2.0"""

import base64
import json
import struct
import zlib

import numpy as np
import pytest


def ifd(data, image, nodata=None):
    """Append an image in strips of 3 rows, Deflate; returns its directory's offset and
    where that says what comes next."""
    rows, columns = image.shape
    strips = [zlib.compress(image[y:y + 3].tobytes()) for y in range(0, rows, 3)]
    offsets, sizes = [], []
    for strip in strips:
        offsets.append(len(data))
        sizes.append(len(strip))
        data += strip
    tables = len(data)
    data += struct.pack(f"<{2 * len(strips)}I", *offsets, *sizes)
    scale = len(data)
    data += struct.pack("<9d", 0.5, 0.25, 0, 0, 0, 0, 10, 20, 0)
    entries = [(256, 4, 1, columns), (257, 4, 1, rows), (258, 3, 1, 16), (259, 3, 1, 8),
               (262, 3, 1, 1), (273, 4, len(strips), tables), (278, 3, 1, 3),
               (279, 4, len(strips), tables + 4 * len(strips)), (33550, 12, 3, scale),
               (33922, 12, 6, scale + 24)]
    if nodata is not None:
        text = nodata.encode() + b"\0"
        assert len(text) <= 4
        entries.append((42113, 2, len(text), int.from_bytes(text, "little")))
    at = len(data)
    data += struct.pack("<H", len(entries))
    data += b"".join(struct.pack("<HHII", *entry) for entry in entries)
    data += bytes(4)
    return at, len(data) - 4


@pytest.fixture
def scene(tmp_path):
    image = (np.arange(7 * 5, dtype="<u2") * 3).reshape(7, 5)
    second = np.ones((4, 2), "<u2")
    data = bytearray(b"II*\0\0\0\0\0")
    at, following = ifd(data, image, "9")
    data[4:8] = struct.pack("<I", at)
    data[following:following + 4] = struct.pack("<I", ifd(data, second)[0])
    path = tmp_path / "scene.tif"
    path.write_bytes(data)
    return path, image, second


def test_info_describes_a_file(cli, scene):
    path, image, _ = scene
    result = cli("info", path, "--json")
    assert result.returncode == 0, result.stderr
    info = json.loads(result.stdout)
    assert (info["kind"], info["format"]) == ("array", "tiff")
    assert info["shape"] == list(image.shape)
    assert info["chunks"] == [3, 5]
    assert info["dimension_names"] == ["y", "x"]
    assert info["fill_value"] == 9
    assert info["attributes"]["GeoTransform"] == [10, 0.5, 0, 20, 0, -0.25]


def test_info_tells_where_a_file_lies_as_gdalinfo_does(cli, scene):
    lines = cli("info", scene[0]).stdout.decode().splitlines()
    for line in ("origin      (10, 20)", "pixel size  (0.5, -0.25)", "upper left  (10, 20)",
                 "lower left  (10, 18.25)", "upper right (12.5, 20)", "lower right (12.5, 18.25)",
                 "center      (11.25, 19.125)"):
        assert "  " + line in lines, lines


def gdal_structure(size, text):
    return b"GDAL_STRUCTURAL_METADATA_SIZE=" + size + b" bytes\n" + text


@pytest.mark.parametrize("size, text, want", [
    (b"000055", b"LAYOUT=IFDS_BEFORE_DATA\nBLOCK_LEADER=SIZE_AS_UINT4\n ",
     {"LAYOUT": "IFDS_BEFORE_DATA", "BLOCK_LEADER": "SIZE_AS_UINT4"}),
    (b"000057", b"LAYOUT=IFDS_BEFORE_DATA\nKNOWN_INCOMPATIBLE_EDITION=YES\n ", None),
    (b"999999", b"A=1\n=2\nb=3\nC\n" + 80 * b"D" + b"=4", {"A": "1"}),
    (b"000003", b"A=\xffB=2\n", {"A": "\xff"}), (b"-00001", b"A=1\n", {"A": "1"}), (b"what", b"", {})])
def test_info_shows_how_gdal_laid_a_file_out(cli, tmp_path, size, text, want):
    data = bytearray(b"II*\0\0\0\0\0" + gdal_structure(size, text))
    data[4:8] = struct.pack("<I", ifd(data, np.ones((4, 2), "<u2"))[0])
    (tmp_path / "x.tif").write_bytes(data)
    attributes = json.loads(cli("info", tmp_path / "x.tif", "--json").stdout)["attributes"]
    got = attributes.get("structural_metadata")
    assert got is None if want is None else want.items() <= got.items(), got


def test_read_gives_any_directory(cli, scene):
    path, image, second = scene
    assert cli("read", path, "-o", "-").stdout == image.tobytes()
    assert cli("read", path, "-s", "6:1:-2, 1:3", "-o", "-").stdout == \
        image[6:1:-2, 1:3].tobytes()
    assert cli("read", f"{path}#ifd=1", "-o", "-").stdout == second.tobytes()
    result = cli("read", f"{path}#ifd=2")
    assert result.returncode == 2
    assert b"no IFD 2: the chain has 2" in result.stderr


def test_nodata_are_unpacked_to_nan(cli, scene):
    path, image, _ = scene
    result = cli("read", path, "--mask-and-scale", "-o", "-")
    got = np.frombuffer(result.stdout, "<f4").reshape(image.shape)
    np.testing.assert_array_equal(got, np.where(image == 9, np.nan, image))


def test_stats_and_verify_take_a_file(cli, scene):
    path, image, _ = scene
    stats = json.loads(cli("stats", path, "--json").stdout)
    assert stats["max"] == image.max()
    result = cli("verify", path)
    assert result.returncode == 0
    assert b"3 chunks, 0 bad" in result.stdout
    data = bytearray(path.read_bytes())
    data[12] ^= 0xff
    path.write_bytes(data)
    assert b"3 chunks, 1 bad" in cli("verify", path).stdout


@pytest.mark.parametrize("data", [b"", b"II*", b"not a TIFF at all", b"II\x2b\0\x08\0\0\0"])
def test_what_is_no_tiff_is_refused(cli, tmp_path, data):
    path = tmp_path / "x.tif"
    path.write_bytes(data)
    result = cli("info", path)
    assert result.returncode == 2
    assert b"TIFF" in result.stderr


# 4 x 3 floats with their bytes in the order of a big-endian file, one of them masked
LERC = base64.b64decode(
    "TGVyYzIgBAAAAIZ/6OcDAAAABAAAAAEAAAALAAAACAAAAIEAAAAGAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMCQHgA4"
    "BgAAAAIA/f8AgAAAAABDekAAAT/AAADAAAAAQEAAAEN6QAAAAAAAQOAAAEEQAABJdCQAQKAAAEDAAABAgAAA")

# 3 x 2 pixels of two little-endian floats, with masks of their own
LERC_BANDS = base64.b64decode(
    "TGVyYzIgBAAAAEU4/KQCAAAAAwAAAAEAAAAFAAAACAAAAGgAAAAGAAAAAAAAAAAAAAAAAAAAAAD4PwAAAAAAABhA"
    "BQAAAAEAvwCAAADAPwAAwEABAADAPwAAQEAAAIBAAACgQAAAwEBMZXJjMiAEAAAA7VGYlwIAAAADAAAAAQAAAAQA"
    "AAAIAAAAZAAAAAYAAAAAAAAAAAAAAAAAAAAAAB3AAAAAAAAAEEAFAAAAAQB3AIAAAOjAAACAQAEAAABAAABAQAAA"
    "gEAAAOjA")

# 4096 x 4608 times 1.5.
LERC_OF_ONE_VALUE = base64.b64decode(
    "TGVyYzIgBAAAAKNlMVoAEAAAABIAAAEAAAAAACABCAAAAEYAAAAGAAAAAAAAAAAAAAAAAAAAAAD4PwAAAAAAAPg/AAAAAA==")


def one_strip(order, strip, shape, bits, **tags):
    """A file of one strip, with tags of 16 bits, or of up to four letters."""
    values = {256: shape[1], 257: shape[0], 258: bits, 262: 1, 277: 1, 278: shape[0], 279: len(strip)}
    values |= {int(tag[1:]): value for tag, value in tags.items()}
    values[273] = 8 + 2 + 12 * (len(values) + 1) + 4
    data = struct.pack(order + "2sHIH", b"II" if order == "<" else b"MM", 42, 8, len(values))
    for tag in sorted(values):
        value = values[tag]
        data += struct.pack(order + "HHI4s", tag, 2, len(value), value) \
            if isinstance(value, bytes) else struct.pack(order + "HHIHH", tag, 3, 1, value, 0)
    return data + bytes(4) + strip


def read_or_skip(cli, path):
    result = cli("read", path, "-o", "-")
    if b"is not supported" in result.stderr:
        pytest.skip(result.stderr.decode().splitlines()[0])
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_lerc_blobs_have_the_byte_order_of_the_file(cli, tmp_path):
    path = tmp_path / "x.tif"
    path.write_bytes(one_strip(">", LERC, (3, 4), 32, t259=34887, t339=3))
    expected = [[1.5, -2, 3, 250.25], [0, 7, np.nan, 9], [1e6, 5, 6, 4]]
    got = np.frombuffer(read_or_skip(cli, path), "<f4").reshape(3, 4)
    np.testing.assert_array_equal(got, expected)
    path.write_bytes(one_strip(">", LERC, (3, 4), 9, t259=34887))
    assert b"LERC of samples of 9 bits" in cli("info", path).stderr or \
        b"is not supported" in cli("info", path).stderr


def test_samples_in_lerc_have_masks_of_their_own(cli, tmp_path):
    path = tmp_path / "x.tif"
    path.write_bytes(one_strip("<", LERC_BANDS, (2, 3), 32, t259=34887, t277=2, t339=3))
    expected = [[[1.5, np.nan], [np.nan, 2], [3, 3]], [[4, 4], [5, np.nan], [6, -7.25]]]
    got = np.frombuffer(read_or_skip(cli, path), "<f4").reshape(2, 3, 2)
    np.testing.assert_array_equal(got, expected)
    path.write_bytes(one_strip("<", LERC_BANDS, (2, 3), 32, t259=34887, t277=3, t339=3))
    assert cli("read", path).returncode == 1
    path.write_bytes(one_strip("<", LERC_BANDS[:150], (2, 3), 32, t259=34887, t277=2, t339=3))
    assert cli("read", path).returncode == 1


def test_few_bytes_of_lerc_make_any_size(cli, tmp_path):
    path = tmp_path / "x.tif"
    path.write_bytes(one_strip("<", LERC_OF_ONE_VALUE, (4096, 4608), 32, t259=34887, t339=3))
    got = np.frombuffer(read_or_skip(cli, path), "<f4")
    assert got.size == 4096 * 4608 and np.all(got == 1.5)


@pytest.mark.parametrize("order", "<>")
def test_complex_numbers_are_differences_of_64_bits(cli, tmp_path, order):
    data = (np.arange(12) * 1.5 - 2j).astype("<c8").reshape(3, 4)
    words = data.view("<u8")
    words = np.diff(words, axis=1, prepend=np.zeros((3, 1), "<u8")).astype(order + "u8")
    path = tmp_path / "x.tif"
    path.write_bytes(one_strip(order, zlib.compress(words.tobytes()), (3, 4), 64, t259=8,
                               t317=2, t339=6))
    assert cli("read", path, "-o", "-").stdout == data.tobytes()
    path.write_bytes(one_strip(order, b"", (3, 4), 128, t259=8, t317=2, t339=6))
    assert b"predictor 2 on samples of 128 bits" in cli("info", path).stderr


@pytest.mark.parametrize("nodata, value", [(b"-99", -99), (b"nan", np.nan), (b"1.5", 1.5), (b"x", 0)])
def test_absent_blocks_of_complex_numbers_are_nodata(cli, tmp_path, nodata, value):
    path = tmp_path / "x.tif"
    path.write_bytes(one_strip("<", b"", (3, 4), 64, t339=6, t42113=nodata))
    got = np.frombuffer(cli("read", path, "-o", "-").stdout, "<c8")
    np.testing.assert_array_equal(got, np.full(12, complex(value, 0), "<c8"))
    info = json.loads(cli("info", path, "--json").stdout)
    assert info["fill_value"] == (0 if value == 0 else [info["attributes"]["_FillValue"], 0])
