"""Stores of Python that take their time, or for ever. SPDX-License-Identifier: Apache-2.0"""

import os
import subprocess
import sys

import pytest

pytest.importorskip("headrace", reason="the package is not built")
pytest.importorskip("zarr")


def run_script(script):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True,
                          text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stderr == "" and done.returncode == 0
    return done.stdout


SLOW = """if True:
    import os, sys, threading, time, headrace as hr
    meta = b'{"zarr_format":2,"shape":[99],"chunks":[1],"dtype":"|u1",' \\
           b'"compressor":null,"filters":null,"fill_value":0,"order":"C"}'
    asked, go = threading.Event(), threading.Event()
    class Slow:
        def get(self, key):
            if key == ".zarray":
                return meta
            if not key.isdigit():
                return None
            asked.set()
            go.wait(0.01)
            return b"x"
    a = hr.open(Slow())
    reads = [a.read() for _ in range(3)]
    asked.wait()
"""


STUCK = """if True:
    import asyncio, os, signal, sys, threading, headrace as hr, numpy as np, zarr
    async def stick(asked):
        asked.set()
        await asyncio.sleep(3600)
    class Async(zarr.storage.WrapperStore):
        asked = index = None
        async def get(self, key, prototype, byte_range=None):
            if "/c/" in key:
                await stick(self.asked)
            return await super().get(key, prototype, byte_range)
        async def getsize(self, key):
            return await (self._store.getsize(key) if self.index else stick(self.asked))
    class Object:
        def __init__(self, plain):
            self.held = {key: value.to_bytes() for key, value in plain._store_dict.items()}
        def get(self, key):
            return self.read(key, 0, None) if "/c/" in key else self.held.get(key)
        def size(self, key):
            return len(self.held[key]) if self.index else self.read(key, 0, 0)
        def read(self, key, offset, nbytes):
            self.asked.set()
            threading.Event().wait()
    def stuck(shards, index):
        plain = zarr.storage.MemoryStore()
        zarr.create_array(plain, name="x", data=np.arange(6), chunks=(2,), shards=shards)
        store = KIND(plain)
        store.asked, store.index = threading.Event(), index
        return store, hr.open(store, path="x")
    def begin(*case):
        store, a = stuck(*case)
        future = a.read()
        store.asked.wait()
        try:
            future.result(timeout=0.01)
        except hr.TimedOutError:
            return a, future
    def press(asked):
        asked.wait()
        os.kill(os.getpid(), signal.SIGINT)
    async def read(a):
        await asyncio.wait_for(a.read(), 0.1)
    for case in ((None, False), ((6,), False), ((6,), True)):
        a, future = begin(*case)
        del future
        print("dropped")
        a, future = begin(*case)
        future.cancel()
        print(type(future.exception()).__name__)
        store, a = stuck(*case)
        threading.Thread(target=press, args=(store.asked,)).start()
        try:
            a[...]
        except KeyboardInterrupt:
            print("interrupted")
        try:
            asyncio.run(read(a))
        except TimeoutError:
            print("awaited")
    left = begin(*case)
    print("end")
"""


@pytest.mark.parametrize("kind", ["Async", "Object"])
def test_a_store_that_never_answers_is_given_up(kind):
    """By who drops, cancels, interrupts or stops to wait for a read, whether it asks for chunks,
    for shards or for their index; and at the end of the interpreter."""
    said = run_script(STUCK.replace("KIND", kind)).split()
    assert said == ["dropped", "CancelledError", "interrupted", "awaited"] * 3 + ["end"]


def test_the_interpreter_ends_with_reads_under_way():
    assert run_script(SLOW + "    print('end')") == "end\n"


def test_a_child_ends_while_its_parent_is_in_a_store():
    assert run_script(SLOW + """
    pid = os.fork()
    if pid == 0:
        sys.exit(7)  # the usual way out, with everything that ends there
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    go.set()
    print(ended, bytes(reads[0].result())[5])
    """) == "7 120\n"
