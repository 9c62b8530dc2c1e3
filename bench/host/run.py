"""Compare headrace with other readers on the host, in one run. SPDX-License-Identifier: Apache-2.0

headrace is the library through ctypes, headrace-python its package, headrace-zarr
zarr-python with the package's pipeline.

usage: run.py [--size 1024] [--repeat 5] [--dir build/bench] [--readers a,b] [--record]

Writes the data sets once, then measures every case in fresh processes, the readers taking
turns, with the files in the page cache; checks that all readers gave the same bytes; prints
a table of medians. --record puts the table into docs/benchmarks.md.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
READERS = ("headrace", "headrace-python", "headrace-zarr", "zarrs-python", "tensorstore",
           "zarr-python")
WAYS = {"headrace": ("one batch",), "headrace-python": ("one batch",),
        "headrace-zarr": ("joined indexers", "gathered slices", "integer index"),
        "tensorstore": ("batch", "integer index"),
        "zarrs-python": ("joined indexers", "gathered slices", "integer index"),
        "zarr-python": ("joined indexers", "gathered slices", "integer index")}
MIB = 1 << 20


def cases(threads):
    """(title, data set, case, threads, repeats in a process)."""
    for name in ("plain", "zstd", "shards"):
        yield f"{name}: read all", name, "all", 1, 1
    for name in ("plain", "zstd", "shards"):
        for n in sorted({1, threads}):
            yield f"{name}: chunk by chunk, {n} at once", name, "chunks", n, 1
    for n in sorted({1, threads}):
        yield f"shards: inner chunk by inner chunk, {n} at once", "shards", "inner chunks", n, 1
    yield "doubles: 8 aligned chunks", "doubles", "8 chunks", 1, 15
    yield "doubles: 64 slices of 1000 in 8 chunks", "doubles", "64 slices", 1, 15
    yield "doubles: every other chunk", "doubles", "every other", 1, 5


def measure(reader, folder, case, way, verify=False):
    _, name, what, threads, repeats = case
    command = [sys.executable, str(HERE / "measure.py"), reader, str(folder / f"{name}.zarr"),
               what, way, str(threads), str(repeats), str(int(verify))]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{reader}, {case[0]}, {way}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def is_many(case):
    return case[2] in ("8 chunks", "64 slices", "every other")


def run_case(case, chosen, folder, repeat):
    """{reader: (seconds, extra memory, way)} with each reader's best way."""
    tries = [(r, way) for r in chosen for way in (WAYS[r] if is_many(case) else ("",))]
    hashes = {t: measure(t[0], folder, case, t[1], verify=True) for t in tries}
    if len({h["sha256"] for h in hashes.values()}) != 1:
        raise SystemExit(f"{case[0]}: the readers disagree: {hashes}")
    times = {t: [] for t in tries}
    for _ in range(repeat):
        for t in tries:
            times[t].append(measure(t[0], folder, case, t[1]))
    best = {}
    for (reader, way), runs in times.items():
        seconds = statistics.median(r["seconds"] for r in runs)
        extra = max(r["extra"] for r in runs)
        if reader not in best or seconds < best[reader][0]:
            best[reader] = (seconds, extra, way)
    versions = {t[0]: hashes[t]["version"] for t in tries}
    return best, versions


def shown(seconds):
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def row(case, best, chosen):
    cells = [case[0]]
    for reader in chosen:
        seconds, extra, way = best[reader]
        cells.append(f"{shown(seconds)} (+{max(0, extra) / MIB:.0f} MiB)"
                     + (f"<br>{way}" if way and way != "one batch" else ""))
    peers = [best[r][0] for r in best if not r.startswith("headrace")]
    if "headrace" in best and peers:
        peer = min(peers)
        cells.append(f"{peer / best['headrace'][0]:.2f}×")
    return "| " + " | ".join(cells) + " |"


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"model name\s*: (.*)", text)
    return found.group(1) if found else platform.machine()


def table(arguments, lines, versions, chosen):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    head = ["case", *chosen] + (["best peer ÷ headrace"] if "headrace" in chosen else [])
    return "\n".join([
        f"{datetime.date.today()}, {processor()}, {len(os.sched_getaffinity(0))} cores, "
        f"{memory:.0f} GiB, Linux {platform.release().split('-')[0]}, "
        f"Python {platform.python_version()}; "
        + ", ".join(f"{r} {v}" for r, v in versions.items())
        + f". Medians of {arguments.repeat} processes, files in the page cache, outputs equal; "
        f"in brackets the peak of memory beyond the output. Command: "
        f"`make bench-host BENCH_FLAGS=\"--size {arguments.size} --repeat {arguments.repeat}\"`.",
        "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|", *lines])


def record(text, size):
    path = ROOT / "docs" / "benchmarks.md"
    begin, end = f"<!-- host {size} begin -->", f"<!-- host {size} end -->"
    page = path.read_text(encoding="utf-8")
    start, stop = page.index(begin) + len(begin), page.index(end)
    path.write_text(page[:start] + "\n" + text + "\n" + page[stop:], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024, help="side of the volumes")
    parser.add_argument("--repeat", type=int, default=5, help="processes per measurement")
    parser.add_argument("--dir", default=str(ROOT / "build" / "bench"))
    parser.add_argument("--readers", default=",".join(READERS))
    parser.add_argument("--only", default="", help="cases whose title has this in it")
    parser.add_argument("--record", action="store_true", help="write docs/benchmarks.md")
    arguments = parser.parse_args()

    folder = pathlib.Path(arguments.dir).resolve() / str(arguments.size)
    if not (folder / "done").exists():
        print(f"writing the data sets to {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-W", "ignore", str(HERE / "data.py"), str(folder),
                        str(arguments.size)], check=True)
    chosen, lines, versions = arguments.readers.split(","), [], {}
    for case in cases(len(os.sched_getaffinity(0))):
        if arguments.only not in case[0]:
            continue
        best, found = run_case(case, chosen, folder, arguments.repeat)
        versions.update(found)
        lines.append(row(case, best, chosen))
        print(lines[-1], file=sys.stderr, flush=True)
    text = table(arguments, lines, versions, chosen)
    print(text)
    if arguments.record:
        record(text, arguments.size)


if __name__ == "__main__":
    main()
