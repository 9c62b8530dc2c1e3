"""What other software wrote, decoded by kernels: the program that bench/gpu.sh runs on a GPU, here on
the simt device, for what is small.

Without the corpus (HEADRACE_CORPUS) it is skipped. SPDX-License-Identifier: Apache-2.0
"""

import subprocess
import sys

import pytest

from conftest import ROOT
from test_corpus import CORPUS

hr = pytest.importorskip("headrace", reason="the package is not built")
pytest.importorskip("numcodecs")


def test_kernels_read_the_corpus_as_the_host_does():
    if not (CORPUS / "MANIFEST.tsv").exists():
        pytest.skip(f"no corpus at {CORPUS}")
    try:
        hr.device_info("simt")
    except hr.UnsupportedError:
        pytest.skip("this build has no simt device")
    result = subprocess.run([sys.executable, ROOT / "bench" / "corpus_device.py", CORPUS, "simt", "32768"],
                            capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    counts = dict(line.removeprefix("simt: ").split(": ") for line in result.stdout.splitlines())
    assert counts.keys() == {"zarr-array", "tiff", "codec"}
    for kind, least in (("zarr-array", 100), ("tiff", 200), ("codec", 300)):
        words = {word: int(n) for n, word in (part.split(" ", 1) for part in counts[kind].split(", "))}
        assert words["right by the device alone"] > least, counts[kind]
