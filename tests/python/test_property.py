"""What other software wrote reads back the same, whatever is selected of it.

Random arrays from zarr-python and tensorstore, read through the library and through the
command. SPDX-License-Identifier: Apache-2.0
"""

import os
import tempfile

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import strategies


@pytest.fixture(scope="module")
def place():
    with tempfile.TemporaryDirectory(prefix="headrace-") as path:
        yield path


def bits(array):
    """Bytes in C order, little-endian: equal for equal NaNs too."""
    array = np.asarray(array)
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()


def bounded(examples):
    """So many examples, times HEADRACE_EXAMPLES."""
    examples *= int(os.environ.get("HEADRACE_EXAMPLES", "1"))
    return hypothesis.settings(max_examples=examples, suppress_health_check=[
        hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture,
        hypothesis.HealthCheck.data_too_large])


def arrays(place):
    return st.one_of(strategies.zarr_python(place), strategies.tensorstore_v3(place))


def destination(draw, shape, dtype):
    """A strided place in a larger buffer, or Fortran order, or backwards."""
    kind = draw(st.sampled_from(["C", "F", "backwards", "padded"]))
    if kind in "CF":
        return np.empty(shape, dtype, order=kind)
    if kind == "backwards":
        return np.empty(shape, dtype)[(..., *(slice(None, None, -1),) * len(shape))]
    return np.zeros([2 * n + 1 for n in shape], dtype)[(..., *(slice(1, None, 2),) * len(shape))]


@bounded(150)
@hypothesis.given(st.data())
def test_any_selection_gives_what_numpy_gives(context, place, data):
    written = data.draw(arrays(place))
    with context.open(written.path) as array:
        assert array.shape == written.data.shape
        for _ in range(4):
            selection = data.draw(strategies.selections(written))
            expected = strategies.apply(selection, written.data, written.chunks)
            out = destination(data.draw, np.shape(expected), array.dtype)
            result = array.read(selection, out)
            assert bits(result) == bits(expected), written.about


@bounded(40)
@hypothesis.given(st.data())
def test_a_batch_reads_each_chunk_once(context, place, data):
    items, results, chunks = [], [], set()
    for number in range(data.draw(st.integers(1, 3))):
        written = data.draw(arrays(place))
        array = context.open(written.path)
        ids = chunk_ids(written)
        for _ in range(data.draw(st.integers(1, 4))):
            selection = data.draw(strategies.selections(written))
            items.append((array, selection))
            results.append(strategies.apply(selection, written.data, written.chunks))
            taken = strategies.apply(selection, ids, written.chunks)
            chunks.update((number, int(i)) for i in np.unique(taken))
    got, stats = context.read(items)
    for result, expected in zip(got, results):
        assert bits(result) == bits(expected)
    assert stats["nchunks"] == len(chunks)


def chunk_ids(written):
    """For every element the number of its chunk."""
    ids = np.zeros(written.data.shape, dtype=np.int64)
    for axis, (n, chunk) in enumerate(zip(written.data.shape, written.chunks)):
        along = np.arange(n) // chunk
        ids = ids * (n // chunk + 1) + along.reshape((-1,) + (1,) * (ids.ndim - axis - 1))
    return ids


CASTS = ("|i1", "|u1", "<i2", "<u4", "<i8", "<f4", "<f8")


@bounded(60)
@hypothesis.given(st.data())
def test_casts_are_those_of_numpy(context, place, data):
    written = data.draw(strategies.zarr_python(place))
    hypothesis.assume(written.data.dtype.kind in "biu")
    wanted = np.dtype(data.draw(st.sampled_from(CASTS)))
    with context.open(written.path) as array:
        assert bits(array.read(dtype=wanted)) == bits(written.data.astype(wanted))


def cli_text(selection):
    """A selection as the command's -s takes it, or None where it has no such form."""
    if selection is None:
        return ""
    if not isinstance(selection, tuple) or any(isinstance(s, list) for s in selection):
        return None
    parts = []
    for index in selection:
        if isinstance(index, slice):
            text = ":".join("" if v is None else str(v)
                            for v in (index.start, index.stop, index.step))
            parts.append(text)
        else:
            parts.append(str(index))
    return ",".join(parts)


@bounded(40)
@hypothesis.given(st.data())
def test_the_command_gives_the_same_bytes(cli, place, data):
    written = data.draw(arrays(place))
    selection = data.draw(strategies.selections(written))
    text = cli_text(selection)
    hypothesis.assume(text is not None)
    command = ["read", written.path, "-o", "-"] + ([f"--select={text}"] if text else [])
    result = cli(*command)
    assert result.returncode == 0, result.stderr.decode()
    expected = strategies.apply(selection, written.data, written.chunks)
    assert result.stdout == bits(expected), written.about
