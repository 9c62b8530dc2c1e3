"""Random selections of headrace's, with what NumPy gives for each. SPDX-License-Identifier: Apache-2.0"""

import numpy as np

import headrace as hr


def a_slice(choose, n):
    def bound():
        return None if choose.random() < 0.3 else choose.randint(-n - 2, n + 2)
    return slice(bound(), bound(), choose.choice((None, 1, 1, 2, 3, 7, -1, -1, -2, -4)))


def basic(choose, rng, array, data):
    key = [choose.randint(-n, n - 1) if n and choose.random() < 0.25 else a_slice(choose, n)
           for n in data.shape[:choose.randint(0, data.ndim)]]
    return (*key, ...), data[(*key, ...)]


def outer(choose, rng, array, data):
    parts, taken = [], data
    for n in data.shape:
        kind = choose.choice(("list", "slice", "mask", "integer"))
        if kind == "mask":
            parts.append(rng.random(n) < 0.5)
        elif kind == "slice" or n == 0:
            parts.append(a_slice(choose, n))
        elif kind == "list":
            parts.append(rng.integers(-n, n, choose.randint(0, min(2 * n, 30))))
        else:
            parts.append(choose.randint(-n, n - 1))
    for axis in reversed(range(len(parts))):
        taken = taken[(slice(None),) * axis + (parts[axis], ...)]
    return hr.oindex[tuple(parts)], taken


def points(choose, rng, array, data):
    if data.ndim == 0 or data.size == 0:
        return ..., data
    shape = choose.choice(((), (choose.randint(0, 30),), (choose.randint(1, 5), choose.randint(1, 4))))
    index = tuple(rng.integers(-n, n, shape) for n in data.shape)
    return hr.vindex[index], data[index]


def mask(choose, rng, array, data):
    chosen = np.asarray(rng.random(data.shape) < choose.choice((0, 0.1, 0.5, 1)))
    return hr.mask(chosen), data[chosen]


def blocks(choose, rng, array, data):
    """By what the array says of its chunks, whose lengths may vary."""
    key, taken = [], []
    for axis, n in enumerate(array.grid_shape):
        first = choose.randint(0, n)
        last = choose.randint(first, n)
        starts = [array.chunk_extent(axis, i)[0] for i in range(n)] + [data.shape[axis]]
        key.append(slice(first, last) if last != first + 1 or choose.random() < 0.5 else first)
        taken.append(slice(starts[first], starts[last]))
    return (hr.blocks[tuple(key)] if key else ...), data[(*taken, ...)]


def selection(choose, rng, array, data):
    """(what headrace takes, what it is to give)"""
    return choose.choice((basic, basic, outer, points, mask, blocks))(choose, rng, array, data)
