"""The donut and the terrain of cdo as jobs: their names, and what memory they take."""

from collections.abc import Mapping

DONUT = "donut"
"""The data set of the experiment of that name, which is drawn."""

FLOWS = ("ConditionalRealNVP", "ConditionalMAF")
"""Estimators that cdo scores on random splits of the terrain as well."""

_LIBRARIES, _NETWORKS = 300, 900  # MiB
_TERRAIN_ROWS = 12_636  # in training
_SQUARE = ("CDO", "GaussianProcess")  # they hold one matrix of training rows by training rows


def donut_memory(config: Mapping, scale: str, method: str) -> int:
    """Return MiB that a job on the donut may take: libraries, and matrices of its 50·n points."""
    rows = 50 * config["scales"]["donut_points"][scale]
    return _memory(config, method, rows, matrices=8)


def terrain_memory(config: Mapping, scale: str, method: str) -> int:
    """Return MiB that a job on the terrain may take: libraries, and one matrix of its rows."""
    rows = 300 if scale == "smoke" else _TERRAIN_ROWS
    return _memory(config, method, rows, matrices=2)


def _memory(config: Mapping, method: str, rows: int, *, matrices: int) -> int:
    estimator = config["methods"][method]["estimator"]
    if estimator in FLOWS:
        return _NETWORKS
    square = matrices * 8 * rows**2 // 2**20 if estimator in _SQUARE else 0
    return _LIBRARIES + square
