"""What a read spends its time in. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Stage:
    """One stage: plan, open, read, decode, scatter, queue (for devices) of the threads; copy,
    kernels, store of the devices."""

    name: str
    seconds: float | None
    """Of all threads together, waiting left out; of a device while any work was in the stage."""
    share: float
    """Of what the threads, or devices, had of the wall time; 0 where it is not known."""


@dataclasses.dataclass(frozen=True, repr=False)
class Stages:
    """Times of the stages of a read."""

    wall: float | None
    """Seconds from submit until done; foretold, those that the busiest, threads or devices, are
    at work."""
    nthreads: int
    ndevices: int
    bound: str | None
    """The stage that sets the time."""
    stages: tuple[Stage, ...]

    def __getitem__(self, name: str) -> Stage:
        return next(stage for stage in self.stages if stage.name == name)

    def __repr__(self) -> str:
        if self.wall is None:
            return "stages   not known yet"
        bound = "" if self.bound is None else f"; bound by {self.bound}"
        lines = [f"stages   of {1e3 * self.wall:.3f} ms, {self.nthreads} threads{bound}"]
        for s in self.stages:
            if s.seconds:
                lines.append(f"  {s.name:8} {1e3 * s.seconds:10.3f} ms {100 * s.share:6.1f} %")
        return "\n".join(lines)


def from_ext(times: dict[str, Any]) -> Stages:
    stages = tuple(Stage(name, None if ns is None else 1e-9 * ns, share)
                   for name, ns, share in times["stages"])
    wall = times["wall_ns"]
    return Stages(None if wall is None else 1e-9 * wall, times["nthreads"], times["ndevices"],
                  times["bound"], stages)
