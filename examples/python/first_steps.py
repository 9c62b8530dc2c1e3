"""Open, look, select, hand over. SPDX-License-Identifier: Apache-2.0

usage: python examples/python/first_steps.py [GROUP [DEVICE]]
"""

import pathlib
import sys

import numpy as np

import headrace as hr

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "jacksboro.zarr"


def main(url=EXAMPLE, device="auto"):
    group = hr.open(url, device)
    for name, kind in group.members(recursive=True).items():
        print(f"{kind:6} {name}")
    a = group["elevation"]
    print(a, a.dims, a.attrs, "fill value", a.fill_value)

    corner = a[:3, ::-100]                  # slices with any step
    rows = a.oindex[[7, 300, 7], :4]        # lists, in any order
    points = a.vindex[[0, 1], [5, 6]]       # single elements
    block = a.blocks[0, 1]                  # a whole chunk
    for result in (corner, rows, points, block):
        print(result.shape, result.device, result.to("numpy").reshape(-1)[:4])

    metres = np.asarray(a)                  # everything, in host memory
    high = a[metres > np.percentile(metres, 99)]
    print(f"{high.size} cells are among the highest, {high.to('numpy').mean():.1f} m on average")


if __name__ == "__main__":
    main(*sys.argv[1:])
