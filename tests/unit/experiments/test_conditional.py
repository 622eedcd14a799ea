"""What donut, terrain and traffic share: options, units and batches."""

import numpy as np
import pytest

from kcde import scores
from kcde.estimators import CDO, Standardised
from kcde.experiments import _cdo_settings
from kcde.experiments.donut import Donut
from kcde.experiments.runner import run
from kcde.experiments.terrain import Terrain
from kcde.experiments.traffic import TrafficByTime

THREE = {
    Donut: {"repetitions": 3, "points": 2},
    Terrain: {"dataset": "smoke-terrain", "folds": 2, "splits": 1},
    TrafficByTime: {"dataset": "smoke-traffic", "splits": 2, "thinned": 1},
}
"""Three repetitions, folds or splits of each."""


@pytest.fixture
def made(smoke):
    """Return a function that makes a job."""

    def make(cls, method="LSCDE", **given):
        return cls(method=method, data_dir=smoke[0], catalogue=smoke[1], **THREE[cls] | given)

    return make


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


@pytest.mark.parametrize("cls", THREE)
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
    run(made(cls, "ConditionalMAF", backend="cupy"), tmp_path / "MAF.csv")
    frame = scores.read([tmp_path / "MAF.csv"])
    assert "FloatingPointError: stopped early" in set(frame["detail"])
    assert set(frame["backend"]) == {"numpy"}
