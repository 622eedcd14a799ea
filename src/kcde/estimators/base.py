"""Base class of conditional density estimators, with the checks of their input."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._shared import checks
from kcde.estimators._shared import rows as row_checks
from kcde.estimators._shared.distribution import Distribution, with_one
from kcde.estimators._shared.threads import limit_threads, thread_limit
from kcde.estimators._shared.units import Units
from kcde.panels import Panels, Pieces, cover, is_wide, numbered, refine, row_slices, warn_of
from kcde.sampling import inverse_cdf, unresolved_rows
from kcde.seeding import generator, rng_of
from kcde.selection import grouped_kfold, kfold

_SAMPLING_NODES_PER_WIDTH = 50
_IMPORTANCE_SAMPLES = 20_000
_RESOLVED = 1e-6  # of E[1|x]


@dataclass(frozen=True)
class Tags:
    """Properties of an estimator; the contract tests check them.

    Attributes
    ----------
    density
        `log_density` is a normalised log density.
    unconditional
        X has no columns: shape (n, 0), or None.
    target
        "continuous" or "binary".
    array_api
        Computes in the namespace of its input.
    grouped
        It chooses by folds, and `fit` takes the `groups` of rows that these keep together.
    several_y
        y may have several columns.
    """

    density: bool = True
    unconditional: bool = False
    target: str = "continuous"
    array_api: bool = True
    grouped: bool = False
    several_y: bool = True


@dataclass(eq=False, repr=False)
class CommonOptions:
    """Hyper-parameters that most estimators have, for each of them to inherit and to document."""

    _: KW_ONLY
    random_state: int = 0
    standardize: bool = True


class WeightedRows:
    """Adds `sample_weight` to the `fit` of an estimator whose `_fit` heeds `_weights`."""

    def fit(self, X, Y, groups=None, sample_weight=None) -> "ConditionalDensity":
        """Fit to pairs, in which rows may count more or less than once.

        Parameters
        ----------
        X, Y, groups
            As `ConditionalDensity.fit` has them.
        sample_weight
            Shape (n,), not negative: how often a row counts, as the inverse of the probability with
            which a survey drew it. Only ratios matter; rows of weight 0 are left out. Scores that
            choose hyper-parameters are weighted, standardising is not. None: each counts once.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If weights have another shape, one is negative or not finite, or all are 0; besides what
            is refused without weights.
        """
        return self._fit_pairs(X, Y, groups, sample_weight)


class ConditionalDensity(Distribution, RegressorMixin, BaseEstimator, ABC):
    """Base class of estimators of p(y|x), with scikit-learn's conventions.

    A subclass gives the abstract methods; constructor arguments are hyper-parameters only, and
    `fit` sets attributes that end in `_`. X and Y are arrays or data frames; Y of shape (n,), also
    a Series, stands for (n, 1). Every method that takes X or Y raises `ValueError` where a shape is
    not that of `fit`, a value is not finite or beyond 1e100 in size, or a data frame has other
    columns than in `fit`, and scikit-learn's `NotFittedError` before `fit`. X and Y are in the
    caller's units; densities are per unit of y.

    With `standardize`, `_fit` sees columns of mean 0 and standard deviation 1, and so do the
    methods, which are asked in the caller's units: see `kcde.estimators._shared.units`.
    """

    tags = Tags()

    _integrates_to_one = True
    """Whether p(y|x) is a density, with a logarithm that is smooth in y, for `kcde.panels`."""

    selection_rule = ""
    """How it chooses what is left open, in one sentence without a full stop, as tables print it.

    Each estimator states its own.
    """

    _trainer = ""
    """Module that `fit` imports; `estimator_class` imports it before, as fits may be timed."""

    _needs = ()
    """The extra of kcde that has the libraries which `fit` imports, and their modules."""

    _labels: np.ndarray | None = None
    """While a fit lasts: the group of each row, whole numbers from 0, shape (n,)."""

    _weights: np.ndarray | None = None
    """While a fit lasts: the weight of each row, positive and of mean 1, shape (n,)."""

    def fit(self, X, Y, groups=None) -> "ConditionalDensity":
        """Fit to pairs.

        Parameters
        ----------
        X
            Shape (n, d_x); None stands for shape (n, 0).
        Y
            Shape (n, d_y), or (n,) for one y.
        groups
            Shape (n,): labels, as of the person that a row was measured on. Where folds choose
            hyper-parameters, rows of one label are held out together, so that the choice is for
            rows of new labels. None: each row by itself.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a shape is wrong, a value is not finite, a column of Y is constant, or there are too
            few rows or groups; or for groups where the estimator does not choose by folds.
        numpy.linalg.LinAlgError
            If the system to solve is singular beyond repair.
        """
        return self._fit_pairs(X, Y, groups)

    def _fit_pairs(self, X, Y, groups, sample_weight=None) -> "ConditionalDensity":
        if why := row_checks.missing_library(type(self)):
            raise row_checks.MissingLibraryError(f"{type(self).__name__} {why}")
        given, outputs = X, Y
        largest = row_checks.LARGEST_VALUE if self.standardize else self.largest_value
        X, Y = map(self._here, row_checks.check_pairs(X, Y, largest, copy=True))
        if self.tags.unconditional and X.shape[1]:
            raise ValueError(f"X must be None or have no columns; got shape {tuple(X.shape)}")
        row_checks.about_rows(self, groups)
        n = Y.shape[0]
        labels = None if groups is None else row_checks.group_labels(groups, n)
        weights = None if sample_weight is None else row_checks.row_weights(sample_weight, n)
        if weights is not None and not weights.all():
            kept = np.flatnonzero(weights)
            X, Y, weights = take_rows(X, kept), take_rows(Y, kept), weights[kept]
            labels = None if labels is None else labels[kept]
        row_checks.check_not_constant(Y)
        if not self.tags.several_y:
            checks.one_y(self, Y)
        units = Units(X, Y) if self.standardize else None
        self._reset()
        self._record_input(given, X, Y)
        self._units = units
        if units is not None:
            X, Y = units.x(X), units.y(Y)
        self._labels, self._weights = labels, weights
        try:
            with thread_limit(Y.shape[0]):
                self._fit(X, Y)
        except BaseException:
            self._reset()
            raise
        finally:
            del self._labels, self._weights
        self._open(units, outputs)
        return self

    @property
    def _row_labels(self) -> np.ndarray:
        """The group of each row, which is of its own where none are given, shape (n,)."""
        return np.arange(self._n_fitted) if self._labels is None else self._labels

    @property
    def _row_weights(self) -> np.ndarray:
        """The weight of each row, 1 where none are given, shape (n,)."""
        return np.ones(self._n_fitted) if self._weights is None else self._weights

    def _kfold(self, rows: np.ndarray, folds: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Return the places in `rows` that each fold holds out, those of a group in one fold.

        There are at most as many folds as groups.
        """
        checks.whole("folds", folds, 2)
        if self._labels is None:
            return kfold(len(rows), folds, rng)
        found, labels = np.unique(self._labels[rows], return_inverse=True)
        return grouped_kfold(labels, min(folds, len(found)), rng)

    @abstractmethod
    def _fit(self, X, Y) -> None:
        """Fit to checked arrays, choosing every hyper-parameter that is None."""

    @abstractmethod
    def _log_density(self, X, Y):
        """Return `log_density` of checked X and Y."""

    @abstractmethod
    def _log_density_at(self, Y) -> Callable:
        """Return `log_density_at` checked Y, a function of checked X."""

    @limit_threads
    def log_density(self, X, Y):
        """Return log p(y|x) of pairs.

        Parameters
        ----------
        X
            Shape (n, d_x), or None without x.
        Y
            Shape (n, d_y); (n,) for one y.

        Returns
        -------
        array
            Shape (n,), nats.
        """
        return self._log_density(X, Y)

    def log_density_at(self, Y) -> Callable:
        """Return a function of x that gives log p(Y|x) at shared y.

        Parameters
        ----------
        Y
            Shared y, shape (q, d_y).

        Returns
        -------
        callable
            Maps X (n, d_x) to shape (n, q), nats.
        """
        at = self._log_density_at(Y)
        return lambda X: at(self._check_features(X))

    def density_at(self, Y) -> Callable:
        """Return a function of x that gives p(Y|x) at shared y.

        Parameters
        ----------
        Y
            Shared y, shape (q, d_y).

        Returns
        -------
        callable
            Maps X (n, d_x) to shape (n, q).
        """
        log_at, xp = self.log_density_at(Y), array_namespace(Y)
        return lambda X: xp.exp(log_at(X))

    def score(self, X, Y) -> float:
        """Return the mean log density of the pairs, nats: larger is better.

        R² of the mean is `sklearn.metrics.r2_score(y, model.predict(X))`, or `scoring="r2"`.

        Parameters
        ----------
        X
            Shape (n, d_x), or None without x.
        Y
            Shape (n, d_y); (n,) for one y.

        Returns
        -------
        float
            Nats.
        """
        return float(np.mean(to_numpy(self.log_density(X, Y))))

    def conditional_expectation(self, f: Callable, X):
        """Return E[f(Y)|x], without renormalising.

        By Gauss-Legendre quadrature where d_y = 1, with panels that are halved for those x whose
        density the first ones do not resolve (`kcde.panels`); f is evaluated at their nodes. Of a
        normal given x, of NADE and of flows at 64 Gauss-Hermite nodes, which is coarse for a step:
        probabilities are by `cdf`. For more y by importance sampling with a fixed seed.

        Parameters
        ----------
        f
            Maps (k, d_y) to (k, q).
        X
            Shape (n, d_x).

        Returns
        -------
        shape (n, q)

        Raises
        ------
        ValueError
            If y is too wide for its bandwidth to integrate over.

        Warns
        -----
        kcde.panels.QuadratureWarning
            If E[1|x] does not settle at some x, which it names.
        """
        return self._expectation(f, X)

    def _expectation(self, f: Callable, X):
        """Return `conditional_expectation` at checked X."""
        if self.n_outputs_ == 1:
            return self._integrated(f, X)
        xp, (nodes, weights) = array_namespace(X), self._expectation_nodes()
        Y = xp.asarray(nodes)
        return self.density_at(Y)(X) * xp.asarray(weights) @ f(Y)

    def _expectation_nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points (k, d_y) and weights (k,) that integrate over y."""
        if self.n_outputs_ == 1:
            panels = self._panels(2)
            return panels.nodes[:, None], panels.weights
        proposal = self._proposal()
        nodes = proposal.sample(_IMPORTANCE_SAMPLES, rng_of("expectation"))
        return nodes, np.exp(-proposal.log_density(nodes)) / _IMPORTANCE_SAMPLES

    def _integrated(self, f: Callable, X):
        """Return ∫ f(y) p(y|x) dy, shape (n, q), for one y."""
        found = self._over(with_one(f), X, self._panels(2))
        open_rows = np.flatnonzero(~(np.abs(to_numpy(found[:, 0]) - 1.0) <= _RESOLVED))
        if not len(open_rows) or not self._integrates_to_one:
            return found[:, 1:]
        found = to_numpy(found).copy()
        for part in refine(self._log_relative_at, X, self._panels(), open_rows):
            with numbered(part.rows):
                over = self._over(with_one(f), take_rows(X, part.rows), part.panels)
            found[part.rows] = to_numpy(over)
            warn_of(np.maximum(np.abs(found[part.rows, 0] - 1.0), part.unresolved), part.rows)
        return array_namespace(X).asarray(found[:, 1:])

    def _over(self, f: Callable, X, panels: Panels):
        """Return ∫ f(y) p(y|x) dy over panels, shape (n, q)."""
        xp, total = array_namespace(X), None
        for part in panels.blocks():
            Y, weights = xp.asarray(part.nodes[:, None]), xp.asarray(part.weights)
            at, values = self.density_at(Y), f(Y)
            blocks = row_slices(X.shape[0], part.nodes.size)
            found = xp.concat([at(X[rows, :]) * weights @ values for rows in blocks])
            total = found if total is None else total + found
        return total

    def sample(self, X, n: int, random_state):
        """Draw from p(y|x).

        Exactly from mixtures, transformed normals and networks. Else for one y by inversion of a
        tabulated distribution function; where the table does not resolve the density at some x, of
        one by quadrature (`cdf`).

        Parameters
        ----------
        X
            Shape (n, d_x).
        n
            Draws for each row, k.
        random_state
            A whole number, or a numpy Generator.

        Returns
        -------
        shape (n, k) after a fit to y (n,), else (n, k, d_y)

        Raises
        ------
        ValueError
            If random_state is neither.
        """
        return array_namespace(X).asarray(self._draws(X, n, generator(random_state)))

    def _draws(self, X, n: int, rng: np.random.Generator):
        """Return draws at checked X, shape (n, k, d_y)."""
        if self.n_outputs_ > 1:
            return self._sample_multivariate(X, n, rng)
        drawn, start = [], 0
        for log_density, nodes in self._log_density_tables(X):
            found = inverse_cdf(log_density, nodes, n, rng)
            coarse = unresolved_rows(log_density, nodes)
            if len(coarse) and self._integrates_to_one:
                with numbered(start + coarse):
                    table = self._tabulate_cdf(take_rows(X, start + coarse))
                found[coarse] = table.quantile(rng.random((len(coarse), n)))
            drawn.append(found)
            start += len(found)
        return np.concatenate(drawn)[:, :, None]

    def _log_density_tables(self, X) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Yield log p(y|x) up to constants, d_y = 1, of some rows of X after others.

        Each is of shape (n, q), and followed by the q nodes, which resolve it: `sample` inverts
        its distribution functions.
        """
        lower, upper, width = support = self._support()
        panels = self._panels()
        if not is_wide(support):
            count = int(np.ceil((upper - lower) / width * _SAMPLING_NODES_PER_WIDTH)) + 1
            nodes = np.linspace(lower, upper, count)
        else:
            steps = np.arange(_SAMPLING_NODES_PER_WIDTH) / _SAMPLING_NODES_PER_WIDTH
            within = panels.lower[:, None] + (panels.upper - panels.lower)[:, None] * steps
            nodes = np.union1d(within, panels.upper)
        at = self.log_density_at(array_namespace(X).asarray(nodes[:, None]))
        for rows in row_slices(X.shape[0], len(nodes)):
            with numbered(np.arange(rows.start, rows.stop)):
                table = to_numpy(at(X[rows, :]))
            yield table, nodes

    # `_draws`, `_expectation` and `_cdf` as they stand here need of a density
    # `_support()`: lower end, upper end and a panel width that resolves it, for d_y = 1;
    # `_sample_multivariate(X, n_samples, rng)`: draws (n, n_samples, d_y) as numpy, for d_y > 1;
    # `_proposal()`: an importance proposal over y that is wider than the density at any x.

    def _pieces(self) -> Pieces | None:
        """Return intervals that carry the density, for a wide support; None: the whole of it."""
        return None

    def _panels(self, finer: int = 1) -> Panels:
        """Return panels that cover the density, as `kcde.panels.cover` does; d_y = 1."""
        support = self._support()
        return cover(support, self._pieces() if is_wide(support) else None, finer)
