"""Check that includes point downward only. SPDX-License-Identifier: Apache-2.0

The layers are those of docs/architecture.md. Every #include of the project's own files is
looked at; system headers are free, except where a layer must stay pure.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)

# What each part of src/ may include from src/.
ALLOWED = {
    "core": {"core"},
    "codec": {"core", "codec"},
    "store": {"core", "store"},
    "device": {"core", "device"},
    "format": {"core", "codec", "format"},
    "plan": {"core", "codec", "format", "plan"},
    "exec": {"core", "codec", "store", "device", "format", "plan", "exec"},
    "api": {"core", "codec", "store", "device", "format", "plan", "exec", "api"},
}
# Only these may see the parameter blocks of the kernels.
SEES_KERNELS = {"device", "exec"}
# System headers that mean input, output or a clock: not in a pure layer.
IMPURE = {"unistd.h", "fcntl.h", "time.h", "dlfcn.h", "sys/stat.h"}
PURE = {"plan", "format"}
# Folders outside src/ that see the public headers and their own folder only. Kernels are
# measured below the API.
PUBLIC_ONLY = ("cli", "bench", "examples", "python")
BELOW = ("bench/gpu",)
STANDARD = {"stddef.h", "stdint.h", "stdbool.h"}


def files(folder, *suffixes):
    base = ROOT / folder
    found = (p for p in base.rglob("*") if p.suffix in suffixes) if base.is_dir() else ()
    return sorted(found)


def includes(path):
    for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
        yield match.group(1) == '"', match.group(2)


def check_source(path):
    """One file of src/: yields what is wrong."""
    layer = path.relative_to(ROOT / "src").parts[0]
    part = path.relative_to(ROOT / "src").parts[1:-1]  # ("zarr",) in src/format/zarr
    for quoted, name in includes(path):
        if not quoted:
            if layer in PURE and name in IMPURE:
                yield f"<{name}> in a layer without I/O"
            if name.startswith("cuda"):
                yield f"<{name}>: CUDA headers stay out of the host code"
            continue
        top = name.split("/")[0]
        if name == "cuda/kernel_abi.h":
            if layer not in SEES_KERNELS:
                yield f'"{name}" is for {", ".join(sorted(SEES_KERNELS))}'
        elif top not in ALLOWED:
            yield f'"{name}": write includes of src/ from src/, public ones as <headrace/…>'
        elif top not in ALLOWED[layer]:
            yield f'"{name}": {layer} may not see {top}'
        elif layer == top == "format":
            other = name.split("/")[1:-1]
            if other and tuple(other) != part:
                yield f'"{name}": formats do not see each other'


def check_public(path):
    for quoted, name in includes(path):
        if quoted or not (name.startswith("headrace/") or name in STANDARD):
            yield f"{name}: public headers include <headrace/…> and {sorted(STANDARD)} only"


def check_kernels(path):
    for quoted, name in includes(path):
        if quoted and not (path.parent / name).exists():
            yield f'"{name}": kernels see the files beside them only'
        if not quoted and name.startswith("headrace/"):
            yield f"<{name}>: kernels see the files beside them only"


def check_kernels_on_host(path):
    for quoted, name in includes(path):
        if quoted and not name.startswith(("cuda/", "device/")):
            yield f'"{name}": what compiles the kernels for the host sees them and device/'


def check_user(path):
    for quoted, name in includes(path):
        if quoted and not (path.parent / name).exists():
            yield f'"{name}": only <headrace/…> and headers of the same folder'


def check_extension(path):
    for quoted, name in includes(path):
        if not quoted and name.endswith("Python.h") and path.name != "ext.h":
            yield f"<{name}>: by ext.h, which sets the limited API"


def main():
    problems = []

    def run(check, paths):
        for path in paths:
            problems.extend(f"{path.relative_to(ROOT)}: {text}" for text in check(path))

    unknown = {p.relative_to(ROOT / "src").parts[0] for p in files("src", ".c", ".h")} - set(ALLOWED)
    problems.extend(f"src/{name}: not a layer" for name in sorted(unknown))
    run(check_source, [p for p in files("src", ".c", ".h")
                       if p.relative_to(ROOT / "src").parts[0] in ALLOWED])
    run(check_public, files("include", ".h"))
    run(check_kernels, files("cuda", ".cu", ".h", ".cuh"))
    run(check_kernels_on_host, files("src/device", ".cpp"))
    for folder in PUBLIC_ONLY:
        run(check_user, [p for p in files(folder, ".c", ".h")
                         if str(p.parent.relative_to(ROOT)) not in BELOW])
    run(check_extension, files("python/ext", ".c", ".h"))
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
