"""The readers of the end-to-end bench. SPDX-License-Identifier: Apache-2.0

A reader opens an array for a device ("cpu" or "cuda:N"). `whole()` reads all of it, `crops(boxes)`
boxes of one shape into one array; both give it where the device is, ready to use. Readers that
know the host only are those of bench/host, with a copy behind; those that know GPUs only are in
gpu_peers.py. What gives another type than the array's names it as `dtype`.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from gpu_peers import NTHREADS, Czarr, Damacy, Kvikio, ZarrGPU, module_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "host"))
import readers as host


class Headrace:
    cast = None

    def __init__(self, path, device):
        import headrace

        self.version = headrace.__version__
        if device != "cpu":
            headrace.config.set(allocator="cupy")
        self.device, self.array, self.stages = device, headrace.open(path), None

    def finish(self, future):
        result = future.result()
        self.stages = {"bound": future.stages().bound, "text": repr(future.stages())}
        return result

    def whole(self):
        return self.finish(self.array.read(np.s_[...], device=self.device, dtype=self.cast))

    def crops(self, boxes):
        shape = (len(boxes), *(s.stop - s.start for s in boxes[0]))
        out = module_of(self.device).empty(shape, self.cast or self.array.dtype)
        return self.finish(self.array.read(boxes, out=out, dtype=self.cast))


class HeadraceF32(Headrace):
    """What damacy gives."""

    cast = dtype = np.float32


class OnHost:
    """A reader of bench/host, then a copy to the device."""

    def __init__(self, reader, path, device):
        self.reader, self.module = reader(path), module_of(device)
        self.version = self.reader.version

    def whole(self):
        return self.module.asarray(self.reader.box((slice(None),) * 3))

    def crops(self, boxes):
        first = self.reader.box(boxes[0])
        out = np.empty((len(boxes), *first.shape), first.dtype)

        def read(i):
            out[i] = self.reader.box(boxes[i])

        with concurrent.futures.ThreadPoolExecutor(NTHREADS) as pool:
            list(pool.map(read, range(len(boxes))))
        return self.module.asarray(out)


class Tensorstore(OnHost):
    def crops(self, boxes):
        with self.reader.tensorstore.Batch() as batch:
            reads = [self.reader.array[box].read(batch=batch) for box in boxes]
        return self.module.asarray(np.stack([read.result() for read in reads]))


class HeadraceNvcomp:
    """headrace's command with nvCOMP for the codecs that it has: whole arrays only. The command
    tells its own time, without its start and the making of its context."""

    def __init__(self, path, device):
        if device == "cpu" or "NVCOMP" not in os.environ:
            raise ImportError("for GPUs, with NVCOMP=…/libnvcomp.so.6 in the environment")
        if "lz4" not in pathlib.Path(path, "zarr.json").read_text(encoding="utf-8"):
            raise ImportError("nvCOMP decodes LZ4 only, of the codecs of this bench")
        self.command = os.environ.get("HEADRACE_BIN", "headrace")
        self.options = [path, "--device", device, f"--nvcomp={os.environ['NVCOMP']}"]
        self.version, self.module = "nvCOMP", module_of(device)

    def run(self, verb, *more):
        return subprocess.run([self.command, "-q", verb, *self.options, *more], check=True,
                              stdout=subprocess.PIPE).stdout

    def seconds(self, _, repeats):
        return json.loads(self.run("bench", "-n", str(repeats), "--json"))["seconds"]

    def whole(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run("read", "-o", f"{folder}/whole.npy")
            return self.module.asarray(np.load(f"{folder}/whole.npy"))


READERS = {"headrace": Headrace, "headrace-f32": HeadraceF32, "headrace-nvcomp": HeadraceNvcomp,
           "damacy": Damacy, "czarr": Czarr,
           "zarrs": lambda path, device: OnHost(host.Zarrs, path, device),
           "tensorstore": lambda path, device: Tensorstore(host.Tensorstore, path, device),
           "zarr-python": lambda path, device: OnHost(host.Zarr, path, device),
           "zarr-gpu": ZarrGPU, "kvikio": Kvikio}
