"""Loaders give every sample once, in an order that the seed decides. SPDX-License-Identifier: Apache-2.0"""

import pickle
import warnings

import numpy as np
import pytest
import zarr

hr = pytest.importorskip("headrace", reason="the package is not built")
from headrace.torch import Dataset, Loader, collate  # noqa: E402

RNG = np.random.default_rng(7)
ROWS = np.arange(103 * 5, dtype="i4").reshape(103, 5)
CUBE = RNG.integers(0, 9999, (20, 33, 40, 2)).astype("u2")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("loader")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.create_array(path / "rows", data=ROWS, chunks=(10, 5), shards=(20, 5))
        zarr.create_array(path / "labels", data=ROWS[:, 0] % 7, chunks=(25,))
        zarr.create_array(path / "cube", data=CUBE, chunks=(5, 11, 16, 2))
        zarr.create_array(path / "words", shape=(2,), chunks=(1,), dtype=str)
        packed = zarr.create_array(path / "packed", data=ROWS.astype("i2"), chunks=(10, 5))
        packed.attrs.update({"scale_factor": 0.5, "_FillValue": 3})
    return path


@pytest.fixture
def rows(stored):
    return hr.open(stored / "rows")


def first(batches):
    return np.concatenate([np.asarray(b)[:, 0] for b in batches]) // 5


