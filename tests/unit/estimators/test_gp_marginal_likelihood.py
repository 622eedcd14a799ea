"""The marginal likelihood of Gaussian processes, against scikit-learn's."""

import numpy as np
import pytest
from kcde.estimators._gp.marginal_likelihood import Regressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

FREE = (1e-3, 1e3)


@pytest.mark.parametrize("shape", [RBF, lambda *given: Matern(*given, nu=1.5)])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("fixed", ["", "signal", "length", "noise"])
def test_value_and_gradient_are_those_of_scikit_learn(rng, shape, columns, fixed):
    X = rng.normal(size=(60, columns))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
    bounds = {name: FREE for name in ("signal", "length", "noise")}
    if fixed:
        bounds[fixed] = "fixed"
    kernel = ConstantKernel(0.7, bounds["signal"]) * shape(
        np.linspace(0.5, 1.5, columns), bounds["length"]
    ) + WhiteKernel(0.05, bounds["noise"])
    told = []
    for cls in (Regressor, GaussianProcessRegressor):
        model = cls(kernel, alpha=0.0, optimizer=None).fit(X, y)
        told.append(model.log_marginal_likelihood(model.kernel_.theta + 0.1, eval_gradient=True))
    (value, gradient), (expected, slope) = told
    assert value == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(gradient, slope, rtol=1e-8, atol=1e-9)
