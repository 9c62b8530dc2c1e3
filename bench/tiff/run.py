"""TIFF files to host or GPU memory, beside nvTIFF, tifffile, GDAL, cog3pio and xarray-spatial.
SPDX-License-Identifier: Apache-2.0

usage: run.py [--shapes 8192/512,…] [--repeat 5] [--patience 3] [--device cpu|cuda:0]
              [--dir build/bench-tiff] [--only REGEX] [--readers headrace,nvTIFF,…] [--copies 1]
              [--stages]

Writes images once (smooth fields with noise, of SIZE² in tiles of TILE²), then reads each whole,
the readers taking turns, with the files in the page cache; the results (of many, the first and
the last) are compared with what was written. Device memory is CuPy's for all, and CUDA has 32
queues unless the environment says otherwise; times of readers that know the host only include the
copy. nvTIFF, as far as it is installed or NVTIFF names its library, opens a file itself, or gets
it in pinned memory (see nvtiff.py); GDAL is what the variable GDAL names, or is installed. Readers
that --readers names and that cannot run are an error; without it those that can are taken, and
why others cannot is said.
--copies N reads N copies of each file: in one batch, with nvTIFF eight at once, with others one
after the other. A reader is repeated until it has had --patience seconds. Prints medians in GB/s
of pixels, and with --stages where the time of headrace's last read went.
"""

import argparse
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import statistics
import time

import numpy as np

os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")  # before CUDA starts

import gdal
import headrace as hr
import nvtiff

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = {  # samples, type, tifffile's compression, predictor
    "u16 none": (1, "u2", None, None), "u16 lzw p2": (1, "u2", "lzw", 2),
    "u16 deflate p2": (1, "u2", "zlib", 2), "u16 zstd p2": (1, "u2", "zstd", 2),
    "u16 packbits": (1, "u2", "packbits", None), "rgb8 lzw p2": (3, "u1", "lzw", 2),
    "rgb8 deflate p2": (3, "u1", "zlib", 2), "rgb8 zstd p2": (3, "u1", "zstd", 2), "f32 deflate": (1, "f4", "zlib", None),
    "f32 deflate p3": (1, "f4", "zlib", 3), "f32 zstd": (1, "f4", "zstd", None),
    "f32 zstd p3": (1, "f4", "zstd", 3)}
CORES = len(os.sched_getaffinity(0))
ROWS = 256  # of an image, made at a time


