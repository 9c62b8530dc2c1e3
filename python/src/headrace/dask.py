"""Arrays of headrace as Dask arrays, whose blocks stay where they are read to.

    x = headrace.dask.from_array(hr.open("x.zarr", "cuda"), chunks=(24, -1, -1))
    x.mean(axis=0).compute()                        # a cupy.ndarray

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

from . import _cf, _config, _dtypes, _node
from ._config import HOST
from ._errors import ArgumentError
from ._read import want
from ._tensor import Tensor

__all__ = ["from_array"]


class _Blocks:
    """What Dask cuts into blocks; pickled as the place of the array and these options."""

    def __init__(self, array: _node.Array, device: str, dtype: Any,
                 mask_and_scale: bool | _cf.Packing) -> None:
        self._array, self._device = array.to_device("cpu"), device
        self._options = {"dtype": dtype, "mask_and_scale": mask_and_scale}
        self.shape, self.ndim = array.shape, array.ndim
        self.dtype = _dtypes.to_numpy(want(array, ..., dtype, mask_and_scale).text)

    def __getitem__(self, key: Any) -> Any:
        result = self._array.read(key, device=self._device, **self._options).result()
        if not isinstance(result, Tensor):
            return result  # of variable length
        return result.to("numpy" if result.device_id == HOST else "cupy")


def from_array(array: _node.Array, chunks: Any = None, *, device: Any = None, dtype: Any = None,
               mask_and_scale: bool | _cf.Packing = False) -> da.Array:
    """A Dask array of NumPy or CuPy blocks, each read when it is computed.

    chunks: as in dask.array; None: the array's (innermost) chunks. device: as in hr.open; None:
    where the array's results go. A GPU that is not named by number is the current one of the
    worker that computes the block: with one worker to a GPU, its own. dtype, mask_and_scale:
    as in Array.read.
    """
    if not isinstance(array, _node.Array):
        raise ArgumentError(f"{array!r} is no array of headrace")
    if device is None:
        device = "cuda" if array.device.startswith("cuda") else array.device
    where = _config.parse_device(device)
    blocks = _Blocks(array, device if isinstance(device, str) else _config.device_text(where),
                     dtype, mask_and_scale)
    if where == HOST:
        meta: Any = np.empty((0,) * array.ndim, blocks.dtype)
    else:
        import cupy
        meta = cupy.empty((0,) * array.ndim, blocks.dtype)
    make: Any = da.from_array  # it has no types
    made: da.Array = make(blocks, array.chunks if chunks is None else chunks, asarray=False,
                          meta=meta)
    return made
