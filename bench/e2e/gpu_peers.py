"""The readers of the end-to-end bench that know GPUs only. SPDX-License-Identifier: Apache-2.0"""

import concurrent.futures
import importlib.metadata
import os
import time

import numpy as np

NTHREADS = len(os.sched_getaffinity(0))


def module_of(device):
    """NumPy or CuPy, which holds what is on the device."""
    if device == "cpu":
        return np
    import cupy

    cupy.cuda.Device(number_of(device)).use()
    return cupy


def number_of(device):
    if device == "cpu":
        raise ImportError("for GPUs only")
    return int(device.partition(":")[2] or 0)


class ZarrGPU:
    """zarr-python with GPU buffers."""

    package, nthreads = "zarr", NTHREADS

    def __init__(self, path, device):
        self.number = number_of(device)
        self.module, self.array = module_of(device), self.open(path)
        self.version = importlib.metadata.version(self.package)

    def open(self, path):
        import zarr

        zarr.config.enable_gpu()
        return zarr.open_array(path, mode="r")

    def whole(self):
        return self.array[:]

    def crops(self, boxes):
        with concurrent.futures.ThreadPoolExecutor(
                self.nthreads, initializer=self.module.cuda.Device(self.number).use) as pool:
            return self.module.stack(list(pool.map(self.array.__getitem__, boxes)))


class Kvikio(ZarrGPU):
    package = "kvikio-cu13"

    def open(self, path):
        import kvikio.defaults
        import kvikio.zarr

        kvikio.defaults.set("num_threads", self.nthreads)
        return super().open(kvikio.zarr.GDSStore(path, read_only=True))


class Czarr(ZarrGPU):
    package, nthreads = "czarr", 1

    def open(self, path):
        import czarr

        czarr.configure_gpu()
        return czarr.open_cuda_array(path)


class Damacy:
    """damacy gives batches of boxes of one shape, as float32, and reads ahead meanwhile: what it
    takes is told of several reads in one stream. A whole array is boxes of as many planes as a
    chunk has."""

    dtype = np.float32
    batch_nbytes, wave_nbytes, memory_nbytes, nshards = 1 << 31, 1 << 30, 96 << 30, 8

    def __init__(self, path, device):
        self.number, self.module = number_of(device), module_of(device)
        import damacy
        import zarr

        self.damacy, self.version, self.path = damacy, damacy.__version__, path
        self.array, self.pipelines = zarr.open_array(path, mode="r"), {}

    def pipeline(self, shape, n):
        """(pipeline, boxes in a batch): the most of which so many are a multiple."""
        if (shape, n) not in self.pipelines:
            most = max(1, self.batch_nbytes // (4 * int(np.prod(shape))))
            batch = max(k for k in range(1, min(n, most) + 1) if n % k == 0)
            chunk = int(np.prod(self.array.chunks)) * self.array.dtype.itemsize
            self.pipelines[shape, n] = self.damacy.Pipeline(self.damacy.Config(
                samples_per_batch=batch, sample_shape=shape, lookahead_samples=4 * batch,
                max_gpu_memory_bytes=self.memory_nbytes, max_chunk_uncompressed_bytes=chunk,
                max_chunks_per_wave=max(1, self.wave_nbytes // chunk), device=self.number,
                n_io_threads=self.damacy.max_concurrency(), max_shards_per_sample=self.nshards,
                n_array_meta_cache=6 * batch, n_chunk_layout_cache=6 * batch,
                n_shard_index_cache=6 * batch * self.nshards)), batch
        return self.pipelines[shape, n]

    def crops(self, boxes, times=1):
        shape = tuple(s.stop - s.start for s in boxes[0])
        pipeline, size = self.pipeline(shape, len(boxes))
        out = self.module.empty((len(boxes), *shape), self.dtype)
        pipeline.push(self.damacy.Sample(self.path, box) for box in boxes * times)
        for _ in range(times):
            for at in range(0, len(boxes), size):
                batch = pipeline.pop()
                out[at:at + size] = self.module.from_dlpack(batch)
                copied = self.module.cuda.get_current_stream().record()
                batch.release(event=copied.ptr)
        return out

    def whole(self, times=1):
        planes, (n, *plane) = self.array.chunks[0], self.array.shape
        return self.crops([(slice(t, t + planes), *(slice(0, m) for m in plane))
                           for t in range(0, n, planes)], times)

    def seconds(self, read, repeats):
        start = time.perf_counter()
        read(times=repeats)
        self.module.cuda.runtime.deviceSynchronize()
        return (time.perf_counter() - start) / repeats
