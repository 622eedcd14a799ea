"""Rows that count more than once, or less: `sample_weight` of a fit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.validation import has_fit_parameter

from contracted import make, some_pairs
from kcde import Defensive, KernelCDE, LinearGaussian, MarginalKDE, Standardised
from kcde.estimators import estimator_class, estimator_names
from kcde.estimators._likelihood.objective import ArrayRows
from kcde.estimators._shared.floored import Normal
from kcde.estimators.likelihood_kcef import LowRankFamily
from kcde.estimators.log_scaled import LogScaled
from kcde.table_model import TableModel

WEIGHTED = [
    name for name in estimator_names() if has_fit_parameter(estimator_class(name), "sample_weight")
]
WEIGHTED.remove("Defensive")  # as what is inside it
SOME = {"QuantileForest": {"trees": 50}}
SOME["LikelihoodKCEF"] = {"bandwidth_y": 0.8, "regularization": 1e-3}
"""What is given where a choice of all takes long."""
COUNTS = np.arange(30) % 3 + 1.0


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_undo_a_sample_that_prefers_small_y(rng, name):
    X, Y = some_pairs(rng, 500, 1, 1.0)
    share = np.where(Y[:, 0] < 0.0, 1.0, 0.15)
    drawn = rng.random(500) < share
    model, given = estimator_class(name)(**SOME.get(name, {})), (X[drawn], Y[drawn])
    there = some_pairs(rng, 2000, 1, 1.0)
    without = model.fit(*given).score(*there)
    assert model.fit(*given, sample_weight=1.0 / share[drawn]).score(*there) > without + 0.05


@pytest.mark.parametrize("name", WEIGHTED)
def test_only_ratios_matter_and_rows_of_weight_zero_are_left_out(pairs, name):
    X, Y = pairs
    model, kept = make(name), COUNTS != 2.0
    plain = model.fit(X, Y).log_density(X, Y)
    equal = model.fit(X, Y, sample_weight=pd.Series(np.full(30, 7))).log_density(X, Y)
    np.testing.assert_allclose(equal, plain, rtol=1e-5)
    raw = make(name, standardize=False)
    some = raw.fit(X[kept], Y[kept], sample_weight=COUNTS[kept]).log_density(X, Y)
    zero = raw.fit(X, Y, sample_weight=COUNTS * kept).log_density(X, Y)
    np.testing.assert_array_equal(zero, some)
    for wrapped in (Standardised(raw), LogScaled(raw)):
        found = wrapped.fit(X, np.exp(Y), sample_weight=COUNTS).log_density(X, np.exp(Y))
        assert not np.allclose(found, wrapped.fit(X, np.exp(Y)).log_density(X, np.exp(Y)))
        some = wrapped.fit(X[kept], np.exp(Y[kept]), sample_weight=COUNTS[kept]).mean(X)
        far = np.where(kept[:, None], np.exp(Y), 1e3)
        np.testing.assert_array_equal(wrapped.fit(X, far, None, COUNTS * kept).mean(X), some)


def test_whole_weights_are_rows_that_repeat(pairs):
    X, Y = pairs
    again = np.repeat(np.arange(30), COUNTS.astype(int))
    for model in (MarginalKDE(0.4, standardize=False), KernelCDE(0.5, 0.4, standardize=False)):
        found = model.fit(X, Y, sample_weight=COUNTS).log_density(X, Y)
        np.testing.assert_allclose(found, model.fit(X[again], Y[again]).log_density(X, Y))
    family = LowRankFamily((1.0, 0.8), 1e-3, (30, 30), Normal(0.0, 2.0))
    found = family.fit_rows(ArrayRows(X, Y, block=7), COUNTS).log_density(X, Y)
    repeated = family.fit_rows(ArrayRows(X[again], Y[again])).log_density(X, Y)
    np.testing.assert_allclose(found, repeated, atol=2e-3)
    assert np.abs(found - family.fit_rows(ArrayRows(X, Y)).log_density(X, Y)).max() > 0.1


def test_wrong_weights_are_refused_by_name(pairs):
    X, Y = pairs
    for weights, word in (
        (COUNTS[:-1], "shape"),
        (-COUNTS, "not negative"),
        (COUNTS * np.nan, "finite"),
        (np.zeros(30), "not zero"),
        (["a"] * 30, "numbers"),
    ):
        with pytest.raises(ValueError, match=f"sample_weight.*{word}"):
            MarginalKDE().fit(None, Y, sample_weight=weights)
    for each in (Standardised(make("LSCDE")), LogScaled(make("LSCDE"), -9.0)):
        with pytest.raises(ValueError, match="LSCDE takes no weights"):
            each.fit(X, Y, sample_weight=COUNTS)


def test_a_column_of_a_table_weighs_its_rows(tmp_path):
    X, Y = some_pairs(np.random.default_rng(3), 60)
    frame = pd.DataFrame({"a": X[:, 0], "y": Y[:, 0], "often": np.arange(60) % 4})
    model = TableModel("LinearGaussian", "y", weight="often").fit(frame)
    assert [each.name for each in model.columns_.x] == ["a"]
    floored = Defensive(LinearGaussian(), base_std=1.0, heavy_tails=True)
    own = Standardised(floored).fit(X[:, :1], Y, sample_weight=frame["often"])
    np.testing.assert_allclose(model.mean(frame), own.predict(X[:, :1]).ravel())
    model.save(tmp_path / "m.kcde")
    loaded = TableModel.load(tmp_path / "m.kcde")
    np.testing.assert_array_equal(loaded.mean(frame[["a"]]), model.mean(frame))
    with pytest.raises(ValueError, match="'often': a weight is a number that is not negative"):
        model.fit(frame.assign(often=frame["often"] - 1))
    again = model.fit(pd.concat([frame, frame.iloc[9:]])).mean(frame)
    doubled = frame["often"] * np.where(frame.index < 9, 1, 2)
    np.testing.assert_allclose(again, model.fit(frame.assign(often=doubled)).mean(frame))
    with pytest.raises(ValueError, match="not both"):
        TableModel("LinearGaussian", "y", weight="often", conformal=0.3).fit(frame)
