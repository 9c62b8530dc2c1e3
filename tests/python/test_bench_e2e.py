"""The end-to-end bench, on a small field and the host. SPDX-License-Identifier: Apache-2.0"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

RUN = pathlib.Path(__file__).resolve().parents[2] / "bench" / "e2e" / "run.py"
FIELD = """
import os, sys
import numpy as np
os.makedirs(sys.argv[1])
np.save(sys.argv[1] + "/era.npy", np.arange(1 << 20, dtype="f4").reshape(1, 1024, 1024))
"""


@pytest.fixture
def run(tmp_path):
    pytest.importorskip("headrace", reason="the package is not built")
    (tmp_path / "make_data.py").write_text(FIELD)

    def run(*options, status=0):
        command = [sys.executable, RUN, "--make-data", tmp_path / "make_data.py", "--dir",
                   tmp_path / "arrays", "--mib", "4", "--fields", "era", "--codecs", "raw",
                   "--layouts", "1m", "--crops", "10", "--repeat", "1", *options]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                              env={**os.environ, "HEADRACE_THREADS": "2"})
        assert done.returncode == status, done.stderr
        return done
    return run


def test_readers_are_compared_with_the_field_and_each_other(run, tmp_path):
    peer = "tensorstore" if importlib.util.find_spec("tensorstore") else "zarr-python"
    text = run("--readers", f"headrace,{peer},kvikio").stdout
    for case in ("whole", "crops"):
        row = next(line for line in text.splitlines() if line.startswith(f"| era-raw-1m, {case} "))
        headrace, other, ratio = row.strip("|").split("|")[1:]
        assert float(headrace) > 0 and float(other) > 0 and "×" in ratio
    assert "era-raw-1m, whole: stages   of" in text and "bound by" in text
    assert "left out: kvikio" in text
    chunk = tmp_path / "arrays" / "4" / "era-raw-1m.zarr" / "c" / "0" / "1" / "0"
    chunk.write_bytes(bytes(len(chunk.read_bytes())))
    text = run("--readers", "headrace", status=1).stdout
    assert "headrace does not read era-raw-1m: ValueError: the reader gives other values" in text
