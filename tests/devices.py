"""Where the tests of cupy run, and why they do not elsewhere."""

import pytest

from kcde.arrays import resolve_backend


def _missing_gpu() -> str | None:
    """Return what is missing for cupy, or None where it runs."""
    try:
        resolve_backend("cupy")
    except RuntimeError as obstacle:
        return str(obstacle)
    return None


_OBSTACLE = _missing_gpu()
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(_OBSTACLE is not None, reason=str(_OBSTACLE))]
"""Marks of what needs cupy and a CUDA device; where these are not, the reason says so."""
