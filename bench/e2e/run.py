"""Whole arrays and random crops, from files to where they are used: headrace and its peers, in
one run. SPDX-License-Identifier: Apache-2.0

usage: PYTHONPATH=build/python run.py --make-data ../shared/bench/make_data.py [--device cuda:0]
           [--mib 1024] [--dir build/e2e] [--fields era,cells,label] [--codecs raw,zstd,…]
           [--layouts 1m,4m,shards] [--arrays cells-zstd-4m,…] [--readers headrace,…]
           [--crops 10000] [--repeat 5]

Writes the fields as Zarr v3 once (data.py says how), then measures every reader in a process of
its own on all the arrays, the files in the page cache; each first compares what it reads with the
field. Prints GB/s (10^9) of the array's elements, medians, and the stages of headrace's reads.
Crops are of 64 KiB, at random places, in one batch; where a reader has no batches, by one thread
per core, a hundredth as many. A reader that is not installed is left out, and where headrace
fails the exit status is 1; headrace-f32 and damacy give float32, whatever the array has. For
headrace with nvCOMP: NVCOMP=…/libnvcomp.so.6 and HEADRACE_BIN=…/headrace. Where cuFile has no
files: KVIKIO_COMPAT_MODE=ON CZARR_CUFILE=0. docs/benchmarks.md says how damacy is built.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import platform
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
READERS = ("headrace", "headrace-nvcomp", "damacy", "czarr", "zarrs", "tensorstore", "zarr-python",
           "zarr-gpu", "kvikio")
BATCHING = ("headrace", "headrace-f32", "damacy", "tensorstore")
SHARE_ALONE = 100


def start(script, *arguments):
    """In Python, with as many of the driver's queues as headrace's command takes."""
    return subprocess.Popen([sys.executable, "-W", "ignore", str(script), *map(str, arguments)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                            env={"CUDA_DEVICE_MAX_CONNECTIONS": "32", **os.environ})


def call(script, *arguments):
    with start(script, *arguments) as process:
        process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"{script} failed ({process.returncode})")


def measure(reader, names, o):
    """The reader's answer for each array; says so as they come."""
    ncrops = o.crops if reader in BATCHING else o.crops // SHARE_ALONE
    arrays = [path for name in names
              for path in (o.dir / f"{name}.zarr", field_of(name, o))]
    answers = {}
    with start(HERE / "measure.py", reader, o.device, o.repeat, ncrops, *arrays) as process:
        for name, line in zip(names, process.stdout):
            answers[name] = json.loads(line)
            print(f"{reader}, {name}: {told(answers[name])}", file=sys.stderr, flush=True)
    ended = {"failed": f"the process ended ({process.returncode})"}
    return {name: answers.get(name, ended) for name in names}


def cell(answer, case):
    if case not in answer:
        return "–"
    return f"{answer[case]['nbytes'] / answer[case]['seconds'] * 1e-9:.3g}"


def told(answer):
    return answer.get("absent") or ", ".join(
        [f"{case} {cell(answer, case)} GB/s" for case in ("whole", "crops") if case in answer]
        + ([answer["failed"]] if "failed" in answer else []))


def ratio(answers, case):
    """headrace's rate by that of the best other reader."""
    rates = {name: a[case]["nbytes"] / a[case]["seconds"] for name, a in answers.items() if case in a}
    peers = [rate for name, rate in rates.items() if not name.startswith("headrace")]
    return f"{rates['headrace'] / max(peers):.2f}×" if peers and "headrace" in rates else "–"


def field_of(name, o):
    return o.dir / "fields" / f"{name.partition('-')[0]}.npy"


def prepare(o):
    """Writes what is not there yet; the names of the arrays."""
    names = o.arrays.split(",") if o.arrays else \
        [f"{field}-{codec}-{layout}" for field in o.fields.split(",")
         for codec in o.codecs.split(",") for layout in o.layouts.split(",")]
    if not all(field_of(name, o).exists() for name in names):
        call(o.make_data, o.dir / "fields", o.mib)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: call(HERE / "data.py", o.dir / "fields", o.dir, name), names))
    return names


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--make-data", required=True, help="the script that writes the fields")
    p.add_argument("--device", default="cpu")
    p.add_argument("--mib", type=int, default=1024, help="of each field")
    p.add_argument("--dir", type=pathlib.Path, default=HERE.parents[1] / "build" / "e2e")
    p.add_argument("--fields", default="era,cells,label")
    p.add_argument("--codecs", default="raw,zstd,blosc-lz4,blosc-zstd,gzip")
    p.add_argument("--layouts", default="1m,4m,shards")
    p.add_argument("--arrays", help="FIELD-CODEC-LAYOUT,…: these, not all combinations")
    p.add_argument("--readers", default=",".join(READERS))
    p.add_argument("--crops", type=int, default=10000)
    p.add_argument("--repeat", type=int, default=5)
    o = p.parse_args()
    o.dir = o.dir.resolve() / str(o.mib)
    o.dir.mkdir(parents=True, exist_ok=True)
    return o


def table(arrays, answers):
    readers = [reader for reader in answers if any("version" in a for a in answers[reader].values())]
    print("| array | " + " | ".join(readers) + " | headrace ÷ best peer |")
    print("|---" * (len(readers) + 2) + "|")
    for name in arrays:
        for case in ("whole", "crops"):
            of = {reader: answers[reader][name] for reader in readers}
            if any(case in answer for answer in of.values()):
                print(f"| {name}, {case} | " + " | ".join(cell(of[r], case) for r in readers)
                      + f" | {ratio(of, case)} |")


def details(arrays, answers):
    """Versions; who is left out, and why; where headrace's time went."""
    versions = {reader: answer["version"] for reader, of in answers.items()
                for answer in of.values() if "version" in answer}
    print("\n" + ", ".join(f"{reader} {version}" for reader, version in versions.items()) + "\n")
    for reader, of in answers.items():
        for why in dict.fromkeys(answer["absent"] for answer in of.values() if "absent" in answer):
            print(f"left out: {reader}: {why}")
        for name in arrays:
            if "failed" in of[name]:
                print(f"{reader} does not read {name}: {of[name]['failed']}")
            for case in ("whole", "crops"):
                if of[name].get(case, {}).get("stages"):
                    print(f"{reader}, {name}, {case}: {of[name][case]['stages']['text']}")


def main():
    o = options()
    arrays = prepare(o)
    answers = {reader: measure(reader, arrays, o) for reader in o.readers.split(",")}
    print(f"{o.device}, {len(os.sched_getaffinity(0))} cores, {o.mib} MiB a field, GB/s of the "
          f"array, medians of {o.repeat}, Python {platform.python_version()}\n")
    table(arrays, answers)
    details(arrays, answers)
    if any("failed" in answer for answer in answers.get("headrace", {}).values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
