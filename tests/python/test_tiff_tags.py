"""What single tags of a TIFF may say, and what is made of it. SPDX-License-Identifier: Apache-2.0

Files are put together byte by byte: no writer makes most of these.
"""

import struct
import threading
import zlib

import numpy as np
import pytest

hr = pytest.importorskip("headrace", reason="the package is not built")

IMAGE = np.arange(12, dtype="u1").reshape(3, 4)
LETTERS = {1: "B", 3: "H", 4: "I", 8: "h", 9: "i", 11: "f", 12: "d", 13: "I", 16: "Q", 17: "q", 18: "Q"}
SHORT, LONG, TEXT = 3, 4, 2


def tiff(*strips, order="<", **tags):
    """One image of these strips. Tags: t256=(type, values), or a number, or a text; None: without."""
    values = {256: 4, 257: 3, 258: 8, 259: 1, 262: 1, 277: 1, 278: 3}
    data, offsets = bytearray(8), []
    for strip in strips:
        offsets.append(len(data))
        data += strip
    values |= {273: (LONG, offsets), 279: (LONG, [len(strip) for strip in strips])}
    values |= {int(name[1:]): value for name, value in tags.items()}
    entries = []
    for tag, value in sorted((t, v) for t, v in values.items() if v is not None):
        if isinstance(value, str):
            kind, raw, n = TEXT, value.encode() + b"\0", len(value) + 1
        else:
            kind, numbers = value if isinstance(value, tuple) else (SHORT, [value])
            raw, n = struct.pack(f"{order}{len(numbers)}{LETTERS[kind]}", *numbers), len(numbers)
        if len(raw) > 4:
            raw, place = struct.pack(order + "I", len(data)), raw
            data += place
        entries.append(struct.pack(order + "HHI", tag, kind, n) + raw.ljust(4, b"\0"))
    data[:8] = struct.pack(order + "2sHI", b"II" if order == "<" else b"MM", 42, len(data))
    return bytes(data + struct.pack(order + "H", len(entries)) + b"".join(entries) + bytes(4))


class File:
    """A store of one file, which counts what is read."""

    def __init__(self, data):
        self.data, self.nbytes, self.lock = data, 0, threading.Lock()

    def get(self, key):
        return self.data if key == "x.tif" else None

    def size(self, key):
        return len(self.data) if key == "x.tif" else None

    def read(self, key, offset, nbytes):
        with self.lock:
            self.nbytes += nbytes
        return self.data[offset:offset + nbytes].ljust(nbytes, b"\0")


def opened(*strips, **tags):
    return hr.open({"x.tif": tiff(*(strips or (IMAGE.tobytes(),)), **tags)}, path="x.tif")


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", [1, 3, 4, 8, 9, 13, 16, 17, 18])
def test_integers_may_be_of_any_type_of_integers(order, kind):
    numbers = {f"t{tag}": (kind, [n]) for tag, n in
               {256: 4, 257: 3, 258: 8, 259: 1, 277: 1, 278: 3, 273: 8, 279: 12}.items()}
    a = opened(order=order, **numbers)
    assert (a.shape, a.dtype) == ((3, 4), np.uint8)
    np.testing.assert_array_equal(a, IMAGE)
    with pytest.raises(hr.MetadataError, match="tag 256 is of type 11"):
        opened(t256=(11, [4]))


@pytest.mark.parametrize("rows", [None, 0, 9, 65535, (LONG, [2**32 - 1])])
def test_a_strip_may_be_all_rows(rows):
    a = opened(t278=rows)
    assert a.chunks == (3, 4)
    np.testing.assert_array_equal(a, IMAGE)


def test_samples_of_no_kind_are_integers():
    assert opened(t339=4).dtype == opened(t339=1).dtype == np.uint8
    assert opened(t339=2).dtype == np.int8


def test_one_value_for_all_samples_will_do():
    a = opened(IMAGE.tobytes(), t256=2, t277=2, t258=8, t339=1, t262=1)
    np.testing.assert_array_equal(a, IMAGE.reshape(3, 2, 2))


def test_white_is_zero_as_stored_or_inverted():
    a = opened(t262=0)
    assert a.attrs["photometric"] == "white is zero"
    np.testing.assert_array_equal(a, IMAGE)
    inverted = a.read(..., mask_and_scale=hr.Packing(scale=-1, offset=255), dtype="f4").result()
    np.testing.assert_array_equal(inverted.to("numpy"), 255 - IMAGE)


