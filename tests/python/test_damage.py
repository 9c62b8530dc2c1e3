"""Damaged chunks: what the host refuses kernels refuse, what both take is the same, and the
other chunks are as they were. HEADRACE_EXAMPLES=20 tries twenty times as many.

Kernels may refuse more: a match of LZ4 to offset 0, codes that Deflate reserves, bits behind
the end of zstd's, which the host's libraries let pass. SPDX-License-Identifier: Apache-2.0
"""

import numpy as np
import pytest

hr = pytest.importorskip("headrace", reason="the package is not built")
import random_arrays  # noqa: E402
import random_selections  # noqa: E402
from test_differential import EXAMPLES, case, devices, same  # noqa: E402, F401 (a fixture)


def damaged(choose, value):
    """Flipped, cut, longer, or with a piece of itself elsewhere."""
    data, n = bytearray(value), len(value)
    kind = choose.choice(("flip", "flip", "flip", "set", "cut", "longer", "moved")) if n else "longer"
    at, other = choose.randrange(max(1, n)), choose.randrange(max(1, n))
    if kind == "flip":
        data[at] ^= 1 << choose.randrange(8)
    elif kind == "set":
        data[at] = choose.choice((0, 127, 128, 255))
    elif kind == "cut":
        del data[at:]
    elif kind == "longer":
        data += bytes(choose.choice((1, 40)))
    else:
        data[at:at + 8] = data[other:other + 8][:n - at]
    return bytes(data)


def opened(held):
    try:
        a = hr.open(hr.MemoryStore(held))
    except (hr.UnsupportedError, hr.MetadataError):
        return None
    return a if np.prod(a.grid_shape) <= 40 and a.size <= 5000 else None


def some_array(name, i):
    """The i-th case of that name, and the keys of its chunks."""
    choose, rng, seed = case(name, i)
    written = random_arrays.array(choose, rng)
    chunks = [key for key in written.held if "zarr.json" not in key and ".z" not in key]
    return choose, rng, seed, written, chunks


def read(a, device):
    try:
        return a.read(..., device=device).result().to("numpy").tobytes()
    except hr.Error as error:
        assert str(error)
        return None


@pytest.mark.filterwarnings("ignore")
def test_kernels_refuse_what_the_host_refuses(devices):  # noqa: F811
    for i in range(40 * EXAMPLES):
        choose, _, seed, written, chunks = some_array("flips", i)
        if not chunks or opened(written.held) is None:
            continue
        store = hr.MemoryStore(written.held)
        a, key = hr.open(store), choose.choice(chunks)
        for _ in range(30):
            store[key] = damaged(choose, written.held[key])
            got = [read(a, device) for device in devices]
            assert got[-1] is None or got[-1] == got[0], f"{seed}: {written.about} {key}"


@pytest.mark.filterwarnings("ignore")
def test_elements_of_damaged_chunks_are_filled_and_no_others(devices):  # noqa: F811
    for i in range(40 * EXAMPLES):
        choose, rng, seed, written, chunks = some_array("filled", i)
        for key in choose.sample(chunks, min(len(chunks), choose.choice((1, 2)))):
            written.held[key] = written.held[key][:-1]
        with hr.config(**choose.choice(({}, {"chunk_cache_nbytes": 1 << 20, "encoded_cache_nbytes": 1 << 20}))):
            a = opened(written.held)
        if a is None:
            continue
        want = written.data.astype(a.dtype)
        for place in np.ndindex(a.grid_shape):  # chunk by chunk
            starts = [a.chunk_extent(axis, n) for axis, n in enumerate(place)]
            box = tuple(slice(first, first + n) for first, n in starts)
            try:
                want[box] = np.asarray(a[(*box, ...)])
            except hr.Error:
                want[box] = 0 if a.fill_value is None else a.fill_value
        items = [random_selections.selection(choose, rng, a, want) for _ in range(3)]
        for device in devices:
            future = a.read([key for key, _ in items], device=device, on_error="fill")
            for got, (key, wanted) in zip(future.result(partial=True), items):
                assert same(got.to("numpy"), wanted, True), f"{seed}: {written.about} {device} {key}"
