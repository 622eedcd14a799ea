"""Scores of a data set of the R packages and of a factor are the same to six digits."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from kcde import scores
from kcde.data.smoke import write_smoke_data
from kcde.experiments.factors import Factors
from kcde.experiments.r_benchmark import RBenchmark
from kcde.experiments.runner import run

QUICK = {"bandwidth_x": 0.8, "bandwidth_y": 0.7, "regularization": 0.01}
METHODS = {
    "KCEF": QUICK,
    "LSCDE": {},
    "EpsilonKDE": {},
    "CDO": {"bandwidth_x": 0.8, "regularization": 0.01, "reference": 60},
    "GaussianProcess": {"bandwidth_x": 0.8, "signal_std": 0.8, "noise_std": 0.5},
    "SmoothedJDL": QUICK,
    "SmoothedCME": QUICK,
}
SIX_DIGITS = 1e-6


@pytest.fixture
def other_backend(other_xp, monkeypatch):
    """The name of the other backend; where there is no GPU, another namespace answers to it."""
    if other_xp.__name__ != "cupy":
        for name, module in list(sys.modules.items()):
            if not name.startswith("kcde.experiments"):
                continue
            if hasattr(module, "asarray"):
                monkeypatch.setattr(module, "asarray", _stand_in(other_xp, module.asarray))
            if hasattr(module, "resolve_backend"):
                monkeypatch.setattr(module, "resolve_backend", lambda name: name)
    return "cupy"


def _stand_in(xp, of_backend):
    def asarray(values, backend):
        if backend == "numpy":
            return of_backend(values, backend)
        return xp.asarray(np.asarray(values, dtype=np.float64))

    return asarray


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The folder of the smoke data, with its catalogue."""
    folder = tmp_path_factory.mktemp("mirror")
    return folder, write_smoke_data(folder)


def assert_same_scores(job, tmp_path, other_backend):
    """Run a job on both backends; compare every score that is no time."""
    frames = []
    for backend in ("numpy", other_backend):
        out = tmp_path / f"{backend}.csv"
        run(replace(job, backend=backend), out)
        frames.append(scores.read([out]))
    expected, found = frames
    assert set(expected["status"]) == {"ok"}, expected["detail"].unique()
    assert set(found["status"]) == {"ok"}, found["detail"].unique()
    assert set(found["backend"]) == {other_backend}
    assert expected["metric"].tolist() == found["metric"].tolist()
    numbers = expected["metric"] != "seconds"
    for column in ("value", "stderr"):
        np.testing.assert_allclose(
            found.loc[numbers, column],
            expected.loc[numbers, column],
            rtol=SIX_DIGITS,
            atol=SIX_DIGITS,
        )


def r_set(dataset, method, **axes):
    """Return a job of one method on a set of the R packages."""
    common = {"options": METHODS[method], "splits": 2, "importance_samples": 500}
    return RBenchmark(dataset, method, **common | axes)


@pytest.mark.parametrize("method", METHODS)
def test_smoke_data(method, smoke, tmp_path, other_backend):
    job = r_set("smoke-linear", method, data_dir=smoke[0], catalogue=smoke[1])
    assert_same_scores(job, tmp_path, other_backend)


@pytest.mark.data
@pytest.mark.parametrize("method", METHODS)
def test_geyser(method, raw_data, tmp_path, other_backend):
    assert_same_scores(
        r_set("geyser", method, splits=1, data_dir=raw_data), tmp_path, other_backend
    )


def factor(dataset, node, **axes):
    """Return a job of one factor."""
    common = {"options": QUICK, "runs": 1}
    return Factors(dataset, "KCEF-F", "KCEF", nodes=(node,), **common | axes)


def test_a_factor_of_smoke_data(smoke, tmp_path, other_backend):
    job = factor("smoke-joint", 3, data_dir=smoke[0], catalogue=smoke[1])
    assert_same_scores(job, tmp_path, other_backend)


@pytest.mark.data
def test_a_factor_of_uci_data(raw_data, tmp_path, other_backend):
    job = factor("red-wine", 4, data_dir=raw_data)
    assert_same_scores(job, tmp_path, other_backend)
