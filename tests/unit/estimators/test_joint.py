from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone

from kcde.estimators import LSCDE, LinearGaussian, ResidualKDE
from kcde.joint import JointDensity, sampler_of

REVERSED = [[1, 2, 3], [2, 3], [3], []]


class Exact(LinearGaussian):
    """With the standard deviation of the residuals: its products have closed forms."""

    def _fit(self, X, Y):
        super()._fit(X, Y)
        self.residual_std_ = np.std(Y - self._ridge.predict(X), axis=0)


@pytest.fixture
def rows(rng):
    """Correlated Gaussian rows in four dimensions."""
    mixing = rng.standard_normal((4, 4))
    return rng.standard_normal((150, 4)) @ mixing + np.array([1.0, -2.0, 0.5, 3.0])


def gaussian(Y, at):
    """Log density of the Gaussian with the mean and covariance (divisor n) of Y."""
    return multivariate_normal(Y.mean(axis=0), np.cov(Y.T, bias=True)).logpdf(at)


@pytest.mark.parametrize("graph", ["full", REVERSED, [[], [0], [1, 0], [2, 0, 1]]])
def test_a_full_graph_in_any_order_is_the_joint_gaussian(rows, rng, graph):
    model = JointDensity(Exact(1e-13), graph).fit(None, rows)
    at = 2.0 * rng.standard_normal((20, 4))
    np.testing.assert_allclose(model.log_density(None, at), gaussian(rows, at), rtol=1e-9)
    assert model.score(None, at) == pytest.approx(gaussian(rows, at).mean(), rel=1e-9)


def test_a_markov_graph_is_the_chain_of_pairs(rows, rng):
    model = JointDensity(Exact(1e-13), "markov").fit(None, rows)
    at = rng.standard_normal((20, 4))
    pairs = sum(gaussian(rows[:, i : i + 2], at[:, i : i + 2]) for i in range(3))
    expected = pairs - sum(gaussian(rows[:, [i]], at[:, [i]]) for i in (1, 2))
    np.testing.assert_allclose(model.log_density(None, at), expected, rtol=1e-9)


@pytest.mark.parametrize("graph", ["full", REVERSED])
def test_ancestral_samples_have_the_moments_of_the_density(rows, rng, graph):
    n = 40_000
    model = JointDensity(Exact(1e-13), graph).fit(None, rows)
    drawn = model.sample(None, n, rng)
    assert drawn.shape == (1, n, 4)
    covariance = np.cov(rows.T, bias=True)
    variances = np.diag(covariance)
    error = np.sqrt((covariance**2 + np.outer(variances, variances)) / n)
    assert np.all(np.abs(np.cov(drawn[0].T) - covariance) < 4.5 * error)
    offset = drawn[0].mean(axis=0) - rows.mean(axis=0)
    assert np.all(np.abs(offset) < 4.5 * np.sqrt(variances / n))


def test_each_factor_has_a_random_state_of_its_own(rows):
    model = JointDensity(LSCDE(1.0, 1.0, 0.1, random_state=7)).fit(None, rows)
    states = [factor.random_state for factor in model.factors_]
    assert len({*states, 7}) == 5
    again = clone(model).fit(None, rows)
    assert [factor.random_state for factor in again.factors_] == states
    np.testing.assert_array_equal(again.log_density(None, rows), model.log_density(None, rows))


@pytest.mark.parametrize(
    ("graph", "named"),
    [
        ("chain", "chain"),
        ([[], [0]], "2 lists"),
        ([[], [0], [3]], "column 2"),
        ([[], [1], [0]], "column 1"),
        ([[], ["0"], [0]], "column 1"),
        ([[1], [2], [0]], "cycle"),
    ],
)
def test_a_wrong_graph_is_refused_by_column(rows, graph, named):
    with pytest.raises(ValueError, match=named):
        JointDensity(Exact(1e-13), graph).fit(None, rows[:, :3])


def test_bad_input_is_refused(rows):
    model = JointDensity(Exact(1e-13))
    for X, Y, named in ((rows, rows, "None"), (None, rows[:2], "3")):
        with pytest.raises(ValueError, match=named):
            model.fit(X, Y)
    with pytest.raises(ValueError, match="4 columns"):
        model.fit(None, rows).log_density(None, rows[:, :3])


def test_a_frame_with_columns_in_another_order_is_refused(rows):
    frame = pd.DataFrame(rows[:, :2], columns=["a", "b"])
    for X, model in ((None, JointDensity(LSCDE(1.0, 1.0, 0.1))), (rows[:, 2:], ResidualKDE())):
        found = model.fit(X, frame).log_density(X, frame)
        np.testing.assert_array_equal(model.log_density(X, frame.to_numpy()), found)
        with pytest.raises(ValueError, match="Y has columns"):
            model.log_density(X, frame[["b", "a"]])


def test_samples_of_dde_are_those_of_its_learned_sampler():
    learned = SimpleNamespace(sample=None, sample_learned=lambda X, n, rng: np.ones((1, n, 2)))
    assert sampler_of(learned, "direct", np.zeros((3, 2)), 4)(4, None)[0].tolist() == [[1, 1]] * 4
