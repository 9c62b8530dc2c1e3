"""On a GPU: frameworks take the results, and lend the destinations. SPDX-License-Identifier: Apache-2.0"""

import os
import warnings

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
try:
    hr.device_info("cuda:0")
except hr.Error as error:
    pytest.skip(f"no GPU: {error}", allow_module_level=True)
cupy = pytest.importorskip("cupy")
torch = pytest.importorskip("torch")

RNG = np.random.default_rng(5)
DATA = RNG.integers(-1000, 1000, (300, 400)).astype("<i4")


@pytest.fixture
def a(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.create_array(folder / "a", data=DATA, chunks=(70, 90), compressors=zarr.codecs.BloscCodec(
            cname="lz4", shuffle="shuffle", typesize=4))
    return hr.open(folder / "a", "cuda")


def test_frameworks_share_the_memory(a):
    t = a[...]
    assert t.device == "cuda:0" and t.__dlpack_device__() == (2, 0)
    for array in (cupy.asarray(t), cupy.from_dlpack(t), t.to("cupy")):
        assert array.data.ptr == t.ptr and (array.get() == DATA).all()
    for tensor in (torch.from_dlpack(t), t.to("torch"), torch.as_tensor(t, device="cuda")):
        assert tensor.data_ptr() == t.ptr and (tensor.cpu().numpy() == DATA).all()
    assert (t.to("numpy") == DATA).all()
    with pytest.raises(TypeError, match="numpy"):
        np.asarray(t)
    torch.from_dlpack(t).fill_(3)
    assert (t.to("numpy") == 3).all()
    assert (np.asarray(a) == DATA).all()


def test_memory_outlives_the_tensor(a):
    arrays = [cupy.asarray(a[i]) for i in range(20)]
    tensors = [torch.from_dlpack(a[i]) for i in range(20)]
    for i in range(20):
        assert (arrays[i].get() == DATA[i]).all() and (tensors[i].cpu().numpy() == DATA[i]).all()


def test_selections_on_the_device(a):
    assert (a[::-3, 5:50:2].to("numpy") == DATA[::-3, 5:50:2]).all()
    assert (a.oindex[[9, 1, 9], ::-1].to("numpy") == DATA[[9, 1, 9], ::-1]).all()
    rows, columns = RNG.integers(-300, 300, (2, 9)), RNG.integers(0, 400, (2, 9))
    assert (a.vindex[rows, columns].to("numpy") == DATA[rows, columns]).all()
    assert (a[DATA > 900].to("numpy") == DATA[DATA > 900]).all()
    assert (a.blocks[1, 2].to("numpy") == DATA[70:140, 180:270]).all()


def test_destinations_of_frameworks(a):
    ours = cupy.zeros((300, 400), "f4")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        ours.fill(1)
        assert a.read(..., out=ours, dtype="f4", stream=stream).result() is ours
    assert (ours.get() == DATA).all()
    theirs = torch.zeros((400, 300), dtype=torch.int32, device="cuda").T
    side = torch.cuda.Stream()
    a.read(..., out=theirs, stream=side).result()
    assert (theirs.cpu().numpy() == DATA).all()
    rows = torch.empty((4, 400), dtype=torch.int32, device="cuda")
    hr.read_batch([(a, np.s_[i]) for i in (7, 0, 299, 7)], out=rows).result()
    assert (rows.cpu().numpy() == DATA[[7, 0, 299, 7]]).all()
    with pytest.raises(hr.ArgumentError, match="share"):
        a.read([0, 1], out=[rows[0], rows[0]])
    mixed = [np.empty(400, "i4"), cupy.empty(400, "i4")]
    a.read([0, 1], out=mixed).result()
    assert (mixed[0] == DATA[0]).all() and (mixed[1].get() == DATA[1]).all()


def test_a_stream_waits_instead_of_the_host(a):
    stream = cupy.cuda.Stream(non_blocking=True)
    for i in range(20):
        future = a.read(np.s_[i:i + 200], stream=stream)
        with stream:
            total = cupy.asarray(future.result_on(stream)).sum()
        future.result()
        with stream:  # where the sum is made: another stream would not wait for it
            assert int(total) == int(DATA[i:i + 200].sum())


@pytest.mark.parametrize("allocator", ["cupy", "torch", lambda n, i: cupy.empty(n, "u1"), None])
def test_allocators(a, allocator):
    with hr.config(allocator=allocator):
        for _ in range(20):
            t = a[10:60, ::2]
            assert (cupy.asarray(t).get() == DATA[10:60, ::2]).all()
        assert a[0:0].shape == (0, 400)


def in_use(framework):
    return (cupy.get_default_memory_pool().used_bytes() if framework == "cupy"
            else torch.cuda.memory_allocated())


@pytest.mark.parametrize("framework", ["cupy", "torch"])
def test_staging_memory_is_of_the_framework(a, folder, framework):
    before = in_use(framework)
    with hr.config(allocator=framework, nthreads=5):
        opened = hr.open(folder / "a")
        for _ in range(5):
            assert (opened.read(..., device="cuda").result().to("numpy") == DATA).all()
    assert in_use(framework) > before + (1 << 20)


def test_packed_numbers_are_the_same_as_on_the_host(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.create_array(folder / "p", data=DATA.astype("<i2"), chunks=(70, 90),
                          attributes={"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": 7})
    p = hr.open(folder / "p")
    host = p.read(..., mask_and_scale=True).result().to("numpy")
    device = p.read(..., mask_and_scale=True, device="cuda").result().to("numpy")
    assert host.tobytes() == device.tobytes() and np.isnan(host).any()


def test_devices_by_any_name(a):
    for device in ("cuda", "cuda:0", 0, torch.device("cuda:0"), cupy.cuda.Device(0), (2, 0), "auto"):
        assert a.read(0, device=device).result().device == "cuda:0"
    with pytest.raises(hr.DeviceError):
        a.read(0, device="cuda:99")


def test_a_forked_child_is_told_to_spawn(a):
    a[0]
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            a[1]
        except hr.ForkedError as error:
            code = 0 if "spawn" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
