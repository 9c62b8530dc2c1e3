"""TIFF files through NVIDIA's nvTIFF, by ctypes. SPDX-License-Identifier: Apache-2.0"""

import concurrent.futures
import contextlib
import ctypes
import importlib.util
import os
import pathlib
import queue

SAMPLES = 16  # of a pixel, at most
DECODERS = 8  # a decoder has one decode under way
PIECE = 4 << 20  # bytes of a file that a thread reads at a time


class ImageInfo(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint32), ("width", ctypes.c_uint32),
                ("height", ctypes.c_uint32), ("compression", ctypes.c_int),
                ("photometric", ctypes.c_int), ("planar", ctypes.c_int),
                ("samples", ctypes.c_uint16), ("bits_per_pixel", ctypes.c_uint16),
                ("bits", ctypes.c_uint16 * SAMPLES), ("formats", ctypes.c_int * SAMPLES)]


class Image(ctypes.Structure):
    _fields_ = [("planes", ctypes.POINTER(ctypes.c_void_p)),
                ("pitches", ctypes.POINTER(ctypes.c_size_t)), ("nplanes", ctypes.c_uint32)]


def library():
    """That at NVTIFF, else the package's."""
    path = os.environ.get("NVTIFF")
    if path is None:
        package = importlib.util.find_spec("nvidia") and importlib.util.find_spec("nvidia.nvtiff")
        if not package:
            raise ImportError("not installed")
        path = str(pathlib.Path(package.submodule_search_locations[0], "lib/libnvtiff.so.0"))
    return ctypes.CDLL(path)


class Decoder:
    """is_pinned: nvTIFF gets files in pinned memory, else their names."""

    def __init__(self, functions, is_pinned, readers):
        import cupy
        self.cupy, self.functions, self.is_pinned, self.readers = cupy, functions, is_pinned, readers
        self.stream, self.buffer = cupy.cuda.Stream(non_blocking=True), None
        self.queue = ctypes.c_void_p(self.stream.ptr)
        self.decoder, self.params = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("nvtiffDecoderCreateSimple", ctypes.byref(self.decoder), self.queue)
        self.call("nvtiffDecodeParamsCreate", ctypes.byref(self.params))

    def call(self, name, *arguments):
        status = getattr(self.functions, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"status {status} of {name}")

    @contextlib.contextmanager
    def opened(self, path):
        file = ctypes.c_void_p()
        if self.is_pinned:
            nbytes = self.fetch(path)
            self.call("nvtiffStreamOpen", ctypes.c_void_p(self.buffer.ptr),
                      ctypes.c_size_t(nbytes), ctypes.byref(file))
        else:
            self.call("nvtiffStreamOpenFromFile", os.fsencode(path), ctypes.byref(file))
        try:
            yield file
        finally:
            self.call("nvtiffStreamClose", file)

    def fetch(self, path):
        """Read a file into the buffer, by all cores."""
        nbytes = os.path.getsize(path)
        if self.buffer is None or self.buffer.mem.size < nbytes:
            self.buffer = self.cupy.cuda.alloc_pinned_memory(nbytes)
        whole = memoryview((ctypes.c_char * nbytes).from_address(self.buffer.ptr)).cast("B")
        with open(path, "rb", buffering=0) as file:
            def read(at):
                piece = whole[at:at + PIECE]
                if os.preadv(file.fileno(), [piece], at) != len(piece):
                    raise OSError(f"{path}: short")
            list(self.readers.map(read, range(0, nbytes, PIECE)))
        return nbytes

    def read(self, path):
        with self.opened(path) as file:
            info = ImageInfo()
            self.call("nvtiffStreamGetImageInfo", file, ctypes.c_size_t(0), ctypes.byref(info))
            shape = (info.height, info.width) + ((info.samples,) if info.samples > 1 else ())
            out = self.cupy.empty(shape, f"{' uif'[info.formats[0]]}{info.bits[0] // 8}")
            plane, pitch = ctypes.c_void_p(out.data.ptr), ctypes.c_size_t(out.strides[0])
            image = Image(ctypes.pointer(plane), ctypes.pointer(pitch), 1)
            try:
                self.call("nvtiffDecode", file, self.decoder, self.params, ctypes.byref(image),
                          self.queue)
            finally:
                self.stream.synchronize()
        return out


class Reader:
    """Of many files, several are under way at once."""

    def __init__(self, is_pinned):
        functions, self.decoders = library(), queue.SimpleQueue()
        self.threads = concurrent.futures.ThreadPoolExecutor(DECODERS)
        readers = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        for _ in range(DECODERS):
            self.decoders.put(Decoder(functions, is_pinned, readers))

    def read(self, path):
        decoder = self.decoders.get()
        try:
            return decoder.read(path)
        finally:
            self.decoders.put(decoder)

    def __call__(self, paths):
        if len(paths) == 1:
            return [self.read(paths[0])]
        return list(self.threads.map(self.read, paths))
