"""Read every Zarr array of the corpus into a device's memory and check its hash.
SPDX-License-Identifier: Apache-2.0

usage: corpus_device.py HEADRACE CORPUS_DIR DEVICE     (CORPUS_DIR holds MANIFEST.tsv)

Arrays that the host cannot read, and those of variable length, which stay there, are
counted apart. Exits 1 when an array differs.
"""

import csv
import hashlib
import pathlib
import subprocess
import sys

headrace, corpus, device = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]


def read(path, where):
    done = subprocess.run([headrace, "read", str(path), "-o", "-", "--device", where],
                          capture_output=True, check=False)
    return done.returncode, hashlib.sha256(done.stdout).hexdigest(), done.stderr.decode()


right, host_only, wrong = 0, 0, []
with (corpus / "MANIFEST.tsv").open(encoding="utf-8", newline="") as text:
    for row in csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["class"] != "zarr-array":
            continue
        path = corpus / row["path"]
        status, digest, message = read(path, device)
        if status == 0 and digest == row["expected_sha256"]:
            right += 1
        elif "variable" in message or read(path, "cpu")[0] != 0:
            host_only += 1
        else:
            wrong.append((row["path"], status, message.strip()))
for row in wrong:
    print("WRONG", *row)
print(f"{device}: {right} arrays right, {host_only} not for it, {len(wrong)} wrong")
sys.exit(bool(wrong))
