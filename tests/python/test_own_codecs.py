"""Codecs that are functions of Python. SPDX-License-Identifier: Apache-2.0"""

import itertools
import json
import os
import subprocess
import sys
import threading
import zlib

import numpy as np
import pytest

hr = pytest.importorskip("headrace", reason="the package is not built")
DATA = np.arange(60, dtype="<i4").reshape(6, 10)
names = (f"own_{i}" for i in itertools.count())


@pytest.fixture
def name():
    return next(names)


def stored(chunks, codecs):
    """An array of these chunks, 4 by 10 elements each."""
    meta = {"zarr_format": 3, "node_type": "array", "shape": [6, 10], "data_type": "int32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 10]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": codecs,
            "attributes": {}}
    return {"zarr.json": json.dumps(meta).encode(), "c/0/0": chunks[0], "c/1/0": chunks[1]}


def encoded(encode):
    padded = np.zeros((8, 10), "<i4")
    padded[:6] = DATA
    return [encode(padded[:4]), encode(padded[4:])]


def test_bytes_are_decoded_by_the_function(name):
    told = []

    def make(config):
        told.append(config)
        return lambda data: zlib.decompress(data)[::-1]

    hr.add_codec(name, make)
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}},
              {"name": name, "configuration": {"by": 3}}]
    chunks = encoded(lambda part: zlib.compress(part.tobytes()[::-1]))
    for _ in range(2):
        a = hr.open(stored(chunks, codecs))
        assert a[...].tolist() == DATA.tolist() and a[5, ::3].tolist() == DATA[5, ::3].tolist()
    assert told == [{"by": 3}]  # once for each configuration
    with hr.config(nthreads=1):  # contexts that come later have it, too
        assert hr.open(stored(chunks, codecs))[...].tolist() == DATA.tolist()


def test_arrays_are_decoded_with_their_shape_and_type(name):
    def make(config, shape, dtype):
        assert (shape, dtype) == ((4, 10), np.dtype("<i4"))
        return lambda data: np.ascontiguousarray(np.frombuffer(data, dtype).reshape(10, 4).T)

    hr.add_codec(name, make, "array-to-bytes")
    a = hr.open(stored(encoded(lambda part: part.T.tobytes()), [{"name": name}]))
    assert a[...].tolist() == DATA.tolist()

    def negate(config, shape, dtype):
        return lambda data: -np.frombuffer(data, dtype)

    hr.add_codec(name + "n", negate, "array-to-array")
    codecs = [{"name": name + "n"}, {"name": "bytes", "configuration": {"endian": "little"}}]
    assert hr.open(stored(encoded(lambda part: (-part).tobytes()), codecs))[...].tolist() == DATA.tolist()


def test_a_codec_of_zarr_v2(name):
    hr.add_codec(name, lambda config: lambda data: bytes(b ^ config["key"] for b in data))
    meta = {"zarr_format": 2, "shape": [6, 10], "chunks": [4, 10], "dtype": "<i4", "order": "C",
            "fill_value": 0, "compressor": {"id": name, "key": 90}, "filters": None}
    parts = encoded(lambda part: bytes(b ^ 90 for b in part.tobytes()))
    a = hr.open({".zarray": json.dumps(meta).encode(), "0.0": parts[0], "1.0": parts[1]})
    assert a[...].tolist() == DATA.tolist()


@pytest.mark.parametrize("dtype", [">i4", "c8", "f2", "M8[s]", "i2,u2"])
def test_what_is_contiguous_will_do_whatever_its_items(name, dtype):
    hr.add_codec(name, lambda config: lambda data: np.frombuffer(data, dtype).reshape(2, -1))
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": name}]
    a = hr.open(stored(encoded(lambda part: part.tobytes()), codecs))
    assert a[...].tolist() == DATA.tolist()


@pytest.mark.parametrize("answer, text", [
    (lambda data: b"short", "5 bytes|expected"), (lambda data: bytes(1000), "1000|room|expected"),
    (lambda data: None, "TypeError"), (lambda data: "text", "TypeError"),
    (lambda data: 1 / 0, "ZeroDivisionError"), (lambda data: np.zeros((9, 9))[:, ::2], "contiguous|TypeError")])
