"""Random Zarr arrays as zarr-python writes them: any codec after any other.

SPDX-License-Identifier: Apache-2.0
"""

import dataclasses
import json
import math
import warnings

import numcodecs
import numpy as np
import zarr
from zarr.codecs import numcodecs as v3

NUMBERS = ("|b1", "|i1", "|u1", "<i2", "<u2", ">i2", "<i4", "<u4", ">u4", "<i8", "<u8", ">i8",
           "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c8", "<c16")
OTHERS = ("<M8[ns]", ">M8[D]", "<m8[10us]", "|S1", "|S5", "|S37", "|S300", "<U3", ">U2", "<U20", "|V3",
          "|V24", [("a", "<i2"), ("b", "<f4")], [("x", "|u1"), ("y", ">i8"), ("z", "|S3")],
          [("a", "<i2", (2, 3)), ("b", [("p", ">f4"), ("q", "|S2")])])
CNAMES = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")


@dataclasses.dataclass
class Written:
    """The keys and values of an array, and what zarr-python reads of it."""

    held: dict
    data: np.ndarray
    about: str

    @property
    def is_exact(self):
        """Without arithmetic, of which only which NaN it gives is open."""
        return not any(name in self.about for name in ("Delta", "Scale", "Quantize", "AsType"))


def elements(choose, rng, dtype, shape):
    """Noise, runs, ramps, repeated patterns, zeros."""
    n = math.prod(shape)
    if dtype.kind == "U":
        text = rng.choice(np.array(list("aZ\u0416\U0001f701")), (n, dtype.itemsize // 4))
        return np.array(["".join(row[:choose.randint(0, len(row))]) for row in text],
                        dtype).reshape(shape)
    if dtype.kind == "b":
        return (rng.random(shape) < choose.choice((0.0, 0.1, 0.5))).astype(bool)
    kind = choose.choice(("noise", "runs", "ramp", "ramp", "pattern", "zeros"))
    if kind == "ramp" and dtype.kind in "iufc":
        steps = rng.integers(-2, 3, n) if dtype.kind != "u" else rng.integers(0, 3, n)
        scale = 1 if dtype.kind in "iu" else choose.choice((1, 0.5, 0.01))
        with np.errstate(all="ignore"):
            return (np.cumsum(steps) * scale).astype(dtype).reshape(shape)
    noise = np.frombuffer(rng.bytes(n * dtype.itemsize), np.uint8).copy()
    if kind == "pattern":
        noise = np.resize(noise[:choose.randint(1, 40)], noise.size)
    elif kind == "zeros":
        noise[:] = 0
    data = np.frombuffer(noise.tobytes(), dtype).copy()
    return (np.repeat(data, 5)[:n] if kind == "runs" else data).reshape(shape)


def fill_of(choose, dtype):
    if dtype.fields is not None or dtype.kind == "V":
        return np.zeros((), dtype)[()]
    raw = np.frombuffer(choose.randbytes(dtype.itemsize), dtype)[0]
    if dtype.kind == "b":
        return choose.random() < 0.5
    if dtype.kind in "SU":
        return dtype.type("xy"[:dtype.itemsize] if dtype.kind == "U" else b"x")
    if dtype.kind in "Mm":
        return np.array(choose.choice((0, 77, -2**63)), "i8").astype(dtype)[()]
    if dtype.kind == "f":
        return choose.choice((0.0, -0.0, float("nan"), float("inf"), 1.5, raw))
    if dtype.kind == "c":
        return choose.choice((0j, complex("nan"), 1 - 2j))
    return choose.choice((0, 1, raw))


def blosc_options(choose, itemsize):
    return {"cname": choose.choice(CNAMES), "clevel": choose.choice((0, 1, 5, 9)),
            "blocksize": choose.choice((0, 0, 0, 128, 512, 4096, 1 << 15)),
            "shuffle": choose.choice((0, 1, 1, 2))}


def bytes_codec_v2(choose, itemsize):
    """A codec of numcodecs from bytes to bytes."""
    kind = choose.choice(("blosc", "blosc", "blosc", "zstd", "lz4", "zlib", "gzip", "bz2", "lzma",
                          "shuffle", "crc32", "crc32c", "adler32", "fletcher32", "jenkins",
                          "base64"))
    if kind == "blosc":
        options = blosc_options(choose, itemsize)
        if choose.random() < 0.1:
            options["shuffle"] = -1
        return numcodecs.Blosc(**options)
    if kind == "shuffle":
        return numcodecs.Shuffle(choose.choice((itemsize, itemsize, 1, 2, 3, 4, 5, 8, 16, 24, 100)))
    checks = {"location": choose.choice(("start", "end"))}
    return {
        "zstd": lambda: numcodecs.Zstd(choose.choice((-5, 1, 3, 9)), checksum=choose.random() < 0.5),
        "lz4": lambda: numcodecs.LZ4(choose.choice((1, 10))),
        "zlib": lambda: numcodecs.Zlib(choose.choice((0, 1, 6, 9))),
        "gzip": lambda: numcodecs.GZip(choose.choice((0, 1, 6))),
        "bz2": lambda: numcodecs.BZ2(1), "lzma": lambda: numcodecs.LZMA(preset=0),
        "crc32": lambda: numcodecs.CRC32(**checks), "crc32c": lambda: numcodecs.CRC32C(**checks),
        "adler32": lambda: numcodecs.Adler32(**checks), "fletcher32": numcodecs.Fletcher32,
        "jenkins": numcodecs.JenkinsLookup3, "base64": numcodecs.Base64}[kind]()


def array_codec(choose, dtype, module):
    """A filter of items: of numcodecs itself, or of zarr-python's wrappers (with the same
    arguments by name). Returns it, and the type of what it gives."""
    swaps = module is numcodecs
    kind = choose.choice(("delta", "delta", "scale", "quantize", "astype", "packbits", "bitround"))
    if kind == "packbits" and dtype.kind == "b":
        return module.PackBits(), np.dtype("u1")
    if kind == "delta" and (dtype.kind in "iuf" or module is numcodecs):
        given = dtype.str if module is v3 or choose.random() < 0.7 else choose.choice(
            ("<i1", "<i2", ">u2", "<i4", ">i4", "<u8", "<f4"))  # the same bytes, looked at as others
        made = choose.choice((given, given, f"<{given[1]}8"))
        return module.Delta(dtype=given, astype=made), np.dtype(made)
    swaps = module is numcodecs
    if kind == "scale" and (dtype.kind == "f" or dtype.kind in "iu" and dtype.itemsize < 4):
        made = choose.choice(("<i4", ">i4" if swaps else "<i8", "<f4", "<i2" if dtype.kind == "f" else "<i8"))
        offset = choose.choice((0, 1, -3.5)) if dtype.kind == "f" else 0  # integers stay in range
        return module.FixedScaleOffset(offset=offset, scale=choose.choice((1, 10)),
                                       dtype=dtype.str, astype=made), np.dtype(made)
    if kind == "quantize" and dtype.kind == "f":
        made = choose.choice((dtype.str, "<f4", "<f2"))
        return module.Quantize(digits=choose.choice((1, 3)), dtype=dtype.str, astype=made), np.dtype(made)
    if kind == "astype" and dtype.kind in "iuf":
        made = choose.choice(("<i8", ">i4" if swaps else "<i4", "<f8", "<f4", "<f2"))
        if np.can_cast(dtype, made) or dtype.kind == "f":
            return module.AsType(encode_dtype=made, decode_dtype=dtype.str), np.dtype(made)
    if kind == "bitround" and dtype.kind == "f":
        return module.BitRound(keepbits=choose.choice((2, 7))), dtype
    return None, dtype


def is_last(dtype, codec):
    """May what comes behind a filter make it decode numbers that integers do not hold?"""
    return dtype.kind in "biu" and type(codec).__name__ in ("AsType", "FixedScaleOffset")


def filters_v2(choose, dtype):
    made, now = [], dtype
    for _ in range(choose.choice((0, 0, 1, 1, 2))):
        codec, now = array_codec(choose, now, numcodecs)
        made += [codec] if codec else []
        if is_last(dtype, codec):
            break
    for _ in range(choose.choice((0, 0, 0, 0, 0, 1, 1, 2, 3))):
        made.append(bytes_codec_v2(choose, now.itemsize))
    return made


def layout(choose, itemsize):
    """A shape, and chunks of it: empty axes, ragged edges, chunks larger than the array."""
    ndim = choose.choice((0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6))
    if ndim and choose.random() < 0.12:  # several blocks in a chunk
        most = 240_000 // max(8, itemsize)
        shape = [choose.randint(1, (most, int(most ** 0.5), 20, 8, 6, 4)[ndim - 1]) for _ in range(ndim)]
        return shape, [choose.randint(max(1, n // 2), n) for n in shape]
    most = (0, 200, 24, 9, 5, 4, 3)[ndim]
    shape = [0 if choose.random() < 0.02 else choose.randint(1, most) for _ in range(ndim)]
    return shape, [choose.randint(max(1, n // 4), n + 2) for n in shape]


def finish(choose, rng, shape, dtype, options):
    """Write it, take chunks away, and read it."""
    store = zarr.storage.MemoryStore()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        array = zarr.create_array(store, shape=shape, dtype=dtype, fill_value=fill_of(choose, dtype),
                                  config={"write_empty_chunks": choose.random() < 0.5}, **options)
        array[...] = elements(choose, rng, dtype, shape)
        held = store._store_dict
        for key in list(held):
            if "zarr.json" not in key and ".z" not in key and choose.random() < 0.15:
                del held[key]
        data = np.asarray(zarr.open_array(store)[...], array.dtype)
    return Written({key: value.to_bytes() for key, value in held.items()}, data.reshape(shape),
                   f"{dtype} {shape} {options}")


def zarr_v2(choose, rng):
    dtype = np.dtype(choose.choice(NUMBERS + NUMBERS + OTHERS))
    shape, chunks = layout(choose, dtype.itemsize)
    return finish(choose, rng, shape, dtype, {
        "zarr_format": 2, "chunks": chunks, "order": choose.choice("CF"),
        "chunk_key_encoding": {"name": "v2", "separator": choose.choice("./")},
        "filters": filters_v2(choose, dtype),
        "compressors": bytes_codec_v2(choose, dtype.itemsize) if choose.random() < 0.8 else None})


def bytes_codec_v3(choose, itemsize):
    kind = choose.choice(("blosc", "blosc", "zstd", "gzip", "crc32c", "numcodecs"))
    if kind == "blosc":
        options = blosc_options(choose, itemsize)
        options["shuffle"] = ("noshuffle", "shuffle", "bitshuffle")[options["shuffle"]]
        return zarr.codecs.BloscCodec(typesize=choose.choice((itemsize, itemsize, 1, 2, 3, 4, 8, 17)), **options)
    if kind == "zstd":
        return zarr.codecs.ZstdCodec(level=choose.choice((-5, 1, 9)), checksum=choose.random() < 0.5)
    if kind == "gzip":
        return zarr.codecs.GzipCodec(level=choose.choice((0, 1, 6)))
    if kind == "crc32c":
        return zarr.codecs.Crc32cCodec()
    return choose.choice((
        lambda: v3.Shuffle(elementsize=choose.choice((itemsize, 2, 4))), lambda: v3.LZ4(acceleration=1),
        lambda: v3.Zlib(level=choose.choice((0, 6))), lambda: v3.BZ2(level=1), lambda: v3.LZMA(preset=0),
        v3.Adler32, v3.CRC32, v3.Fletcher32, v3.JenkinsLookup3, lambda: v3.Zstd(level=2),
        lambda: v3.Blosc(**blosc_options(choose, itemsize)), lambda: v3.GZip(level=1)))()


def codecs_v3(choose, dtype, ndim):
    """Filters, serializer, compressors. Behind filters of numcodecs items are little-endian:
    zarr-python gives them big ones as if they were not."""
    filters, now = [], dtype
    for _ in range(choose.choice((0, 0, 0, 1, 2, 3))):
        if choose.random() < 0.5:
            filters.append(zarr.codecs.TransposeCodec(order=choose.sample(range(ndim), ndim)))
        else:
            codec, now = array_codec(choose, now, v3)
            filters += [codec] if codec else []
            if is_last(dtype, codec):
                break
    is_little = not all(isinstance(f, zarr.codecs.TransposeCodec) for f in filters)
    serializer = zarr.codecs.BytesCodec(endian="little" if is_little else choose.choice(("little", "big")))
    compressors = [bytes_codec_v3(choose, now.itemsize) for _ in range(choose.choice((0, 1, 1, 1, 1, 2, 3)))]
    return filters, serializer, compressors


def zarr_v3(choose, rng):
    names = [t for t in NUMBERS + NUMBERS + OTHERS if not isinstance(t, str) or t[0] != ">"]
    dtype = np.dtype(choose.choice(names))
    shape, chunks = layout(choose, dtype.itemsize)
    filters, serializer, compressors = codecs_v3(choose, dtype, len(shape))
    outer = chunks
    for _ in range(choose.choice((0, 0, 1, 1, 2)) if shape else 0):
        serializer = zarr.codecs.ShardingCodec(
            chunk_shape=outer, codecs=[*filters, serializer, *compressors],
            index_codecs=[zarr.codecs.BytesCodec(endian=choose.choice(("little", "big"))),
                          *([zarr.codecs.Crc32cCodec()] if choose.random() < 0.7 else [])],
            index_location=choose.choice(("start", "end")))
        filters, compressors = [], []
        outer = [n * choose.randint(1, 3) for n in outer]
        if choose.random() < 0.1:
            compressors = [bytes_codec_v3(choose, 1)]
        if choose.random() < 0.1:
            order = choose.sample(range(len(shape)), len(shape))
            filters = [zarr.codecs.TransposeCodec(order=order)]
            outer = [outer[order.index(axis)] for axis in range(len(shape))]
    return finish(choose, rng, shape, dtype, {
        "zarr_format": 3, "chunks": outer, "filters": filters, "serializer": serializer,
        "compressors": compressors,
        "chunk_key_encoding": {"name": choose.choice(("default", "v2")), "separator": choose.choice("./")}})


def rectilinear(choose, rng):
    """Chunks of many lengths, which zarr-python does not write: each is one of an array of its own."""
    dtype = np.dtype(choose.choice([t for t in NUMBERS if t[0] != ">"]))
    ndim = choose.randint(1, 3)
    lengths = [[choose.randint(1, 7) for _ in range(choose.randint(1, 4))] for _ in range(ndim)]
    shape = [sum(axis) - choose.choice((0, 0, axis[-1] - 1)) for axis in lengths]
    filters, serializer, compressors = codecs_v3(choose, dtype, ndim)
    data = elements(choose, rng, dtype, [sum(axis) for axis in lengths])
    made, held, metadata = np.empty_like(data), {}, None
    for place in np.ndindex(*[len(axis) for axis in lengths]):
        box = tuple(slice(sum(axis[:i]), sum(axis[:i + 1])) for axis, i in zip(lengths, place))
        store = zarr.storage.MemoryStore()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            part = zarr.create_array(
                store, data=data[box], chunks=data[box].shape, filters=filters, fill_value=0,
                serializer=serializer, compressors=compressors, config={"write_empty_chunks": True})
            made[box] = part[...]
        values = {key: value.to_bytes() for key, value in store._store_dict.items()}
        metadata = json.loads(values.pop("zarr.json"))
        (held["/".join(["c", *map(str, place)])],) = values.values()
    metadata["shape"] = shape
    metadata["chunk_grid"] = {"name": "rectilinear", "configuration": {
        "kind": "inline", "chunk_shapes": [[[n, 1] if choose.random() < 0.3 else n for n in axis]
                                           for axis in lengths]}}
    held["zarr.json"] = json.dumps(metadata).encode()
    return Written(held, made[tuple(map(slice, shape))],
                   f"rectilinear {dtype} {shape} {lengths} {filters} {serializer} {compressors}")


def first_that_works(choose, rng, makers):
    """Not each chain can be written and read for each type."""
    while True:
        try:
            return choose.choice(makers)(choose, rng)
        except (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError):
            continue


def zarr_python(choose, rng):
    return first_that_works(choose, rng, (zarr_v2, zarr_v3))


def array(choose, rng):
    return first_that_works(choose, rng, (zarr_v2, zarr_v2, zarr_v3, zarr_v3, rectilinear))
