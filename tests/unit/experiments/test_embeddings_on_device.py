"""Experiments of jdl with arrays that, like those of a device, stay off the host."""

import time
from types import SimpleNamespace

import numpy as np

from kcde.arrays import to_numpy
from kcde.estimators import JDL
from kcde.experiments import _low_rank, _shared_bases, moments
from kcde.experiments.moments import Moments
from kcde.experiments.runner import run

SMALL = {"bandwidth_factors": (1.0, 2.0), "regularizations": (1e-4, 1e-1)}
SMALL |= {"repetitions": 2, "matched_repetitions": 0, "test_rows": 30}


def test_rows_are_put_there_once_a_repetition(device, tmp_path):
    run(Moments("gaussian-2-80", "JDL", backend="cupy", **SMALL), tmp_path / "JDL.csv")
    n, m, d = 80, 30, 2
    once = [(n, d)] * 2 + [(m, d)] * 2
    # Beside them the true moments at the validation points, which losses are taken against.
    assert device == [*once, (n // 5, d, d)] * 2


def test_rows_stay_there_while_parameters_are_chosen(strict, device, monkeypatch):
    """What comes back for a choice is no longer than ranks, but for the median distance."""
    n, rng = 1500, np.random.default_rng(3)
    X, Y = (strict.asarray(rng.standard_normal((n, 2))) for _ in range(2))
    back = []

    def watched(array, *_args, **_keywords):
        back.append(array.shape)
        return array._array

    monkeypatch.setattr(type(X), "__array__", watched)

    def loss(values):
        return strict.mean(values**2)

    models = {each: JDL(tolerance=0.2, constrained=each) for each in (False, True)}
    grid = SimpleNamespace(**SMALL, validation_rows=None, most_trace=1.0)
    _low_rank.select(models, X, Y, moments.second_moments_and_one, loss, grid)
    assert back.count((1000, 2)) == 2
    assert max(max(shape, default=0) for shape in back if shape != (1000, 2)) < n // 5


def test_seconds_wait_for_the_device(strict, device, monkeypatch):
    """A device answers before it has computed: only what came back is done."""
    clock, wait = [0.0], 7.0

    def fetched(array):
        clock[0] += wait
        return to_numpy(array)

    monkeypatch.setattr(_shared_bases, "to_numpy", fetched)
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    rows = np.random.default_rng(4).standard_normal((60, 2))
    X, Y = (strict.asarray(rows[:, i : i + 1]) for i in range(2))
    fit = _shared_bases.Bases(X, Y).fit(JDL(1.0, 1.0, 1e-2))
    assert (fit.factorise, fit.summarise) == (2 * wait, wait)
