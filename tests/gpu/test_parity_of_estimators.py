"""Every estimator that computes where its data are says there what it says on numpy."""

import numpy as np
import pytest
from parity import compare, density_numbers, expectation_numbers, moved

from contracted import QUICK
from kcde.arrays import array_namespace
from kcde.estimators import KernelLogisticRegression, Standardised, estimator_class, estimator_names

# Further settings of an estimator: what to change, and how many columns y has.
DENSITIES = {
    "KCEF": [{}, {"columns": 2}],
    "KEF": [{}, {"columns": 2}, {"n_basis": 12}],
    "LSCDE": [
        {},
        {"weights": "signed"},
        {"weights": "constrained"},
        {"weights": "projected"},
        {"density_floor": 1e-3},
    ],
    "EpsilonKDE": [{}, {"columns": 2}],
    "CDO": [
        {},
        {"weights": "signed"},
        {"weights": "projected"},
        {"kernel_x": "laplace"},
        {"periods": (None, 7.0)},
        {"columns": 2, "reference": 6},
    ],
    "GaussianProcess": [{}, {"columns": 2, "noise_std": (0.3, 0.5)}],
    "Defensive": [{}],
    "LikelihoodKCEF": [{}],
    "LinearGaussian": [{}, {"columns": 2}],
    "MarginalKDE": [{}, {"columns": 2}],
    "ResidualKDE": [{}, {"columns": 2}],
    "KernelCDE": [{}, {"columns": 2}],
    "SmoothedJDL": [{}],
    "SmoothedCME": [{}],
}
EXPECTATIONS = {
    "JDL": [{}, {"constrained": True}, {"constrained": "pointwise"}, {"store": False}]
    + [{"pivots": rule} for rule in ("random", "column", "rpcholesky")],
    "CME": [{}, {"constrained": True}, {"columns": 2}],
    "JPDL": [{}, {"constrained": True}],
}


def named(table):
    """Return one parameter a setting, with its name."""
    return [
        pytest.param(name, setting, id=f"{name} {setting or ''}".strip())
        for name, settings in table.items()
        for setting in settings
    ]


@pytest.fixture
def problem(rng, pairs):
    """Return x with rows that repeat and y of so many columns."""
    X, Y = pairs
    X = np.concatenate([X, X[:10]])
    Y = np.concatenate([Y, Y[:10] + 0.2])
    wide = np.hstack([Y, X[:, 1:] ** 2 + 0.3 * rng.standard_normal((40, 1))])
    return lambda columns: (X, wide[:, :columns])


def both(numbers_of, make, X, Y, xp):
    """Fit on numpy and in a namespace; compare what they say."""
    expected = numbers_of(make().fit(X, Y), X, Y)
    X, Y = moved((X, Y), xp)
    found = numbers_of(make().fit(X, Y), X, Y)
    away = [name for name, array in found.items() if array_namespace(array) != array_namespace(X)]
    assert not away, f"{away} left the device"
    compare(found, expected)


def test_every_estimator_of_the_array_api_takes_part():
    claimed = {name for name in estimator_names() if estimator_class(name).tags.array_api}
    assert claimed == {*DENSITIES, *EXPECTATIONS, "KernelLogisticRegression"}


@pytest.mark.parametrize(("name", "setting"), named(DENSITIES))
def test_densities(name, setting, problem, other_xp):
    given = QUICK.get(name, {}) | {k: v for k, v in setting.items() if k != "columns"}
    X, Y = problem(setting.get("columns", 1))
    if estimator_class(name).tags.unconditional:
        X = X[:, :0]
    both(density_numbers, lambda: estimator_class(name)(**given), X, Y, other_xp)


@pytest.mark.parametrize(("name", "setting"), named(EXPECTATIONS))
def test_expectations(name, setting, problem, other_xp):
    given = {"regularization": 0.01} | {k: v for k, v in setting.items() if k != "columns"}
    X, Y = problem(setting.get("columns", 1))
    both(expectation_numbers, lambda: estimator_class(name)(**given), X, Y, other_xp)


def test_standardised(problem, other_xp):
    X, Y = problem(1)
    inner = estimator_class("LSCDE")(**QUICK["LSCDE"])
    both(density_numbers, lambda: Standardised(inner), 3.0 * X + 1.0, 5.0 * Y - 2.0, other_xp)


def test_logistic_regression(problem, other_xp):
    def numbers(model, X, Y):
        return {
            "probability": model.predict_proba(X),
            "log odds": model.decision_function(X),
            "coefficients": model.coef_,
        }

    class Labelled(KernelLogisticRegression):
        def fit(self, X, Y):
            return super().fit(X, Y > 0.0)

    both(numbers, lambda: Labelled(regularization=0.1), *problem(1), other_xp)
