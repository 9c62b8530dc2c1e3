"""What the Python tests share. SPDX-License-Identifier: Apache-2.0"""

import os
import pathlib
import subprocess
import tempfile

import hypothesis
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = os.path.abspath(os.environ.get("HEADRACE_BIN", ROOT / "build" / "cli" / "headrace"))

# "ci" tries the same examples every time; "dev" (the default) looks for new ones.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("dev", deadline=None, database=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


class Cli:
    """Runs the command; `crashed` tells a crash or a sanitizer report from an error."""

    def __call__(self, *arguments, timeout=60):
        # Sanitizers get an exit status that the command itself never uses.
        environment = dict(os.environ)
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
            environment[name] = ":".join(filter(None, (os.environ.get(name), "exitcode=99")))
        return subprocess.run([BIN, *map(str, arguments)], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=timeout, env=environment, check=False)

    @staticmethod
    def crashed(result):
        return result.returncode not in (0, 1, 2) or b"runtime error:" in result.stderr


@pytest.fixture(scope="session")
def cli():
    return Cli()


@pytest.fixture
def folder():
    """A new folder with a short path, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="headrace-") as path:
        yield pathlib.Path(path)


@pytest.fixture(scope="module")
def context():
    from headrace_ctypes import Context  # not all tests need the library

    with Context(nthreads=2) as ctx:
        yield ctx
