# %% [markdown]
# # Zarr on the GPU
#
# From a Zarr array on disk to arrays of CuPy, PyTorch or JAX on a GPU, and back. Every cell
# runs on a machine without a GPU too: `device` says where results go.
# SPDX-License-Identifier: Apache-2.0

# %%
import contextlib
import importlib.util
import pathlib

import numpy as np

import headrace as hr

try:
    print(hr.device_info("cuda"))
    device = "cuda"
except hr.Error as error:
    print("no GPU:", error)
    device = "cpu"

# %% [markdown]
# ## What decodes where
# Chunks whose codecs have kernels are copied to the GPU as they are stored and decoded there.
# The others are decoded by the host; with `strict=True` that is an error instead.

# %%
for name, support in hr.codecs().items():
    if support["cuda"]:
        print(f"{name:12} on the GPU")

# %% [markdown]
# ## Open
# Metadata is read at once, on the host. No chunk is touched yet.

# %%
here = pathlib.Path(__file__).resolve().parent if "__file__" in globals() else pathlib.Path()
url = here.parent / "data" / "jacksboro.zarr" / "elevation"
a = hr.open(url, device)
print(a)

# %% [markdown]
# ## Read
# Indexing gives a `Tensor`: memory with a shape, on the device, complete.

# %%
tile = a[64:128, ::-2]
print(tile.shape, tile.dtype, tile.device, hex(tile.ptr))

# %% [markdown]
# Frameworks take it without a copy.

# %%
for framework in ("cupy", "torch", "jax"):
    if importlib.util.find_spec(framework) and (framework != "cupy" or device == "cuda"):
        print(framework, type(tile.to(framework)))
print("numpy", tile.to("numpy")[0, :5])

# %% [markdown]
# ## Read into memory that you have
# A batch of crops in one call: each chunk is read and decoded once, whoever needs it. `out` is
# any framework's array; here one of NumPy or, on a GPU, of PyTorch or CuPy.


# %%
def empty(shape, dtype):
    if device == "cuda" and importlib.util.find_spec("torch"):
        import torch

        return torch.empty(shape, dtype=getattr(torch, dtype), device="cuda")
    if device == "cuda":
        import cupy

        return cupy.empty(shape, dtype)
    return np.empty(shape, dtype)


batch = empty((32, 64, 64), "float32")
rng = np.random.default_rng(0)
corners = rng.integers(0, np.subtract(a.shape, 64), (32, 2))
future = a.read(hr.boxes(corners, (64, 64)), out=batch, dtype="float32")
future.result()
print("mean of the batch:", float(batch.mean()))

# %% [markdown]
# Where did the time go, and where were chunks decoded?

# %%
print({name: count for name, count in future.stats().items() if count})

# %% [markdown]
# ## Packed numbers
# CF's `scale_factor`, `add_offset` and `_FillValue` are undone on the way, on the GPU too.

# %%
feet = a.read(np.s_[:2, :5], mask_and_scale=hr.Packing(scale=3.28084, fills=(a.fill_value,)))
print(feet.result().to("numpy"))

# %% [markdown]
# ## zarr-python
# The arrays of zarr-python, read by headrace. With `zarr.config.enable_gpu()` results are CuPy's.

# %%
if importlib.util.find_spec("zarr"):
    import zarr

    import headrace.zarr

    with zarr.config.set({"codec_pipeline.path": "headrace.zarr.Pipeline"}):
        with zarr.config.enable_gpu() if device == "cuda" else contextlib.nullcontext():
            rows = zarr.open_array(url, mode="r")[:64]
    print(type(rows).__module__, rows.shape, headrace.zarr.stats())

# %% [markdown]
# ## xarray
# A dataset whose data variables go to the device and whose coordinates stay on the host.

# %%
if importlib.util.find_spec("xarray"):
    import xarray as xr

    ds = xr.open_dataset(url.parent, engine="headrace", device=device)
    part = ds.elevation.isel(lat=slice(100)).load()
    print(type(part.data), dict(part.sizes), "mean", float(part.mean().as_numpy()))

# %% [markdown]
# ## Training
# Batches of crops in random order; each chunk is decoded about once an epoch.

# %%
from headrace.torch import Loader  # noqa: E402

loader = Loader(a, crop=(32, 32), stride=16, batch_size=64, dtype="float32",
                to="torch" if importlib.util.find_spec("torch") else "numpy")
for batch in loader:
    pass
print(len(loader), "batches, the last of shape", tuple(batch.shape))
