"""Ridge regression with the residuals of every row left out, in closed form."""

from collections.abc import Callable
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
    residual_std
        Root of the mean square of what is left of each y_i by the fit to all other rows, (d_y,).
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
    """Fit, and choose λ among `REGULARIZATIONS` if it is None.

    The residual of row i left out is e_i/(1 - h_ii) with the residual e_i and the leverage h_ii of
    all rows (Hastie, Tibshirani and Friedman 2009, equation 7.64). Where these have the variance s²
    the mean log density of N(m_{-i}(x_i), s²) at y_i is largest at the mean of their squares, and
    there -½ log 2πe s²: the λ with the smallest s is that with the largest leave-one-out
    likelihood. One eigendecomposition for all λ, of the smaller of XᵀX and XXᵀ: with
    r = min(n, d_x), r² max(n, d_x) + r³ time, and 41 n r d_y for the λ.

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
    numpy.ndarray
        What is left of each y_i by the fit to all other rows, shape (n, d_y).
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
    path = _path(x - centre_x, y - centre_y)
    candidates = REGULARIZATIONS if regularization is None else np.array([regularization])
    stds = np.stack([_root_mean_square(path.left_out(each)) for each in candidates])
    if np.any(stds == 0):
        raise ValueError(
            "y is a linear function of x on the training rows, so that there is no density of what "
            "is left of it; add rows, or leave out the x that determines y"
        )
    score = -len(x) * np.sum(np.log(stds) + 0.5 * np.log(2.0 * np.pi) + 0.5, axis=1)
    (best,) = best_index(score)
    chosen = float(candidates[best])
    ridge = Ridge(
        *(xp.asarray(part) for part in (centre_x, centre_y, path.coef(chosen))),
        chosen,
        as_bandwidths(stds[best], y.shape[1], "the standard deviation of the residuals"),
    )
    return ridge, path.left_out(chosen), {"regularization": candidates, "score": score}


@dataclass(frozen=True)
class _Path:
    """The regressions with all λ, from one factorisation of the centred x.

    Attributes
    ----------
    values
        Eigenvalues of XᵀX/n and of XXᵀ/n, shape (r,).
    rotated, shares
        x in the directions of their eigenvectors, shape (n, r), and the squares of that over n.
    y
        Centred, shape (n, d_y).
    moments
        `rotated`ᵀ y/n, shape (r, d_y).
    coef_of
        Maps 1/(`values` + λ), shape (r, 1), to b, shape (d_x, d_y).
    """

    values: np.ndarray
    rotated: np.ndarray
    shares: np.ndarray
    y: np.ndarray
    moments: np.ndarray
    coef_of: Callable[[np.ndarray], np.ndarray]

    def coef(self, regularization: float) -> np.ndarray:
        """Return b, shape (d_x, d_y)."""
        return self.coef_of(1.0 / (self.values + regularization)[:, None])

    def left_out(self, regularization: float) -> np.ndarray:
        """Return e_i/(1 - h_ii), (n, d_y); NaN where a row alone determines a coefficient."""
        inverse = 1.0 / (self.values + regularization)
        kept = 1.0 - 1.0 / len(self.y) - self.shares @ inverse
        residuals = self.y - self.rotated @ (self.moments * inverse[:, None])
        return residuals / np.where(kept > _LEAST, kept, np.nan)[:, None]


def _path(x: np.ndarray, y: np.ndarray) -> _Path:
    """Return the path of centred x (n, d) and y, by eigenvectors of XᵀX, or of XXᵀ where d > n.

    With XXᵀ/n = U W Uᵀ, x in the directions of the eigenvectors of XᵀX is U (nW)^½, and
    b = Xᵀ U (W + λ)⁻¹ Uᵀ y/n (Hastie, Tibshirani and Friedman 2009, section 18.3.5).
    """
    n, d = x.shape
    if d > n:
        values, vectors = symmetric_spectrum(x @ x.T / n)
        rotated = vectors * np.sqrt(n * values)
        of_rows = vectors.T @ y / n

        def coef_of(inverse):
            return x.T @ (vectors @ (of_rows * inverse))
    else:
        values, vectors = symmetric_spectrum(x.T @ x / n) if d else (np.zeros(0), np.zeros((0, 0)))
        rotated = x @ vectors

        def coef_of(inverse):
            return vectors @ (moments * inverse)

    moments = rotated.T @ y / n
    return _Path(values, rotated, rotated**2 / n, y, moments, coef_of)


def _root_mean_square(values: np.ndarray) -> np.ndarray:
    """Return it for each column, whatever their scale, shape (d,)."""
    size = np.max(np.abs(values), axis=0)
    return size * np.sqrt(np.mean((values / np.where(size > 0, size, 1.0)) ** 2, axis=0))
