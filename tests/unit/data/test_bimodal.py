import numpy as np
import pytest
from scipy.stats import norm

from kcde.data import bimodal, names


def test_the_density_is_that_of_a_mixture_by_hand():
    X, Y = bimodal.draw(200, 2, np.random.default_rng(0))
    assert X.shape == (200, 5)
    for x, y, found in zip(X, Y[:, 0], bimodal.log_density(X, Y), strict=True):
        share, width = (1.0 / (1.0 + np.exp(-1.5 * value)) for value in x[1:3])
        modes = norm(np.sin(2.0 * x[0]) + np.array([0.8, -0.8]), 0.15 + 0.25 * width)
        assert found == pytest.approx(np.log([share, 1.0 - share] @ modes.pdf(y)))


def test_the_density_integrates_to_one():
    X, _ = bimodal.draw(3, 1, np.random.default_rng(1))
    y = np.linspace(-5.0, 5.0, 4001)
    for x in X:
        density = np.exp(bimodal.log_density(np.tile(x, (len(y), 1)), y[:, None]))
        assert density.sum() * (y[1] - y[0]) == pytest.approx(1.0)


def test_draws_are_of_the_density():
    X, Y = bimodal.draw(100_000, 0, np.random.default_rng(2))
    upper = Y[:, 0] > np.sin(2.0 * X[:, 0])
    share = 1.0 / (1.0 + np.exp(-1.5 * X[:, 1]))
    assert upper.mean() == pytest.approx(share.mean(), abs=0.01)
    # The density does not depend on how it is drawn: E[1/p] over a box is the box's volume.
    inside = np.abs(Y[:, 0] - np.sin(2.0 * X[:, 0])) < 1.0
    assert np.mean(inside * np.exp(-bimodal.log_density(X, Y))) == pytest.approx(2.0, abs=0.1)


def test_columns_that_do_not_matter_come_last():
    X, Y = bimodal.draw(50, 2, np.random.default_rng(3))
    moved = X + np.array([0.0, 0.0, 0.0, 1.0, -2.0])
    np.testing.assert_array_equal(bimodal.log_density(X, Y), bimodal.log_density(moved, Y))


def test_rows_belong_to_their_sizes():
    (X, Y), (again, _) = bimodal.training_pairs(30, 2), bimodal.training_pairs(30, 2)
    np.testing.assert_array_equal(X, again)
    assert Y.shape == (30, 1)
    assert not np.isin(bimodal.held_out_pairs(2, 40)[0], X).any()
    assert names.BIMODAL.sizes("bimodal-2-1000") == (2, 1000)
