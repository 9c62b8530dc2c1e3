"""The command on TIFF files. SPDX-License-Identifier: Apache-2.0"""

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
