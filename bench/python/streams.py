"""What headrace.numcodecs takes for streams on a GPU, beside numcodecs and nvCOMP.

SPDX-License-Identifier: Apache-2.0

usage: PYTHONPATH=build/python python streams.py [libnvcomp.so.6]

2048 streams of 32 KiB of floats, and one, from host and from GPU memory; every result is compared.
numcodecs decodes on one core and copies up. nvCOMP decodes what is prepared for it in
GPU memory (addresses, sizes, scratch), without a look at its statuses: what its kernels take.
"""

import ctypes
import sys
import time

import cupy
import numcodecs
import numpy as np

import headrace.numcodecs

NSTREAMS, NBYTES = 2048, 32768
CONFIGS = ({"id": "zstd", "level": 1}, {"id": "lz4"}, {"id": "zlib", "level": 1},
           {"id": "blosc", "cname": "lz4", "shuffle": 1})
NVCOMP = {"zstd": ("Zstd", 0), "lz4": ("LZ4", 4)}  # and bytes before its stream


def milliseconds(function, repeats):
    """The median, once warm."""
    times = []
    for _ in range(repeats + 1):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        function()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times[1:]))


class NvcompOptions(ctypes.Structure):
    _fields_ = (("backend", ctypes.c_int), ("others", ctypes.c_int * 15))


def nvcomp(library, name, skip, streams, expected):
    """Milliseconds for streams in GPU memory."""
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    options, n = NvcompOptions(2), len(streams)
    whole = cupy.empty((n, NBYTES), "u1")
    sources = cupy.array([s.data.ptr + skip for s in streams], "u8")
    sizes = cupy.array([s.size - skip for s in streams], "u8")
    places = whole.data.ptr + NBYTES * cupy.arange(n, dtype="u8")
    rooms, made = cupy.full(n, NBYTES, "u8"), cupy.empty(n, "u8")
    statuses, scratch = cupy.empty(n, "i4"), size(0)
    of_scratch = getattr(library, f"nvcompBatched{name}DecompressGetTempSize")
    assert of_scratch(size(n), size(NBYTES), options, ctypes.byref(scratch), size(n * NBYTES),
                      pointer(0)) == 0
    temp = cupy.empty(scratch.value + 1, "u1")
    decompress = getattr(library, f"nvcompBatched{name}DecompressAsync")

    def decode():
        assert decompress(*(pointer(x.data.ptr) for x in (sources, sizes, rooms, made)), size(n),
                          pointer(temp.data.ptr), scratch, pointer(places.data.ptr), options,
                          pointer(statuses.data.ptr), pointer(0)) == 0

    took = milliseconds(decode, 20)
    assert (whole.get() == expected[:n]).all()
    return took


def main(path=None):
    rng = np.random.default_rng(0)
    data = np.cumsum(rng.integers(-3, 4, (NSTREAMS, NBYTES // 4)), axis=1).astype("f4")
    library = None if path is None else ctypes.CDLL(path)
    for config in CONFIGS:
        encoder = numcodecs.get_codec(dict(config))
        codec = headrace.numcodecs.get_codec(config, device="cuda")
        host = [bytes(encoder.encode(row)) for row in data]
        there = [cupy.frombuffer(stream, "u1") for stream in host]
        expected = data.view("u1")
        print(f"{config['id']}: {NSTREAMS} streams, {expected.size / sum(map(len, host)):.1f} : 1")
        for name, streams in (("host", host), ("GPU", there)):
            got = codec.decode_batch(streams, NBYTES)
            assert all((g.get() == e).all() for g, e in zip(got, expected, strict=True))
            many = milliseconds(lambda: codec.decode_batch(streams, NBYTES), 9)  # noqa: B023
            one = milliseconds(lambda: codec.decode(streams[0], nbytes=NBYTES), 50)  # noqa: B023
            print(f"  headrace, from {name} memory: {many:.2f} ms, one {one:.3f} ms", flush=True)
        both = milliseconds(lambda: [cupy.asarray(np.frombuffer(encoder.decode(s), "u1"))  # noqa: B023
                                     for s in host], 3)  # noqa: B023
        print(f"  numcodecs and a copy: {both:.2f} ms, one {both / NSTREAMS:.3f} ms", flush=True)
        if library is not None and config["id"] in NVCOMP:
            times = [nvcomp(library, *NVCOMP[config["id"]], there[:n], expected)
                     for n in (NSTREAMS, 1)]
            print(f"  nvCOMP, prepared in GPU memory: {times[0]:.2f} ms, one {times[1]:.3f} ms",
                  flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
