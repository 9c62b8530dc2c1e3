"""Rows of a sparse matrix in CSR form: many short ranges of two 1-D arrays, in one call.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/sparse_rows.py [GROUP [DEVICE]]

GROUP holds `data`, `indices` and `indptr`, as anndata writes a sparse matrix.
"""

import sys
import tempfile

import numpy as np

import headrace as hr


def read_rows(group, rows):
    """The chosen rows as CSR again: data, indices, indptr."""
    starts, stops = group["indptr"].vindex[rows], group["indptr"].vindex[np.asarray(rows) + 1]
    ranges = [slice(int(i), int(j)) for i, j in zip(starts.tolist(), stops.tolist())]
    data = hr.read_batch([(group["data"], r) for r in ranges], out="packed")
    indices = hr.read_batch([(group["indices"], r) for r in ranges], out="packed")
    return data.result().data, indices.result().data, data.result().offsets


def write_example(path, nrows=1000, ncols=300, seed=1):
    import zarr

    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 40, nrows)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.concatenate([np.sort(rng.choice(ncols, n, replace=False)) for n in lengths])
    group = zarr.create_group(path)
    for name, values in (("data", rng.random(len(indices), np.float32)), ("indices", indices),
                         ("indptr", indptr)):
        group.create_array(name, data=values, chunks=(4096,))


def main(url=None, device="auto"):
    with tempfile.TemporaryDirectory() as folder:
        if url is None:
            url = f"{folder}/csr.zarr"
            write_example(url)
        group = hr.open(url, device)
        rows = np.random.default_rng(0).integers(0, group["indptr"].shape[0] - 1, 64)
        data, indices, indptr = read_rows(group, rows)
        print(f"{len(rows)} rows with {data.size} entries on {data.device}; "
              f"the first has columns {indices.to('numpy')[:indptr[1]].tolist()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
