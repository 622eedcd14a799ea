"""dde, section 4: measured fits and their scores."""

import os
import subprocess
import sys

import numpy as np
import pytest

from kcde import scores
from kcde.estimators import KCEF, KEF
from kcde.experiments import _measured_fit, estimation_cost
from kcde.experiments.estimation_cost import EstimationCost
from kcde.experiments.runner import run

EXACT = estimation_cost.METHODS["KEF"]


@pytest.fixture(scope="module")
def exact_fit():
    held = np.ones(
        2**26
    )  # half a gigabyte: a child that inherited this peak would not show its own
    options = EXACT.options | {"bandwidth_y": 1.0}
    job = {"estimator": EXACT.estimator, "options": options, "n": 1000, "d": 2}
    found = _measured_fit.in_own_process(job)
    del held
    return found


@pytest.mark.nightly
def test_the_peak_of_an_exact_fit_is_that_of_its_matrices(exact_fit):
    system = 8 * 2000**2 / 2**20
    assert 0.9 * system < exact_fit["peak_memory"] < 3 * system
    assert exact_fit["seconds"] > 0


def test_the_exact_family_is_kcef_without_x(rng):
    Y = rng.standard_normal((40, 2))
    exact = KCEF(**EXACT.options, bandwidth_y=1.0).fit(None, Y)
    family = KEF(1.0, EXACT.options["regularization"]).fit(None, Y)
    np.testing.assert_allclose(exact.coef_, family.coef_)
    assert exact.cv_results_ == {}


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


def test_a_clock_too_coarse_for_the_iterations_is_an_error(monkeypatch):
    monkeypatch.setattr(_measured_fit.time, "process_time", lambda: 0.0)
    with pytest.raises(_measured_fit.FitError, match="200 iterations took no longer than 100"):
        _measured_fit._iterated(lambda count: None, 100, 5000)


def test_a_fit_that_fails_says_why():
    job = {"estimator": "KCEF", "options": {"regularization": -1.0}, "n": 50, "d": 1}
    with pytest.raises(_measured_fit.FitError, match="ValueError: regularization must be positive"):
        _measured_fit.in_own_process(job)


def test_points_are_the_grid_in_any_dimension():
    Y = _measured_fit.points(3000, 3)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Y.std(axis=0), 1)
    # A column is 1 with probability 1/d, else 0, plus noise: correlation -1/(d - 1) without noise.
    variance = 2 / 9
    expected = -1 / 9 / (variance + _measured_fit._NOISE**2)
    assert np.corrcoef(Y.T)[0, 1] == pytest.approx(expected, abs=0.04)


def test_sizes_are_capped_and_share_their_smallest():
    assert EstimationCost().data == [
        *((n, 2) for n in (500, 1000, 2000, 5000, 10_000)),
        *((500, d) for d in (5, 10, 20)),
    ]
    assert EstimationCost(points=999, dims=4).data == [(500, 2)]
    with pytest.raises(ValueError, match="points must be at least 500; got 400"):
        EstimationCost(points=400)


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


def test_what_glibc_is_told_to_keep_does_not_reach_the_fit(monkeypatch):
    seen = {}

    def keep(command, env, **options):
        seen.update(env)
        return subprocess.CompletedProcess(command, 0, stdout='{"seconds": 1.0}\n', stderr="")

    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1073741824")
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setattr(_measured_fit.subprocess, "run", keep)
    assert _measured_fit.in_own_process({}) == {"seconds": 1.0}
    assert not [name for name in seen if name.startswith("MALLOC_")]
    assert seen["OMP_NUM_THREADS"] == seen["NPROC"] == "1"
    assert seen["PATH"] == os.environ["PATH"]
