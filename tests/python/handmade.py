"""Zarr arrays written byte by byte, so that no writer stands between a test and its input.

SPDX-License-Identifier: Apache-2.0
"""

import json
import pathlib

CRC32C = {"name": "crc32c"}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
ABSENT = (2**64 - 1, 2**64 - 1)  # index entry of an inner chunk that is not there


def put(path, files):
    path = pathlib.Path(path)
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(path)


def v2(path, shape, chunks, dtype, files, **changes):
    """A v2 array: `files` maps chunk keys to bytes, `changes` replaces metadata."""
    metadata = {"zarr_format": 2, "shape": list(shape), "chunks": list(chunks), "dtype": dtype,
                "compressor": None, "filters": None, "fill_value": 0, "order": "C"} | changes
    return put(path, {".zarray": metadata} | files)


def v3_metadata(shape, chunks, data_type, **changes):
    return {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0, "codecs": [LITTLE]} | changes


def v3(path, shape, chunks, data_type, files, **changes):
    return put(path, {"zarr.json": v3_metadata(shape, chunks, data_type, **changes)} | files)


def sharding(inner, index_codecs=(LITTLE, CRC32C), location="end", codecs=(LITTLE,)):
    return {"name": "sharding_indexed", "configuration": {
        "chunk_shape": list(inner), "codecs": list(codecs), "index_codecs": list(index_codecs),
        "index_location": location}}


def crc32c(data):
    """Castagnoli's polynomial, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return (crc ^ 0xFFFFFFFF).to_bytes(4, "little")


def index(entries, order="little", checksum=True):
    data = b"".join(number.to_bytes(8, order) for entry in entries for number in entry)
    return data + crc32c(data) if checksum else data


def shard(chunks, location="end", order="little", checksum=True):
    """Inner chunks (None = absent) and their index, at either end."""
    size = 16 * len(chunks) + (4 if checksum else 0)
    at, body, entries = size if location == "start" else 0, b"", []
    for chunk in chunks:
        entries.append(ABSENT if chunk is None else (at, len(chunk)))
        body += chunk or b""
        at += len(chunk or b"")
    table = index(entries, order, checksum)
    return table + body if location == "start" else body + table
