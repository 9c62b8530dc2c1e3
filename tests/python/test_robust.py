"""Bad input gives an error that names it, and harms nothing else.

SPDX-License-Identifier: Apache-2.0
"""

import gzip
import json
import os
import random
import resource
import shutil
import threading

import numcodecs
import numpy as np
import pytest

import handmade
from headrace_ctypes import Context, HeadraceError, Store

VALUES = np.arange(600, dtype="<i4").reshape(20, 30)
BAD = {"DATA", "CHECKSUM", "IO"}
CODECS = {
    "raw": None, "zstd": numcodecs.Zstd(3), "lz4": numcodecs.LZ4(), "zlib": numcodecs.Zlib(1),
    "gzip": numcodecs.GZip(1), "bz2": numcodecs.BZ2(1), "lzma": numcodecs.LZMA(),
    "blosc-lz4": numcodecs.Blosc("lz4", 5, 1), "blosc-zstd": numcodecs.Blosc("zstd", 5, 2),
    "blosc-blosclz": numcodecs.Blosc("blosclz", 9, 1), "blosc-zlib": numcodecs.Blosc("zlib", 5, 1),
}


def one_chunk(context, codec, chunk):
    """An array of one chunk in a memory store."""
    store = Store(context)
    metadata = {"zarr_format": 2, "shape": [20, 30], "chunks": [20, 30], "dtype": "<i4",
                "compressor": codec and codec.get_config(), "filters": None, "fill_value": 7,
                "order": "C"}
    store[".zarray"] = json.dumps(metadata).encode()
    store["0.0"] = chunk
    return store.open()


def encode(codec):
    return VALUES.tobytes() if codec is None else bytes(codec.encode(VALUES))


