"""Conditional densities from the weights of JDL and CME, through a smoothing kernel."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from kcde.arrays import array_namespace, row_blocks, take_rows, to_numpy
from kcde.estimators._low_rank.base import LowRankConditional
from kcde.estimators._shared import checks
from kcde.estimators._shared.mixture import GaussianMixture, log_positive_shares, log_volume
from kcde.estimators.base import CommonOptions, Tags
from kcde.estimators.cme import CME
from kcde.estimators.jdl import JDL
from kcde.kernels import as_bandwidths, median_trick
from kcde.kernels.gaussian import log_gaussian_kernel
from kcde.seeding import rng_of
from kcde.selection import best_index, candidates, complement

BANDWIDTH_FACTORS = np.array([0.5, 1.0, 2.0, 4.0])
REGULARIZATIONS = np.geomspace(1e-8, 10.0, 10)
SMOOTHINGS = np.geomspace(0.05, 1.0, 10)


@dataclass(eq=False, repr=False)
class SmoothedWeights(CommonOptions, GaussianMixture):
    """p(y|x) = Σ_j w_j(x) N(y; y_j, h² I), the weights clipped at zero and divided by their sum.

    A subclass names the estimator of the weights, `weights_class`. Selection costs folds × 16 pairs
    of bandwidths × 10 λ products of held-out with support points, and one factorisation a bandwidth
    and fold.
    """

    tags = Tags(grouped=True)
    selection_rule = (
        "; negative weights are taken as 0; two bandwidths (½, 1, 2, 4 times the median "
        "distance/√2), λ (1e-8…10) and the width of the bumps (0.05…1) by 5-fold held-out "
        "likelihood"
    )

    bandwidth_x: float | Sequence[float] | None = None
    bandwidth_y: float | Sequence[float] | None = None
    regularization: float | None = None
    smoothing: float | Sequence[float] | None = None
    _: KW_ONLY
    tolerance: float = 1e-3
    max_rank: int | None = None
    folds: int = 5

    def _model(self, bandwidth_x, bandwidth_y, regularization=1.0) -> LowRankConditional:
        """Return an unfitted estimator of weights."""
        options = {"tolerance": self.tolerance, "max_rank": self.max_rank, "standardize": False}
        return self.weights_class(bandwidth_x, bandwidth_y, regularization, **options)

    def _fit(self, X, Y):
        checks.positive("regularization", self.regularization, optional=True)
        if self.smoothing is not None:
            as_bandwidths(self.smoothing, Y.shape[1], "smoothing")
        self.cv_results_ = {}
        chosen = self.bandwidth_x, self.bandwidth_y, self.regularization, self.smoothing
        if any(choice is None for choice in chosen):
            chosen = self._select(X, Y)
        self.bandwidth_x_ = as_bandwidths(chosen[0], X.shape[1], "bandwidth_x")
        self.bandwidth_y_ = as_bandwidths(chosen[1], Y.shape[1], "bandwidth_y")
        self.regularization_ = float(chosen[2])
        model = self._model(self.bandwidth_x_, self.bandwidth_y_, self.regularization_)
        self.weights_model_ = model.fit(X, Y)
        self._centres = self.weights_model_.support_
        self._sigma = self.smoothing_ = as_bandwidths(chosen[3], Y.shape[1], "smoothing")

    def _select(self, X, Y) -> tuple:
        """Return the candidate with the largest held-out log likelihood."""
        rng = rng_of("selection", self.random_state)
        of_x = _bandwidths(X, "X") if self.bandwidth_x is None else [self.bandwidth_x]
        of_y = _bandwidths(Y, "Y") if self.bandwidth_y is None else [self.bandwidth_y]
        path = candidates(self.regularization, REGULARIZATIONS)
        grids, score = (of_x, of_y, path, candidates(self.smoothing, SMOOTHINGS)), 0.0
        for held_out in self._kfold(np.arange(Y.shape[0]), self.folds, rng):
            rows = complement(held_out, Y.shape[0])
            train = take_rows(X, rows), take_rows(Y, rows)
            test = take_rows(X, held_out), take_rows(Y, held_out)
            score = score + self._held_out(train, test, *grids)
        names = "bandwidth_x", "bandwidth_y", "regularization", "smoothing"
        self.cv_results_ = dict(zip(names, grids, strict=True)) | {"score": score}
        return tuple(grid[i] for grid, i in zip(grids, best_index(score), strict=True))

    def _held_out(self, train, test, of_x, of_y, path, smoothings) -> np.ndarray:
        """Return Σ log p over the test pairs for each candidate, shape (I, J, L, H)."""
        bases_x = [self._model(sigma, 1.0).make_basis_x(train[0]) for sigma in of_x]
        bases_y = [self._model(1.0, sigma).make_basis_y(train[1]) for sigma in of_y]
        score = np.zeros((len(of_x), len(of_y), len(path), len(smoothings)))
        sigmas = [as_bandwidths(sigma, test[1].shape[1], "smoothing") for sigma in smoothings]
        for j, basis_y in enumerate(bases_y):
            fits = []
            for sigma, basis_x in zip(of_x, bases_x, strict=True):
                model = self._model(sigma, of_y[j])
                fits.append(model.fit_path(*train, path, model.summarise(*train, basis_x, basis_y)))
            support = fits[0][0].support_
            width = support.shape[0] * max(len(path), len(sigmas))
            for rows in row_blocks(test[0].shape[0], width, like=support):
                # N(y; s_j, diag σ²) for each σ, which depend on the basis of y alone.
                Y, xp = test[1][rows, :], array_namespace(support)
                logs = [log_gaussian_kernel(Y, support, h) - log_volume(h) for h in sigmas]
                bumps = xp.stack([xp.exp(each) for each in logs], axis=1)
                for i, fitted in enumerate(fits):
                    weights = fitted[0]._weights_of(fitted, fitted[0].features(test[0][rows, :]))
                    score[i, j, :, :] += _log_likelihoods(weights, bumps)
        return score

    def _log_weights(self, X):
        return log_positive_shares(self.weights_model_.weights(X), "raise the regularization")


def _bandwidths(points, name: str) -> list:
    """Return multiples of the median distance over √2."""
    if not points.shape[1]:
        return [1.0]
    return list(BANDWIDTH_FACTORS * median_trick(to_numpy(points), 0.5, name))


def _log_likelihoods(weights: list, bumps) -> np.ndarray:
    """Return Σ_i log Σ_j w_ij b_ij with the clipped weights w of each model and all bumps.

    Shape (len weights, len sigmas); not finite where a density underflows or no weight is positive.
    """
    xp = array_namespace(bumps)
    positive = xp.stack([xp.maximum(each, 0.0) for each in weights])
    sums = positive @ xp.ones(positive.shape[2], dtype=positive.dtype)
    density = xp.permute_dims(positive, (1, 0, 2)) @ xp.permute_dims(bumps, (0, 2, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return to_numpy(xp.sum(xp.log(density / sums.T[:, :, None]), axis=0))


class SmoothedJDL(SmoothedWeights):
    """Predict the density of y given x, of any shape, by smoothing the weights of `JDL`.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = Σ_j w_j(x) N(y; y_j, h² I) with the weights of `JDL` on the training rows of y.

    JDL itself estimates expectations: its distribution is on the rows and has no density.

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        Of `JDL`. None: chosen from {½, 1, 2, 4} × the median distance over √2.
    regularization
        λ of `JDL`. None: chosen from 10 log-spaced values.
    smoothing
        h, standard deviations in the units of y: a number, or one per dimension. None: one number,
        chosen from 10 log-spaced values between 0.05 and 1.
    tolerance, max_rank
        Tolerance and maximum rank of the pivoted Cholesky factors.
    folds
        Number of folds of the cross-validation by held-out log likelihood.
    random_state
        Seeds the shuffle of the folds.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    weights_model_
        The fitted `JDL`.
    bandwidth_x_, bandwidth_y_, regularization_, smoothing_
        Values used, given or chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import SmoothedJDL
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = SmoothedJDL(1.0, 1.0, regularization=1e-3, smoothing=0.3).fit(X, Y)
    >>> model.log_density(X[:2], Y[:2]).shape
    (2,)
    """

    selection_rule = (
        "the weights of JDL, with a Gaussian around each y" + SmoothedWeights.selection_rule
    )

    weights_class = JDL


class SmoothedCME(SmoothedWeights):
    """Predict the density of y given x, of any shape, by smoothing the weights of `CME`.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = Σ_j w_j(x) N(y; y_j, h² I) with the weights of `CME` on the pivots of y.

    CME itself estimates expectations: its weights are on the pivots and need not sum to one.

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        Of `CME`. None: chosen from {½, 1, 2, 4} × the median distance over √2.
    regularization
        λ of `CME`. None: chosen from 10 log-spaced values.
    smoothing
        h, standard deviations in the units of y: a number, or one per dimension. None: one number,
        chosen from 10 log-spaced values between 0.05 and 1.
    tolerance, max_rank
        Tolerance and maximum rank of the pivoted Cholesky factors.
    folds
        Number of folds of the cross-validation by held-out log likelihood.
    random_state
        Seeds the shuffle of the folds.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    weights_model_
        The fitted `CME`.
    bandwidth_x_, bandwidth_y_, regularization_, smoothing_
        Values used, given or chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import SmoothedCME
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = SmoothedCME(1.0, 1.0, regularization=1e-3, smoothing=0.3).fit(X, Y)
    >>> model.log_density(X[:2], Y[:2]).shape
    (2,)
    """

    selection_rule = (
        "the weights of CME, with a Gaussian around each pivot" + SmoothedWeights.selection_rule
    )

    weights_class = CME
