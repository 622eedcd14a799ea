"""Baselines: normal, kernel and neighbourhood densities, whose fits take seconds."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from math import log

import numpy as np
from scipy.optimize import minimize

from kcde.arrays import array_namespace, logsumexp, row_blocks, take_rows, to_numpy
from kcde.estimators._shared import checks
from kcde.estimators._shared.mixture import GaussianMixture, log_volume
from kcde.estimators._shared.pushforward import NormalResiduals
from kcde.estimators._shared.rows import by_blocks, column_std, root_mean_square, sum_over
from kcde.estimators._shared.tabulated import COARSE
from kcde.estimators.base import CommonOptions, ConditionalDensity, Tags, WeightedRows
from kcde.kernels import as_bandwidths
from kcde.kernels.gaussian import log_gaussian_kernel
from kcde.linalg import symmetric_spectrum
from kcde.memory import require_memory
from kcde.seeding import rng_of
from kcde.selection import best_index, complement, subsample


@dataclass(eq=False, repr=False)
class LinearGaussian(WeightedRows, NormalResiduals):
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

    selection_rule = (
        "ridge regression with normal residuals; λ (1e-6…1e4 in 41 steps) and the variance by "
        "leave-one-out likelihood, in closed form"
    )

    regularization: float | None = None
    _: KW_ONLY
    standardize: bool = True

    def _fit(self, X, Y):
        self._ridge, _, self.cv_results_ = fit_ridge(X, Y, self.regularization, self._row_weights)
        self.regularization_, self.coef_ = self._ridge.regularization, self._ridge.coef
        self.residual_std_ = self._ridge.residual_std

    def _line(self, X):
        return self._ridge.predict(X), array_namespace(X).asarray(self.residual_std_)[None, :]


REGULARIZATIONS = np.geomspace(1e-6, 1e4, 41)
_LEAST = 1e-8  # 1 - h_ii: below it the residual of a row left out is rounding


@dataclass(frozen=True)
class Ridge:
    """m(x) = ȳ + (x - x̄)ᵀb with b = argmin Σ_i w_i |y_i - m(x_i)|²/n + λ|b|².

    x̄ and ȳ are means with the weights w_i of the rows, which are 1 or have the mean 1.
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


def fit_ridge(
    X, Y, regularization: float | None, weights: np.ndarray
) -> tuple[Ridge, np.ndarray, dict]:
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
    weights = weights[:, None]
    centre_x, centre_y = (weights * x).mean(axis=0), (weights * y).mean(axis=0)
    path = _Path(x - centre_x, y - centre_y, weights)
    candidates = REGULARIZATIONS if regularization is None else np.array([regularization])
    stds = np.stack([root_mean_square(path.left_out(each)) for each in candidates])
    if np.any(stds == 0):
        raise ValueError("y is a linear function of x: leave out the x that determines y")
    score = -len(x) * np.sum(np.log(stds) + 0.5 * np.log(2.0 * np.pi) + 0.5, axis=1)
    (best,) = best_index(score)
    chosen = float(candidates[best])
    parts = (xp.asarray(part) for part in (centre_x, centre_y, path.coef(chosen)))
    std = as_bandwidths(stds[best], y.shape[1], "the standard deviation of the residuals")
    scores = {"regularization": candidates, "score": score}
    return Ridge(*parts, chosen, std), path.left_out(chosen) / np.sqrt(weights), scores


