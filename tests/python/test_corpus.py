"""Files written by other software read as their authors' readers read them.

Drives the command over every Zarr row of the corpus manifest: the sha256 of the decoded
bytes must be the recorded one. HEADRACE_CORPUS names the unpacked corpus (its manifest
inside); without it everything here is skipped. SPDX-License-Identifier: Apache-2.0
"""

import concurrent.futures
import csv
import hashlib
import json
import os
import pathlib
import re

import pytest

from conftest import ROOT

CORPUS = pathlib.Path(os.environ.get("HEADRACE_CORPUS", ROOT / "build" / "corpus"))

# Codecs and types of the corpus that headrace does not decode: refused by name.
UNSUPPORTED = ("pcodec", "optional", "imagecodecs_tiff", "imagecodecs_delta")

# Classes that need a store of a later version.
LATER = {
    "kerchunk-array": "kerchunk references", "kerchunk-store": "kerchunk references",
    "kerchunk-parse-only": "kerchunk references", "bad-kerchunk": "kerchunk references",
    "zarr-zip-array": "zip stores", "bad-zarr-zip-array": "zip stores",
    "zip": "zip stores", "bad-zip": "zip stores",
}


def manifest():
    path = CORPUS / "MANIFEST.tsv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE))


MANIFEST = manifest()
ROWS = [r for r in MANIFEST if r["class"] in LATER or "zarr" in r["class"]]


def rows(*classes):
    chosen = [r for r in ROWS if r["class"] in classes]
    if not chosen:
        reason = f"no corpus at {CORPUS}" if not ROWS else "no such rows"
        return [pytest.param(None, id="absent", marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(r, id=r["path"] + (":" + r["inner"] if r["inner"] else ""))
            for r in chosen]


def place(row):
    """Path below the corpus folder; the manifest's begin with zarr/ or bad/."""
    return CORPUS / row["path"]


def refused_names(row):
    """What the row uses of the things that headrace refuses."""
    used = re.split(r"[^\w]+", f'{row["compression"]} {row["filters"]} {row["dtype"]}')
    return [name for name in UNSUPPORTED if name in used]


@pytest.fixture(scope="session")
def results(cli):
    """Every command that the tests look at, run at once: {(verb, path): result}."""
    wanted = []
    for row in ROWS:
        if row["class"] in ("zarr-array", "bad-zarr-array"):
            wanted.append(("read", place(row), "-o", "-"))
        if row["class"] not in LATER:
            wanted.append(("info", place(row), "--json"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda command: cli(*command), wanted)
        return {(command[0], str(command[1])): result for command, result in zip(wanted, done)}


def refused(result):
    """A clean failure: an exit status for errors and a message."""
    assert result.returncode in (1, 2), result
    assert result.stderr.strip(), "failed without a message"


@pytest.mark.parametrize("row", rows("zarr-array"))
def test_array_gives_the_recorded_bytes(row, results, cli):
    result = results["read", str(place(row))]
    assert not cli.crashed(result), result.stderr.decode()
    names = refused_names(row)
    if names:
        refused(result)
        assert result.returncode == 2
        assert any(name.encode() in result.stderr for name in names), result.stderr.decode()
        return
    if b"built without" in result.stderr:
        pytest.skip(result.stderr.decode().splitlines()[0])
    assert result.returncode == 0, result.stderr.decode()
    assert hashlib.sha256(result.stdout).hexdigest() == row["expected_sha256"]


@pytest.mark.parametrize("row", rows("zarr-array"))
def test_array_is_described(row, results, cli):
    result = results["info", str(place(row))]
    assert not cli.crashed(result), result.stderr.decode()
    if refused_names(row) or b"built without" in result.stderr:
        return  # the test above looks at its message
    assert result.returncode == 0, result.stderr.decode()
    info = json.loads(result.stdout)
    assert info["kind"] == "array"
    both = (place(row) / "zarr.json").exists()  # a folder with v2 metadata beside v3's
    assert info["format"] == ("zarr3" if both else row["format"])
    assert info["shape"] == json.loads(row["shape"])


@pytest.mark.parametrize("row", rows("zarr-group"))
def test_group_opens(row, results, cli):
    result = results["info", str(place(row))]
    assert not cli.crashed(result), result.stderr.decode()
    assert result.returncode == 0, result.stderr.decode()
    info = json.loads(result.stdout)
    assert (info["kind"], info["format"]) == ("group", row["format"])
    assert isinstance(info["members"], (list, dict))


@pytest.mark.parametrize("row", rows("bad-zarr-array"))
def test_bad_array_is_refused_or_gives_the_recorded_bytes(row, results, cli):
    result = results["read", str(place(row))]
    assert not cli.crashed(result), result.stderr.decode()
    if result.returncode == 0:
        assert hashlib.sha256(result.stdout).hexdigest() == row["expected_sha256"]
    else:
        refused(result)


@pytest.mark.parametrize("row", rows("bad-zarr-group", "bad-zarr"))
def test_bad_node_opens_or_is_refused(row, results, cli):
    result = results["info", str(place(row))]
    assert not cli.crashed(result), result.stderr.decode()
    if row["class"] == "bad-zarr":  # no Zarr of version 2 or 3
        assert result.returncode == 2
    if result.returncode != 0:
        refused(result)


@pytest.mark.parametrize("row", rows(*LATER))
def test_row_of_a_later_version(row):
    pytest.skip(f'not read yet: {LATER[row["class"]]}')
