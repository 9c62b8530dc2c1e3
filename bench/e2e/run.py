"""Whole arrays and random crops, from files to where they are used: headrace and its peers, in
one run. SPDX-License-Identifier: Apache-2.0

usage: PYTHONPATH=build/python run.py --make-data ../shared/bench/make_data.py [--device cuda:0]
           [--mib 1024] [--dir build/e2e] [--fields era,cells,label] [--codecs raw,zstd,…]
           [--layouts 1m,4m,shards] [--readers headrace,…] [--crops 10000] [--repeat 5]

Writes the fields as Zarr v3 once (data.py says how), then measures every reader of every array in
a fresh process, the files in the page cache; each first compares what it reads with the field.
Prints GB/s (10^9) of output, medians, and the stages of headrace's reads. Crops are of 64 KiB, at
random places, in one batch or by one thread per core; peers read a tenth as many. A reader that
is not installed is left out. For headrace with nvCOMP: NVCOMP=…/libnvcomp.so.6 and
HEADRACE_BIN=…/headrace.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
READERS = ("headrace", "headrace-nvcomp", "zarrs", "tensorstore", "zarr-python", "zarr-gpu", "kvikio")
PEER_SHARE = 10


def call(script, *arguments):
    return subprocess.run([sys.executable, "-W", "ignore", str(script), *map(str, arguments)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def measure(reader, path, field, o):
    ncrops = o.crops if reader == "headrace" else o.crops // PEER_SHARE
    try:
        text = call(HERE / "measure.py", reader, path, field, o.device, o.repeat, ncrops)
        return json.loads(text.splitlines()[-1])
    except subprocess.CalledProcessError as error:  # which said why on stderr
        return {"absent": f"{path.name}: failed ({error.returncode})"}


def cell(answer, case):
    if case not in answer:
        return "–"
    return f"{answer[case]['nbytes'] / answer[case]['seconds'] * 1e-9:.3g}"


def ratio(answers, case):
    """headrace's rate by that of the best other reader."""
    rates = {name: a[case]["nbytes"] / a[case]["seconds"] for name, a in answers.items() if case in a}
    peers = [rate for name, rate in rates.items() if not name.startswith("headrace")]
    return f"{rates['headrace'] / max(peers):.2f}×" if peers and "headrace" in rates else "–"


def arrays(o):
    """(path, field), written where they are not there yet."""
    fields = o.dir / "fields"
    if not (fields / "era.npy").exists():
        call(o.make_data, fields, o.mib)
    for field in o.fields.split(","):
        call(HERE / "data.py", fields / f"{field}.npy", o.dir, o.codecs, o.layouts)
        for codec in o.codecs.split(","):
            for layout in o.layouts.split(","):
                yield o.dir / f"{field}-{codec}-{layout}.zarr", fields / f"{field}.npy"


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--make-data", required=True, help="the script that writes the fields")
    p.add_argument("--device", default="cpu")
    p.add_argument("--mib", type=int, default=1024, help="of each field")
    p.add_argument("--dir", type=pathlib.Path, default=HERE.parents[1] / "build" / "e2e")
    p.add_argument("--fields", default="era,cells,label")
    p.add_argument("--codecs", default="raw,zstd,blosc-lz4,blosc-zstd,gzip")
    p.add_argument("--layouts", default="1m,4m,shards")
    p.add_argument("--readers", default=",".join(READERS))
    p.add_argument("--crops", type=int, default=10000)
    p.add_argument("--repeat", type=int, default=5)
    o = p.parse_args()
    o.dir = o.dir.resolve() / str(o.mib)
    o.dir.mkdir(parents=True, exist_ok=True)
    return o


def main():
    o = options()
    names, versions, absent, profiles = o.readers.split(","), {}, {}, []
    print(f"{o.device}, {len(os.sched_getaffinity(0))} cores, {o.mib} MiB a field, GB/s of output, "
          f"medians of {o.repeat}, Python {platform.python_version()}\n")
    print("| array | " + " | ".join(names) + " | headrace ÷ best peer |")
    print("|---" * (len(names) + 2) + "|")
    for path, field in arrays(o):
        answers = {name: measure(name, path, field, o) for name in names if name not in absent}
        for name, answer in answers.items():
            versions.setdefault(name, answer.get("version"))
            if "absent" in answer and "failed" not in answer["absent"]:
                absent[name] = answer["absent"]
        for case in ("whole", "crops"):
            print(f"| {path.stem}, {case} | "
                  + " | ".join(cell(answers.get(name, {}), case) for name in names)
                  + f" | {ratio(answers, case)} |", flush=True)
            stages = answers.get("headrace", {}).get(case, {}).get("stages")
            if stages is not None:
                profiles.append(f"{path.stem}, {case}: {stages['text']}")
    print("\n" + ", ".join(f"{n} {v}" for n, v in versions.items() if v) + "\n")
    print("".join(f"left out: {n}: {why}\n" for n, why in absent.items()))
    print("\n".join(profiles))


if __name__ == "__main__":
    main()
