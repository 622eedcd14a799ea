"""large_n: gaps to a known density, and what they cost."""

import json

import numpy as np
import pytest
from scipy.stats import norm, t
from sklearn.ensemble import HistGradientBoostingRegressor

from kcde import scores
from kcde.data import made_up
from kcde.estimators import LikelihoodKCEF, Standardised
from kcde.experiments.large_n import (
    BoostedResiduals,
    LargeN,
    LinearGaussian,
)
from kcde.experiments.runner import run

GIVEN = {"bandwidth_x": 1.5, "bandwidth_y": 0.8, "regularization": 1e-3, "rank_x": 20}


def launch(folder, method, **axes):
    """Scores, arrays and info of a job on 60 rows."""
    out = folder / f"{method}.csv"
    job = {"dataset": "bimodal-2-60", "method": method, "test_rows": 40}
    run(LargeN(**job | axes), out)
    with np.load(out.with_suffix(".npz")) as stored:
        arrays = dict(stored)
    return scores.read([out]), arrays, json.loads(out.with_suffix(".json").read_text())


def test_the_gap_is_that_of_a_fit_by_hand(tmp_path):
    frame, arrays, info = launch(tmp_path, "LikelihoodKCEF", options=GIVEN)
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
    np.testing.assert_allclose(arrays["log_density"][0], found)
    assert set(frame["n_train"]) == {60}
    assert set(frame["n_test"]) == {40}
    assert set(frame["dim"]) == {5}
    assert info["chosen"][0]["regularization"] == 1e-3


def test_a_fit_that_fails_is_a_row_that_says_why(tmp_path, monkeypatch):
    def fail(self, X, Y):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(LinearGaussian, "fit", fail)
    frame, _, _ = launch(tmp_path, "linear")
    assert list(frame["status"]) == ["failed"]
    assert frame["detail"].item() == "LinAlgError: singular"


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
    monkeypatch.setattr(
        HistGradientBoostingRegressor,
        "fit",
        lambda self, X, y: seen.append(X) or fit(self, X, y),
    )
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
