import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from kcde.estimators import KernelLogisticRegression, kernel_logistic_regression


@pytest.fixture
def labelled(rng):
    X = rng.standard_normal((300, 2))
    return X, (X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(300) > 0.5).astype(int)


@pytest.mark.parametrize("regularization", [1e-2, 30.0])
def test_minimises_the_summed_loss_without_intercept(labelled, regularization):
    X, y = labelled
    model = KernelLogisticRegression(1.0, regularization).fit(X, y)
    L = model.basis_.factor.L

    def loss(c):
        f = L @ c
        value = np.sum(np.logaddexp(0.0, f) - y * f) + regularization * c @ c
        return value, L.T @ (1.0 / (1.0 + np.exp(-f)) - y) + 2.0 * regularization * c

    found = minimize(loss, np.zeros(L.shape[1]), jac=True, options={"gtol": 1e-10, "maxiter": 5000})
    np.testing.assert_allclose(model.coef_, found.x, rtol=1e-5, atol=1e-5)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-10)
    assert model.solver_residual_ <= 1e-10
    assert model.solver_iterations_ < 10
    odds = model.decision_function(X)
    np.testing.assert_allclose(odds, L @ model.coef_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(odds))


def test_bad_input_and_an_early_stop_are_named(labelled, monkeypatch):
    X, y = labelled
    model = KernelLogisticRegression(1.0, 1e-6)
    nan = np.where(y == 1, np.nan, 0.0)
    text = [None, *np.where(y[1:], "a", "b")]
    missing = nan, text, [np.nan, *text[1:]], pd.Series(text, dtype="string")
    wrong = [(X[:, 0], "classes; got 300"), (y[1:], "shape"), *((each, "NaN") for each in missing)]
    for labels, named in wrong:
        with pytest.raises(ValueError, match=named):
            model.fit(X, labels)
    with pytest.raises(ValueError, match="regularization"):
        KernelLogisticRegression(1.0, 0.0).fit(X, y)
    monkeypatch.setattr(kernel_logistic_regression, "_STEPS", 2)
    with pytest.raises(FloatingPointError, match="iteration limit"):
        model.fit(X, y)
