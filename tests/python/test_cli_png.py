"""Quick looks: the images that the command draws. SPDX-License-Identifier: Apache-2.0"""

import struct
import zlib

import numpy as np

import handmade
from cli_support import CUBE, succeed, write


def pixels(data):
    """A PNG of RGBA bytes, decoded: signature, checksums and filters included."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body, header = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + length]
        (checksum,) = struct.unpack(">I", data[at + 8 + length:at + 12 + length])
        assert checksum == zlib.crc32(kind + chunk)
        header = struct.unpack(">IIBBBBB", chunk) if kind == b"IHDR" else header
        body += chunk if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, color, *_ = header
    assert (depth, color, kind) == (8, 6, b"IEND")
    raw = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, -1).astype(int)
    out = np.zeros((height + 1, width + 1, 4), int)
    for y in range(height):
        method, line = raw[y, 0], raw[y, 1:].reshape(width, 4)
        for x in range(width):
            left, up, corner = out[y + 1, x], out[y, x + 1], out[y, x]
            if method == 4:
                guess = left + up - corner
                a, b, c = abs(guess - left), abs(guess - up), abs(guess - corner)
                guess = np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
            else:
                guess = (0, left, up, (left + up) // 2)[method]
            out[y + 1, x + 1] = (line[x] + guess) % 256
    return out[1:, 1:].astype(np.uint8)


def png(cli, folder, path, *options):
    succeed(cli("png", path, folder / "o.png", *options))
    return pixels((folder / "o.png").read_bytes())


def test_png_of_one_band(cli, folder):
    data = np.linspace(1, 2, 60 * 40).reshape(60, 40).astype("<f4")
    data[0, 0] = np.nan
    data[5, 6] = 0  # the fill value
    image = png(cli, folder, write(folder / "a", data, (16, 16)))
    assert image.shape == (60, 40, 4)
    clear = image[..., 3] == 0
    assert clear[0, 0] and clear[5, 6] and clear.sum() == 2
    assert image[0, 1, :3].tolist() == [68, 1, 84]      # below percentile 2: darkest
    assert image[59, 39, :3].tolist() == [253, 231, 37]  # above 98: brightest
    assert (np.diff(image[2:, 1, 1].astype(int)) >= 0).all()


def test_png_thins_and_selects(cli, folder):
    cube = write(folder / "cube", CUBE, (6, 11, 3))
    path = handmade.v2(folder / "a", (3, 5000, 100), (1, 5000, 100), "|i1", {}, fill_value=1)
    assert png(cli, folder, path).shape == (1000, 20, 4)
    assert png(cli, folder, cube).shape == (30, 7, 4)
    assert png(cli, folder, cube, "-s", ":,4,::2").shape == (20, 4, 4)
    assert succeed(cli("png", cube, "-"))[:4] == b"\x89PNG"


def test_png_of_colours(cli, folder):
    data = np.random.default_rng(4).integers(0, 256, (9, 8, 3), dtype=np.uint8)
    image = png(cli, folder, write(folder / "a", data))
    assert (image[..., :3] == data).all() and (image[..., 3] == 255).all()


def test_png_refuses_what_is_no_plane(cli, folder):
    cube = write(folder / "cube", CUBE, (6, 11, 3))
    result = cli("png", cube, folder / "o.png", "-s", "0,0")
    assert result.returncode == 2 and b"(7,)" in result.stderr
    result = cli("png", handmade.v2(folder / "s", (2, 2), (2, 2), "|S2", {}), folder / "o.png")
    assert result.returncode == 2 and b"|S2" in result.stderr
    assert not (folder / "o.png").exists()
