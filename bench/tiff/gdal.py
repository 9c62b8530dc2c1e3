"""TIFF files through GDAL's library, by ctypes. SPDX-License-Identifier: Apache-2.0"""

import ctypes
import ctypes.util
import importlib.util
import os
import pathlib

import numpy as np

TYPES = {1: "u1", 2: "u2", 3: "i2", 4: "u4", 5: "i4", 6: "f4", 7: "f8"}  # GDALDataType
RASTER = 2  # GDAL_OF_RASTER
SIZE, POINTER, STEP = ctypes.c_int, ctypes.c_void_p, ctypes.c_int64


def library():
    """That at GDAL, else rasterio's, else the one that the loader finds."""
    path = os.environ.get("GDAL")
    package = importlib.util.find_spec("rasterio")
    if path is None and package is not None:
        beside = pathlib.Path(package.origin).parents[1] / "rasterio.libs"
        path = next((str(file) for file in beside.glob("libgdal*")), None)
    path = path or ctypes.util.find_library("gdal")
    if path is None:
        raise ImportError("not installed")
    return ctypes.CDLL(path)


class Reader:
    """By all cores; with the driver LIBERTIFF, which is the faster, where there is one."""

    def __init__(self):
        self.gdal = library()
        self.gdal.GDALOpenEx.restype = POINTER
        self.gdal.GDALGetRasterBand.restype = POINTER
        self.gdal.GDALDatasetRasterIOEx.argtypes = (
            [POINTER, SIZE] + 4 * [SIZE] + [POINTER] + 4 * [SIZE] + [POINTER] + 3 * [STEP] +
            [POINTER])
        self.name = "LIBERTIFF" if hasattr(self.gdal, "GDALRegister_LIBERTIFF") else "GTiff"
        getattr(self.gdal, f"GDALRegister_{self.name}")()

    def __call__(self, path):
        drivers = (ctypes.c_char_p * 2)(self.name.encode(), None)
        options = (ctypes.c_char_p * 2)(b"NUM_THREADS=ALL_CPUS", None)
        file = POINTER(self.gdal.GDALOpenEx(os.fsencode(path), RASTER, drivers, options, None))
        if not file:
            raise RuntimeError(f"GDAL does not open {path}")
        try:
            return self.read(file)
        finally:
            self.gdal.GDALClose(file)

    def read(self, file):
        width, height = self.gdal.GDALGetRasterXSize(file), self.gdal.GDALGetRasterYSize(file)
        nbands = self.gdal.GDALGetRasterCount(file)
        number = self.gdal.GDALGetRasterDataType(POINTER(self.gdal.GDALGetRasterBand(file, 1)))
        out = np.empty((height, width, nbands), TYPES[number])
        bands = (SIZE * nbands)(*range(1, nbands + 1))
        if self.gdal.GDALDatasetRasterIOEx(file, 0, 0, 0, width, height, out.ctypes.data, width,
                                           height, number, nbands, bands, out.strides[1],
                                           out.strides[0], out.strides[2], None):
            raise RuntimeError("GDAL does not read it")
        return out[..., 0] if nbands == 1 else out
