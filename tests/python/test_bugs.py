"""Failures that users of other readers reported; here each gives the right answer.

Every test names the public report it comes from. SPDX-License-Identifier: Apache-2.0
"""

import concurrent.futures
import ctypes
import ctypes.util
import gzip
import json
import os
import resource
import time
import zlib

import numcodecs
import numpy as np
import pytest

import handmade
from headrace_ctypes import HeadraceError, Mask, Points, Store


def read(context, path, selection=None, **options):
    with context.open(path) as array:
        return array.read(selection, **options)


def peak_rss():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# 1. Bytes in the wrong order


def test_b02_strings_keep_their_places(context, folder):
    """zarr-python#4116: Fortran-ordered strings came back transposed."""
    items = [b"a", b"bb", b"ccc", b"d", b"e", b"f"]
    chunk = len(items).to_bytes(4, "little")
    chunk += b"".join(len(i).to_bytes(4, "little") + i for i in items)
    path = handmade.v3(folder / "s", (2, 3), (2, 3), "string", {"c/0/0": chunk},
                       fill_value="", codecs=[{"name": "vlen-utf8"}])
    expected = [["a", "bb", "ccc"], ["d", "e", "f"]]
    assert read(context, path).tolist() == expected
    for out in (np.empty((2, 3), "V16", order="F"), np.empty((2, 3), "V16")[::-1, ::-1],
                np.empty((4, 6), "V16")[::2, ::2]):
        assert read(context, path, out=out).tolist() == expected
    assert read(context, path, (slice(None, None, -1), [2, 0])).tolist() == [["f", "d"], ["ccc", "a"]]


def test_b04_a_codec_may_change_the_type(context, folder):
    """zarr-python#3937: int8 through cast_value(int16) gave "Invalid endianness None"."""
    path = handmade.v3(folder / "c", (4,), (4,), "int8",
                       {"c/0": np.array([1, -2, 127, -128], "<i2").tobytes()},
                       codecs=[{"name": "cast_value", "configuration": {"data_type": "int16"}},
                               handmade.LITTLE])
    assert read(context, path).tolist() == [1, -2, 127, -128]


def test_b05_compressors_may_stand_among_filters(context, folder):
    """zarr-python#2325: v2 filters [zlib] with no compressor failed."""
    seven = np.array([7], "<i4").tobytes()
    path = handmade.v2(folder / "a", (1,), (1,), "<i4", {"0": zlib.compress(seven)},
                       filters=[{"id": "zlib", "level": 2}])
    assert read(context, path).tolist() == [7]
    values = np.arange(40, dtype="<i4")
    shuffled = numcodecs.Shuffle(4).encode(values)
    path = handmade.v2(folder / "b", (40,), (40,), "<i4", {"0": zlib.compress(shuffled)},
                       filters=[{"id": "shuffle", "elementsize": 4}, {"id": "zlib", "level": 1}])
    assert np.array_equal(read(context, path), values)


def blosc(data, typesize, shuffle, blocksize=0, cname=b"lz4", clevel=5):
    """Blosc 1 itself, for sizes that are no multiple of the type's."""
    library = ctypes.CDLL(ctypes.util.find_library("blosc"))
    out = ctypes.create_string_buffer(len(data) + 16)
    size = library.blosc_compress_ctx(
        ctypes.c_int(clevel), ctypes.c_int(shuffle), ctypes.c_size_t(typesize),
        ctypes.c_size_t(len(data)), data, out, ctypes.c_size_t(len(out)), cname,
        ctypes.c_size_t(blocksize), ctypes.c_int(1))
    assert size > 0
    return out.raw[:size]


