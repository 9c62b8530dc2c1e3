"""The package selects as zarr-python and NumPy do, and gives the same types.

SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import json
import warnings

import hypothesis
import numpy as np
import pytest
import zarr
from hypothesis import strategies as st

import strategies
import test_corpus
from test_property import bits, bounded, place  # noqa: F401 (a fixture)

hr = pytest.importorskip("headrace", reason="the package is not built")


def zarr_open(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zarr.open_array(path, mode="r")


def same(result, expected, dtype=None):
    """Equal, and of the same type; big-endian items come in the machine's order."""
    result, expected = np.asarray(result), np.asarray(expected, dtype)
    assert result.shape == expected.shape
    if result.dtype.kind in "OT":
        assert result.dtype == expected.dtype and result.tolist() == expected.tolist()
    else:
        assert result.dtype == expected.dtype.newbyteorder("=")
        assert bits(result) == bits(expected)


def forward(n):
    """Slices that zarr-python takes, too."""
    bound = st.one_of(st.none(), st.integers(-n - 2, n + 2))
    return st.builds(slice, bound, bound, st.one_of(st.none(), st.integers(1, 4)))


@st.composite
def basic(draw, shape, axis=forward):
    parts = [draw(st.one_of(axis(n), st.integers(-n, n - 1)) if n else axis(n))
             for n in shape[:draw(st.integers(0, len(shape)))]]
    if draw(st.booleans()):
        parts += [slice(None)] * (len(shape) - len(parts))
        at = draw(st.integers(0, len(parts)))
        missing = draw(st.integers(0, len(parts) - at))
        parts[at:at + missing] = [...]
    return parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)


@st.composite
def outer(draw, shape):
    parts = []
    for n in shape:
        kinds = [forward(n)]
        if n:
            kinds += [st.integers(-n, n - 1), st.lists(st.integers(-n, n - 1), min_size=1, max_size=6),
                      st.lists(st.booleans(), min_size=n, max_size=n).map(np.array)]
        parts.append(draw(st.one_of(kinds)))
    return tuple(parts)


