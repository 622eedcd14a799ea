"""Exact Gaussian process regression (Rasmussen and Williams, 2006, chapters 2 and 5)."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from kcde.arrays import add_to_diagonal, array_namespace, slices, solve_triangular, to_numpy
from kcde.estimators._shared import checks, marginal_likelihood
from kcde.estimators._shared.pushforward import NormalResiduals
from kcde.estimators.base import CommonOptions
from kcde.kernels import GaussianKernel, MaternKernel, as_bandwidths
from kcde.linalg import factor_positive_definite
from kcde.memory import require_memory
from kcde.seeding import rng_of
from kcde.selection import tuning_rows

TUNING_ROWS = 2000

KERNELS = {"gaussian": GaussianKernel, "matern": MaternKernel}

_ROWS = 256
"""Points predicted at once: enough for a triangular solve to be limited by arithmetic."""


@dataclass(eq=False, repr=False)
class GaussianProcess(CommonOptions, NormalResiduals):
    """Predict a normal density of y given x with a smooth mean, for up to a few thousand rows.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = N(m(x), v(x)): y = f(x) + τε, f Gaussian with kernel s² k, k(x, x) = 1.

    m(x) = ȳ + s²k(x)ᵀ(s²K + τ²I)⁻¹(Y - ȳ), v(x) = s² + τ² - s⁴k(x)ᵀ(s²K + τ²I)⁻¹k(x), where k(x)
    has k(x, x_i) for the training rows and K is their kernel matrix. With d_y > 1 each column of y
    has a function of its own, independent of the others.

    Rows with the same x are put together without any approximation: their mean has the noise
    τ²/n_i. For m distinct x the fit costs m³/3 multiplications and 8 m² bytes once, a mean m and
    a variance m² multiplications; where the columns of y differ in hyper-parameters, each of them
    costs that.

    The density is one normal: two humps of y, or a skew, are lost.

    Parameters
    ----------
    bandwidth_x
        σ, in the units of x: a number, or one per dimension. None: by marginal likelihood.
    signal_std
        s, in the units of y: a number, or one per column. None: by marginal likelihood.
    noise_std
        τ, likewise.
    kernel
        k: "gaussian", exp(-Σ_i d_i²/2σ_i²), or "matern", of smoothness 3/2, (1 + √3 r) exp(-√3 r)
        with r² = Σ_i d_i²/σ_i².
    tuning_rows
        Maximum number of rows used in the marginal likelihood, random ones or of a grid of x
        contiguous blocks (`kcde.selection.tuning_rows`); None: 2000.
    random_state
        Seeds the draw of these rows.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    bandwidth_x_, signal_std_, noise_std_
        Values used for each column of y: shapes (d_y, d_x), (d_y,), (d_y,).
    offset_
        ȳ, the mean of the training y, shape (d_y,).
    n_distinct_
        m.
    jitter_
        Added to the prior variances for the factorisation, shape (d_y,).

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import GaussianProcess
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = GaussianProcess(bandwidth_x=1.0, signal_std=1.0, noise_std=0.3).fit(X, Y)
    >>> model.mean(np.array([[1.0]])).round(1)
    array([[0.9]])
    >>> model.log_density(X[:2], Y[:2]).shape
    (2,)
    """

    selection_rule = (
        "a bandwidth a column of x, amplitude and noise by the marginal likelihood of at most "
        "2000 training rows"
    )

    bandwidth_x: float | Sequence[float] | None = None
    signal_std: float | Sequence[float] | None = None
    noise_std: float | Sequence[float] | None = None
    _: KW_ONLY
    kernel: str = "gaussian"
    tuning_rows: int | None = TUNING_ROWS

    def _fit(self, X, Y):
        xp = array_namespace(Y)
        checks.choice("kernel", self.kernel, KERNELS)
        checks.whole("tuning_rows", self.tuning_rows, 2, optional=True)
        # On the host: the distinct x, how many rows each has, and their mean y.
        inputs, member = np.unique(to_numpy(X), axis=0, return_inverse=True)
        values = to_numpy(Y)
        counts = np.bincount(member).astype(np.float64)
        sums = np.stack([np.bincount(member, weights=column) for column in values.T], axis=1)
        inputs, counts, means = map(xp.asarray, (inputs, counts, sums / counts[:, None]))
        self.n_distinct_ = inputs.shape[0]
        self.offset_ = xp.mean(Y, axis=0)
        chosen = self._choose(X, Y, TUNING_ROWS if self.tuning_rows is None else self.tuning_rows)
        columns = map(np.array, zip(*chosen, strict=True))
        self.bandwidth_x_, self.signal_std_, self.noise_std_ = columns
        self._condition(inputs, counts, means - self.offset_)

    def _choose(self, X, Y, rows: int) -> list[marginal_likelihood.Hyperparameters]:
        """Complete what is given for each column by marginal likelihood on at most so many rows."""
        d_x, d_y, bandwidth = self.n_features_in_, self.n_outputs_, self.bandwidth_x
        if bandwidth is not None or not d_x:
            bandwidth = as_bandwidths(1.0 if bandwidth is None else bandwidth, d_x, "bandwidth_x")
        stds = [
            [None] * d_y if value is None else as_bandwidths(value, d_y, name).tolist()
            for name, value in (("signal_std", self.signal_std), ("noise_std", self.noise_std))
        ]
        pairs = zip(*stds, strict=True)
        given = [marginal_likelihood.Hyperparameters(bandwidth, *pair) for pair in pairs]
        if all(value is not None for column in given for value in column):
            return given
        X, Y = to_numpy(X), to_numpy(Y - self.offset_)
        drawn = tuning_rows(X, rows, rng_of("tuning rows", self.random_state))
        columns = zip(Y[drawn].T, given, strict=True)
        return [marginal_likelihood.maximise(X[drawn], y, own, self.kernel) for y, own in columns]

    def _condition(self, inputs, counts, targets):
        """Factorise once for all columns of y that share their hyper-parameters."""
        every = np.column_stack([self.bandwidth_x_, self.signal_std_, self.noise_std_])
        distinct, self._member = np.unique(every, axis=0, return_inverse=True)
        kernel, given = KERNELS[self.kernel], (inputs, counts, targets)
        self._posteriors = [
            Posterior(kernel(row[:-2]), *row[-2:].tolist(), *given) for row in distinct
        ]
        self.jitter_ = np.array([each.jitter for each in self._posteriors])[self._member]

    def mean(self, X):
        """Return E[Y|x], shape (n, d_y), for X (n, d_x)."""
        means = [posterior.mean(X) for posterior in self._posteriors]
        places = enumerate(self._member)
        return array_namespace(X).stack([means[i][:, c] for c, i in places], axis=1) + self.offset_

    def variance(self, X):
        """Return the variance of each column of y with its noise, shape (n, d_y)."""
        variances = [posterior.variance(X) for posterior in self._posteriors]
        return array_namespace(X).stack([variances[i] for i in self._member], axis=1)

    def _line(self, X):
        return self.mean(X), array_namespace(X).sqrt(self.variance(X))


class Posterior:
    """Posterior of functions with one prior s² k and noise τ², given group means.

    A mean of n_i rows at one x has noise τ²/n_i and contains all information of the rows on the
    function, so that m distinct inputs cost m³/3 however many rows there are. One m x m matrix is
    formed, and factorised where it stands.

    The inputs are distinct x, shape (m, d_x), counts how many rows each has, and targets the group
    means without the offset, shape (m, c) for c functions. `jitter` was added to the prior variance
    for the factorisation, in the units of y².
    """

    def __init__(self, kernel, signal_std: float, noise_std: float, inputs, counts, targets):
        self._kernel, self._inputs = kernel, inputs
        self._signal, self._noise = signal_std**2, noise_std**2
        size = self._inputs.shape[0]
        require_memory(self._inputs, "a Gaussian process with distinct x", size, lambda m: m * m)
        matrix = self._kernel(self._inputs, self._inputs)
        matrix = add_to_diagonal(matrix, (self._noise / self._signal) / counts)
        factor = factor_positive_definite(matrix, overwrite=True)
        self._lower, self._coef = factor.lower, factor.solve(targets)
        self.jitter = self._signal * factor.jitter

    def mean(self, X):
        """Return E[f(x)], shape (n, c), for X (n, d_x); O(n m (d_x + c)) time."""
        return self._over_blocks(X, lambda cross: cross.T @ self._coef)

    def variance(self, X):
        """Return Var[y|x] with the noise, shape (n,), for X (n, d_x); O(n m²) time."""
        return self._over_blocks(X, self._variance)

    def _variance(self, cross):
        xp = array_namespace(cross)
        half = solve_triangular(self._lower, cross)
        # Rounding must not make the variance smaller than the noise.
        left = xp.maximum(1.0 - xp.sum(half * half, axis=0), 0.0)
        return self._signal * left + self._noise

    def _over_blocks(self, X, function):
        blocks = (X[rows, :] for rows in slices(X.shape[0], _ROWS))
        parts = [function(self._kernel(self._inputs, block)) for block in blocks]
        return array_namespace(X).concat(parts)
