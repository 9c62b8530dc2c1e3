"""Malformed metadata gives an error, quickly and without much memory.

SPDX-License-Identifier: Apache-2.0
"""

import copy
import json
import resource
import time

import numpy as np
import pytest

import handmade
from headrace_ctypes import Context, HeadraceError, Store


JUNK = [None, True, -1, 0, 1, 33, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -2**63, 1e308, 0.5,
        "", "x", "NaN", "<i4", "\x00", "é" * 300, [], [[]], [None], [0], [-1], [2**62, 2**62],
        [1] * 33, {}, {"name": "x"}, {"id": "x"}, {"name": "bytes"}, [{"id": "zstd"}],
        [{"name": "sharding_indexed"}], {"name": "regular", "configuration": {}},
        {"name": "regular", "configuration": {"chunk_shape": [0, 0]}}]
V2 = {"zarr_format": 2, "shape": [4, 4], "chunks": [2, 2], "dtype": "<i4",
      "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
      "filters": [{"id": "delta", "dtype": "<i4"}], "fill_value": 0, "order": "C",
      "dimension_separator": "."}
V3 = handmade.v3_metadata((4, 4), (4, 4), "int32", dimension_names=["a", "b"], attributes={},
                          codecs=[{"name": "transpose", "configuration": {"order": [1, 0]}},
                                  handmade.sharding((2, 2), codecs=(
                                      handmade.LITTLE, {"name": "zstd", "configuration": {
                                          "level": 1, "checksum": False}}))])


def mutants(document, at=()):
    """Copies of a JSON document with one value replaced by junk, or taken out."""
    here = document
    for step in at:
        here = here[step]
    keys = here.keys() if isinstance(here, dict) else range(len(here)) if isinstance(here, list) \
        else ()
    for key in keys:
        for junk in JUNK:
            changed = copy.deepcopy(document)
            inner = changed
            for step in at:
                inner = inner[step]
            inner[key] = junk
            yield changed
        yield from mutants(document, at + (key,))
    if at:
        changed = copy.deepcopy(document)
        inner = changed
        for step in at[:-1]:
            inner = inner[step]
        del inner[at[-1]]
        yield changed


def try_document(context, name, text):
    """Open and, if it is small, read: a right answer or an error, never a crash."""
    store = Store(context)
    store[name] = text
    try:
        with store.open() as array:
            if array.is_array and np.prod(array.shape, dtype=float) < 1e5 \
                    and np.prod(array.chunks, dtype=float) < 1e7:
                array.read()
    except HeadraceError as error:
        assert error.status not in ("OK", "ARGUMENT", "CANCELLED", "FORKED"), error
        assert error.message


@pytest.mark.parametrize("name,document", [(".zarray", V2), ("zarr.json", V3)])
def test_mutated_metadata(context, name, document):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for mutant in mutants(document):
        try_document(context, name, json.dumps(mutant).encode())
    text = json.dumps(document).encode()
    for length in range(len(text)):
        try_document(context, name, text[:length])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


@pytest.mark.parametrize("text", [
    b"", b"{", b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b'{"zarr_format": 2}' * 2,
    b'{"shape": ' + b"9" * 100_000 + b"}", b'"' + b"x" * 1_000_000, b"\x00" * 1000, b"null",
    b'{"zarr_format": 3, "node_type": "array", "attributes": ' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_documents_that_are_no_metadata(context, text):
    for name in (".zarray", "zarr.json", ".zgroup"):
        store = Store(context)
        store[name] = text
        start = time.monotonic()
        with pytest.raises(HeadraceError) as caught:
            store.open()
        assert caught.value.status in ("METADATA", "OVERFLOW", "UNSUPPORTED")
        assert time.monotonic() - start < 5


def test_metadata_larger_than_the_limit(folder):
    path = handmade.v2(folder / "big", (1,), (1,), "<i4", {}, padding="x" * 10_000)
    with Context(metadata_max_nbytes=5000) as ctx, pytest.raises(HeadraceError) as caught:
        ctx.open(path)
    assert caught.value.status == "OVERFLOW"


def test_an_unknown_extension_is_named(context, folder):
    path = handmade.v3(folder / "a", (4,), (4,), "int32", {},
                       codecs=[handmade.LITTLE, {"name": "example.frobnicate"}])
    with pytest.raises(HeadraceError) as caught:
        context.open(path)
    assert caught.value.status == "UNSUPPORTED" and "example.frobnicate" in caught.value.message
    path = handmade.v3(folder / "b", (4,), (4,), "int32", {}, frobnication={"level": 9})
    with pytest.raises(HeadraceError) as caught:
        context.open(path)
    assert "frobnication" in caught.value.message
    path = handmade.v3(folder / "c", (4,), (4,), "int32", {},
                       frobnication={"level": 9, "must_understand": False})
    assert context.open(path).read().tolist() == [0] * 4


def test_pickles_are_refused(context, folder):
    path = handmade.v2(folder / "p", (4,), (4,), "|O", {"0": b"cos\nsystem\n."},
                       filters=[{"id": "pickle", "protocol": 5}], fill_value=None)
    with pytest.raises(HeadraceError) as caught:
        context.open(path).read()
    assert "pickle" in str(caught.value)
