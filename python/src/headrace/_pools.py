"""Device memory by the pools of frameworks. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator


@contextlib.contextmanager
def _on_stream(framework: Any, stream: int) -> Iterator[None]:
    """The framework's current stream, for memory that its pool orders by streams."""
    if not stream:
        yield
    else:
        with framework.ExternalStream(stream):
            yield


def _from_cupy(nbytes: int, index: int, stream: int) -> tuple[Any, int]:
    import cupy
    with cupy.cuda.Device(index), _on_stream(cupy.cuda, stream):
        return cupy.empty(nbytes, "u1"), int(cupy.cuda.get_current_stream().ptr)


def _from_torch(nbytes: int, index: int, stream: int) -> tuple[Any, int]:
    import torch
    chosen = torch.cuda.ExternalStream(stream, device=index) if stream else None
    with torch.cuda.device(index), torch.cuda.stream(chosen):
        memory = torch.empty(nbytes, dtype=torch.uint8, device=f"cuda:{index}")
        return memory, int(torch.cuda.current_stream(index).cuda_stream)


def _from_rmm(nbytes: int, index: int, stream: int) -> tuple[Any, int]:
    import cupy
    import rmm
    with cupy.cuda.Device(index):
        if not stream:
            return rmm.DeviceBuffer(size=nbytes), 0
        chosen = rmm.pylibrmm.stream.Stream(cupy.cuda.ExternalStream(stream))
        return rmm.DeviceBuffer(size=nbytes, stream=chosen), stream


TAKERS = {"cupy": _from_cupy, "torch": _from_torch, "rmm": _from_rmm}


class Pool:
    """What reads are staged in, of a framework's pool; the library's threads call it, each for
    memory that it uses on one stream, and gives back when all is done there."""

    def __init__(self, name: str) -> None:
        self._take = TAKERS[name]
        self._held: dict[int, Any] = {}

    def alloc(self, index: int, nbytes: int, stream: int) -> int:
        """An address; 0 where the pool has no memory."""
        try:
            memory, _ = self._take(nbytes, index, stream)
        except MemoryError:
            return 0
        except RuntimeError as error:
            if type(error).__name__ != "OutOfMemoryError":  # torch's
                raise
            return 0
        address = int(memory.__cuda_array_interface__["data"][0])
        self._held[address] = memory
        return address

    def free(self, address: int) -> None:
        del self._held[address]
