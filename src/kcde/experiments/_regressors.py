"""Conditional densities made of a regression and a distribution of its residuals, to compare with.

They are what one has without a conditional density estimator: they know the mean of y given x, and
take the residuals to be alike at every x.
"""

import numpy as np

from kcde.arrays import row_blocks
from kcde.estimators._shared.floored import weight_of_floor
from kcde.estimators._shared.location_scale import Normal, StudentT
from kcde.kernels import GaussianKernel
from kcde.normalisers import logsumexp
from kcde.seeding import rng_of
from kcde.selection import kfold, log_grid

BANDWIDTHS = log_grid(0.02, 1.0, 20)
"""Candidates of the residuals' bandwidth, in their standard deviations."""

_HELD_OUT_PARTS = 5
_MOST_RESIDUALS = 5000
_FOLDS = 5


class BoostedResiduals:
    """scikit-learn's HistGradientBoostingRegressor, and a kernel density of its residuals.

    Trees are fitted to four fifths of the rows, with early stopping by a tenth of these and
    otherwise scikit-learn's defaults but up to 2000 trees. The residuals are those of the last
    fifth, at most 5000 of them; their bandwidth is the one of 20 with the best 5-fold held-out
    likelihood. A share of a Student t with two degrees of freedom, as LikelihoodKCEF has it, bounds
    the loss of a row.

    Parameters
    ----------
    random_state
        Seeds the parts and the folds.

    Attributes
    ----------
    bandwidth_
        Of the residuals, in the units of y.
    """

    def __init__(self, random_state: int = 0):
        self.random_state = random_state

    def fit(self, X: np.ndarray, Y: np.ndarray) -> "BoostedResiduals":
        """Fit to pairs, shapes (n, d) and (n, 1)."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        rng = rng_of("boosting", self.random_state)
        order, count = rng.permutation(len(X)), len(X) // _HELD_OUT_PARTS
        held, rest = order[:count], order[count:]
        self._trees = HistGradientBoostingRegressor(
            max_iter=2000, early_stopping=True, random_state=self.random_state
        ).fit(X[rest], Y[rest, 0])
        self._residuals = self._residuals_of(X[held], Y[held])[:_MOST_RESIDUALS]
        self._floor = StudentT(0.0, float(self._residuals.std()), 2.0)
        self._weight = weight_of_floor(len(X))
        folds = kfold(len(self._residuals), _FOLDS, rng)
        candidates = BANDWIDTHS * self._residuals.std()
        scores = [self._held_out(folds, bandwidth) for bandwidth in candidates]
        self.bandwidth_ = float(candidates[int(np.argmax(scores))])
        return self

    def log_density(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return log p(y|x), nats, shape (n,)."""
        return self._mixed(self._residuals_of(X, Y), self._residuals, self.bandwidth_)

    def _residuals_of(self, X, Y) -> np.ndarray:
        return Y[:, 0] - self._trees.predict(X)

    def _held_out(self, folds, bandwidth: float) -> float:
        return sum(
            self._mixed(
                self._residuals[held], np.delete(self._residuals, held), float(bandwidth)
            ).sum()
            for held in folds
        )

    def _mixed(self, at: np.ndarray, centres: np.ndarray, bandwidth: float) -> np.ndarray:
        """Return the log density of residuals under a kernel density with the floor."""
        kernel, parts = GaussianKernel(bandwidth), []
        for rows in row_blocks(len(at), len(centres)):
            parts.append(logsumexp(kernel.log(at[rows, None], centres[:, None]), axis=1))
        constant = np.log(len(centres) * bandwidth * np.sqrt(2.0 * np.pi))
        inside = np.log1p(-self._weight) + np.concatenate(parts) - constant
        return np.logaddexp(inside, np.log(self._weight) + self._floor.log_density(at))


class LinearGaussian:
    """Ordinary least squares with a constant, and a normal distribution of the residuals.

    Attributes
    ----------
    coef_
        Constant and slopes, shape (1 + d,).
    std_
        Standard deviation of the residuals, maximum likelihood.
    """

    def __init__(self, random_state: int = 0):
        self.random_state = random_state

    def fit(self, X: np.ndarray, Y: np.ndarray) -> "LinearGaussian":
        """Fit to pairs, shapes (n, d) and (n, 1)."""
        design = self._design(X)
        self.coef_ = np.linalg.solve(design.T @ design, design.T @ Y[:, 0])
        self.std_ = float((Y[:, 0] - design @ self.coef_).std())
        return self

    def log_density(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return log p(y|x), nats, shape (n,)."""
        return Normal(0.0, self.std_).log_density(Y[:, 0] - self._design(X) @ self.coef_)

    @staticmethod
    def _design(X: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(X)), X])
