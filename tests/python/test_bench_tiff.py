"""The bench of TIFF files, on a small image and the host. SPDX-License-Identifier: Apache-2.0"""

import os
import pathlib
import subprocess
import sys

import pytest

RUN = pathlib.Path(__file__).resolve().parents[2] / "bench" / "tiff" / "run.py"


@pytest.fixture
def run(tmp_path):
    pytest.importorskip("headrace", reason="the package is not built")
    pytest.importorskip("tifffile")

    def run(*options, **environment):
        command = [sys.executable, RUN, "--dir", tmp_path, "--shapes", "64/32", "--repeat", "1",
                   "--only", "u16 none", *options]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                              env={**os.environ, "HEADRACE_THREADS": "2", **environment})
    return run


def test_readers_stand_side_by_side(run):
    done = run("--readers", "headrace,tifffile")
    assert done.returncode == 0, done.stderr
    header, row = done.stdout.splitlines()[1:]
    assert header.split()[-2:] == ["headrace", "tifffile"]
    assert all(float(cell) > 0 for cell in row.split()[-2:])


def test_a_reader_that_is_named_and_cannot_run_is_an_error(run):
    done = run("--readers", "headrace,nvTIFF")
    assert done.returncode == 1
    assert done.stderr.strip() == "nvTIFF: it reads into GPU memory only"
    done = run("--readers", "GDAL", GDAL="/nowhere/libgdal.so")
    assert done.returncode == 1
    assert done.stderr.startswith("GDAL: /nowhere/libgdal.so: ")
    done = run("--readers", "headrace,other")
    assert done.returncode == 2
    assert "other: there are headrace, nvTIFF, " in done.stderr
    assert "without nvTIFF: it reads into GPU memory only" in run().stdout
