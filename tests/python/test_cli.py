"""The command: what it prints, what it writes, how it ends. SPDX-License-Identifier: Apache-2.0"""

import json
import os
import re
import shutil
import struct
import subprocess

import numpy as np
import pytest
import zarr

import handmade
from cli_support import CUBE, SHAPE, succeed, write
from conftest import BIN, ROOT


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    return write(tmp_path_factory.mktemp("cube") / "cube", CUBE, (6, 11, 3))


def take(array, *index):
    """Lists and slices axis by axis; an integer drops its axis."""
    axis = 0
    for item in index:
        array = array[(slice(None),) * axis + (item,)]
        axis += not isinstance(item, int)
    return array


# info


def test_info_json_of_an_array(cli, folder):
    path = write(folder / "a", CUBE.astype("<f4"), (5, 10, 7), shards=(10, 30, 7),
                 dimension_names=["t", None, "x"], fill_value=np.nan,
                 attributes={"units": "K", "big": 2**64 - 1, "small": 1e-300, "ü": [1, None]})
    info = json.loads(succeed(cli("info", "--json", path)))
    assert set(info) == {"kind", "format", "shape", "dtype", "chunks", "shards", "codecs",
                         "fill_value", "dimension_names", "attributes"}
    assert (info["kind"], info["format"], info["dtype"]) == ("array", "zarr3", "<f4")
    assert (info["shape"], info["chunks"], info["shards"]) == ([20, 30, 7], [5, 10, 7], [10, 30, 7])
    assert info["dimension_names"] == ["t", None, "x"]
    assert info["fill_value"] == "NaN"
    assert info["codecs"][0]["name"] == "sharding_indexed"
    assert info["attributes"] == {"units": "K", "big": 2**64 - 1, "small": 1e-300, "ü": [1, None]}


def test_info_json_of_a_version_2_array(cli, folder):
    path = handmade.v2(folder / "a", (3,), (2,), "|b1", {})
    info = json.loads(succeed(cli("info", path, "--json")))
    assert (info["format"], info["dtype"], info["chunks"]) == ("zarr2", "|b1", [2])
    assert (info["shards"], info["dimension_names"], info["codecs"]) == (None, None, [])


@pytest.fixture
def group(folder):
    root = zarr.create_group(str(folder / "g"), attributes={"title": "t"})
    for where in (root, root.create_group("inner")):
        where.create_array("a", shape=(4,), chunks=(2,), dtype="<i2", attributes={"unit": "m"})[:] = 1
    return folder / "g"


def test_info_of_a_group(cli, group):
    info = json.loads(succeed(cli("info", "--json", group)))
    assert (info["kind"], info["format"], info["attributes"]) == ("group", "zarr3", {"title": "t"})
    assert info["members"] == [{"path": "a", "kind": "array"}, {"path": "inner", "kind": "group"},
                               {"path": "inner/a", "kind": "array"}]
    text = succeed(cli("info", group)).decode()
    assert "inner/a  (4,)  <i2" in text and 'unit: "m"' in text and 'title: "t"' in text


def test_a_malformed_member_is_named_beside_the_others(cli, group):
    (group / "bad").mkdir()
    (group / "bad" / "zarr.json").write_text('{"zarr_format": 3')
    info = json.loads(succeed(cli("info", "--json", group)))
    assert [m["kind"] for m in info["members"]] == ["array", "unreadable", "group", "array"]
    text = succeed(cli("info", group)).decode()
    assert "bad  cannot be opened: " in text and "inner/a  (4,)  <i2" in text
    result = cli("verify", group)
    assert result.returncode == 1 and b"bad: cannot be opened" in result.stdout
    assert b"inner/a: 2 chunks" in result.stdout
    report = json.loads(cli("verify", "--json", group).stdout)
    assert (report["ok"], report["nbad"], report["chunks"]) == (False, 1, 4)


def test_info_is_readable(cli, cube):
    text = succeed(cli("info", cube)).decode()
    for part in ("(20, 30, 7)", "<i4", "(6, 11, 3)", "zstd", "36 chunks"):
        assert part in text
    assert "\x1b" not in text


# read


