"""dde, section 4: measured fits and their scores."""

import subprocess
import sys

import numpy as np
import pytest

from kcde.experiments import _measured_fit
from kcde.experiments.estimation_cost import EstimationCost


def test_memory_that_is_taken_is_seen():
    code = (
        "import numpy as np; from kcde.experiments._measured_fit import peak_memory as peak;"
        "before = peak(); held = np.ones(10_000_000); print(peak() - before)"
    )
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert float(said) == pytest.approx(8e7, rel=0.1)


def test_a_fit_that_fails_says_why():
    job = {"estimator": "KCEF", "options": {"regularization": -1.0}, "n": 50, "d": 1}
    with pytest.raises(_measured_fit.FitError, match="regularization"):
        _measured_fit.in_own_process(job)


def test_iterations_are_extrapolated_without_what_is_done_once(monkeypatch):
    """Where time passes only in fits: what is done once, compiling the first, and iterations."""
    now, fits = [0.0], []

    def fit(iterations):
        now[0] += 3.0 + (0.0 if fits else 20.0) + 0.25 * iterations
        fits.append(iterations)

    monkeypatch.setattr(_measured_fit.time, "process_time", lambda: now[0])
    found = _measured_fit._iterated(fit, 100, 5000)
    assert fits == [100, 100, 200]
    assert found["seconds"] == pytest.approx(3.0 + 20.0 + 5000 * 0.25)
    assert found["seconds_per_iteration"] == pytest.approx(0.25)
    assert found["compile_seconds"] == pytest.approx(20.0)


def test_every_fit_is_given_its_hyper_parameters_and_what_fails_is_a_row(launch, monkeypatch):
    jobs = []

    def cost(job):
        jobs.append(job)
        if job["d"] == 20 and "n_basis" in job["options"]:
            raise _measured_fit.FitError("its process was killed by signal 9")
        found = {"peak_memory": 300.0, "seconds": 20.0}
        trained = {"seconds_per_iteration": 0.004, "compile_seconds": 5.0}
        return found | (trained if "wanted" in job else {})

    monkeypatch.setattr(_measured_fit, "in_own_process", cost)
    frame, *_ = launch(EstimationCost, iterations=30)
    assert len(jobs) == 8 * 5 - 1  # the exact family is not run at n = 10000
    assert (frame.groupby(["method", "n_train", "dim", "metric"]).size() == 1).all()
    counts = frame["metric"].value_counts()
    assert counts["peak_memory"] == counts["fit_seconds"] == 40
    # Of a system of n·d rows, MiB; a selection would be what is measured.
    system = frame[frame["metric"] == "system_memory"]
    size = 8.0 * (system["n_train"] * system["dim"]) ** 2 / 2**20
    np.testing.assert_allclose(system["value"], size)
    assert all(job["options"]["bandwidth_y"] == job["d"] ** 0.5 for job in jobs)
    failed = frame[frame["status"] == "failed"]
    assert failed["value"].isna().all()
    assert set(failed.loc[failed["n_train"] == 10_000, "method"]) == {"KEF"}
    assert set(failed.loc[failed["dim"] == 20, "detail"]) == {"its process was killed by signal 9"}
