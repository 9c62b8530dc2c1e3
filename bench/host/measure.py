"""One measurement of the host benchmark, in a process of its own. SPDX-License-Identifier: Apache-2.0

usage: measure.py READER PATH CASE WAY THREADS REPEATS VERIFY

Prints a JSON object: seconds (the median of the repeats), peak memory beyond the output
and beyond what was in use before the read, sha256 of what was read (with VERIFY 1), and
the reader's version.
"""

import concurrent.futures
import hashlib
import itertools
import json
import statistics
import sys
import time

import readers


def memory(field):
    with open("/proc/self/status", encoding="ascii") as text:
        line = next(line for line in text if line.startswith(field))
    return int(line.split()[1]) * 1024


def reset_peak():
    with open("/proc/self/clear_refs", "w", encoding="ascii") as control:
        control.write("5")


def boxes(shape, step):
    ranges = [range(0, n, s) for n, s in zip(shape, step)]
    for corner in itertools.product(*ranges):
        yield tuple(slice(a, min(a + s, n)) for a, s, n in zip(corner, step, shape))


def pieces(reader, case):
    """The pieces of the 1-D array that a case reads."""
    chunk = reader.chunks[0]
    first = [i * chunk for i in range(0, 15, 2)]
    if case == "8 chunks":
        return [(a, a + chunk) for a in first]
    if case == "64 slices":
        return [(a + o, a + o + 1000) for a in first
                for o in range(0, chunk - 1000, chunk // 8)][:64]
    return [(a, min(a + chunk, reader.shape[0])) for a in range(0, reader.shape[0], 2 * chunk)]


def work(reader, case, way, threads):
    """A function that does the case and returns what it read, piece by piece."""
    if case == "all":
        return lambda: [reader.box((slice(None),) * len(reader.shape))]
    if case in ("chunks", "inner chunks"):
        step = (reader.shards or reader.chunks) if case == "chunks" else reader.chunks
        places = list(boxes(reader.shape, step))
        pool = concurrent.futures.ThreadPoolExecutor(threads)
        if threads == 1:
            return lambda: map(reader.box, places)
        return lambda: pool.map(reader.box, places)
    chosen = pieces(reader, case)
    return lambda: [reader.many[way](chosen)]


def run(once, repeats, threads):
    """(median seconds, peak of memory beyond one result that each thread holds)."""
    seconds, extra = [], 0
    for _ in range(repeats):
        before = memory("VmRSS")
        reset_peak()
        start = time.perf_counter()
        held = 0
        for result in once():
            held = max(held, result.nbytes)
            del result
        seconds.append(time.perf_counter() - start)
        extra = max(extra, memory("VmHWM") - before - held * threads)
    return statistics.median(seconds), extra


def digest(once):
    total = hashlib.sha256()
    for result in once():
        total.update(result.tobytes() if not result.flags.c_contiguous else result.data)
    return total.hexdigest()


def main(name, path, case, way, threads, repeats, verify):
    reader = readers.READERS[name](path)
    once = work(reader, case, way, int(threads))
    answer = {"version": reader.version}
    if int(verify):
        answer["sha256"] = digest(once)
    else:
        if int(repeats) > 1:
            list(once())  # threads, caches and event loops are there now
        answer["seconds"], answer["extra"] = run(once, int(repeats), int(threads))
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
