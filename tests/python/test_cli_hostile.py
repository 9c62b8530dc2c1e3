"""The command where files, names and people get in its way.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import signal
import subprocess
import time

import pytest

import handmade
from cli_support import succeed
from conftest import BIN

EVIL = "\x1b[31mred\n\x9b2J\x7f"


def rows(folder):
    """20 × 30 int32, raw, one chunk per two rows; the last one is bad."""
    content = {f"{i}.0": bytes(240) for i in range(9)} | {"9.0": b"short"}
    return handmade.v2(folder / "rows", (20, 30), (2, 30), "<i4", content)


@pytest.mark.parametrize("command", [("read", "-s", ":18"), ("png", "-s", ":18")])
def test_a_file_is_replaced_only_by_a_whole_one(cli, folder, command):
    path, out = rows(folder), folder / ("o.npy" if command[0] == "read" else "o.png")
    place = ["-o", out] if command[0] == "read" else [out]
    out.write_text("the old one")
    out.chmod(0o640)
    result = cli(command[0], path, *place)
    assert result.returncode == 1 and b"9.0" in result.stderr
    assert out.read_text() == "the old one"
    succeed(cli(command[0], path, *command[1:], *place))
    assert out.stat().st_size > 50 and out.stat().st_mode & 0o777 == 0o640
    link = folder / "link.png"
    link.symlink_to(out.name)
    succeed(cli("png", path, link, "-s", ":18"))
    assert link.is_symlink() and out.read_bytes()[:4] == b"\x89PNG"
    assert sorted(p.name for p in folder.iterdir()) == sorted({out.name, "link.png", "rows"})


@pytest.mark.parametrize("command", ["read", "png"])
def test_what_is_no_plain_file_stays(cli, folder, command):
    path, pipe = rows(folder), folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    place = ["-o", pipe] if command == "read" else [pipe]
    succeed(cli(command, path, *place, "-s", ":4"))
    assert len(os.read(reader, 1 << 16)) > 50
    os.close(reader)
    full = folder / "full"
    full.symlink_to("/dev/full")
    place = ["-o", full] if command == "read" else [full]
    result = cli(command, path, *place, "-s", ":4")
    assert result.returncode == 1 and b"No space left" in result.stderr
    assert pipe.is_fifo() and full.is_symlink()
    for where in (folder, folder / "absent" / "x", ""):
        place = ["-o", where] if command == "read" else [where]
        result = cli(command, path, *place, "-s", ":4")
        assert result.returncode == 1 and b"cannot write" in result.stderr


@pytest.mark.parametrize("arguments", [
    ("stats",), ("verify",), ("read", "-o", "out.bin"), ("bench", "-s", "0:50000000", "-n", "1000")])
def test_an_interrupt_ends_it_at_once_and_leaves_nothing(folder, arguments):
    handmade.v3(folder / "endless", (2**40,), (2**16,), "float64", {})
    process = subprocess.Popen([BIN, arguments[0], "endless", *arguments[1:]], cwd=folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        time.sleep(0.7)
        assert process.poll() is None, process.stderr.read()
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        assert time.monotonic() - start < 10 and process.returncode == -signal.SIGINT
    finally:
        process.kill()
        process.stderr.close()
    assert os.listdir(folder) == ["endless"]


def test_names_that_are_no_text(cli, folder):
    group = handmade.put(folder / "g", {"zarr.json": {"zarr_format": 3, "node_type": "group"}})
    handmade.v3(folder / "a", (4,), (2,), "int8", {})
    for name in (b"lat\xff\xfe", b"\x1b[31mred", b"two\nlines", "größe".encode()):
        shutil.copytree(os.fsencode(folder / "a"), os.path.join(os.fsencode(group), name))
    paths = [m["path"] for m in json.loads(succeed(cli("info", "--json", group)))["members"]]
    assert paths == ["\x1b[31mred", "größe", "lat\ufffd\ufffd", "two\nlines"]
    verdict = json.loads(succeed(cli("verify", "--json", group)))
    assert [a["path"] for a in verdict["arrays"]] == paths
    text = succeed(cli("info", group)) + succeed(cli("verify", group))
    assert text.count("größe".encode()) == 4 and b"\x1b" not in text and b"\xff" not in text
    path = os.path.join(os.fsencode(group), b"lat\xff\xfe")
    assert json.loads(succeed(cli("info", "--json", os.fsdecode(path))))["shape"] == [4]


def test_a_terminal_obeys_no_metadata(cli, folder):
    strings = handmade.v3(
        folder / "s", (3,), (2,), "string", {}, fill_value=EVIL, codecs=[{"name": "vlen-utf8"}],
        attributes={EVIL: EVIL, "long": "é" * 1000}, dimension_names=[EVIL])
    struct = handmade.v2(folder / "t", (2,), (2,), [[EVIL, "<i4"], ["u", "<U2"]],
                         {"0": "\x9bA".join(["\x01\0\0\0", "B"]).encode("latin-1").ljust(24, b"\0")})
    unknown = handmade.v3(folder / "u", (3,), (2,), "int8", {}, codecs=[{"name": EVIL}])
    for command, path in [("info", strings), ("read", strings), ("info", struct), ("read", struct),
                          ("info", unknown), ("read", unknown), ("verify", unknown)]:
        result = cli(command, path)
        out = (result.stdout + result.stderr).decode()
        assert not cli.crashed(result) and out
        assert not [c for c in out if c != "\n" and (c < " " or "\x7f" <= c < "\xa0")], out


@pytest.mark.parametrize("url", [
    "", "file://", "file://%zz", "x" * 5000, "a/" * 3000, "/dev/null", "s3://b/a", "\udcff\udcfe"])
def test_urls_that_lead_nowhere(cli, url):
    result = cli("info", url)
    assert result.returncode == 2 and not cli.crashed(result) and b"error" in result.stderr
