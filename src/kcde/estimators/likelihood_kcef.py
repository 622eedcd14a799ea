"""Conditional exponential family by penalised maximum likelihood, for one y."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from math import log10

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._likelihood import objective as likelihood
from kcde.estimators._likelihood.selection import HeldOut, Search
from kcde.estimators._shared import checks
from kcde.estimators._shared.floored import Floored, Normal, heavy_floor, weight_of_floor
from kcde.estimators._shared.rows import by_blocks
from kcde.estimators._shared.tabulated import FINE, TabulatedCdf
from kcde.estimators._shared.threads import blocks_in_threads
from kcde.estimators.base import CommonOptions, ConditionalDensity, Tags, WeightedRows
from kcde.kernels import as_bandwidths
from kcde.normalisers import quadrature
from kcde.panels import filled, is_wide, numbered
from kcde.seeding import rng_of
from kcde.selection import subsample

log = logging.getLogger(__name__)

_FOLDS_UP_TO, _PARTS = 4000, 4  # with more rows one part of four is held out once
_GRID_ROWS = 4000
_FEW_ROWS, _REPEATS = 60, 3
_FEW_VALUES = 0.1  # of the rows
_FEWEST_X, _MOST_X = 400, 800  # ranks of x
_MOST_FEATURES = 8_000_000
_NARROWER_FROM, _NARROWER_TO = 20_000, 1_000_000  # rows; beyond, 400 centres are too few for it
FLOAT32_FROM = 2000
"""Rows from which likelihoods are computed in float32."""

_FIRST, _FIRST_ITERATIONS = 1e-2, 15  # λ of the path on few rows, and iterations at each
_ITERATIONS, _TOLERANCE = 60, 1e-7
_STAGE, _LARGEST = 10, 1_000_000  # times as many rows a stage, and rows of one: they are held
_CHECKED_ROWS, _REFINEMENTS = 2000, 4
_MOVED, _ROUNDED = 1e-4, 1e-4  # nats, of the mean
_NODES = 64  # numbers a row of blocks of the normaliser: some 10 MB with all nodes


@dataclass(eq=False, repr=False)
class LowRankFamily(ConditionalDensity):
    """q(y) exp(φ(x)ᵀ Θ ψ(y)) / Z(x) with given σ_x (d,) and σ_y, λ, most centres of x and y.

    See `LikelihoodKCEF`; `theta_` is Θ (r_x, r_y), and `iterations_` are those of all paths.
    """

    selection_rule = "nothing is chosen"

    bandwidths: tuple
    regularization: float
    ranks: tuple
    base: likelihood.Base
    random_state: int = 0
    scale_x: likelihood.AsinhScale | None = None

    def _fit(self, X, Y):
        self.fit_rows(likelihood.ArrayRows(X, Y))

    def fit_rows(self, source: likelihood.ArrayRows, weights=None) -> "LowRankFamily":
        """Fit to pairs that are read in blocks, with weights (n,), by default 1."""
        rng, n = rng_of("centres", self.random_state), len(source)
        weights = np.ones(n) if weights is None else weights
        X, Y = source.take(some := subsample(n, likelihood.PIVOT_ROWS, rng))
        self._record_input(None, X, Y)
        (sigma_x, sigma_y), (rank_x, rank_y) = self.bandwidths, self.ranks
        self._x = likelihood.KernelFeatures(X, sigma_x, rank_x, rng, self.scale_x)
        self._y = likelihood.KernelFeatures(Y, sigma_y, rank_y, rng)
        scales = likelihood.scales(source)
        fade = scales.x if self.scale_x is not None else np.minimum(sigma_x, scales.x)
        self._range, self._fade = scales.range_x, fade
        self._span = likelihood.support(*scales.span.tolist(), self._y, self.base)
        xp, few = array_namespace(X), likelihood.ArrayRows(X, Y)
        single = n >= FLOAT32_FROM
        given = (source, weights), (few, weights[some])
        self._solve(*given, xp.float32 if single else xp.float64)
        if single and (error := self._rounding(X)) > _ROUNDED:
            log.warning("float32 moves log Z by %.1g nats: fitting again in float64", error)
            self._solve(*given, xp.float64)
        return self

    def _solve(self, every: tuple, some_rows: tuple, dtype) -> None:
        """Minimise over all rows, from where a path of λ on a few rows ends; each with weights.

        From 300,000 rows on stages of ten times as many rows lie between, up to a million: the
        solution of few rows fits their noise, and is far from that of all. After each the start is
        better, and two thirds of the iterations are enough.
        """
        (source, weights), (few, weights_of_few) = every, some_rows
        self.iterations_, self._finer = 0, 1
        X, _ = few.take(np.arange(min(len(few), _CHECKED_ROWS)))
        some, theta = self._x(X), np.zeros((1, self._x.rank, self._y.rank))
        # λ times the number of rows is that of all rows.
        last = self.regularization * len(source) / len(few)
        path = last * 10.0 ** np.arange(max(0, round(log10(_FIRST / last))), -1, -1)
        improved = partial(self._improved, some, dtype)
        theta = improved(theta, few, weights_of_few, path, _FIRST_ITERATIONS)
        size, iterations = _STAGE * len(few), _ITERATIONS
        while size <= min(len(source) // 3, _LARGEST):
            part = subsample(len(source), size, rng_of("stage", self.random_state))
            rows = likelihood.ArrayRows(*source.take(part))
            penalty = last * len(few) / size
            theta = improved(theta, rows, weights[part], [penalty], iterations)
            size, iterations = _STAGE * size, 2 * iterations // 3
        self.theta_ = improved(theta, source, weights, [self.regularization], iterations)[0]

    def _improved(self, some, dtype, theta: np.ndarray, rows, weights, path, iterations: int):
        """Return Θ after some iterations at each λ, with as many nodes as the density needs.

        The curvature is that of Cov[ψ|x] under the last density, in the mean over some rows.
        """
        rows = likelihood.FeatureRows(rows, self._x, self._y, dtype, weights)
        cross, preconditioner = rows.moments()
        options = {"iterations": iterations, "tolerance": _TOLERANCE}
        for regularization in path:
            while True:
                grid = self._grid(some)
                here = preconditioner.at(likelihood.spread(some, theta, grid).covariance)
                sums = rows.sums(grid.astype(rows.dtype))
                objective = likelihood.Objective(sums, cross[None], [len(rows)])
                given = objective, theta, here, regularization
                theta, taken = likelihood.minimise(*given, **options)
                self.iterations_ += taken
                if not self._needs_more_nodes(some, theta):
                    break
                self._finer *= 2
        return theta

    def _grid(self, like, finer: int = 1):
        return likelihood.output_grid(self._y, self.base, self._span, like, finer * self._finer)

    def _needs_more_nodes(self, some, theta: np.ndarray) -> bool:
        """Return whether twice as many nodes would move the mean log normaliser of some φ."""
        if self._finer >= 2**_REFINEMENTS:
            return False
        xp = array_namespace(some)
        grids = self._grid(some), self._grid(some, 2)
        coarse, fine = (likelihood.log_normalisers(some, theta, grid) for grid in grids)
        return float(xp.mean(xp.abs(fine - coarse))) > _MOVED

    def _rounding(self, X) -> float:
        """Return how far float32 moves the mean log normaliser of some rows."""
        xp = array_namespace(X)
        some = take_rows(X, subsample(X.shape[0], _CHECKED_ROWS, rng_of("rounding")))
        grid, theta = self._grid(X), self.theta_[None]
        exact, single = (
            likelihood.log_normalisers(self._x(some, dtype), theta, grid.astype(dtype))
            for dtype in (xp.float64, xp.float32)
        )
        return float(abs(xp.mean(exact - xp.astype(single, xp.float64))))

    def _coefficients(self, X):
        """Return φ(x)ᵀ Θ, shape (n, r_y), by blocks of rows: φ of all would be the most memory.

        Outside the range of the training rows it is that of the nearest point of it, and fades.
        """
        xp = array_namespace(X)
        theta, low, high, fade = map(xp.asarray, (self.theta_, *self._range, self._fade))
        folded = self._x.B @ theta  # k (B Θ): k B would take r_x² multiplications a row

        def of(rows):
            x = X[rows, :]
            near = xp.clip(x, low, high)
            share = xp.exp(-0.5 * xp.sum(((x - near) / fade) ** 2, axis=1))
            return (self._x.kernels(near) * share[:, None]) @ folded

        return by_blocks(of, X.shape[0], self._x.rank, like=X)

    def _at(self, Y) -> Callable:
        """Return a function from coefficients to log q(Y) + T, shape (n, q)."""
        psi, log_base = self._y(Y), self.base.log_density(Y[:, 0])
        return lambda coefficients: coefficients @ psi.T + log_base[None, :]

    def _log_normaliser(self, coefficients):
        span = self._span
        pieces = likelihood.pieces(self._y, self.base, span[2]) if is_wide(span) else None
        outside = likelihood.mass_beyond(self.base, span, pieces)

        def of(rows):
            some, how = coefficients[rows, :], {"pieces": pieces, "outside": outside}
            with numbered(np.arange(rows.start, rows.stop)):
                return quadrature(self._at, some, span, **how).log_z

        # By blocks that the memory allocator keeps: larger ones the system would zero each time.
        return by_blocks(of, coefficients.shape[0], _NODES, like=coefficients)

    def _log_density(self, X, Y):
        coefficients = self._coefficients(X)
        inside = array_namespace(X).sum(coefficients * self._y(Y), axis=1)
        return inside + self.base.log_density(Y[:, 0]) - self._log_normaliser(coefficients)

    def _log_density_at(self, Y):
        at = self._at(Y)

        def of(X):
            coefficients = self._coefficients(X)
            return at(coefficients) - self._log_normaliser(coefficients)[:, None]

        return of

    def _log_relative_at(self, Y):
        at = self._at(Y)
        return lambda X: at(self._coefficients(X))

    def _tabulate_cdf(self, X, tolerance: float = FINE) -> TabulatedCdf:
        return TabulatedCdf(self._at, self._coefficients(X), self._panels(), tolerance)

    def _support(self):
        (lower, upper, width), (below, above) = self._span, self._base_ends()
        return min(lower, below), max(upper, above), width

    def _base_ends(self) -> tuple[float, float]:
        tail = 8.0 * self.base.scale
        return self.base.location - tail, self.base.location + tail

    def _pieces(self):
        pieces = likelihood.pieces(self._y, self.base, self._span[2])
        return filled(pieces, *self._base_ends(), self.base.scale)

    def as_base(self) -> likelihood.Marginal:
        """Return the density of y without x, of a fit to no columns."""
        given = self._coefficients(self._no_x)
        log_z = float(to_numpy(self._log_normaliser(given))[0])
        return likelihood.Marginal(self.base, self._y, given[0, :], log_z)


@dataclass(eq=False, repr=False)
class LikelihoodKCEF(CommonOptions, WeightedRows, Floored):
    """Predict the density of one y given x, of any shape, from tens of rows to a million.

    `predict` gives the mean of y, `score` the mean log density of rows.

    (1 - ε) q(y) exp(T(x, y)) / Z(x) + ε t(y), by penalised maximum likelihood, for d_y = 1.

    T is in the RKHS of k_X(x, x′) k(y, y′), both Gaussian; but where KCEF
    matches scores, this minimises -mean log p + λ/2 ‖T‖², the objective that dde (Dai et al.,
    equation 5) reaches by a saddle point. With one y the normaliser is an integral over a line, and
    the problem smooth and convex: it is solved outright, in a space of low rank,
    T(x, y) = φ(x)ᵀ Θ ψ(y), φ = k(x, C) B, ψ(y) = k(y, C′) B′, whose centres are chosen by
    randomly pivoted Cholesky. L-BFGS goes down a path of λ on at most 10,000 rows, and from there
    over all, from 300,000 on by way of ten times as many a stage. Its coordinates are
    preconditioned by the spectra of φᵀφ/n and of the mean of Cov[ψ|x]; log Z is by quadrature over
    nodes that all x share, refined until its mean moves by less than 1e-4 nats.

    q is the density of y alone, of the same kind with φ = 1, whose own σ_y and λ are chosen first,
    unless given. It is fitted once, to all rows that select: folds of T score rows that q has seen.
    T vanishes far from all rows of x, where the prediction is then that density: outside their
    range T is that of the nearest point of it, and fades within σ_x or a standard deviation of x,
    the smaller. (This moves no row within the range. On held-out rows of the training halves of 20
    sets of kcef's table 1 it gains 0.010 ± 0.007 nats, and q, for a normal, 0.006 ± 0.052.)
    Where held-out rows gain more than a standard error by it, x is taken by asinh in robust units,
    in which outliers are nearer: on 12 of 50 tables of 300 rows, with 0.024 ± 0.014 nats in the
    mean of all 50 on further rows.
    Its base is normal; and t, Student's with two degrees of freedom, bounds the loss of a point at
    -log(ε t(y)). It costs -log(1 - ε) elsewhere, so that ε falls with n: 0.01
    up to 1000 rows, 10/n from there. This rule is from the gap of a fixed ε to a known density of
    made-up data, 0.02 nats at n = 100,000, of which 0.01 were the floor's.

    Where m of n > 20,000 rows take part in the selection, the bandwidths chosen are multiplied by
    (m/n)^(1/(d_x + 5)), the rate of a kernel density of all columns (Scott 1992, section 6.3), and
    n λ stays: what is best for a part is too smooth for the whole. Below 20,000, where this has not
    been tried, m counts as 20,000.

    A fit with given parameters costs O(n (r_x r_y + r_y q)) for each of some thirty gradients, q
    nodes; n r_x numbers are held, in float32 from 2000 rows on, up to 1.5 GiB. Selection costs some
    thirty such fits of smaller rank to at most `tuning_rows` rows.

    New rows of other people than the training rows need `groups` in `fit`: without it the density
    can be worse than that of y alone. Several y need `kcde.joint.JointDensity`.

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        Standard deviations of the Gaussian kernels, in the units of x and y: a number, or one for
        each column of x. None: chosen.
    regularization
        λ. None: chosen.
    rank_x, rank_y
        Most centres of x and y. None, of x: 800 up to 10,000 rows, from there 8,000,000/n, but not
        fewer than 400.
    weight
        ε, in (0, 1). None: the smaller of 0.01 and 10/n.
    base_std
        Standard deviation of the normal base of q, around the mean of the training y, in theirs.
    folds
        Of the cross-validation, up to 4000 rows; three shuffles of them below 60 rows. With more
        rows a quarter is held out once.
    tuning_rows
        Most rows that take part in the selection; None: all.
    random_state
        Seeds folds and centres.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    coef_
        Θ, shape (r_x, r_y).
    bandwidth_x_, bandwidth_y_, regularization_, weight_
        Values used, given or chosen.
    scale_x_
        None, or where the selection has taken asinh((x - m)/s)/r for x: m, s and r of each column,
        a tuple; `bandwidth_x_` is then in these units.
    iterations_
        Of the final fit with its path of λ.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import LikelihoodKCEF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = LikelihoodKCEF(bandwidth_x=1.0, bandwidth_y=1.0, regularization=1e-3).fit(X, Y)
    >>> model.quantile(X[:2], [0.1, 0.9]).shape
    (2, 2)
    """

    selection_rule = (
        "a σ for each column of x, σ_y and λ by the 5-fold held-out likelihood of the mixture that "
        "is scored (above 4000 rows a quarter is held out once), those of the density of y alone "
        "before; then a search from the middle of a "
        "5 × 4 grid of common σ, each with a path of λ (1 to 1e-8); from 1000 rows on also with "
        "the σ_x in the ratios that a Gaussian process finds, then column by column, each where "
        "that gains more than a standard error; then all together, also for asinh of x in robust "
        "units, taken by the same rule; above 20,000 rows, the most that choose, σ_x and σ_y are "
        "narrowed"
    )

    tags = Tags(grouped=True, several_y=False)

    bandwidth_x: float | Sequence[float] | None = None
    bandwidth_y: float | Sequence[float] | None = None
    regularization: float | None = None
    _: KW_ONLY
    rank_x: int | None = None
    rank_y: int = 30
    weight: float | None = None
    base_std: float = 2.0
    folds: int = 5
    tuning_rows: int | None = 20000

    @property
    def _inside(self) -> LowRankFamily:
        return self.family_

    @property
    def coef_(self) -> np.ndarray:
        """Θ, shape (r_x, r_y)."""
        return self.family_.theta_

    @property
    def iterations_(self) -> int:
        """Iterations of the final fit."""
        return self.family_.iterations_

    def fit_rows(self, rows: likelihood.ArrayRows) -> "LikelihoodKCEF":
        """Fit to pairs that are read in blocks, as `kcde.streaming` has them.

        The selection reads `tuning_rows` rows, and a stage before the final fit holds a million at
        most. Every gradient of the final fit is one pass; where the features do not fit into memory
        they are recomputed in each. Progress is logged.
        The density is that of `fit`; learned bandwidths are in the units of the rows.

        Parameters
        ----------
        rows
            `kcde.streaming.ArrayRows` or `ParquetRows`, or anything with their methods.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As `fit`, while the rows are read.
        """
        self._reset()
        self._fit_source(rows, np.ones(len(rows)))
        self._open_rows(rows)
        return self

    def _fit(self, X, Y):
        self._fit_source(likelihood.ArrayRows(X, Y), self._row_weights)

    @blocks_in_threads()
    def _fit_source(self, source: likelihood.ArrayRows, weights: np.ndarray) -> None:
        rng = rng_of("selection", self.random_state)
        checks.whole("rank_y", self.rank_y)
        checks.whole("rank_x", self.rank_x, optional=True)
        checks.whole("tuning_rows", self.tuning_rows, optional=True)
        tuning = subsample(len(source), self.tuning_rows, rng)
        X, Y = source.take(tuning)
        checks.one_y(self, Y)
        checks.positive("base_std", self.base_std)
        checks.positive("regularization", self.regularization, optional=True)
        self._set_weight(weight_of_floor(len(source)) if self.weight is None else self.weight)
        self._scales = likelihood.scales(source)
        self._floor = heavy_floor(self._scales.mean, self._scales.std)
        if (count := len(np.unique(to_numpy(Y)))) < _FEW_VALUES * Y.shape[0]:
            log.warning("LikelihoodKCEF: y has %d values, where its density is unbounded", count)
        x, y, regularization = self.bandwidth_x, self.bandwidth_y, self.regularization
        if x is not None:
            x = as_bandwidths(x, X.shape[1], "bandwidth_x")
            x = x if self.standardize else x / self._scales.x
        if y is not None:
            y = float(as_bandwidths(y, 1, "bandwidth_y")[0])
            y = y if self.standardize else y / self._scales.std
        self.cv_results_, self.scale_x_ = {}, None
        scaled = X / array_namespace(X).asarray(self._scales.x)
        scaled = scaled, (Y - self._scales.mean) / self._scales.std, weights[tuning]
        base = Normal(0.0, self.base_std)
        own = Normal(self._scales.mean, self.base_std * self._scales.std)
        if X.shape[1]:
            base, own = self._marginals(scaled, Y, tuning, (y, regularization), (base, own), rng)
        if x is None or y is None or regularization is None:
            chosen, rows = self._select(scaled, tuning, (x, y, regularization), base, rng)
            (x, y), best, count, asinh = chosen
            self.scale_x_ = likelihood.AsinhScale.of(X) if asinh else None
            regularization = best.regularization
            share = max(len(tuning), _NARROWER_FROM) / min(len(source), _NARROWER_TO)
            narrower = min(1.0, share) ** (1 / (X.shape[1] + 5))
            x = x * narrower if self.bandwidth_x is None else x
            y = y * narrower if self.bandwidth_y is None else y
            if self.regularization is None:
                # A prior of fixed strength: nλ is that of the selection.
                regularization *= min(1.0, rows / len(source))
            self.cv_results_ = {"log_density": best.mean, "candidates": count}
        self.bandwidth_x_ = x if self.scale_x_ is not None else x * self._scales.x
        self.bandwidth_y_ = np.array([y * self._scales.std])
        self.regularization_ = float(regularization)
        rank_x = int(np.clip(_MOST_FEATURES // len(source), _FEWEST_X, _MOST_X))
        self.family_ = LowRankFamily(
            (self.bandwidth_x_, float(self.bandwidth_y_[0])),
            self.regularization_,
            (self.rank_x or rank_x, self.rank_y),
            own,
            self.random_state,
            self.scale_x_,
        ).fit_rows(source, weights)

    def _marginals(self, scaled, Y, tuning, given, bases, rng) -> list[likelihood.Marginal]:
        """Return the density of y alone, standardised and not, on the rows that select."""
        none, weights, found = scaled[0][:, :0], scaled[2], []
        width, regularization = given
        if width is None or regularization is None:
            where = (none, *scaled[1:]), tuning, (np.zeros(0), width, regularization)
            ((_, width), best, *_), _ = self._select(*where, bases[0], rng)
            regularization = best.regularization
        for base, y in zip(bases, (scaled[1], Y), strict=True):
            widths = np.zeros(0), width * base.scale / bases[0].scale
            given = widths, regularization, (1, self.rank_y), base, self.random_state
            rows = likelihood.ArrayRows(none, y)
            found.append(LowRankFamily(*given).fit_rows(rows, weights).as_base())
        return found

    def _select(self, scaled, tuning, given, base, rng) -> tuple[tuple, int]:
        """Return the choice by (X, y, weights), numbered `tuning`, and how many a fit of it had."""
        n = scaled[0].shape[0]
        floor = heavy_floor(0.0, 1.0)
        folds = self._folds(n, tuning, rng)
        rows = few = HeldOut(*scaled, folds, base, floor, self.weight_)
        if n > _GRID_ROWS:
            some = subsample(n, _GRID_ROWS, rng)
            part = (take_rows(each, some) for each in scaled)
            few = HeldOut(*part, self._folds(n, tuning[some], rng), base, floor, self.weight_)
        return Search(few, rows, int(rng.integers(2**32))).run(*given), n - len(folds[0])

    def _folds(self, n: int, rows: np.ndarray, rng) -> list[np.ndarray]:
        """Return what is held out of some rows, where n take part in the selection."""
        if n > _FOLDS_UP_TO:
            if self._labels is None:
                return [np.sort(rng.permutation(len(rows))[: len(rows) // _PARTS])]
            return self._kfold(rows, _PARTS, rng)[:1]
        repeats = _REPEATS if n < _FEW_ROWS else 1
        return [held for _ in range(repeats) for held in self._kfold(rows, self.folds, rng)]
