"""Base class of the low-rank estimators of conditional expectations (jdl)."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

from kcde.arrays import array_namespace, row_blocks, take_rows, to_numpy
from kcde.estimators._low_rank.basis import Basis, Projection
from kcde.estimators._shared import checks
from kcde.estimators._shared.rows import RowChecks, check_not_constant, check_pairs, drawn_places
from kcde.estimators._shared.threads import thread_limit
from kcde.estimators._shared.units import Units
from kcde.estimators.base import ConditionalDensity, Tags
from kcde.memory import require_memory
from kcde.seeding import generator


class Summary(NamedTuple):
    """Everything that a fit needs of the training rows, for every λ, for JDL and CME.

    Attributes
    ----------
    basis_x, basis_y
        Ψ_X and Ψ_Y over the rows.
    cross
        Ψ_YᵀΨ_X/n, shape (m_Y, m_X).
    products
        Averages of the products of the coordinates, L_YᵀL_X/n.
    """

    basis_x: Basis
    basis_y: Basis
    cross: object
    products: object

    def truncate(self, basis_x: Basis, basis_y: Basis) -> "Summary":
        """Return the summary of bases truncated from these, without a pass over the rows."""
        return _rotated(basis_x, basis_y, self.products[: basis_y.rank, : basis_x.rank])


def _rotated(basis_x: Basis, basis_y: Basis, products) -> Summary:
    """Return the summary of bases from averages of the products of their coordinates."""
    return Summary(basis_x, basis_y, basis_y.rotation.T @ products @ basis_x.rotation, products)


def with_regularizations(model, values: Sequence[float]) -> list:
    """Return unfitted copies of an estimator, one a λ."""
    # A clone inspects its constructor, which takes longer than a small fit: one for all.
    plain, models = clone(model), []
    for value in values:
        models.append(copy(plain))
        models[-1].regularization = float(value)
    return models


class LowRankConditional(RowChecks, RegressorMixin, BaseEstimator):
    """Conditional expectations E[f(Y)|x] = f̄ + φᵀ H ψ(x), in a basis of each variable.

    X and Y are arrays or data frames; Y of shape (n,), also a Series, stands for (n, 1). Every
    method that takes X raises `ValueError` where its shape is not that of `fit`, a value is not
    finite or beyond 1e100 in size, or a data frame has other columns than in `fit`, and
    scikit-learn's `NotFittedError` before `fit`. There is no density, and asking for one raises
    `AttributeError`, which names the class that has one.

    A subclass gives `make_basis_x(X)` and `make_basis_y(Y)`, the bases over training rows;
    `_check_parameters()`; `_solve(summary, near)`, which returns coefficients (m_Y, m_X) and
    reports of the solver, where `near` is None or was fitted with another λ; `support_`, the values
    of y that `weights` refer to, (k, d_y); `project(f)`, the projection of f: (k, d_y) -> (k, q),
    which depends on y alone, so that one serves every λ and every basis of x;
    `_directions(projection)`, what the features are multiplied by for an expectation, (m_X, w), and
    `_expected(projection, products)`, E[f(Y)|x] (q, n) from these products (w, n); and
    `_weights_of(models, features)`, the weights of several models with the same bases.
    """

    tags = Tags(density=False)

    def __getattr__(self, name: str):
        if name in _OF_DENSITIES:
            raise AttributeError(
                f"{type(self).__name__} estimates conditional expectations, not a density: there "
                f"is no {name}; SmoothedJDL and SmoothedCME have one"
            )
        # A property whose error is an AttributeError, as NotFittedError is, comes here too.
        return object.__getattribute__(self, name)

    def fit(self, X, Y) -> "LowRankConditional":
        """Fit to pairs.

        Parameters
        ----------
        X
            Shape (n, d_x); None stands for shape (n, 0).
        Y
            Shape (n, d_y), or (n,) for one y.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a shape, a value or a hyper-parameter is wrong, a column of Y is constant, or all
            rows of X coincide.
        FloatingPointError
            If the solver of a constrained problem stops early; names status and residual.
        """
        return self._fit_models([self], X, Y, None, False)[0]

    def fit_path(
        self, X, Y, regularizations, summary: Summary | None = None, return_errors: bool = False
    ) -> list:
        """Fit a copy for each λ; the factorisations and sums over rows are done once.

        Parameters
        ----------
        X, Y
            As for `fit`.
        regularizations
            Values of λ.
        summary
            Result of `summarise` for these rows, if it is known.
        return_errors
            Whether the error of a constrained problem whose solver stopped early takes the place
            of the model, rather than being raised.

        Returns
        -------
        list
            Fitted estimators, in the order of the values.
        """
        models = with_regularizations(self, regularizations)
        return self._fit_models(models, X, Y, summary, return_errors)

    def _fit_models(self, models: list, X, Y, summary: Summary | None, return_errors: bool):
        for model in models:
            checks.positive("regularization", model.regularization)
            model._check_parameters()
        given, outputs = X, Y
        if summary is None:
            X, Y = check_pairs(X, Y, copy=True)
            check_not_constant(Y)
        units = Units(*check_pairs(X, Y)) if self.standardize else None
        with thread_limit((Y if summary is None else summary.basis_y.points).shape[0]):
            summary = self.summarise(X, Y) if summary is None else summary
            # Each from the one before it.
            outcomes, fitted = [], None
            for model in models:
                try:
                    fitted = model._fit_summary(summary, fitted)
                    outcomes.append(fitted)
                except FloatingPointError as error:
                    if not return_errors:
                        raise
                    outcomes.append(error)
        for model in models:
            model._record_feature_names(given)
            model._open(units, outputs)
        return outcomes

    def summarise(
        self, X, Y, basis_x: Basis | None = None, basis_y: Basis | None = None
    ) -> Summary:
        """Return bases and cross moments, all that fitting needs of the rows.

        n (m_X + m_Y)² multiplications at most, in chunks: with `store=False` no array of n rows
        other than single columns is made.

        Parameters
        ----------
        X, Y
            As for `fit`.
        basis_x, basis_y
            Bases of these rows, from `make_basis_x` and `make_basis_y`, if they are known: one per
            bandwidth is enough for a whole grid.
        """
        X, Y = check_pairs(X, Y)
        basis_x = self.make_basis_x(X) if basis_x is None else basis_x
        basis_y = self.make_basis_y(Y) if basis_y is None else basis_y
        products = basis_x.mean_coordinates(basis_y.coordinates, basis_y.rank)
        return _rotated(basis_x, basis_y, products)

    def _fit_blocks(self, few: tuple, blocks: Iterable[tuple], f: Callable) -> Projection:
        """Fit to X (b, d_x) and Y (b, d_y) of blocks, in one pass; return the projection of f.

        Pivots, and the rows that constraints are imposed on, are among a few, X and Y; all else
        is in the averages over all rows of ZᵀZ and f(y)ᵀZ, Z = (L_X, L_Y, 1).
        """
        checks.positive("regularization", self.regularization)
        self._check_parameters()
        basis_x, basis_y = self.make_basis_x(few[0]), self.make_basis_y(few[1])
        xp, m = array_namespace(*few), basis_x.rank
        products = of_f = 0.0
        width = 2 * (m + basis_y.rank) + f(few[1][:1, :]).shape[1]
        for X, Y in blocks:
            for rows in row_blocks(Y.shape[0], width, like=Y):
                x, y = X[rows, :], Y[rows, :]
                one = xp.ones((y.shape[0], 1), dtype=y.dtype)
                Z = xp.concat([basis_x.coordinates_at(x), basis_y.coordinates_at(y), one], axis=1)
                products = products + Z.T @ Z
                of_f = of_f + f(y).T @ Z[:, m:]
        moments, of_f = products / products[-1, -1], of_f / products[-1, -1]
        mean_y, cross = moments[m:-1, -1], moments[m:-1, :m]
        change_x = basis_x.average_over(moments[:m, :m], moments[:m, -1])
        change_y = basis_y.average_over(moments[m:-1, m:-1], mean_y)
        self._fit_summary(Summary(basis_x, basis_y, change_y.T @ cross @ change_x, cross))
        centred = of_f[:, :-1] - of_f[:, -1:] * mean_y
        return self._projection_of(f, of_f[:, -1], (centred @ change_y).T)

    def _projection_of(self, f: Callable, mean, coefficients) -> Projection:
        """Return `project(f)` from averages of f and of (f - f̄) × Ψ_Y over the rows."""
        return Projection(mean, coefficients, f)

    def _fit_summary(self, summary: Summary, near=None):
        self._record_input(None, summary.basis_x.points, summary.basis_y.points)
        self.basis_x_, self.basis_y_ = summary.basis_x, summary.basis_y
        self.rank_x_, self.rank_y_ = summary.basis_x.rank, summary.basis_y.rank
        try:
            self.coef_ = self._solve(summary, near)
        except BaseException:
            self._reset()
            raise
        return self

    def _report(self, status: str, residual: float, iterations: int):
        self.solver_status_, self.solver_residual_ = status, residual
        self.solver_iterations_ = iterations

    def features(self, X):
        """Return Ψ_X at X (n, d_x), shape (n, m_X); n m_X (d_x + m_X) multiplications.

        It depends on x alone, so that the same features serve every λ and every basis of y.
        """
        return self.basis_x_.features(X)

    def expectation(self, projection: Projection, features):
        """Return E[f(Y)|x], shape (n, q), from `project(f)` and `features(X)`."""
        return self._check_fitted()._expectations_of([self], projection, features)[0]

    @staticmethod
    def _expectations_of(models: Sequence["LowRankConditional"], projection: Projection, features):
        """Return `expectation` of each of several models of one kind with the same bases, a list.

        One product with all coefficients reads the features once.
        """
        xp = array_namespace(features)
        directions = xp.concat([model._directions(projection) for model in models], axis=1)
        # Transposed, what follows goes through a few long rows instead of many short ones.
        products = directions.T @ features.T
        width = products.shape[0] // len(models)
        parts = (products[i * width : (i + 1) * width, :] for i in range(len(models)))
        each = zip(models, parts, strict=True)
        return [model._expected(projection, part).T for model, part in each]

    def conditional_expectation(self, f: Callable, X):
        """Return E[f(Y)|x], never renormalised.

        Parameters
        ----------
        f
            Maps (k, d_y) to (k, q).
        X
            Shape (n, d_x).

        Returns
        -------
        shape (n, q)
        """
        return self.expectation(self.project(f), self.features(X))

    def mean(self, X):
        """Return E[Y|x], shape (n, d_y), raw: as `conditional_expectation` of y.

        Where E[1|x] is not 1, as for `CME`, that is of y less the training mean, which is added.
        """
        return self.conditional_expectation(lambda Y: Y, X)

    def predict(self, X):
        """Return E[Y|x], raw: shape (n,) after a fit to y (n,), else (n, d_y)."""
        return self.mean(X)

    def conditional_probability(self, indicator: Callable, X):
        """Return P(Y in A|x), shape (n,), raw: neither clipped nor renormalised.

        Parameters
        ----------
        indicator
            Indicator function of A: maps (k, d_y) to k truth values, shape (k,) or (k, 1).
        X
            Shape (n, d_x).
        """

        def f(Y):
            xp = array_namespace(Y)
            return xp.reshape(xp.astype(indicator(Y), Y.dtype), (-1, 1))

        return self.conditional_expectation(f, X)[:, 0]

    def conditional_moments(self, X):
        """Return E[Y|x], shape (n, d_y), and E[YYᵀ|x], shape (n, d_y, d_y), for X (n, d_x)."""
        d = self.n_outputs_
        moments = self.conditional_expectation(_moment_functions, X)
        second = array_namespace(moments).reshape(moments[:, d:], (moments.shape[0], d, d))
        return moments[:, :d], second

    def weights(self, X):
        """Return the signed weights that E[·|x] puts on `support_`, shape (n, k), X (n, d_x)."""
        count = self.support_.shape[0]
        require_memory(X, f"weights on {count} rows for x", X.shape[0], lambda n: 3 * n * count)
        return self._weights_of([self], self.features(X))[0]

    def sample(self, X, n: int, random_state):
        """Draw rows of `support_` by their weights, negative ones taken as zero.

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
        FloatingPointError
            If no weight is positive at some x.
        """
        rng, support, draws = generator(random_state), self.support_, []
        for rows in row_blocks(X.shape[0], support.shape[0], like=X):
            cumulative = np.cumsum(np.maximum(to_numpy(self.weights(X[rows, :])), 0.0), axis=1)
            if not np.all(cumulative[:, -1] > 0):
                raise FloatingPointError("no weight is positive at some x; constrain the fit")
            draws.append(drawn_places(cumulative, n, rng).ravel())
        taken = take_rows(support, np.concatenate(draws))
        return array_namespace(X).reshape(taken, (X.shape[0], n, support.shape[1]))


def _moment_functions(Y):
    """Return y and the products of its entries, shape (k, d_y + d_y²), for Y (k, d_y)."""
    xp = array_namespace(Y)
    return xp.concat([Y, xp.reshape(Y[:, :, None] * Y[:, None, :], (Y.shape[0], -1))], axis=1)


_OF_DENSITIES = {
    n for n in dir(ConditionalDensity) if n[0] != "_" and not hasattr(LowRankConditional, n)
}
"""Public names of densities that these estimators lack."""
