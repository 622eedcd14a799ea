import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from kcde.estimators import KernelLogisticRegression
from kcde.estimators._low_rank import logistic
from kcde.estimators._low_rank.logistic import LogisticLoss
from kcde.kernels import GaussianKernel

LAMBDAS = np.geomspace(1e-8, 10, 10)


@pytest.fixture
def labelled(rng):
    X = rng.standard_normal((300, 2))
    return X, (X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(300) > 0.5).astype(int)


@pytest.mark.parametrize("regularization", [1e-2, 1.0, 30.0])
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


def test_is_kernel_logistic_regression_in_n_dimensions(labelled):
    """With the whole kernel matrix: f = K c and penalty cᵀ K c."""
    X, y = labelled[0][:40], labelled[1][:40]
    K = GaussianKernel(1.0)(X, X) + 1e-12 * np.eye(40)
    root = np.linalg.cholesky(K)

    def loss(c):
        f = root @ c
        value = np.sum(np.logaddexp(0.0, f) - y * f) + 0.1 * c @ c
        return value, root.T @ (1.0 / (1.0 + np.exp(-f)) - y) + 0.2 * c

    c = minimize(loss, np.zeros(40), jac=True, options={"gtol": 1e-10}).x
    model = KernelLogisticRegression(1.0, 0.1, tolerance=1e-13).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), root @ c, atol=1e-5)


def test_derivatives_against_finite_differences(labelled, rng):
    X, y = labelled
    basis = KernelLogisticRegression(1.0).make_basis_x(X)
    loss = LogisticLoss(basis, y.astype(float), 0.3)
    c = rng.standard_normal(basis.rank)
    f = loss.log_odds(c)
    gradient, hessian = loss.gradient(c, f), loss.hessian(f) + 0.6 * np.eye(basis.rank)
    for _ in range(3):
        v = rng.standard_normal(basis.rank)
        ends = [c + sign * 1e-5 * v for sign in (1, -1)]
        values = [loss.value(end, loss.log_odds(end)) for end in ends]
        assert (values[0] - values[1]) / 2e-5 == pytest.approx(gradient @ v, rel=1e-5)
        slopes = [loss.gradient(end, loss.log_odds(end)) for end in ends]
        np.testing.assert_allclose(
            (slopes[0] - slopes[1]) / 2e-5, hessian @ v, rtol=1e-4, atol=1e-5
        )


def test_path_equals_single_fits(labelled):
    X, y = labelled
    model = KernelLogisticRegression(1.0)
    path = model.fit_path(X, y, LAMBDAS, model.make_basis_x(X))
    for fitted, regularization in zip(path, LAMBDAS, strict=True):
        alone = KernelLogisticRegression(1.0, regularization).fit(X, y)
        assert fitted.regularization == regularization
        assert fitted.objective_ == pytest.approx(alone.objective_, rel=1e-8)
        np.testing.assert_allclose(fitted.predict_proba(X), alone.predict_proba(X), atol=1e-4)


def test_follows_scikit_learn(labelled):
    X, y = labelled
    labels = np.array(["crash", "rally"])[y]
    model = KernelLogisticRegression(1.0, 0.1)
    assert is_classifier(model)
    assert clone(model).get_params() == model.get_params()
    assert model.fit(X, labels) is model
    np.testing.assert_array_equal(model.classes_, ["crash", "rally"])
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X) == "rally", probabilities[:, 1] >= 0.5)
    assert model.score(X, labels) > 0.8
    numeric = KernelLogisticRegression(1.0, 0.1).fit(X, y[:, None])
    np.testing.assert_array_equal(numeric.predict_proba(X), probabilities)


def test_rare_events_and_far_points_stay_finite(labelled):
    X, _ = labelled
    y = np.zeros(300)
    y[:3] = 1.0
    for model in KernelLogisticRegression(0.5).fit_path(X, y, LAMBDAS):
        probabilities = model.predict_proba(np.vstack([X, [[1e3, 1e3]]]))
        assert np.isfinite(probabilities).all()
        # Without an intercept the odds far from all rows are even.
        np.testing.assert_array_equal(probabilities[-1], 0.5)


def test_streaming_equals_storing(labelled):
    X, y = labelled
    first, second = (
        KernelLogisticRegression(1.0, 0.01, store=store).fit(X, y).predict_proba(X)
        for store in (True, False)
    )
    np.testing.assert_allclose(first, second, atol=1e-8)


def test_other_namespaces_give_the_same(labelled, other_xp, host):
    X, y = labelled
    expected = KernelLogisticRegression(1.0, 0.1).fit(X, y).predict_proba(X)
    model = KernelLogisticRegression(1.0, 0.1).fit(other_xp.asarray(X), other_xp.asarray(y))
    np.testing.assert_allclose(host(model.predict_proba(other_xp.asarray(X))), expected, atol=1e-8)


def test_bad_input_is_named(labelled):
    X, y = labelled
    model = KernelLogisticRegression(1.0)
    with pytest.raises(ValueError, match="y must have two classes; got 1"):
        model.fit(X, 0 * y)
    with pytest.raises(ValueError, match="y must have two classes; got 300"):
        model.fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"y must have shape \(300,\)"):
        model.fit(X, y[1:])
    with pytest.raises(ValueError, match="has NaN or infinite"):
        model.fit(X, np.where(y == 1, np.nan, 0.0))
    with pytest.raises(ValueError, match="regularization must be a positive number"):
        KernelLogisticRegression(1.0, 0.0).fit(X, y)
    with pytest.raises(ValueError, match=r"all 300 rows of X coincide.*rank one"):
        model.fit(np.ones_like(X), y)
    with pytest.raises(NotFittedError, match="call fit first"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="X must have 2 columns"):
        model.fit(X, y).predict_proba(X[:, :1])


def test_an_early_stop_names_status_and_residual(labelled, monkeypatch):
    monkeypatch.setattr(logistic, "_STEPS", 2)
    with pytest.raises(FloatingPointError, match="status iteration limit, residual"):
        KernelLogisticRegression(1.0, 1e-6).fit(*labelled)
