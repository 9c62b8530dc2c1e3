"""Which GPU is the current one. SPDX-License-Identifier: Apache-2.0"""

import sys
import types

import pytest
from headrace import _config


class DriverError(RuntimeError):
    pass


def torch_on(device, *, starts=True):
    cuda = types.SimpleNamespace(is_available=lambda: device is not None,
                                 is_initialized=lambda: starts, current_device=lambda: device)
    return types.SimpleNamespace(cuda=cuda)


def cupy_on(device):
    def get():
        if device is None:
            raise DriverError
        return device
    runtime = types.SimpleNamespace(getDevice=get, CUDARuntimeError=DriverError)
    return types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))


@pytest.mark.parametrize("torch, cupy, expected", [
    (None, None, 0),
    (torch_on(3), None, 3),
    (None, cupy_on(2), 2),
    (torch_on(3), cupy_on(2), 3),
    (torch_on(3, starts=False), cupy_on(2), 2),  # to ask it would start it
    (torch_on(None), cupy_on(2), 2),
    (torch_on(None), cupy_on(None), 0),
])
def test_the_frameworks_in_use_say_which_gpu_is_current(monkeypatch, torch, cupy, expected):
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert _config.parse_device("cuda") == (_config.CUDA, expected)
