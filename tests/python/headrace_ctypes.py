"""A small binding of libheadrace for tests and benchmarks. SPDX-License-Identifier: Apache-2.0

It adds NumPy to the edges of headrace_abi.

    with Context() as ctx:
        array = ctx.open("some.zarr")
        block = array.read((slice(0, 10), [3, 1]))
        blocks, stats = ctx.read([(array, Points(p)), (other, Mask(m))])
"""

import ast
import ctypes as c
import json
import os

import numpy as np

from headrace_abi import (
    LIB, MAX_NDIM, Axis, BatchStats, ContextOptions, Device, Dtype, HeadraceError, NodeInfo,
    OpenOptions, ReadOptions, Request, Selection, Tensor, Vlen, call, int64s, make)

__all__ = ["Batch", "Blocks", "Context", "HeadraceError", "Mask", "Node", "Points", "Store",
           "version"]

NONE = -(2**63)  # HR_NONE
VLEN_UTF8 = 13   # HR_KIND_VLEN_UTF8: the first of the variable-length kinds
CPU = 1          # HR_DEVICE_CPU


def version():
    return LIB.hr_version().decode()


class Points:
    """Coordinate tuples: an (n, ndim) array."""

    def __init__(self, points):
        self.array = np.ascontiguousarray(points, dtype=np.int64)


class Mask:
    """A bool for every element."""

    def __init__(self, mask):
        self.array = np.ascontiguousarray(mask, dtype=np.uint8)


class Blocks:
    """Slices and integers in units of innermost chunks."""

    def __init__(self, axes):
        self.axes = axes if isinstance(axes, tuple) else (axes,)


def _axis(index, keep):
    if isinstance(index, slice):
        start, stop = (NONE if v is None else int(v) for v in (index.start, index.stop))
        return Axis(kind=0, start=start, stop=stop, step=1 if index.step is None else index.step)
    if isinstance(index, (int, np.integer)):
        return Axis(kind=1, start=int(index))
    values = np.ascontiguousarray(index, dtype=np.int64)
    keep.append(values)
    return Axis(kind=2, indices=values.ctypes.data_as(c.POINTER(c.c_int64)), nindices=values.size)


def _selection(spec, ndim, keep):
    """None or ... = everything; a tuple of slices, integers and lists; or one of the classes."""
    if spec is None or spec is Ellipsis:
        return Selection(kind=0)
    if isinstance(spec, Points):
        keep.append(spec.array)
        return Selection(kind=2, npoints=len(spec.array),
                          points=spec.array.ctypes.data_as(c.POINTER(c.c_int64)))
    if isinstance(spec, Mask):
        keep.append(spec.array)
        return Selection(kind=3, mask=spec.array.ctypes.data_as(c.POINTER(c.c_uint8)))
    indices = spec.axes if isinstance(spec, Blocks) else spec
    indices = indices if isinstance(indices, tuple) else (indices,)
    if Ellipsis in [i for i in indices if i is Ellipsis]:
        at = [i is Ellipsis for i in indices].index(True)
        missing = ndim - (len(indices) - 1)
        indices = indices[:at] + (slice(None),) * missing + indices[at + 1:]
    axes = (Axis * max(1, len(indices)))(*[_axis(i, keep) for i in indices])
    keep.append(axes)
    return Selection(kind=4 if isinstance(spec, Blocks) else 1, naxes=len(indices), axes=axes)


