"""headrace.numcodecs decodes what numcodecs encodes. SPDX-License-Identifier: Apache-2.0"""

import pickle

import numcodecs
import numpy as np
import pytest

hr = pytest.importorskip("headrace", reason="the package is not built")
import headrace.numcodecs as codecs  # noqa: E402

DATA = np.cumsum(np.random.default_rng(2).integers(-3, 4, 20000)).astype("<i4")
BYTES = DATA.tobytes()
COMPRESSORS = [
    {"id": "zstd", "level": 3}, {"id": "zstd", "level": 1, "checksum": True}, {"id": "lz4"},
    {"id": "gzip", "level": 5}, {"id": "zlib", "level": 1}, {"id": "bz2"}, {"id": "lzma"},
    *({"id": "blosc", "cname": c, "clevel": 5, "shuffle": s, "blocksize": 0}
      for c in ("lz4", "zstd", "blosclz", "zlib") for s in (0, 1, 2))]
FILTERS = [
    ({"id": "delta", "dtype": "<i4"}, DATA), ({"id": "delta", "dtype": "<i4", "astype": "<i2"}, DATA),
    ({"id": "fixedscaleoffset", "offset": 10, "scale": 4, "dtype": "<f8", "astype": "<i4"},
     DATA / 4.0), ({"id": "packbits"}, DATA > 3), ({"id": "shuffle", "elementsize": 4}, DATA.view("u1")),
    ({"id": "astype", "encode_dtype": "<i8", "decode_dtype": "<i4"}, DATA),
    ({"id": "quantize", "digits": 1, "dtype": "<f4"}, DATA.astype("<f4") / 7),
    # differences in one type, sums in another: added in one that holds both
    *(({"id": "delta", "dtype": to, "astype": made}, (DATA / 3).astype(to)) for to, made in (
        ("<f4", "<f8"), (">f2", "<f8"), ("<f2", ">f4"), ("<f4", "<i4"), ("<f8", "<f4"), ("<i4", "<f4"),
        (">i8", "<f4"), ("<c8", "<c16"), ("<u2", "<i2"), ("<i4", "|i1")))]


def stream(config, data):
    return numcodecs.get_codec(dict(config)).encode(data)


@pytest.mark.parametrize("config", COMPRESSORS)
def test_compressors(config):
    encoded = stream(config, DATA)
    codec = codecs.get_codec(config, device="cpu")
    for form in (encoded, memoryview(encoded), np.frombuffer(encoded, "u1")):
        assert codec.decode(form, nbytes=len(BYTES)).tobytes() == BYTES
    assert codec.decode(encoded).tobytes() == BYTES
    out = np.empty((100, 200), "<i4")
    assert codec.decode(encoded, out) is out and (out.ravel() == DATA).all()
    assert numcodecs.get_codec(dict(config)).decode(codec.encode(DATA)) is not None
    assert codec.decode(codec.encode(DATA)).tobytes() == BYTES


@pytest.mark.parametrize("config, data", FILTERS)
def test_filters(config, data):
    encoded = stream(config, data)
    want = np.asarray(numcodecs.get_codec(dict(config)).decode(encoded))
    got = codecs.get_codec(config).decode(encoded, nbytes=want.nbytes)
    assert got.tobytes() == want.tobytes()
    assert codecs.get_codec(config).decode(encoded).tobytes() == want.tobytes()
    chain = [config, {"id": "zstd"}]
    codec = codecs.get_codec(chain)
    assert codec.decode(codec.encode(data), nbytes=want.nbytes).tobytes() == want.tobytes()
    assert codec.decode(codec.encode(data)).tobytes() == want.tobytes()


