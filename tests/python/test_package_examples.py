"""The examples run as they stand. SPDX-License-Identifier: Apache-2.0"""

import os
import subprocess
import sys

import pytest

from conftest import ROOT

hr = pytest.importorskip("headrace", reason="the package is not built")
EXAMPLES = {
    "first_steps.py": "cells are among the highest",
    "batches.py": "200 crops",
    "sparse_rows.py": "64 rows with",
    "zarr_python.py": "'fallback': {}",
    "zarr_on_the_gpu.py": "mean of the batch",
    "xarray_dataset.py": "8 bands, the highest at 1076.0",
    "cog_to_gpu.py": "4 scenes, red rose by 9.0",
    "dask_blocks.py": "from 236.0 to 1076.0",
    "dask_cluster.py": "along lat",
    "hand_over.py": "memory, mean",
    "tiff_window.py": "0 without data",
    "tiff_batch.py": "of 32 windows",
    "training.py": "went on after batch 1 of epoch 2",
    "pyramid.py": "s2 fits",
    "own_store.py": "the same as the files: True",
}
ELEVATION = ROOT / "examples" / "data" / "jacksboro.zarr" / "elevation"
ON_A_GPU = {"dask_blocks.py": (ELEVATION, "cuda"), "tiff_batch.py": ("cuda",),
            "training.py": (ELEVATION, "cuda")}  # those that use none unless told


WANTS = {"cog_to_gpu.py": "rasterio"}  # beyond what the other examples want


def run(name, *arguments):
    if name in WANTS:
        pytest.importorskip(WANTS[name])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, ROOT / "examples" / "python" / name, *arguments],
                            capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    assert EXAMPLES[name] in result.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name):
    run(name)


@pytest.mark.parametrize("name", ON_A_GPU)
def test_an_example_runs_on_a_gpu(name):
    try:
        hr.device_info("cuda:0")
    except hr.Error as error:
        pytest.skip(f"no GPU: {error}")
    for module in ("cupy", "torch"):
        pytest.importorskip(module)
    run(name, *ON_A_GPU[name])
