"""The structures and functions of the public headers for ctypes. SPDX-License-Identifier: Apache-2.0

The library is taken from HEADRACE_LIB, else from build/libheadrace.so.
"""

import ctypes as c
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MAX_NDIM = 32

STATUS = {
    0: "OK", -1: "ARGUMENT", -2: "MEMORY", -3: "OVERFLOW", -4: "UNSUPPORTED", -5: "NOT_FOUND",
    -6: "IO", -7: "METADATA", -8: "DATA", -9: "CHECKSUM", -10: "MISSING_CHUNK", -11: "DTYPE",
    -12: "SHAPE", -13: "SELECTION", -14: "DEVICE", -15: "CANCELLED", -16: "FORKED",
    -17: "TIMEOUT", -18: "STRICT",
}


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("status", c.c_int32), ("device_code", c.c_int32),
                ("os_errno", c.c_int32), ("offset", c.c_uint64), ("codec", c.c_char * 32),
                ("url", c.c_char * 256), ("key", c.c_char * 256), ("message", c.c_char * 512)]


class Dtype(c.Structure):
    _fields_ = [("kind", c.c_uint8), ("byte_order", c.c_uint8), ("time_unit", c.c_uint8),
                ("reserved", c.c_uint8), ("time_scale", c.c_int32), ("itemsize", c.c_uint64),
                ("fields", c.c_void_p), ("nfields", c.c_uint64), ("base", c.c_void_p)]


class Device(c.Structure):
    _fields_ = [("type", c.c_int32), ("index", c.c_int32)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", Device), ("dtype", Dtype),
                ("ndim", c.c_int32), ("shape", c.POINTER(c.c_int64)),
                ("strides_nbytes", c.POINTER(c.c_int64))]


class Axis(c.Structure):
    _fields_ = [("kind", c.c_int32), ("start", c.c_int64), ("stop", c.c_int64),
                ("step", c.c_int64), ("indices", c.POINTER(c.c_int64)),
                ("nindices", c.c_uint64)]


class Selection(c.Structure):
    _fields_ = [("kind", c.c_int32), ("naxes", c.c_int32), ("axes", c.POINTER(Axis)),
                ("npoints", c.c_uint64), ("points", c.POINTER(c.c_int64)),
                ("mask", c.POINTER(c.c_uint8))]


class Request(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("array", c.c_void_p), ("selection", Selection),
                ("dst", Tensor), ("allow_cast", c.c_int32), ("user", c.c_void_p)]


class ReadOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("strict", c.c_int32),
                ("skip_checksums", c.c_int32)]


class BatchStats(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("nchunks", c.c_uint64),
                ("nchunks_missing", c.c_uint64), ("nreads", c.c_uint64),
                ("read_nbytes", c.c_uint64), ("decoded_nbytes", c.c_uint64),
                ("copied_nbytes", c.c_uint64)]


class ContextOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("nthreads", c.c_uint32),
                ("scratch_nbytes", c.c_uint64), ("index_cache_nbytes", c.c_uint64),
                ("metadata_max_nbytes", c.c_uint64), ("allocator", c.c_void_p),
                ("log", c.c_void_p), ("log_user", c.c_void_p), ("log_level", c.c_int32)]


class OpenOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("consolidated", c.c_int32),
                ("zarr_format", c.c_int32)]


class NodeInfo(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("kind", c.c_int32), ("format", c.c_char_p),
                ("url", c.c_char_p), ("attributes_json", c.c_char_p), ("dtype", Dtype),
                ("ndim", c.c_int32), ("shape", c.POINTER(c.c_int64)),
                ("chunk_shape", c.POINTER(c.c_int64)), ("shard_shape", c.POINTER(c.c_int64)),
                ("grid_shape", c.POINTER(c.c_int64)), ("is_rectilinear", c.c_int32),
                ("codecs_json", c.c_char_p), ("fill_value_json", c.c_char_p),
                ("fill_value", c.c_void_p), ("dimension_names", c.POINTER(c.c_char_p))]


