"""The readers of the host benchmark behind one small interface.

A reader opens an array once. `box(slices)` reads one rectangle. `many` maps the names of
its ways to read several pieces of a 1-D array, one behind the other, to functions of
[(start, stop), …]. SPDX-License-Identifier: Apache-2.0
"""

import asyncio
import importlib.metadata
import pathlib
import sys
import warnings


def version(package):
    return importlib.metadata.version(package)


class Headrace:
    def __init__(self, path):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"))
        import headrace_ctypes
        import numpy

        self.numpy, self.version = numpy, headrace_ctypes.version()
        self.context = headrace_ctypes.Context()
        self.array = self.context.open(path)
        self.shape, self.chunks, self.shards = (
            self.array.shape, self.array.chunks, self.array.shards)
        self.many = {"one batch": self.batch}

    def box(self, slices):
        return self.array.read(slices)

    def batch(self, pieces):
        out = self.numpy.empty(sum(b - a for a, b in pieces), self.array.dtype)
        items, at = [], 0
        for a, b in pieces:
            items.append((self.array, (slice(a, b),), out[at:at + b - a]))
            at += b - a
        self.context.read(items)
        return out


class Package:
    """headrace's Python package."""

    def __init__(self, path):
        import headrace
        import numpy

        self.numpy, self.headrace, self.version = numpy, headrace, headrace.__version__
        self.array = headrace.open(path)
        self.shape, self.chunks, self.shards = (
            self.array.shape, self.array.chunks, self.array.shards)
        self.many = {"one batch": self.batch}

    def box(self, slices):
        return self.numpy.asarray(self.array[slices])

    def batch(self, pieces):
        items = [(self.array, slice(a, b)) for a, b in pieces]
        return self.numpy.asarray(self.headrace.read_batch(items, out="packed").result().data)


class Zarr:
    """zarr-python with its own pipeline."""

    pipeline = "zarr.core.codec_pipeline.BatchedCodecPipeline"
    package = "zarr"

    def __init__(self, path):
        warnings.simplefilter("ignore")
        import numpy
        import zarr

        zarr.config.set({"codec_pipeline.path": self.pipeline})
        self.numpy, self.version = numpy, version(self.package)
        self.array = zarr.open_array(path, mode="r")
        self.shape, self.chunks, self.shards = (
            self.array.shape, self.array.chunks, self.array.shards)
        self.many = {"integer index": self.integers, "gathered slices": self.gather,
                     "joined indexers": self.joined}

    def box(self, slices):
        return self.array[slices]

    def integers(self, pieces):
        return self.array[self.numpy.concatenate([self.numpy.arange(a, b) for a, b in pieces])]

    def _indexers(self, pieces):
        from zarr.core.indexing import BasicIndexer

        metadata = self.array.metadata
        grid = getattr(self.array, "_chunk_grid", metadata.chunk_grid)  # another from 3.2 on
        return [BasicIndexer(slice(a, b), shape=metadata.shape, chunk_grid=grid)
                for a, b in pieces]

    def _read(self, indexer):
        from zarr.core.buffer import default_buffer_prototype

        return self.array._async_array._get_selection(indexer, prototype=default_buffer_prototype())

    def gather(self, pieces):
        from zarr.core.sync import sync

        async def all_of_them():
            return await asyncio.gather(*map(self._read, self._indexers(pieces)))

        return self.numpy.concatenate(sync(all_of_them()))

    def joined(self, pieces):
        """One call whose indexer walks all pieces: each chunk still once per piece."""
        from zarr.core.indexing import Indexer
        from zarr.core.sync import sync

        class Joined(Indexer):
            def __init__(self, parts):
                self.parts, self.drop_axes = parts, ()
                self.shape = (sum(p.shape[0] for p in parts),)

            def __iter__(self):
                at = 0
                for part in self.parts:
                    for chunk in part:
                        n = chunk[2][0].stop - chunk[2][0].start
                        yield type(chunk)(chunk[0], chunk[1], (slice(at, at + n),), chunk[3])
                        at += n

        return sync(self._read(Joined(self._indexers(pieces))))


class ZarrFused(Zarr):
    """zarr-python, from 3.4 on, with its pipeline without asyncio."""

    pipeline = "zarr.core.codec_pipeline.FusedCodecPipeline"

    def __init__(self, path):
        from zarr.core.codec_pipeline import FusedCodecPipeline  # noqa: F401

        super().__init__(path)


class Zarrs(Zarr):
    """zarr-python with the pipeline of zarrs-python."""

    pipeline = "zarrs.ZarrsCodecPipeline"
    package = "zarrs"

    def __init__(self, path):
        import zarrs  # noqa: F401  registers the pipeline

        super().__init__(path)


class Pipeline(Zarr):
    """zarr-python with the pipeline of headrace."""

    pipeline = "headrace.zarr.Pipeline"

    def __init__(self, path):
        import headrace.zarr  # noqa: F401  registers the pipeline

        super().__init__(path)


class Tensorstore:
    def __init__(self, path):
        import numpy
        import tensorstore

        self.numpy, self.tensorstore = numpy, tensorstore
        self.version = version("tensorstore")
        self.array = tensorstore.open({"driver": "zarr3", "kvstore": f"file://{path}/"},
                                      open=True).result()
        layout = self.array.chunk_layout
        self.shape, self.chunks = self.array.shape, layout.read_chunk.shape
        self.shards = layout.write_chunk.shape
        self.many = {"batch": self.batch, "integer index": self.integers}

    def box(self, slices):
        return self.array[slices].read().result()

    def batch(self, pieces):
        with self.tensorstore.Batch() as batch:
            reads = [self.array[a:b].read(batch=batch) for a, b in pieces]
        return self.numpy.concatenate([r.result() for r in reads])

    def integers(self, pieces):
        index = self.numpy.concatenate([self.numpy.arange(a, b) for a, b in pieces])
        return self.array[index].read().result()


READERS = {"headrace": Headrace, "headrace-python": Package, "headrace-zarr": Pipeline,
           "zarrs-python": Zarrs, "tensorstore": Tensorstore, "zarr-python": Zarr}
