"""Mean, distribution function, quantiles, intervals and CRPS of conditional densities."""

from collections.abc import Callable, Sequence

import numpy as np

from kcde.arrays import array_namespace, row_blocks, to_numpy
from kcde.estimators._shared.rows import RowChecks, by_blocks
from kcde.estimators._shared.tabulated import COARSE, FINE, TabulatedCdf
from kcde.estimators._shared.threads import limit_threads, map_threads
from kcde.panels import numbered
from kcde.seeding import rng_of

_ROWS_NUMBERS = 1000  # held for a row of x while expectations are computed, about
_NODES = 40  # of a panel, after the first doublings
_REMEMBERED = 1 << 25  # numbers

DRAWS = 500
"""Of each x, for the CRPS of a density that has no quicker way."""

_ENDS, _POINTS, _MOST_CURVES = (0.001, 0.999), 400, 20  # of a picture


class Distribution(RowChecks):
    """Adds `predict`, `mean`, `std`, `pdf`, `cdf`, `quantile`, `crps` … to a density.

    By quadrature of the density; a subclass whose distribution function has a closed form
    overrides `_cdf`, `_cdf_at`, `_quantile` and `_crps`.
    """

    def predict(self, X):
        """Return E[Y|x], an array: shape (n,) after a fit to y (n,), else (n, d_y)."""
        return self.mean(X)

    def std(self, X):
        """Return the standard deviation of y given x, of the shape of `predict`."""
        return self.variance(X) ** 0.5

    def pdf(self, X, Y):
        """Return p(y|x), per unit of y, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        log_density = self.log_density(X, Y)
        return array_namespace(log_density).exp(log_density)

    def variance(self, X):
        """Return the variance of each y given x, shape (n, d_y), for X (n, d_x)."""
        xp, mean = array_namespace(X), self.mean(X)
        centre = xp.mean(mean, axis=0)
        found = _renormalised(self, lambda Y: (Y - centre) ** 2, X)
        return xp.clip(found - (mean - centre) ** 2, min=0.0)

    @limit_threads
    def mean(self, X):
        """Return E[Y|x].

        As `conditional_expectation`, divided by E[1|x].

        Parameters
        ----------
        X
            Shape (n, d_x), or None without x: one row.

        Returns
        -------
        array
            Shape (n, d_y).
        """

        def of(rows):
            with numbered(np.arange(rows.start, rows.stop)):
                return _renormalised(self, lambda Y: Y, X[rows, :])

        return by_blocks(of, X.shape[0], _ROWS_NUMBERS, like=X)

    @limit_threads
    def cdf(self, X, Y):
        """Return P(Y ≤ y|x) for pairs.

        By ten-point Gauss-Legendre quadrature of the density, to about 1e-9; for the cost of the
        density at some hundreds of shared y for every x. Mixtures of Gaussians take one normal
        distribution function a component and pair instead, normal densities a single one.

        Parameters
        ----------
        X
            Shape (n, d_x); None without x.
        Y
            Shape (n,) or (n, 1).

        Returns
        -------
        shape (n,)

        Raises
        ------
        ValueError
            If the model has several y, or weights of both signs.
        """
        self._require_distribution()
        return self._cdf(X, Y[:, 0])

    @limit_threads
    def quantile(self, X, p):
        """Return the y with P(Y ≤ y|x) = p.

        By inversion of `cdf`. Costs are those of `cdf`; of mixtures some fifteen times as much for
        each p: 2 s for 3 p at 5000 x of 1000 components. Where the density is almost zero, a
        quantile is as uncertain as that makes it.

        Parameters
        ----------
        X
            Shape (n, d_x); None without x: one row.
        p
            A number in (0, 1), or k of them.

        Returns
        -------
        shape (n,) for a number, (n, k) for k of them; in the units of y

        Raises
        ------
        ValueError
            If p is not in (0, 1), the model has several y, or weights of both signs.
        """
        p = check_probabilities("p", p)
        self._require_distribution()
        if not p.size:
            return X[:, :0]
        found = self._quantile(X, np.atleast_1d(p))
        return found if p.ndim else found[:, 0]

    def interval(self, X, level: float):
        """Return the quantiles (1 - level)/2 and (1 + level)/2, shape (n, 2): equal tails.

        Parameters
        ----------
        X
            Shape (n, d_x); None without x: one row.
        level
            Probability of the interval, in (0, 1).

        Raises
        ------
        ValueError
            As `quantile`.
        """
        return self.quantile(X, tails(level))

    @limit_threads
    def crps(self, X, Y):
        """Return the continuous ranked probability score ∫ (F(z|x) - 1{y ≤ z})² dz of pairs.

        It is proper, small where F is narrow around y, and |y - m| for a point mass at m (Gneiting
        and Raftery, JASA 2007, section 4.2). In closed form for normal densities and mixtures of
        few of them; for the other mixtures as `kcde.estimators._shared.mixture` states; else by
        ten-point Gauss-Legendre quadrature of F, to about 1e-6, for less than the cost of `cdf`; of
        `Defensive`, where the density inside is far narrower than the floor, to about 1e-5 of the
        latter's scale.

        Parameters
        ----------
        X
            Shape (n, d_x); None without x.
        Y
            Shape (n,) or (n, 1).

        Returns
        -------
        shape (n,), in the units of y

        Raises
        ------
        ValueError
            If the model has several y, or weights of both signs.
        """
        self._require_distribution()
        return self._crps(X, Y[:, 0])

    @limit_threads
    def cdf_and_crps(self, X, Y) -> tuple:
        """Return `cdf` and `crps` of pairs for about the cost of one.

        Both to about 1e-6 where they are by quadrature; X, Y and errors as of `cdf`.

        Parameters
        ----------
        X
            Shape (n, d_x), or None without x.
        Y
            Shape (n, d_y); (n,) for one y.

        Returns
        -------
        tuple
            Two arrays of shape (n,).
        """
        self._require_distribution()
        return self._cdf_and_crps(X, Y[:, 0])

    def plot(self, X, axes=None, labels=None):
        """Draw p(y|x) of some x with matplotlib.

        Parameters
        ----------
        X
            Shape (n, d_x), at most 20 rows; None without x.
        axes
            Of matplotlib; None: those of a new figure.
        labels
            One for each x; by default their numbers.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If there are more rows, or not as many labels; besides as `quantile`.
        """
        ends = to_numpy(self.quantile(X, _ENDS))
        labels = list(range(len(ends))) if labels is None else list(labels)
        if len(ends) > _MOST_CURVES or len(labels) != len(ends):
            got = f"{len(ends)} x and {len(labels)} labels"
            raise ValueError(f"plot draws at most {_MOST_CURVES} x with as many labels; got {got}")
        y = np.linspace(ends[:, 0].min(), ends[:, 1].max(), _POINTS)
        xp = array_namespace(X) if hasattr(X, "dtype") else np
        given = np.empty((1, 0)) if X is None else X
        density = to_numpy(self.density_at(xp.asarray(y[:, None]))(given))
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.subplots()[1]
        for label, row in zip(labels, density, strict=True):
            axes.plot(y, row, label=str(label))
        axes.set(xlabel="y", ylabel="p(y|x)")
        return axes

    def _require_distribution(self) -> None:
        """Raise `ValueError` where there is no distribution function."""
        if self.n_outputs_ != 1:
            said = "cdf, quantile, interval and crps are of one y"
            remedy = "draw with sample, and take shares or quantiles of the draws"
            raise ValueError(f"{said}; the fit is of {self.n_outputs_}: {remedy}")

    def _cdf(self, X, y):
        """Return P(Y ≤ y|x), shape (n,), for checked X (n, d_x) and y (n,)."""
        return self._of_pairs([TabulatedCdf.cdf], X, y, FINE)[0]

    def _crps(self, X, y):
        """Return the CRPS, shape (n,), for checked X (n, d_x) and y (n,)."""
        return self._of_pairs([TabulatedCdf.crps], X, y, COARSE)[0]

    def _cdf_and_crps(self, X, y) -> tuple:
        """Return both; where they are by quadrature for the cost of one, to 1e-6."""
        if type(self)._crps is not Distribution._crps:
            return self._cdf(X, y), self._crps(X, y)
        return self._of_pairs([TabulatedCdf.cdf, TabulatedCdf.crps], X, y, COARSE)

    def _of_pairs(self, functions: Sequence[Callable], X, y, tolerance: float) -> tuple:
        """Return functions of a table of F and of y, shape (n,) each."""
        xp, values = array_namespace(X), to_numpy(y)
        if not X.shape[1]:
            table = self._tabulate_cdf(self._no_x, tolerance)
            return tuple(xp.asarray(function(table, values[None, :])[0]) for function in functions)

        def of(rows, table):
            return [function(table, values[rows, None])[:, 0] for function in functions]

        parts = zip(*self._from_tables(of, X, tolerance), strict=True)
        return tuple(xp.asarray(np.concatenate(part)) for part in parts)

    def _cdf_at(self, X, y: np.ndarray):
        """Return P(Y ≤ y|x), shape (n, q), for checked X (n, d_x) at shared y (q,), to 1e-6."""

        def of(rows, table):
            return table.cdf(np.broadcast_to(y, (rows.stop - rows.start, len(y))))

        return array_namespace(X).asarray(np.concatenate(self._from_tables(of, X, COARSE)))

    def _quantile_and_cdf(self, X, p: np.ndarray) -> tuple:
        """Return the quantiles at checked X (n, d_x) and p (k,), and F with its slope.

        That is a function of y (n, k) which gives P(Y ≤ y|x) and p(y|x), shape (n, k) each. Tables
        are made once; a distribution function in closed form needs none.
        """
        xp = array_namespace(X)
        if type(self)._cdf is not Distribution._cdf or not X.shape[1]:

            def closed(y):
                columns = [y[:, i] for i in range(y.shape[1])]
                slopes = [self.pdf(X, column[:, None]) for column in columns]
                return xp.stack([self._cdf(X, c) for c in columns], 1), xp.stack(slopes, 1)

            return self._quantile(X, p), closed
        tables = self._from_tables(lambda *found: found, X)

        def tabulated(y):
            values = to_numpy(y)
            parts = [table.cdf_and_density(values[rows, :]) for rows, table in tables]
            found = np.concatenate(parts)
            return xp.asarray(found[..., 0]), xp.asarray(found[..., 1])

        return xp.asarray(np.concatenate([table.quantile(p) for _, table in tables])), tabulated

    def _quantile(self, X, p: np.ndarray):
        """Return the quantiles, shape (n, k), for checked X (n, d_x) and p (k,)."""
        xp = array_namespace(X)
        if not X.shape[1]:
            found = self._tabulate_cdf(self._no_x).quantile(p)
            return xp.asarray(np.broadcast_to(found, (X.shape[0], len(p))).copy())
        return xp.asarray(np.concatenate(self._from_tables(lambda _, table: table.quantile(p), X)))

    def _tabulate_cdf(self, X, tolerance: float = FINE) -> TabulatedCdf:
        return TabulatedCdf(self._log_relative_at, X, self._panels(), tolerance)

    def _from_tables(self, function: Callable, X, tolerance: float = FINE) -> list:
        """Return what a function of some rows of X and of the table of F there gives, by blocks."""
        panels, at = self._panels(), _remembering(self._log_relative_at, self._n_fitted)

        def of(rows):
            with numbered(np.arange(rows.start, rows.stop)):
                table = TabulatedCdf(at, X[rows, :], panels, tolerance)
            return function(rows, table)

        return list(map_threads(of, row_blocks(X.shape[0], _NODES * len(panels), like=X), X))

    def _log_relative_at(self, Y):
        """Return a function X -> log p(Y|X) up to a constant for each x; see `log_density_at`."""
        return self.log_density_at(Y)


def crps_by_draws(draw: Callable, X, y):
    """Return E|Y - y| - E|Y - Y'|/2, shape (n,), at y (n,) over draws of each x, as `sample`."""
    xp = array_namespace(X)
    weights = xp.asarray(2.0 * np.arange(DRAWS) - DRAWS + 1.0) / (DRAWS * (DRAWS - 1))

    def of(rows):
        rng = rng_of("crps", rows.start)  # whatever the order of threads
        draws = xp.sort(draw(X[rows, :], DRAWS, rng)[:, :, 0], axis=1)
        return xp.mean(xp.abs(draws - y[rows, None]), axis=1) - draws @ weights

    return by_blocks(of, X.shape[0], DRAWS, like=X)


