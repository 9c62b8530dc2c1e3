"""What the Python package costs above the library, and saves zarr-python.

SPDX-License-Identifier: Apache-2.0

usage: PYTHONPATH=build/python run.py FOLDER [--small]

Writes its arrays into FOLDER (1.2 GB; a memory file system gives the steadiest figures),
reads them several times, checks that the results are equal, prints the best times, and how
much time of processors they took, which tells more on a machine that does other things besides.
Arrays on the GPU are measured where there is one, and CuPy.
"""

import importlib.util
import pathlib
import sys
import time
import warnings

import numpy as np
import zarr

import headrace as hr
import headrace.zarr

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "host"))
import readers

PIPELINES = {"zarr-python": "zarr.core.codec_pipeline.BatchedCodecPipeline",
             "zarr-python, fused": "zarr.core.codec_pipeline.FusedCodecPipeline",
             "zarr-python + zarrs": "zarrs.ZarrsCodecPipeline",
             "zarr-python + headrace": "headrace.zarr.Pipeline"}

SLICERS = {"headrace": readers.Package, "zarr-python": readers.Zarr,
           "zarr-python, fused": readers.ZarrFused, "zarr-python + zarrs": readers.Zarrs,
           "zarr-python + headrace": readers.Pipeline, "tensorstore": readers.Tensorstore}


def best(function, repeats=5):
    """Milliseconds of the quickest call, those of its processors' time, and its result."""
    times, result = [], None
    for _ in range(repeats):
        result = None
        start, begun = time.perf_counter(), time.process_time()
        result = function()
        times.append((time.perf_counter() - start, time.process_time() - begun))
    return tuple(1e3 * min(column) for column in zip(*times)), result


def show(name, took, unit="ms", share=1.0):
    print(f"{name:58} {took[0] * share:9.1f} {unit} {took[1] * share:9.1f} {unit} on all cores",
          flush=True)


def pipelines():
    """The name of each that is there, while it is the one in use."""
    for name, path in PIPELINES.items():
        module, _, pipeline = path.rpartition(".")
        if not importlib.util.find_spec(module.partition(".")[0]):
            continue
        if hasattr(importlib.import_module(module), pipeline):
            with zarr.config.set({"codec_pipeline.path": path}):
                yield name


def tensorstore_of(path):
    """The array there as tensorstore opens it; None where it is not installed."""
    if not importlib.util.find_spec("tensorstore"):
        return None
    import tensorstore

    return tensorstore.open({"driver": "zarr3", "kvstore": f"file://{path}/"}, open=True).result()


def has_gpu():
    try:
        import cupy  # noqa: F401

        return hr.device_info("cuda")["has_kernels"]
    except (ImportError, hr.Error):
        return False


