"""headrace: chunked arrays (Zarr v2 and v3, TIFF) into GPU or host memory.

    import headrace as hr

    a = hr.open("data.zarr/temperature")        # an Array; a Group for a group
    a[0, ::-1, 5:9]                              # a Tensor: NumPy, DLPack, CUDA interface
    a.oindex[[3, 1], :], a.vindex[rows, columns], a.blocks[0], a[mask]
    a.read([np.s_[0], hr.oindex[[3, 1]]], dtype="float32").result()
    hr.read_batch([(a, np.s_[0:4]), (b, ...)], out="packed").result()

Each chunk that a call needs is read and decoded once, whoever needs it. Errors are
`headrace.Error` and say url, key, codec and offset. SPDX-License-Identifier: Apache-2.0
"""

from ._cf import Packing
from ._codecs import add_codec
from ._config import caches, clear_caches, codecs, config, device_info
from ._errors import (
    AllocationError, ArgumentError, CancelledError, ChecksumError, DataError, DeviceError,
    DTypeError, Error, ForkedError, MetadataError, MissingChunkError, NotFoundError,
    SelectionError, ShapeError, StoreError, StrictError, TimedOutError, TooLargeError,
    UnsupportedError)
from ._explain import Explanation, PlannedChain, PlannedCodec, explain
from ._ext import version as _version
from ._future import Future
from ._node import Array, Group, MemoryStore, open
from ._read import Packed, read_batch
from ._select import blocks, boxes, mask, oindex, vindex
from ._stages import Stage, Stages
from ._tensor import Tensor

__version__ = _version()
__all__ = [
    "AllocationError", "ArgumentError", "Array", "CancelledError", "ChecksumError",
    "DTypeError", "DataError", "DeviceError", "Error", "Explanation", "ForkedError", "Future", "Group",
    "MemoryStore", "MetadataError", "MissingChunkError", "NotFoundError", "Packed", "Packing",
    "PlannedChain", "PlannedCodec", "SelectionError", "ShapeError", "Stage", "Stages", "StoreError",
    "StrictError", "Tensor", "TimedOutError", "TooLargeError", "UnsupportedError", "__version__",
    "add_codec", "blocks", "boxes", "caches", "clear_caches", "codecs", "config", "device_info", "explain", "mask", "oindex", "open", "read_batch", "vindex",
]
