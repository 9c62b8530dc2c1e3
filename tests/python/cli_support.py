"""What the tests of the command share. SPDX-License-Identifier: Apache-2.0"""

import warnings

import numpy as np
import zarr

SHAPE = (20, 30, 7)
CUBE = np.arange(np.prod(SHAPE), dtype="<i4").reshape(SHAPE)


def write(path, data, chunks=None, **options):
    """An array written by zarr-python; returns its path."""
    options = {"zarr_format": 3, "chunks": chunks or data.shape or "auto", "fill_value": 0} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = zarr.create_array(str(path), shape=data.shape, dtype=data.dtype, **options)
        array[...] = data
    return str(path)


def succeed(result):
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout
