"""Where the tests of cupy run, why they do not elsewhere, and what stands in for it there."""

import sys

import numpy as np
import pytest

from kcde.arrays import cupy_obstacle

_OBSTACLE = cupy_obstacle()
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(_OBSTACLE is not None, reason=str(_OBSTACLE))]
"""Marks of what needs cupy and a CUDA device; where these are not, the reason says so."""


def stand_in(monkeypatch, xp):
    """Let another namespace answer to cupy in the experiments."""

    def asarray(values, backend="numpy"):
        values = np.asarray(values, dtype=np.float64)
        return xp.asarray(values) if backend == "cupy" else values

    for name, module in list(sys.modules.items()):
        if name.startswith("kcde.experiments"):
            for function, other in (("asarray", asarray), ("resolve_backend", lambda name: name)):
                if hasattr(module, function):
                    monkeypatch.setattr(module, function, other)
