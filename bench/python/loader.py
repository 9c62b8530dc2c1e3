"""How fast headrace.torch.Loader gives batches on a GPU, next to reading everything at once.

SPDX-License-Identifier: Apache-2.0

usage: PYTHONPATH=build/python python loader.py FOLDER [--small] [BUFFER,PREFETCH…]

Writes its arrays into FOLDER (0.4 GB; a memory file system gives the steadiest figures): 512 MiB of
floats in chunks of 1 MiB, 32 rows each, with Blosc LZ4 and with zstd. Prints GB/s of samples, rows
and crops of 64 KiB (and crops at random places, which lie across chunks), for each number of
batches in a read and of reads under way, and where the time of a read of crops goes. Queues are the
driver's, unless CUDA_DEVICE_MAX_CONNECTIONS says otherwise.
"""

import pathlib
import sys
import time
import warnings

import numpy as np
import torch
import zarr

import headrace as hr
from headrace.torch import Loader

ROWS, COLUMNS, BATCH = 16384, 8192, 256
CODECS = {"lz4": zarr.codecs.BloscCodec(cname="lz4", typesize=4),
          "zstd": zarr.codecs.ZstdCodec(level=1)}
SAMPLES = {"rows": {}, "crops of 32 × 512": {"crop": (32, 512)},
           "crops of 48 × 700 at random": {"crop": (48, 700), "samples": 4096}}


def write(path, rows, codec):
    rng = np.random.default_rng(0)
    block = np.cumsum(rng.integers(-3, 4, (512, COLUMNS)), axis=1).astype("f4")
    part = path.with_suffix(".part")
    z = zarr.create_array(part, shape=(rows, COLUMNS), dtype="f4", chunks=(32, COLUMNS),
                          compressors=codec, overwrite=True)
    for i in range(0, rows, 512):
        z[i:i + 512] = block + i
    part.rename(path)  # whole, or not there


def best(function, repeats=3):
    """Seconds of the quickest call, and what it gave."""
    times, result = [], None
    for _ in range(repeats + 1):  # the first warms up
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times[1:]), result


def epoch(loader):
    return sum(batch.numel() * batch.element_size() for batch in loader)


def stages(loader):
    """Of one read of crops."""
    starts = next(loader._reads(0))
    begun = loader._reader.start(starts)
    loader._reader.finish(begun)
    return begun[0][0].stages()


def main(folder, *options):
    warnings.simplefilter("ignore")
    rows = 1024 if "--small" in options else ROWS
    depths = [tuple(map(int, option.split(","))) for option in options if "," in option]
    for name, codec in CODECS.items():
        path = pathlib.Path(folder) / f"{name}.zarr"
        if not path.exists():
            write(path, rows, codec)
        a = hr.open(path, "cuda")
        out = torch.empty(a.shape, device="cuda")
        took, _ = best(lambda: a.read(..., out).result())  # noqa: B023
        print(f"{name}: all at once {a.nbytes / took / 1e9:.1f} GB/s", flush=True)
        del out
        for kind, sample in SAMPLES.items():
            cells = []
            for buffer, prefetch in depths or [(None, None)]:
                depth = {} if buffer is None else {"buffer": buffer, "prefetch": prefetch}
                loader = Loader(a, batch_size=BATCH, **depth, **sample)
                took, nbytes = best(lambda: epoch(loader))  # noqa: B023
                cells.append(f"{buffer},{prefetch}: {nbytes / took / 1e9:.1f}" if depth else
                             f"{nbytes / took / 1e9:.1f}")
            print(f"  {kind}: {'; '.join(cells)} GB/s", flush=True)
        print(stages(Loader(a, batch_size=BATCH, crop=(32, 512))))


if __name__ == "__main__":
    main(*sys.argv[1:])
