"""Experiments of jdl and cdo with arrays that, like those of a device, stay off the host."""

import time

import numpy as np
import pytest

from kcde import scores
from kcde.arrays import to_numpy
from kcde.estimators import JDL, Standardised
from kcde.experiments import (
    _conditional_models,
    _low_rank,
    _shared_bases,
    donut,
    methods,
    moments,
    portfolio,
    terrain,
    traffic,
)
from kcde.experiments._low_rank import Grid
from kcde.experiments.runner import run

SMALL = Grid((1.0, 2.0), (1e-4, 1e-1))
PAIRS = {"dataset": "gaussian-2-80", "repetitions": 1, "test_rows": 30, "grid": SMALL}
DAYS = {"dataset": "portfolios-2-200", "repetitions": 1, "test_rows": 60, "grid": SMALL}
DAYS |= {"portfolios": "smoke-portfolios", "risk_free": "smoke-risk-free", "max_rank": 12}
LSCDE = {"options": {"bandwidth_x": 0.4, "bandwidth_y": 0.4, "regularization": 0.01}}
CDO = {"settings": "authors"}
OPERATOR = {"settings": "authors", "options": {"reference": 30}}


@pytest.fixture
def device(strict, monkeypatch):
    """The strict namespace in place of cupy; the fixture is what was put where."""
    placed = []

    def asarray(values, backend):
        placed.append((backend, np.shape(values)))
        values = np.asarray(values, dtype=np.float64)
        return strict.asarray(values) if backend == "cupy" else values

    for module in (moments, portfolio, _conditional_models, traffic):
        monkeypatch.setattr(module, "asarray", asarray)
    for module in (moments, portfolio, methods):
        monkeypatch.setattr(module, "resolve_backend", lambda name: name)
    return placed


@pytest.fixture
def launch(smoke, tmp_path, device):
    """Run a method on both backends; return the frame and the arrays of each."""

    def launched(experiment, method, **axes):
        folder, catalogue = smoke
        found = []
        for backend in ("numpy", "cupy"):
            out = tmp_path / f"{backend}.csv"
            job = experiment.Job(**{"estimator": method} | axes, method=method, backend=backend)
            run(job, out, folder, catalogue=catalogue)
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
    agree(launch(moments, method, **PAIRS | axes))


@pytest.mark.parametrize("method", ["JDL", "CME", "KernelLogisticRegression"])
def test_portfolio(launch, method):
    agree(launch(portfolio, method, **DAYS))


@pytest.mark.parametrize(
    ("method", "axes"),
    [("CDO", OPERATOR), ("GaussianProcess", CDO), ("LSCDE", LSCDE)],
)
def test_donut(launch, method, axes):
    agree(launch(donut, method, repetitions=1, points=2, **axes))


@pytest.mark.parametrize(
    ("method", "axes"),
    [("CDO", OPERATOR), ("GaussianProcess", CDO), ("LSCDE", LSCDE)],
)
def test_terrain(launch, method, axes):
    agree(launch(terrain, method, dataset="smoke-terrain", folds=1, splits=1, **axes))


@pytest.mark.parametrize(
    ("method", "axes"),
    [("CDO", OPERATOR), ("GaussianProcess", {"tuning_rows": 40}), ("LSCDE", LSCDE)],
)
def test_traffic(launch, method, axes):
    agree(launch(traffic, method, dataset="smoke-traffic", splits=1, **axes))


@pytest.mark.parametrize("experiment", [donut, terrain, traffic])
def test_what_jax_trains_has_the_arrays_of_the_host(
    experiment, smoke, tmp_path, device, monkeypatch
):
    """Trainings take long: here each is an error."""

    def train(X, Y):
        assert isinstance(X, np.ndarray)
        assert isinstance(Y, np.ndarray)
        return FloatingPointError("stopped early")

    def fit(self, X, Y):
        raise train(X, Y)

    def fit_many(models, Xs, Ys):
        return [train(X, Y) for X, Y in zip(Xs, Ys, strict=True)]

    monkeypatch.setattr(Standardised, "fit", fit)
    monkeypatch.setattr(Standardised, "fit_many", fit_many)
    name = {} if experiment is donut else {"dataset": f"smoke-{experiment.Job.experiment}"}
    job = experiment.Job(method="MAF", estimator="ConditionalMAF", backend="cupy", **name)
    out = tmp_path / "MAF.csv"
    run(job, out, smoke[0], catalogue=smoke[1])
    frame = scores.read([out])
    assert "FloatingPointError: stopped early" in set(frame["detail"])
    assert set(frame["backend"]) == {"numpy"}


def test_the_spread_of_a_process_is_one_on_a_device_too(launch):
    fixed = CDO | {"repetitions": 1, "points": 2}
    published, ours = (
        launch(donut, "GaussianProcess", variant=variant, **fixed)
        for variant in ("as-published", "ours")
    )
    agree(published)
    assert not np.allclose(published[1][1]["density_x0"], ours[1][1]["density_x0"])


def test_rows_are_put_there_once_a_repetition(launch, device):
    launch(moments, "JDL", **PAIRS | {"repetitions": 2, "tolerances": (1e-2, 1e-1)})
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
    _low_rank.select(models, X, Y, moments.second_moments_and_one, loss, SMALL)
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
