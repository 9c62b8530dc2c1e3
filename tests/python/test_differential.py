"""Any chain of codecs, any selection, any way to read: what zarr-python reads, on the host and
by kernels. HEADRACE_EXAMPLES=20 tries twenty times as many, others each time.

SPDX-License-Identifier: Apache-2.0
"""

import os
import pathlib
import random

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
import random_arrays  # noqa: E402
import random_selections  # noqa: E402
from headrace import _ext  # noqa: E402

EXAMPLES = int(os.environ.get("HEADRACE_EXAMPLES", "1"))
SEED = 6 if EXAMPLES == 1 else random.SystemRandom().randrange(1 << 32)
SIMT = (3, 0)  # as the extension numbers devices
BUDGETS = ({}, {}, {"nthreads": 1, "scratch_nbytes": 3 << 19, "device_scratch_nbytes": 3 << 19},
           {"chunk_cache_nbytes": 1 << 22, "encoded_cache_nbytes": 1 << 22},
           {"nthreads": 3, "encoded_cache_nbytes": 1 << 20}, {"io": "direct"})


@pytest.fixture(scope="module")
def devices():
    try:
        hr.device_info("simt")
    except hr.UnsupportedError:
        return ("cpu",)
    return ("cpu", "simt")


def case(*numbers):
    """Two sources of chance that are the same for the same numbers, and their name."""
    seed = " ".join(map(str, (SEED, *numbers)))
    choose = random.Random(seed)
    return choose, np.random.default_rng(choose.randrange(1 << 32)), f"seed {seed}"


def placed(choose, held, folder):
    """The values in the library, in a mapping of Python's, or in files."""
    kind = choose.choice(("library", "library", "mapping", "files"))
    if kind != "files":
        return hr.MemoryStore(held) if kind == "library" else held
    folder.mkdir()
    for key, value in held.items():
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value)
    return folder


def memory(choose, shape, dtype):
    """In any order, backwards, between other items, not aligned."""
    kind = choose.choice(("any", "backwards", "between", "unaligned"))
    order = choose.sample(range(len(shape)), len(shape))
    if kind == "backwards":
        return np.empty(shape, dtype)[(slice(None, None, -1),) * len(shape) + (...,)]
    if kind == "between":
        return np.empty([2 * n + 1 for n in shape], dtype)[(slice(1, None, 2),) * len(shape) + (...,)]
    if kind == "any":
        return np.empty([shape[i] for i in order], dtype).transpose(np.argsort(order).astype(int))
    return np.ndarray(shape, dtype, np.empty(np.prod(shape, dtype=int) * dtype.itemsize + 1, "u1")[1:])


def lent(array, device):
    """Memory of NumPy's, as memory of the device."""
    t = hr._tensor._from_ndarray(array)
    return array if device == "cpu" else _ext.wrap(
        hr.Tensor, t.ptr, SIMT, t.shape, t.strides, t.dtype_text, t.itemsize, False, array)


def same(got, want, is_exact):
    """Bit by bit, or but for what NaN it is."""
    got = np.asarray(got)
    want = np.asarray(want).astype(got.dtype)
    return got.shape == want.shape and (got.tobytes() == want.tobytes() or not is_exact and
                                        np.array_equal(got, want, equal_nan=got.dtype.kind in "fcmM"))


def as_they_are(choose, a, device, items):
    results = a.read([key for key, _ in items], device=device).result()
    return [(result.to("numpy"), want) for result, (_, want) in zip(results, items)]


def packed(choose, a, device, items):
    result = a.read([key for key, _ in items], "packed", device=device).result()
    return [(result[i].to("numpy"), want) for i, (_, want) in enumerate(items)]


def into_memory(choose, a, device, items):
    items = [(key, want) for key, want in items if np.ndim(want) < 2 or getattr(key, "kind", "") != "points"]
    order = choose.choice("<>") if device == "cpu" and a.dtype.fields is None else "="
    outs = [memory(choose, np.shape(want), a.dtype.newbyteorder(order) if order != "=" else a.dtype)
            for _, want in items]
    a.read([key for key, _ in items], [lent(out, device) for out in outs], device=device).result()
    return [(out, want) for out, (_, want) in zip(outs, items)]


def strictly(choose, a, device, items):
    try:
        results = a.read([key for key, _ in items], device=device, strict=True).result()
    except (hr.StrictError, hr.MissingChunkError):
        return []
    return [(result.to("numpy"), want) for result, (_, want) in zip(results, items)]


