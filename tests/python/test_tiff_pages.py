"""Levels of any image of a TIFF, and the axes that OME-XML gives its pages.
SPDX-License-Identifier: Apache-2.0
"""

import numpy as np
import pytest

hr = pytest.importorskip("headrace", reason="the package is not built")
tifffile = pytest.importorskip("tifffile")
pytest.importorskip("imagecodecs")

OPTIONS = {"photometric": "minisblack", "metadata": None, "compression": "zlib"}


def pyramids(path, pages, has_subifds, nlevels=2):
    """Each page and its halves; returns the numbers of the pages in the chain."""
    numbers, n = [], 0
    with tifffile.TiffWriter(path) as file:
        for page in pages:
            file.write(page, **OPTIONS, subifds=nlevels if has_subifds else None)
            for level in range(1, nlevels + 1):
                file.write(page[::1 << level, ::1 << level], **OPTIONS, subfiletype=1)
            numbers.append(n)
            n += 1 if has_subifds else 1 + nlevels
    return numbers


@pytest.mark.parametrize("has_subifds", [True, False])
def test_every_image_has_its_levels(folder, has_subifds):
    pages = np.arange(3 * 32 * 48, dtype="u2").reshape(3, 32, 48)
    path = folder / "p.tif"
    numbers = pyramids(path, pages, has_subifds)
    for page, number in zip(pages, numbers):
        if number > 0 or has_subifds:  # in the chain all are those of the first
            assert hr.open(f"{path}#ifd={number}").attrs["levels"] == [[32, 48], [16, 24], [8, 12]]
        for level in range(3):
            a = hr.open(f"{path}#ifd={number},level={level}")
            step = 1 << level if number > 0 or has_subifds or level < 2 else None
            if step:
                np.testing.assert_array_equal(a, page[::step, ::step])
    for level in range(3):
        stack = hr.open(f"{path}#stack,level={level}")
        assert stack.dims == ("page", "y", "x")
        assert level > 0 or stack.attrs["levels"] == [[32, 48], [16, 24], [8, 12]]
        np.testing.assert_array_equal(stack, pages[:, ::1 << level, ::1 << level])
        np.testing.assert_array_equal(stack[1, 2:4, ::3],
                                      pages[1, ::1 << level, ::1 << level][2:4, ::3])
    for fragment in (f"ifd={numbers[1]},level=3", "stack,level=3"):
        with pytest.raises(hr.NotFoundError, match="no level 3: the image has 2 overviews"):
            hr.open(f"{path}#{fragment}")
    for fragment in ("stack,", "stack,ifd=1", "ifd=1,level=", "ifd=1,level=1x", "level=1,ifd=1"):
        with pytest.raises(ValueError, match="is none of ifd=NUMBER"):
            hr.open(f"{path}#{fragment}")


def test_overviews_have_no_levels(folder):
    path = folder / "p.tif"
    pyramids(path, np.zeros((2, 16, 16), "u1"), False)
    assert "levels" not in hr.open(f"{path}#ifd=1").attrs
    with pytest.raises(hr.NotFoundError, match="no level 1"):
        hr.open(f"{path}#ifd=1,level=1")


def test_levels_that_are_not_alike_are_no_stack(folder):
    path = folder / "p.tif"
    with tifffile.TiffWriter(path) as file:
        for size in (8, 4):
            file.write(np.zeros((16, 16), "u1"), **OPTIONS, subifds=1)
            file.write(np.zeros((size, size), "u1"), **OPTIONS, subfiletype=1)
    assert hr.open(f"{path}#stack").shape == (2, 16, 16)
    with pytest.raises(hr.UnsupportedError, match="page 1 .* is not like the first"):
        hr.open(f"{path}#stack,level=1")


def test_many_small_pages_are_no_loop(folder):
    path = folder / "p.tif"
    pages = np.arange(300 * 64, dtype="u2").reshape(300, 8, 8)
    for has_subifds in (True, False):
        pyramids(path, pages, has_subifds, 1)
        np.testing.assert_array_equal(hr.open(f"{path}#stack,level=1"), pages[:, ::2, ::2])


@pytest.mark.parametrize("axes, dims", [
    ("TCZYX", ("frame", "channel", "slice")), ("CTZYX", ("channel", "frame", "slice")),
    ("ZTCYX", ("slice", "frame", "channel")), ("TZYX", ("frame", "slice")), ("CYX", ("channel",)),
    ("TZYXS", ("frame", "slice")), ("CTYXS", ("channel", "frame"))])
def test_ome_names_axes(folder, axes, dims):
    shape = {"T": 2, "C": 3, "Z": 4, "Y": 5, "X": 6, "S": 3}
    data = np.arange(np.prod([shape[a] for a in axes]), dtype="u1").reshape([shape[a] for a in axes])
    path = folder / "x.ome.tif"
    tifffile.imwrite(path, data, metadata={"axes": axes},
                     photometric="rgb" if axes[-1] == "S" else "minisblack")
    a = hr.open(f"{path}#stack")
    assert a.dims == (*dims, "y", "x") + (("band",) if axes[-1] == "S" else ())
    np.testing.assert_array_equal(a, data)


XML = '<OME><Image><Pixels DimensionOrder="{order}" SizeX="4" SizeY="3" SizeZ="{z}" SizeC="{c}" ' \
    'SizeT="{t}">{data}</Pixels></Image>{more}</OME>'
IN_ORDER = '<TiffData FirstZ="0" FirstC="1" IFD="2"/><TiffData IFD="0" PlaneCount="1"/>'


@pytest.mark.parametrize("changes, dims", [
    ({}, ("channel", "slice")), ({"data": IN_ORDER}, ("channel", "slice")),
    ({"order": "XYCZT"}, ("slice", "channel")), ({"data": "<TiffData/>"}, ("channel", "slice")),
    ({"data": '<TiffData FirstZ="1" IFD="0"/>'}, ("page",)), ({"order": "XYZZT"}, ("page",)),
    ({"data": '<TiffData FirstZ="9" IFD="9"/>'}, ("page",)), ({"order": "ZCTXY"}, ("page",)),
    ({"data": '<TiffData FirstC="-1"/>'}, ("page",)), ({"order": ""}, ("page",)),
    ({"more": "<Image><Pixels/></Image>"}, ("page",)), ({"t": 2}, ("page",)), ({"z": 0}, ("page",)),
    ({"z": "9" * 30}, ("page",)), ({"z": -2, "t": -1}, ("page",)), ({"c": 4}, ("page",))])
def test_ome_that_does_not_fit_names_none(folder, changes, dims):
    path = folder / "x.tif"
    xml = XML.format(**{"order": "XYZCT", "z": 2, "c": 3, "t": 1, "data": "", "more": "", **changes})
    with tifffile.TiffWriter(path) as file:
        for i in range(6):
            file.write(np.full((3, 4), i, "u1"), photometric="minisblack", metadata=None,
                       description=xml if i == 0 else None)
    a = hr.open(f"{path}#stack")
    assert a.dims == (*dims, "y", "x")
    np.testing.assert_array_equal(np.asarray(a).reshape(6, 3, 4)[:, 0, 0], np.arange(6))
