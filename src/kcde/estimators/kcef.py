"""Kernel conditional exponential family (kcef: Arbel and Gretton, AISTATS 2018)."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from math import log, pi
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, row_blocks, slices, take_rows, to_numpy
from kcde.estimators._kcef import natural_parameter as natural
from kcde.estimators._kcef import selection as rules
from kcde.estimators._kcef.score_matching import solve
from kcde.estimators._shared import checks
from kcde.estimators._shared.exponential_family import ExponentialFamily
from kcde.estimators._shared.floored import Normal
from kcde.estimators.base import CommonOptions, Tags
from kcde.kernels import as_bandwidths
from kcde.normalisers import GaussianProposal
from kcde.panels import is_wide, neighbourhoods
from kcde.sampling import convergence, hmc
from kcde.seeding import rng_of
from kcde.selection import contiguous_folds, subsample

_TABLE_NODES = 20  # a bandwidth: T is interpolated to about 1e-7 of its size
_FINE, _FINE_OF_BUMP, _FINEST = 25, 12, 2000  # of a width: in between, draws are uniform
_TAIL_POINTS, _TAIL_ROWS, _NEGLIGIBLE = 200, 200, 30.0  # rows of x; nats below the highest
_FEW_TIMES, _ROWS_OF_BUMPS = 4, 16  # beyond, nodes are finer only where there are bumps
_NEGLIGIBLE_SHARE = 40.0  # nats
_LEAST_LOG_BASE = -700.0  # nats at a median y, up to constants: exp of less leaves float64
_FEWEST_DRAWS = 4  # a chain, for R-hat of split chains


class HMCResult(NamedTuple):
    """Result of `KCEF.sample_hmc`.

    Attributes
    ----------
    draws
        Numpy array, shape (n, n_samples, d_y).
    acceptance
        Mean acceptance probability after the burn-in; NaN where nothing was drawn.
    divergences
        Transitions after the burn-in that diverged, over all chains.
    transitions
        Transitions after the burn-in, over all chains.
    r_hat
        The largest over rows and dimensions; NaN where a row has one chain, or few draws.
    effective_sample_size
        The smallest over rows and dimensions, of a row's `n_samples`; NaN likewise.
    """

    draws: np.ndarray
    acceptance: float
    divergences: int
    transitions: int
    r_hat: float
    effective_sample_size: float


@dataclass(eq=False, repr=False)
class KCEF(CommonOptions, ExponentialFamily):
    """Predict the density of y given x, of any shape, by score matching, for up to 2000 rows.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = q_0(y) exp(T(x, y)) / Z(x), fitted by conditional score matching.

    T is the minimiser of the empirical score plus λ/2 ‖T‖² in the vector-valued RKHS of
    k_X(x, x′) k(y, y′), both Gaussian (kcef, Theorem 1):
    T(x, y) = -ξ̂(x, y)/λ + Σ_{b,i} β_{b,i} k_X(X_b, x) ∂_i k(Y_b, y), (G + nλ I) β = h/λ.

    Fitting costs O(n³d³) time and 8 n²d² bytes (d = d_y); selection by score one eigendecomposition
    per bandwidth for all λ and folds. What does not fit into memory is refused with
    `kcde.memory.InsufficientMemory`, which names the largest n that does.

    Where rows are few, a single test row can cost 100 nats; `Defensive` bounds that.

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        Standard deviations of the Gaussian kernels, in the units of x and y: a number, or one per
        dimension. None: chosen by `selection`.
    regularization
        λ. None: chosen by `selection`.
    base_std
        Standard deviation of the Gaussian base density q_0, centred at 0, in the units of y. T is
        no match for a q_0 that has no mass where y is: where it is below exp(-700) at half of the
        training y, they are refused; `standardize` brings them to it.
    selection
        "score": one σ for x and y and λ on a 20 × 20 grid, by the score on held-out folds, as
        published for the R data. "early-stopping": a σ per dimension and λ on that score, by
        L-BFGS-B within a box and with tolerances that stop it early, as the authors' code does for
        joint densities; with `isotropic`, `penalty=0.1` and `folds=10` exactly as there; for
        d_y = 1. "gradient": the same to convergence, within wider bounds and without a penalty, for
        d_y = 1. "likelihood": σ_x, σ_y and λ by held-out log likelihood on a coarse and then a
        finer grid, for d_y = 1. "shared-likelihood": one σ for x and y and λ on the grid of "score"
        by held-out log likelihood, for d_y = 1.
    folds
        Number of folds of the cross-validation. They are shuffled, but for "early-stopping", where
        they are runs of neighbouring rows.
    tuning_rows
        Maximum number of rows used in the selection; None: all. The final fit uses all.
    random_state
        Seeds the shuffle of the folds.
    isotropic
        Whether selections "early-stopping" and "gradient" give all x one bandwidth.
    penalty
        Selection "early-stopping" adds penalty × Σ θ² to the score, θ = (1/2σ_x², 1/2σ_y², λ).
    repeats
        Shuffles of the folds over which selection "likelihood" averages.
    selection_floor
        ε: selection "likelihood" is by the held-out likelihood of (1 - ε) p + ε q_0, as
        `Defensive` asks for; the density itself stays p. A held-out p counts as 0 where
        quadrature with nodes a hundredth of a bandwidth apart does not resolve it.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    coef_
        β, shape (n, d_y).
    bandwidth_x_, bandwidth_y_, regularization_
        Values used, given or chosen.
    jitter_
        Added to the diagonal of the system beyond nλ; 0.0 as a rule.
    cv_results_
        Candidates and their cross-validated scores; empty where nothing was chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import KCEF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = KCEF(bandwidth_x=1.0, bandwidth_y=1.0, regularization=1e-3).fit(X, Y)
    >>> model.log_density(X[:5], Y[:5]).shape
    (5,)
    """

    selection_rule = (
        "one bandwidth for x and y and λ on a 20 × 20 grid (σ 0.2…8, λ 1e-5…1), 5-fold "
        "cross-validated conditional score"
    )

    tags = Tags(grouped=True)

    _score_grids = rules.SCORE_GRIDS

    bandwidth_x: float | Sequence[float] | None = None
    bandwidth_y: float | Sequence[float] | None = None
    regularization: float | None = None
    base_std: float = 2.0
    _: KW_ONLY
    selection: str = "score"
    folds: int = 5
    tuning_rows: int | None = None
    isotropic: bool = False
    penalty: float = 0.0
    repeats: int = 1
    selection_floor: float = 0.0

    def _fit(self, X, Y):
        checks.positive("base_std", self.base_std)
        checks.positive("regularization", self.regularization, optional=True)
        checks.whole("repeats", self.repeats)
        if not 0 <= self.selection_floor < 1:
            raise ValueError(f"selection_floor must lie in [0, 1); got {self.selection_floor!r}")
        if not self.penalty >= 0:
            raise ValueError(f"penalty must not be negative; got {self.penalty}")
        typical = float(np.median(np.sum((to_numpy(Y) / self.base_std) ** 2, axis=1)))
        if -0.5 * typical < _LEAST_LOG_BASE:
            raise ValueError(
                f"half of Y is {typical**0.5:.3g} or more base_std from 0, where the base density "
                "is 0: bring it to unit scale, with standardize=True"
            )
        self.X_, self.Y_ = X, Y
        self._choose(X, Y)
        self._solve(X, Y)

    def _solve(self, X, Y):
        bandwidths, r = (self.bandwidth_x_, self.bandwidth_y_), self._base_gradient(Y)
        self.coef_, c, self.jitter_ = solve(X, Y, r, *bandwidths, self.regularization_)
        smooth = 1.0 / (Y.shape[0] * self.regularization_)
        self._T = natural.NaturalParameter(X, Y, c, smooth, *bandwidths)
        if Y.shape[1] == 1 and self.bandwidth_y_[0] > rules.widest(to_numpy(Y), self.base_std):
            self._check_tails(X)

    def _check_tails(self, X) -> None:
        """Raise `FloatingPointError` if the density rises beyond the range it is integrated over.

        There a kernel that is wider than q_0 may still lift T.
        """
        lower, upper, _ = self._kernel_support()
        beyond = np.geomspace(1.0, 1.0 + 8.0 * float(self.bandwidth_y_[0]), _TAIL_POINTS)
        inside = np.linspace(lower, upper, _TAIL_POINTS)
        xp, some = array_namespace(X), X[: min(_TAIL_ROWS, X.shape[0]), :]
        at = [
            self.log_unnormalized_at(xp.asarray(points[:, None]))(some)
            for points in (inside, np.concatenate([lower - beyond, upper + beyond]))
        ]
        highest, outside = (xp.max(values, axis=1) for values in at)
        if bool(xp.any(outside > highest - _NEGLIGIBLE)):
            far = f"beyond {lower:.3g} and {upper:.3g}, far from the data"
            raise FloatingPointError(f"the density has mass {far}: give a smaller bandwidth_y")

    def _choose(self, X, Y):
        given = self._given()
        for value, part, name in zip(given, (X, Y), given._fields, strict=False):
            if value is not None:
                as_bandwidths(value, part.shape[1], name)
        self.cv_results_ = {}
        if not given.complete:
            rows, folds = self._rows_and_folds(Y, self.folds)
            some = take_rows(X, rows), take_rows(Y, rows)
            given, self.cv_results_ = self._select(*some, folds, given)
        self.bandwidth_x_ = as_bandwidths(given.bandwidth_x, X.shape[1], "bandwidth_x")
        self.bandwidth_y_ = as_bandwidths(given.bandwidth_y, Y.shape[1], "bandwidth_y")
        self.regularization_ = float(given.regularization)

    def _rows_and_folds(self, Y, folds: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the rows that take part in a selection, and the folds of these, repeated."""
        rng = rng_of("selection", self.random_state)
        rows = subsample(Y.shape[0], self._most_rows(Y), rng)
        if self.selection == rules.EARLY_STOPPING:
            if self._labels is not None:
                raise ValueError(f"selection={self.selection!r} cannot keep groups together")
            return rows, contiguous_folds(len(rows), folds)
        repeats = self.repeats if self.selection == "likelihood" else 1
        return rows, [held for _ in range(repeats) for held in self._kfold(rows, folds, rng)]

    def _given(self) -> rules.Hyperparameters:
        """Return the given hyper-parameters; None is chosen."""
        return rules.Hyperparameters(self.bandwidth_x, self.bandwidth_y, self.regularization)

    def _most_rows(self, Y) -> int | None:
        """Return how many rows may take part in the selection."""
        return self.tuning_rows

    def _select(self, X, Y, folds: list[np.ndarray], given: rules.Hyperparameters) -> tuple:
        """Complete what is given by the rule; return that and `cv_results_`."""
        checks.choice("selection", self.selection, rules.RULES)
        if self.selection != "score" and Y.shape[1] != 1:
            raise ValueError(f"selection {self.selection!r} needs one y; got {Y.shape[1]}")
        return rules.RULES[self.selection](self, X, Y, folds, given)

    def score_matching_loss(self, X, Y) -> float:
        """Return the mean of Σ_i ½(∂_i T)² + ∂_i² T + ∂_i T ∂_i log q_0 (kcef, section 2.2)."""
        return self._T.score(X, Y, self._base_gradient(Y)) / Y.shape[0]

    def log_unnormalized_gradient(self, X, Y):
        """Return ∂_y [log q_0(y) + T(x, y)], shape (n, d_y), for X (n, d_x), Y (n, d_y)."""
        return self._T.value_and_gradient(X, Y)[1] + self._base_gradient(Y)

    def _log_base(self, Y):
        constant = Y.shape[1] * (log(self.base_std) + 0.5 * log(2 * pi))
        return -0.5 * array_namespace(Y).sum(Y * Y, axis=1) / self.base_std**2 - constant

    def _base_gradient(self, Y):
        return -Y / self.base_std**2

    def _proposal(self) -> GaussianProposal:
        Y = to_numpy(self.Y_)
        return GaussianProposal(Y.mean(axis=0), 2.0 * Y.std(axis=0))

    def _kernel_support(self):
        return rules.support(to_numpy(self.Y_), float(self.bandwidth_y_[0]), self.base_std)

    def _kernel_pieces(self):
        widest = rules.widest(to_numpy(self.Y_), self.base_std)
        reach = 8.0 * min(float(self.bandwidth_y_[0]), widest)
        return neighbourhoods(self.Y_, reach, self._kernel_support()[2])

    def _base_mass_outside(self, lower, upper):
        return Normal(0.0, self.base_std).outside(lower, upper)

    def _base_ends(self):
        return -8.0 * self.base_std, 8.0 * self.base_std, self.base_std

    def _sample_multivariate(self, X, n, rng):
        return self.sample_hmc(X, n, rng).draws

    def sample_hmc(
        self, X, n_samples: int, rng, *, chains=20, burn_in=100, thin=10, **how
    ) -> HMCResult:
        """Draw from p(y|x) by Hamiltonian Monte Carlo, as published (kcef, section 4).

        Chains start at training y, and run where these are. For d_y = 1 T(x, ·) is tabulated with
        its analytic derivative and interpolated, so that a transition does not depend on the number
        of training points.

        Parameters
        ----------
        X
            Shape (n, d_x), or None for an unconditional model.
        n_samples
            Draws for each row.
        rng
            Source of the draws.
        chains
            For each row, but no more than draws.
        burn_in, thin
            Transitions before the first draw is made, and for each draw.
        how
            Of `kcde.sampling.hmc`: `leapfrog_steps` of a transition, and `windows`, whether the
            burn-in adapts one step size and a diagonal metric of all chains; for a single row of X.

        Returns
        -------
        HMCResult

        Raises
        ------
        ValueError
            If `windows` is wanted for several rows of X.
        """
        if how.get("windows") and X.shape[0] > 1:
            raise ValueError(f"windows adapts one metric, to one row of X; got {X.shape[0]} rows")
        if not n_samples:
            draws = np.empty((X.shape[0], 0, self.n_outputs_))
            return HMCResult(draws, np.nan, 0, 0, np.nan, np.nan)
        chains = min(chains, n_samples)
        kept = -(-n_samples // chains)
        rows = np.repeat(np.arange(X.shape[0]), chains)
        start = take_rows(self.Y_, rng.integers(self.Y_.shape[0], size=len(rows)))
        target = self._hmc_target(X, rows)
        run = hmc(target, start, rng, burn_in=burn_in, iterations=kept * thin, thin=thin, **how)
        parts = to_numpy(run.draws).reshape(X.shape[0], chains, kept, self.n_outputs_)
        draws = parts.reshape(X.shape[0], -1, self.n_outputs_)[:, :n_samples]
        r_hat = size = np.nan
        if chains > 1 and kept >= _FEWEST_DRAWS:
            checks = [convergence(part) for part in parts]
            r_hat = float(max(np.max(check.r_hat) for check in checks))
            size = float(min(np.min(check.effective_sample_size) for check in checks))
        rate, transitions = float(np.mean(to_numpy(run.acceptance))), len(rows) * kept * thin
        return HMCResult(draws, rate, run.divergences, transitions, r_hat, size)

    def _hmc_target(self, X, rows: np.ndarray):
        """Return the log density and its gradient of a chain for each of `rows` of X."""
        if self.n_outputs_ == 1:
            table, rows = self._table(X), array_namespace(X).asarray(rows)
            variance = self.base_std**2

            def tabulated(states):
                value, slope = table(rows, states[:, 0])
                value = value - 0.5 * states[:, 0] ** 2 / variance
                return value, (slope - states[:, 0] / variance)[:, None]

            return tabulated
        repeated = take_rows(X, rows)

        def exact(states):
            value, slope = self._T.value_and_gradient(repeated, states)
            return value + self._log_base(states), slope + self._base_gradient(states)

        return exact

    def _log_density_tables(self, X) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        lower, upper, width = span = self._kernel_support()
        if is_wide(self._support()) or not natural.ChebyshevInterpolant.is_possible(*span):
            yield from super()._log_density_tables(X)
            return
        smooth, at_nodes = self._interpolant(X)
        # Where T bends by c, exp(T) has bumps as narrow as 1/√c.
        bend = np.abs(at_nodes @ smooth.weights(smooth.nodes, 2)).max(axis=1)
        steps = 1.0 / np.maximum(_FINE / width, _FINE_OF_BUMP * np.sqrt(bend))
        steps = np.maximum(steps, width / _FINEST)
        # Below and beyond the density is that of q_0.
        (left, right, _), tail = self._support(), self.base_std / _FINE
        below, beyond = np.arange(lower, left, -tail)[:0:-1], np.arange(upper, right, tail)[1:]
        if steps.min() > width / (_FINE * _FEW_TIMES):
            inside = _equidistant(lower, upper, steps.min())
            nodes = np.concatenate([below, inside, beyond])
            weights = smooth.weights(inside)
            for rows in row_blocks(len(at_nodes), len(nodes), like=at_nodes):
                yield self._with_base(at_nodes[rows] @ weights, nodes, len(below)), nodes
            return
        # Between these, the cubic interpolant is off by some 1e-10 of the size of T.
        coarse = _equidistant(lower, upper, width / (3 * _FINE))
        at_coarse, slopes_at_coarse = smooth.weights(coarse), smooth.weights(coarse, 1)
        for rows in slices(len(at_nodes), _ROWS_OF_BUMPS):
            T = at_nodes[rows] @ at_coarse
            inside = _refined(coarse, self._with_base(T, coarse, 0), bend[rows], steps[rows].min())
            slopes = at_nodes[rows] @ slopes_at_coarse
            table = natural.HermiteTable(lower, float(coarse[1] - coarse[0]), T, slopes)
            finer, _ = table(np.repeat(np.arange(len(T)), len(inside)), np.tile(inside, len(T)))
            nodes = np.concatenate([below, inside, beyond])
            yield self._with_base(finer.reshape(len(T), -1), nodes, len(below)), nodes

    def _with_base(self, T: np.ndarray, nodes: np.ndarray, before: int) -> np.ndarray:
        """Return log q_0 at nodes, shape (n, q), with T (n, m) added from node `before` on."""
        log_density = np.tile(-0.5 * (nodes / self.base_std) ** 2, (len(T), 1))
        log_density[:, before : before + T.shape[1]] += T
        return log_density

    def _table(self, X) -> natural.HermiteTable:
        lower, upper, width = self._kernel_support()
        nodes = np.linspace(lower, upper, int(np.ceil((upper - lower) / width * _TABLE_NODES)) + 1)
        smooth, at_nodes = self._interpolant(X)
        xp = array_namespace(X)
        values, slopes = (xp.asarray(at_nodes @ smooth.weights(nodes, k)) for k in (0, 1))
        return natural.HermiteTable(lower, float(nodes[1] - nodes[0]), values, slopes)

    def _interpolant(self, X) -> tuple[natural.ChebyshevInterpolant, np.ndarray]:
        """Return T(x, ·) of each x, d_y = 1, by its values at few nodes: (n, m), on the host."""
        smooth = natural.ChebyshevInterpolant(*self._kernel_support())
        Y = array_namespace(X).asarray(smooth.nodes[:, None])
        return smooth, to_numpy(self._T.kernel_x(X) @ self._T.potential(Y))


def _equidistant(lower: float, upper: float, step: float) -> np.ndarray:
    return np.linspace(lower, upper, int((upper - lower) / step) + 2)


def _refined(coarse: np.ndarray, log_density: np.ndarray, bend: np.ndarray, step: float):
    """Return the nodes with more of them where a density may be within 1e-17 of its largest.

    Between two nodes h apart a function that bends by c exceeds both by at most c h²/8.
    """
    gap = coarse[1] - coarse[0]
    bound = np.maximum(log_density[:, 1:], log_density[:, :-1]) + (bend * gap**2 / 8)[:, None]
    near = bound > log_density.max(axis=1, keepdims=True) - _NEGLIGIBLE_SHARE
    parts = np.arange(1, int(np.ceil(gap / step))) / np.ceil(gap / step)
    between = coarse[:-1][near.any(axis=0), None] + gap * parts
    return np.sort(np.concatenate([coarse, between.ravel()]))
