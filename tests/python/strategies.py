"""Random arrays written by other software, and random selections of them.

SPDX-License-Identifier: Apache-2.0
"""

import dataclasses
import itertools
import warnings

import numcodecs
import numpy as np
import tensorstore
import zarr
from hypothesis import strategies as st

from headrace_ctypes import Blocks, Mask, Points

NUMBERS = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8",
           "<c8", "<c16")
NUMBER = itertools.count()  # of the arrays written: their names
OTHERS = ("<M8[ns]", "<M8[10s]", "<m8[us]", "|S5", "<U3")


@dataclasses.dataclass
class Written:
    """An array on disk: its elements, and the shape of its innermost chunks."""

    path: str
    data: np.ndarray
    chunks: tuple
    about: str


def elements(dtype, rng, shape):
    """Random elements: extreme values, NaN, infinities, runs that compress."""
    dtype = np.dtype(dtype)
    n = int(np.prod(shape))
    if dtype.kind == "S":
        data = np.array([rng.bytes(rng.integers(0, 4)).replace(b"\0", b"a") for _ in range(n)],
                        dtype=dtype)
    elif dtype.kind == "U":
        letters = np.array(list("aßЖ漢🜁"))
        data = np.array(["".join(rng.choice(letters, rng.integers(0, 3))) for _ in range(n)],
                        dtype=dtype)
    elif dtype.kind == "b":
        data = rng.integers(0, 2, n).astype(bool)
    else:
        data = np.frombuffer(rng.bytes(n * dtype.itemsize), dtype=dtype).copy()
        if rng.random() < 0.7:  # few values, in runs
            data = np.repeat(data[:n // 5 + 1], 5)[:n]
    return data.reshape(shape)


@st.composite
def shapes(draw, min_ndim=0, max_ndim=4, max_side=17):
    return tuple(draw(st.lists(st.integers(0, max_side), min_size=min_ndim, max_size=max_ndim)))


@st.composite
def chunkings(draw, shape):
    """Chunk shapes: divisors, odd ones, larger than the array."""
    return tuple(draw(st.integers(1, max(2, n + 3))) for n in shape)


def fills(draw, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return draw(st.booleans())
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return draw(st.sampled_from([0, 1, info.min, info.max, 77]))
    if dtype.kind == "f":
        return draw(st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf")]))
    if dtype.kind == "c":
        return draw(st.sampled_from([0j, 1.5 - 2j, complex("nan"), complex(float("inf"), 1)]))
    if dtype.kind in "Mm":
        return draw(st.sampled_from([np.array(v, "i8").view(dtype)[()] for v in (0, 12345, -2**63)]))
    return draw(st.sampled_from([dtype.type(), dtype.type("xy" if dtype.kind == "U" else b"xy")]))


def blosc_options(draw):
    return {"cname": draw(st.sampled_from(["blosclz", "lz4", "lz4hc", "zlib", "zstd"])),
            "clevel": draw(st.integers(0, 9))}


def v2_compressor(draw):
    kind = draw(st.sampled_from(["none", "blosc", "zstd", "lz4", "zlib", "gzip", "bz2", "lzma"]))
    if kind == "blosc":
        return numcodecs.Blosc(shuffle=draw(st.sampled_from([-1, 0, 1, 2])),
                               blocksize=draw(st.sampled_from([0, 256, 1024])),
                               **blosc_options(draw))
    return {"none": None, "zstd": numcodecs.Zstd(level=3), "lz4": numcodecs.LZ4(),
            "zlib": numcodecs.Zlib(), "gzip": numcodecs.GZip(), "bz2": numcodecs.BZ2(),
            "lzma": numcodecs.LZMA()}[kind]


def v2_filters(draw, dtype):
    """Filters that give back exactly what they were given."""
    dtype = np.dtype(dtype)
    shuffle = numcodecs.Shuffle(dtype.itemsize)
    choices = [[], [shuffle], [numcodecs.CRC32()], [numcodecs.Adler32()],
               [shuffle, numcodecs.Zlib(1)]]
    if dtype.kind in "iu":
        choices += [[numcodecs.Delta(dtype.str)], [numcodecs.Delta(dtype.str), shuffle]]
        if dtype.itemsize < 8:
            choices += [[numcodecs.AsType("<i8", dtype.str)]]
    if dtype.kind == "b":
        choices += [[numcodecs.PackBits()]]
    return draw(st.sampled_from(choices))


def v3_compressors(draw, dtype):
    kinds = draw(st.lists(st.sampled_from(["blosc", "zstd", "gzip", "crc32c"]), max_size=2))
    made = []
    for kind in kinds:
        if kind == "blosc":
            made.append(zarr.codecs.BloscCodec(
                typesize=np.dtype(dtype).itemsize,
                shuffle=draw(st.sampled_from(["noshuffle", "shuffle", "bitshuffle"])),
                **blosc_options(draw)))
        elif kind == "zstd":
            made.append(zarr.codecs.ZstdCodec(level=draw(st.integers(-3, 9)),
                                              checksum=draw(st.booleans())))
        elif kind == "gzip":
            made.append(zarr.codecs.GzipCodec(level=draw(st.integers(0, 9))))
        else:
            made.append(zarr.codecs.Crc32cCodec())
    return made


def put(draw, target, data, chunks, rng):
    """Write everything, or leave some chunks absent; returns what the array now holds, or
    None where that must be asked (zarr-python cuts 0-dimensional strings)."""
    if data.ndim == 0:
        target[...] = data
        return None
    if draw(st.booleans()):
        target[...] = data
        return data
    row = int(rng.integers(0, data.shape[0] + 1))
    target[:row] = data[:row]
    return None if row < data.shape[0] else data


@st.composite
def zarr_python(draw, folder):
    """An array written by zarr-python, in format 2 or 3."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(NUMBERS + OTHERS))
    shape = draw(shapes())
    chunks = inner = draw(chunkings(shape))
    version = draw(st.sampled_from([2, 3]))
    options = {"fill_value": fills(draw, dtype)}
    if version == 2:
        big = draw(st.booleans()) and np.dtype(dtype).itemsize > 1 and dtype[0] == "<"
        dtype = ">" + dtype[1:] if big else dtype
        options.update(compressors=v2_compressor(draw), filters=v2_filters(draw, dtype),
                       order=draw(st.sampled_from("CF")),
                       chunk_key_encoding={"name": "v2",
                                           "separator": draw(st.sampled_from("./"))})
    else:
        options.update(compressors=v3_compressors(draw, dtype),
                       chunk_key_encoding={"name": draw(st.sampled_from(["default", "v2"])),
                                           "separator": draw(st.sampled_from("./"))})
        if np.dtype(dtype).itemsize > 1 and dtype[0] == "<":
            options["serializer"] = zarr.codecs.BytesCodec(
                endian=draw(st.sampled_from(["little", "big"])))
        if shape and draw(st.booleans()):
            options["shards"] = tuple(n * draw(st.integers(1, 3)) for n in chunks)
        elif shape and draw(st.booleans()):
            order = tuple(draw(st.permutations(range(len(shape)))))
            options["filters"] = [zarr.codecs.TransposeCodec(order=order)]
    path = f"{folder}/{next(NUMBER)}.zarr"
    data = elements(dtype, rng, shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = zarr.create_array(path, shape=shape, dtype=dtype, chunks=chunks,
                                  zarr_format=version, **options)
        whole = put(draw, array, data, chunks, rng)
        data = array[...] if whole is None else whole
    return Written(path, np.asarray(data, dtype=dtype), inner, f"zarr-python {dtype} {shape} {chunks} {options}")


def bytes_codec(draw):
    return {"name": "bytes", "configuration": {"endian": draw(st.sampled_from(["little", "big"]))}}


def v3_codecs(draw, ndim, depth, chunk, inner_shapes):
    """A codec list for tensorstore, with `depth` levels of shards."""
    codecs = []
    if ndim and draw(st.booleans()) and depth == 0:
        order = list(draw(st.permutations(range(ndim))))
        codecs.append({"name": "transpose", "configuration": {"order": order}})
    if depth == 0:
        codecs.append(bytes_codec(draw))
        codecs += draw(st.sampled_from([
            [], [{"name": "gzip", "configuration": {"level": 1}}],
            [{"name": "zstd", "configuration": {"level": 1}}],
            [{"name": "crc32c"}],
            [{"name": "blosc", "configuration": {"cname": "zstd", "clevel": 3, "typesize": 2,
                                                 "shuffle": "bitshuffle", "blocksize": 0}}]]))
        return codecs
    index = [bytes_codec(draw)] + draw(st.sampled_from([[], [{"name": "crc32c"}]]))
    codecs.append({"name": "sharding_indexed", "configuration": {
        "chunk_shape": inner_shapes[0], "index_codecs": index,
        "index_location": draw(st.sampled_from(["start", "end"])),
        "codecs": v3_codecs(draw, ndim, depth - 1, inner_shapes[0], inner_shapes[1:])}})
    return codecs


@st.composite
def tensorstore_v3(draw, folder):
    """An array written by tensorstore: shards in shards, index at either end, bfloat16."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    name = draw(st.sampled_from(["bool", "int8", "uint16", "int32", "uint64", "float32",
                                 "float64", "complex64", "bfloat16"]))
    shape = draw(shapes(min_ndim=1, max_ndim=3, max_side=20))
    depth = draw(st.integers(0, 2))
    shapes_down = [[draw(st.integers(1, 5)) for _ in shape]]  # innermost first
    for _ in range(depth):
        shapes_down.insert(0, [n * draw(st.integers(1, 3)) for n in shapes_down[0]])
    path = f"{folder}/{next(NUMBER)}.zarr"
    metadata = {
        "shape": list(shape), "data_type": name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shapes_down[0]}},
        "codecs": v3_codecs(draw, len(shape), depth, shapes_down[0], shapes_down[1:]),
    }
    array = tensorstore.open({"driver": "zarr3", "kvstore": f"file://{path}/",
                              "metadata": metadata}, create=True).result()
    memory = np.dtype("<u2") if name == "bfloat16" else np.dtype(name)
    data = elements(memory, rng, shape)
    if name == "bfloat16":
        array[...] = data.view(array.dtype.numpy_dtype)
    else:
        array[...] = data
    return Written(path, data, tuple(shapes_down[-1]), f"tensorstore {metadata}")


