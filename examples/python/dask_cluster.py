"""Dask in a cluster: each worker opens the array itself, and has its blocks on its own GPU.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/dask_cluster.py [STORE [VARIABLE]]

With dask-cuda and GPUs there is a worker for each of them, else there are two on the host.
"""

import importlib.util
import pathlib
import sys

import xarray as xr
from dask.distributed import Client, LocalCluster

import headrace as hr

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "jacksboro.zarr"


def cluster():
    """(cluster, the device of its workers)."""
    try:
        hr.device_info("cuda")
        if importlib.util.find_spec("dask_cuda"):
            from dask_cuda import LocalCUDACluster
            return LocalCUDACluster(dashboard_address=None), "cuda"
    except hr.Error as error:
        print("no GPU:", error)
    return LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None), "cpu"


def main(store=EXAMPLE, name="elevation"):
    workers, device = cluster()
    with workers, Client(workers):
        ds = xr.open_dataset(store, engine="headrace", device=device, chunks={})
        variable = ds[name]
        print(f"{variable.data.npartitions} blocks for {len(workers.workers)} workers")
        highest = variable.max(variable.dims[-1]).compute().as_numpy()  # along the last axis
        print(f"from {float(highest.min()):.0f} to {float(highest.max()):.0f} along {highest.dims[0]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