def test_what_a_codec_does_wrong_is_an_error(name, answer, text):
    hr.add_codec(name, lambda config: answer)
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": name}]
    a = hr.open(stored([b"x", b"y"], codecs))
    with pytest.raises(hr.DataError, match=text) as caught:
        a[...]
    assert caught.value.codec == name


def test_what_is_no_codec_is_refused(name):
    hr.add_codec(name, lambda config: bytes)
    for wrong in ((name, lambda config: bytes), ("zstd", lambda config: bytes), ("", lambda config: bytes),
                  (name + "x", None), (name + "x", lambda config: bytes, "any")):
        with pytest.raises(hr.ArgumentError):
            hr.add_codec(*wrong)

    def make(config):
        raise KeyError("by")

    hr.add_codec(name + "m", make)
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": name + "m"}]
    with pytest.raises(hr.MetadataError, match="KeyError: 'by'"):
        hr.open(stored([b"x", b"y"], codecs))


def test_a_read_may_be_dropped_by_its_own_codec(name):
    """As the garbage collector may do it, which runs in whatever thread."""
    ready, dropped, reads = threading.Event(), threading.Event(), []

    def decode(data):
        ready.wait()
        reads.clear()
        dropped.set()
        return data

    hr.add_codec(name, lambda config: decode)
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": name}]
    a = hr.open(stored(encoded(lambda part: part.tobytes()), codecs))
    for _ in range(20):
        ready.clear()
        dropped.clear()
        reads.append(a.read())
        ready.set()
        assert dropped.wait(60)
    assert a[...].tolist() == DATA.tolist()


def run_script(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


NESTED = """if True:
    import json, numpy as np, headrace as hr
    def held(n, *codecs):
        meta = {"zarr_format": 2, "shape": [n], "chunks": [1], "dtype": "|u1", "order": "C",
                "fill_value": 0, "compressor": None, "filters": codecs or None}
        return {".zarray": json.dumps(meta).encode(), **{str(i): bytes([i]) for i in range(n)}}
    class Store:  # which is called in threads of its own
        def __init__(self, values):
            self.get = values.get
"""


def test_a_codec_may_read_other_arrays():
    script = NESTED + """
    hr.config.set(nthreads=1)
    for plain in (held(20), Store(held(20))):
        hr.add_codec(f"adds{id(plain)}", lambda config, a=hr.open(plain):
                     lambda data: bytes(data + np.asarray(a[...]).tobytes())[:1])
        print(sum(hr.open(Store(held(20, {"id": f"adds{id(plain)}"})))[...].tolist()))
    """
    done = run_script(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "190\n190\n", "")


def test_a_store_may_read_other_arrays():
    script = NESTED + """
    hr.config.set(nthreads=1)
    class Upper:
        def __init__(self, a):
            self.a = a
        def get(self, key):
            return bytes(np.asarray(self.a[int(key):]))[:1] if key.isdigit() else held(20).get(key)
    print(sum(hr.open(Upper(hr.open(Upper(hr.open(Store(held(20)))))))[...].tolist()))
    """
    done = run_script(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "190\n", "")


def test_a_codec_may_be_made_with_an_array_that_has_it():
    script = NESTED + """
    def make(config):
        if config["level"]:
            assert hr.open(held(2, {"id": "table", "level": config["level"] - 1}))[1].tolist() == 1
        return lambda data: data
    hr.add_codec("table", make)
    print(hr.open(held(3, {"id": "table", "level": 3}))[...].tolist())
    """
    done = run_script(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 1, 2]\n", "")


def test_the_interpreter_ends_while_a_codec_is_at_work():
    script = """if True:
        import json, sys, threading, time, headrace as hr
        began = threading.Event()
        def decode(data):
            began.set()
            time.sleep(0.05)
            return data
        hr.add_codec("slow", lambda config: decode)
        meta = {"zarr_format": 2, "shape": [500], "chunks": [1], "dtype": "|u1", "order": "C",
                "fill_value": 0, "compressor": {"id": "slow"}, "filters": None}
        held = {str(i): b"x" for i in range(500)}
        future = hr.open({".zarray": json.dumps(meta).encode(), **held}).read()
        began.wait()
        print("end")
    """
    done = run_script(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