def hills(size, at):
    """Rows from `at` on, with noise in the last bits, a plain in one corner."""
    x = np.arange(size, dtype="f4")
    y = x[at:at + ROWS, None]
    result = 80 * np.sin(x / 23 + y / 31)
    result += 900 + 600 * np.sin(x / 300) * np.cos(y / 470)
    result += 2 * np.random.default_rng(at).standard_normal(result.shape, dtype="f4")
    result[:max(0, size // 5 - at), :size // 5] = 900
    return result


@functools.lru_cache(maxsize=4)
def field(size, samples, dtype):
    result = np.empty((size, size) + (samples,) * (samples > 1), dtype)

    def make(at):
        rows = hills(size, at)
        if samples == 1:
            result[at:at + ROWS] = rows
        for s in range(samples if samples > 1 else 0):
            result[at:at + ROWS, :, s] = (rows / 8 + 3 * s) % 256
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        list(pool.map(make, range(0, size, ROWS)))
    return result


def write(folder, name, size, tile, ncopies):
    import tifffile

    samples, dtype, compression, predictor = CASES[name]
    path = folder / f"{name.replace(' ', '-')}-{size}-{tile}.tif"
    if not path.exists():
        part = path.with_suffix(".part")
        tifffile.imwrite(part, field(size, samples, dtype), tile=(tile, tile), bigtiff=True,
                         photometric="rgb" if samples == 3 else "minisblack",
                         compression=compression, predictor=predictor, metadata=None,
                         maxworkers=CORES)
        part.rename(path)
    copies = [path] + [path.with_suffix(f".{i}.tif") for i in range(1, ncopies)]
    for copy in copies[1:]:
        if not copy.exists():
            shutil.copyfile(path, copy)
    return [str(copy) for copy in copies]


class Headrace:
    def __init__(self, device):
        self.device, self.stages = device, None
        if device != "cpu":
            hr.config.set(allocator="cupy")

    def __call__(self, paths):
        future = hr.read_batch([(hr.open(path, self.device), ...) for path in paths])
        results = future.result()
        self.stages = future.stages()
        return results


def moved(array, device):
    if device == "cpu":
        return array
    import cupy

    result = cupy.asarray(array)
    cupy.cuda.runtime.deviceSynchronize()
    return result


def is_same(result, expected, device):
    """The field is compared where the result lies."""
    if device == "cpu":
        return np.array_equal(result if isinstance(result, np.ndarray) else
                              result.to("numpy"), expected)
    import cupy

    return bool((cupy.asarray(result) == expected).all())


def by_nvtiff(device, is_pinned):
    if device == "cpu":
        raise OSError("it reads into GPU memory only")
    return nvtiff.Reader(is_pinned)


def by_gdal(device):
    read = gdal.Reader()
    return lambda paths: [moved(read(path), device) for path in paths]


def by_tifffile(device):
    import tifffile

    return lambda paths: [moved(tifffile.imread(path, maxworkers=CORES), device) for path in paths]


def by_cog3pio(device):
    import cog3pio

    return lambda paths: [moved(cog3pio.read_geotiff(path)[0], device) for path in paths]


def by_xarray_spatial(device):
    from xrspatial.geotiff import open_geotiff

    return lambda paths: [open_geotiff(path, gpu=device != "cpu").data for path in paths]


READERS = {  # name: maker of a function of paths
    "headrace": Headrace, "nvTIFF": functools.partial(by_nvtiff, is_pinned=False),
    "nvTIFF pinned": functools.partial(by_nvtiff, is_pinned=True), "tifffile": by_tifffile,
    "GDAL": by_gdal, "cog3pio": by_cog3pio, "xarray-spatial": by_xarray_spatial}


def readers(device, wanted):
    """{name: function of paths}; of no names all that are installed."""
    result = {}
    for name, make in READERS.items():
        if wanted and name not in wanted:
            continue
        try:
            result[name] = make(device)
        except (ImportError, OSError, RuntimeError) as error:
            if wanted:
                raise SystemExit(f"{name}: {error}") from error
            print(f"without {name}: {error}")
    return result


def measure(functions, paths, expected, arguments):
    """{reader: median seconds}, or why not."""
    seconds = {}
    for name, read in functions.items():
        try:
            results = read(paths)
        except Exception as error:  # each reader has its own for what it does not read
            seconds[name] = (str(error) or type(error).__name__).splitlines()[0]
            continue
        ends = results[:1] + results[1:][-1:]
        if not all(is_same(result, expected, arguments.device) for result in ends):
            seconds[name] = "WRONG"
            continue
        del results, ends
        seconds[name] = []
    for _ in range(arguments.repeat):
        for name, runs in seconds.items():
            if isinstance(runs, list) and sum(runs) < arguments.patience:
                start = time.perf_counter()
                results = functions[name](paths)
                runs.append(time.perf_counter() - start)
                del results
    return {name: statistics.median(runs) if isinstance(runs, list) else runs
            for name, runs in seconds.items()}


def measure_case(functions, name, paths, shape, arguments):
    expected = field(shape[0], *CASES[name][:2])
    seconds = measure(functions, paths, moved(expected, arguments.device), arguments)
    nbytes = expected.nbytes * len(paths)
    cells = [f"{nbytes / s / 1e9:14.3g}" if isinstance(s, float) else f"{s[:14]:>14}"
             for s in seconds.values()]
    ratio = expected.nbytes / os.path.getsize(paths[0])
    print(f"{shape[0]}², {shape[1]}², {name:16}"[:28].ljust(28) + f" {ratio:6.2f} " + " ".join(cells), flush=True)
    if arguments.stages and "headrace" in functions:
        print(functions["headrace"].stages, flush=True)
    if isinstance(seconds.get("headrace"), str):
        raise SystemExit(f"headrace: {seconds['headrace']}: {paths[0]}")


def names(text):
    result = text.split(",")
    if unknown := set(result) - set(READERS):
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are {', '.join(READERS)}")
    return result


def shapes(text):
    return [tuple(int(number) for number in shape.split("/")) for shape in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=shapes, default=[(8192, 512)])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--patience", type=float, default=3)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dir", default=str(ROOT / "build" / "bench-tiff"))
    parser.add_argument("--only", default="")
    parser.add_argument("--readers", type=names, default=[])
    parser.add_argument("--stages", action="store_true")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.dir)
    folder.mkdir(parents=True, exist_ok=True)
    functions = readers(arguments.device, arguments.readers)
    print(f"{arguments.copies} at once, to {arguments.device}, {CORES} cores; GB/s of pixels, "
          f"medians of {arguments.repeat} at most")
    print(f"{'case':28} {'ratio':>6} " + " ".join(f"{name:>14}" for name in functions))
    for size, tile in arguments.shapes:
        for name in sorted(CASES, key=lambda name: CASES[name][:2]):  # fields are kept
            if re.search(arguments.only, f"{size}/{tile} {name}"):
                paths = write(folder, name, size, tile, arguments.copies)
                measure_case(functions, name, paths, (size, tile), arguments)


if __name__ == "__main__":
    main()
