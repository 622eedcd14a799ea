"""Where the tests of cupy run, and why they do not elsewhere."""

import pytest

from kcde.arrays import cupy_obstacle

_OBSTACLE = cupy_obstacle()
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(_OBSTACLE is not None, reason=str(_OBSTACLE))]
"""Marks of what needs cupy and a CUDA device; where these are not, the reason says so."""
