"""Low-rank kernel logistic regression (jdl, appendix B)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from kcde.arrays import array_namespace, row_blocks, to_numpy
from kcde.estimators._low_rank.base import with_regularizations
from kcde.estimators._low_rank.basis import GaussianBases, KernelBasis
from kcde.estimators._shared import checks
from kcde.estimators._shared.rows import RowChecks, check_rows
from kcde.estimators._shared.threads import thread_limit
from kcde.estimators._shared.units import Units
from kcde.estimators.base import Tags
from kcde.linalg import factor_positive_definite

_STEPS = 100
_TOLERANCE = 1e-10
# What rounding may leave where λ is so small that the loss hardly curves.
_ROUNDING = 1e-8


@dataclass(eq=False, repr=False)
class KernelLogisticRegression(RowChecks, GaussianBases, ClassifierMixin, BaseEstimator):
    """Predict the probabilities of two classes given x, from tens of rows to millions.

    P(second class|x) = 1/(1 + exp(-Φ(x) c)) in the basis Φ = k(·, X_P) B of pivoted Cholesky.

    c minimises the summed logistic loss plus λ|c|²; there is no intercept. Newton's method costs
    n m² multiplications a step, some ten steps from zero and a few from a neighbouring λ.

    Parameters
    ----------
    bandwidth_x
        Standard deviations of the Gaussian kernel, in the units of x: a number, or one per
        dimension. None: the median distance between rows over √2.
    regularization
        λ, of the summed loss.
    tolerance
        Relative trace error of the pivoted Cholesky factor.
    max_rank
        Maximum number of pivots; None: as many as the tolerance requires.
    store
        Whether to keep the factors in memory; False recomputes their rows when they are needed,
        "auto" does so for factors larger than 1.5 GiB.
    random_state
        Seeds the draw of the rows for the median distance.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    classes_
        The two labels, sorted.
    coef_
        c, shape (m,).
    basis_
        The basis.
    rank_x_
        m.
    objective_
        Summed loss plus λ|c|².
    solver_status_, solver_residual_, solver_iterations_
        "optimal"; size of the gradient against that at c = 0; Newton steps.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import KernelLogisticRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 1))
    >>> model = KernelLogisticRegression(regularization=0.1).fit(X, X[:, 0] > 0)
    >>> model.predict(np.array([[-1.0], [1.0]]))
    array([False,  True])
    """

    selection_rule = (
        "the bandwidth is the median distance over √2 and λ is 0.001, nothing is searched"
    )

    tags = Tags(density=False, target="binary", several_y=False)

    bandwidth_x: float | Sequence[float] | None = None
    regularization: float = 1e-3

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X, y) -> "KernelLogisticRegression":
        """Fit to labelled points.

        Parameters
        ----------
        X
            Shape (n, d_x).
        y
            Two different labels, shape (n,) or (n, 1).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a shape, a value or a hyper-parameter is wrong, the labels are not two, or all rows
            of X coincide.
        FloatingPointError
            If Newton's method stops early; names status and residual.
        """
        self._fit_models([self], X, y, None)
        return self

    def fit_path(
        self, X, y, regularizations: Sequence[float], basis: KernelBasis | None = None
    ) -> list:
        """Fit a copy for each λ, each from the solution of the next larger one.

        Parameters
        ----------
        X, y
            As for `fit`.
        regularizations
            Values of λ.
        basis
            Basis of these rows from `make_basis_x`, if it is known.

        Returns
        -------
        list
            Fitted estimators, in the order of the values.
        """
        models = with_regularizations(self, regularizations)
        self._fit_models(models, X, y, basis)
        return models

    def _fit_models(self, models: list, X, y, basis: KernelBasis | None):
        given, X = X, check_rows("X", X)
        classes, target = _binary(X, y)
        units = Units(X) if self.standardize else None
        for model in models:
            checks.positive("regularization", model.regularization)
        with thread_limit(X.shape[0]):
            basis = self.make_basis_x(X) if basis is None else basis
            coefficients = array_namespace(X).zeros(basis.rank, dtype=X.dtype)
            for model in sorted(models, key=lambda model: -model.regularization):
                solved = newton(LogisticLoss(basis, target, model.regularization), coefficients)
                model._record_input(None, basis.points)
                model.basis_, model.rank_x_, model.classes_ = basis, basis.rank, classes
                coefficients, model.objective_, *reports = solved
                model.coef_, model.solver_status_ = coefficients, "optimal"
                model.solver_residual_, model.solver_iterations_ = reports
        for model in models:
            model._record_feature_names(given)
            model._open(units)

    def decision_function(self, X):
        """Return the log odds of the second class, shape (n,), at X (n, d_x); n m d_x time."""
        factor = self.basis_.factor
        return factor.kernel(X, factor.points) @ (factor.B @ self.coef_)

    def predict_proba(self, X):
        """Return the probabilities of the two classes, shape (n, 2), at X (n, d_x)."""
        log_odds = self.decision_function(X)
        xp = array_namespace(log_odds)
        share = xp.tanh(0.5 * log_odds)
        return xp.stack([0.5 * (1.0 - share), 0.5 * (1.0 + share)], axis=1)

    def predict(self, X) -> np.ndarray:
        """Return the more probable class, shape (n,): the second where the odds are even."""
        second = to_numpy(self.decision_function(X)) >= 0
        return self.classes_[second.astype(int)]


def _binary(X, y):
    """Return the two classes and which rows are of the second, shape (n,), as 0.0 and 1.0."""
    from pandas import isna

    labels = to_numpy(y) if hasattr(y, "dtype") else np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (X.shape[0],):
        raise ValueError(f"y must have shape ({X.shape[0]},); got shape {labels.shape}")
    # Beside text, a list's None or NaN would become text.
    missing = isna(labels if hasattr(y, "dtype") else np.asarray(y, dtype=object))
    if missing.any() or (labels.dtype.kind == "f" and np.isinf(labels).any()):
        raise ValueError(f"y, shape {labels.shape}, has NaN or infinite values; drop those rows")
    classes = np.unique(labels)
    if len(classes) != 2:
        raise ValueError(f"y must have two classes; got {len(classes)}: {classes[:5].tolist()}")
    return classes, array_namespace(X).asarray((labels == classes[1]).astype(np.float64))


class LogisticLoss:
    """Σ_i log(1 + exp(f_i)) - y_i f_i + λ|c|² with f = L c, with its derivatives.

    y is the target, zeros and ones, shape (n,), and λ the regularization.
    """

    def __init__(self, basis: KernelBasis, target, regularization: float):
        self.basis, self.target, self.regularization = basis, target, regularization
        self.xp = array_namespace(target)

    def log_odds(self, c):
        """Return f = L c, shape (n,); n m multiplications."""
        return self.xp.concat([self.basis.coordinates(rows) @ c for rows in self.basis.blocks()])

    def value(self, c, f) -> float:
        """Return the loss at c, whose log odds are f."""
        losses = self.xp.logaddexp(self.xp.zeros_like(f), f) - self.target * f
        return float(self.xp.sum(losses)) + self.regularization * float(c @ c)

    def gradient(self, c, f):
        """Return Lᵀ(σ(f) - y) + 2λc, shape (m,)."""
        error = 0.5 * (1.0 + self.xp.tanh(0.5 * f)) - self.target
        gradient = 2.0 * self.regularization * c
        for rows in self.basis.blocks():
            gradient = gradient + error[rows] @ self.basis.coordinates(rows)
        return gradient

    def hessian(self, f):
        """Return Lᵀ diag(σ(1 - σ)) L, shape (m, m), without 2λ; n m² multiplications."""
        xp, m = self.xp, self.basis.rank
        # Of a matrix and itself numpy computes half the product.
        root = 0.5 * xp.sqrt(xp.clip(1.0 - xp.tanh(0.5 * f) ** 2, min=0.0))
        hessian = xp.zeros((m, m), dtype=f.dtype)
        for rows in row_blocks(f.shape[0], m, like=f):
            weighted = root[rows][:, None] * self.basis.coordinates(rows)
            hessian += weighted.T @ weighted
        return hessian


def newton(loss: LogisticLoss, start) -> tuple:
    """Minimise by Newton steps, halved until the loss falls enough; it is strongly convex.

    Returns coefficients (m,), loss, size of the gradient against that at zero, and steps.

    Raises
    ------
    FloatingPointError
        If the gradient is still not small after 100 steps; names status and residual.
    """
    xp, zero = loss.xp, loss.xp.zeros_like(start)
    norm = xp.linalg.vector_norm
    scale = float(norm(loss.gradient(zero, xp.zeros_like(loss.target))))
    c, f = start, loss.log_odds(start)
    value, gradient = loss.value(c, f), loss.gradient(start, f)
    residual = float("inf")
    for iteration in range(_STEPS):
        before, residual = residual, float(norm(gradient)) / scale if scale > 0.0 else 0.0
        if residual <= _TOLERANCE or (residual <= _ROUNDING and residual > 0.5 * before):
            return c, value, residual, iteration
        hessian, shift = loss.hessian(f), 2.0 * loss.regularization
        step = -factor_positive_definite(hessian, shift=shift).solve(gradient)
        promised = float(gradient @ step)
        direction = loss.log_odds(step)
        for halvings in range(40):
            size = 0.5**halvings
            trial = loss.value(c + size * step, f + size * direction)
            # The last steps change the loss by less than its rounding.
            if trial <= value + 1e-4 * size * promised + 1e-13 * abs(value):
                break
        c, f, value = c + size * step, f + size * direction, trial
        gradient = loss.gradient(c, f)
    said = f"status iteration limit, residual {residual:.3g} after {_STEPS} steps"
    raise FloatingPointError(f"Newton's method stopped early: {said}; raise the regularization")
