"""ε-neighbourhood kernel density estimation (the baseline of Sugiyama et al. 2010 and dde)."""

from typing import ClassVar

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._shared import checks
from kcde.estimators._shared.mixture import GaussianMixture, log_volume
from kcde.estimators.base import Tags
from kcde.kernels import as_bandwidths
from kcde.kernels.gaussian import log_gaussian_kernel
from kcde.memory import require_memory
from kcde.normalisers import logsumexp
from kcde.seeding import rng_of
from kcde.selection import best_index, complement, log_grid

RADII = np.array([0.2, 0.4, 0.8, 1.6])
BANDWIDTHS = log_grid(0.05, 1.0, 10)


class EpsilonKDE(GaussianMixture):
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

    selection_rule: ClassVar[str] = (
        "ε in {0.2, 0.4, 0.8, 1.6} with at least 5 neighbours, bandwidth 0.05…1 in 10 steps, "
        "5-fold held-out likelihood"
    )

    tags: ClassVar[Tags] = Tags(grouped=True)

    def __init__(
        self,
        radius=None,
        bandwidth_y=None,
        *,
        min_neighbours=5,
        folds=5,
        random_state=0,
        standardize=True,
    ):
        self.radius = radius
        self.bandwidth_y = bandwidth_y
        self.min_neighbours = min_neighbours
        self.folds = folds
        self.random_state = random_state
        self.standardize = standardize

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
        rng = rng_of("selection", self.random_state)
        folds = self._kfold(np.arange(n), self.folds, rng)
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