@st.composite
def slices(draw, n):
    bound = st.one_of(st.none(), st.integers(-n - 3, n + 3))
    step = draw(st.one_of(st.none(), st.integers(1, 5), st.integers(-5, -1)))
    return slice(draw(bound), draw(bound), step)


def apply(selection, data, chunks):
    """What NumPy gives for a selection of `data` that lies in such chunks."""
    if selection is None:
        return data
    if isinstance(selection, Points):
        return data[tuple(selection.array.T)] if data.ndim else np.full(len(selection.array), data)
    if isinstance(selection, Mask):
        return data[selection.array.astype(bool).reshape(data.shape)]
    if isinstance(selection, Blocks):
        return data[(..., *(slice(b.start * n, b.stop * n)
                            for b, n in zip(selection.axes, chunks)))]
    for axis in reversed(range(len(selection))):  # one axis at a time: the outer product
        index = selection[axis]
        index = np.array(index, dtype=np.int64) if isinstance(index, list) else index
        data = data[(slice(None),) * axis + (index, ...)]  # "..." keeps it an array
    return data


@st.composite
def axis_indices(draw, n):
    choices = [slices(n)]
    if n:
        index = st.integers(-n, n - 1)
        choices += [index, st.lists(index, max_size=12)]
    return draw(st.one_of(choices))


@st.composite
def selections(draw, written):
    """Every kind of selection that the library knows."""
    shape = written.data.shape
    kind = draw(st.sampled_from(["all", "axes", "axes", "axes", "points", "mask", "blocks"]))
    if kind == "all":
        return None
    if kind == "axes":
        return tuple(draw(axis_indices(n)) for n in shape[:draw(st.integers(0, len(shape)))])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if kind == "points":
        n = draw(st.integers(0, 30)) if written.data.size else 0
        return Points(np.stack([rng.integers(-max(1, s), max(1, s), n) for s in shape], axis=-1)
                      if shape else np.zeros((n, 0), dtype=np.int64))
    if kind == "mask":
        return Mask(rng.random(shape) < draw(st.sampled_from([0.0, 0.2, 1.0])))
    blocks = []
    for n, chunk in zip(shape, written.chunks):
        start = draw(st.integers(0, -(-n // chunk)))
        blocks.append(slice(start, draw(st.integers(start, -(-n // chunk)))))
    return Blocks(tuple(blocks))
