"""Reads explained by the command and the package. SPDX-License-Identifier: Apache-2.0"""

import concurrent.futures
import json
import os

import numpy as np
import pytest
import zarr
from cli_support import CUBE, succeed, write
from test_corpus import place, rows

DATA = np.arange(40, dtype="<i4").reshape(8, 5)


@pytest.fixture
def hr():
    return pytest.importorskip("headrace", reason="the package is not built")


@pytest.fixture
def a(hr, folder):
    zarr.create_array(folder / "a.zarr", data=DATA, chunks=(3, 2), fill_value=-1)
    return hr.open(folder / "a.zarr")


def test_explain(cli, folder):
    plain = write(folder / "plain.zarr", CUBE, chunks=(5, 10, 7), compressors=None)
    report = json.loads(succeed(cli("explain", plain, "-s", "0:5", "--json")))
    assert report["chunks"] == report["uses"] == report["objects"] == report["reads"] == 3
    assert report["read_nbytes"] == report["decoded_nbytes"] == report["nbytes"] == 5 * 30 * 7 * 4
    assert report["strict_refuses"] == 0 and len(report["chains"]) == 1
    packed = write(folder / "packed.zarr", CUBE, chunks=(5, 10, 7), compressors=zarr.codecs.GzipCodec())
    report = json.loads(succeed(cli("explain", packed, "--json")))
    assert report["read_nbytes"] is None and report["chunks_device"] == 0
    codecs = report["chains"][0]["codecs"]
    assert [codec["name"] for codec in codecs] == ["bytes", "gzip"] and codecs[1]["device"] == "cpu"
    text = succeed(cli("explain", packed, "-s", "0")).decode()
    assert "unknown before reading" in text and codecs[1]["implementation"] in text


def test_explain_of_a_device_that_need_not_be_there(cli, folder):
    path = write(folder / "packed.zarr", CUBE, chunks=(5, 10, 7), compressors=zarr.codecs.GzipCodec())
    report = json.loads(succeed(cli("explain", path, "--device", "cuda:7", "--json")))
    (chain,) = report["chains"]
    assert chain["device"] == "cuda:7" and chain["reason"] is None and report["chunks_device"] == 12
    assert chain["codecs"][1] == {"name": "gzip", "device": "cuda:7",
                                  "implementation": "Deflate kernels"}
    (folder / "bz2.zarr").mkdir()
    (folder / "bz2.zarr" / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [6], "chunks": [2], "dtype": "<i4", "fill_value": 0, "order": "C",
        "filters": None, "compressor": {"id": "bz2", "level": 1}}))
    text = succeed(cli("explain", folder / "bz2.zarr", "--device", "cuda:7")).decode()
    assert "no kernel decodes bz2" in text and "would refuse 3 chunks" in text


def test_stages_of_a_bench(cli, folder):
    path = write(folder / "packed.zarr", CUBE, chunks=(5, 10, 7), compressors=zarr.codecs.GzipCodec())
    stages = json.loads(succeed(cli("bench", path, "-n", "1", "--json")))["stages"]
    assert 0 < stages["seconds"]["decode"] and stages["seconds"]["copy"] == 0
    assert stages["bound"] in stages["shares"] and stages["shares"][stages["bound"]] > 0
    assert b"; bound by " in succeed(cli("bench", path, "-n", "1"))


def test_explained_before_it_is_read(hr, a):
    plan = hr.explain([(a, np.s_[0:3]), (a, np.s_[2, 0]), a])
    assert (plan.nrequests, plan.nchunks, plan.nuses, plan.nobjects) == (3, 9, 13, 9)
    assert plan.output_nbytes == (15 + 1 + 40) * 4 and plan.decoded_nbytes == 9 * 6 * 4
    assert plan.read_nbytes is None and plan.nreads == 9
    (chain,) = plan.chains
    assert chain.device == "cpu" and chain.nchunks == 9 and chain.reason is None
    assert [codec.name for codec in chain.codecs] == ["bytes", "zstd"]
    assert repr(hr.explain([(a, 0)])).startswith("1 request for 3 chunks in 3 store keys, used 3 times\n")
    assert chain.codecs[1].implementation in str(plan) and "unknown before reading" in repr(plan)
    assert "3 requests for 9 chunks in 9 store keys, used 13 times" in repr(plan)
    one = repr(hr.explain([(a, np.s_[0, 0])]))
    assert "1 request for 1 chunk in 1 store key, used 1 time\n" in one and "1 read\n" in one
    future = hr.read_batch([(a, np.s_[0:3]), (a, np.s_[2, 0]), a])
    future.result()
    assert future.stats()["nchunks"] == plan.nchunks and future.stats()["nreads"] == plan.nreads