class _Handle:
    """An owned pointer that is released once."""

    release = ""

    def __init__(self, pointer):
        self.pointer = pointer

    def close(self):
        pointer, self.pointer = self.pointer, None
        if pointer:
            getattr(LIB, self.release)(pointer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


class Node(_Handle):
    """An array or a group."""

    release = "hr_node_unref"

    def __init__(self, pointer, context):
        super().__init__(pointer)
        self.context = context
        self.info = info = make(NodeInfo)
        call("hr_node_describe", pointer, c.byref(info))
        self.is_array = info.kind == 1
        self.format = info.format.decode()
        self.attributes = json.loads(info.attributes_json)
        if self.is_array:
            n = info.ndim
            self.shape, self.chunks = tuple(info.shape[:n]), tuple(info.chunk_shape[:n])
            self.shards = tuple(info.shard_shape[:n]) if info.shard_shape else None
            self.codecs = json.loads(info.codecs_json)
            self.dimension_names = ([name and name.decode() for name in info.dimension_names[:n]]
                                    if info.dimension_names else None)

    @property
    def dtype_text(self):
        text = c.create_string_buffer(65536)
        LIB.hr_dtype_format(c.byref(self.info.dtype), text, len(text))
        return text.value.decode()

    @property
    def dtype(self):
        """The NumPy dtype of the elements in memory; None for variable-length ones."""
        text = self.dtype_text
        if self.info.dtype.kind >= VLEN_UTF8:
            return None
        if text == "bfloat16":
            return np.dtype("<u2")  # the bits
        return np.dtype(ast.literal_eval(text) if text.startswith("[") else text)

    def open(self, path):
        out = c.c_void_p()
        call("hr_node_open", self.pointer, path.encode(), c.byref(out))
        return Node(out.value, self.context)

    def members(self, recursive=False):
        out = c.c_void_p()
        call("hr_node_list", self.pointer, int(recursive), c.byref(out))
        entries = [LIB.hr_member_list_get(out, i) for i in range(LIB.hr_member_list_size(out))]
        result = {e.path.decode(): ["array", "group", "unreadable"][e.kind - 1] for e in entries}
        LIB.hr_member_list_free(out)
        return result

    def read(self, selection=None, out=None, dtype=None, **options):
        return self.context.read([(self, selection, out, dtype)], **options)[0][0]


class Store(_Handle):
    """Bytes by key, in memory or in a directory."""

    release = "hr_store_unref"

    def __init__(self, context, path=None):
        out = c.c_void_p()
        if path is None:
            call("hr_store_create_memory", context.pointer, c.byref(out))
        else:
            call("hr_store_open_directory", context.pointer, os.fsencode(path), c.byref(out))
        super().__init__(out.value)
        self.context = context

    def __setitem__(self, key, value):
        call("hr_store_set", self.pointer, key.encode(), bytes(value), len(value))

    def open(self, path="", consolidated=0, zarr_format=0):
        out = c.c_void_p()
        options = make(OpenOptions, consolidated=consolidated, zarr_format=zarr_format)
        call("hr_open_store", self.pointer, path.encode(), c.byref(options), c.byref(out))
        return Node(out.value, self.context)


class Batch(_Handle):
    """A submitted batch with all that must stay alive until it is done."""

    release = "hr_batch_unref"

    def __init__(self, pointer, requests, outputs, nodes, keep):
        super().__init__(pointer)
        self.requests, self.outputs, self.nodes, self.keep = requests, outputs, nodes, keep

    def wait(self, timeout=None):
        ns = -1 if timeout is None else int(timeout * 1e9)
        call("hr_batch_wait", self.pointer, ns)

    def done(self):
        return bool(LIB.hr_batch_poll(self.pointer))

    def cancel(self):
        LIB.hr_batch_cancel(self.pointer)

    def error(self, i):
        """The error of a request, or None."""
        try:
            call("hr_batch_error", self.pointer, i)
        except HeadraceError as error:
            return error
        return None

    def stats(self):
        stats = make(BatchStats)
        call("hr_batch_get_stats", self.pointer, c.byref(stats))
        return {name: getattr(stats, name) for name, _ in BatchStats._fields_[1:]}

    def result(self, i):
        """What request i read: an array, or nested lists for variable-length elements."""
        kind = self.nodes[i].info.dtype.kind
        return self.outputs[i] if kind < VLEN_UTF8 else _vlen(self.outputs[i], kind)


def _vlen(raw, kind):
    """Copy variable-length elements out of the batch: an array of str or bytes objects."""
    out = np.empty(raw.shape, dtype=object)
    flat = raw.reshape(-1)
    for i in range(flat.size):
        item = Vlen.from_buffer_copy(flat[i].tobytes())
        data = c.string_at(item.data, item.nbytes) if item.nbytes else b""
        out.reshape(-1)[i] = data.decode("utf-8") if kind == VLEN_UTF8 else data
    return out


class Context(_Handle):
    release = "hr_context_unref"

    def __init__(self, nthreads=0, **options):
        out = c.c_void_p()
        settings = make(ContextOptions, nthreads=nthreads, **options)
        call("hr_context_create", c.byref(settings), c.byref(out))
        super().__init__(out.value)

    def open(self, url, consolidated=0, zarr_format=0):
        out = c.c_void_p()
        options = make(OpenOptions, consolidated=consolidated, zarr_format=zarr_format)
        call("hr_open", self.pointer, os.fsencode(url), c.byref(options), c.byref(out))
        return Node(out.value, self)

    def _request(self, item, keep):
        node, spec, out, dtype = (tuple(item) + (None,) * 3)[:4]
        selection = _selection(spec, node.info.ndim, keep)
        ndim, shape = c.c_int32(), (c.c_int64 * MAX_NDIM)()
        call("hr_selection_shape", node.pointer, c.byref(selection), c.byref(ndim), shape)
        element, cast = node.info.dtype, 0
        if dtype is not None or out is not None:
            wanted = np.dtype(dtype if dtype is not None else out.dtype)
            if wanted.fields is None and node.dtype is not None and wanted != node.dtype:
                element, cast = Dtype(), int(wanted.newbyteorder("<") != node.dtype)
                call("hr_dtype_parse", wanted.str.encode(), c.byref(element))
        if out is None:
            memory = dtype if dtype is not None else node.dtype
            memory = np.dtype((np.void, c.sizeof(Vlen))) if memory is None else memory
            out = np.empty(tuple(shape[:ndim.value]), dtype=memory)
        tensor = Tensor(data=out.ctypes.data, device=Device(CPU, 0), dtype=element, ndim=out.ndim,
                         shape=int64s(out.shape), strides_nbytes=int64s(out.strides))
        return make(Request, array=node.pointer, selection=selection, dst=tensor,
                        allow_cast=cast), out, node

    def submit(self, items, strict=False, skip_checksums=False):
        """Start reading: items are (node, selection[, out[, dtype]])."""
        keep = []
        made = [self._request(item, keep) for item in items]
        requests = (Request * max(1, len(made)))(*[m[0] for m in made])
        options = make(ReadOptions, strict=int(strict), skip_checksums=int(skip_checksums))
        batch = c.c_void_p()
        call("hr_read_submit", self.pointer, requests, len(made), None, c.byref(options),
              c.byref(batch))
        return Batch(batch.value, requests, [m[1] for m in made], [m[2] for m in made], keep)

    def read(self, items, **options):
        """Read many selections of many arrays: (list of results, statistics)."""
        with self.submit(items, **options) as batch:
            batch.wait()
            return [batch.result(i) for i in range(len(items))], batch.stats()