def with_one(f: Callable) -> Callable:
    """Return a function of Y (m, d_y) to 1 and then f, shape (m, 1 + q)."""

    def one_and_f(Y):
        xp = array_namespace(Y)
        return xp.concat([xp.ones_like(Y[:, :1]), f(Y)], axis=1)

    return one_and_f


def _renormalised(model, f: Callable, X):
    """Return E[f(Y)|x] / E[1|x], shape (n, q), for checked X."""
    found = model.conditional_expectation(with_one(f), X)
    return found[:, 1:] / found[:, :1]


def _remembering(at: Callable, width: int) -> Callable:
    """Return `at`, a function of shared y, so that blocks of x do not each compute it anew.

    It keeps what was returned first, up to 256 MB of `width` numbers a y.
    """
    kept: dict[bytes, Callable] = {}
    room = _REMEMBERED // max(1, width)

    def again(Y):
        nonlocal room
        key = to_numpy(Y).tobytes()
        if key in kept:
            return kept[key]
        found = at(Y)
        if Y.shape[0] <= room:
            kept[key], room = found, room - Y.shape[0]
        return found

    return again


def check_probabilities(name: str, values) -> np.ndarray:
    """Return a number or a vector of numbers in (0, 1) as a numpy array, or raise `ValueError`."""
    checked = np.asarray(to_numpy(values) if hasattr(values, "dtype") else values, dtype=np.float64)
    if checked.ndim > 1 or not np.all((checked > 0.0) & (checked < 1.0)):
        raise ValueError(f"{name} must be one number or vector within (0, 1); got {values!r}")
    return checked


def tails(level: float) -> list[float]:
    """Return the probabilities below the two ends of an interval with equal tails."""
    if check_probabilities("level", level).ndim:
        raise ValueError(f"level must be one number; got {level!r}")
    return [0.5 * (1.0 - float(level)), 0.5 * (1.0 + float(level))]
