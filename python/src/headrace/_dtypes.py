"""Element types: the library's names and NumPy's. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import ast
import functools
from typing import Any

import numpy as np

from ._errors import DTypeError

VLEN_UTF8, VLEN_BYTES, VLEN_ARRAY = 13, 14, 15  # the library's kinds
VLEN_NBYTES = 16  # of an element in memory


def _bfloat16() -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise DTypeError('NumPy has no bfloat16: install ml_dtypes, or read with '
                         'dtype="float32"') from None
    return np.dtype(ml_dtypes.bfloat16)


@functools.lru_cache(maxsize=256)
def to_numpy(text: str) -> np.dtype[Any]:
    """NumPy's type for the library's text."""
    if text == "string":
        strings = getattr(np.dtypes, "StringDType", None)  # since NumPy 2
        return np.dtype(object) if strings is None else strings()
    if text == "bytes" or text.startswith("vlen-array"):
        return np.dtype(object)
    if text == "bfloat16":
        bfloat16: np.dtype[Any] = _bfloat16()
        return bfloat16
    return np.dtype(ast.literal_eval(text) if text.startswith("[") else text)


@functools.lru_cache(maxsize=256)
def _from_numpy(dtype: np.dtype[Any]) -> str:
    if dtype.name == "bfloat16":
        return "bfloat16"
    if dtype.hasobject or dtype.itemsize == 0:
        raise DTypeError(f"elements cannot be delivered as {dtype}")
    return str(dtype.descr) if dtype.fields is not None else dtype.str


def from_numpy(dtype: Any) -> tuple[str, int]:
    """The library's text for what NumPy takes as a type, and the bytes of an element."""
    if isinstance(dtype, str) and dtype == "bfloat16":
        return "bfloat16", 2
    dtype = np.dtype(dtype)
    return _from_numpy(dtype), dtype.itemsize


def native(text: str) -> str:
    """The same type in the byte order that devices know."""
    return "<" + text[1:] if text.startswith(">") else text
