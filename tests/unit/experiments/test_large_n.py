"""large_n: gaps to a known density, and what they cost."""

import numpy as np
import pytest
from scipy.stats import norm

from kcde.data import made_up
from kcde.estimators import LikelihoodKCEF, Standardised
from kcde.experiments.large_n import LargeN, LinearGaussian

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