def converted(choose, a, device, items):
    kind = a.dtype.kind
    types = {"f": ("f2", ">f4", "f8", "c16"), "c": ("c8", "c16")}.get(
        kind, ("?", "i1", "u2", ">i4", "i8", "u8", "f2", "f4", "f8", "c8"))
    if kind not in "biufc":
        return []
    dtype = choose.choice(types)
    results = a.read([key for key, _ in items], device=device, dtype=dtype).result()
    return [(result.to("numpy"), np.asarray(want).astype(dtype)) for result, (_, want) in zip(results, items)]


def unpacked(choose, a, device, items):
    if a.dtype.kind not in "iuf":
        return []
    scale, offset = choose.choice(((None, None), (0.5, None), (2.0, -1.0), (None, 3.25)))
    values = np.concatenate([np.ravel(want) for _, want in items])
    fill = values[choose.randrange(values.size)] if values.size else a.dtype.type(0)
    packing = hr.Packing(scale, offset, (fill.item(),), a.dtype.kind == "i" and choose.random() < 0.3)
    results = a.read([key for key, _ in items], device=device, mask_and_scale=packing).result()
    return [(result.to("numpy"), scaled(packing, fill, np.asarray(want).astype(a.dtype), result.dtype))
            for result, (_, want) in zip(results, items)]


def scaled(packing, fill, items, dtype):
    is_fill = items == fill
    items = items.view(f"u{items.itemsize}") if packing.unsigned else items
    items = items.astype(dtype)
    items = items if packing.scale is None else items * dtype.type(packing.scale)
    items = items if packing.offset is None else items + dtype.type(packing.offset)
    return np.where(is_fill, dtype.type("nan"), items)


WAYS = {as_they_are: True, packed: True, into_memory: True, strictly: True, converted: False,
        unpacked: False}  # and is it bit by bit?


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_any_array_any_way(part, devices, tmp_path):
    refused = []
    for i in range(40 * EXAMPLES):
        choose, rng, seed = case(part, i)
        written = random_arrays.array(choose, rng)
        with hr.config(**choose.choice(BUDGETS), host_share=choose.choice((0, 0, 50, "auto"))):
            try:
                a = hr.open(placed(choose, written.held, tmp_path / str(i)))
            except (hr.UnsupportedError, hr.MetadataError) as error:
                refused.append(str(error))
                continue
            about = f"{seed}: {written.about}"
            assert (a.shape, a.dtype.newbyteorder("=")) == \
                (written.data.shape, written.data.dtype.newbyteorder("=")), about
            items = [random_selections.selection(choose, rng, a, written.data)
                     for _ in range(choose.randint(1, 5))]
            for device in devices:
                for way in choose.sample(sorted(WAYS, key=str), 3):
                    results = way(choose, a, device, items)
                    for n, (got, want) in enumerate(results):
                        assert same(got, want, WAYS[way] and written.is_exact), \
                            (way.__name__, device, items[n][0], about)
    assert len(refused) <= 2 * EXAMPLES, refused


@pytest.mark.filterwarnings("ignore")
def test_zarr_python_gets_the_same_by_the_pipeline(devices, tmp_path):
    """From files, and from a store of zarr-python's."""
    with zarr.config.set({"codec_pipeline.path": "headrace.zarr.Pipeline"}):
        for i in range(40 * EXAMPLES):
            choose, rng, seed = case("pipeline", i)
            written = random_arrays.zarr_python(choose, rng)
            where = placed(choose, written.held, tmp_path / str(i))
            if not isinstance(where, pathlib.Path):
                as_buffer = zarr.core.buffer.default_buffer_prototype().buffer.from_bytes
                where = zarr.storage.MemoryStore({k: as_buffer(v) for k, v in written.held.items()})
            array, data = zarr.open_array(where, mode="r"), written.data
            key = tuple(choose.choice((slice(None), slice(n // 3, None, 2), rng.random(n) < 0.5)[:3 if n else 2])
                        for n in data.shape)
            want = data
            for axis, part in enumerate(key):
                want = want[(slice(None),) * axis + (part,)]
            for got, wanted in ((array[...], data), (array.oindex[key], want) if key else (array[()], data)):
                assert same(got, wanted, written.is_exact), f"{seed}: {written.about} {key}"
