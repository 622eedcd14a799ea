"""Conditional exponential family by penalised maximum likelihood, for one y."""

import logging
from numbers import Integral
from typing import ClassVar

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._likelihood.family import LowRankFamily
from kcde.estimators._likelihood.selection import Choice, HeldOut, Search
from kcde.estimators._likelihood.sources import ArrayRows, RowSource, scales
from kcde.estimators._shared.floored import Floored, weight_of_floor
from kcde.estimators._shared.location_scale import LocationScale, Normal, StudentT
from kcde.estimators._shared.rows import SMALLEST_STD
from kcde.estimators.base import Tags
from kcde.kernels import as_bandwidths
from kcde.seeding import rng_of
from kcde.selection import subsample

log = logging.getLogger(__name__)

_FOLDS_UP_TO, _PARTS = 4000, 4  # with more rows one part of four is held out once
_GRID_ROWS = 4000
_FEW_ROWS, _REPEATS = 60, 3
_FEW_VALUES = 0.1  # of the rows
_FEWEST_X, _MOST_X = 400, 800  # ranks of x
_MOST_FEATURES = 8_000_000
_NARROWER_FROM = 20_000  # rows
_BASES = ("normal", "student")
_DEGREES_OF_BASE, _DEGREES_OF_FLOOR = 5.0, 2.0


