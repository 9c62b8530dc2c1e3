"""Many selections in one call: boxes and basic indices. SPDX-License-Identifier: Apache-2.0"""

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
DATA = np.arange(240, dtype="<i4").reshape(8, 6, 5)
KEYS = [np.s_[1:3, ::-2], 5, np.s_[..., 2], np.s_[3, 4, 1], np.s_[-2:, ..., ::3], ..., np.s_[7:2],
        np.s_[:, -1, 4:0:-1], np.s_[2:4, 0:3, 1:5], ()]


@pytest.fixture
def a(folder):
    zarr.create_array(folder / "a.zarr", data=DATA, chunks=(3, 4, 2), fill_value=-1)
    return hr.open(folder / "a.zarr")


def same(results, expected):
    for result, value in zip(results, expected, strict=True):
        assert np.shape(result) == np.shape(value) and (np.asarray(result) == value).all()


def test_basic_indices_are_as_numpys(a):
    expected = [DATA[key] for key in KEYS]
    same(a.read(KEYS).result(), expected)
    packed = a.read(KEYS, out="packed").result()
    same(list(packed), expected)
    assert packed.shapes == tuple(np.shape(value) for value in expected)
    assert packed.offsets.tolist() == [0, *np.cumsum([value.size for value in expected])]
    out = [np.zeros(np.shape(value), "i4") for value in expected]
    assert a.read(KEYS, out=out).result() is out
    same(out, expected)
    row = np.zeros(sum(value.size for value in expected), ">i4")
    a.read(KEYS, out=row).result()
    assert row.tolist() == np.concatenate([value.reshape(-1) for value in expected]).tolist()


@pytest.mark.parametrize("dtype", [None, "f8"])
def test_results_of_one_shape_fill_the_entries_of_an_array(a, dtype):
    keys = [np.s_[i:i + 2, j, ::-2] for i in (0, 5, 3) for j in (4, 0)]
    wide = np.zeros((6, 4, 6), dtype or "i4")
    out = wide[:, 1:3, ::-2]
    a.read(keys, out=out, dtype=dtype).result()
    same(out, [DATA[key] for key in keys])
    assert (wide[:, [0, 3]] == 0).all() and (wide[:, :, ::2] == 0).all()
    elements = np.zeros(5, "i4")
    a.read([np.s_[i, 2, 1] for i in range(5)], out=elements[::-1]).result()
    assert elements[::-1].tolist() == DATA[:5, 2, 1].tolist()


def test_other_indices_among_them(a):
    keys = [np.s_[0:2], hr.oindex[[3, 1], :, 0], np.s_[1, 2], hr.vindex[[[1], [2]], 3, [4, 0]]]
    expected = [DATA[0:2], DATA[[3, 1]][:, :, 0], DATA[1, 2], DATA[[[1], [2]], 3, [4, 0]]]
    same(a.read(keys).result(), expected)
    same(list(a.read(keys, out="packed").result()), expected)
    one = np.zeros((1, 2, 2), "i4")
    a.read(keys[3:], out=one).result()
    same(one, expected[3:])


def test_arrays_take_turns(folder, a):
    zarr.create_array(folder / "b.zarr", data=DATA[::-1], chunks=(2, 6, 5))
    b = hr.open(folder / "b.zarr")
    items = [(a, 1), (a, np.s_[:, 0, 0]), (b, 1), a, (b, np.s_[2:4]), (b, 0)]
    expected = [DATA[1], DATA[:, 0, 0], DATA[::-1][1], DATA, DATA[::-1][2:4], DATA[::-1][0]]
    same(hr.read_batch(items).result(), expected)
    same(list(hr.read_batch(items, out="packed").result()), expected)
    assert hr.explain(items).nrequests == 6
    assert hr.explain(items).output_nbytes == 4 * sum(value.size for value in expected)


@pytest.mark.parametrize("shape", [(2, 3), (3, 1, 4), (8,), ()])
def test_boxes(a, shape):
    rng = np.random.default_rng(0)
    room = np.subtract(DATA.shape[:len(shape)], shape)
    starts = rng.integers(0, room + 1, (30, len(shape)))
    expected = [DATA[tuple(slice(i, i + n) for i, n in zip(start, shape))] for start in starts]
    boxes = hr.boxes(starts, shape)
    same(a.read(boxes).result(), expected)
    same(list(a.read(boxes, out="packed").result()), expected)
    out = np.zeros((30, *expected[0].shape), "i4")
    future = a.read(boxes, out=out)
    assert future.result() is out and (out == expected).all()
    assert future.exceptions() == [None] * 30
    assert a.read(hr.boxes(starts[:0], shape)).result() == []
    none = a.read(hr.boxes(starts[:0], shape), out="packed").result()
    assert len(none) == 0 and none.data.shape == (0,)


def test_wrong_boxes_are_refused(a):
    for starts, shape in [([[0, 0]], (1,)), ([0, 1], (1,)), ([[0.5]], (1,)), ([[1]], (-1,)),
                          ([[7, 0]], (2, 1)), ([[-1, 0]], (1, 1)), ([[0] * 4], (1,) * 4),
                          ([[2**63 - 1]], (1,)), ([[0]], (2**62,))]:
        with pytest.raises(hr.SelectionError):
            a.read(hr.boxes(starts, shape))
    with pytest.raises(TypeError):
        hr.boxes([[0]], 1)


