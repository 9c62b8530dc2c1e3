"""Read every Zarr array and TIFF of the corpus into a device's memory, against the host.
SPDX-License-Identifier: Apache-2.0

usage: corpus_device.py CORPUS_DIR DEVICE [MAX_BYTES]     (CORPUS_DIR holds MANIFEST.tsv)

Needs the package headrace. What the host cannot read, and what stays there (items of variable
length), is counted apart; so is what `strict` lets the device read alone. Exits 1 when an
array differs from the host's, which the tests hold to the manifest's hashes.
"""

import csv
import pathlib
import sys
from collections import Counter

import headrace as hr
import numpy as np

corpus, device = pathlib.Path(sys.argv[1]), sys.argv[2]
most_nbytes = int(sys.argv[3]) if len(sys.argv) > 3 else 1 << 26


def read(path, where, strict=False):
    with hr.config(strict=strict):
        result = hr.open(str(path), device=where)[...]
    return result if isinstance(result, np.ndarray) else result.to("numpy")


def compare(path):
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
    except hr.Error:
        return "right", ""


counts = {"zarr-array": Counter(), "tiff": Counter()}
with (corpus / "MANIFEST.tsv").open(encoding="utf-8", newline="") as text:
    for row in csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE):
        path = corpus / row["path"]
        if row["class"] in counts and not row["inner"] and path.exists():
            word, reason = compare(path)
            counts[row["class"]][word] += 1
            if word == "WRONG":
                print("WRONG", row["path"], reason)
for kind, count in counts.items():
    print(f"{device}: {kind}: " + ", ".join(f"{n} {word}" for word, n in sorted(count.items())))
sys.exit(any(count["WRONG"] for count in counts.values()))
