"""What a read would do, before it is done. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable

from . import _cf, _config, _dtypes, _ext, _read, _stages
from ._config import CUDA, HOST, SIMT
from ._tensor import Tensor


_SCRATCH = ("suffices", "may lack", "lacks")


def _device_text(device: tuple[int, int]) -> str:
    names = {CUDA: f"cuda:{device[1]}", SIMT: "simt", 0: "several devices"}
    return names.get(device[0], "cpu")


def _count(n: int | None, unit: str = "") -> str:
    return "unknown before reading" if n is None else f"{n:,}{unit}"


def _many(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


@dataclasses.dataclass(frozen=True)
class PlannedCodec:
    """One codec, what decodes it, and the device where that runs."""

    name: str
    implementation: str
    device: str


@dataclasses.dataclass(frozen=True)
class PlannedChain:
    """Chunks that go the same way."""

    device: str
    """Of the destinations."""
    is_on_device: bool
    """Are they decoded there?"""
    is_refused: bool
    """Does strict refuse them?"""
    reason: str | None
    """Why the host decodes them for a device."""
    nchunks: int
    read_nbytes: int | None
    decoded_nbytes: int | None
    codecs: tuple[PlannedCodec, ...]
    scratch: str
    """Of the context's memory for the device: "suffices", "may lack" (it depends on the chunks;
    without, the host decodes them), or "lacks" (the read fails)."""

    def __str__(self) -> str:
        where = "there" if self.is_on_device else "on the host"
        lines = [f"{_many(self.nchunks, 'chunk')} to {self.device}, decoded {where}"]
        if self.reason is not None:
            lines.append(f"  because {self.reason}")
        if self.scratch != _SCRATCH[0]:
            lines.append(f"  scratch {self.scratch}")
        lines += [f"  {c.device:8} {c.name}: {c.implementation}" for c in self.codecs]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True, repr=False)
class Explanation:
    """What a read would do, as far as the metadata tells. None is what is not known."""

    nrequests: int
    nchunks: int
    """Distinct innermost chunks."""
    nuses: int
    """Of chunks by requests."""
    nobjects: int
    """Store keys that the chunks lie in."""
    nreads: int | None
    read_nbytes: int | None
    """Encoded, if no chunk is absent."""
    decoded_nbytes: int | None
    output_nbytes: int | None
    nchunks_device: int
    """Chunks decoded on a device."""
    nchunks_strict: int
    """Chunks that strict refuses, since the host decodes them."""
    nwaves: int | None
    """How often, at most, the staging memory of a device is filled."""
    nchunks_host_share: int
    """Chunks for a device that `config(host_share="auto")` would have the host decode."""
    chains: tuple[PlannedChain, ...]
    stages: _stages.Stages
    """What the stages would take, going by finished reads of such chunks."""

    def __repr__(self) -> str:
        reads = "" if self.nreads is None else f" in {_many(self.nreads, 'read')}"
        lines = [
            f"{_many(self.nrequests, 'request')} for {_many(self.nchunks, 'chunk')} in "
            f"{_many(self.nobjects, 'store key')}, used {_many(self.nuses, 'time')}",
            f"encoded  {_count(self.read_nbytes, ' bytes')}{reads}",
            f"decoded  {_count(self.decoded_nbytes, ' bytes')}",
            f"output   {_count(self.output_nbytes, ' bytes')}"]
        if self.nchunks_strict:
            lines.append(f"strict   would refuse {_many(self.nchunks_strict, 'chunk')}")
        if self.nwaves:
            lines.append(f"staging  filled {_many(self.nwaves, 'time')} at most")
        return "\n".join([*lines, repr(self.stages), *map(str, self.chains)])


def _chain(row: dict[str, Any]) -> PlannedChain:
    codecs = tuple(PlannedCodec(name, implementation, _device_text(device))
                   for name, implementation, device in row["codecs"])
    return PlannedChain(**row | {"device": _device_text(row["device"]), "codecs": codecs,
                                 "scratch": _SCRATCH[row["scratch"]]})


def _destination(want: _read.Want, device: tuple[int, int]) -> Tensor:
    """A tensor without memory, as Want.allocate would make one."""
    text = want.text if device == HOST else _dtypes.native(want.text)
    return _ext.wrap(Tensor, 0, device, (int(want.sizes.sum()),), None, text, want.itemsize,
                     False, None)


def explain(items: Iterable[Any], *, dtype: Any = None, device: Any = None,
            mask_and_scale: bool | _cf.Packing = False) -> Explanation:
    """Say what hr.read_batch of these items would do. Nothing is read.

        print(hr.explain([(a, np.s_[0:4]), b], device="cuda:0"))

    How many chunks are needed, what they decode to, where each codec runs and by what, and
    why chunks for a GPU would be decoded on the host. The device need not be there. Whether
    chunks are absent, and what their own headers say, is not known before they are read. How
    long its stages would take is told where such chunks have been read in this process.
    """
    wants = _read.wants_of(items, dtype, mask_and_scale)
    devices = [_config.parse_device(device) if device is not None else want.array._device
               for want in wants]
    context = wants[0].array._context if wants else _config.context()
    requests = tuple(want.request(_destination(want, HOST if want.is_vlen else place))
                     for want, place in zip(wants, devices))
    totals, chains, times = _ext.explain(context, requests)
    counts: dict[str, Any] = totals
    return Explanation(**counts, chains=tuple(map(_chain, chains)),
                       stages=_stages.from_ext(times))