class _Path:
    """The regressions of centred x (n, d) and y for all λ, by eigenvectors of XᵀX, or of XXᵀ.

    Of weighted rows x, y and what is left of it are here times the root of their weight.
    The latter where d > n: with XXᵀ/n = U W Uᵀ, x in the directions of the eigenvectors of XᵀX is
    U (nW)^½, and b = Xᵀ U (W + λ)⁻¹ Uᵀ y/n (Hastie, Tibshirani and Friedman 2009, section 18.3.5).
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray):
        root, self._shares_of_rows = np.sqrt(weights), weights[:, 0] / len(weights)
        (n, d), x, y = x.shape, root * x, root * y
        self._y = y
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
        kept = 1.0 - self._shares_of_rows - self._shares @ inverse
        residuals = self._y - self._rotated @ (self._moments * inverse[:, None])
        return residuals / np.where(kept > _LEAST, kept, np.nan)[:, None]


TUNING_ROWS = 1000


@dataclass(eq=False, repr=False)
class MarginalKDE(CommonOptions, WeightedRows, GaussianMixture):
    """Predict the density of y regardless of x: a baseline that says what x is worth.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = p(y) = (1/n) Σ_i N(y; y_i, diag h²) (Silverman 1986, section 3.4.4).

    x may have any columns; they are not used. h has the largest leave-one-out likelihood of 33
    multiples of the standard deviation of y: O(33 n t d_y) time for t tuning rows.

    Parameters
    ----------
    bandwidth_y
        h, standard deviations in the units of y: a number, or one per dimension. None: the standard
        deviation of each column times one number, chosen from 33 log-spaced ones, 0.05 to 2.
    tuning_rows
        Maximum number of rows left out in turn, each from all others; None: 1000.
    random_state
        Seeds the choice of these rows.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    bandwidth_y_
        Value used, given or chosen, shape (d_y,).
    cv_results_
        Leave-one-out log likelihood, `score`, for each multiple of the standard deviation,
        `factor`.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import MarginalKDE
    >>> Y = np.random.default_rng(0).normal(size=200)
    >>> model = MarginalKDE().fit(None, Y)
    >>> model.cdf(None, np.array([0.0])).round(1)
    array([0.5])
    """

    selection_rule = (
        "a Gaussian kernel density estimate of y without x; bandwidth 0.05…2 standard deviations "
        "in 33 steps, leave-one-out likelihood"
    )

    tags = Tags(grouped=True)

    bandwidth_y: float | Sequence[float] | None = None
    _: KW_ONLY
    tuning_rows: int | None = TUNING_ROWS

    def _fit(self, X, Y):
        most = TUNING_ROWS if self.tuning_rows is None else self.tuning_rows
        checks.whole("tuning_rows", most)
        self.cv_results_ = {}
        if self.bandwidth_y is not None:
            self.bandwidth_y_ = as_bandwidths(self.bandwidth_y, Y.shape[1], "bandwidth_y")
        else:
            self._choose(to_numpy(Y), most)
        self._centres, self._sigma = Y, self.bandwidth_y_
        self._log_row_weights = np.log(self._row_weights)

    def _choose(self, Y: np.ndarray, most: int) -> None:
        """Choose h among `FACTORS` × standard deviations by leave-one-out likelihood.

        Σ_i w_i log Σ_{j≠i} w_j N(y_i; y_j, diag h²) / Σ_{j≠i} w_j, over all i or `most` random
        ones; j runs over all rows, or those of another group than i, and w are the weights of rows,
        1 where none are given (Silverman 1986, section 3.4.4). 33 t n
        exponentials for t of n rows. Where every value is there twice the likelihood grows without
        a bound as h falls; the smallest candidate is then chosen.
        """
        n, scale = len(Y), column_std(Y)
        left_out = subsample(n, most, rng_of("selection", self.random_state))
        labels, weights = self._row_labels, self._row_weights
        candidates = [as_bandwidths(c * scale, len(scale), "bandwidth_y") for c in FACTORS]
        unit, scores = Y / scale, np.zeros(len(FACTORS))
        for block in row_blocks(len(left_out), n):
            rows = left_out[block]
            exponent = log_gaussian_kernel(unit[rows], unit, np.ones(len(scale)))
            exponent[labels[rows, None] == labels] = -np.inf
            for k, factor in enumerate(FACTORS):
                found = logsumexp(exponent / factor**2 + np.log(weights), axis=1)
                scores[k] += np.sum(weights[rows] * found)
        own = weights[left_out]
        others = np.mean(own * np.log(n - np.bincount(labels, weights)[labels[left_out]]))
        others = others / own.mean()
        scores -= own.sum() * np.array([log_volume(h) + others for h in candidates])
        self.bandwidth_y_ = candidates[best_index(scores)[0]]
        self.cv_results_ = {"factor": FACTORS, "score": scores}

    def _log_weights(self, X):
        xp, n = array_namespace(X), self._centres.shape[0]
        return xp.full((X.shape[0], n), -log(n), dtype=X.dtype) + xp.asarray(self._log_row_weights)

    def _quantile(self, X, p):
        # The same at every x: one search.
        return array_namespace(X).tile(super()._quantile(X[:1, :], p), (X.shape[0], 1))


FACTORS = np.geomspace(0.05, 2.0, 33)
"""Candidates, in standard deviations."""


@dataclass(eq=False, repr=False)
class ResidualKDE(CommonOptions, WeightedRows, ConditionalDensity):
    """Predict the density of y given x, linear but for residuals of any one shape: a baseline.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = (1/n) Σ_i N(y; m(x) + e_i, diag h²): m of `LinearGaussian`, e_i left-out residuals.

    e_i is what is left of y_i by the regression on all other rows, so that p is not narrower than
    what a new row meets. h has the largest leave-one-out likelihood among 33 multiples of the
    standard deviation of the e_i (Silverman 1986, section 3.4.4). Cost: that of
    `LinearGaussian`, and O(33 n t) for t tuning rows.

    Parameters
    ----------
    regularization
        λ of the regression, in squared units of x. None: as in `LinearGaussian`.
    bandwidth_y
        h, standard deviations in the units of y: a number, or one per dimension. None: as in
        `MarginalKDE`, from 0.05 to 2 standard deviations of the residuals.
    tuning_rows
        Maximum number of residuals left out in turn; None: 1000.
    random_state
        Seeds the choice of these.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    regularization_, bandwidth_y_
        Values used, given or chosen.
    coef_
        Slopes of the regression, shape (d_x, d_y).
    residuals_
        The fitted `MarginalKDE` of the residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import ResidualKDE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> Y = 2.0 * X + rng.exponential(size=(200, 1))
    >>> model = ResidualKDE().fit(X, Y)
    >>> model.mean(np.array([[1.0]])).round()
    array([[3.]])
    """

    selection_rule = (
        "ridge regression and a Gaussian kernel density estimate of its leave-one-out residuals; λ "
        "(1e-6…1e4 in 41 steps) and the bandwidth (0.05…2 of their standard deviations in 33 "
        "steps) by leave-one-out likelihood"
    )

    regularization: float | None = None
    bandwidth_y: float | Sequence[float] | None = None
    _: KW_ONLY
    tuning_rows: int | None = TUNING_ROWS

    def _fit(self, X, Y):
        self._ridge, residuals, _ = fit_ridge(X, Y, self.regularization, self._row_weights)
        self.regularization_, self.coef_ = self._ridge.regularization, self._ridge.coef
        options = {"tuning_rows": self.tuning_rows, "random_state": self.random_state}
        kde = MarginalKDE(self.bandwidth_y, **options, standardize=False)
        residuals = array_namespace(X).asarray(residuals)
        self.residuals_ = kde.fit(None, residuals, sample_weight=self._weights)
        self.bandwidth_y_ = self.residuals_.bandwidth_y_

    def _log_density(self, X, Y):
        return self.residuals_.log_density(None, Y - self._ridge.predict(X))

    def _log_density_at(self, Y):
        def at(X):
            residuals = Y - self._ridge.predict(X)[:, None, :]
            flat = array_namespace(residuals).reshape(residuals, (-1, self.n_outputs_))
            found = self.residuals_.log_density(None, flat)
            return array_namespace(found).reshape(found, residuals.shape[:2])

        return at

    def mean(self, X):
        """Return E[Y|x] = m(x) + Σ_i e_i/n, shape (n, d_y), for X (n, d_x)."""
        return self._ridge.predict(X) + self.residuals_.mean(None)

    def _expectation(self, f, X):
        """By the rule of the base class around every m(x)."""
        xp = array_namespace(X)
        nodes, weights = (xp.asarray(part) for part in self.residuals_._expectation_nodes())
        weights = weights * self.residuals_.density_at(nodes)(None)[0, :]

        def of(rows):
            points = self._ridge.predict(X[rows, :])[:, None, :] + nodes[None, :, :]
            return sum_over(f, points, weights)

        return by_blocks(of, X.shape[0], nodes.shape[0], like=X)

    def _draws(self, X, n, rng):
        """A residual, then a Gaussian."""
        return self._ridge.predict(X)[:, None, :] + self.residuals_.sample(X[:, :0], n, rng)

    def _cdf(self, X, y):
        return self.residuals_.cdf(None, y - self._ridge.predict(X)[:, 0])

    def _cdf_at(self, X, y):
        at = to_numpy(y - self._ridge.predict(X))
        table = self.residuals_._tabulate_cdf(self.residuals_._no_x, COARSE)
        return array_namespace(X).asarray(table.cdf(at.reshape(1, -1)).reshape(at.shape))

    def _crps(self, X, y):
        return self.residuals_.crps(None, y - self._ridge.predict(X)[:, 0])

    def _quantile(self, X, p):
        return self._ridge.predict(X) + self.residuals_.quantile(None, p)


RADII = np.array([0.2, 0.4, 0.8, 1.6])
BANDWIDTHS = np.geomspace(0.05, 1.0, 10)


@dataclass(eq=False, repr=False)
class EpsilonKDE(CommonOptions, GaussianMixture):
    """Predict the density of y given x from the rows near x: a baseline for few columns of x.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = (1/|I(x)|) Σ_{i in I(x)} N(y; y_i, diag h²), I(x) = {i: |x_i - x|/√d_x ≤ ε}.

    Where fewer than `min_neighbours` rows are that near, the nearest `min_neighbours` are
    taken. Nothing is solved: O(n n_test d_x) time.

    Parameters
    ----------
    radius
        ε, in the units of x, per square root of its dimension. None: chosen from {0.2, 0.4, 0.8,
        1.6}.
    bandwidth_y
        h, standard deviations in the units of y: a number, or one per dimension. None: one number,
        chosen from 10 log-spaced values.
    min_neighbours
        Minimum number of rows of a neighbourhood.
    folds
        Number of folds of the cross-validation by held-out log likelihood.
    random_state
        Seeds the shuffle of the folds.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    radius_, bandwidth_y_
        Values used, given or chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import EpsilonKDE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = EpsilonKDE(radius=0.4, bandwidth_y=0.3).fit(X, Y)
    >>> model.mean(np.array([[1.0]])).round(1)
    array([[0.9]])
    """

    selection_rule = (
        "ε in {0.2, 0.4, 0.8, 1.6} with at least 5 neighbours, bandwidth 0.05…1 in 10 steps, "
        "5-fold held-out likelihood"
    )

    tags = Tags(grouped=True)

    radius: float | None = None
    bandwidth_y: float | Sequence[float] | None = None
    _: KW_ONLY
    min_neighbours: int = 5
    folds: int = 5

    def _fit(self, X, Y):
        n, few = Y.shape[0], self.min_neighbours
        checks.positive("radius", self.radius, optional=True)
        if not 1 <= few <= n:
            raise ValueError(f"min_neighbours must be between 1 and the {n} rows; got {few}")
        self.X_ = X
        self.radius_, self.cv_results_ = self.radius, {}
        if self.bandwidth_y is not None:
            self.bandwidth_y_ = as_bandwidths(self.bandwidth_y, Y.shape[1], "bandwidth_y")
        if self.radius is None or self.bandwidth_y is None:
            self._select(X, Y)
        self._centres, self._sigma = Y, self.bandwidth_y_

    def _select(self, X, Y):
        n = Y.shape[0]
        folds = self._kfold(np.arange(n), self.folds, rng_of("selection", self.random_state))
        fewest = n - max(len(held_out) for held_out in folds)
        if fewest < self.min_neighbours:
            raise ValueError(f"folds leave {fewest} rows, fewer than min_neighbours")
        radii = RADII if self.radius is None else np.array([self.radius])
        candidates = BANDWIDTHS if self.bandwidth_y is None else [self.bandwidth_y]
        bandwidths = [as_bandwidths(h, Y.shape[1], "bandwidth_y") for h in candidates]
        score = np.zeros((len(radii), len(bandwidths)))
        for held_out in folds:
            rows = complement(held_out, n)
            distance = _scaled_distance(take_rows(X, held_out), take_rows(X, rows))
            Y_out, Y_in = take_rows(Y, held_out), take_rows(Y, rows)
            log_kernels = [log_gaussian_kernel(Y_out, Y_in, h) - log_volume(h) for h in bandwidths]
            for i, radius in enumerate(radii):
                log_weights = _log_membership(distance, float(radius), self.min_neighbours)
                for j, log_kernel in enumerate(log_kernels):
                    score[i, j] += np.sum(to_numpy(logsumexp(log_weights + log_kernel, axis=1)))
        i, j = best_index(score)
        self.radius_, self.bandwidth_y_ = float(radii[i]), bandwidths[j]
        self.cv_results_ = {"radius": radii, "bandwidth_y": np.array(bandwidths), "score": score}

    def _log_weights(self, X):
        return _log_membership(_scaled_distance(X, self.X_), self.radius_, self.min_neighbours)


def _scaled_distance(A, B):
    """Return |a - b|/√d, shape (len A, len B); 0 where there are no columns."""
    xp = array_namespace(A, B)
    width = B.shape[0] * (2 * A.shape[1] + 4)
    require_memory(A, f"distances between {B.shape[0]} rows and x", A.shape[0], lambda n: n * width)
    difference = A[:, None, :] - B[None, :, :]
    return xp.sqrt(xp.sum(difference * difference, axis=2) / max(1, A.shape[1]))


def _log_membership(distance, radius: float, min_neighbours: int):
    """Return log 1/|I| in the neighbourhood and -inf outside it, of the shape of `distance`."""
    xp = array_namespace(distance)
    reach = xp.sort(distance, axis=1)[:, min_neighbours - 1]
    inside = distance <= xp.maximum(reach, xp.asarray(radius, dtype=distance.dtype))[:, None]
    count = xp.sum(xp.astype(inside, distance.dtype), axis=1)
    log_share = xp.broadcast_to(-xp.log(count)[:, None], distance.shape)
    return xp.where(inside, log_share, xp.full_like(distance, -xp.inf))


STARTS = (0.5, 1.0, 2.0)
"""Multiples of the normal reference rule at which the search starts, for x and y alike."""

SMOOTHED = 3.0
"""One more start: bandwidths of x in standard deviations, at which x says little."""

BOUNDS_X, BOUNDS_Y = (1e-2, 1e2), (1e-2, 2.0)
"""In standard deviations; at the upper bound of x a column is smoothed out."""


_FIRST_ITERATIONS, _ITERATIONS = 15, 200


@dataclass(eq=False, repr=False)
class KernelCDE(CommonOptions, WeightedRows, GaussianMixture):
    """Predict the density of y given x, of any shape, where some x matter less than others.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = Σ_i K_x(x - x_i) N(y; y_i, diag h_y²) / Σ_i K_x(x - x_i), K_x a Gaussian product.

    The estimator of Hall, Racine and Li (JASA 2004) with a Gaussian kernel for every column. Its
    bandwidths, one a column of x and of y, have the largest leave-one-out likelihood,
    Σ_i log p_{-i}(y_i|x_i), so that a column of x that says nothing about y gets a bandwidth far
    beyond its spread and is smoothed out. (They minimise an integrated squared error; likelihood is
    the other rule of their package np.) L-BFGS in the logarithms of the bandwidths, with the
    gradient in closed form, from four starts: ½, 1 and 2 times the normal reference rule, 1.06 s
    n^(-1/(4 + d_x + d_y)) for standard deviations s, and three s for x with the rule for y. The
    best after 15 steps is taken to the end. Bandwidths of y are at least 0.01 s: where values of y
    are tied, the likelihood grows without a bound as they fall.

    A step costs O(t² (d_x + d_y)) time and memory for t tuning rows: 0.01 s for 300 rows of six
    columns. A density costs O(n (d_x + d_y)).

    Where many columns all matter, few rows are near, and a test row can get a density near 0.

    Parameters
    ----------
    bandwidth_x
        One standard deviation a column of x, or a number, in its units. None: chosen.
    bandwidth_y
        The same for y. None: chosen.
    tuning_rows
        Maximum number of training rows that choose bandwidths, random ones; None: 1000.
    random_state
        Seeds the draw of these rows.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    bandwidth_x_, bandwidth_y_
        Values used, given or chosen, shapes (d_x,) and (d_y,).
    cv_results_
        Leave-one-out log likelihood of the tuning rows at the end of the search, `score`, from each
        start; the `bandwidth` there of all columns, those of x first; whether it `converged`, which
        is asked of the best alone.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import KernelCDE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> Y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=200)
    >>> model = KernelCDE().fit(X, Y)
    >>> bool(model.bandwidth_x_[1] > 10 * model.bandwidth_x_[0])
    True
    """

    selection_rule = (
        "a Gaussian product kernel; the bandwidths of every column of x and of y by leave-one-out "
        "likelihood on at most 1000 training rows, L-BFGS from four starts"
    )

    tags = Tags(grouped=True)

    bandwidth_x: float | Sequence[float] | None = None
    bandwidth_y: float | Sequence[float] | None = None
    _: KW_ONLY
    tuning_rows: int | None = TUNING_ROWS

    def _fit(self, X, Y):
        most = TUNING_ROWS if self.tuning_rows is None else self.tuning_rows
        checks.whole("tuning_rows", most, 2)
        given = [
            None if getattr(self, name) is None else as_bandwidths(getattr(self, name), size, name)
            for name, size in (("bandwidth_x", X.shape[1]), ("bandwidth_y", Y.shape[1]))
        ]
        self.cv_results_ = {}
        if any(value is None for value in given):
            given = self._choose(to_numpy(X), to_numpy(Y), given, most)
        self.bandwidth_x_, self.bandwidth_y_ = given
        self.X_, self._log_row_weights = X, np.log(self._row_weights)
        self._centres, self._sigma = Y, self.bandwidth_y_

    def _choose(self, X: np.ndarray, Y: np.ndarray, given: list, most: int) -> list:
        """Complete the bandwidths of x and of y that are None."""
        std_x, std_y = column_std(X), column_std(Y)
        std_x = np.where(std_x > 0, std_x, 1.0)
        rows = subsample(len(X), most, rng_of("selection", self.random_state))
        # Before anything is divided by them.
        for name, std in (("x", std_x), ("y", std_y)):
            as_bandwidths(std, len(std), f"the standard deviation of {name}")
        about = self._row_labels[rows], self._row_weights[rows]
        criterion = LeaveOneOut(X[rows] / std_x, Y[rows] / std_y, *about)
        std, sizes = np.concatenate([std_x, std_y]), (X.shape[1], Y.shape[1])
        parts = zip(given, sizes, strict=True)
        fixed = np.concatenate([np.full(n, np.nan) if h is None else h for h, n in parts]) / std
        free, ends = np.isnan(fixed), np.repeat([BOUNDS_X, BOUNDS_Y], sizes, axis=0)
        bounds = np.where(free[:, None], ends, fixed[:, None])
        rule = 1.06 * len(rows) ** (-1.0 / (4 + sum(sizes)))
        starts = [(factor * rule, factor * rule) for factor in STARTS] + [(SMOOTHED, rule)]
        starts = [np.where(free, np.clip(np.repeat(at, sizes), *ends.T), fixed) for at in starts]
        found = [criterion.maximise(start, bounds, _FIRST_ITERATIONS) for start in starts]
        first = best_index(np.array([score for _, score, _ in found]))[0]
        found[first] = criterion.maximise(found[first][0], bounds, _ITERATIONS)
        bandwidth, score, converged = (np.array(each) for each in zip(*found, strict=True))
        bandwidth = bandwidth * std
        score = score - len(rows) * np.sum(np.log(std_y))
        self.cv_results_ = {"score": score, "bandwidth": bandwidth, "converged": converged}
        best = np.split(bandwidth[best_index(score)[0]], [X.shape[1]])
        named = zip(best, sizes, ("bandwidth_x", "bandwidth_y"), strict=True)
        return [as_bandwidths(*each) for each in named]

    def _log_weights(self, X):
        xp, n = array_namespace(X), self.X_.shape[0]
        width = n * (2 * X.shape[1] + 3)
        require_memory(X, f"kernels of {n} rows at x", X.shape[0], lambda rows: rows * width)
        log_kernel = log_gaussian_kernel(X, self.X_, self.bandwidth_x_)
        log_kernel = log_kernel + array_namespace(X).asarray(self._log_row_weights)
        # Far from all rows every kernel underflows; their ratios do not.
        log_kernel = log_kernel - xp.max(log_kernel, axis=1, keepdims=True)
        return log_kernel - logsumexp(log_kernel, axis=1)[:, None]


_GAIN = 1e-7  # of the mean log density, at which the search stops


class LeaveOneOut:
    """L(h) = Σ_i log Σ_{j≠i} K_x K_y - log Σ_{j≠i} K_x - Σ log √2π h_y, of rows of unit scale.

    Rows i and j count with their weights.
    With D_kij = (z_ik - z_jk)² over all columns z of x and y, and the shares P_ij ∝ K_x K_y and
    Q_ij ∝ K_x of row j at row i, ∂L/∂log h_k = Σ_ij (P_ij - Q_ij) D_kij / h_k² for a column of x,
    and Σ_ij P_ij D_kij / h_k² - n for one of y. Rows j ≠ i are of another label than i.
    """

    def __init__(self, X: np.ndarray, Y: np.ndarray, labels: np.ndarray, weights: np.ndarray):
        width = X.shape[1] + Y.shape[1] + 6
        remedy = "let fewer rows take part in it (tuning_rows), or give all bandwidths"
        require_memory(X, "a likelihood", len(X), lambda n: n * n * width, remedy=remedy)
        self.n, self.inputs = len(X), X.shape[1]
        columns = np.concatenate([X, Y], axis=1).T
        self._squares = ((columns[:, :, None] - columns[:, None, :]) ** 2).reshape(len(columns), -1)
        if not np.ptp(labels):
            raise ValueError("the rows that choose are of one group: raise tuning_rows")
        self._weights = weights / weights.mean()
        self._logs = np.log(self._weights)
        self._added = np.where(labels[:, None] == labels, -np.inf, self._logs).ravel()

    def __call__(self, log_bandwidth: np.ndarray) -> tuple[float, np.ndarray]:
        """Return L and its gradient, at log bandwidths of shape (d_x + d_y,), those of x first."""
        inverse = np.exp(-2.0 * log_bandwidth)
        of_x, of_y = slice(None, self.inputs), slice(self.inputs, None)
        exponent_x = -0.5 * (inverse[of_x] @ self._squares[of_x])
        exponent = exponent_x - 0.5 * (inverse[of_y] @ self._squares[of_y])
        log_x, share_x = self._shares(exponent_x)
        log_xy, share_xy = self._shares(exponent)
        constant = np.sum(log_bandwidth[of_y]) + 0.5 * np.log(2.0 * np.pi) * len(inverse[of_y])
        slope = inverse * (self._squares @ share_xy)
        slope[of_x] -= inverse[of_x] * (self._squares[of_x] @ share_x)
        slope[of_y] -= self.n
        return log_xy - log_x - self.n * constant, slope

    def _shares(self, exponent: np.ndarray) -> tuple[float, np.ndarray]:
        """Return Σ_i log Σ_{j≠i} exp, and the shares of the terms in their sums, flat."""
        exponent += self._added
        terms = exponent.reshape(self.n, self.n)
        total = logsumexp(terms, axis=1)
        shares = np.exp(terms - (total - self._logs)[:, None])
        return float(np.sum(self._weights * total)), shares.ravel()

    def maximise(self, begin: np.ndarray, bounds: np.ndarray, iterations: int) -> tuple:
        """Search for the largest L from bandwidths (d,) on, within bounds (d, 2), by L-BFGS.

        Returns the bandwidths of x, then y, at the end, L there, and whether it converged.
        """

        def loss(log_bandwidth):
            value, slope = self(log_bandwidth)
            return -value / self.n, -slope / self.n

        how = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": iterations, "ftol": _GAIN}}
        done = minimize(loss, np.log(begin), bounds=np.log(bounds), **how)
        return np.exp(done.x), -self.n * float(done.fun), bool(done.success)
