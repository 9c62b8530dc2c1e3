"""Read what the corpus has into a device's memory, against the host: Zarr arrays, TIFFs, streams.
SPDX-License-Identifier: Apache-2.0

usage: corpus_device.py CORPUS_DIR DEVICE [MAX_BYTES]     (CORPUS_DIR holds MANIFEST.tsv)

Needs the package headrace. What the host cannot read, and what stays there (items of variable
length), is counted apart; so is what `strict` lets the device read alone. Exits 1 when an
array differs from the host's, which the tests hold to the manifest's hashes, or when a stream
differs from its hash there, or is not for the device alone though there are kernels for its codec.
"""

import csv
import hashlib
import json
import pathlib
import sys
import tempfile
from collections import Counter

import headrace as hr
import numpy as np

CODECS = ("blosc", "gzip", "lz4", "shuffle", "zlib", "zstd")
corpus, device = pathlib.Path(sys.argv[1]), sys.argv[2]
most_nbytes = int(sys.argv[3]) if len(sys.argv) > 3 else 1 << 26


def read(path, where, strict=False):
    with hr.config(strict=strict):
        result = hr.open(str(path), device=where)[...]
    return result if isinstance(result, np.ndarray) else result.to("numpy")


def compare(path, must_be_strict=False):
    """What became of one array: a word, and for the wrong ones the reason."""
    try:
        array = hr.open(str(path))
        if np.prod(array.shape) * array.dtype.itemsize > most_nbytes:
            return "too large here", ""
        expected = read(path, "cpu")
    except hr.Error:
        return "not for the host", ""
    if expected.dtype.kind in "OT":
        return "of variable length", ""
    try:
        got = read(path, device)
    except hr.Error as error:
        return "WRONG", str(error)
    if got.dtype != expected.dtype or got.tobytes() != expected.tobytes():
        return "WRONG", "other bytes"
    try:
        return ("right by the device alone", "") \
            if read(path, device, strict=True).tobytes() == expected.tobytes() \
            else ("WRONG", "other bytes when strict")
    except hr.Error as error:
        return ("WRONG", str(error)) if must_be_strict else ("right", "")


def compare_stream(row, folder):
    """The same of a stream, which is made the one chunk of an array."""
    data = (corpus / row["path"]).read_bytes()
    config = {"id": row["compression"]}
    beside = (corpus / row["path"]).with_name("config.json")
    if beside.exists():
        config = json.loads(beside.read_text(encoding="utf-8"))
    is_filter = config["id"] == "shuffle"
    if config["id"] == "blosc" and data[0] > 2:
        return "of Blosc 2", ""
    nbytes = nbytes_of(config, data)
    if nbytes > most_nbytes:
        return "too large here", ""
    document = {"zarr_format": 2, "shape": [nbytes], "chunks": [max(nbytes, 1)], "dtype": "|u1",
                "fill_value": None, "order": "C", "compressor": None if is_filter else config,
                "filters": [config] if is_filter else None}
    (folder / ".zarray").write_text(json.dumps(document), encoding="utf-8")
    (folder / "0").write_bytes(data)
    if hashlib.sha256(read(folder, "cpu").tobytes()).hexdigest() != row["expected_sha256"]:
        return "WRONG", "the host has other bytes than the manifest"
    return compare(folder, must_be_strict=True)


def nbytes_of(config, data):
    """Bytes that a stream decodes to, by its header or the decoder of numcodecs."""
    if config["id"] == "blosc":
        return int.from_bytes(data[4:8], "little")
    import numcodecs
    return len(memoryview(numcodecs.get_codec(config).decode(data)).cast("B"))


counts = {"zarr-array": Counter(), "tiff": Counter(), "codec": Counter()}
with (corpus / "MANIFEST.tsv").open(encoding="utf-8", newline="") as text, \
        tempfile.TemporaryDirectory() as folder:
    for row in csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE):
        path = corpus / row["path"]
        if row["class"] not in counts or row["inner"] or not path.exists():
            continue
        if row["class"] != "codec":
            word, reason = compare(path)
        elif row["compression"] in CODECS:
            word, reason = compare_stream(row, pathlib.Path(folder))
        else:
            continue
        counts[row["class"]][word] += 1
        if word == "WRONG":
            print("WRONG", row["path"], reason)
for kind, count in counts.items():
    print(f"{device}: {kind}: " + ", ".join(f"{n} {word}" for word, n in sorted(count.items())))
sys.exit(any(count["WRONG"] for count in counts.values()))