def test_explained_for_a_device_that_need_not_be_there(hr, a):
    plan = hr.explain([(a, hr.mask(DATA > 7))], device="cuda:5", dtype="float32")
    (chain,) = plan.chains
    assert plan.nchunks_device == plan.nchunks == chain.nchunks and plan.nchunks_strict == 0
    assert chain.codecs[1] == hr.PlannedCodec("zstd", "zstd kernels", "cuda:5")
    both = hr.explain([], device="cuda:5")
    assert both.nchunks == 0 and both.chains == ()
    with pytest.raises(hr.ArgumentError):
        hr.explain([3])
    with pytest.raises(IndexError):
        hr.explain([(a, 99)])


@pytest.mark.parametrize("row", rows("zarr-array")[:1])
def test_strict_reads_refuse_what_is_explained(row, cli):
    """Every third array of the corpus: with these reasons, and nothing else."""
    del row  # absent with the corpus
    chosen = [place(p.values[0]) for p in rows("zarr-array")[::3]]

    def both(path):
        return (cli("explain", path, "--device", "simt", "--json"),
                cli("read", path, "-o", "-", "--device", "simt", "--strict"))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(both, chosen))
    nrefused = 0
    for path, (plan, read) in zip(chosen, results):
        assert not cli.crashed(plan), (path, plan.stderr.decode())
        if b"this build has no device" in plan.stderr:
            pytest.skip("built without the simt device")
        if plan.returncode != 0:  # of variable length, or not to be opened
            assert read.returncode != 0, path
            continue
        reasons = [c["reason"] for c in json.loads(plan.stdout)["chains"] if c["strict_refuses"]]
        said = read.stderr.decode()
        is_refused = "strict: the chunk would be decoded on the host" in said
        assert is_refused == bool(reasons) or "is missing" in said, (path, reasons, said)
        assert not is_refused or any(reason in said for reason in reasons), (path, reasons, said)
        nrefused += is_refused
    assert nrefused > 0


def test_stages_are_foretold_from_earlier_reads(hr, cli, folder):
    path = write(folder / "packed.zarr", CUBE, chunks=(5, 10, 7), compressors=zarr.codecs.GzipCodec())
    fresh = hr.open(path)
    before = hr.explain([fresh]).stages
    assert before.wall is None and before.bound is None and before["read"].seconds is None
    assert "not known yet" in repr(before)
    fresh[...]
    half, whole = (hr.explain([(fresh, s)]).stages for s in (np.s_[:5], np.s_[...]))
    assert whole["decode"].seconds > half["decode"].seconds > 0 and whole["copy"].seconds == 0
    assert whole.bound in {stage.name for stage in whole.stages} and whole.wall > 0
    report = json.loads(succeed(cli("explain", path, "--json")))["stages"]
    assert report["bound"] is None and report["seconds"]["decode"] is None
    report = json.loads(succeed(cli("explain", path, "--measure", "--json")))["stages"]
    assert report["bound"] in report["seconds"] and report["seconds"]["decode"] > 0
    assert b"at least" in succeed(cli("explain", path, "--measure"))
    assert b"--measure" in succeed(cli("explain", path))


def test_the_host_takes_a_share(hr, cli, folder):
    path = write(folder / "packed.zarr", DATA, chunks=(2, 3), compressors=zarr.codecs.GzipCodec())
    a = hr.open(path)
    try:
        a.read(np.s_[0, 0], device="simt").result()
    except hr.Error:
        pytest.skip("this build has no simt device")
    with hr.config(host_share=50):
        future = a.read(np.s_[...], device="simt")
        assert (future.result().to("numpy") == DATA).all()
    stats = future.stats()
    assert stats["nchunks_host_share"] == stats["ndecoded_cpu"] == stats["nchunks"] // 2
    assert hr.explain([a], device="simt").nchunks_host_share >= 0
    for wrong in (101, -1, "all", True):
        with pytest.raises(ValueError, match="host_share"):
            hr.config(host_share=wrong)
    report = json.loads(succeed(cli("bench", path, "-n", "1", "--device", "simt", "--host-share=100",
                                    "--json")))
    assert report["host_share_chunks"] == report["chunks"]
    assert cli("bench", path, "--host-share=101").returncode == 2
    assert cli("bench", path, "-n", "2", "--device", "simt", "--host-share=auto").returncode == 0
