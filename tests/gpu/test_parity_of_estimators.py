"""Every estimator that computes where its data are says there what it says on numpy."""

import numpy as np
import pytest
from parity import assert_same, density_numbers, expectation_numbers

from contracted import QUICK
from kcde.arrays import array_namespace
from kcde.estimators import KernelLogisticRegression, Standardised, estimator_class, estimator_names

# Further settings of an estimator: what to change, and how many columns y has.
TWO, SIGNED = {"columns": 2}, ({"weights": "signed"}, {"weights": "projected"})
DENSITIES = {
    "KCEF": [TWO],
    "KEF": [TWO, {"n_basis": 12}],
    "LSCDE": [{"density_floor": 1e-3}, {"weights": "constrained"}, *SIGNED],
    "CDO": [{"kernel_x": "laplace"}, {"periods": (None, 7.0)}, TWO | {"reference": 6}, *SIGNED],
    "GaussianProcess": [TWO | {"noise_std": (0.3, 0.5)}],
}
ONE_AND_TWO = ("EpsilonKDE", "LinearGaussian", "MarginalKDE", "ResidualKDE", "KernelCDE")
DENSITIES |= {name: [TWO] for name in ONE_AND_TWO}
DENSITIES |= {n: [] for n in ("Defensive", "LikelihoodKCEF", "SmoothedJDL", "SmoothedCME")}
RULES = [{"pivots": rule} for rule in ("random", "column", "rpcholesky")]
EXPECTATIONS = {
    "JDL": [{"constrained": True}, {"store": False}, *RULES],
    "CME": [{"constrained": True}, TWO],
    "JPDL": [{"constrained": True}],
}
CASES = [
    pytest.param(name, setting, id=f"{name} {setting or ''}".strip())
    for name, settings in (DENSITIES | EXPECTATIONS).items()
    for setting in ({}, *settings)
]


@pytest.fixture
def problem(rng, pairs):
    """Return x with rows that repeat and y of so many columns."""
    X, Y = (np.concatenate([part, part[:10]]) for part in pairs)
    Y[30:] += 0.2
    wide = np.hstack([Y, X[:, 1:] ** 2 + 0.3 * rng.standard_normal((40, 1))])
    return lambda columns: (X, wide[:, :columns])


def both(numbers_of, make, X, Y, xp):
    """Fit on numpy and in a namespace; compare what they say."""
    expected = numbers_of(make().fit(X, Y), X, Y)
    X, Y = xp.asarray(X), xp.asarray(Y)
    found = numbers_of(make().fit(X, Y), X, Y)
    away = [name for name, array in found.items() if array_namespace(array) != array_namespace(X)]
    assert not away, f"{away} left the device"
    for name, values in expected.items():
        assert_same(found[name], values, what=name)


def test_every_estimator_of_the_array_api_takes_part():
    claimed = {name for name in estimator_names() if estimator_class(name).tags.array_api}
    assert claimed == {*DENSITIES, *EXPECTATIONS, "KernelLogisticRegression"}


@pytest.mark.parametrize(("name", "setting"), CASES)
def test_what_is_learnt_and_said(name, setting, problem, other_xp):
    given = QUICK.get(name, {}) if name in DENSITIES else {"regularization": 0.01}
    given = given | {k: v for k, v in setting.items() if k != "columns"}
    X, Y = problem(setting.get("columns", 1))
    if estimator_class(name).tags.unconditional:
        X = X[:, :0]
    numbers_of = density_numbers if name in DENSITIES else expectation_numbers
    both(numbers_of, lambda: estimator_class(name)(**given), X, Y, other_xp)


def test_standardised(problem, other_xp):
    (X, Y), inner = problem(1), estimator_class("LSCDE")(**QUICK["LSCDE"])
    both(density_numbers, lambda: Standardised(inner), 3.0 * X + 1.0, 5.0 * Y - 2.0, other_xp)


def test_logistic_regression(problem, other_xp):
    X, Y = problem(1)
    there, models = other_xp.asarray(X), [KernelLogisticRegression(None, 0.1) for _ in range(2)]
    models[0].fit(X, Y > 0.0)
    models[1].fit(there, other_xp.asarray(Y) > 0.0)
    assert_same(models[1].coef_, models[0].coef_)
    assert_same(models[1].decision_function(there), models[0].decision_function(X))
    assert_same(models[1].predict_proba(there), models[0].predict_proba(X))
