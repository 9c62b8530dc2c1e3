"""On a GPU: batches are torch's tensors, and training does not disturb reads. SPDX-License-Identifier: Apache-2.0"""

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
try:
    hr.device_info("cuda:0")
except hr.Error as error:
    pytest.skip(f"no GPU: {error}", allow_module_level=True)
torch = pytest.importorskip("torch")
from headrace.torch import Dataset, Loader, collate  # noqa: E402

DATA = np.arange(4096 * 1024, dtype="f4").reshape(4096, 1024)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("loader") / "a"
    zarr.create_array(path, data=DATA, chunks=(64, 1024),
                      compressors=zarr.codecs.BloscCodec(cname="lz4", typesize=4))
    return path


def test_batches_are_tensors_on_the_device(stored):
    loader = Loader(hr.open(stored, "cuda"), batch_size=100, buffer=3)
    batches = list(loader)
    assert all(b.is_cuda and b.dtype == torch.float32 for b in batches)
    got = torch.cat(batches).cpu().numpy()
    assert (got[np.argsort(got[:, 0])] == DATA).all()
    assert batches[1].data_ptr() == batches[0].data_ptr() + batches[0].nbytes


def test_work_that_is_queued_keeps_its_batch(stored):
    """Memory of a batch that is dropped is not written while a queued kernel reads it."""
    weight = torch.randn(1024, 2048, device="cuda", dtype=torch.float64)
    total = torch.zeros((), device="cuda", dtype=torch.float64)
    for batch in Loader(hr.open(stored, "cuda"), batch_size=64, buffer=2, prefetch=3):
        for _ in range(4):
            (batch.double() @ weight).sum()
        total += batch.double().sum()
        del batch
    assert total.item() == DATA.astype("f8").sum()


def test_crops_types_and_datasets(stored):
    a = hr.open(stored, "cuda")
    crops = torch.cat(list(Loader(a, crop=(32, 100), batch_size=7, shuffle=False, dtype="f2")))
    want = DATA[:, :1000].reshape(128, 32, 10, 100).transpose(0, 2, 1, 3).reshape(-1, 32, 100)
    assert (crops.cpu().numpy() == want.astype("f2")).all()
    loader = torch.utils.data.DataLoader(Dataset(a), batch_size=512, collate_fn=collate)
    assert (torch.cat(list(loader)).cpu().numpy() == DATA).all()
    host = next(iter(Loader(a, batch_size=4, shuffle=False, device="cpu")))
    assert not host.is_cuda and (host.numpy() == DATA[:4]).all()
