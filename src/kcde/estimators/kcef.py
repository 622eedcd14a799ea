"""Kernel conditional exponential family (kcef: Arbel and Gretton, AISTATS 2018)."""

from math import log, pi
from typing import ClassVar

import numpy as np

from kcde.arrays import array_namespace, row_blocks, to_numpy
from kcde.estimators import _kcef_selection as rules
from kcde.estimators._score_matching import score_system, solve
from kcde.estimators.base import ConditionalDensity
from kcde.kernels import GaussianKernel, as_bandwidths
from kcde.normalisers import GaussianProposal, Normaliser, importance_sampling, quadrature
from kcde.sampling import hmc
from kcde.seeding import rng_of
from kcde.selection import kfold, subsample

_IMPORTANCE_SAMPLES = 10_000


class KCEF(ConditionalDensity):
    """p(y|x) = q_0(y) exp(T(x, y)) / Z(x), fitted by conditional score matching.

    T is the minimiser of the empirical score plus λ/2 ‖T‖² in the vector-valued RKHS of
    k_X(x, x′) k(y, y′), both Gaussian (kcef, Theorem 1):
    T(x, y) = -ξ̂(x, y)/λ + Σ_{b,i} β_{b,i} k_X(X_b, x) ∂_i k(Y_b, y), (G + nλ I) β = h/λ.

    Fitting costs O(n³d³) time and O(n²d²) memory (d = d_y); selection by score one
    eigendecomposition per bandwidth for all λ and folds.

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        Standard deviations of the Gaussian kernels, in the units of x and y: a number, or one per
        dimension. None: chosen by `selection`.
    regularization
        λ. None: chosen by `selection`.
    base_std
        Standard deviation of the Gaussian base density q_0, centred at 0, in the units of y.
    selection
        "score": one σ for x and y and λ on a 20 × 20 grid, by the score on held-out folds, as
        published. "likelihood": σ_x, σ_y and λ by held-out log likelihood on a coarse and then a
        finer grid, for d_y = 1.
    folds
        Of the cross-validation.
    tuning_rows
        At most so many rows take part in the selection; None: all. The final fit uses all.
    random_state
        Names the shuffle of the folds.

    Attributes
    ----------
    coef_
        β, shape (n, d_y).
    bandwidth_x_, bandwidth_y_, regularization_
        What was used, given or chosen.
    jitter_
        Added to the diagonal of the system beyond nλ; 0.0 as a rule.
    cv_results_
        Candidates and their cross-validated scores; empty where nothing was chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.estimators import KCEF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = KCEF(bandwidth_x=1.0, bandwidth_y=1.0, regularization=1e-3).fit(X, Y)
    >>> model.log_density(X[:5], Y[:5]).shape
    (5,)
    """

    _grids: ClassVar[dict] = {"score": rules.SCORE_GRIDS, "likelihood": rules.LIKELIHOOD_GRIDS}

    def __init__(
        self,
        bandwidth_x=None,
        bandwidth_y=None,
        regularization=None,
        base_std=2.0,
        *,
        selection="score",
        folds=5,
        tuning_rows=None,
        random_state=0,
    ):
        self.bandwidth_x = bandwidth_x
        self.bandwidth_y = bandwidth_y
        self.regularization = regularization
        self.base_std = base_std
        self.selection = selection
        self.folds = folds
        self.tuning_rows = tuning_rows
        self.random_state = random_state

    def _fit(self, X, Y):
        if not self.base_std > 0:
            raise ValueError(f"base_std must be positive; got {self.base_std}")
        if self.regularization is not None and not self.regularization > 0:
            raise ValueError(f"regularization must be positive; got {self.regularization}")
        self.X_, self.Y_ = X, Y
        self._choose(X, Y)
        kernel_x, kernel_y = self._kernels()
        system = score_system(kernel_x(X, X), kernel_y.jet(Y, Y), self._base_gradient(Y))
        xp = array_namespace(Y)
        solution = solve(system, self.regularization_)
        self.coef_, self.jitter_ = xp.reshape(solution.x, Y.shape), solution.jitter
        # c = β - ∂log q_0/(nλ) carries the whole first-order part of T.
        self._c = self.coef_ - self._base_gradient(Y) / (Y.shape[0] * self.regularization_)

    def _choose(self, X, Y):
        given = rules.Hyperparameters(self.bandwidth_x, self.bandwidth_y, self.regularization)
        for name, value, columns in zip(
            given._fields, given, (X.shape[1], Y.shape[1]), strict=False
        ):
            if value is not None:
                as_bandwidths(value, columns, name)
        self.cv_results_ = {}
        if not given.complete:
            rng = rng_of("selection", self.random_state)
            rows = subsample(Y.shape[0], self.tuning_rows, rng)
            folds = kfold(len(rows), self.folds, rng)
            given, self.cv_results_ = self._selector()(
                X, Y, rows, folds, given, self.base_std, self._grids[self.selection]
            )
        self.bandwidth_x_ = as_bandwidths(given.bandwidth_x, X.shape[1], "bandwidth_x")
        self.bandwidth_y_ = as_bandwidths(given.bandwidth_y, Y.shape[1], "bandwidth_y")
        self.regularization_ = float(given.regularization)

    def _selector(self):
        if self.selection not in rules.RULES:
            raise ValueError(
                f"selection must be one of {sorted(rules.RULES)}; got {self.selection!r}"
            )
        return rules.RULES[self.selection]

    def log_unnormalized(self, X, Y):
        """Return log q_0(y) + T(x, y), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        X, Y = self._check_pair(X, Y)
        xp = array_namespace(Y)
        kernel_x, _ = self._kernels()
        parts = [
            xp.sum(kernel_x(self.X_, X[rows, :]) * self._potential(Y[rows, :]), axis=0)
            for rows in self._blocks(Y.shape[0])
        ]
        return xp.concat(parts) + self._log_base(Y)

    def log_unnormalized_at(self, Y):
        """Return a function X (n, d_x) -> log q_0(Y) + T(X, Y), shape (n, q), at shared Y (q, d_y).

        n_train q kernel derivatives once; then one product (n, n_train) (n_train, q) for each X.
        """
        xp = array_namespace(Y)
        potential = xp.concat(
            [self._potential(Y[rows, :]) for rows in self._blocks(Y.shape[0])], axis=1
        )
        kernel_x, _ = self._kernels()
        log_base = self._log_base(Y)
        return lambda X: kernel_x(X, self.X_) @ potential + log_base[None, :]

    def log_normaliser(
        self, X, *, method=None, n_samples=_IMPORTANCE_SAMPLES, rng=None
    ) -> Normaliser:
        """Return log Z(x) with its error.

        Parameters
        ----------
        X
            Shape (n, d_x).
        method
            "importance": proposal samples shared over x, from a Gaussian with the mean and twice
            the standard deviation of the training y. "quadrature": exact, for d_y = 1. None:
            quadrature where d_y = 1, importance sampling otherwise.
        n_samples
            Importance samples.
        rng
            Their source; None: a fixed seed.

        Returns
        -------
        kcde.normalisers.Normaliser

        Raises
        ------
        ValueError
            If the method is not known, or quadrature is asked for d_y > 1.
        """
        X = self._check_features(X)
        method = method or ("quadrature" if self.n_outputs_ == 1 else "importance")
        if method == "importance":
            rng = rng_of("importance", self.random_state) if rng is None else rng
            proposal = self._proposal()
            return importance_sampling(self.log_unnormalized_at, X, proposal, n_samples, rng)
        if method != "quadrature" or self.n_outputs_ != 1:
            raise ValueError(
                "method must be 'importance', or 'quadrature' where y is one-dimensional; "
                f"got {method!r} for d_y = {self.n_outputs_}"
            )
        support = self._kernel_support()
        outside = rules.base_mass_outside(*support[:2], self.base_std)
        return quadrature(self.log_unnormalized_at, X, support, outside=outside)

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,); Z as `log_normaliser` computes it by default."""
        X, Y = self._check_pair(X, Y)
        return self.log_unnormalized(X, Y) - self.log_normaliser(X).log_z

    def log_density_at(self, Y):
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        at = self.log_unnormalized_at(Y)
        return lambda X: at(X) - self.log_normaliser(X).log_z[:, None]

    def score_matching_loss(self, X, Y) -> float:
        """Return the mean of Σ_i ½(∂_i T)² + ∂_i² T + ∂_i T ∂_i log q_0 (kcef, section 2.2)."""
        X, Y = self._check_pair(X, Y)
        xp = array_namespace(Y)
        total = 0.0
        for rows in self._blocks(Y.shape[0]):
            first, second = self._derivatives(X[rows, :], Y[rows, :])
            r = self._base_gradient(Y[rows, :])
            total += float(xp.sum(0.5 * first**2 + first * r) + xp.sum(second))
        return total / Y.shape[0]

    def log_unnormalized_gradient(self, X, Y):
        """Return ∂_y [log q_0(y) + T(x, y)], shape (n, d_y), for X (n, d_x), Y (n, d_y)."""
        X, Y = self._check_pair(X, Y)
        xp = array_namespace(Y)
        blocks = self._blocks(Y.shape[0])
        parts = [self._derivatives(X[rows, :], Y[rows, :])[0] for rows in blocks]
        return xp.concat(parts) + self._base_gradient(Y)

    def _kernels(self):
        return GaussianKernel(self.bandwidth_x_), GaussianKernel(self.bandwidth_y_)

    def _potential(self, Y):
        """Return F (n_train, q) such that T(x, Y_q) = Σ_b k_X(X_b, x) F_bq."""
        xp = array_namespace(Y)
        jet = self._kernels()[1].jet(self.Y_, Y)
        smooth = -jet.laplacian / (self.Y_.shape[0] * self.regularization_)
        return smooth + xp.sum(self._c[:, None, :] * jet.first, axis=2)

    def _derivatives(self, X, Y):
        """Return ∂_j T (n, d_y) and Σ_j ∂_j² T (n,) at the pairs."""
        xp = array_namespace(Y)
        kernel_x, kernel_y = self._kernels()
        n_lambda = self.Y_.shape[0] * self.regularization_
        K, jet, c = kernel_x(self.X_, X), kernel_y.jet(self.Y_, Y), self._c
        bend = xp.sum(c[:, None, :, None] * jet.second, axis=2)
        first = xp.sum(K[:, :, None] * (jet.laplacian_gradient / n_lambda - bend), axis=0)
        pull = xp.sum(c[:, None, :] * jet.laplacian_gradient, axis=2)
        second = xp.sum(K * (pull - jet.bilaplacian / n_lambda), axis=0)
        return first, second

    def _blocks(self, n: int) -> list[slice]:
        return row_blocks(n, self.Y_.shape[0] * self.n_outputs_)

    def _log_base(self, Y):
        xp = array_namespace(Y)
        constant = Y.shape[1] * (log(self.base_std) + 0.5 * log(2 * pi))
        return -0.5 * xp.sum(Y * Y, axis=1) / self.base_std**2 - constant

    def _base_gradient(self, Y):
        return -Y / self.base_std**2

    def _proposal(self) -> GaussianProposal:
        Y = to_numpy(self.Y_)
        return GaussianProposal(Y.mean(axis=0), 2.0 * Y.std(axis=0))

    def _kernel_support(self):
        return rules.support(to_numpy(self.Y_), float(self.bandwidth_y_[0]), self.base_std)

    def _support(self):
        lower, upper, width = self._kernel_support()
        tail = 8.0 * self.base_std
        return min(lower, -tail), max(upper, tail), width

    def _sample_multivariate(self, X, n_samples, rng):
        """Hamiltonian Monte Carlo, one chain a draw, started at draws from the proposal."""
        xp = array_namespace(X)
        repeated = xp.repeat(X, n_samples, axis=0)

        def log_density(states):
            return to_numpy(self.log_unnormalized(repeated, xp.asarray(states)))

        def gradient(states):
            return to_numpy(self.log_unnormalized_gradient(repeated, xp.asarray(states)))

        start = self._proposal().sample(repeated.shape[0], rng)
        states = hmc(log_density, gradient, start, rng).states
        return np.reshape(states, (X.shape[0], n_samples, self.n_outputs_))
