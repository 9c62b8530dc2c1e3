"""Write examples/data from the elevation model that Matplotlib ships.

usage: make_data.py jacksboro_fault_dem.npz

The file is in Matplotlib's wheel under mpl-data/sample_data. See data/README.md for
where the elevations come from. SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import shutil
import sys

import numpy as np
import zarr
from numcodecs import Blosc

DATA = pathlib.Path(__file__).resolve().parent / "data"
TITLE = "Elevations around the Jacksboro fault, Tennessee"
SOURCE = "Shuttle Radar Topography Mission, 3 arc seconds; public domain"


def coordinates(dem):
    """Centres of the cells; the bounds in the file are the outer edges."""
    nlat, nlon = dem["elevation"].shape
    lat = float(dem["ymin"]) - (np.arange(nlat) + 0.5) * float(dem["dy"])  # north first
    lon = float(dem["xmin"]) + (np.arange(nlon) + 0.5) * float(dem["dx"])
    return lat, lon


def write_v3(path, elevation, lat, lon):
    group = zarr.create_group(path, zarr_format=3,
                              attributes={"title": TITLE, "source": SOURCE})
    zstd = zarr.codecs.ZstdCodec(level=9)
    array = group.create_array(
        "elevation", shape=elevation.shape, dtype=elevation.dtype, chunks=(64, 64),
        shards=(192, 256), compressors=zstd, fill_value=-32768, dimension_names=("lat", "lon"),
        attributes={"units": "m", "standard_name": "surface_altitude",
                    "long_name": "elevation"})
    array[...] = elevation
    for name, values, units in (("lat", lat, "degrees_north"), ("lon", lon, "degrees_east")):
        axis = group.create_array(name, shape=values.shape, dtype=values.dtype,
                                  chunks=values.shape, compressors=zstd,
                                  dimension_names=(name,), attributes={"units": units})
        axis[...] = values
    zarr.consolidate_metadata(path, zarr_format=3)


def write_v2(path, elevation):
    group = zarr.create_group(path, zarr_format=2,
                              attributes={"title": TITLE, "source": SOURCE})
    array = group.create_array(
        "elevation", shape=elevation.shape, dtype=elevation.dtype, chunks=(128, 128),
        compressors=Blosc(cname="lz4", clevel=9, shuffle=Blosc.SHUFFLE), fill_value=-32768,
        attributes={"units": "m", "_ARRAY_DIMENSIONS": ["lat", "lon"]})
    array[...] = elevation
    zarr.consolidate_metadata(path, zarr_format=2)


def write_cog(path, elevation, lat, lon):
    import rasterio  # which nothing else here needs

    dy, dx = lat[0] - lat[1], lon[1] - lon[0]
    transform = rasterio.Affine(dx, 0, lon[0] - dx / 2, 0, -dy, lat[0] + dy / 2)
    with rasterio.open(path, "w", driver="COG", dtype="int16", count=1, height=len(lat),
                       width=len(lon), crs="EPSG:4326", transform=transform, nodata=-32768,
                       compress="DEFLATE", level=9, predictor=2, blocksize=128,
                       overview_resampling="average") as file:
        file.write(elevation, 1)


def main(source):
    dem = np.load(source)
    elevation = dem["elevation"].astype("<i2")
    for name in ("jacksboro.zarr", "jacksboro_v2.zarr"):
        shutil.rmtree(DATA / name, ignore_errors=True)
    write_v3(DATA / "jacksboro.zarr", elevation, *coordinates(dem))
    write_v2(DATA / "jacksboro_v2.zarr", elevation)
    write_cog(DATA / "jacksboro.tif", elevation, *coordinates(dem))


if __name__ == "__main__":
    main(sys.argv[1])
