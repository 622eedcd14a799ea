"""What donut, terrain and traffic share: options, units, batches, shards and devices."""

import time

import numpy as np
import pytest

from kcde import scores
from kcde.estimators import CDO, LSCDE, Standardised
from kcde.experiments import _cdo_settings, _conditional, _measured_fit, methods
from kcde.experiments.donut import Donut
from kcde.experiments.runner import run
from kcde.experiments.terrain import Terrain
from kcde.experiments.traffic import TrafficByTime

OPTIONS = {"bandwidth_x": 0.4, "bandwidth_y": 0.4, "regularization": 0.01}
THREE = {
    Donut: {"repetitions": 3, "points": 2},
    Terrain: {"dataset": "smoke-terrain", "folds": 2, "splits": 1},
    TrafficByTime: {"dataset": "smoke-traffic", "splits": 2, "thinned": 1},
}
"""Three repetitions, folds or splits of each."""

ENDINGS = (".csv", ".json", ".npz")
every_experiment = pytest.mark.parametrize("cls", THREE)


@pytest.fixture
def made(smoke):
    """Return a function that makes a job."""

    def make(cls, method="LSCDE", **given):
        return cls(method=method, data_dir=smoke[0], catalogue=smoke[1], **THREE[cls] | given)

    return make


@every_experiment
def test_files_are_those_of_one_job_for_any_number_of_shards(made, cls, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(_measured_fit, "peak_memory", lambda: 0.0)
    run(made(cls, options=OPTIONS), tmp_path / "whole.csv")
    collected = {}
    for count in (1, 2, 4):
        collected[count] = [tmp_path / f"{i}-{count}.npz" for i in range(1, count + 1)]
        for i, part in enumerate(collected[count], 1):
            run(made(cls, options=OPTIONS), part, shard=(i, count))

    def refuse(*given, **more):
        raise AssertionError("what the shards computed is not computed again")

    monkeypatch.setattr(methods, "resolve_backend", refuse)
    monkeypatch.setattr(LSCDE, "_fit", refuse)
    for count, parts in collected.items():
        run(made(cls, options=OPTIONS), tmp_path / f"{count}.csv", parts=parts)
        for end in ENDINGS:
            one, other = (tmp_path / f"{stem}{end}" for stem in ("whole", count))
            assert one.read_bytes() == other.read_bytes(), f"{count} shards, {end}"


@pytest.mark.parametrize("cls", [Donut, Terrain])
def test_what_is_batch_fitted_is_not_sharded(made, cls, tmp_path):
    with pytest.raises(ValueError, match="ConditionalMAF trains all repetitions as one batch"):
        run(made(cls, "ConditionalMAF"), tmp_path / "1.npz", shard=(1, 2))


def test_models_of_several_splits_are_fitted_together_where_their_class_can():
    X = np.random.default_rng(0).standard_normal((60, 2))
    job = Donut(method="NADE", options={"hidden_units": 2, "components": 1})
    trainings = [(X[:, :1], X[:, 1:] + i, 5 + i) for i in range(2)]
    fitted = job.fits(range(2), trainings.__getitem__)
    for i, (X, Y, seed) in enumerate(trainings):
        model, seconds = fitted(i)
        assert seconds > 0
        alone = job.unfitted(X, Y, seed).fit(X, Y)
        at = alone.log_density(X, Y)
        np.testing.assert_allclose(model.log_density(X, Y), at, atol=1e-2)


def test_options_stand_over_the_authors():
    X, Y = np.arange(40.0)[:, None] % 7, np.arange(40.0)[:, None] ** 0.5
    given = {"weights": "clipped", "bandwidth_y": 3.0}
    model = Donut(method="CDO", options=given, settings="authors").unfitted(X, Y, 0)
    theirs = _cdo_settings.authors("donut", "CDO", X, Y)
    assert {name: getattr(model, name) for name in theirs} == theirs | given
    model = Donut(method="CDO", options=given).unfitted(X, Y, 0)
    assert (model.bandwidth_x, model.bandwidth_y) == (CDO().bandwidth_x, 3.0)


@pytest.mark.parametrize(
    ("cls", "given", "scaled"),
    [
        (Terrain, {"method": "CDO"}, False),
        (TrafficByTime, {"method": "CDO", "settings": "authors"}, False),
        (TrafficByTime, {"method": "CDO"}, True),
        (TrafficByTime, {"method": "CDO", "options": {"periods": [7, 86400]}}, False),
        (TrafficByTime, {"method": "GaussianProcess"}, False),
        (TrafficByTime, {"method": "LSCDE"}, True),
        (TrafficByTime, {"method": "ConditionalMAF", "settings": "authors"}, True),
    ],
)
def test_what_is_stated_in_the_units_of_the_data_sees_these(made, cls, given, scaled, rng):
    X, Y = rng.standard_normal((9, 2)), rng.standard_normal((9, 1))
    assert isinstance(made(cls, **given).unfitted(X, Y, 0), Standardised) is scaled


@pytest.fixture
def device(strict, monkeypatch):
    """The strict namespace in place of cupy."""

    def asarray(values, backend):
        values = np.asarray(values, dtype=np.float64)
        return strict.asarray(values) if backend == "cupy" else values

    monkeypatch.setattr(_conditional, "asarray", asarray)
    monkeypatch.setattr(methods, "resolve_backend", lambda name: name)


def contents(job, out):
    run(job, out)
    with np.load(out.with_suffix(".npz")) as stored:
        return scores.read([out]), dict(stored)


@every_experiment
@pytest.mark.parametrize(
    "given",
    [
        {"method": "CDO", "settings": "authors", "options": {"reference": 30}},
        {"method": "GaussianProcess", "settings": "authors"},
        {"method": "GaussianProcess", "settings": "authors", "variant": "ours"},
        {"method": "LSCDE", "options": OPTIONS},
    ],
)
def test_results_on_a_device_are_those_of_the_host(made, cls, given, device, tmp_path):
    if cls is TrafficByTime and given["method"] == "GaussianProcess":
        given = given | {"tuning_rows": 40}
    jobs = {backend: made(cls, **given, backend=backend) for backend in ("numpy", "cupy")}
    found = {name: contents(job, tmp_path / f"{name}.csv") for name, job in jobs.items()}
    (one, of_one), (two, of_two) = found.values()
    assert (set(one["backend"]), set(two["backend"])) == ({"numpy"}, {"cupy"})
    assert set(one["status"]) == {"ok"}
    keys = ["split", "setting", "metric", "status", "detail"]
    assert one[keys].equals(two[keys])
    np.testing.assert_allclose(two["value"], one["value"], rtol=1e-6, atol=1e-9)
    for name, values in of_one.items():
        np.testing.assert_allclose(of_two[name], values, rtol=1e-5, atol=1e-6, err_msg=name)


@every_experiment
def test_what_jax_trains_has_the_arrays_of_the_host(made, cls, device, monkeypatch, tmp_path):
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
    frame, _ = contents(made(cls, "ConditionalMAF", backend="cupy"), tmp_path / "MAF.csv")
    assert "FloatingPointError: stopped early" in set(frame["detail"])
    assert set(frame["backend"]) == {"numpy"}
