"""Experiments of jdl with arrays that, like those of a device, stay off the host."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from kcde import scores
from kcde.arrays import to_numpy
from kcde.estimators import JDL
from kcde.experiments import _embedding, _low_rank, _shared_bases, moments, portfolio
from kcde.experiments.moments import Moments
from kcde.experiments.portfolio import Portfolio
from kcde.experiments.runner import run

SMALL = {"bandwidth_factors": (1.0, 2.0), "regularizations": (1e-4, 1e-1)}
SMALL |= {"repetitions": 1, "matched_repetitions": 0}
PAIRS = {"dataset": "gaussian-2-80", "test_rows": 30} | SMALL
DAYS = {"dataset": "portfolios-2-200", "test_rows": 60, "max_rank": 12, "most_trace": 1.0} | SMALL
DAYS |= {"portfolios": "smoke-portfolios", "risk_free": "smoke-risk-free"}


@pytest.fixture
def device(strict, monkeypatch):
    """The strict namespace in place of cupy; the fixture is what was put where."""
    placed = []

    def asarray(values, backend):
        placed.append((backend, np.shape(values)))
        values = np.asarray(values, dtype=np.float64)
        return strict.asarray(values) if backend == "cupy" else values

    for module in (moments, portfolio):
        monkeypatch.setattr(module, "asarray", asarray)
    monkeypatch.setattr(_embedding, "resolve_backend", lambda name: name)
    return placed


@pytest.fixture
def launch(smoke, tmp_path, device):
    """Run a method on both backends; return the frame and the arrays of each."""
    places = {"data_dir": smoke[0], "catalogue": smoke[1]}

    def launched(experiment, method, **axes):
        found = []
        for backend in ("numpy", "cupy"):
            out = tmp_path / f"{backend}.csv"
            run(experiment(method=method, backend=backend, **axes | places), out)
            frame = scores.read([out])
            assert set(frame["backend"]) == {backend}
            with np.load(out.with_suffix(".npz")) as stored:
                found.append((frame, dict(stored)))
        return found

    return launched


def agree(found, rtol=1e-6):
    (one, of_one), (two, of_two) = found
    assert set(one["status"]) == {"ok"}
    keys = ["split", "setting", "metric", "status", "detail"]
    measured = one["metric"].str.startswith("seconds_") | one["metric"].eq("peak_memory")
    # What rounding leaves of a solved condition, and how many steps it took.
    measured |= one["metric"].isin(["solver_residual", "solver_iterations"])
    assert one[keys].equals(two[keys])
    np.testing.assert_allclose(
        two["value"][~measured], one["value"][~measured], rtol=rtol, atol=1e-9
    )
    for name, values in of_one.items():
        np.testing.assert_allclose(of_two[name], values, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("method", "axes"),
    [
        ("JDL", {"tolerances": (1e-2, 1e-1)}),
        ("CME", {"tolerances": (1e-2,)}),
        ("JPDL", {"dataset": "gaussian-1-80", "options": {"degree": 2}}),
    ],
)
def test_moments(launch, method, axes):
    agree(launch(Moments, method, **PAIRS | axes))


@pytest.mark.parametrize("method", ["JDL", "CME", "KernelLogisticRegression"])
def test_portfolio(launch, method):
    agree(launch(Portfolio, method, **DAYS))


def test_rows_are_put_there_once_a_repetition(launch, device):
    launch(Moments, "JDL", **PAIRS | {"repetitions": 2, "tolerances": (1e-2, 1e-1)})
    n, m, d = 80, 30, 2
    once = [(n, d)] * 2 + [(m, d)] * 2
    # Beside them the true moments at the validation points, which losses are taken against.
    moved = [shape for backend, shape in device if backend == "cupy"]
    assert moved == [*once, (n // 5, d, d)] * 2


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