def test_many_streams_in_one_call():
    parts = [DATA[i * 100:i * 100 + 50 + i] for i in range(100)]
    codec = codecs.get_codec({"id": "lz4"})
    got = codec.decode_batch([stream({"id": "lz4"}, p) for p in parts])
    assert all(g.tobytes() == p.tobytes() for g, p in zip(got, parts, strict=True))
    got = codec.decode_batch([stream({"id": "lz4"}, p) for p in parts], [p.nbytes for p in parts])
    assert all(g.tobytes() == p.tobytes() for g, p in zip(got, parts, strict=True))
    alike = [parts[i] for i in (7, 3, 7, 50, 3, 3, 7)]  # of three sizes, in turns
    got = codec.decode_batch([stream({"id": "lz4"}, p) for p in alike])
    assert all(g.tobytes() == p.tobytes() for g, p in zip(got, alike, strict=True))
    assert codec.decode_batch([]) == []


def test_futures_of_many_streams():
    parts = [DATA[i * 100:i * 100 + 50 + i % 3] for i in range(30)]
    streams = [stream({"id": "zstd"}, part) for part in parts]
    codec = codecs.get_codec({"id": "zstd"})
    future = codec.submit(streams, [part.nbytes for part in parts])
    streams.clear()  # which the read holds
    got = future.result()
    assert future.done() and future.result() is got
    assert all(g.tobytes() == p.tobytes() for g, p in zip(got, parts, strict=True))
    out = [np.empty_like(part) for part in parts]
    future = codec.submit([stream({"id": "zstd"}, part) for part in parts], out=out)
    assert future.result() is out and all((o == p).all() for o, p in zip(out, parts))
    bad = codec.submit([stream({"id": "zstd"}, parts[0]), b"garbage!"], parts[0].nbytes)
    assert isinstance(bad.exceptions()[1], hr.DataError) and bad.exceptions()[0] is None
    sizes = [part.nbytes for part in parts[:4]]
    mixed = codec.submit([stream({"id": "zstd"}, p) for p in parts[:3]] + [b"garbage!"], sizes)
    assert [type(e) for e in mixed.exceptions()] == [type(None)] * 3 + [hr.DataError]
    for options in ({}, {"nbytes": [8]}, {"out": out}):
        with pytest.raises(hr.ArgumentError):
            codec.submit([b"garbage!", b"garbage!"], **options)


def test_the_registry_has_them_beside_numcodecs_own():
    codec = numcodecs.get_codec({"id": "headrace.zstd", "level": 4, "device": "cpu"})
    assert isinstance(codec, codecs.Codec)
    assert codec.get_config() == {"id": "headrace.zstd", "level": 4, "device": "cpu"}
    assert codec.decode(codec.encode(DATA)).tobytes() == BYTES
    again = pickle.loads(pickle.dumps(codec))
    assert again.get_config() == codec.get_config()
    own = numcodecs.get_codec({"id": "zstd"})
    assert not isinstance(own, codecs.Codec)
    try:
        codecs.register("zstd")
        assert isinstance(numcodecs.get_codec({"id": "zstd"}), codecs.Codec)
    finally:
        numcodecs.register_codec(type(own))
    assert not isinstance(numcodecs.get_codec({"id": "zstd"}), codecs.Codec)


def test_what_is_wrong_is_said():
    encoded = stream({"id": "zstd"}, DATA)
    codec = codecs.get_codec({"id": "zstd"})
    for data, nbytes in ((encoded, len(BYTES) + 4), (encoded, len(BYTES) - 4), (encoded[:-9], None),
                         (b"", 8), (b"garbage!", None), (b"garbage!", 80)):
        with pytest.raises((hr.DataError, hr.UnsupportedError)):
            codec.decode(data, nbytes=nbytes)
    readonly = np.empty(len(BYTES), "u1")
    readonly.flags.writeable = False
    with pytest.raises(hr.ArgumentError, match="read-only"):
        codec.decode(encoded, readonly)
    with pytest.raises(hr.ShapeError):
        codec.decode(encoded, np.empty((100, 200), "i4")[:, ::2])
    for config in ({"id": "pickle"}, {}, [], [{"id": "zstd"}, {"id": "nothing"}], "zstd", None, [5]):
        with pytest.raises(hr.ArgumentError):
            codecs.get_codec(config)
    with pytest.raises(hr.ArgumentError, match="chain"):
        codecs.get_codec([{"id": "zstd"}, {"id": "lz4"}]).decode(b"x", nbytes=4)


