"""Results are memory that everyone can take: buffers, DLPack, CUDA array interface.

SPDX-License-Identifier: Apache-2.0
"""

import ctypes as c
import gc
import weakref

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
from headrace import _ext  # noqa: E402

NUMBERS = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8",
           "<c8", "<c16")
CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}


class DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32),
                ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class Versioned(c.Structure):
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("manager", c.c_void_p),
                ("deleter", c.c_void_p), ("flags", c.c_uint64), ("tensor", DLTensor)]


def pointer_of(capsule, name):
    get = c.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
    return get(capsule, name)


@pytest.fixture
def tensor(folder):
    zarr.create_array(folder / "t", data=np.arange(12, dtype="<i4").reshape(3, 4))
    return hr.open(folder / "t")[...]


def on_gpu(shape=(3, 4), strides=None, readonly=False):
    """A tensor that says it is on a GPU; its memory is never touched."""
    return _ext.wrap(hr.Tensor, 0x7F0000000000, (2, 1), shape, strides, "<f4", 4, readonly, None)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_numpy_shares_the_memory_by_every_protocol(folder, dtype):
    data = np.arange(6).reshape(2, 3).astype(dtype)
    zarr.create_array(folder / "t", data=data)
    t = hr.open(folder / "t")[...]
    for array in (np.asarray(t), np.from_dlpack(t), np.asarray(memoryview(t)), t.to("numpy"),
                  t.__array__()):
        assert array.dtype == data.dtype and array.tolist() == data.tolist()
        assert array.__array_interface__["data"][0] == t.ptr
    assert (t.shape, t.dtype, t.size, t.nbytes, len(t)) == ((2, 3), data.dtype, 6, data.nbytes, 2)
    assert memoryview(t).contiguous and memoryview(t).itemsize == data.itemsize


@pytest.mark.parametrize("dtype", ["<M8[ns]", "<m8[s]", "|S5", "<U3"])
def test_types_beyond_numbers_reach_numpy(folder, dtype):
    data = np.array(["3", "1", "2"]).astype("i4").astype(dtype)
    zarr.create_array(folder / "t", data=data, zarr_format=2)
    t = hr.open(folder / "t")[...]
    assert np.asarray(t).dtype == data.dtype and np.asarray(t).tolist() == data.tolist()
    with pytest.raises(BufferError):
        t.__dlpack__()


def test_big_endian_items_only_when_asked(tensor, folder):
    a = hr.open(folder / "t")
    big = a.read(..., dtype=">i4").result()
    assert np.asarray(big).dtype == np.dtype(">i4") and big.tolist() == tensor.tolist()
    with pytest.raises(BufferError):
        big.__dlpack__()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_capsules_say_what_dlpack_says(folder, dtype):
    data = np.arange(6).reshape(2, 3).astype(dtype)
    zarr.create_array(folder / "t", data=data)
    t = hr.open(folder / "t")[...]
    capsule = t.__dlpack__(max_version=(1, 0))
    v = Versioned.from_address(pointer_of(capsule, b"dltensor_versioned"))
    legacy = t.__dlpack__()
    for d in (v.tensor, DLTensor.from_address(pointer_of(legacy, b"dltensor"))):
        assert (d.device_type, d.device_id, d.ndim, d.byte_offset) == (1, 0, 2, 0)
        assert (d.code, d.bits, d.lanes) == (CODES[data.dtype.kind], 8 * data.itemsize, 1)
        assert d.shape[:2] == [2, 3] and d.strides[:2] == [3, 1] and d.data == t.ptr
    assert (v.major, v.flags) == (1, 0)
    assert '"dltensor"' in repr(t.__dlpack__(max_version=(0, 8)))


def test_a_capsule_holds_the_memory_until_it_goes(folder):
    zarr.create_array(folder / "t", data=np.arange(3))
    owner = np.arange(3)
    gone = weakref.ref(owner)
    t = _ext.wrap(hr.Tensor, owner.ctypes.data, (1, 0), (3,), None, "<i8", 8, False, owner)
    unused, used = t.__dlpack__(max_version=(1, 0)), np.from_dlpack(t)
    del t, owner
    gc.collect()
    assert used.tolist() == [0, 1, 2]
    del used
    gc.collect()
    assert gone() is not None
    del unused
    gc.collect()
    assert gone() is None


