"""Exceptions: one per kind of failure, with the error's fields. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import concurrent.futures
from typing import Any


class Error(Exception):
    """A failure that headrace found.

    url: the array or group. key: store key of the chunk or document. codec: the codec that
    failed, as the metadata spells it. offset: byte offset in the object named by key.
    device_code: the driver's code. os_errno: errno. Text is "" and numbers are 0 where a
    field does not apply.
    """

    url: str = ""
    key: str = ""
    codec: str = ""
    offset: int = 0
    device_code: int = 0
    os_errno: int = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return (_remake, (type(self), str(self), dict(self.__dict__)))

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ArgumentError(Error, ValueError):
    """The call itself is wrong."""


class AllocationError(Error, MemoryError):
    """An allocation failed, or a budget would be exceeded."""


class TooLargeError(Error, OverflowError):
    """A size or an offset fits neither in 64 bits nor in a limit."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not for this version; the message names what."""


class NotFoundError(Error, FileNotFoundError):
    """No such array, group or file."""


class StoreError(Error, OSError):
    """The store failed; os_errno says how."""


class MetadataError(Error, ValueError):
    """Metadata is malformed or contradicts itself."""


class DataError(Error, ValueError):
    """A chunk is corrupt, truncated or of the wrong size."""


class ChecksumError(DataError):
    """A checksum stored with the data does not match."""


class MissingChunkError(Error, LookupError):
    """Strict: a chunk is absent from the store."""


class DTypeError(Error, TypeError):
    """The destination's element type differs and no cast was asked for."""


class ShapeError(Error, ValueError):
    """The destination's shape differs from the selection's."""


class SelectionError(Error, IndexError):
    """A selection is out of bounds or ill-formed."""


class DeviceError(Error, RuntimeError):
    """The device or its driver failed; device_code says how."""


class CancelledError(Error, concurrent.futures.CancelledError):
    """The read was cancelled."""


class ForkedError(Error, RuntimeError):
    """The object belongs to the parent of this forked process."""


class TimedOutError(Error, TimeoutError):
    """The wait ended before the work did."""


class StrictError(Error, RuntimeError):
    """Strict: a fallback would have been needed."""


# By the library's status.
_CLASSES: dict[int, type[Error]] = {
    -1: ArgumentError, -2: AllocationError, -3: TooLargeError, -4: UnsupportedError,
    -5: NotFoundError, -6: StoreError, -7: MetadataError, -8: DataError, -9: ChecksumError,
    -10: MissingChunkError, -11: DTypeError, -12: ShapeError, -13: SelectionError,
    -14: DeviceError, -15: CancelledError, -16: ForkedError, -17: TimedOutError,
    -18: StrictError,
}
_SPAWN = ('; start the processes with the "spawn" method, e.g. '
          'multiprocessing.get_context("spawn") or DataLoader(multiprocessing_context="spawn")')


def make(status: int, message: str, url: str, key: str, offset: int, device_code: int,
         os_errno: int, codec: str) -> Error:
    """The exception for an error record of the library."""
    cls = _CLASSES.get(status, Error)
    place = ", ".join(f"{name} {value}" for name, value in
                      (("array", url), ("key", key), ("codec", codec)) if value)
    text = message + (f" ({place})" if place else "") + (_SPAWN if cls is ForkedError else "")
    return _remake(cls, text, {"url": url, "key": key, "codec": codec, "offset": offset,
                               "device_code": device_code, "os_errno": os_errno})


def _remake(cls: type[Error], text: str, fields: dict[str, Any]) -> Error:
    error = cls(text)
    error.__dict__.update(fields)
    if isinstance(error, OSError) and error.os_errno:
        error.errno = error.os_errno
    return error