@pytest.mark.parametrize("name", CODECS)
def test_a_truncated_chunk_is_an_error(context, name):
    chunk = encode(CODECS[name])
    steps = range(len(chunk)) if len(chunk) < 600 else range(0, len(chunk), len(chunk) // 300)
    for length in steps:
        with one_chunk(context, CODECS[name], chunk[:length]) as array:
            with pytest.raises(HeadraceError) as caught:
                array.read()
        assert caught.value.status in BAD
        assert caught.value.key == "0.0" and caught.value.message


@pytest.mark.parametrize("name", CODECS)
def test_a_flipped_bit_never_crashes(context, name):
    chunk = encode(CODECS[name])
    rng = random.Random(name)
    for _ in range(300):
        bad = bytearray(chunk)
        for _ in range(rng.choice([1, 1, 2, 8])):
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        with one_chunk(context, CODECS[name], bytes(bad)) as array:
            try:
                assert array.read().shape == VALUES.shape
            except HeadraceError as error:  # a header may now name something unknown
                assert error.status in BAD | {"UNSUPPORTED"} and error.message


def test_a_checksum_finds_every_flipped_bit(context):
    body = VALUES.tobytes()[:100]
    chunk = body + handmade.crc32c(body)
    for bit in range(8 * len(chunk)):
        bad = bytearray(chunk)
        bad[bit // 8] ^= 1 << bit % 8
        store = Store(context)
        store["zarr.json"] = json.dumps(handmade.v3_metadata(
            (25,), (25,), "int32", codecs=[handmade.LITTLE, handmade.CRC32C])).encode()
        store["c/0"] = bytes(bad)
        with store.open() as array, pytest.raises(HeadraceError) as caught:
            array.read()
        assert caught.value.status == "CHECKSUM"


def rows(folder, **files):
    """20 × 30, one chunk per two rows, raw; `files` replaces chunks by number."""
    content = {f"{i}.0": VALUES[2 * i:2 * i + 2].tobytes() for i in range(10)}
    content.update({f"{key[1:]}.0": value for key, value in files.items()})
    return handmade.v2(folder / "rows", (20, 30), (2, 30), "<i4", content, fill_value=7)


def test_one_bad_chunk_spoils_its_requests_only(context, folder):
    path = rows(folder, c3=b"short")
    items = [(slice(2 * i, 2 * i + 2),) for i in range(10)] + [(slice(None),), ([0, 19],)]
    with context.open(path) as array:
        outs = [np.full(VALUES[s[0]].shape, -5, "<i4") for s in items]
        batch = context.submit([(array, s, out) for s, out in zip(items, outs)])
        with pytest.raises(HeadraceError) as caught:
            batch.wait()
        assert caught.value.status == "DATA" and caught.value.key == "3.0"
        assert "5" in caught.value.message and "240" in caught.value.message
        for i, (item, out) in enumerate(zip(items, outs)):
            error, expected = batch.error(i), VALUES[item[0]].copy()
            if i in (3, 10):
                assert error.status == "DATA"
                if i == 10:  # the rest is there, the bad chunk's rows are untouched
                    expected[6:8] = -5
                    assert np.array_equal(out, expected)
            else:
                assert error is None and np.array_equal(out, expected)
        batch.close()


@pytest.mark.parametrize("kind", ["directory", "loop", "parent is a file", "empty", "long"])
def test_a_failure_is_never_fill(context, folder, kind):
    path = rows(folder)
    chunk = folder / "rows" / "4.0"
    chunk.unlink()
    if kind == "directory":
        chunk.mkdir()
    elif kind == "loop":
        chunk.symlink_to("4.0")
    elif kind == "empty":
        chunk.write_bytes(b"")
    elif kind == "long":
        chunk.write_bytes(VALUES[8:10].tobytes() + b"x")
    else:
        path = handmade.v2(folder / "m", (4, 4), (2, 2), "<i4", {"0": b"a file"},
                           dimension_separator="/")
    with context.open(path) as array, pytest.raises(HeadraceError) as caught:
        array.read()
    assert caught.value.status == ("DATA" if kind in ("empty", "long") else "IO")
    assert caught.value.key


def test_links_out_of_a_store_are_followed(context, folder):
    """As by other readers: data sets are put together from links to files elsewhere."""
    path = rows(folder)
    (folder / "elsewhere").mkdir()
    (folder / "rows" / "4.0").rename(folder / "elsewhere" / "chunk")
    (folder / "rows" / "4.0").symlink_to(folder / "elsewhere" / "chunk")
    (folder / "whole").symlink_to(path)
    for link in (path, folder / "whole"):
        with context.open(str(link)) as array:
            assert (array.read() == VALUES).all()


def test_a_chunk_without_permission_is_an_error(cli, folder):
    path = rows(folder)
    (folder / "rows" / "4.0").chmod(0)
    if os.access(folder / "rows" / "4.0", os.R_OK):
        pytest.skip("runs as root, who may read everything")
    result = cli("read", path, "-o", "-")
    assert result.returncode == 1 and b"4.0" in result.stderr


def test_an_absent_chunk_is_fill_and_named_when_strict(context, folder):
    path = rows(folder)
    (folder / "rows" / "4.0").unlink()
    with context.open(path) as array:
        assert (array.read((8,)) == 7).all()
        (_,), stats = context.read([(array, None)])
        assert stats["nchunks_missing"] == 1
        with pytest.raises(HeadraceError) as caught:
            array.read(strict=True)
    assert caught.value.status == "MISSING_CHUNK" and caught.value.key == "4.0"


# Shard indexes


def test_random_shard_indexes(context, folder):
    rng = random.Random(1)
    good = np.arange(10, dtype="<i4").tobytes()
    edges = [0, 1, 39, 40, 41, 160, 223, 224, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 41,
             2**64 - 2, 2**64 - 1]
    for _ in range(400):
        entries = [(rng.choice(edges), rng.choice(edges)) for _ in range(4)]
        path = handmade.v3(folder / "s", (40,), (40,), "int32",
                           {"c/0": good * 4 + handmade.index(entries)},
                           codecs=[handmade.sharding((10,))])
        with context.open(path) as array:
            try:
                assert array.read().shape == (40,)
            except HeadraceError as error:
                assert error.status in BAD, error


def test_inner_chunks_may_share_bytes(context, folder):
    good = np.arange(10, dtype="<i4").tobytes()
    path = handmade.v3(folder / "s", (40,), (40,), "int32",
                       {"c/0": b"junk" + good + handmade.index([(4, 40)] * 4)},
                       codecs=[handmade.sharding((10,))])
    assert context.open(path).read().tolist() == list(range(10)) * 4


# Calls


@pytest.mark.parametrize("selection", [
    (20,), (-21,), ([0, 20],), ([-21],), (slice(None),) * 3, (0, 0, 0)])
def test_selections_out_of_bounds(context, folder, selection):
    with context.open(rows(folder)) as array, pytest.raises(HeadraceError) as caught:
        array.read(selection)
    assert caught.value.status == "SELECTION" and caught.value.message


def test_destinations_that_do_not_fit(context, folder):
    with context.open(rows(folder)) as array:
        for out, status in ((np.empty((20, 29), "<i4"), "SHAPE"), (np.empty(600, "<i4"), "SHAPE"),
                            (np.empty((20, 30), "S4"), "DTYPE")):
            with pytest.raises(HeadraceError) as caught:
                array.read(None, out)
            assert caught.value.status == status


def test_cancelled_and_dropped_batches(context, folder):
    with context.open(rows(folder)) as array:
        for _ in range(50):
            batch = context.submit([(array, None)] * 4)
            batch.cancel()
            try:
                batch.wait()
            except HeadraceError as error:
                assert error.status == "CANCELLED"
            batch.close()
            context.submit([(array, None)]).close()  # not waited for


def test_a_store_that_changes_while_it_is_read(context):
    store = Store(context)
    store[".zarray"] = json.dumps({
        "zarr_format": 2, "shape": [1000], "chunks": [1000], "dtype": "<i4", "compressor": None,
        "filters": None, "fill_value": 0, "order": "C"}).encode()
    values = [np.full(1000, i, "<i4").tobytes() for i in range(4)]
    store["0"] = values[0]
    stop = threading.Event()

    def write():
        i = 0
        while not stop.is_set():
            i += 1
            store["0"] = values[i % 4]

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with store.open() as array:
            for _ in range(300):
                assert len(set(array.read().tolist())) == 1  # the old or the new, whole
    finally:
        stop.set()
        writer.join()


def test_children_outlive_their_parents(folder):
    context = Context()
    group = handmade.put(folder / "g", {".zgroup": {"zarr_format": 2}})
    handmade.v2(folder / "g" / "a", (4,), (4,), "<i4", {}, fill_value=3)
    node = context.open(group)
    array = node.open("a")
    batch = context.submit([(array, None)])
    array.close()
    node.close()
    context.close()
    batch.wait()
    assert batch.result(0).tolist() == [3] * 4
    batch.close()


# The command


def test_exit_codes(cli, folder):
    path = rows(folder)
    assert cli("read", path, "-o", "-").returncode == 0
    assert cli("read", folder / "absent", "-o", "-").returncode == 2
    assert cli("read", path, "-s", "30", "-o", "-").returncode == 2
    assert cli("read").returncode == 2
    assert cli("frobnicate").returncode == 2
    (folder / "rows" / "4.0").write_bytes(b"short")
    result = cli("read", path, "-o", "-")
    assert result.returncode == 1
    assert b"4.0" in result.stderr and b"5" in result.stderr and b"240" in result.stderr
    assert cli("verify", path).returncode == 1
    (folder / "rows" / "4.0").unlink()
    assert cli("verify", path).returncode == 0
    assert cli("verify", path, "--strict").returncode == 1
    assert cli("read", path, "--strict", "-o", "-").returncode == 1
    shutil.rmtree(folder / "rows")


def test_a_decompression_bomb_stays_small(context, folder):
    """200 MB of zeros where 400 bytes are expected."""
    bomb = gzip.compress(bytes(200_000_000), 9)
    path = handmade.v2(folder / "b", (100,), (100,), "<i4", {"0": bomb},
                       compressor={"id": "gzip", "level": 9})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with context.open(path) as array, pytest.raises(HeadraceError) as caught:
        array.read()
    assert caught.value.status == "DATA"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64_000
