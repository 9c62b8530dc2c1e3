"""A cluster with a GPU for each worker: what a worker reads lands on its own. With two GPUs; the
same datasets, on the host, without. SPDX-License-Identifier: Apache-2.0"""

import importlib.util
import warnings

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
tifffile = pytest.importorskip("tifffile")
xr = pytest.importorskip("xarray")
import headrace.dask  # noqa: E402

DATA = np.random.default_rng(6).integers(-999, 999, (4, 60, 80)).astype("i2")


def gpus_for(worker):
    """As dask-cuda has it: all GPUs, a worker's own first."""
    return {"CUDA_VISIBLE_DEVICES": ("0,1", "1,0")[worker]}


def cluster_of_gpus():
    if importlib.util.find_spec("dask_cuda"):
        from dask_cuda import LocalCUDACluster
        return LocalCUDACluster(CUDA_VISIBLE_DEVICES="0,1", dashboard_address=None)
    workers = {i: {"cls": distributed.Nanny,
                   "options": {"nthreads": 2, "env": gpus_for(i), "dashboard_address": None}}
               for i in range(2)}
    return distributed.SpecCluster(
        workers=workers, scheduler={"cls": distributed.Scheduler,
                                    "options": {"dashboard_address": None}})


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def where(request):
    """(client, device) with two workers."""
    if request.param == "cuda":
        try:
            hr.device_info("cuda:1")
        except hr.Error as error:
            pytest.skip(f"no two GPUs: {error}")
        pytest.importorskip("cupy")
        cluster = cluster_of_gpus()
    else:
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=2,
                                           dashboard_address=None, worker_dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        yield client, request.param


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The planes of the data as TIFF files and as groups of Zarr."""
    path = tmp_path_factory.mktemp("gpus")
    for i, plane in enumerate(DATA):
        tifffile.imwrite(path / f"{i}.tif", plane, tile=(16, 32), compression="zlib")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zarr.create_group(path / f"{i}.zarr").create_array(
                "band_data", data=plane[None], chunks=(1, 16, 32),
                dimension_names=("band", "y", "x"))
    return path


def own_gpu():
    import cupy
    return cupy.cuda.Device(0).pci_bus_id


def gpu_of(block):
    return block.device.pci_bus_id


def on_host(result):
    return result if isinstance(result, np.ndarray) else result.get()


def test_blocks_land_on_the_gpu_of_their_worker(where, stored):
    client, device = where
    x = headrace.dask.from_array(hr.open(stored / "1.zarr/band_data", device))
    workers = list(client.scheduler_info()["workers"])
    assert len(workers) == 2
    for worker in workers:
        block = client.compute(x[:, 20:50].to_delayed().ravel()[0], workers=[worker])
        assert (on_host(block.result()) == DATA[1:2, 20:32, :32]).all()
        if device == "cuda":
            landed = client.submit(gpu_of, block, workers=[worker]).result()
            assert landed == client.submit(own_gpu, workers=[worker], pure=False).result()
    if device == "cuda":
        assert len(set(client.run(own_gpu).values())) == 2
    assert (on_host(x.compute()) == DATA[1:2]).all()


@pytest.mark.parametrize("kind", ["tif", "zarr"])
def test_datasets_of_many_files_are_read_by_all_workers(where, stored, kind):
    client, device = where
    files = [str(stored / f"{i}.{kind}") for i in range(len(DATA))]
    stack = xr.open_mfdataset(files, engine="headrace", device=device, chunks={},
                              combine="nested", concat_dim="time").band_data
    assert stack.shape == (4, 1, 60, 80)
    blocks = stack.data.persist()
    distributed.wait(blocks)
    if device == "cuda":
        own = client.run(own_gpu)
        parts = distributed.futures_of(blocks)
        held = client.who_has(parts)
        for part in parts:
            (worker,) = held[part.key]
            assert client.submit(gpu_of, part, workers=[worker]).result() == own[worker]
    assert (on_host(blocks.compute())[:, 0] == DATA).all()
    mean = stack.astype("f8").mean("time").compute().data
    np.testing.assert_allclose(on_host(mean)[0], DATA.mean(axis=0))
