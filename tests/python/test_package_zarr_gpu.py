"""zarr-python on a GPU, read by headrace. SPDX-License-Identifier: Apache-2.0"""

import warnings

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
try:
    hr.device_info("cuda:0")
except hr.Error as error:
    pytest.skip(f"no GPU: {error}", allow_module_level=True)
cupy = pytest.importorskip("cupy")
hz = pytest.importorskip("headrace.zarr")

RNG = np.random.default_rng(7)
DATA = np.cumsum(RNG.integers(-3, 4, (300, 400)), axis=1).astype("<f4")
BLOSC = zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle", typesize=4)


@pytest.fixture(autouse=True)
def gpu_arrays():
    hz.reset_stats()
    with zarr.config.enable_gpu(), zarr.config.set(
            {"codec_pipeline.path": "headrace.zarr.Pipeline", "codec_pipeline.strict": True}):
        yield


def write(folder, **options):
    with warnings.catch_warnings(), zarr.config.set(
            {"buffer": "zarr.buffer.cpu.Buffer", "ndbuffer": "zarr.buffer.cpu.NDBuffer"}):
        warnings.simplefilter("ignore")
        options = {"chunks": (70, 90), "compressors": BLOSC, "fill_value": 3, **options}
        z = zarr.create_array(folder / "z", shape=DATA.shape, dtype=DATA.dtype, **options)
        z[:200] = DATA[:200]
    return np.where(np.arange(300)[:, None] < 200, DATA, np.float32(3))


@pytest.mark.parametrize("options", [{}, {"compressors": None}, {"shards": (140, 180)},
                                     {"compressors": zarr.codecs.ZstdCodec()},
                                     {"zarr_format": 2, "compressors": None}], ids=str)
def test_every_selection_lands_on_the_gpu(folder, options):
    data = write(folder, **options)
    z = zarr.open_array(folder / "z", mode="r")
    for key in (np.s_[:], np.s_[3], np.s_[5:290:7, ::3], np.s_[..., 2]):
        got = z[key]
        assert isinstance(got, cupy.ndarray) and (got.get() == data[key]).all()
    rows = [250, 1, 1, 77]
    assert (z.oindex[rows, 10:300:5].get() == data[rows, 10:300:5]).all()
    rows, columns = z.shards or z.chunks
    assert (z.blocks[1:2, 1].get() == data[rows:2 * rows, columns:2 * columns]).all()
    assert hz.stats() == {"native": 6, "callback": 0, "fallback": {}}


def test_other_stores_and_scalars(folder):
    data = write(folder)
    assert float(zarr.open_array(folder / "z", mode="r")[7, 9]) == data[7, 9]
    store = zarr.storage.MemoryStore()
    with zarr.config.set({"buffer": "zarr.buffer.cpu.Buffer",
                          "ndbuffer": "zarr.buffer.cpu.NDBuffer"}):
        zarr.create_array(store, data=DATA, chunks=(70, 90))
    z = zarr.open_array(store, mode="r")
    assert (z[10:100].get() == DATA[10:100]).all() and hz.stats()["callback"] == 1


@pytest.mark.parametrize("options", [
    {"compressors": [zarr.codecs.BloscCodec(), zarr.codecs.Crc32cCodec(), zarr.codecs.GzipCodec(),
                     zarr.codecs.ZstdCodec()], "filters": [zarr.codecs.TransposeCodec(order=(1, 0))]},
    {"shards": (10, 10)}], ids=["codecs", "shards"])
def test_gpu_arrays_are_written_and_read_by_prototype(options):
    """As in test_buffer of zarr-python, which wants its warning that bytes are copied up."""
    prototype = zarr.core.buffer.gpu.buffer_prototype
    expect = cupy.asfortranarray(cupy.arange(100, dtype="u2").reshape(10, 10))
    z = zarr.create_array(zarr.storage.MemoryStore(), shape=(10, 10), chunks=(5, 5), dtype="u2",
                          fill_value=0, **options)
    with warnings.catch_warnings(), zarr.config.set({"codec_pipeline.strict": False}):
        warnings.simplefilter("ignore")  # of the writing, which is zarr-python's
        z.set_basic_selection(np.s_[:, :], expect, prototype=prototype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = z.get_basic_selection(np.s_[:, :], prototype=prototype)
    assert isinstance(got, cupy.ndarray) and cupy.array_equal(got, expect)