@bounded(60)
@hypothesis.given(st.data())
def test_selections_are_those_of_zarr_python(place, data):  # noqa: F811
    written = data.draw(strategies.zarr_python(place))
    a, z = hr.open(written.path), zarr_open(written.path)
    assert (a.shape, a.chunks, a.ndim) == (z.shape, z.chunks, z.ndim)
    assert a.dtype == z.dtype.newbyteorder("=")
    shape = a.shape
    same(a[...], z[...], z.dtype)
    same(np.asarray(a), z[...], z.dtype)
    key = data.draw(basic(shape))
    same(a[key], z[key], z.dtype)
    key = data.draw(basic(shape, strategies.slices))
    same(a[key], written.data[key], written.data.dtype)
    if shape:
        key = data.draw(outer(shape))
        same(a.oindex[key], z.oindex[key], z.dtype)
        mask = np.random.default_rng(data.draw(st.integers(0, 99))).random(shape) < 0.3
        same(a[mask], written.data[mask])
        same(a.vindex[mask], written.data[mask])
    if shape and written.data.size:
        rng = np.random.default_rng(data.draw(st.integers(0, 99)))
        many = data.draw(st.sampled_from([(), (1,), (5,), (2, 3)]))
        key = tuple(rng.integers(-n, n, many) for n in shape)
        same(a.vindex[key], written.data[key], written.data.dtype)
        same(a[key], written.data[key], written.data.dtype)
        block = tuple(data.draw(st.integers(0, -(-n // c) - 1)) for n, c in zip(shape, a.chunks))
        same(a.blocks[block], z.blocks[block] if a.shards is None else
             written.data[tuple(slice(b * c, b * c + c) for b, c in zip(block, a.chunks))])


@bounded(25)
@hypothesis.given(st.data())
def test_the_device_gets_what_the_host_gets(place, data):  # noqa: F811
    written = data.draw(strategies.zarr_python(place))
    try:
        a = hr.open(written.path, "simt")
        a.read(()).result()
    except hr.UnsupportedError:
        pytest.skip("this build has no simt device")
    key = data.draw(basic(a.shape, strategies.slices))
    result = a[key]
    assert result.device == "simt"
    same(result.to("numpy"), written.data[key], written.data.dtype)


@pytest.mark.parametrize("row", test_corpus.rows("zarr-array"))
def test_arrays_of_the_corpus(row):
    if test_corpus.refused_names(row):
        with pytest.raises(hr.UnsupportedError):
            np.asarray(hr.open(test_corpus.place(row)))
        return
    a = hr.open(test_corpus.place(row))
    array = np.asarray(a)
    assert (array.shape, array.dtype) == (a.shape, a.dtype)
    assert isinstance(a.attrs, dict) and len(a.grid_shape) == a.ndim and repr(a)
    if a.dtype.kind not in "OT":
        little = array.astype(array.dtype.newbyteorder("<")) if array.dtype.fields is None else array
        found = hashlib.sha256(little.tobytes()).hexdigest()
        assert found == row["expected_sha256"] or array.dtype.fields is not None


def test_groups_are_mappings(folder):
    root = zarr.create_group(folder / "g.zarr", attributes={"title": "x"})
    root.create_array("a", shape=(4,), dtype="i4", fill_value=7, dimension_names=["t"])
    root.create_group("b").create_array("c", shape=(), dtype="f8")
    g = hr.open(folder / "g.zarr", "cpu")
    assert isinstance(g, hr.Group) and g.attrs == {"title": "x"}
    assert list(g) == ["a", "b"] and len(g) == 2 and "a" in g and "x" not in g
    assert g.members(recursive=True) == {"a": "array", "b": "group", "b/c": "array"}
    assert g["a"].dims == ("t",) and g["a"].fill_value == 7 and g["a"][:].tolist() == [7] * 4
    assert set(g.arrays()) == {"a"} and set(g.groups()) == {"b"}
    assert g["b/c"][()].item() == 0.0
    with pytest.raises(KeyError):
        g["nothing"]
    assert hr.open(folder / "g.zarr", path="b/c").shape == ()


@pytest.mark.parametrize("name,text", [
    ("zarr.json", "{"), ("zarr.json", '{"zarr_format": 4, "node_type": "array"}'),
    ("zarr.json", '{"zarr_format": 3, "node_type": "table"}'), (".zarray", "nonsense")])
def test_a_member_of_malformed_metadata_hides_no_other(folder, name, text):
    root = zarr.create_group(folder / "g.zarr")
    root.create_array("a", shape=(4,), dtype="i4", fill_value=7)
    root.create_group("c")
    (folder / "g.zarr" / "b").mkdir()
    (folder / "g.zarr" / "b" / name).write_text(text)
    g = hr.open(folder / "g.zarr", "cpu")
    assert g.members() == {"a": "array", "b": "unreadable", "c": "group"}
    assert list(g) == ["a", "b", "c"] and g["a"][:].tolist() == [7] * 4
    for open_it in (lambda: g["b"], g.arrays, g.groups):  # it may be either
        with pytest.raises((hr.MetadataError, hr.UnsupportedError), match="b/" + name):
            open_it()


def test_strings_come_as_zarr_python_gives_them(folder):
    for version in (2, 3):
        path = folder / f"s{version}.zarr"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            z = zarr.create_array(path, shape=(3, 2), chunks=(2, 2), dtype=str,
                                  zarr_format=version, fill_value="?")
            z[:2] = np.array([["a", ""], ["漢🜁", "x" * 1000]])
        a = hr.open(path)
        same(a[...], z[...])
        same(a[1:, 0], z[1:, 0])
        same(a.oindex[[1, 0], :], z.oindex[[1, 0], :])
        assert a[1, 0].shape == () and a[1, 0].item() == "漢🜁"
        assert a.fill_value == "?"
        with pytest.raises(hr.DTypeError):
            a.read(..., out=np.empty((3, 2), object))


def test_structures_and_big_endian_items(folder):
    dtype = np.dtype([("x", "<i4"), ("y", "<f8", (2,)), ("z", "S3")])
    data = np.zeros(5, dtype)
    data["x"] = range(5)
    data["z"] = b"ab"
    big = np.arange(6, dtype=">f4").reshape(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = np.dtype([("x", "<i4"), ("z", "S3")])
        zarr.create_array(folder / "s", data=data[["x", "z"]].astype(plain), zarr_format=2)
        zarr.create_array(folder / "b", data=big, zarr_format=2)
    a = hr.open(folder / "s")
    assert a.dtype == plain and a[1:3].to("numpy")["x"].tolist() == [1, 2]
    out = np.zeros(5, plain)
    a.read(..., out=out).result()
    assert out["x"].tolist() == [0, 1, 2, 3, 4]
    b = hr.open(folder / "b")
    assert b.dtype == np.dtype("<f4") and b[0].dtype == np.dtype("<f4")
    same(b[...], big)
    assert b.read(..., dtype=">f4").result().to("numpy").dtype == np.dtype(">f4")


def test_zero_size_and_zero_dimensions(folder):
    zarr.create_array(folder / "e", shape=(0, 3), dtype="f4")
    zarr.create_array(folder / "s", data=np.array(5, "i2"))
    e, s = hr.open(folder / "e"), hr.open(folder / "s")
    assert e[...].shape == (0, 3) and np.asarray(e).size == 0 and e[:, 1].shape == (0,)
    assert s[()].item() == 5 and int(s[...]) == 5 and s.vindex.__class__ is not None
    with pytest.raises(TypeError):
        len(s)


def test_a_store_in_memory():
    metadata = {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
                "chunk_key_encoding": {"name": "default"}, "fill_value": 9,
                "codecs": [{"name": "bytes"}]}
    store = hr.MemoryStore({"zarr.json": json.dumps(metadata).encode()})
    store["c/1"] = b"\x01\x02"
    a = hr.open(store)
    assert a[:].tolist() == [9, 9, 1, 2]
    with pytest.raises(TypeError):
        import pickle
        pickle.dumps(a)


def test_what_no_memory_holds_is_refused():
    metadata = {"zarr_format": 2, "shape": [1 << 62], "chunks": [4], "dtype": "<f8",
                "compressor": None, "filters": None, "fill_value": 1, "order": "C"}
    a = hr.open(hr.MemoryStore({".zarray": json.dumps(metadata).encode()}))
    with pytest.raises(hr.TooLargeError):
        a[...]
    with pytest.raises(hr.AllocationError, match="no memory for"):
        a[:: 1 << 10]
    assert a[::1 << 61].tolist() == [1, 1] and a[-1].item() == 1


LISTS = [np.s_[[1, 2], :, 0], np.s_[0, [1, 2]], np.s_[:, 0, [1, 2]], np.s_[:, [1, 2], 0], np.s_[[1], ..., 2],
         np.s_[..., [1, 2]], np.s_[1:3, [0, 3]], np.s_[0, 1, [2]], np.s_[np.array(0), [True, False] * 3]]


@pytest.mark.parametrize("key", LISTS, ids=repr)
def test_a_list_among_the_indices_is_as_in_numpy(folder, key):
    data = np.arange(210).reshape(5, 6, 7)
    zarr.create_array(folder / "l", data=data, chunks=(2, 2, 3))
    same(hr.open(folder / "l")[key], data[key])


@pytest.mark.parametrize("key", [np.s_[0, :, [1, 2]], np.s_[:, [1, 2], :, 0], np.s_[0, ..., [1, 2]]], ids=repr)
def test_a_list_whose_axis_numpy_moves_is_refused(folder, key):
    zarr.create_array(folder / "m", data=np.zeros((3, 3, 3, 3)))
    with pytest.raises(hr.SelectionError, match="say oindex"):
        hr.open(folder / "m")[key]


WRONG = [(7,), (0, 0, 0), (..., ...), "x", None, (None, 0), 1.5, ([0, 1], [1, 2, 3]),
         ([0], slice(None), [1]), np.ones((2, 2), bool), True, ([[0, 1]], slice(None)),
         slice(None, None, 0), np.float64(0), (np.float64(5e-324), 0), np.bool_(False),
         (np.empty((0, 2), int), -6), (np.array(4), []),
         np.array(0.0), np.array([2**64 - 1], "u8"), (np.array([2**64 - 1], "u8"), [0])]


def test_a_mask_of_another_shape_is_called_a_mask(folder):
    zarr.create_array(folder / "m", data=np.zeros((4, 5)))
    with pytest.raises(hr.SelectionError, match="a mask has the array's shape"):
        hr.open(folder / "m")[np.ones((4, 4), bool)]


@pytest.mark.parametrize("key", WRONG, ids=repr)
def test_wrong_selections_raise_index_errors(folder, key):
    zarr.create_array(folder / "w", data=np.zeros((4, 5)))
    a = hr.open(folder / "w")
    with pytest.raises(IndexError):
        a[key]
    for bad in (a.vindex, a.oindex, a.blocks):
        if isinstance(key, (str, float, bool, np.bool_)):
            with pytest.raises(IndexError):
                bad[key]
