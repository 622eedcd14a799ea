"""Ridge regression with normal residuals: the simplest conditional density."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcde.arrays import array_namespace, to_numpy
from kcde.estimators._shared import checks
from kcde.estimators._shared.pushforward import NormalResiduals
from kcde.kernels import as_bandwidths
from kcde.linalg import symmetric_spectrum
from kcde.selection import best_index, log_grid


class LinearGaussian(NormalResiduals):
    """Predict a normal density of y given x, the mean linear and the variance fixed: a baseline.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = N(m(x), s²), m(x) = ȳ + (x - x̄)ᵀb with b = argmin Σ_i |y_i - m(x_i)|²/n + λ|b|².

    λ and s² have the largest leave-one-out likelihood: s² is the mean square of the residuals of
    rows left out, and λ the one at which it is smallest (Hoerl and Kennard 1970; Hastie, Tibshirani
    and Friedman 2009, equation 7.64). Several y have variances of their own and share λ.
    Cost: one eigendecomposition, O(m r² + r³) in all, r and m the smaller and
    the larger of n and d_x. A fit keeps the coefficients and s, nothing of the rows.

    Parameters
    ----------
    regularization
        λ, in squared units of x. None: chosen from 41 log-spaced values, 1e-6 to 1e4.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    regularization_
        Value used, given or chosen.
    coef_
        b, shape (d_x, d_y).
    residual_std_
        s, shape (d_y,).
    cv_results_
        Leave-one-out log likelihood, `score`, for each of `regularization`.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import LinearGaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = 2.0 * X + 0.3 * rng.normal(size=(100, 1))
    >>> model = LinearGaussian().fit(X, Y)
    >>> model.mean(np.array([[1.0]])).round(1), model.std(X[:1]).round(1)
    (array([[2.]]), array([[0.3]]))
    """

    selection_rule: ClassVar[str] = (
        "ridge regression with normal residuals; λ (1e-6…1e4 in 41 steps) and the variance by "
        "leave-one-out likelihood, in closed form"
    )

    def __init__(self, regularization=None, *, standardize=True):
        self.regularization = regularization
        self.standardize = standardize

    def _fit(self, X, Y):
        self._ridge, _, self.cv_results_ = fit_ridge(X, Y, self.regularization)
        self.regularization_, self.coef_ = self._ridge.regularization, self._ridge.coef
        self.residual_std_ = self._ridge.residual_std
        self._std = array_namespace(X).asarray(self.residual_std_)

    def _line(self, X):
        return self._ridge.predict(X), self._std[None, :]


REGULARIZATIONS = log_grid(1e-6, 1e4, 41)
_LEAST = 1e-8  # 1 - h_ii: below it the residual of a row left out is rounding


@dataclass(frozen=True)
class Ridge:
    """m(x) = ȳ + (x - x̄)ᵀb with b = argmin Σ_i |y_i - m(x_i)|²/n + λ|b|².

    `residual_std`, (d_y,): the root mean square of each y_i less its fit to all other rows.
    """

    centre_x: object
    centre_y: object
    coef: object
    regularization: float
    residual_std: np.ndarray

    def predict(self, X):
        """Return m(x), shape (n, d_y)."""
        return self.centre_y + (X - self.centre_x) @ self.coef


def fit_ridge(X, Y, regularization: float | None) -> tuple[Ridge, np.ndarray, dict]:
    """Return the fit, the residuals of rows left out and the scores of λ, chosen if it is None.

    The residual of row i left out is e_i/(1 - h_ii) with the residual e_i and the leverage h_ii of
    all rows (Hastie, Tibshirani and Friedman 2009, equation 7.64). Where these have the variance s²
    the mean log density of N(m_{-i}(x_i), s²) at y_i is largest at the mean of their squares, and
    there -½ log 2πe s²: the λ with the smallest s is that with the largest leave-one-out
    likelihood. One eigendecomposition for all λ, of the smaller of XᵀX and XXᵀ: with
    r = min(n, d_x), r² max(n, d_x) + r³ time, and 41 n r d_y for the λ.
    """
    checks.positive("regularization", regularization, optional=True)
    xp, x, y = array_namespace(X), to_numpy(X), to_numpy(Y)
    centre_x, centre_y = x.mean(axis=0), y.mean(axis=0)
    path = _Path(x - centre_x, y - centre_y)
    candidates = REGULARIZATIONS if regularization is None else np.array([regularization])
    stds = np.stack([_root_mean_square(path.left_out(each)) for each in candidates])
    if np.any(stds == 0):
        raise ValueError("y is a linear function of x: leave out the x that determines y")
    score = -len(x) * np.sum(np.log(stds) + 0.5 * np.log(2.0 * np.pi) + 0.5, axis=1)
    (best,) = best_index(score)
    chosen = float(candidates[best])
    ridge = Ridge(
        *(xp.asarray(part) for part in (centre_x, centre_y, path.coef(chosen))),
        chosen,
        as_bandwidths(stds[best], y.shape[1], "the standard deviation of the residuals"),
    )
    return ridge, path.left_out(chosen), {"regularization": candidates, "score": score}


class _Path:
    """The regressions of centred x (n, d) and y for all λ, by eigenvectors of XᵀX, or of XXᵀ.

    The latter where d > n: with XXᵀ/n = U W Uᵀ, x in the directions of the eigenvectors of XᵀX is
    U (nW)^½, and b = Xᵀ U (W + λ)⁻¹ Uᵀ y/n (Hastie, Tibshirani and Friedman 2009, section 18.3.5).
    """

    def __init__(self, x: np.ndarray, y: np.ndarray):
        (n, d), self._y = x.shape, y
        if d > n:
            self._values, vectors = symmetric_spectrum(x @ x.T / n)
            self._rotated, of_rows = vectors * np.sqrt(n * self._values), vectors.T @ y / n
            self._coef_of = lambda inverse: x.T @ (vectors @ (of_rows * inverse))
        else:
            nothing = np.zeros(0), np.zeros((0, 0))
            self._values, vectors = symmetric_spectrum(x.T @ x / n) if d else nothing
            self._rotated = x @ vectors
            self._coef_of = lambda inverse: vectors @ (self._moments * inverse)
        self._moments, self._shares = self._rotated.T @ y / n, self._rotated**2 / n

    def coef(self, regularization: float) -> np.ndarray:
        """Return b, shape (d_x, d_y)."""
        return self._coef_of(1.0 / (self._values + regularization)[:, None])

    def left_out(self, regularization: float) -> np.ndarray:
        """Return e_i/(1 - h_ii), (n, d_y); NaN where a row alone determines a coefficient."""
        inverse = 1.0 / (self._values + regularization)
        kept = 1.0 - 1.0 / len(self._y) - self._shares @ inverse
        residuals = self._y - self._rotated @ (self._moments * inverse[:, None])
        return residuals / np.where(kept > _LEAST, kept, np.nan)[:, None]


def _root_mean_square(values: np.ndarray) -> np.ndarray:
    """Return it for each column, whatever their scale, shape (d,)."""
    size = np.max(np.abs(values), axis=0)
    return size * np.sqrt(np.mean((values / np.where(size > 0, size, 1.0)) ** 2, axis=0))