@pytest.mark.parametrize("text, index", [
    ("", ()), ("::-1", np.s_[::-1,]), ("3", (3,)), ("...,-2", np.s_[:, :, 5]),
    ("1:9:3,[5,4,4],::-2", np.s_[1:9:3, [5, 4, 4], ::-2]), ("5:5", np.s_[5:5,]),
    ("[19,0,-1],:,[2,3]", np.s_[[19, 0, 19], :, [2, 3]]), ("-1,-1,-1", (19, 29, 6)),
    ("100:,...", np.s_[100:,]), ("[],:,1", np.s_[np.array([], int), :, 1]),
    ("2:4, 8 , 1:", np.s_[2:4, 8, 1:]), ("15::-4", np.s_[15::-4,]),
])
def test_read_selects_as_numpy_does(cli, cube, folder, text, index):
    expected = np.asarray(take(CUBE, *index), order="C")
    out = folder / "out.npy"
    succeed(cli("read", cube, "-s", text, "-o", out))
    array = np.load(out)
    assert array.dtype == expected.dtype and np.array_equal(array, expected)
    assert succeed(cli("read", cube, "--select", text, "--output", "-")) == expected.tobytes()


@pytest.mark.parametrize("dtype", ["|b1", "|i1", "<u2", ">i4", "<u8", "<f2", ">f4", "<f8", "<c8",
                                   ">c16", "<M8[ns]", ">M8[10s]", "<m8[D]", "|S5", "<U3", ">U3",
                                   "|V3"])
def test_npy_and_plain_bytes_of_every_type(cli, folder, dtype):
    rng = np.random.default_rng(1)
    big = np.dtype(dtype).newbyteorder(">")
    if big.kind in "SU":
        data = np.array([b"a", b"", b"xyz", b"q"]).astype(dtype)
    elif big.kind == "b":
        data = np.array([True, False, True, True])
    else:
        data = np.frombuffer(rng.bytes(4 * big.itemsize), dtype)
    path = handmade.v2(folder / "a", (4,), (4,), dtype, {"0": data.tobytes()}, fill_value=None)
    little = data.astype(data.dtype.newbyteorder("<"))
    assert succeed(cli("read", path, "-o", "-")) == little.tobytes()
    succeed(cli("read", path, "-o", folder / "o.npy"))
    array = np.load(folder / "o.npy")
    assert (array.dtype, array.tobytes()) == (little.dtype, little.tobytes())


def test_structures(cli, folder):
    dtype = np.dtype([("a", ">i2"), ("b", [("x", "<f4"), ("y", "|S3")]), ("c", "<u2", (2, 3))])
    data = np.frombuffer(np.random.default_rng(2).bytes(5 * dtype.itemsize), dtype)
    fields = [["a", ">i2"], ["b", [["x", "<f4"], ["y", "|S3"]]], ["c", "<u2", [2, 3]]]
    path = handmade.v2(folder / "a", (5,), (2,), fields, {
        str(i): data[2 * i:2 * i + 2].tobytes().ljust(2 * dtype.itemsize, b"\0") for i in range(3)},
        fill_value=None)
    little = data.astype(dtype.newbyteorder("<"))
    assert succeed(cli("read", path, "-o", "-")) == little.tobytes()
    succeed(cli("read", path, "-o", folder / "o.npy"))
    array = np.load(folder / "o.npy")
    assert array.dtype == little.dtype and array.tobytes() == little.tobytes()


def test_variable_length_text(cli, folder):
    texts = ["", "a", "héllo", "漢字"]
    path = write(folder / "a", np.array(texts, dtype=np.dtypes.StringDType()), (3,), fill_value="")
    expected = b"".join(struct.pack("<I", len(t.encode())) + t.encode() for t in texts)
    assert succeed(cli("read", path, "-o", "-")) == expected
    result = cli("read", path, "-o", folder / "o.npy")
    assert result.returncode == 2 and b"-o -" in result.stderr
    assert not (folder / "o.npy").exists()
    assert "'héllo'" in succeed(cli("read", path)).decode()


def test_a_scalar_and_nothing(cli, folder):
    path = write(folder / "a", np.array(5.5))
    assert load_output(cli, path, folder).shape == ()
    assert b"5.5" in succeed(cli("read", path))
    path = write(folder / "b", np.zeros((3, 0), "<i2"), (2, 1))
    assert load_output(cli, path, folder).shape == (3, 0)
    assert succeed(cli("read", path, "-o", "-")) == b""


