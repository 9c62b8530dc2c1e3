"""Metadata of the package in a build tree: dist_info.py pyproject.toml FOLDER.

SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import sys
import tomllib

project = tomllib.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
folder = pathlib.Path(sys.argv[2], f"{project['name']}-{project['version']}.dist-info")
folder.mkdir(parents=True, exist_ok=True)
(folder / "METADATA").write_text(
    f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
lines = []
for group, points in project.get("entry-points", {}).items():
    lines += [f"[{group}]", *(f"{name} = {place}" for name, place in points.items()), ""]
(folder / "entry_points.txt").write_text("\n".join(lines))
