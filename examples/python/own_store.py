"""A store of one's own: an array in an SQLite database, a row for each key.

SPDX-License-Identifier: Apache-2.0

usage: python examples/python/own_store.py

An object with get(key) is enough. It is called in threads, several at once, so that each of
them has a connection of its own here.
"""

import pathlib
import sqlite3
import tempfile
import threading

import numpy as np

import headrace as hr

DATA = pathlib.Path(__file__).parents[1] / "data" / "jacksboro.zarr" / "elevation"


class Database:
    def __init__(self, path):
        self.path, self.local = path, threading.local()

    def rows(self, query, *arguments):
        if not hasattr(self.local, "connection"):
            self.local.connection = sqlite3.connect(self.path)
        return self.local.connection.execute(query, arguments)

    def get(self, key):
        row = self.rows("SELECT value FROM chunks WHERE key = ?", key).fetchone()
        return None if row is None else row[0]

    # These two are for shards, of which only parts are read.

    def size(self, key):
        row = self.rows("SELECT length(value) FROM chunks WHERE key = ?", key).fetchone()
        return None if row is None else row[0]

    def read(self, key, offset, nbytes):
        return self.rows("SELECT substr(value, ?, ?) FROM chunks WHERE key = ?",
                         offset + 1, nbytes, key).fetchone()[0]


def fill(path, folder):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE chunks (key TEXT PRIMARY KEY, value BLOB)")
        connection.executemany("INSERT INTO chunks VALUES (?, ?)", (
            (file.relative_to(folder).as_posix(), file.read_bytes())
            for file in folder.rglob("*") if file.is_file()))


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "data.sqlite"
        fill(path, DATA)
        a = hr.open(Database(path))
        same = np.array_equal(a, hr.open(DATA))
        print(f"{a.shape} from {a.url}, the same as the files: {same}")


if __name__ == "__main__":
    main()