def many_chunks(folder, side):
    """Every other chunk of a square of doubles, in chunks of 100 × 100."""
    path = folder / "doubles.zarr"
    if not path.exists():
        z = zarr.create_array(path, shape=(side, side), chunks=(100, 100), dtype="f8",
                              compressors=None)
        values = np.random.default_rng(0).random((100, side))
        for i in range(0, side, 100):
            z[i:i + 100] = values
    n = side // 100
    a = hr.open(path)
    items = [(a, np.s_[i * 100:(i + 1) * 100, j * 100:(j + 1) * 100])
             for i in range(n) for j in range(0, n, 2)]
    index = np.concatenate([np.arange(j * 100, (j + 1) * 100) for j in range(0, n, 2)])
    print(f"every other chunk of {n * n}, {len(items) * 80000 >> 20} MiB")
    wide = np.zeros((side, side // 2))
    show("headrace, one oindex into out", best(
        lambda: a.read(hr.oindex[:, index], out=wide).result())[0])
    out = np.zeros((len(items), 100, 100))
    show(f"headrace, {len(items)} selections into one array", best(
        lambda: hr.read_batch(items, out=out).result())[0])
    show(f"headrace, {len(items)} selections, packed", best(
        lambda: hr.read_batch(items, out="packed").result())[0])
    places = 100 * np.indices((n, n // 2)).reshape(2, -1).T * (1, 2)
    show("headrace, the same by hr.boxes, into one array", best(
        lambda: a.read(hr.boxes(places, (100, 100)), out=out).result())[0])
    for name in pipelines():
        z = zarr.open_array(path, mode="r")
        took, result = best(lambda: z.oindex[:, index], 2)  # noqa: B023
        show(f"{name}, oindex", took)
        assert (result == wide).all()
    t = tensorstore_of(path)
    if t is not None:
        took, result = best(lambda: t.oindex[:, index].read().result(), 2)
        show("tensorstore, oindex", took)
        assert (result == wide).all()
        show(f"tensorstore, {len(items)} reads in a batch", best(lambda: together(t, items), 2)[0])


def together(t, items):
    """All selections in one batch of tensorstore's."""
    import tensorstore

    with tensorstore.Batch() as batch:
        reads = [t[key].read(batch=batch) for _, key in items]
    return [read.result() for read in reads]


def slices(folder):
    """64 slices of 1,000 doubles in the even ones of 16 chunks, in zarr-python's default codecs."""
    path, chunk = folder / "slices.zarr", 390_625
    if not path.exists():
        zarr.create_array(path, data=np.random.default_rng(0).standard_normal(16 * chunk),
                          chunks=(chunk,))
    pieces = [(a + o, a + o + 1000) for a in range(0, 15 * chunk, 2 * chunk)
              for o in range(0, 8 * 48_000, 48_000)]
    print(f"{len(pieces)} slices of 1,000 doubles in 8 chunks of {chunk}")
    whole = hr.open(path)[...].to("numpy")
    expected = np.concatenate([whole[a:b] for a, b in pieces])
    for name, kind in SLICERS.items():
        try:
            ways = kind(path).many
        except ImportError as error:
            print(f"left out: {name}: {error}")
            continue
        for way, read in ways.items():
            took, result = best(lambda: read(pieces))  # noqa: B023
            show(f"{name}, {way}", took)
            assert (result == expected).all()


def large_chunks(folder, planes):
    """All of an array in chunks of 1 MiB, Blosc with LZ4 and shuffle."""
    path = folder / "floats.zarr"
    if not path.exists():
        data = np.random.default_rng(0).integers(-3, 4, (planes, 512, 512))
        z = zarr.create_array(path, shape=data.shape, chunks=(1, 512, 512), dtype="f4",
                              compressors=zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle",
                                                                 typesize=4))
        z[:] = np.cumsum(data, axis=2)
    print(f"all of {planes} MiB, Blosc LZ4 shuffle, chunks of 1 MiB")
    a = hr.open(path)
    took, expected = best(lambda: a[...])
    show("headrace", took)
    for name in pipelines():
        z = zarr.open_array(path, mode="r")
        took, result = best(lambda: z[:], 3)  # noqa: B023
        show(name, took)
        assert (result == np.asarray(expected)).all()
    t = tensorstore_of(path)
    if t is not None:
        show("tensorstore", best(lambda: t.read().result(), 3)[0])
    if has_gpu():
        g = a.to_device("cuda")
        show("headrace, to the GPU", best(lambda: g[...])[0])
        with zarr.config.enable_gpu():
            for name in pipelines():
                if "fused" not in name and "zarrs" not in name:  # which fail on GPU arrays
                    z = zarr.open_array(path, mode="r")
                    took, result = best(lambda: z[:], 3)  # noqa: B023
                    show(f"{name}, to the GPU", took)
                    assert (result.get() == np.asarray(expected)).all()


def single_rows(folder):
    path = folder / "rows.zarr"
    if not path.exists():
        zarr.create_array(path, data=np.zeros((64, 16384), "f4"), chunks=(1, 16384),
                          compressors=None)
    a = hr.open(path)
    print("a[i], one chunk of 64 KiB")
    out = np.empty((64, 16384), "f4")
    for name, array in (("host", a), *((("GPU", a.to_device("cuda")),) if has_gpu() else ())):
        took, _ = best(lambda: [array[i] for i in range(64)], 20)  # noqa: B023
        show(f"headrace, {name}", took, "µs", 1e3 / 64)
    took, _ = best(lambda: a.read([np.s_[i] for i in range(64)], out=out).result(), 20)
    show("headrace, host, 64 of them in one call, each", took, "µs", 1e3 / 64)


def main(folder, *options):
    warnings.simplefilter("ignore")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    many_chunks(folder, 2000 if "--small" in options else 10000)
    large_chunks(folder, 16 if "--small" in options else 256)
    single_rows(folder)
    slices(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