def test_streams_and_copies_of_dlpack(tensor):
    assert tensor.__dlpack_device__() == (1, 0)
    for stream in (0, 1, 2, 123):
        with pytest.raises(ValueError):
            tensor.__dlpack__(stream=stream)
    copied = np.from_dlpack(tensor, copy=True)
    assert copied.tolist() == np.asarray(tensor).tolist()
    assert copied.__array_interface__["data"][0] != tensor.ptr
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0))
    gpu = on_gpu()
    assert gpu.__dlpack_device__() == (2, 1)
    for stream in (None, -1, 1, 2, 123):
        capsule = gpu.__dlpack__(stream=stream, max_version=(1, 0))
        d = Versioned.from_address(pointer_of(capsule, b"dltensor_versioned")).tensor
        assert (d.device_type, d.device_id, d.data) == (2, 1, gpu.ptr)
    for wrong, options in ((ValueError, {"stream": 0}), (BufferError, {"copy": True}),
                           (BufferError, {"dl_device": (1, 0), "copy": False})):
        with pytest.raises(wrong):
            gpu.__dlpack__(**options)


def test_read_only_memory_stays_so():
    t = on_gpu(readonly=True)
    with pytest.raises(BufferError):
        t.__dlpack__()
    capsule = t.__dlpack__(max_version=(1, 2))
    assert Versioned.from_address(pointer_of(capsule, b"dltensor_versioned")).flags == 1
    assert t.__cuda_array_interface__["data"] == (t.ptr, True)


def test_the_cuda_array_interface(tensor):
    assert not hasattr(tensor, "__cuda_array_interface__")
    assert on_gpu().__cuda_array_interface__ == {
        "shape": (3, 4), "typestr": "<f4", "data": (0x7F0000000000, False), "version": 3,
        "strides": None, "stream": None}
    assert on_gpu(strides=(32, 4)).__cuda_array_interface__["strides"] == (32, 4)
    assert on_gpu(shape=(0,)).__cuda_array_interface__["data"] == (0, False)
    assert on_gpu(shape=(0,)).device == "cuda:1"


def test_device_memory_is_no_host_memory():
    t = on_gpu()
    for use in (np.asarray, memoryview, bytes):
        with pytest.raises((TypeError, BufferError)):
            use(t)
    with pytest.raises(TypeError, match="to the host"):
        t.__array__()
    assert "cuda:1" in repr(t)


def test_a_device_is_copied_to_the_host(folder):
    data = np.arange(12, dtype="<f4").reshape(3, 4)
    zarr.create_array(folder / "t", data=data)
    try:
        t = hr.open(folder / "t", "simt")[::-1]
    except hr.UnsupportedError:
        pytest.skip("this build has no simt device")
    assert t.__dlpack_device__()[0] == 12 and t.to("numpy").tolist() == data[::-1].tolist()
    capsule = t.__dlpack__(dl_device=(1, 0), max_version=(1, 0))
    assert Versioned.from_address(pointer_of(capsule, b"dltensor_versioned")).tensor.device_type == 1
    assert hr.open(folder / "t", "simt")[1, 2].item() == 6.0


def test_scalars(tensor, folder):
    zarr.create_array(folder / "s", data=np.array(2.5))
    s = hr.open(folder / "s")[()]
    assert (float(s), int(s), complex(s), bool(s), s.item()) == (2.5, 2, 2.5 + 0j, True, 2.5)
    assert tensor.tolist() == np.arange(12).reshape(3, 4).tolist()
    with pytest.raises(TypeError):
        len(s)
    with pytest.raises(ValueError):
        tensor.to("fortran")


def test_elements_are_compared_as_numpy_does(tensor):
    assert (tensor == np.asarray(tensor)).all() and (tensor == tensor).all()
    assert not (tensor != np.asarray(tensor)).any()
    assert {tensor: 1}[tensor] == 1


def test_bfloat16_needs_a_numpy_type_only_when_numpy_is_asked(folder):
    tensorstore = pytest.importorskip("tensorstore")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    store = tensorstore.open({"driver": "zarr3", "kvstore": f"file://{folder}/b/",
                              "metadata": {"shape": [3], "data_type": "bfloat16"}},
                             create=True).result()
    store[...] = np.array([1, 2.5, -3], ml_dtypes.bfloat16)
    a = hr.open(folder / "b")
    capsule = a[...].__dlpack__(max_version=(1, 0))
    d = Versioned.from_address(pointer_of(capsule, b"dltensor_versioned")).tensor
    assert (d.code, d.bits) == (4, 16)
    assert a[...].to("numpy").tolist() == [1, 2.5, -3]
    assert a.read(..., dtype="float32").result().tolist() == [1, 2.5, -3]