def on_simt(data):
    """A tensor of its bytes in the memory of simt."""
    store = hr.MemoryStore({".zarray": (
        f'{{"zarr_format": 2, "shape": [{len(data)}], "chunks": [{len(data)}], "dtype": "|u1", '
        '"compressor": null, "filters": null, "fill_value": 0, "order": "C"}').encode(), "0": data})
    return hr.open(store, "simt")[...]


@pytest.mark.parametrize("config", [
    {"id": "zstd", "level": 3}, {"id": "lz4"}, {"id": "gzip", "level": 5}, {"id": "bz2"},
    {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}],
    ids=lambda config: config["id"])
def test_what_lies_on_a_device_is_decoded_there(config, monkeypatch):
    try:
        hr.device_info("simt")
    except hr.Error as error:
        pytest.skip(f"no simt: {error}")
    futures, submit = [], codecs._read.submit
    monkeypatch.setattr(codecs._read, "submit",
                        lambda *a, **k: futures.append(submit(*a, **k)) or futures[-1])
    encoded = stream(config, DATA)
    out = on_simt(bytes(DATA.nbytes))
    assert codecs.get_codec(config).decode(on_simt(encoded), out) is out
    assert out.to("numpy").tobytes() == BYTES
    stats = futures[0].stats()
    is_there = config["id"] != "bz2"  # which only the host decodes
    assert stats["ndecoded_device"] == is_there
    assert (stats["copied_nbytes"] < len(encoded) // 2) == is_there
    got = codecs.get_codec(config).decode(on_simt(encoded), nbytes=DATA.nbytes)
    assert got.tobytes() == BYTES  # to the host


def test_on_a_gpu():
    try:
        hr.device_info("cuda:0")
    except hr.Error as error:
        pytest.skip(f"no GPU: {error}")
    cupy = pytest.importorskip("cupy")
    for config in COMPRESSORS:
        encoded = stream(config, DATA)
        codec = codecs.get_codec(config, device="cuda")
        for form in (encoded, cupy.frombuffer(encoded, "u1")):
            got = codec.decode(form)
            assert isinstance(got, cupy.ndarray) and got.get().tobytes() == BYTES
        out = cupy.empty(DATA.shape, DATA.dtype)
        assert codec.decode(encoded, out) is out and (out.get() == DATA).all()
    with cupy.cuda.Stream(non_blocking=True) as side:
        encoded = stream({"id": "zstd"}, DATA)
        future = codecs.get_codec({"id": "zstd"}, device="cuda").submit(
            [cupy.frombuffer(encoded, "u1"), encoded], len(BYTES), stream=side)
        assert all(g.get().tobytes() == BYTES for g in future.result_on(side))
        future.result()
    codec = codecs.get_codec({"id": "zstd"}, device="cuda")
    parts = [DATA[:50 * (1 + i % 3)] for i in range(12)]
    streams = [stream({"id": "zstd"}, part) for part in parts]
    mixed = [cupy.frombuffer(s, "u1") if i % 4 else s for i, s in enumerate(streams)]
    mixed[5] = cupy.repeat(mixed[5], 2)[::2]  # not in a row
    got = codec.decode_batch(mixed)
    assert all(g.get().tobytes() == p.tobytes() for g, p in zip(got, parts, strict=True))
    for config, data in FILTERS:
        encoded = stream(config, data)
        want = np.asarray(numcodecs.get_codec(dict(config)).decode(encoded))
        got = codecs.get_codec(config, device="cuda").decode(encoded, nbytes=want.nbytes)
        assert got.get().astype(want.dtype).tobytes() == want.tobytes()  # CuPy has one byte order
