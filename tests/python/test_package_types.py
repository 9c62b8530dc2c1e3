"""Types and documentation of what the package offers. SPDX-License-Identifier: Apache-2.0"""

import importlib
import inspect
import os
import subprocess
import sys

import pytest

from conftest import ROOT

hr = pytest.importorskip("headrace", reason="the package is not built")
MODULES = ("headrace", "headrace.dask", "headrace.numcodecs", "headrace.torch", "headrace.xarray",
           "headrace.zarr")


def members(cls):
    for name, value in vars(cls).items():
        if not name.startswith("_") and (callable(value) or hasattr(value, "__get__")):
            yield name, value


@pytest.mark.parametrize("name", MODULES)
def test_what_is_public_is_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for public in module.__all__:
        found = getattr(module, public)
        if not callable(found):
            continue
        assert inspect.getdoc(found), public
        if inspect.isclass(found):
            bare = [member for member, value in members(found) if not inspect.getdoc(value)]
            assert not bare, f"{public}: {bare}"


def mypy(*arguments):
    pytest.importorskip("mypy")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True,
                          cwd=os.path.dirname(os.path.dirname(hr.__file__)), env=environment,
                          check=False)


def test_the_package_keeps_to_its_types():
    result = mypy("mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", os.devnull,
                  "headrace")
    assert result.returncode == 0, result.stdout


def test_the_stub_is_what_the_extension_has():
    result = mypy("mypy.stubtest", "headrace._ext", "--concise", "--mypy-config-file",
                  ROOT / "pyproject.toml")
    assert result.returncode == 0, result.stdout