class Vlen(c.Structure):
    _fields_ = [("data", c.c_void_p), ("nbytes", c.c_uint64)]


class Member(c.Structure):
    _fields_ = [("path", c.c_char_p), ("kind", c.c_int32)]


class HeadraceError(Exception):
    """What the library reported: status name ("DATA"), and the fields of hr_error."""

    def __init__(self, status, error):
        self.status = STATUS[status]
        self.message = error.message.decode("utf-8", "replace")
        self.codec, self.url, self.key = (
            text.decode("utf-8", "replace") for text in (error.codec, error.url, error.key))
        self.errno, self.offset = error.os_errno, error.offset
        super().__init__(f"{self.status}: {self.message} (key {self.key!r}, codec {self.codec!r})")


def _load():
    library = c.CDLL(os.environ.get("HEADRACE_LIB", str(ROOT / "build" / "libheadrace.so")))
    pointer, error = c.c_void_p, c.POINTER(Error)
    out = c.POINTER(c.c_void_p)
    calls = {
        "hr_context_create": (c.c_int, [c.POINTER(ContextOptions), out, error]),
        "hr_context_unref": (None, [pointer]),
        "hr_store_create_memory": (c.c_int, [pointer, out, error]),
        "hr_store_open_directory": (c.c_int, [pointer, c.c_char_p, out, error]),
        "hr_store_set": (c.c_int, [pointer, c.c_char_p, c.c_char_p, c.c_size_t, error]),
        "hr_store_unref": (None, [pointer]),
        "hr_open": (c.c_int, [pointer, c.c_char_p, c.POINTER(OpenOptions), out, error]),
        "hr_open_store": (c.c_int, [pointer, c.c_char_p, c.POINTER(OpenOptions), out, error]),
        "hr_node_open": (c.c_int, [pointer, c.c_char_p, out, error]),
        "hr_node_unref": (None, [pointer]),
        "hr_node_describe": (c.c_int, [pointer, c.POINTER(NodeInfo), error]),
        "hr_node_list": (c.c_int, [pointer, c.c_int32, out, error]),
        "hr_member_list_size": (c.c_size_t, [pointer]),
        "hr_member_list_get": (Member, [pointer, c.c_size_t]),
        "hr_member_list_free": (None, [pointer]),
        "hr_selection_shape": (c.c_int, [pointer, c.POINTER(Selection), c.POINTER(c.c_int32),
                                         c.POINTER(c.c_int64), error]),
        "hr_dtype_parse": (c.c_int, [c.c_char_p, c.POINTER(Dtype), error]),
        "hr_dtype_format": (c.c_size_t, [c.POINTER(Dtype), c.c_char_p, c.c_size_t]),
        "hr_read_submit": (c.c_int, [pointer, c.POINTER(Request), c.c_size_t, pointer,
                                     c.POINTER(ReadOptions), out, error]),
        "hr_batch_wait": (c.c_int, [pointer, c.c_int64, error]),
        "hr_batch_poll": (c.c_int, [pointer]),
        "hr_batch_cancel": (None, [pointer]),
        "hr_batch_error": (c.c_int, [pointer, c.c_size_t, error]),
        "hr_batch_get_stats": (c.c_int, [pointer, c.POINTER(BatchStats), error]),
        "hr_batch_unref": (None, [pointer]),
        "hr_version": (c.c_char_p, []),
    }
    for name, (result, arguments) in calls.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


LIB = _load()


def make(kind, **values):
    return kind(struct_size=c.sizeof(kind), **values)


def call(name, *arguments):
    """Call a function whose last argument is the error; raise where it failed."""
    error = make(Error)
    status = getattr(LIB, name)(*arguments, c.byref(error))
    if status != 0:
        raise HeadraceError(status, error)


def int64s(values):
    values = [int(v) for v in values]
    return (c.c_int64 * max(1, len(values)))(*values)