@pytest.mark.parametrize("shuffle", [False, "block", "full"])
@pytest.mark.parametrize("batch_size, buffer, prefetch", [(1, 1, 1), (8, 4, 2), (32, 2, 3), (200, 1, 1)])
def test_every_row_comes_once(rows, shuffle, batch_size, buffer, prefetch):
    loader = Loader(rows, batch_size=batch_size, shuffle=shuffle, buffer=buffer, prefetch=prefetch,
                    to="numpy")
    batches = list(loader)
    assert len(batches) == len(loader) == -(-103 // batch_size)
    assert all(len(b) == batch_size for b in batches[:-1])
    order = first(batches)
    assert sorted(order) == list(range(103))
    assert (np.concatenate(batches) == ROWS[order]).all()
    assert (order.tolist() == list(range(103))) == (not shuffle)


def test_the_seed_and_the_epoch_decide(rows):
    def orders(seed, epochs=2):
        loader = Loader(rows, batch_size=9, seed=seed, to="numpy")
        return [first(loader).tolist() for _ in range(epochs)]

    a, b = orders(1)
    assert a != b and orders(1) == [a, b] and orders(2)[0] != a
    loader = Loader(rows, batch_size=9, seed=1, to="numpy")
    loader.set_epoch(1)
    assert first(loader).tolist() == b and loader.epoch == 2
    loader.set_epoch(0)
    assert next(iter(loader))[0, 0] // 5 == a[0]  # breaking off, the epoch begins anew
    assert first(loader).tolist() == a


def test_blocks_are_chunks(rows):
    order = first(Loader(rows, batch_size=5, buffer=4, to="numpy"))
    for i in range(0, 100, 20):
        assert len(set(order[i:i + 20] // 10)) <= 4
    starts = [o for o, before in zip(order // 10, [-1, *(order // 10)[:-1]]) if o != before]
    assert starts != sorted(starts)


def test_chunks_are_decoded_about_once(stored):
    a = hr.open(stored / "cube")
    loader = Loader(a, crop=(1, 11, 16), stride=(1, 11, 8), batch_size=8, buffer=8, to="numpy")
    begun = []
    start = loader._reader.start
    loader._reader.start = lambda s: begun.append(start(s)) or begun[-1]
    for _ in loader:
        pass
    decoded = sum(future.stats()["nchunks"] for read in begun for future, _ in read)
    assert decoded < 2.5 * np.prod(a.grid_shape)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("world_size", [1, 2, 3, 7])
@pytest.mark.parametrize("shuffle", [False, "block", "full"])
def test_ranks_share_an_epoch(rows, world_size, drop_last, shuffle):
    parts, batches = [], []
    for rank in range(world_size):
        loader = Loader(rows, batch_size=6, rank=rank, world_size=world_size, drop_last=drop_last,
                        shuffle=shuffle, to="numpy")
        batches.append(list(loader))
        assert len(batches[-1]) == len(loader)
        parts.append(first(batches[-1]))
    assert len({len(b) for b in batches}) == len({len(p) for p in parts}) == 1
    every = np.concatenate(parts)
    if drop_last:
        assert all(len(b) == 6 for part in batches for b in part)
        assert len(set(every)) == len(every) == world_size * (103 // world_size // 6 * 6)
    else:
        assert set(every) == set(range(103)) and len(every) - 103 < world_size


@pytest.mark.parametrize("ndone", [0, 1, 3, 4, 9, 13])
def test_a_loader_goes_on_where_another_was(stored, rows, ndone):
    def make():
        return Loader(rows, batch_size=8, buffer=4, seed=5, to="numpy")

    loader = make()
    list(loader)
    batches = iter(loader)
    for _ in range(ndone):
        next(batches)
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    left = list(batches)
    other = make()
    other.load_state_dict(state)
    got = list(other)
    assert len(got) == len(left) == 13 - ndone
    assert all((a == b).all() for a, b in zip(got, left))
    assert (first(other) == first(loader)).all()  # the epoch after
    with pytest.raises(hr.ArgumentError, match="batch_size"):
        Loader(rows, batch_size=9, seed=5, to="numpy").load_state_dict(state)


def test_crops(stored):
    a = hr.open(stored / "cube")
    for stride, grid in ((None, (5, 3, 2)), ((2, 7, 20), (9, 4, 2)), (5, (4, 5, 5))):
        loader = Loader(a, crop=(4, 10, 20), stride=stride, batch_size=7, shuffle=False, to="numpy")
        steps = (4, 10, 20) if stride is None else np.broadcast_to(stride, 3)
        corners = [np.multiply(place, steps) for place in np.ndindex(*grid)]
        want = [CUBE[i:i + 4, j:j + 10, k:k + 20] for i, j, k in corners]
        assert (np.concatenate(list(loader)) == np.stack(want)).all()
    loader = Loader(a, crop=(4, 10, 20), samples=50, batch_size=16, to="numpy")
    one, two = (np.concatenate(list(loader)) for _ in range(2))
    assert one.shape == (50, 4, 10, 20, 2) and not (one == two).all()
    windows = np.lib.stride_tricks.sliding_window_view(CUBE, (4, 10, 20), (0, 1, 2))
    assert all((windows == sample.transpose(3, 0, 1, 2)[None, None, None]).all((3, 4, 5, 6)).any()
               for sample in one[:5])


def test_arrays_together_and_types(stored, rows):
    labels = hr.open(stored / "labels")
    for x, y in Loader((rows, labels), batch_size=10, to="numpy"):
        assert (x[:, 0] % 7 == y).all()
    for batch in Loader({"x": rows, "y": labels}, batch_size=10, dtype="f4", to="numpy"):
        assert batch["x"].dtype == batch["y"].dtype == np.float32
        assert (batch["x"][:, 0] % 7 == batch["y"]).all()
    got = np.concatenate(list(Loader(hr.open(stored / "packed"), batch_size=50, shuffle=False,
                                     mask_and_scale=True, to="numpy")))
    assert np.array_equal(got, np.where(ROWS == 3, np.nan, ROWS * 0.5), equal_nan=True)


def test_runs_of_rows(stored, rows):
    for a, data in ((rows, ROWS), (hr.open(stored / "labels"), ROWS[:, 0] % 7)):
        loader = Loader(a, crop=(10,), stride=3, batch_size=6, shuffle=False, to="numpy")
        want = np.stack([data[i:i + 10] for i in range(0, 94, 3)])
        assert (np.concatenate(list(loader)) == want).all()


def test_no_rows_give_no_batches(folder):
    a = zarr.create_array(folder / "none", shape=(0, 3), chunks=(2, 3), dtype="i4")
    for shuffle in (False, "block", "full"):
        loader = Loader(hr.open(folder / "none"), batch_size=2, shuffle=shuffle, to="numpy")
        assert a.shape[0] == len(loader) == len(list(loader)) == 0


def test_batches_are_views(rows):
    one, two, *_ = list(Loader(rows, batch_size=8, buffer=2, shuffle=False, to="numpy"))
    assert two.ctypes.data == one.ctypes.data + one.nbytes


def test_a_dataset_reads_batches(stored, rows):
    dataset = Dataset((rows, hr.open(stored / "labels")), to="numpy")
    assert len(dataset) == 103
    x, y = dataset[-1]
    assert (x == ROWS[-1]).all() and y == ROWS[-1, 0] % 7
    samples = dataset.__getitems__([5, 99, 5])
    x, y = collate(samples)
    assert (x == ROWS[[5, 99, 5]]).all() and (samples[1][0] == ROWS[99]).all()
    assert np.shares_memory(samples[1][0], x)
    again = pickle.loads(pickle.dumps(dataset))
    assert (again[7][0] == ROWS[7]).all()
    with pytest.raises(IndexError):
        dataset[103]
    crops = Dataset(hr.open(stored / "cube"), crop=(2, 3), stride=(2, 30), to="numpy")
    assert len(crops) == 20 and (crops[3] == CUBE[2:4, 30:33]).all()


def test_what_is_wrong_is_said(stored, rows):
    for options, error in (
            ({"shuffle": True}, hr.ArgumentError), ({"batch_size": 0}, hr.ArgumentError),
            ({"rank": 1}, hr.ArgumentError), ({"rank": 2, "world_size": 2}, hr.ArgumentError),
            ({"crop": (104,)}, hr.ShapeError), ({"crop": (1, 1, 1)}, hr.ShapeError),
            ({"crop": (2, 2), "stride": (1,)}, hr.ArgumentError),
            ({"crop": 5}, hr.ArgumentError), ({"crop": (1.5,)}, hr.ArgumentError),
            ({"crop": (2,), "samples": -1}, hr.ArgumentError),
            ({"device": "nowhere"}, hr.Error)):
        with pytest.raises(error):
            Loader(rows, **options, to="numpy")
    with pytest.raises(hr.ShapeError):
        Loader((rows, hr.open(stored / "cube")), to="numpy")
    with pytest.raises(hr.DTypeError):
        Loader(hr.open(stored / "words"), to="numpy")
    with pytest.raises(hr.ArgumentError):
        Loader(ROWS, to="numpy")


def test_with_torch(rows):
    torch = pytest.importorskip("torch")
    order = first([b.numpy() for b in Loader(rows, batch_size=8)])
    assert sorted(order) == list(range(103))
    for fn in (None, collate):
        loader = torch.utils.data.DataLoader(Dataset(rows), batch_size=8, collate_fn=fn)
        got = torch.cat(list(loader))
        assert (got.numpy() == ROWS).all()
