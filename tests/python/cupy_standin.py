"""Arrays in host memory that keep CuPy's two rules: no NumPy array is made of them unless
`.get()` says so, and they do not mix with NumPy arrays that have axes. It lets the simt
device stand for a GPU. SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import sys
import types

import numpy as np


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, array):
        self._array = array

    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    size = property(lambda self: self._array.size)
    nbytes = property(lambda self: self._array.nbytes)
    real = property(lambda self: wrap(self._array.real))
    imag = property(lambda self: wrap(self._array.imag))
    T = property(lambda self: wrap(self._array.T))

    def get(self):
        return self._array.copy()

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return wrap(getattr(ufunc, method)(*map(unwrap, inputs), **map_values(options)))

    def __array_function__(self, function, kinds, arguments, options):
        if function is np.moveaxis:  # CuPy takes its places as NumPy has them
            return wrap(function(arguments[0]._array, *arguments[1:]))
        return wrap(function(*map(unwrap, arguments), **map_values(options)))

    def __getitem__(self, key):
        return wrap(self._array[key._array if isinstance(key, ndarray) else key])

    def __setitem__(self, key, value):
        self._array[unwrap(key)] = unwrap(value)

    def __len__(self):
        return len(self._array)

    def __bool__(self):
        return bool(self._array)

    def __float__(self):
        return float(self._array)

    def __getattr__(self, name):
        if name.startswith("_") or not callable(getattr(np.ndarray, name)):
            raise AttributeError(name)
        method = getattr(self._array, name)
        return lambda *a, **o: wrap(method(*map(unwrap, a), **map_values(o)))


def wrap(value):
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "OSUT":
        return ndarray(np.asarray(value))
    return tuple(map(wrap, value)) if isinstance(value, tuple) else value


def unwrap(value):
    if isinstance(value, ndarray):
        return value._array
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, (tuple, list)):
        return type(value)(map(unwrap, value))
    return value


def map_values(options):
    return {name: unwrap(value) for name, value in options.items()}


def from_dlpack(tensor):
    memory = (ctypes.c_char * tensor.nbytes).from_address(tensor.ptr or 1)
    memory.owner = tensor  # as long as there are views
    return ndarray(np.ndarray(tensor.shape, tensor.dtype, memory))


def install(monkeypatch):
    """As the module cupy, for one test."""
    from xarray.namedarray import pycompat

    module = types.ModuleType("cupy")
    module.ndarray, module.from_dlpack, module.__version__ = ndarray, from_dlpack, "14.0"
    module.empty = lambda shape, dtype=float: ndarray(np.empty(shape, dtype))
    module.asarray = lambda array: ndarray(np.array(array))
    module.asnumpy = lambda array: array.get()
    module.__getattr__ = lambda name: function(name)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(pycompat, "_cached_duck_array_modules", {})


def function(name):
    if name.startswith("__"):
        raise AttributeError(name)
    found = getattr(np, name)
    if not callable(found) or isinstance(found, type):
        return found
    return lambda *a, **o: wrap(found(*map(unwrap, a), **map_values(o)))