@pytest.mark.skipif(not ctypes.util.find_library("blosc"), reason="libblosc is not installed")
@pytest.mark.parametrize("shuffle", [0, 1, 2])
@pytest.mark.parametrize("typesize", [1, 3, 4, 7, 8, 255, 256, 300])
@pytest.mark.parametrize("nbytes", [0, 1, 127, 128, 1003, 4099])
def test_b07_blosc_keeps_the_last_bytes(context, folder, nbytes, typesize, shuffle):
    """c-blosc2 3.3.1 and 3.3.2: the last nbytes % typesize bytes were lost."""
    data = bytes(np.arange(nbytes, dtype="u4").astype("u1") // 3)
    for cname in (b"blosclz", b"lz4", b"zstd"):
        chunk = blosc(data, typesize, shuffle, blocksize=512, cname=cname)
        path = handmade.v2(folder / cname.decode(), (nbytes,), (max(1, nbytes),), "|u1",
                           {"0": chunk}, compressor={"id": "blosc", "cname": "lz4", "clevel": 5,
                                                     "shuffle": 1, "blocksize": 0})
        assert read(context, path).tobytes() == data


def test_b07_items_of_more_than_255_bytes(context, folder):
    for size in (256, 300):
        data = np.arange(7 * size, dtype="<u2").astype("u1").tobytes()
        chunk = numcodecs.Blosc("lz4", 5, 1).encode(np.frombuffer(data, f"V{size}"))
        path = handmade.v2(folder / str(size), (7,), (7,), f"|V{size}", {"0": chunk},
                           fill_value=None, compressor=numcodecs.Blosc("lz4", 5, 1).get_config())
        assert read(context, path, [5, 1]).tobytes() == data[5 * size:6 * size] + data[size:2 * size]


# 2. Fill values and missing chunks


def test_b09_an_absent_chunk_is_fill(context, folder):
    """fsspec#915, zarr-python#1150: an absent chunk raised KeyError."""
    path = handmade.v2(folder / "n", (10,), (1,), "<f8", {}, fill_value="NaN")
    assert np.isnan(read(context, path)).all()
    with pytest.raises(HeadraceError) as caught:
        read(context, path, (slice(3, 4),), strict=True)
    assert caught.value.status == "MISSING_CHUNK"
    assert "3" in caught.value.key + caught.value.message


def test_b15_signs_of_zero_and_payloads_stay(context, folder):
    """zarr-python#3144: chunks of -0.0 counted as empty, the sign was lost."""
    chunk = np.array([-0.0, -0.0], "<f4").tobytes()
    path = handmade.v2(folder / "z", (4,), (2,), "<f4", {"0": chunk}, fill_value=0.0)
    assert np.signbit(read(context, path)).tolist() == [True, True, False, False]
    path = handmade.v2(folder / "m", (2,), (2,), "<f4", {}, fill_value=-0.0)
    assert np.signbit(read(context, path)).all()
    odd_nan = bytes.fromhex("0100c07f" "efbeadff")
    path = handmade.v2(folder / "p", (4,), (2,), "<f4", {"0": odd_nan}, fill_value="NaN")
    assert read(context, path).tobytes()[:8] == odd_nan
    path = handmade.v3(folder / "h", (1,), (1,), "float32", {}, fill_value="0x7fc00001")
    assert read(context, path).tobytes() == bytes.fromhex("0100c07f")


# 3. Sharding


@pytest.mark.parametrize("order,checksum,location", [
    ("little", False, "end"), ("little", False, "start"), ("big", True, "end"),
    ("big", True, "start"), ("little", True, "end"), ("little", True, "start")])
def test_b17_the_index_is_as_its_codecs_say(context, folder, order, checksum, location):
    """zarrita.js#424: a crc32c was assumed after an index that has none."""
    values = np.arange(40, dtype="<i4")
    chunks = [values[i:i + 10].tobytes() for i in range(0, 40, 10)]
    chunks[2] = None
    codecs = [handmade.LITTLE if order == "little" else handmade.BIG]
    codecs += [handmade.CRC32C] if checksum else []
    path = handmade.v3(folder / "s", (40,), (40,), "int32",
                       {"c/0": handmade.shard(chunks, location, order, checksum)},
                       fill_value=-1, codecs=[handmade.sharding((10,), codecs, location)])
    values[20:30] = -1
    assert np.array_equal(read(context, path), values)


def shard_of_four(folder, content):
    return handmade.v3(folder, (40,), (40,), "int32", {"c/0": content},
                       codecs=[handmade.sharding((10,), [handmade.LITTLE])])


def test_b19_a_shard_shorter_than_its_index(context, folder):
    """GDAL#14545: size_t underflow and a read before the buffer."""
    whole = handmade.shard([np.arange(10, dtype="<i4").tobytes()] * 4, checksum=False)
    for length in range(0, 64 + 8 + 1):
        path = shard_of_four(folder / "s", whole[:length])
        with pytest.raises(HeadraceError) as caught:
            read(context, path)
        assert caught.value.status in ("DATA", "IO")
        if length < 64:
            assert str(length) in caught.value.message and "64" in caught.value.message


@pytest.mark.parametrize("entry", [
    (0, 41), (185, 40), (2**64 - 8, 40), (2**64 - 40, 40), (2**63, 40), (0, 2**64 - 2),
    (2**64 - 1, 40), (40, 2**64 - 1), (1, 0), (224, 1), (0, 39)])
def test_b19_an_index_entry_outside_the_shard(context, folder, entry):
    good = np.arange(10, dtype="<i4").tobytes()
    table = handmade.index([(0, 40), (40, 40), (80, 40), entry], checksum=False)
    path = shard_of_four(folder / "s", good * 4 + table)
    with context.open(path) as array:
        assert array.read((slice(0, 30),)).tobytes() == good * 3
        with pytest.raises(HeadraceError) as caught:
            array.read()
        assert caught.value.status == "DATA"
        assert "c/0" in caught.value.key


def test_b22_many_threads_read_one_sharded_array(context, folder):
    """zarr-python#3479: parts of shards were lost with many threads."""
    values = np.arange(64 * 64, dtype="<f8").reshape(64, 64)
    files = {f"c/{i}/0": handmade.shard([
        values[i * 32 + a:i * 32 + a + 16, b:b + 16].tobytes()
        for a in (0, 16) for b in (0, 16, 32, 48)]) for i in (0, 1)}
    path = handmade.v3(folder / "s", (64, 64), (32, 64), "float64", files, fill_value="NaN",
                       codecs=[handmade.sharding((16, 16))])
    with context.open(path) as array, concurrent.futures.ThreadPoolExecutor(16) as pool:
        for result in pool.map(lambda _: array.read(), range(100)):
            assert np.array_equal(result, values)


# 4. Huge counts


def test_b29_a_strided_slice_touches_its_chunks_only(context):
    """zarr-python#843: [::512, ::512] of one-row chunks touched every chunk."""
    row = numcodecs.Zstd().encode(np.zeros(66369 * 3, "u1"))
    with Store(context) as store:
        store[".zarray"] = json.dumps({
            "zarr_format": 2, "shape": [149568, 66369, 3], "chunks": [1, 66369, 3],
            "dtype": "|u1", "compressor": {"id": "zstd", "level": 1}, "filters": None,
            "fill_value": 1, "order": "C"}).encode()
        for i in range(0, 149568, 512):
            store[f"{i}.0.0"] = row
        with store.open() as array:
            start = time.monotonic()
            (result,), stats = context.read([(array, (slice(None, None, 512),) * 2)])
    assert result.shape == (293, 130, 3) and not result.any()
    assert stats["nchunks"] == 293 and stats["nchunks_missing"] == 0
    assert stats["decoded_nbytes"] <= 293 * 66369 * 3
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("nbytes,blocksize,cbytes", [
    (2**31 - 1, 2**31 - 1, 16), (2**31 - 1, 2**20, 16), (2**32 - 1, 2**32 - 1, 16),
    (400, 400, 2**32 - 1), (400, 0, 16), (400, 2**31, 16), (0, 0, 16), (800, 400, 20)])
def test_b30_a_blosc_header_is_not_believed(context, folder, nbytes, blocksize, cbytes):
    """numcodecs#80, zarr-python#487: a huge claimed size froze the decoder."""
    header = bytes([2, 1, 0x21, 4]) + b"".join(
        n.to_bytes(4, "little") for n in (nbytes, blocksize, cbytes))
    path = handmade.v2(folder / "b", (100,), (100,), "<i4", {"0": header}, compressor={
        "id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0})
    before, start = peak_rss(), time.monotonic()
    with pytest.raises(HeadraceError) as caught:
        read(context, path)
    assert caught.value.status == "DATA" and caught.value.codec == "blosc"
    assert peak_rss() - before < 64 << 20 and time.monotonic() - start < 5


# 5. Keys


def test_b45_keys_follow_the_separator(context, cli, folder):
    """ome-zarr-py#231, dask#7673: "/" and "." mixed up gave nothing but fill."""
    seven = np.full((2, 2), 7, "|u1").tobytes()
    slash = handmade.v2(folder / "slash", (2, 2), (2, 2), "|u1", {"0/0": seven},
                        dimension_separator="/")
    plain = handmade.v2(folder / "plain", (2, 2), (2, 2), "|u1", {"0.0": seven})
    assert (read(context, slash) == 7).all() and (read(context, plain) == 7).all()
    wrong = handmade.v2(folder / "wrong", (2, 2), (2, 2), "|u1", {"0.0": seven},
                        dimension_separator="/")
    assert (read(context, wrong) == 0).all()
    result = cli("verify", wrong)
    assert b"0/0" in result.stdout + result.stderr  # the missing key is named
    unsaid = handmade.v2(folder / "unsaid", (2, 2), (2, 2), "|u1", {"0/0": seven})
    assert (read(context, unsaid) == 0).all()  # "." is meant where nothing is said
    with pytest.raises(HeadraceError) as caught:
        read(context, unsaid, strict=True)
    assert caught.value.status == "MISSING_CHUNK" and caught.value.key == "0.0"


# 6. Decoders


def zstd(data, **options):
    return numcodecs.Zstd(**options).encode(data)


def zstd_without_size(data):
    """A frame of one raw block, a window descriptor and no content size."""
    block = (len(data) << 3 | 1).to_bytes(3, "little") + data
    return bytes.fromhex("28b52ffd" "00" "58") + block


SKIPPABLE = bytes.fromhex("502a4d18") + (5).to_bytes(4, "little") + b"hello"


@pytest.mark.parametrize("kind", ["sized", "unsized", "two", "skippable", "mixed"])
def test_b47_zstd_frames_of_every_shape(context, folder, kind):
    """tensorstore#182, zarr-python#2056, kerchunk#317: frames without a size were refused."""
    values = np.arange(1000, dtype="<u2")
    data = values.tobytes()
    chunk = {"sized": zstd(data), "unsized": zstd_without_size(data),
             "two": zstd(data[:700]) + zstd(data[700:]), "skippable": SKIPPABLE + zstd(data),
             "mixed": zstd_without_size(data[:9]) + SKIPPABLE + zstd(data[9:], checksum=True)}[kind]
    path = handmade.v2(folder / "z", (1000,), (1000,), "<u2", {"0": chunk},
                       compressor={"id": "zstd", "level": 0})
    assert np.array_equal(read(context, path), values)


@pytest.mark.parametrize("kind", ["short", "long", "cut", "claims", "empty"])
def test_b47_bad_zstd_frames_are_errors(context, folder, kind):
    data = np.arange(1000, dtype="<u2").tobytes()
    chunk = {"short": zstd(data[:-2]), "long": zstd(data + b"xx"),
             "cut": zstd(data)[:-1], "claims": bytes.fromhex("28b52ffd" "c0" "00") +
             (2**62).to_bytes(8, "little") + zstd_without_size(data)[6:], "empty": b""}[kind]
    path = handmade.v2(folder / "z", (1000,), (1000,), "<u2", {"0": chunk},
                       compressor={"id": "zstd", "level": 0})
    before = peak_rss()
    with pytest.raises(HeadraceError) as caught:
        read(context, path)
    assert caught.value.status == "DATA"
    assert peak_rss() - before < 64 << 20


def test_b47_a_huge_window_costs_no_memory(context, folder):
    """A window of 2 GiB in a frame of 2000 bytes: the size of the chunk is what counts."""
    values = np.arange(1000, dtype="<u2")
    chunk = bytes.fromhex("28b52ffd" "00" "a8") + zstd_without_size(values.tobytes())[6:]
    path = handmade.v2(folder / "z", (1000,), (1000,), "<u2", {"0": chunk},
                       compressor={"id": "zstd", "level": 0})
    before = peak_rss()
    try:
        assert np.array_equal(read(context, path), values)
    except HeadraceError as error:
        assert error.status == "DATA"
    assert peak_rss() - before < 64 << 20


def test_b50_the_lz4_header_must_fit(context, folder):
    """kvikio#297: the four bytes of numcodecs' LZ4 header were taken for data."""
    values = np.arange(100, dtype="<i4")
    block = numcodecs.LZ4().encode(values)
    for claim in (0, 399, 401, 2**31, 2**32 - 1):
        path = handmade.v2(folder / str(claim), (100,), (100,), "<i4",
                           {"0": claim.to_bytes(4, "little") + block[4:]},
                           compressor={"id": "lz4", "acceleration": 1})
        with pytest.raises(HeadraceError) as caught:
            read(context, path)
        assert caught.value.status == "DATA"
        assert str(claim) in caught.value.message or str(claim - 2**32) in caught.value.message
        assert "400" in caught.value.message
    path = handmade.v2(folder / "ok", (100,), (100,), "<i4", {"0": block},
                       compressor={"id": "lz4", "acceleration": 1})
    assert np.array_equal(read(context, path), values)


def test_gzip_members_follow_each_other(context, folder):
    """RFC 1952: a gzip file may have several members."""
    data = np.arange(100, dtype="<i4").tobytes()
    path = handmade.v2(folder / "g", (100,), (100,), "<i4",
                       {"0": gzip.compress(data[:99]) + gzip.compress(data[99:])},
                       compressor={"id": "gzip", "level": 1})
    assert read(context, path).tobytes() == data


# 8. Processes, threads


def in_child(work, seconds):
    """Run work() in a forked child: its exit status, or None where it hangs."""
    pid = os.fork()
    if pid == 0:
        status = 9
        try:
            status = work()
        finally:
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_b52_a_forked_child_reads_or_errs_at_once(context, folder):
    """zarrs-python#171, levanter#909: the child of a fork hung for ever."""
    values = np.arange(256 * 256, dtype="<i2").reshape(256, 256)
    files = {f"{i}.{j}": values[i * 32:i * 32 + 32, j * 32:j * 32 + 32].tobytes()
             for i in range(8) for j in range(8)}
    path = handmade.v2(folder / "f", (256, 256), (32, 32), "<i2", files)
    with context.open(path) as array:
        assert np.array_equal(array.read(), values)

        def child():
            try:
                return 0 if np.array_equal(array.read(), values) else 3
            except HeadraceError:
                return 1

        for _ in range(5):
            assert in_child(child, seconds=5) == 0  # host memory works in the child
        assert np.array_equal(array.read(), values)


def test_b72_many_gathered_points(context, folder):
    """tensorstore#31: about a thousand points and more gave random wrong values."""
    path = handmade.v2(folder / "p", (50, 50, 50), (9, 10, 11), "<i2", {}, fill_value=1)
    rng = np.random.default_rng(72)
    with context.open(path) as array:
        for n in [5, 1000, 20_000] * 10 + [500_000] * 2:
            assert (array.read(Points(rng.integers(0, 50, (n, 3)))) == 1).all()
        assert array.read(Mask(np.ones((50, 50, 50)))).sum() == 125_000
