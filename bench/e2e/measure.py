"""One reader of one array of the end-to-end bench, in a process of its own.
SPDX-License-Identifier: Apache-2.0

usage: measure.py READER PATH FIELD.npy DEVICE REPEATS CROPS

Prints a JSON object: the reader's version, and for "whole" and "crops" the median of seconds and
the bytes read, after a first read whose result is compared with the field; of headrace also the
stages of the last read. {"absent": reason} where the reader is not to be had.
"""

import json
import statistics
import sys
import time

import numpy as np
import peers

CROP_NBYTES = 1 << 16


def boxes_of(field, n):
    """n boxes of 64 KiB at random: 128 rows, and as many items of each as that takes."""
    rows, columns = 128, CROP_NBYTES // 128 // field.dtype.itemsize
    random = np.random.default_rng(0)
    corners = random.integers((0, 0, 0), (len(field), field.shape[1] - rows + 1,
                                          field.shape[2] - columns + 1), (n, 3))
    return [(slice(t, t + 1), slice(y, y + rows), slice(x, x + columns))
            for t, y, x in corners.tolist()]


def to_host(result):
    return result.get() if hasattr(result, "get") else \
        result if isinstance(result, np.ndarray) else result.to("numpy")


def wait(device):
    if device != "cpu":
        peers.module_of(device).cuda.runtime.deviceSynchronize()


def median(read, device, repeats):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = read()
        wait(device)
        seconds.append(time.perf_counter() - start)
        del result
    return statistics.median(seconds)


def case(reader, read, expected, device, repeats):
    result = to_host(read())
    if result.dtype != expected.dtype or not np.array_equal(result.reshape(expected.shape), expected):
        raise SystemExit("the reader gives other values than the field has")
    del result
    own = getattr(reader, "seconds", None)
    seconds = own(repeats) if own is not None else median(read, device, repeats)
    return {"seconds": seconds, "nbytes": expected.nbytes, "stages": getattr(reader, "stages", None)}


def main(name, path, field, device, repeats, ncrops):
    field = np.load(field, mmap_mode="r")
    try:
        reader = peers.READERS[name](path, device)
    except ImportError as error:
        print(json.dumps({"absent": str(error)}))
        return
    answer = {"version": reader.version,
              "whole": case(reader, reader.whole, field, device, int(repeats))}
    if hasattr(reader, "crops") and int(ncrops) > 0:
        boxes = boxes_of(field, int(ncrops))
        expected = np.stack([field[box] for box in boxes])
        answer["crops"] = case(reader, lambda: reader.crops(boxes), expected, device, int(repeats))
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
