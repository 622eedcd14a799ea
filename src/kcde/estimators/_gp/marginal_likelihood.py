"""scikit-learn's Gaussian process regression with a quicker marginal likelihood.

scikit-learn forms the derivatives of the kernel matrix, one matrix for each length, and multiplies
each with an inverse that it solves for. The derivatives of both kernels here are c_ij (a_i - a_j)²
for a column a of x, and a sum of weights m_ij times those is that of products of m with a and a².
"""

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern


class Regressor(GaussianProcessRegressor):
    """With a kernel s² k + τ² for the Gaussian k or that of Matérn of smoothness 3/2, and one y."""

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
        """Return what scikit-learn returns, to rounding (Rasmussen and Williams 2006, 5.8, 5.9).

        O(n³) time for any number of lengths, six matrices (n, n).
        """
        if not eval_gradient:
            return super().log_marginal_likelihood(theta, False, clone_kernel)
        kernel = self.kernel_.clone_with_theta(theta) if clone_kernel else self.kernel_
        kernel.theta = theta
        signal, shape, noise = kernel.k1.k1, kernel.k1.k2, kernel.k2
        X, y = self.X_train_ / shape.length_scale, self.y_train_
        K, C = _kernel_and_slope(X, isinstance(shape, Matern))
        s, t, n = signal.constant_value, noise.noise_level, len(y)
        A = s * K
        A.flat[:: n + 1] += t
        lower, info = lapack.dpotrf(A.T, lower=1, clean=1, overwrite_a=1)
        if info:
            return -np.inf, np.zeros_like(theta)
        half = lapack.dpotrs(lower, y, lower=1)[0]
        value = -0.5 * y @ half - np.log(lower.diagonal()).sum() - 0.5 * n * np.log(2.0 * np.pi)
        # Its lower triangle, zero above; by columns, as are A and C transposed.
        inverse, _ = lapack.dpotri(lower, lower=1, overwrite_c=1)
        trace = inverse.diagonal().sum()
        of_noise = 0.5 * t * (half @ half - trace)
        of_signal = 0.5 * (half @ y - n) - of_noise
        parts = [] if signal.hyperparameter_constant_value.fixed else [[of_signal]]
        if not shape.hyperparameter_length_scale.fixed:
            inverse *= C.T
            sums = inverse.sum(axis=0) + inverse.sum(axis=1)
            of_inverse = sums @ (X * X) - 2.0 * np.sum(X * (inverse @ X), axis=0)
            weighted = half[:, None] * X
            of_outputs = (half * (C @ half)) @ (X * X) - np.sum(weighted * (C @ weighted), axis=0)
            parts.append(s * (of_outputs - of_inverse))
        if not noise.hyperparameter_noise_level.fixed:
            parts.append([of_noise])
        return value, np.concatenate(parts)


def _kernel_and_slope(X: np.ndarray, matern: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return k of rows in units of their lengths, and c: ∂k/∂log ℓ_j = c (a - b)_j²."""
    squares = cdist(X, X, "sqeuclidean")
    if not matern:
        squares *= -0.5
        K = np.exp(squares, out=squares)
        return K, K
    r = np.sqrt(3.0 * squares)
    decay = np.exp(-r)
    return (1.0 + r) * decay, 3.0 * decay
