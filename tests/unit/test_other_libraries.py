"""Estimators under skpro's checks, and in MAPIE."""

import numpy as np
import pandas as pd
import pytest
from mapie.regression import SplitConformalRegressor

from kcde import LikelihoodKCEF, ResidualKDE


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    return X, X["a"] + rng.normal(size=400) * np.exp(0.5 * X["b"])


def test_skpro_predicts_what_the_estimator_does(rows):
    adapters = pytest.importorskip("kcde.skpro", exc_type=ImportError)
    X, y = rows[0][:100], rows[1][:100]
    model = LikelihoodKCEF().fit(X, y)
    fitted = adapters.ProbaRegressor(LikelihoodKCEF()).fit(X, y.to_frame("y"))
    found = fitted.predict_proba(X[:5])
    expected = np.asarray(model.log_density(X[:5], y[:5]))
    assert found.log_pdf(y[:5].to_frame("y")).to_numpy().ravel() == pytest.approx(expected)
    quartiles = np.asarray(fitted.predict_quantiles(X[:5], alpha=[0.25, 0.75]))
    assert quartiles == pytest.approx(np.asarray(model.quantile(X[:5], [0.25, 0.75])))
    assert found.iloc[[3]].mean().index.tolist() == [3]


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["ProbaRegressor", "Predicted"])
def test_skpro_finds_nothing(name):
    adapters = pytest.importorskip("kcde.skpro", exc_type=ImportError)
    from skpro.utils import check_estimator

    answers = check_estimator(getattr(adapters, name), verbose=False)
    assert answers
    assert {check: said for check, said in answers.items() if said != "PASSED"} == {}


def test_mapie_calibrates_intervals(rows):
    X, y = rows
    split = SplitConformalRegressor(ResidualKDE(), confidence_level=0.9, prefit=False)
    split.fit(X[:100], y[:100]).conformalize(X[100:200], y[100:200])
    _, interval = split.predict_interval(X[200:])
    lower, upper = interval[:, :, 0].T
    assert 0.84 < np.mean((lower <= y[200:]) & (y[200:] <= upper)) < 0.97
