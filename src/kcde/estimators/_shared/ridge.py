"""Ridge regression with the residuals of every row left out, in closed form."""

from dataclasses import dataclass

import numpy as np

from kcde.arrays import array_namespace, to_numpy
from kcde.kernels import as_bandwidths
from kcde.linalg import symmetric_spectrum
from kcde.selection import best_index, log_grid

REGULARIZATIONS = log_grid(1e-6, 1e4, 41)
_LEAST = 1e-8  # 1 - h_ii: below it the residual of a row left out is rounding


@dataclass(frozen=True)
class Ridge:
    """m(x) = ȳ + (x - x̄)ᵀb with b = argmin Σ_i |y_i - m(x_i)|²/n + λ|b|².

    Attributes
    ----------
    centre_x, centre_y
        x̄, shape (d_x,), and ȳ, shape (d_y,).
    coef
        b, shape (d_x, d_y).
    regularization
        λ.
    residuals
        What is left of each y_i by the fit to all other rows, numpy, shape (n, d_y).
    residual_std
        Root of the mean of their squares, shape (d_y,).
    """

    centre_x: object
    centre_y: object
    coef: object
    regularization: float
    residuals: np.ndarray
    residual_std: np.ndarray

    def predict(self, X):
        """Return m(x), shape (n, d_y)."""
        return self.centre_y + (X - self.centre_x) @ self.coef


def fit_ridge(X, Y, regularization: float | None) -> tuple[Ridge, dict]:
    """Fit, and choose λ among `REGULARIZATIONS` if it is None.

    The residual of row i left out is e_i/(1 - h_ii) with the residual e_i and the leverage h_ii of
    all rows (Hastie, Tibshirani and Friedman 2009, equation 7.64). Where these have the variance s²
    the mean log density of N(m_{-i}(x_i), s²) at y_i is largest at the mean of their squares, and
    there -½ log 2πe s²: the λ with the smallest s is that with the largest leave-one-out
    likelihood. One eigendecomposition of XᵀX, d_x³ time, and 41 n d_x (d_x + d_y) for all λ.

    Parameters
    ----------
    X, Y
        Shapes (n, d_x), (n, d_y).
    regularization
        λ, in squared units of x.

    Returns
    -------
    Ridge
        Its coefficients lie where X does.
    dict
        Leave-one-out log likelihood, `score`, for each of `regularization`.

    Raises
    ------
    ValueError
        If λ is not positive, or nothing is left of y.
    """
    if regularization is not None and not (np.isscalar(regularization) and regularization > 0):
        raise ValueError(f"regularization must be a positive number or None; got {regularization}")
    xp, x, y = array_namespace(X), to_numpy(X), to_numpy(Y)
    centre_x, centre_y = x.mean(axis=0), y.mean(axis=0)
    values, vectors = _spectrum(x - centre_x)
    rotated = (x - centre_x) @ vectors
    moments = rotated.T @ (y - centre_y) / len(x)
    candidates = REGULARIZATIONS if regularization is None else np.array([regularization])
    fits = [_left_out(rotated, y - centre_y, moments, values + shift) for shift in candidates]
    stds = np.stack([_root_mean_square(residuals) for residuals in fits])
    if np.any(stds == 0):
        raise ValueError(
            "y is a linear function of x on the training rows, so that there is no density of what "
            "is left of it; add rows, or leave out the x that determines y"
        )
    score = -len(x) * np.sum(np.log(stds) + 0.5 * np.log(2.0 * np.pi) + 0.5, axis=1)
    (best,) = best_index(score)
    coef = vectors @ (moments / (values + candidates[best])[:, None])
    ridge = Ridge(
        *(xp.asarray(part) for part in (centre_x, centre_y, coef)),
        float(candidates[best]),
        fits[best],
        as_bandwidths(stds[best], y.shape[1], "the standard deviation of the residuals"),
    )
    return ridge, {"regularization": candidates, "score": score}


def _spectrum(centred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (d,) and eigenvectors (d, d) of the covariance; none without columns."""
    if not centred.shape[1]:
        return np.zeros(0), np.zeros((0, 0))
    return symmetric_spectrum(centred.T @ centred / len(centred))


def _left_out(rotated, centred_y, moments, shifted) -> np.ndarray:
    """Return e_i/(1 - h_ii), shape (n, d_y); NaN where a row alone determines a coefficient."""
    n = len(rotated)
    kept = 1.0 - 1.0 / n - (rotated**2 / n) @ (1.0 / shifted)
    residuals = centred_y - rotated @ (moments / shifted[:, None])
    return residuals / np.where(kept > _LEAST, kept, np.nan)[:, None]


def _root_mean_square(values: np.ndarray) -> np.ndarray:
    """Return it for each column, whatever their scale, shape (d,)."""
    size = np.max(np.abs(values), axis=0)
    return size * np.sqrt(np.mean((values / np.where(size > 0, size, 1.0)) ** 2, axis=0))
