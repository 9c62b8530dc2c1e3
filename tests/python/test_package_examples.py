"""The examples run as they stand. SPDX-License-Identifier: Apache-2.0"""

import concurrent.futures
import functools
import importlib.util
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


@functools.cache
def why_no_gpu():
    try:
        hr.device_info("cuda:0")
    except hr.Error as error:
        return f"no GPU: {error}"
    missing = [module for module in ("cupy", "torch") if not importlib.util.find_spec(module)]
    return f"without {missing}" if missing else None


def why_not(name, device):
    """Why this one is left out; None where it is not."""
    module = WANTS.get(name, "numpy")
    if not importlib.util.find_spec(module):
        return f"without {module}"
    return why_no_gpu() if device else None


def run(name, device):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = ON_A_GPU[name] if device else ()
    return subprocess.run([sys.executable, ROOT / "examples" / "python" / name, *arguments],
                          capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def runs(request):
    """Of those that were chosen, each in a process of its own, as many at once as there are cores:
    most of their time is imports."""
    chosen = {tuple(item.callspec.params[name] for name in ("name", "device"))
              for item in request.session.items if item.path == request.path}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {key: pool.submit(run, *key) for key in sorted(chosen) if why_not(*key) is None}


@pytest.mark.parametrize(("name", "device"), [*((name, "") for name in EXAMPLES),
                                              *((name, "cuda") for name in ON_A_GPU)])
def test_an_example_runs(runs, name, device):
    if reason := why_not(name, device):
        pytest.skip(reason)
    result = runs[name, device].result()
    assert result.returncode == 0, result.stderr
    assert EXAMPLES[name] in result.stdout
