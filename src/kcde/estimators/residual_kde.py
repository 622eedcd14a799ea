"""Ridge regression with a kernel density estimate of its residuals."""

from collections.abc import Callable
from typing import ClassVar

from kcde.arrays import array_namespace
from kcde.estimators._shared.rows import by_blocks
from kcde.estimators.base import ConditionalDensity
from kcde.estimators.linear_gaussian import fit_ridge
from kcde.estimators.marginal_kde import TUNING_ROWS, MarginalKDE


class ResidualKDE(ConditionalDensity):
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

    selection_rule: ClassVar[str] = (
        "ridge regression and a Gaussian kernel density estimate of its leave-one-out residuals; λ "
        "(1e-6…1e4 in 41 steps) and the bandwidth (0.05…2 of their standard deviations in 33 "
        "steps) by leave-one-out likelihood"
    )

    def __init__(
        self,
        regularization=None,
        bandwidth_y=None,
        *,
        tuning_rows=TUNING_ROWS,
        random_state=0,
        standardize=True,
    ):
        self.regularization = regularization
        self.bandwidth_y = bandwidth_y
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.standardize = standardize

    def _fit(self, X, Y):
        self._ridge, residuals, _ = fit_ridge(X, Y, self.regularization)
        self.regularization_, self.coef_ = self._ridge.regularization, self._ridge.coef
        options = {"tuning_rows": self.tuning_rows, "random_state": self.random_state}
        kde = MarginalKDE(self.bandwidth_y, **options, standardize=False)
        self.residuals_ = kde.fit(None, array_namespace(X).asarray(residuals))
        self.bandwidth_y_ = self.residuals_.bandwidth_y_

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        X, Y = self._check_pair(X, Y)
        return self.residuals_.log_density(None, Y - self._ridge.predict(X))

    def log_density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        Y = self._check_outputs(Y)[None, :, :]

        def at(X):
            residuals = Y - self._ridge.predict(self._check_features(X))[:, None, :]
            flat = array_namespace(residuals).reshape(residuals, (-1, self.n_outputs_))
            found = self.residuals_.log_density(None, flat)
            return array_namespace(found).reshape(found, residuals.shape[:2])

        return at

    def mean(self, X):
        """Return E[Y|x] = m(x) + Σ_i e_i/n, shape (n, d_y), for X (n, d_x)."""
        X = self._check_features(X)
        return self._ridge.predict(X) + self.residuals_.mean(None)

    def conditional_expectation(self, f: Callable, X):
        """Return E[f(Y)|x], shape (n, q), by the rule of the base class around every m(x).

        Parameters
        ----------
        f
            Maps (k, d_y) to (k, q).
        X
            Shape (n, d_x).
        """
        X = self._check_features(X)
        xp = array_namespace(X)
        nodes, weights = (xp.asarray(part) for part in self.residuals_._expectation_nodes())
        weights = weights * self.residuals_.density_at(nodes)(None)[0, :]

        def of(rows):
            points = self._ridge.predict(X[rows, :])[:, None, :] + nodes[None, :, :]
            values = f(xp.reshape(points, (-1, self.n_outputs_)))
            values = xp.reshape(values, (*points.shape[:2], -1))
            return xp.sum(weights[None, :, None] * values, axis=1)

        return by_blocks(of, X.shape[0], nodes.shape[0], like=X)

    def sample(self, X, n: int, random_state):
        """Draw from p(y|x) exactly, shape (n, k, d_y): a residual, then a Gaussian."""
        X = self._check_features(X)
        residuals = self.residuals_.sample(X[:, :0], n, random_state)
        return self._ridge.predict(X)[:, None, :] + residuals

    def _cdf(self, X, y):
        return self.residuals_.cdf(None, y - self._ridge.predict(X)[:, 0])

    def _crps(self, X, y):
        return self.residuals_.crps(None, y - self._ridge.predict(X)[:, 0])

    def _quantile(self, X, p):
        return self._ridge.predict(X) + self.residuals_.quantile(None, p)
