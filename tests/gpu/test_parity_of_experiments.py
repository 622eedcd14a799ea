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
METHODS = dict.fromkeys(("KCEF", "SmoothedJDL", "SmoothedCME"), QUICK)
METHODS |= {"LSCDE": {}, "EpsilonKDE": {}} | {
    "CDO": {"bandwidth_x": 0.8, "regularization": 0.01, "reference": 60},
    "GaussianProcess": {"bandwidth_x": 0.8, "signal_std": 0.8, "noise_std": 0.5},
}


@pytest.fixture
def other_backend(other_xp, monkeypatch):
    """The name of the other backend; where there is no GPU, another namespace answers to it."""

    def asarray(values, backend):
        values = np.asarray(values, dtype=np.float64)
        return values if backend == "numpy" else other_xp.asarray(values)

    if other_xp.__name__ != "cupy":
        ours = [m for name, m in sys.modules.items() if name.startswith("kcde.experiments")]
        for name, stand_in in (("asarray", asarray), ("resolve_backend", lambda name: name)):
            for module in (module for module in ours if hasattr(module, name)):
                monkeypatch.setattr(module, name, stand_in)
    return "cupy"


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Where the smoke data are, with their catalogue."""
    folder = tmp_path_factory.mktemp("mirror")
    return {"data_dir": folder, "catalogue": write_smoke_data(folder)}


def assert_same_scores(job, folder, other_backend):
    """Run a job on both backends; compare every score that is no time."""
    frames = []
    for backend in ("numpy", other_backend):
        out = folder / f"{backend}.csv"
        run(replace(job, backend=backend), out)
        frames.append(scores.read([out]))
        assert set(frames[-1]["status"]) == {"ok"}, frames[-1]["detail"].unique()
    expected, found = frames
    assert set(found["backend"]) == {other_backend}
    assert expected["metric"].tolist() == found["metric"].tolist()
    kept = expected["metric"] != "seconds"
    one, other = (each.loc[kept, ["value", "stderr"]] for each in frames)
    np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-6)


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.data, id="real data")])
def source(request, smoke):
    """Return whether the data are real, and where they are."""
    if request.param:
        return True, {"data_dir": request.getfixturevalue("raw_data")}
    return False, smoke


@pytest.mark.parametrize("method", METHODS)
def test_a_set_of_the_r_packages(method, source, tmp_path, other_backend):
    real, where = source
    given = where | {"options": METHODS[method], "splits": 2 - real, "importance_samples": 500}
    job = RBenchmark("geyser" if real else "smoke-linear", method, **given)
    assert_same_scores(job, tmp_path, other_backend)


def test_a_factor(source, tmp_path, other_backend):
    dataset, node = ("red-wine", 4) if source[0] else ("smoke-joint", 3)
    given = source[1] | {"nodes": (node,), "options": QUICK, "runs": 1}
    assert_same_scores(Factors(dataset, "KCEF-F", "KCEF", **given), tmp_path, other_backend)
