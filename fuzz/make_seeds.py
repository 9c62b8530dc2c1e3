"""Inputs that fuzzing begins with. SPDX-License-Identifier: Apache-2.0

usage: make_seeds.py DIRECTORY [CORPUS]

Writes DIRECTORY/<target>/ and DIRECTORY/<target>.txt, which lists the files there:
metadata of the corpus's Zarr arrays, its small TIFF files, chunks of the arrays in
fuzz_chunk_device.c written by numcodecs, and bytes for fuzz_store_device.
"""

import pathlib
import random
import sys

import numpy as np
from numcodecs import LZ4, Blosc, GZip, Zlib, Zstd

N = 3000
NAMES = ["zarr.json", ".zarray", ".zmetadata", ".zgroup"]
MOST_NBYTES = 4096


def write(folder, target, inputs):
    at = folder / target
    at.mkdir(parents=True, exist_ok=True)
    names = []
    for i, data in enumerate(inputs):
        name = at / f"{i:04}"
        name.write_bytes(data)
        names.append(str(name.resolve()))
    (folder / f"{target}.txt").write_text(",".join(names))


def documents(corpus):
    """Each distinct one, of a size that mutations can reach."""
    seen = set()
    for path in sorted(corpus.rglob("*")) if corpus else []:
        if path.name in NAMES and path.is_file() and path.stat().st_size <= MOST_NBYTES:
            seen.add(bytes([NAMES.index(path.name)]) + path.read_bytes())
    return sorted(seen)[::4] or [b"\x00{}"]


def tiffs(corpus):
    """Small ones, and a plain one where there is no corpus."""
    found = [path for folder in ("tiff", "bad/tiff") if corpus
             for path in sorted((corpus / folder).rglob("*"))
             if path.is_file() and path.stat().st_size <= MOST_NBYTES]
    entries = [(256, 1, 4), (257, 1, 4), (258, 1, 8), (273, 1, 0), (279, 1, 16)]
    plain = b"II*\0\x08\0\0\0" + len(entries).to_bytes(2, "little")
    for tag, count, value in entries:
        plain += b"".join([tag.to_bytes(2, "little"), b"\x04\0", count.to_bytes(4, "little"),
                           value.to_bytes(4, "little")])
    return [path.read_bytes() for path in found[::4]] or [plain + bytes(4)]


def lzw(data):
    """Of bytes alone: so few codes after each Clear that all have nine bits."""
    codes = [code for i in range(0, len(data), 250) for code in (256, *data[i:i + 250])]
    bits = "".join(f"{code:09b}" for code in [*codes, 257])
    nbytes = (len(bits) + 7) // 8
    return int(bits.ljust(8 * nbytes, "0"), 2).to_bytes(nbytes, "big")


def run_lengths(data):
    """PackBits: two bytes that are alike, as a run, now and then."""
    return b"".join(bytes([255, data[i]]) if i % 3 == 0 else bytes([1, *data[i:i + 2]])
                    for i in range(0, len(data), 2))


def chunks():
    """One for each array, in its order there; what is not compressed is any bytes."""
    rng = np.random.default_rng(1)
    smooth = np.cumsum(rng.integers(-2, 3, N))
    nothing = [1 + (N + 7) // 8, 2 * N, N, N // 8 + 1, 7 * N // 8 + 1, 3 * N]
    lz4, shuffle = LZ4(), Blosc("lz4", 5, Blosc.SHUFFLE)
    bits = Blosc("lz4", 5, Blosc.BITSHUFFLE)
    packed = np.packbits(smooth % 2 == 1)
    padded = bytes([8 * len(packed) - N]) + packed.tobytes()
    plain = rng.bytes(3 * N + 1)
    made = [shuffle.encode(smooth.astype("u1")), lz4.encode(smooth.astype("u1")),
            Zstd(3).encode(smooth.astype("u1")),
            Blosc("zstd", 5, Blosc.SHUFFLE).encode(smooth.astype("f4")),
            bits.encode(smooth.astype("f8")), padded, lz4.encode(padded),
            shuffle.encode(padded), plain[:2 * N], lz4.encode(smooth.astype("u1")),
            shuffle.encode(smooth.astype("f4")), plain[:N], bits.encode(smooth.astype("f4")),
            packed.tobytes() + padded[:1], bytes([0]) + plain[:nothing[4] - 1], plain[:3 * N],
            Zlib(6).encode(smooth.astype("u1")),
            Blosc("zlib", 5, Blosc.SHUFFLE).encode(smooth.astype("f4"))]
    gzip = bytes([len(made) - 2]) + bytes(GZip(6).encode(smooth.astype("u1")))
    short, two = smooth.astype("u1").tobytes(), smooth.astype("<u2").tobytes()
    made += [lzw(short), lzw(two), run_lengths(short), run_lengths(short), rng.bytes(4 * N),
             rng.bytes(8 * N)]
    return [bytes([i]) + bytes(data) for i, data in enumerate(made)] + [gzip]


def stores():
    draw = random.Random(1)
    return [draw.randbytes(draw.randrange(40, 200)) for _ in range(200)]


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[1])
    write(where, "fuzz_zarr_metadata",
          documents(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None))
    write(where, "fuzz_tiff", tiffs(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None))
    write(where, "fuzz_chunk_device", chunks())
    write(where, "fuzz_store_device", stores())
