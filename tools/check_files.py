"""Check sizes and first lines of the source files. SPDX-License-Identifier: Apache-2.0

More than 1000 lines in a file or 150 in a function fail; over 400 and 60 are listed as a
warning. Every file says its licence near the top and ends with one newline.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = {".c", ".h", ".cu", ".cuh", ".py", ".sh", ".cmake"}
C_LIKE = {".c", ".h", ".cu", ".cuh"}
FILE_WARN, FILE_FAIL = 400, 1000
FUNCTION_WARN, FUNCTION_FAIL = 60, 150


def tracked():
    text = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                          cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = (ROOT / name for name in text.split("\0") if name)
    return sorted(p for p in paths if p.suffix in SOURCE and p.is_file())


def functions(lines):
    """(name, number of lines) of the functions of a file in the project's formatting."""
    start = name = None
    for number, line in enumerate(lines):
        if start is None and line.endswith("{") and not line.startswith((" ", "}")):
            head = " ".join(lines[max(0, number - 4):number + 1])
            match = re.findall(r"(\w+)\(", head)
            struct = re.search(r"\b(struct|enum|union)\s+\w*\s*\{$|=\s*\{$", line)
            if match and not struct:
                start, name = number, match[-1]
        elif start is not None and line.startswith("}"):
            yield name, number - start + 1
            start = None


def check(path, failures, warnings):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    where = path.relative_to(ROOT)
    if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(lines[:12]):
        failures.append(f"{where}: no SPDX-License-Identifier in the first lines")
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        failures.append(f"{where}: must end with one newline")
    if len(lines) > FILE_FAIL:
        failures.append(f"{where}: {len(lines)} lines, at most {FILE_FAIL}")
    elif len(lines) > FILE_WARN:
        warnings.append(f"{where}: {len(lines)} lines, aim at {FILE_WARN}")
    if path.suffix in C_LIKE:
        for name, length in functions(lines):
            if length > FUNCTION_FAIL:
                failures.append(f"{where}: {name} has {length} lines, at most {FUNCTION_FAIL}")
            elif length > FUNCTION_WARN:
                warnings.append(f"{where}: {name} has {length} lines, aim at {FUNCTION_WARN}")


def main():
    failures, warnings = [], []
    for path in tracked():
        check(path, failures, warnings)
    for text in warnings:
        print(f"warning: {text}")
    for text in failures:
        print(text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
