from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator

from kcde import scores
from kcde.experiments import _problems
from kcde.experiments._problems import open_problem
from kcde.experiments.joint import JointNetwork, metrics
from kcde.experiments.runner import run
from kcde.metrics.names import NLL

SMALL = {"hidden_units": 8, "components": 2, "epochs": 4}


class FullGaussian(BaseEstimator):
    """A network whose density in the column order is known, and noise about it in others."""

    __module__ = "kcde.estimators.nade"
    trained: ClassVar[list] = []

    def __init__(self, hidden_units=None, components=None, *, epochs=1, random_state=0):
        self.hidden_units, self.components = hidden_units, components
        self.epochs, self.random_state = epochs, random_state

    @classmethod
    def fit_many(cls, estimators, Xs, Ys, *, return_errors=False):
        assert return_errors
        for estimator, X, Y in zip(estimators, Xs, Ys, strict=True):
            assert X.shape == (len(Y), 0)
            estimator.law_ = multivariate_normal(cov=np.cov(Y.T))
        cls.trained[:] = estimators
        return estimators

    def log_density_by_order(self, X, Y, orders, rng):
        noise = rng.standard_normal((orders, 1))
        noise[0] = 0.0
        return self.law_.logpdf(Y) + noise


@pytest.fixture
def network(monkeypatch):
    """Put a Gaussian in place of the network."""
    monkeypatch.setattr("kcde.estimators.nade.NADE", FullGaussian)
    return FullGaussian


@pytest.fixture
def launch(smoke, tmp_path):
    """Run a job; return its score frame and the arrays."""
    data = dict(zip(("data_dir", "catalogue"), smoke, strict=True))

    def run_job(name="out", **axes):
        out = tmp_path / f"{name}.csv"
        axes = {"dataset": "smoke-joint", "estimator": "NADE", "options": SMALL, "runs": 2} | axes
        run(JointNetwork(method="NADE", **axes, **data), out)
        return scores.read([out]), dict(np.load(out.with_suffix(".npz")))

    return run_job


def test_metrics_by_hand():
    by_order = np.log([[0.5, 0.5], [0.2, 0.8], [0.4, 0.1]])
    found = metrics(by_order)
    assert found[NLL] == pytest.approx(-np.log(0.2 * 0.8 * 0.4 * 0.1) / 4)
    assert found[f"{NLL}_fixed_order"] == pytest.approx(np.log(2))
    assert found[f"{NLL}_ensemble"] == pytest.approx(-(np.log(0.3) + np.log(0.45)) / 2)


def test_each_run_is_scored_on_its_own_test_rows(launch, network, smoke):
    _, arrays = launch()
    problem = open_problem("smoke-joint", *smoke)
    for number in (0, 1):
        split = problem.split(number)
        expected = multivariate_normal(cov=np.cov(split.train.T)).logpdf(split.test)
        np.testing.assert_allclose(arrays["log_density_by_order_3"][number, 0], expected, rtol=1e-9)
    assert [each.random_state for each in network.trained] == [problem.seed(0), problem.seed(1)]


def test_each_dimension_of_the_long_chain_is_a_training_of_its_own(launch, network, monkeypatch):
    monkeypatch.setattr(_problems, "MOST_GRID_COLUMNS", 5)
    frame, arrays = launch(dataset="grid-2000", runs=1, dims=(2, 4))
    rows = frame[frame["metric"] == NLL]
    assert rows["dim"].tolist() == [2, 4]
    assert rows["setting"].tolist() == ['{"dim":2}', '{"dim":4}']
    assert set(arrays) == {"log_density_by_order_2", "log_density_by_order_4"}
    split = open_problem("grid-2000", "").split(0)
    for dim in (2, 4):
        train, test = split.train[:, :dim], split.test[:, :dim]
        expected = multivariate_normal(cov=np.cov(train.T)).logpdf(test)
        np.testing.assert_allclose(arrays[f"log_density_by_order_{dim}"][0, 0], expected, rtol=1e-9)


def test_a_training_that_fails_is_a_row_that_says_why(launch, network, monkeypatch):
    plain = network.fit_many.__func__

    def one_fails(cls, *arguments, **options):
        fitted = plain(cls, *arguments, **options)
        return [FloatingPointError("no luck"), *fitted[1:]]

    monkeypatch.setattr(network, "fit_many", classmethod(one_fails))
    frame, arrays = launch()
    first = frame[frame["split"] == 0]
    assert first["status"].tolist() == ["failed"]
    assert first["detail"].tolist() == ["FloatingPointError: no luck"]
    assert set(frame[frame["split"] == 1]["status"]) == {"ok"}
    assert np.isnan(arrays["log_density_by_order_3"][0]).all()
