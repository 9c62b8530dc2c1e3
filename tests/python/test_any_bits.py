"""Filters over chunks of any bits: kernels give what the host gives, bit by bit, and refuse what
it refuses. HEADRACE_EXAMPLES=20 tries twenty times as many. SPDX-License-Identifier: Apache-2.0
"""

import math

import numcodecs
import numpy as np
import pytest

hr = pytest.importorskip("headrace", reason="the package is not built")
import handmade  # noqa: E402
from test_differential import EXAMPLES, case, devices  # noqa: E402, F401 (a fixture)

NUMBERS = ("|i1", "|u1", "<i2", ">i2", "<u2", "<i4", ">u4", "<i8", ">i8", "<u8", "<f2", ">f2", "<f4",
           ">f4", "<f8", ">f8")
NAMES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
         "bfloat16", "float32", "float64")
EDGES = np.array((0, -0.0, 1, -1, 0.5, 1.5, 127.5, 255.5, 65504, 65520, 1e-8, 1e9, -3e9, 2**32, 9.3e18, 1.9e19,
                  np.nan, np.inf, -np.inf))


def bits(choose, rng, nbytes):
    kind = choose.choice(("noise", "small", "edges"))
    if kind == "noise":
        return rng.bytes(nbytes)
    if kind == "small":
        return rng.choice(np.array((0, 0, 0, 1, 2, 127, 128, 255), "u1"), nbytes).tobytes()
    with np.errstate(over="ignore"):
        edges = rng.choice(EDGES, nbytes // 2 + 1).astype(choose.choice(("<f2", "<f4", ">f4", "<f8")))
    return edges.tobytes()[:nbytes]


def itemsize(name):
    return 2 if name == "bfloat16" else np.dtype(name).itemsize


def filters_v2(choose, dtype, nbytes):
    """Each from any type to any other; what they store of so many bytes of the dtype."""
    made = []
    for _ in range(choose.randint(1, 3)):
        # a filter may look at bytes as items of another type than it is given
        items = choose.choice((dtype, dtype, choose.choice(NUMBERS)))
        dtype = choose.choice(NUMBERS)
        if nbytes % itemsize(items):
            break
        nbytes = nbytes // itemsize(items) * itemsize(dtype)
        made.append(choose.choice((
            {"id": "delta", "dtype": items, "astype": dtype},
            {"id": "quantize", "digits": 2, "dtype": items, "astype": dtype},
            {"id": "astype", "decode_dtype": items, "encode_dtype": dtype},
            {"id": "fixedscaleoffset", "dtype": items, "astype": dtype,
             "scale": choose.choice((1, 10, 0.5, -7)), "offset": choose.choice((0, -3.5, 1e6))})))
    return made, nbytes


def v2(choose, rng, shape):
    dtype = choose.choice(NUMBERS)
    filters, nbytes = filters_v2(choose, dtype, math.prod(shape) * itemsize(dtype))
    compressor = choose.choice((None, numcodecs.Zstd(1), numcodecs.Blosc("lz4", 5, choose.choice((0, 1, 2)))))
    data = bits(choose, rng, nbytes)
    return {".zarray": {
        "zarr_format": 2, "shape": shape, "chunks": shape, "dtype": dtype, "order": choose.choice("CF"),
        "fill_value": 0, "filters": filters, "compressor": compressor and compressor.get_config()},
        ".".join("0" * len(shape)): bytes(compressor.encode(data)) if compressor else data}


def filter_v3(choose, name, shape):
    """One, the type of what it stores, and its shape."""
    kind = choose.choice(("transpose", "reshape", "scale_offset", "cast_value", "cast_value"))
    config, stored = {}, name
    if kind == "transpose":
        config["order"] = choose.sample(range(len(shape)), len(shape))
        shape = [shape[axis] for axis in config["order"]]
    elif kind == "reshape":
        config["shape"], shape = [list(range(len(shape)))], [math.prod(shape)]
    elif kind == "scale_offset":
        config = {"scale": choose.choice((1, 2)), "offset": choose.choice((0, 1))}
    else:
        stored = choose.choice(NAMES)
        config = {"data_type": stored, "rounding": choose.choice((
            "nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"))}
        if choose.random() < 0.7:
            config["out_of_range"] = "clamp" if "float" in stored else choose.choice(("clamp", "wrap"))
    return {"name": kind, "configuration": config}, stored, shape


def v3(choose, rng, shape):
    name = stored = choose.choice(NAMES)
    inner, codecs = shape, []
    for _ in range(choose.randint(1, 3)):
        codec, stored, inner = filter_v3(choose, stored, inner)
        codecs.append(codec)
    nbits = 8 * itemsize(stored)
    if choose.random() < 0.3:
        first = choose.randrange(nbits)
        last = choose.randrange(first, nbits)
        codecs.append({"name": "packbits", "configuration": {"first_bit": first, "last_bit": last}})
        nbits = last - first + 1
    else:
        codecs.append({"name": "bytes", "configuration": {"endian": choose.choice(("little", "big"))}})
    data = bits(choose, rng, -(-math.prod(shape) * nbits // 8))
    return {"zarr.json": handmade.v3_metadata(shape, shape, name, codecs=codecs),
            "/".join(("c", *"0" * len(shape))): data}


def read(a, device, dtype):
    try:
        return a.read(..., device=device, dtype=dtype).result().to("numpy").tobytes()
    except hr.DataError:
        return None


def test_kernels_give_what_the_host_gives(devices, folder):  # noqa: F811
    nread = 0
    for i in range(150 * EXAMPLES):
        choose, rng, seed = case("bits", i)
        shape = [choose.randint(1, 200)] if choose.random() < 0.5 else [choose.randint(1, 14) for _ in range(2)]
        files = choose.choice((v2, v3))(choose, rng, shape)
        try:
            a = hr.open(handmade.put(folder / str(i), files))
        except (hr.MetadataError, hr.UnsupportedError):
            continue
        dtype = "f4" if a._info["dtype"] == "bfloat16" else choose.choice((None, None, "i1", "u4", "i8", "f2", "f8"))
        results = [read(a, device, dtype) for device in devices]
        nread += results[0] is not None
        assert results[0] == results[-1], f"{seed}: {files} as {dtype}"
    assert nread > 100 * EXAMPLES