class LikelihoodKCEF(Floored):
    """(1 - ε) q_0(y) exp(T(x, y)) / Z(x) + ε t(y), by penalised maximum likelihood, for d_y = 1.

    T is in the RKHS of (1 + k_X(x, x′)) k(y, y′), both Gaussian, as that of KCEF; but where KCEF
    matches scores, this minimises -mean log p + λ/2 ‖T‖², the objective that dde (Dai et al.,
    equation 5) reaches by a saddle point. With one y the normaliser is an integral over a line, and
    the problem smooth and convex: it is solved outright, in a space of low rank,
    T(x, y) = φ(x)ᵀ Θ ψ(y), φ = [1, k(x, C) B], ψ(y) = k(y, C′) B′, whose centres are chosen by
    randomly pivoted Cholesky. L-BFGS goes down a path of λ on at most 10,000 rows, and from there
    over all, in coordinates preconditioned by the spectra of φᵀφ/n and of the mean of Cov[ψ|x];
    log Z is by quadrature over nodes that all x share, refined until its mean moves by less than
    1e-4 nats.

    q_0 is thin in its tails or thick, and t, Student's with two degrees of freedom, bounds the
    loss of a point at -log(ε t(y)). It costs -log(1 - ε) elsewhere, so that ε falls with n: 0.01
    up to 1000 rows, 10/n from there. This rule is from the gap of a fixed ε to a known density of
    made-up data, 0.02 nats at n = 100,000, of which 0.01 were the floor's.

    Where m of n > 20,000 rows take part in the selection, the bandwidths chosen are multiplied by
    (m/n)^(1/(d_x + 5)), the rate of a kernel density of all columns (Scott 1992, section 6.3), and
    n λ stays: what is best for a part is too smooth for the whole. Below 20,000, where this has not
    been tried, m counts as 20,000.

    A fit with given parameters costs O(n (r_x r_y + r_y q)) for each of some thirty gradients, q
    nodes; n r_x numbers are held, in float32 from 2000 rows on. Selection costs some thirty such
    fits of smaller rank to at most `tuning_rows` rows.

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
    base
        q_0 around the mean of the training y: "normal", with `base_std` times their standard
        deviation; "student", with five degrees of freedom and their standard deviation as scale,
        whose mass beyond 8 scales, 5e-4, is in the density and not in `cdf` and what follows of it.
    base_std
        Of "normal".
    folds
        Of the cross-validation, up to 4000 rows; three shuffles of them below 60 rows. With more
        rows a quarter is held out once.
    tuning_rows
        Most rows that take part in the selection; None: all.
    random_state
        Seeds folds and centres.

    Attributes
    ----------
    coef_
        Θ, shape (r_x, r_y).
    bandwidth_x_, bandwidth_y_, regularization_, weight_
        Values used, given or chosen.
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

    selection_rule: ClassVar[str] = (
        "a σ for each column of x, σ_y and λ by the 5-fold held-out likelihood of the mixture that "
        "is scored (above 4000 rows a quarter is held out once): a search from the middle of a "
        "5 × 4 grid of common σ, each with a path of λ (1 to 1e-8); from 1000 rows on also with "
        "the σ_x in the ratios that a Gaussian process finds, then column by column, each where "
        "that gains more than a standard error; then all together; above 20,000 rows, the most "
        "that choose, σ_x and σ_y are narrowed"
    )

    tags: ClassVar[Tags] = Tags(grouped=True)

    def __init__(
        self,
        bandwidth_x=None,
        bandwidth_y=None,
        regularization=None,
        *,
        rank_x=None,
        rank_y=30,
        weight=None,
        base="normal",
        base_std=2.0,
        folds=5,
        tuning_rows=20_000,
        random_state=0,
    ):
        self.bandwidth_x = bandwidth_x
        self.bandwidth_y = bandwidth_y
        self.regularization = regularization
        self.rank_x = rank_x
        self.rank_y = rank_y
        self.weight = weight
        self.base = base
        self.base_std = base_std
        self.folds = folds
        self.tuning_rows = tuning_rows
        self.random_state = random_state

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

    def fit_rows(self, rows: RowSource) -> "LikelihoodKCEF":
        """Fit to pairs that are read in blocks, as `kcde.streaming` has them.

        The selection reads `tuning_rows` rows. Every gradient of the final fit is one pass; where
        the features do not fit into memory they are recomputed in each. Progress is logged.

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
        self._fit_source(rows)
        self._record_input(None, *rows.take(np.arange(1)))
        self._n_fitted = len(rows)
        return self

    def _fit(self, X, Y):
        self._fit_source(ArrayRows(X, Y))

    def _fit_source(self, source: RowSource) -> None:
        rng = rng_of("selection", self.random_state)
        tuning = subsample(len(source), self._most_rows(), rng)
        X, Y = source.take(tuning)
        self._check_parameters(Y)
        self._set_weight(weight_of_floor(len(source)) if self.weight is None else self.weight)
        self._scales = scales(source)
        self._check_scales()
        self._floor = StudentT(self._scales.mean, self._scales.std, _DEGREES_OF_FLOOR)
        self._say_ties(Y)
        x, y, regularization = self._given(X.shape[1])
        self.cv_results_ = {}
        if x is None or y is None or regularization is None:
            chosen, rows = self._select(X, Y, tuning, (x, y, regularization), rng)
            (x, y), regularization = chosen.widths, chosen.regularization
            share = min(1.0, max(len(tuning), _NARROWER_FROM) / len(source))
            narrower = share ** (1 / (X.shape[1] + 5))
            x = x * narrower if self.bandwidth_x is None else x
            y = y * narrower if self.bandwidth_y is None else y
            if self.regularization is None:
                # A prior of fixed strength: nλ is that of the selection.
                regularization *= min(1.0, rows / len(source))
            self.cv_results_ = {"log_density": chosen.log_density, "candidates": chosen.candidates}
        self.bandwidth_x_, self.bandwidth_y_ = x * self._scales.x, np.array([y * self._scales.std])
        self.regularization_ = float(regularization)
        self.family_ = LowRankFamily(
            self.bandwidth_x_,
            float(self.bandwidth_y_[0]),
            self.regularization_,
            self._rank_x(len(source)),
            self.rank_y,
            self._base(self._scales.mean, self._scales.std),
            self.random_state,
        ).fit_rows(source)

    def _rank_x(self, n: int) -> int:
        if self.rank_x is not None:
            return self.rank_x
        return int(np.clip(_MOST_FEATURES // n, _FEWEST_X, _MOST_X))

    def _most_rows(self) -> int | None:
        for name in ("rank_x", "rank_y", "tuning_rows"):
            value = getattr(self, name)
            if name != "rank_y" and value is None:
                continue
            if not (isinstance(value, Integral) and value >= 1):
                raise ValueError(f"{name} must be a positive whole number; got {value!r}")
        return self.tuning_rows

    def _check_scales(self) -> None:
        if not self._scales.std >= SMALLEST_STD:
            raise ValueError(
                f"the standard deviation of Y is {self._scales.std:g}, too small to divide by: "
                "bring Y to unit scale"
            )

    def _check_parameters(self, Y) -> None:
        if Y.shape[1] != 1:
            raise ValueError(
                f"LikelihoodKCEF is for one y; got {Y.shape[1]} columns: model them one after the "
                "other with kcde.joint.JointDensity"
            )
        if self.base not in _BASES:
            raise ValueError(f"base must be one of {', '.join(_BASES)}; got {self.base!r}")
        if not 0 < self.base_std < np.inf:
            raise ValueError(f"base_std must be a positive number; got {self.base_std!r}")
        if self.regularization is not None and not 0 < self.regularization < np.inf:
            raise ValueError(f"regularization must be positive; got {self.regularization!r}")

    def _base(self, mean: float, std: float) -> LocationScale:
        if self.base == "normal":
            return Normal(mean, self.base_std * std)
        return StudentT(mean, std, _DEGREES_OF_BASE)

    def _say_ties(self, Y) -> None:
        count, rows = len(np.unique(to_numpy(Y))), Y.shape[0]
        if count < _FEW_VALUES * rows:
            log.warning(
                "y has %d different values among %d rows: as a density it has no upper bound "
                "there, and its likelihood is comparable only at one bandwidth of y",
                count,
                rows,
            )

    def _given(self, columns: int) -> tuple:
        """Return what is given, in standard units: σ_x (d,), σ_y, λ; None is chosen."""
        x, y = self.bandwidth_x, self.bandwidth_y
        if x is not None:
            x = as_bandwidths(x, columns, "bandwidth_x") / self._scales.x
        if y is not None:
            y = float(as_bandwidths(y, 1, "bandwidth_y")[0]) / self._scales.std
        return x, y, self.regularization

    def _select(self, X, Y, tuning, given, rng) -> tuple[Choice, int]:
        """Return the choice by the rows X, Y, numbered `tuning`, and how many a fit of it had."""
        X = X / array_namespace(X).asarray(self._scales.x)
        y = (Y - self._scales.mean) / self._scales.std
        n = X.shape[0]
        folds = self._folds(n, tuning, rng)
        rows = few = self._held_out(X, y, folds)
        if n > _GRID_ROWS:
            some = subsample(n, _GRID_ROWS, rng)
            some_folds = self._folds(n, tuning[some], rng)
            few = self._held_out(take_rows(X, some), take_rows(y, some), some_folds)
        seed = int(rng.integers(2**32))
        return Search(few, rows, seed).run(*given), n - len(folds[0])

    def _held_out(self, X, y, folds) -> HeldOut:
        base, floor = self._base(0.0, 1.0), StudentT(0.0, 1.0, _DEGREES_OF_FLOOR)
        return HeldOut(X, y, folds, base, floor, self.weight_)

    def _folds(self, n: int, rows: np.ndarray, rng) -> list[np.ndarray]:
        """Return what is held out of some rows, where n take part in the selection."""
        if n > _FOLDS_UP_TO and self._labels is None:
            return [np.sort(rng.permutation(len(rows))[: len(rows) // _PARTS])]
        if n > _FOLDS_UP_TO:
            return self._kfold(rows, _PARTS, rng)[:1]
        repeats = _REPEATS if n < _FEW_ROWS else 1
        return [held for _ in range(repeats) for held in self._kfold(rows, self.folds, rng)]
