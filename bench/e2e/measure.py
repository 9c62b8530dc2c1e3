"""One reader of the end-to-end bench, in a process of its own. SPDX-License-Identifier: Apache-2.0

usage: measure.py READER DEVICE REPEATS CROPS {PATH FIELD.npy}…

Prints a JSON object for each array: the reader's version, and for "whole" and "crops" the median
of seconds and the bytes of the field that were read, after a first read whose result is compared
with the field; of headrace also the stages of the last read. {"absent": reason} where the reader
is not to be had, {"failed": reason} where it does not read this array.
"""

import functools
import json
import statistics
import sys
import time

import numpy as np
import peers

CROP_NBYTES = 1 << 16
LONG_S = 0.4


def boxes_of(field, n):
    """n boxes of 64 KiB at random: 128 rows, and as many items of each as that takes."""
    rows, columns = 128, CROP_NBYTES // 128 // field.dtype.itemsize
    random = np.random.default_rng(0)
    corners = random.integers((0, 0, 0), (len(field), field.shape[1] - rows + 1,
                                          field.shape[2] - columns + 1), (n, 3))
    return [(slice(t, t + 1), slice(y, y + rows), slice(x, x + columns))
            for t, y, x in corners.tolist()]


@functools.cache
def field_of(path, device):
    """What is expected lies where results lie: to compare takes no copy."""
    return peers.module_of(device).asarray(np.load(path, mmap_mode="r"))


@functools.cache
def crops_of(path, device, n):
    """The boxes, and what the field has there."""
    field = np.load(path, mmap_mode="r")
    boxes = boxes_of(field, n)
    return boxes, peers.module_of(device).asarray(np.stack([field[box] for box in boxes]))


def as_array(result, device):
    """NumPy's or CuPy's."""
    return result if hasattr(result, "reshape") else result.to("numpy" if device == "cpu" else "cupy")


def wait(device):
    if device != "cpu":
        peers.module_of(device).cuda.runtime.deviceSynchronize()


def median(read, device, repeats):
    """Of so many reads, or of those that begin in LONG_S."""
    seconds = []
    while not seconds or len(seconds) < repeats and sum(seconds) < LONG_S:
        start = time.perf_counter()
        result = read()
        wait(device)
        seconds.append(time.perf_counter() - start)
        del result
    return statistics.median(seconds)


def case(reader, read, expected, device, repeats):
    result = as_array(read(), device)
    if result.dtype != getattr(reader, "dtype", expected.dtype):
        raise ValueError(f"the reader gives {result.dtype}")
    if not (result.reshape(expected.shape) == expected).all():
        raise ValueError("the reader gives other values than the field has")
    del result
    own = getattr(reader, "seconds", None)
    seconds = own(read, repeats) if own is not None else median(read, device, repeats)
    return {"seconds": seconds, "nbytes": expected.nbytes, "stages": getattr(reader, "stages", None)}


def measure(name, path, path_of_field, device, repeats, ncrops):
    reader = peers.READERS[name](path, device)
    expected = field_of(path_of_field, device)
    answer = {"version": reader.version,
              "whole": case(reader, reader.whole, expected, device, repeats)}
    if hasattr(reader, "crops") and ncrops > 0:
        boxes, expected = crops_of(path_of_field, device, ncrops)
        try:
            answer["crops"] = case(reader, functools.partial(reader.crops, boxes), expected, device,
                                   repeats)
        except Exception as error:  # of whatever kind: it has read the whole array
            answer["failed"] = f"crops: {type(error).__name__}: {error}"
    return answer


def main(name, device, repeats, ncrops, *arrays):
    for path, field in zip(arrays[::2], arrays[1::2]):
        try:
            answer = measure(name, path, field, device, int(repeats), int(ncrops))
        except ImportError as error:
            answer = {"absent": str(error)}
        except Exception as error:  # of whatever kind: the other arrays are measured all the same
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
