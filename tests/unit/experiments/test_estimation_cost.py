"""dde, section 4: measured fits and their scores."""

import subprocess
import sys

import pytest

from kcde import scores
from kcde.experiments import _measured_fit, estimation_cost
from kcde.experiments.estimation_cost import EstimationCost
from kcde.experiments.runner import run

EXACT = estimation_cost.METHODS["KEF"]


def test_memory_that_is_taken_is_seen():
    code = (
        "import numpy as np; from kcde.experiments._measured_fit import peak_memory as peak;"
        "before = peak(); held = np.ones(10_000_000); print(peak() - before)"
    )
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert float(said) == pytest.approx(8e7, rel=0.1)


class Clock:
    """Time that passes only in fits: what is done once, compiling the first, and iterations."""

    once, compiling, each = 3.0, 20.0, 0.25

    def __init__(self):
        self.now, self.fits = 0.0, []

    def fit(self, iterations):
        self.now += self.once + (0.0 if self.fits else self.compiling) + self.each * iterations
        self.fits.append(iterations)


def test_iterations_are_extrapolated_without_what_is_done_once(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_measured_fit.time, "process_time", lambda: clock.now)
    found = _measured_fit._iterated(clock.fit, 100, 5000)
    assert clock.fits == [100, 100, 200]
    assert found["seconds"] == pytest.approx(clock.once + clock.compiling + 5000 * clock.each)
    assert found["seconds_per_iteration"] == pytest.approx(clock.each)
    assert found["compile_seconds"] == pytest.approx(clock.compiling)


def test_a_fit_that_fails_says_why():
    job = {"estimator": "KCEF", "options": {"regularization": -1.0}, "n": 50, "d": 1}
    with pytest.raises(_measured_fit.FitError, match="ValueError: regularization must be positive"):
        _measured_fit.in_own_process(job)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Scores of the whole range from costs that are powers of n and d."""
    path = tmp_path_factory.mktemp("scores") / "estimation_cost.csv"
    jobs = []

    def cost(job):
        jobs.append(job)
        n, d = job["n"], job["d"]
        if "wanted" in job:
            found = {"peak_memory": 300 + n / 100, "seconds": 20 + n / 100 + d}
            return found | {"seconds_per_iteration": 0.004, "compile_seconds": 5.0}
        if "n_basis" in job["options"]:
            if d == 20:
                raise _measured_fit.FitError("its process was killed by signal 9")
            return {"peak_memory": (300 * d) ** 2 * 8e-5, "seconds": n * d**2 / 100}
        return {"peak_memory": (n * d) ** 2 * 16e-6, "seconds": (n * d) ** 3 * 1e-10}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_measured_fit, "in_own_process", cost)
        run(EstimationCost(iterations=30), path)
    return path, jobs


def test_scores_are_complete(made):
    path, jobs = made
    frame = scores.read([path])
    assert len(jobs) == 8 * 5 - 1  # the exact family is not run at n = 10000
    assert (frame.groupby(["method", "n_train", "dim", "metric"]).size() == 1).all()
    counts = frame["metric"].value_counts()
    assert counts["peak_memory"] == counts["fit_seconds"] == 40
    assert counts["seconds_per_iteration"] == counts["compile_seconds"] == 24
    assert counts["system_memory"] == 8
    # Every fit is given its hyper-parameters: a selection would be what is measured.
    for job in jobs:
        assert job["options"]["bandwidth_y"] == job["d"] ** 0.5
        assert ("wanted" in job) == (job["estimator"] == "DDE")
    assert {job["measured"] for job in jobs if "wanted" in job} == {30}


def test_what_does_not_fit_or_fails_is_a_row_with_the_reason(made):
    frame = scores.read([made[0]])
    failed = frame[frame["status"] == "failed"]
    assert len(failed) == 4
    assert failed["value"].isna().all()
    large = failed[failed["n_train"] == 10_000]
    assert set(large["method"]) == {"KEF"}
    assert set(large["detail"]) == {
        "not run: its system would take 3.0 GiB, more than the 2 GiB allowed"
    }
    assert set(failed.loc[failed["dim"] == 20, "detail"]) == {"its process was killed by signal 9"}
