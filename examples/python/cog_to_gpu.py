"""From Cloud-Optimized GeoTIFFs to arrays in GPU memory, with xarray.

What docs/cog-tutorial.md explains. Needs xarray, dask and rasterio (which writes the scenes and
reads what comes out); with a GPU also CuPy. SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import tempfile

import numpy as np
import rasterio
import xarray as xr

import headrace as hr

HERE = pathlib.Path(__file__).resolve().parent
HEIGHTS = np.asarray(hr.open(HERE.parent / "data" / "jacksboro.zarr" / "elevation"))
PLACE = rasterio.Affine(1 / 1200, 0, -98.3, 0, -1 / 1200, 33.3)


def write_scene(path: pathlib.Path, day: int) -> str:
    """A COG of two bands, 16-bit, with overviews and holes."""
    red = (HEIGHTS + 3 * day).astype("u2")
    infrared = (HEIGHTS * 1.5 + 100 * np.sin(day + HEIGHTS / 50)).astype("u2")
    red[:20, :30] = 0
    with rasterio.open(path, "w", driver="COG", height=red.shape[0], width=red.shape[1], count=2,
                       dtype="uint16", crs="EPSG:4326", transform=PLACE, nodata=0, blocksize=128,
                       compress="deflate", predictor=2, overview_resampling="average") as file:
        file.write(np.stack([red, infrared]))
    return str(path)


def main() -> None:
    try:
        hr.device_info("cuda:0")
        device = "cuda"
    except hr.Error:
        device = "cpu"
    with tempfile.TemporaryDirectory() as folder:
        scenes = [write_scene(pathlib.Path(folder) / f"day{day}.tif", day) for day in range(4)]

        # One scene. Nothing is read but the header.
        scene = xr.open_dataset(scenes[0], engine="headrace", device=device).band_data
        print(f"{dict(scene.sizes)} of {scene.dtype} on {device}")

        # A window by its coordinates: the tiles under it are read and decoded where they go.
        window = scene.sel(x=slice(-98.25, -98.15), y=slice(33.25, 33.15)).load()
        print("window:", type(window.data).__module__.split(".")[0], window.shape)
        red, infrared = window
        index = (infrared - red) / (infrared + red)
        print(f"mean index {float(index.mean().as_numpy()):.3f}")

        # A quick look costs an overview.
        levels = hr.open(scenes[0]).attrs["levels"]
        quick = xr.open_dataset(f"{scenes[0]}#level={len(levels) - 1}", engine="headrace",
                                device=device).band_data
        print(f"{len(levels)} levels, the smallest {quick.sizes['y']} x {quick.sizes['x']}")

        # Many scenes as one array of blocks; each is read when it is computed, to the GPU of
        # the worker that computes it.
        stack = xr.open_mfdataset(scenes, engine="headrace", device=device, combine="nested",
                                  concat_dim="day", chunks={"x": 256, "y": 256}).band_data
        change = (stack.isel(day=-1) - stack.isel(day=0)).sel(band=1).mean().compute()
        print(f"{stack.sizes['day']} scenes, red rose by {float(change.as_numpy()):.1f}")

        # Back to a file, with the place and the reference system that it had.
        result = index.as_numpy().rename("index")
        if "spatial_ref" in result.coords and _has_rioxarray():
            result.rio.write_nodata(np.nan).rio.to_raster(pathlib.Path(folder) / "index.tif")
            with rasterio.open(pathlib.Path(folder) / "index.tif") as file:
                print("written:", file.crs, file.shape)


def _has_rioxarray() -> bool:
    try:
        import rioxarray  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    main()
