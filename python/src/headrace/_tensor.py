"""Memory with a shape, for everyone: NumPy, DLPack, CUDA array interface.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _config, _dtypes, _ext
from ._config import CPU, CUDA, HOST
from ._errors import ArgumentError

_DL_DEVICES = {CPU: 1, CUDA: 2, _config.SIMT: 12}


class Tensor(_ext.Tensor):
    """The result of a read: elements in C order, in host or device memory.

    It speaks the buffer protocol (host), DLPack (with and without versions) and version 3
    of the CUDA array interface, so `np.asarray(t)`, `cupy.asarray(t)`,
    `torch.from_dlpack(t)` and `jax.numpy.from_dlpack(t)` share its memory. What is in it
    is complete: no stream needs to be waited for.

    shape, strides (in bytes), ndim, nbytes, itemsize, readonly; ptr: the address.
    """

    __slots__ = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's name for the element type."""
        return _dtypes.to_numpy(self.dtype_text)

    @property
    def device(self) -> str:
        """Where the memory is: "cpu", "cuda:0"."""
        return _config.device_text(self.device_id)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def to(self, framework: str) -> Any:
        """The same elements as an array of "numpy", "cupy", "torch" or "jax".

        Memory is shared where the framework takes memory of this device; "numpy" copies
        from a device, "cupy" copies to one.
        """
        if framework == "numpy":
            return np.asarray(self._on_host())
        if framework == "torch":
            import torch
            return torch.from_dlpack(self)
        if framework == "jax":
            import jax.dlpack
            return jax.dlpack.from_dlpack(self)
        if framework == "cupy":
            import cupy
            return cupy.asarray(np.asarray(self)) if self.device_id == HOST \
                else cupy.from_dlpack(self)
        raise ArgumentError(f"no framework {framework!r}: numpy, cupy, torch, jax")

    def item(self) -> Any:
        """The one element, as a Python object."""
        return self.to("numpy").item()

    def tolist(self) -> Any:
        """The elements as nested lists."""
        return self.to("numpy").tolist()

    def _on_host(self) -> Tensor:
        return self if self.device_id == HOST else self._copy()

    def _copy(self) -> Tensor:
        """A copy in host memory."""
        context = _config.context()
        host = _ext.empty(Tensor, context, HOST, self.shape, self.dtype_text, self.itemsize)
        self._copy_to_host(context, host)
        return host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self.device_id != HOST:
            raise TypeError(f"the elements are on {self.device}; say .to(\"numpy\") to copy "
                            "them to the host")
        array = np.ndarray(self.shape, self.dtype, self)  # type: ignore[arg-type]
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"{self.dtype} as {dtype} needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device_id[0] != CUDA:
            raise AttributeError("the memory is not on a CUDA device")
        return {"shape": self.shape, "typestr": self.dtype.str,
                "data": (self.ptr if self.nbytes else 0, self.readonly), "version": 3,
                "strides": None if self.contiguous else self.strides, "stream": None}

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, index = self.device_id
        return (_DL_DEVICES[kind], index)

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """A capsule of DLPack 1, or of before where max_version is not given.

        The elements are complete, so no stream has to wait; stream=0 is refused, as
        DLPack says, and so is a stream for host memory.
        """
        if stream is not None:
            if self.device_id[0] == CUDA and stream == 0:
                raise ValueError("DLPack forbids stream 0: 1 is the legacy default stream")
            if self.device_id[0] != CUDA and stream != -1:
                raise ValueError("there are no streams in host memory")
        tensor = self
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            if tuple(dl_device) != (1, 0):
                raise BufferError(f"no copy from {self.device} to DLPack's device {dl_device}")
            if copy is False:
                raise BufferError("another device needs a copy")
            tensor = self._copy()
        elif copy:
            if self.device_id != HOST:
                raise BufferError("no copies on a device; copy the array that comes of it")
            tensor = self._copy()
        return tensor._dlpack(max_version is not None and max_version[0] >= 1)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-dimensional tensor")
        return self.shape[0]

    def __eq__(self, other: Any) -> Any:
        """Element by element, as NumPy has it; in host memory only."""
        return self.__array__() == other

    def __ne__(self, other: Any) -> Any:
        return self.__array__() != other

    __hash__ = object.__hash__

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __repr__(self) -> str:
        text = f"Tensor(shape={self.shape}, dtype={self.dtype_text!r}, device={self.device!r})"
        return f"{text}\n{np.asarray(self)}" if self.device_id == HOST else text


def view(tensor: Tensor, offset: int, shape: tuple[int, ...]) -> Tensor:
    """So many elements of it from an offset (in elements) on, in C order."""
    at = tensor.ptr + offset * tensor.itemsize
    return _ext.wrap(Tensor, at, tensor.device_id, shape, None, tensor.dtype_text,
                     tensor.itemsize, tensor.readonly, tensor)


def transposed(tensor: Tensor, order: Sequence[int]) -> Tensor:
    """The same memory with its axes in another order."""
    return _ext.wrap(Tensor, tensor.ptr, tensor.device_id, tuple(tensor.shape[k] for k in order),
                     tuple(tensor.strides[k] for k in order), tensor.dtype_text, tensor.itemsize,
                     tensor.readonly, tensor)


def _from_ndarray(array: np.ndarray[Any, Any]) -> Tensor:
    text, itemsize = _dtypes.from_numpy(array.dtype)
    return _ext.wrap(Tensor, array.__array_interface__["data"][0], HOST, array.shape,
                     array.strides, text, itemsize, not array.flags.writeable, array)


def _from_interface(obj: Any) -> tuple[Tensor, int | None]:
    """Through the CUDA array interface, and the stream that it names."""
    about = obj.__cuda_array_interface__
    text, itemsize = _dtypes.from_numpy(np.dtype(about["typestr"]))
    pointer, is_readonly = about["data"]
    device = getattr(getattr(obj, "device", None), "id", None)
    index = _config.parse_device("cuda")[1] if device is None else int(device)
    tensor = _ext.wrap(Tensor, pointer or 0, (CUDA, index), tuple(about["shape"]),
                       about.get("strides"), text, itemsize, bool(is_readonly), obj)
    return tensor, about.get("stream")


def _from_dlpack(obj: Any, stream: int) -> Tensor:
    """The producer makes our stream wait for its own."""
    options: dict[str, Any] = {"max_version": (1, 0)}
    if obj.__dlpack_device__()[0] == 2:
        options["stream"] = stream or 1  # 0, the driver's legacy stream, is 1 there
    try:
        capsule = obj.__dlpack__(**options)
    except TypeError:  # a producer of before version 1
        del options["max_version"]
        capsule = obj.__dlpack__(**options)
    return _ext.from_dlpack(Tensor, capsule)


def as_tensor(obj: Any, stream: int) -> tuple[Tensor, int | None]:
    """A tensor over somebody's memory, and a stream to be ordered after, if it names one."""
    if isinstance(obj, Tensor):
        return obj, None
    if isinstance(obj, np.ndarray):
        return _from_ndarray(obj), None
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        return _from_dlpack(obj, stream), None
    if hasattr(obj, "__cuda_array_interface__"):
        return _from_interface(obj)
    try:
        return _from_ndarray(np.asarray(memoryview(obj))), None
    except TypeError:
        raise ArgumentError(f"{type(obj).__name__} has neither DLPack, nor the CUDA array "
                            "interface, nor the buffer protocol") from None