@pytest.mark.parametrize("keys, error", [
    ([0, 8], hr.SelectionError), ([0, (0, 0, 0, 0)], hr.SelectionError),
    ([0, (..., 0, ...)], hr.SelectionError), ([0, 2**70], hr.SelectionError),
    ([0, slice(None, None, 0)], hr.SelectionError), ([0, "x"], hr.SelectionError),
    ([0, None], hr.SelectionError), ([0, True], hr.SelectionError)])
def test_one_wrong_index_among_many_is_refused(a, keys, error):
    with pytest.raises(error):
        a.read(keys)


def test_wrong_memory_for_many_is_refused(a):
    keys = [np.s_[0, 0], np.s_[1, 0]]
    for out in [np.zeros((2, 6), "i4"), np.zeros((3, 5), "i4"), np.zeros(11, "i4"),
                np.zeros(20, "i4")[::2], [np.zeros(5, "i4")], [np.zeros(5, "i4")] * 2,
                [np.zeros(5, "i4"), np.zeros(6, "i4")]]:
        with pytest.raises((hr.ShapeError, hr.ArgumentError)):
            a.read(keys, out=out)
    for out in [np.zeros((2, 5), "f4"), [np.zeros(5, "i4"), np.zeros(5, "f4")]]:
        with pytest.raises(hr.DTypeError):
            a.read(keys, out=out)


def test_a_bad_chunk_spoils_only_its_own(folder, a):
    (folder / "a.zarr" / "c" / "0" / "0" / "0").write_bytes(b"no chunk")
    future = a.read(hr.boxes([[5, 4, 2], [0, 0, 0], [3, 4, 0]], (1, 1, 2)), out="packed")
    errors = future.exceptions()
    assert [type(error) for error in errors] == [type(None), hr.DataError, type(None)]
    assert errors[1].key == "c/0/0/0"


def test_strings_many_at_once(folder):
    words = np.array([["a", "bcd"], ["", "ef"]], dtype=np.dtypes.StringDType())
    zarr.create_array(folder / "w.zarr", data=words, chunks=(1, 2))
    w = hr.open(folder / "w.zarr")
    got = w.read([0, np.s_[1, 1], ...]).result()
    assert got[0].tolist() == ["a", "bcd"] and got[1].shape == () and got[1] == "ef"
    assert got[2].tolist() == words.tolist()


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [None, "f8"])
def test_results_are_concatenated_along_an_axis(a, axis, dtype):
    keys = [np.s_[:4, :3, :2], np.s_[4:8, 3:6, 1:3], hr.oindex[[7, 0, 5, 5], 2:5, [4, 1]],
            np.s_[3::-1, ::2, 0:4:3]]
    expected = np.concatenate([DATA[:4, :3, :2], DATA[4:8, 3:6, 1:3],
                               DATA[[7, 0, 5, 5]][:, 2:5][:, :, [4, 1]],
                               DATA[3::-1, ::2, 0:4:3]], axis)
    result = a.read(keys, axis=axis, dtype=dtype).result()
    assert isinstance(result, hr.Tensor) and result.contiguous
    same([result], [expected])
    wide = np.zeros([2 * n for n in expected.shape], dtype or "i4")
    out = wide[::2, 1::2, ::-2]
    assert hr.read_batch([(a, key) for key in keys], out=out, axis=axis, dtype=dtype).result() is out
    same([out], [expected])
    assert wide.sum() == expected.sum()


def test_lengths_may_differ_along_the_axis_of_concatenation(folder, a):
    zarr.create_array(folder / "b.zarr", data=DATA[::-1], chunks=(2, 6, 5))
    b = hr.open(folder / "b.zarr")
    items = [(a, np.s_[:3]), (b, np.s_[2:2]), (b, np.s_[1:]), a]
    expected = np.concatenate([DATA[:3], DATA[::-1][1:], DATA])
    same([hr.read_batch(items, axis=0).result()], [expected])
    same([a.read(hr.boxes([[5, 4, 2], [0, 0, 0]], (1, 1, 2)), axis=2).result()],
         [np.concatenate([DATA[5:6, 4:5, 2:4], DATA[:1, :1, :2]], 2)])
    same([a.read(np.s_[2:4], axis=1).result()], [DATA[2:4]])


def test_what_cannot_be_concatenated_is_refused(a):
    with pytest.raises(hr.ShapeError, match="more than axis 0"):
        a.read([np.s_[:2], np.s_[:2, :1]], axis=0)
    with pytest.raises(hr.ShapeError, match="more than axis 0"):
        a.read([np.s_[:2], np.s_[1]], axis=0)
    with pytest.raises(hr.ShapeError, match=r"\(4, 6, 5\)"):
        a.read([np.s_[:2], np.s_[2:4]], np.zeros((5, 6, 5), "i4"), axis=0)
    for keys, axis in (([np.s_[:2]], 3), ([np.s_[:2]], -4), ([], 0), ([()], 0 + 3), ([(1, 1, 1)], 0)):
        with pytest.raises(hr.ArgumentError, match=f"axis {axis}"):
            a.read(keys, axis=axis)
    for out in ("packed", [np.zeros((2, 6, 5), "i4")]):
        with pytest.raises(hr.ArgumentError, match="one array"):
            a.read([np.s_[:2]], out, axis=0)
    with pytest.raises(TypeError, match="dtype="):
        a.read([np.s_[:2]], np.zeros((2, 6, 5), "f4"), axis=0)


def test_one_array_is_no_list_of_items(a):
    with pytest.raises(hr.ArgumentError, match="a list of items"):
        hr.read_batch(a)