def load_output(cli, path, folder, *options):
    succeed(cli("read", path, "-o", folder / "o.npy", *options))
    return np.load(folder / "o.npy")


def test_read_shows_a_summary(cli, cube):
    text = succeed(cli("read", cube, "-s", "0,:,0")).decode()
    assert "(30,)" in text and "<i4" in text and "GB/s" in text
    assert "[  0   7  14 ... 189 196 203]" in text


def test_a_failed_read_leaves_no_file(cli, folder):
    path = handmade.v2(folder / "a", (4,), (2,), "<i2", {"0": b"\0\0\0\0", "1": b"x"})
    result = cli("read", path, "-o", folder / "o.npy")
    assert result.returncode == 1 and not (folder / "o.npy").exists()
    result = cli("read", path, "-o", folder / "absent" / "o.npy", "-s", ":2")
    assert result.returncode == 1 and b"o.npy" in result.stderr


def test_a_full_disk_is_an_error(cli, cube):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    result = cli("read", cube, "-o", "/dev/full")
    assert result.returncode == 1 and b"No space left" in result.stderr
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BIN, "info", cube], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and b"standard output" in done.stderr


def test_a_reader_that_leaves_ends_it_quietly(folder):
    path = handmade.v2(folder / "a", (10_000_000,), (1_000_000,), "<f8", {})
    with subprocess.Popen([BIN, "read", path, "-o", "-"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""


# How it ends


@pytest.mark.parametrize("arguments, part", [
    ((), b"Usage"), (("frob",), b"frob"), (("info",), b"arguments"), (("read", "A", "B"), b"'B'"),
    (("info", "A", "--frob"), b"--frob"), (("info", "A", "-s", "1"), b"--select"),
    (("read", "A", "-s", "0,,"), b"column 3"), (("read", "A", "-s", "20"), b"out of bounds"),
    (("read", "A", "-s"), b"wants a value"), (("read", "A", "--threads", "x"), b"--threads"),
    (("read", "A", "--threads", "1025"), b"1 to 1024"),
    (("read", "A", "--device", "tpu"), b"tpu"), (("bench", "A", "-n", "0"), b"-n"),
    (("read", "A/absent"), b"absent"), (("help", "frob"), b"frob"),
    (("info", "A", "--strict"), b"'headrace help info'"), (("--frob",), b"'headrace help'"),
])
def test_wrong_usage_gives_2(cli, cube, arguments, part):
    result = cli(*(a.replace("A", cube, 1) if a.startswith("A") else a for a in arguments))
    assert result.returncode == 2 and result.stdout == b""
    assert part in result.stderr, result.stderr.decode()


def test_a_bad_selection_is_pointed_at(cli, cube):
    lines = cli("read", cube, "-s", "1:2, x").stderr.decode().splitlines()
    assert lines[0].startswith("headrace: error: selection: ")
    assert lines[1] == "  1:2, x" and lines[2].index("^") == lines[1].index("x")


def test_what_cannot_be_opened_gives_2(cli, folder):
    (folder / "file").write_bytes(b"no array")
    (folder / "empty").mkdir()
    (folder / "bad").mkdir()
    (folder / "bad" / "zarr.json").write_bytes(b"{")
    for name in ("file", "empty", "bad", "absent"):
        for command in ("info", "read", "stats", "verify", "explain", "bench"):
            result = cli(command, folder / name)
            assert result.returncode == 2 and result.stdout == b""
            assert result.stderr.startswith(b"headrace: error: ") and name.encode() in result.stderr


def test_groups_are_not_read(cli, group):
    result = cli("read", group)
    assert result.returncode == 2 and b"group" in result.stderr


def test_help_and_version(cli):
    version = succeed(cli("--version")).decode()
    assert re.fullmatch(r"headrace \d+\.\d+\.\d+\n", version)
    overview = succeed(cli("help")).decode()
    assert succeed(cli("--help")).decode() == overview
    commands = re.findall(r"^  (\w+) ", overview, re.MULTILINE)
    assert {"info", "read", "stats", "verify", "png", "explain", "bench", "doctor"} <= set(commands)
    manual = (ROOT / "docs" / "man" / "headrace.1").read_text()
    for name in set(commands) - {"help"}:
        text = succeed(cli("help", name)).decode()
        assert text == succeed(cli(name, "--help")).decode()
        assert f".B {name}\n" in manual
        assert max(map(len, text.splitlines())) <= 80
        for option in re.findall(r"--[a-z-]+", text):
            assert option.replace("-", r"\-") in manual, option


def test_environment(cube):
    def run(**variables):
        return subprocess.run([BIN, "read", cube, "-o", "-"], capture_output=True, check=False,
                              env=os.environ | variables)
    assert run(HEADRACE_THREADS="1").stdout == CUBE.tobytes()
    assert run(HEADRACE_LOG="debug").returncode == 0
    assert run(HEADRACE_THREADS="many").returncode == 2
    assert run(HEADRACE_LOG="loud").returncode == 2


# stats


@pytest.mark.parametrize("dtype", ["|i1", "<u2", ">i4", "<i8", "<u8", "<f2", "<f4", ">f8", "|b1"])
def test_stats(cli, folder, dtype):
    rng = np.random.default_rng(3)
    values = rng.integers(0, 100, SHAPE)
    data = (values if np.dtype(dtype).kind == "u" else values - 50).astype(dtype)
    path = write(folder / "a", data, (7, 7, 7), fill_value=3 if dtype != "|b1" else False)
    for text, part in (("", data), ("::-3,[4,2,2],1", take(data, slice(None, None, -3), [4, 2, 2], 1))):
        stats = json.loads(succeed(cli("stats", "--json", path, "-s", text)))
        assert stats["count"] == part.size and stats["nan"] == 0
        assert stats["fill"] == (part == (3 if dtype != "|b1" else False)).sum()
        assert (stats["min"], stats["max"]) == (float(part.min()), float(part.max()))
        exact = part.astype(np.float64)
        assert stats["mean"] == pytest.approx(exact.mean(), rel=1e-14, abs=1e-14)
        assert stats["std"] == pytest.approx(exact.std(), rel=1e-12)


def test_stats_are_exact_and_leave_nan_out(cli, folder):
    big = np.array([2**63 - 1, -2**63, 2**63 - 2], "<i8")
    stats = json.loads(succeed(cli("stats", "--json", write(folder / "a", big))))
    assert (stats["min"], stats["max"]) == (-2**63, 2**63 - 1)
    some = np.array([np.nan, 1, 3, np.inf, np.nan], "<f4")
    stats = json.loads(succeed(cli("stats", "--json", write(folder / "b", some, fill_value=np.nan))))
    assert stats["count"] == 5 and stats["nan"] == stats["fill"] == 2
    assert stats["min"] == 1 and stats["max"] == float("inf") and stats["std"] is None
    stats = json.loads(succeed(cli("stats", "--json", write(folder / "c", np.array([3 + 4j, 0])))))
    assert (stats["min"], stats["max"], stats["mean"]) == (0, 5, 2.5)
    nothing = json.loads(succeed(cli("stats", "--json", write(folder / "d", some), "-s", "0:0")))
    assert nothing["count"] == 0 and nothing["min"] is None and nothing["mean"] is None


def test_stats_of_dates_and_of_text(cli, folder):
    dates = np.array(["2000-01-01", "NaT", "2000-01-03"], "M8[ns]").tobytes()
    path = handmade.v2(folder / "a", (3,), (3,), "<M8[ns]", {"0": dates})
    stats = json.loads(succeed(cli("stats", "--json", path)))
    assert stats["nan"] == 1 and stats["max"] == "2000-01-03T00:00:00.000000000"
    assert stats["mean"] == "2000-01-02T00:00:00.000000000"
    path = handmade.v2(folder / "s", (3,), (3,), "|S2", {})
    result = cli("stats", path)
    assert result.returncode == 2 and b"|S2" in result.stderr


# verify


def damage(folder, **options):
    """An array of 2 × 5 chunks: one truncated, one empty, one a directory, one missing."""
    array = zarr.create_array(str(folder / "d"), shape=(20, 50), chunks=(10, 10), dtype="<i4",
                              **options)
    array[:] = np.arange(1000).reshape(20, 50)
    chunks = folder / "d" / "c"
    whole = (chunks / "0" / "1").read_bytes()
    (chunks / "0" / "1").write_bytes(whole[:len(whole) // 2])
    (chunks / "0" / "2").write_bytes(b"")
    (chunks / "1" / "0").unlink()
    (chunks / "1" / "0").mkdir()
    (chunks / "1" / "4").unlink()
    return str(folder / "d")


@pytest.mark.parametrize("compressors", [None, "auto"])
def test_verify_lists_what_is_bad_and_what_is_missing(cli, folder, compressors):
    path = damage(folder, compressors=compressors)
    result = cli("verify", "--json", path)
    report = json.loads(result.stdout)
    assert result.returncode == 1 and report["ok"] is False
    (array,) = report["arrays"]
    assert (array["chunks"], array["nbad"], array["nmissing"]) == (10, 3, 1)
    assert [bad["key"] for bad in array["bad"]] == ["c/0/1", "c/0/2", "c/1/0"]
    assert all(bad["message"] and bad["status"].startswith("HR_ERR_") for bad in array["bad"])
    assert array["missing"] == ["c/1/4"]
    text = cli("verify", path).stdout.decode()
    assert "10 chunks, 3 bad, 1 missing" in text and "c/0/2" in text and "missing: c/1/4" in text
    for key in ("0/1", "0/2", "1/0"):  # reading the good chunks goes on
        assert cli("read", path, "-s", f"{int(key[0]) * 10},{int(key[2]) * 10}").returncode == 1
    assert cli("read", path, "-s", "0,0").returncode == 0


def test_verify_takes_missing_chunks_as_fill_unless_strict(cli, folder):
    path = write(folder / "a", CUBE, (10, 30, 7))
    (folder / "a" / "c" / "1" / "0" / "0").unlink()
    assert cli("verify", path).returncode == 0
    result = cli("verify", path, "--strict", "--json")
    assert result.returncode == 1 and json.loads(result.stdout)["nmissing"] == 1


def test_verify_walks_groups(cli, group):
    report = json.loads(succeed(cli("verify", group, "--json")))
    assert [a["path"] for a in report["arrays"]] == ["a", "inner/a"] and report["chunks"] == 4
    (group / "inner" / "a" / "c" / "1").write_bytes(b"junk")
    result = cli("verify", group)
    assert result.returncode == 1 and b"inner/a: 2 chunks, 1 bad" in result.stdout


def test_verify_of_a_bad_shard_names_its_key_once(cli, folder):
    path = write(folder / "a", CUBE, (5, 15, 7), shards=(10, 30, 7))
    shard = folder / "a" / "c" / "0" / "0" / "0"
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1  # the checksum of the index
    shard.write_bytes(content)
    report = json.loads(cli("verify", path, "--json").stdout)
    assert report["chunks"] == 8 and report["nbad"] == 4
    assert [bad["key"] for bad in report["arrays"][0]["bad"]] == ["c/0/0/0"]


def test_verify_of_text(cli, folder):
    path = write(folder / "a", np.array(["a", "bb"], dtype=np.dtypes.StringDType()), (1,),
                 fill_value="", compressors=None)
    assert cli("verify", path).returncode == 0
    (folder / "a" / "c" / "1").write_bytes(b"\1\0\0\0\xff\0\0\0x")
    assert cli("verify", path).returncode == 1


# bench and doctor


def test_bench(cli, cube):
    report = json.loads(succeed(cli("bench", cube, "-n", "3", "--json")))
    assert report["nbytes"] == CUBE.nbytes and report["chunks"] == 36 and report["missing"] == 0
    assert 0 < report["best_seconds"] <= report["seconds"] and report["gb_per_s"] > 0
    assert report["encoded_nbytes"] == sum(
        os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(os.path.join(cube, "c"))
        for name in names)
    assert b"GB/s" in succeed(cli("bench", cube, "-n", "1", "--threads", "1"))


def test_doctor(cli):
    report = json.loads(succeed(cli("doctor", "--json")))
    codecs = {codec["name"]: codec for codec in report["codecs"]}
    assert codecs["zstd"]["cpu"] is True and "zstd" in codecs["zstd"]["library"]
    assert isinstance(report["gpus"], list) and report["threads"] >= 1
    text = succeed(cli("doctor")).decode()
    assert report["version"] in text and "zstd" in text and "memlock" in text


def test_a_gpu_that_is_not_there_is_an_error(cli, cube):
    if json.loads(succeed(cli("doctor", "--json")))["gpus"] or shutil.which("nvidia-smi"):
        pytest.skip("there is a GPU")
    result = cli("read", cube, "--device", "cuda:0", "-o", "-")
    assert result.returncode == 1 and b"CUDA" in result.stderr