def test_a_palette_is_told_beside_the_indices():
    table = [257 * i % 65536 for i in range(3 * 256)]
    a = opened(t262=3, t320=(SHORT, table))
    assert a.attrs["photometric"] == "palette" and a.attrs["color_map"] == table
    np.testing.assert_array_equal(a, IMAGE)


@pytest.mark.parametrize("photometric, n, extra, words", [
    (5, 4, None, "CMYK"), (2, 4, (SHORT, [1]), "RGB"), (2, 5, (SHORT, [2, 0]), "RGB"), (1, 2, (SHORT, [2]), "black is zero")])
def test_samples_are_bands_whatever_their_meaning(photometric, n, extra, words):
    data = np.arange(12 * n, dtype="u1").reshape(3, 4, n)
    a = opened(data.tobytes(), t262=photometric, t277=n, t258=(SHORT, [8] * n), t338=extra)
    assert a.attrs["photometric"] == words
    assert a.attrs.get("extra_samples") == (extra and extra[1])  # 1 and 2: alpha
    np.testing.assert_array_equal(a, data)


@pytest.mark.parametrize("text", ["nan", "-nan", "-1.#IND", "1.#QNAN", "NaN "])
def test_not_a_number_has_many_spellings(text):
    a = opened(t258=32, t339=3, t42113=text, t273=0, t279=0)  # an absent strip
    assert a.attrs["_FillValue"] == "NaN" and np.isnan(a).all()
    assert "_FillValue" not in opened(t42113=text).attrs


def test_heights_have_a_reference_system_of_their_own():
    keys = [1, 1, 0, 5, 1024, 0, 1, 1, 3072, 0, 1, 32633, 4096, 0, 1, 5773, 4097, 34737, 13, 0, 4099, 0, 1, 9001]
    a = opened(t34735=(SHORT, keys), t34737="EGM96 height|")
    told = a.attrs["GeoKeys"]
    assert (told["ProjectedCRSGeoKey"], told["VerticalGeoKey"], told["VerticalUnitsGeoKey"]) == (32633, 5773, 9001)
    assert told["VerticalCitationGeoKey"] == "EGM96 height"
    np.testing.assert_array_equal(a, IMAGE)


def test_bits_may_become_booleans():
    a = opened(b"\xa0\x50\xf0", t258=1)
    want = [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]
    np.testing.assert_array_equal(a, want)
    got = a.read(..., dtype=bool).result().to("numpy")
    assert got.dtype == bool
    np.testing.assert_array_equal(got, np.array(want, bool))


def test_an_orientation_is_told_and_not_applied():
    a = opened(t274=3)
    assert a.attrs["orientation"] == 3 and "orientation" not in opened(t274=1).attrs
    np.testing.assert_array_equal(a, IMAGE)


@pytest.mark.parametrize("order", "<>")
def test_rational_polynomials_are_told_as_they_are(order):
    numbers = [i / 7 for i in range(92)]
    assert opened(order=order, t50844=(12, numbers)).attrs["RPC"] == numbers


def test_predictors_are_ignored_where_they_mean_nothing():
    np.testing.assert_array_equal(opened(t317=2), IMAGE)
    np.testing.assert_array_equal(opened(b"\x0b" + IMAGE.tobytes(), t259=32773, t317=2), IMAGE)
    for predictor, bits, kind in ((2, 12, 1), (3, 32, 1), (2, 24, 3), (9, 8, 1)):
        with pytest.raises(hr.Error, match=f"predictor {predictor} on samples of {bits} bits"):
            opened(t259=8, t317=predictor, t258=bits, t339=kind)


@pytest.mark.parametrize("number, words", [
    (99, "compression 99 is not known"), (6, r"6 \(old JPEG\)"), (50002, "JPEG XL"), (52546, "JPEG XL"),
    (34712, "JPEG 2000"), (33003, "Aperio, YCbCr"), (33005, "Aperio, RGB"), (3, "CCITT fax 3")])
def test_compressions_are_refused_by_number_and_name(number, words):
    with pytest.raises(hr.UnsupportedError, match=f"{number}.*{words}|{words}"):
        opened(t259=number)


