"""Fixtures that several test files share."""

import importlib.util

import array_api_strict
import numpy as np
import pytest

from kcde.arrays import to_numpy


def _has_gpu() -> bool:
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy

    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


_GPU = pytest.param(
    "cupy", marks=[pytest.mark.gpu, pytest.mark.skipif(not _has_gpu(), reason="no CUDA device")]
)


@pytest.fixture(params=["numpy", "strict", _GPU])
def xp(request):
    """Each array namespace the code is written for."""
    if request.param == "strict":
        return array_api_strict
    return np if request.param == "numpy" else pytest.importorskip("cupy")


@pytest.fixture(params=["strict", _GPU])
def other_xp(request):
    """Each array namespace but numpy, to be compared with numpy."""
    return array_api_strict if request.param == "strict" else pytest.importorskip("cupy")


@pytest.fixture
def host():
    """Return the function that brings any array to numpy."""
    return to_numpy


@pytest.fixture
def rng():
    """A generator that is the same in every test."""
    return np.random.default_rng(20180416)


@pytest.fixture
def pairs(rng):
    """Thirty pairs with two x and one y, around a curve, of unit scale."""
    X = rng.standard_normal((30, 2))
    Y = np.sin(X[:, :1]) + 0.4 * rng.standard_normal((30, 1))
    return X, Y
