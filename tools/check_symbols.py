"""Check what libheadrace.so exports and needs. SPDX-License-Identifier: Apache-2.0

usage: check_symbols.py build/libheadrace.so

Exactly the functions that the public headers mark HR_API are exported, and neither CUDA
nor the C++ library is needed at load time.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORBIDDEN = re.compile(r"cuda|nvidia|nvcomp|cufile|libstdc\+\+|libc\+\+", re.IGNORECASE)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    names = set()
    for line in output("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":  # the version node itself
            names.add(name.split("@")[0])
    return names


def declared():
    names = set()
    for header in sorted((ROOT / "include").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
        names.update(re.findall(r"\bHR_API\b[^;]*?\b(hr_\w+)\s*\(", text))
    return names


def needed(library):
    text = output("readelf", "-d", library)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def main(library):
    have, want = exported(library), declared()
    problems = [f"exported but in no public header: {name}" for name in sorted(have - want)]
    problems += [f"declared HR_API but not exported: {name}" for name in sorted(want - have)]
    problems += [f"not an hr_ name: {name}" for name in sorted(have) if not name.startswith("hr_")]
    problems += [f"needs {name} at load time" for name in needed(library) if FORBIDDEN.search(name)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