def test_checksums_and_short_blocks_are_errors_of_their_block():
    packed = zlib.compress(IMAGE[:2].tobytes())
    wrong = packed[:-1] + bytes([packed[-1] ^ 1])
    rest = zlib.compress(IMAGE[2:].tobytes())
    for first, error in ((wrong, hr.ChecksumError), (zlib.compress(b"abc"), hr.DataError),
                         (packed[:-6], hr.DataError)):
        a = opened(first, rest, t278=2, t259=8, t42113="7")
        np.testing.assert_array_equal(a[2:], IMAGE[2:])
        with pytest.raises(error):
            a[...]
        future = a.read(..., on_error="fill")
        with pytest.raises(error):
            future.result()
        got = future.result(partial=True).to("numpy")
        np.testing.assert_array_equal(got, np.vstack([np.full((2, 4), 7), IMAGE[2:]]))
    with hr.config(skip_checksums=True):
        np.testing.assert_array_equal(opened(wrong, rest, t278=2, t259=8), IMAGE)


def test_bands_in_planes_are_read_alone():
    planes = np.random.default_rng(1).integers(0, 256, (5, 100, 120), "u1")
    file = File(tiff(*(p.tobytes() for p in planes), t256=120, t257=100, t258=(SHORT, [8] * 5),
                     t277=5, t284=2, t278=100, t338=(SHORT, [0] * 4)))
    a = hr.open(file, path="x.tif")
    assert a.dims == ("band", "y", "x")
    file.nbytes = 0
    np.testing.assert_array_equal(a[3], planes[3])
    assert 12_000 <= file.nbytes < 13_000


def test_of_a_million_blocks_few_offsets_are_read():
    n = 1_000_000
    file = File(tiff(t256=16, t257=(LONG, [16 * n]), t278=None, t322=16, t323=16, t273=None, t279=None,
                     t324=(LONG, [8] * n), t325=(LONG, [0] * n)))
    a = hr.open(file, path="x.tif")
    assert a.shape == (16 * n, 16)
    np.testing.assert_array_equal(a[8 * n:8 * n + 40], np.zeros((40, 16), "u1"))
    assert file.nbytes < 100_000


@pytest.mark.parametrize("tile, image", [((16, 16), (16, 16)), ((16, 32), (16, 16)), ((24, 32), (11, 24)),
                                         ((4096, 2048), (16, 16))])
def test_jpeg_images_may_be_smaller_than_their_blocks(tile, image):
    imagecodecs = pytest.importorskip("imagecodecs")
    data = np.add.outer(np.arange(image[0]), np.arange(image[1])).astype("u1") * 4
    try:
        a = opened(imagecodecs.jpeg8_encode(data, level=100), t256=image[1], t257=image[0], t259=7, t278=None, t322=tile[1],
                   t323=tile[0])
    except hr.UnsupportedError as error:
        pytest.skip(str(error))
    got = np.asarray(a).astype(int)
    assert np.abs(got - data).max() <= 3


def test_jpeg_of_rgb_is_not_converted_without_its_marker():
    imagecodecs = pytest.importorskip("imagecodecs")
    data = np.zeros((16, 16, 3), "u1")
    data[:8, :, 0] = data[8:, :, 2] = 200
    jpeg = imagecodecs.jpeg8_encode(data, level=100, colorspace="rgb", outcolorspace="rgb")
    at = jpeg.find(b"\xff\xee")  # Adobe's, which would say so
    if at >= 0:
        jpeg = jpeg[:at] + jpeg[at + 2 + int.from_bytes(jpeg[at + 2:at + 4], "big"):]
    for marker, step in ((b"\xff\xc0", 3), (b"\xff\xda", 2)):  # nor are components called R, G and B
        at = jpeg.find(marker) + (10 if step == 3 else 5)
        jpeg = b"".join([jpeg[:at], *(bytes([k + 1]) + jpeg[at + k * step + 1:at + (k + 1) * step] for k in range(3)),
                         jpeg[at + 3 * step:]])
    assert b"Adobe" not in jpeg and b"R\x11" not in jpeg
    try:
        a = opened(jpeg, t256=16, t257=16, t258=(SHORT, [8] * 3), t259=7, t262=2, t277=3, t278=16)
    except hr.UnsupportedError as error:
        pytest.skip(str(error))
    assert np.abs(np.asarray(a).astype(int) - data).max() <= 3


def test_ndpi_of_more_than_32_bits_is_refused_by_name():
    class Large(File):
        def size(self, key):
            return 5 << 30 if key == "x.tif" else None

    with pytest.raises(hr.UnsupportedError, match="NDPI"):
        hr.open(Large(tiff(IMAGE.tobytes(), t65420=1)), path="x.tif")
    np.testing.assert_array_equal(hr.open(Large(tiff(IMAGE.tobytes())), path="x.tif"), IMAGE)
    np.testing.assert_array_equal(opened(t65420=1), IMAGE)
