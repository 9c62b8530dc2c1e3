"""Training: crops in random order, epoch after epoch, going on after a stop.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/training.py [ARRAY [DEVICE]]
"""

import importlib.util
import pathlib
import sys

import headrace as hr
from headrace.torch import Dataset, Loader, collate

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "jacksboro.zarr" / "elevation"
TO = "torch" if importlib.util.find_spec("torch") else "numpy"


def loader(a, seed=0):
    return Loader(a, crop=(32, 32), stride=16, batch_size=64, shuffle="block", seed=seed,
                  dtype="float32", to=TO)


def main(url=EXAMPLE, device="cpu"):
    a = hr.open(url, device)
    batches = loader(a)
    for epoch in range(2):
        heights = [float(height) for batch in batches for height in batch.mean((1, 2))]
        print(f"epoch {epoch}: {len(heights)} crops in {len(batches)} batches, "
              f"mean height {sum(heights) / len(heights):.1f}")

    under_way = iter(batches)
    next(under_way)
    state = batches.state_dict()  # into the checkpoint
    other = loader(a)
    other.load_state_dict(state)
    assert (next(iter(other)) == next(under_way)).all()
    print("went on after batch", state["batch"], "of epoch", state["epoch"])

    if TO == "torch":
        from torch.utils.data import DataLoader
        stock = DataLoader(Dataset(a, crop=(32, 32)), batch_size=16, shuffle=True, collate_fn=collate)
        print("torch's own loader:", next(iter(stock)).shape)


if __name__ == "__main__":
    main(*sys.argv[1:])
