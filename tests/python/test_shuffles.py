"""Filters that shuffle, in front of compressors with blocks. SPDX-License-Identifier: Apache-2.0"""

import json

import numpy as np
import pytest

hr = pytest.importorskip("headrace", reason="the package is not built")
numcodecs = pytest.importorskip("numcodecs")
DATA = np.cumsum(np.arange(100_000) * 7919 % 11 - 5, dtype="i4").reshape(1000, 100)


def device():
    for name in ("cuda:0", "simt"):
        try:
            hr.device_info(name)
            return name
        except hr.Error as error:
            reason = error
    pytest.skip(f"neither a GPU nor the simt device: {reason}")


@pytest.mark.parametrize("own", [numcodecs.Blosc.NOSHUFFLE, numcodecs.Blosc.SHUFFLE, numcodecs.Blosc.BITSHUFFLE])
@pytest.mark.parametrize("name", ["lz4", "blosclz", "zstd", "zlib"])
def test_a_filter_shuffles_the_whole_chunk_not_blosc_s_blocks(name, own):
    blosc = numcodecs.Blosc(name, 5, own, blocksize=1 << 16)
    shuffle = numcodecs.Shuffle(4)
    meta = {"zarr_format": 2, "shape": DATA.shape, "chunks": DATA.shape, "dtype": "<i4", "order": "C",
            "fill_value": 0, "compressor": blosc.get_config(), "filters": [shuffle.get_config()]}
    encoded = blosc.encode(np.asarray(shuffle.encode(DATA)))
    a = hr.open({".zarray": json.dumps(meta).encode(), "0.0": bytes(encoded)})
    for key in (np.s_[...], np.s_[3:5], np.s_[990:, 7], np.s_[::-300, ::9]):
        assert a[key].tolist() == DATA[key].tolist()
        got = a.read(key, device=device()).result()
        assert got.to("numpy").tolist() == DATA[key].tolist()
