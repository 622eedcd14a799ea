"""large_n: gaps to a known density, and what they cost."""

import numpy as np
import pytest
from scipy.stats import norm, t
from sklearn.ensemble import HistGradientBoostingRegressor

from kcde.data import made_up
from kcde.estimators import LikelihoodKCEF, Standardised
from kcde.experiments.large_n import BoostedResiduals, LargeN, LinearGaussian

GIVEN = {"bandwidth_x": 1.5, "bandwidth_y": 0.8, "regularization": 1e-3, "rank_x": 20}


def test_the_gap_is_that_of_a_fit_by_hand(launch):
    job = ("bimodal-2-60", "LikelihoodKCEF")
    frame, *_ = launch(LargeN, *job, options=GIVEN, test_rows=40)
    X, Y = made_up.bimodal_held_out_pairs(2, 40)
    seed = int(frame["seed"].iloc[0])
    model = Standardised(LikelihoodKCEF(**GIVEN, random_state=seed))
    found = model.fit(*made_up.bimodal_training_pairs(60, 2)).log_density(X, Y)
    difference = made_up.bimodal_log_density(X, Y) - found
    gap = frame[frame["metric"] == "log_density_gap"].iloc[0]
    assert gap["value"] == pytest.approx(difference.mean())
    assert gap["stderr"] == pytest.approx(difference.std(ddof=1) / np.sqrt(40))
    (loss,) = frame[frame["metric"] == "negative_log_likelihood"]["value"]
    assert loss == pytest.approx(-found.mean())


def test_least_squares_and_a_normal_density():
    X, Y = made_up.bimodal_draw(200, 1, np.random.default_rng(0))
    design = np.column_stack([np.ones(200), X])
    expected = np.linalg.lstsq(design, Y[:, 0], rcond=None)[0]
    model = LinearGaussian().fit(X, Y)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-10)
    residuals = Y[:, 0] - design @ expected
    spread = norm(0.0, np.sqrt(np.mean(residuals**2)))
    np.testing.assert_allclose(model.log_density(X, Y), spread.logpdf(residuals))


def test_boosting_has_a_kernel_density_of_residuals_it_did_not_see(monkeypatch):
    X, Y = made_up.bimodal_draw(500, 1, np.random.default_rng(0))
    seen = []
    fit = HistGradientBoostingRegressor.fit
    watched = lambda self, X, y: seen.append(X) or fit(self, X, y)  # noqa: E731
    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", watched)
    model = BoostedResiduals(3).fit(X, Y)
    held = np.array([row not in seen[0] for row in X[:, 0]])
    assert held.sum() == 100
    residuals = Y[held, 0] - model._trees.predict(X[held])
    np.testing.assert_allclose(np.sort(model._residuals), np.sort(residuals))
    at, x = np.linspace(-4.0, 4.0, 50)[:, None], X[:1].repeat(50, axis=0)
    e = at[:, 0] - model._trees.predict(x)
    kernel = norm.pdf(e[:, None], residuals, model.bandwidth_).mean(axis=1)
    floor = t(2, 0.0, residuals.std()).pdf(e)
    expected = np.log(0.99 * kernel + 0.01 * floor)
    np.testing.assert_allclose(model.log_density(x, at), expected)
