"""TIFF files to host or GPU memory, beside tifffile and GDAL, in one run.

usage: run.py [--size 8192] [--tile 512] [--repeat 5] [--device cpu|cuda:0] [--dir build/bench-tiff]
              [--only TEXT] [--copies 1]

Writes images once (smooth fields with noise, in tiles), then reads each whole, the readers taking
turns, with the files in the page cache; every result is compared with what was written. Times of
peers on a GPU include the copy to it, through CuPy. --copies N reads N copies of each file in one
batch, one after the other with peers. Prints a table of medians in GB/s of pixels.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import pathlib
import shutil
import statistics
import time
import warnings

import numpy as np

import headrace as hr

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = {  # samples, type, tifffile's compression, predictor
    "u16 none": (1, "u2", None, None), "u16 lzw p2": (1, "u2", "lzw", 2),
    "u16 deflate p2": (1, "u2", "zlib", 2), "u16 zstd p2": (1, "u2", "zstd", 2),
    "u16 packbits": (1, "u2", "packbits", None), "rgb8 lzw p2": (3, "u1", "lzw", 2),
    "rgb8 deflate p2": (3, "u1", "zlib", 2), "f32 deflate p3": (1, "f4", "zlib", 3),
    "f32 zstd p3": (1, "f4", "zstd", 3)}


def field(size, samples, dtype):
    """Hills with noise in the last bits, a plain in one corner."""
    rng = np.random.default_rng(7)
    y, x = np.meshgrid(np.arange(size, dtype="f4"), np.arange(size, dtype="f4"), indexing="ij")
    hills = 900 + 600 * np.sin(x / 300) * np.cos(y / 470) + 80 * np.sin(x / 23 + y / 31)
    hills += rng.normal(0, 2, (size, size)).astype("f4")
    hills[:size // 5, :size // 5] = 900
    if dtype == "f4":
        return hills
    if samples == 1:
        return hills.astype(dtype)
    return np.stack([(hills / 8 + 3 * s) % 256 for s in range(samples)], axis=-1).astype(dtype)


def write(folder, name, size, tile, ncopies):
    import tifffile
    samples, dtype, compression, predictor = CASES[name]
    path = folder / f"{name.replace(' ', '-')}-{size}-{tile}.tif"
    if not path.exists():
        part = path.with_suffix(".part")
        tifffile.imwrite(part, field(size, samples, dtype), tile=(tile, tile), bigtiff=True,
                         photometric="rgb" if samples == 3 else "minisblack",
                         compression=compression, predictor=predictor, metadata=None,
                         maxworkers=len(os.sched_getaffinity(0)))
        part.rename(path)
    copies = [path] + [path.with_suffix(f".{i}.tif") for i in range(1, ncopies)]
    for copy in copies[1:]:
        if not copy.exists():
            shutil.copyfile(path, copy)
    return [str(copy) for copy in copies]


def by_headrace(paths, device):
    return hr.read_batch([(hr.open(path, device), ...) for path in paths]).result()


def by_tifffile(paths, device):
    import tifffile
    workers = len(os.sched_getaffinity(0))
    return [moved(tifffile.imread(path, maxworkers=workers), device) for path in paths]


def by_gdal(paths, device):
    import rasterio
    warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
    results = []
    for path in paths:
        with rasterio.Env(GDAL_CACHEMAX=64), rasterio.open(path, num_threads="all_cpus") as file:
            bands = file.read()
        image = bands[0] if len(bands) == 1 else np.moveaxis(bands, 0, -1)
        results.append(moved(image, device))
    return results


READERS = {"headrace": by_headrace, "tifffile": by_tifffile, "GDAL": by_gdal}


def moved(array, device):
    if device == "cpu":
        return array
    import cupy
    result = cupy.asarray(array)
    cupy.cuda.runtime.deviceSynchronize()
    return result


def to_host(result):
    return result.get() if hasattr(result, "get") else \
        result if isinstance(result, np.ndarray) else result.to("numpy")


def measure(paths, expected, device, repeats):
    """{reader: median seconds}, or why not."""
    seconds = {}
    for name, read in READERS.items():
        try:
            results = read(paths, device)
        except (ImportError, hr.Error) as error:
            seconds[name] = str(error).splitlines()[0][:40]
            continue
        if not all(np.array_equal(to_host(result), expected) for result in results):
            raise SystemExit(f"{name} gives other values than were written: {paths[0]}")
        del results
        seconds[name] = []
    for _ in range(repeats):
        for name, runs in seconds.items():
            if isinstance(runs, list):
                start = time.perf_counter()
                results = READERS[name](paths, device)
                runs.append(time.perf_counter() - start)
                del results
    return {name: statistics.median(runs) if isinstance(runs, list) else runs
            for name, runs in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--tile", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dir", default=str(ROOT / "build" / "bench-tiff"))
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.dir)
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{arguments.size}² in tiles of {arguments.tile}², {arguments.copies} at once, to "
          f"{arguments.device}, {len(os.sched_getaffinity(0))} cores; GB/s of pixels, medians of "
          f"{arguments.repeat}")
    print(f"{'case':16} {'ratio':>6} " + " ".join(f"{name:>12}" for name in READERS))
    for name in CASES:
        if arguments.only not in name:
            continue
        paths = write(folder, name, arguments.size, arguments.tile, arguments.copies)
        expected = field(arguments.size, *CASES[name][:2])
        nbytes = expected.nbytes * len(paths)
        seconds = measure(paths, expected, arguments.device, arguments.repeat)
        cells = [f"{nbytes / s / 1e9:12.2f}" if isinstance(s, float) else f"{s[:12]:>12}"
                 for s in seconds.values()]
        ratio = expected.nbytes / os.path.getsize(paths[0])
        print(f"{name:16} {ratio:6.2f} " + " ".join(cells), flush=True)


if __name__ == "__main__":
    main()
