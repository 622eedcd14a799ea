"""Joint densities as products of conditionals along a directed acyclic graph (kcef, section 4).

p(y) = Π_i p(y_i | y_π(i)): each factor is any conditional estimator with a one-dimensional y,
fitted independently of the others. Columns are counted from 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from kcde.arrays import array_namespace, take_columns, to_numpy
from kcde.estimators._shared.rows import check_names, check_not_constant, check_rows, names_of
from kcde.estimators.base import Tags
from kcde.metrics import DIVERGENCE_RATE, R_HAT
from kcde.names import SAMPLED_BY
from kcde.seeding import generator, rng_of, seed_of

Graph = str | Sequence[Sequence[int]]
Parents = list[tuple[int, ...]]

NAMED = {
    "full": lambda d: [tuple(range(i)) for i in range(d)],
    "markov": lambda d: [tuple(range(max(i - 1, 0), i)) for i in range(d)],
}


def parents(graph: Graph, d: int) -> Parents:
    """Return the parents of each of d columns.

    Parameters
    ----------
    graph
        "full": all columns before; "markov": the one before; or one list of parents per column,
        which must form a directed acyclic graph.
    d
        Number of columns.

    Returns
    -------
    list of tuple of int
        In increasing order.

    Raises
    ------
    ValueError
        If the name or a parent is unknown, a column is its own parent, the number of lists is not
        d, or there is a cycle; the message names the columns.
    """
    if isinstance(graph, str):
        if graph not in NAMED:
            known = f"one of {', '.join(NAMED)}, or a list of parents for each column"
            raise ValueError(f"graph must be {known}; got {graph!r}")
        return NAMED[graph](d)
    if len(graph) != d:
        raise ValueError(f"graph has {len(graph)} lists of parents for {d} columns; give {d}")
    for column, given in enumerate(graph):
        for parent in given:
            whole = isinstance(parent, int | np.integer) and not isinstance(parent, bool)
            if not whole or parent == column or not 0 <= parent < d:
                wrong = f"graph: column {column} has the parent {parent!r}"
                raise ValueError(f"{wrong}; give numbers of other columns, 0 to {d - 1}")
    checked = [tuple(sorted({int(parent) for parent in given})) for given in graph]
    topological_order(checked)
    return checked


def topological_order(parents: Parents) -> list[int]:
    """Return the columns in an order in which parents come before their children."""
    try:
        return list(TopologicalSorter(dict(enumerate(parents))).static_order())
    except CycleError as error:
        path = " -> ".join(map(str, error.args[1]))
        raise ValueError(f"graph has the cycle {path}; take one of these edges out") from None


class JointDensity(BaseEstimator):
    """Predict the joint density of several y, a conditional density for each, along a graph.

    p(y) = Π_i p(y_i | y_π(i)), each factor a clone of a conditional estimator.
    Fitting costs d fits with as many columns of x as a node has parents.

    Parameters
    ----------
    estimator
        An unfitted estimator of p(y|x), or a list of one per column.
    graph
        "full", "markov", or the parents of each column; see `parents`.

    Attributes
    ----------
    factors_
        The fitted estimators, in the order of the columns.
    parents_
        The parents of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import LSCDE
    >>> from kcde.joint import JointDensity
    >>> Y = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = JointDensity(LSCDE(1.0, 1.0, 0.1), graph="markov").fit(None, Y)
    >>> model.sample(None, 5, np.random.default_rng(1)).shape
    (1, 5, 3)
    """

    _output_names: list[str] | None = None

    def __init__(self, estimator, graph: Graph = "full"):
        self.estimator = estimator
        self.graph = graph

    @property
    def tags(self) -> Tags:
        """The tags of the estimator, for a model without x."""
        first = self.estimator[0] if isinstance(self.estimator, Sequence) else self.estimator
        return replace(first.tags, unconditional=True, grouped=False)

    def fit(self, X, Y) -> "JointDensity":
        """Fit every factor.

        Parameters
        ----------
        X
            None, or of shape (n, 0).
        Y
            Shape (n, d), an array or a data frame; (n,) for one column.

        Raises
        ------
        ValueError
            If the graph is wrong, a column of Y is constant or has more parents than there are
            rows, or X has columns; besides what the estimator itself refuses.
        numpy.linalg.LinAlgError
            If a factor's system is singular beyond repair.
        """
        names, Y = names_of(Y), self._check(X, Y)
        check_not_constant(Y)
        chosen = self._parents(Y)
        self.factors_ = [self.fit_factor(column, Y) for column in range(Y.shape[1])]
        self.parents_, self._output_names = chosen, names
        self.n_features_in_, self.n_outputs_, self._no_x = 0, Y.shape[1], Y[:1, :0]
        return self

    def fit_factor(self, column: int, Y):
        """Return the fitted factor of one column, independently of the others.

        Parameters
        ----------
        column
            Number of the column.
        Y
            Shape (n, d), all columns.

        Raises
        ------
        ValueError, numpy.linalg.LinAlgError
            As `fit`.
        """
        Y = check_rows("Y", Y, vector=True)
        chosen = self._parents(Y)[column]
        single = self.estimator
        factor = clone(single[column] if isinstance(single, Sequence) else single)
        # Each factor has random states of its own.
        states = {
            name: seed_of("factor", state, column) % 2**32
            for name, state in factor.get_params().items()
            if name.split("__")[-1] == "random_state"
        }
        return factor.set_params(**states).fit(_columns(Y, chosen), _columns(Y, (column,)))

    def factor_log_density(self, Y):
        """Return log p(y_i | y_π(i)), nats, shape (n, d)."""
        Y = self._check(None, Y, fitted=True)
        each = enumerate(zip(self.factors_, self.parents_, strict=True))
        terms = [f.log_density(_columns(Y, chosen), _columns(Y, (i,))) for i, (f, chosen) in each]
        return array_namespace(Y).stack(terms, axis=1)

    def log_density(self, X, Y):
        """Return log p(y), nats, shape (n,); X is None or of shape (n, 0)."""
        self._check(X, Y, fitted=True)
        terms = self.factor_log_density(Y)
        return array_namespace(terms).sum(terms, axis=1)

    def score(self, X, Y) -> float:
        """Return the mean log density, nats."""
        log_density = self.log_density(X, Y)
        return float(array_namespace(log_density).mean(log_density))

    def sample(self, X, n: int, random_state):
        """Draw by ancestral sampling: a column after its parents.

        Parameters
        ----------
        X
            None, which stands for one row, or of shape (n, 0).
        n
            Draws for each row, k.
        random_state
            A whole number, or a numpy Generator.

        Returns
        -------
        shape (n, k, d)

        Raises
        ------
        ValueError
            If X has columns or no rows.
        """
        check_is_fitted(self)
        rows = 1 if X is None else check_rows("X", X, 0, some=True).shape[0]
        rng = generator(random_state)

        def draw(column, given):
            return self.factors_[column].sample(given, 1, rng)[:, 0, 0]

        drawn = self.ancestral(draw, rows * n)
        return array_namespace(drawn).reshape(drawn, (rows, n, self.n_outputs_))

    def ancestral(self, draw: Callable, n: int):
        """Draw n rows, a column at a time.

        Parameters
        ----------
        draw
            `draw(column, X)` returns one value of that column for each row of X (n, parents).
        n
            Rows.

        Returns
        -------
        shape (n, d)
        """
        check_is_fitted(self)
        xp, drawn = array_namespace(self._no_x), {}
        for column in topological_order(self.parents_):
            known = [drawn[parent] for parent in self.parents_[column]]
            given = xp.stack(known, axis=1) if known else xp.repeat(self._no_x, n, axis=0)
            drawn[column] = draw(column, given)
        return xp.stack([drawn[column] for column in range(self.n_outputs_)], axis=1)

    def _parents(self, Y) -> Parents:
        chosen = parents(self.graph, Y.shape[1])
        for column, before in enumerate(chosen):
            if len(before) > Y.shape[0]:
                many = f"column {column} has {len(before)} parents, more than the {Y.shape[0]} rows"
                raise ValueError(f"graph: {many} of Y; give it fewer parents or more data")
        return chosen

    def _check(self, X, Y, fitted: bool = False):
        if fitted:
            check_is_fitted(self)
            check_names(Y, self._output_names)
        Y = check_rows("Y", Y, self.n_outputs_ if fitted else None, vector=True, some=fitted)
        if X is not None and tuple(X.shape) != (Y.shape[0], 0):
            allowed = f"X must be None or have shape ({Y.shape[0]}, 0)"
            raise ValueError(f"a joint density has no x: {allowed}; got shape {tuple(X.shape)}")
        return Y


def _columns(Y, columns: Sequence[int]):
    return take_columns(Y, np.asarray(columns, dtype=np.int64))


class Draws(NamedTuple):
    """Samples, shape (n, d), on the host; what Hamiltonian Monte Carlo says of them, or {}."""

    samples: np.ndarray
    diagnostics: dict[str, float]


def check_conditionals(model: JointDensity, rows, n: int) -> list:
    """Return how Hamiltonian Monte Carlo does at fixed parents: n draws from 20 chains each.

    `rows`, shape (k, d), on the backend of the model, have the parents; there is a result for every
    factor that has any.
    """
    xp, host = array_namespace(rows), to_numpy(rows)
    return [
        model.factors_[column].sample_hmc(xp.asarray(host[:, before]), n, rng_of("check", column))
        for column, before in enumerate(model.parents_)
        if before
    ]


def ancestral_hmc(model: JointDensity, n: int, rng, checks: Sequence = ()) -> Draws:
    """Draw n rows from a product of conditionals by Hamiltonian Monte Carlo.

    The diagnostics are the mean acceptance and the divergences of the transitions that made the
    samples, and the worst R-hat and effective sample size over the columns without parents and the
    checks (of `check_conditionals`): a single chain for each row of parents has none.
    """
    results, several = [], list(checks)

    def draw(column: int, given):
        factor, xp = model.factors_[column], array_namespace(given)
        if given.shape[1]:
            results.append(factor.sample_hmc(given, 1, rng))
            return xp.asarray(results[-1].draws[:, 0, 0])
        results.append(factor.sample_hmc(given[:1, :], n, rng))
        several.append(results[-1])
        # Draws of a chain follow each other: shuffled, the rows are exchangeable.
        return xp.asarray(rng.permutation(results[-1].draws[0, :, 0]))

    return Draws(to_numpy(model.ancestral(draw, n)), hmc_diagnostics(results, several))


def hmc_diagnostics(results: list, several: list) -> dict[str, float]:
    """Return rates over the chains that made the samples, and the worst of those comparable.

    The rate of divergences is that of the worst column.
    """
    return {
        "acceptance_rate": float(np.mean([each.acceptance for each in results])),
        R_HAT: float(np.max([each.r_hat for each in several])),
        "effective_sample_size": float(np.min([c.effective_sample_size for c in several])),
        "divergences": float(sum(each.divergences for each in results)),
        DIVERGENCE_RATE: max(each.divergences / each.transitions for each in results),
    }


_CHECKED_ROWS = 5

# How adapted chains differ from the published ones: declared before any sample was compared.
ADAPTED = {"burn_in": 1000, "windows": True}


def sampler_kind(estimator, method: str) -> str:
    """Return "hmc", "adapted" or "direct".

    It is what the ending of the method's name says (`kcde.names.SAMPLED_BY`), else "hmc" where the
    estimator offers it, else "direct". Adapted chains are of one density, not of a graph.
    """
    named = (kind for ending, kind in SAMPLED_BY.items() if method.endswith(ending))
    return next(named, "hmc" if hasattr(estimator, "sample_hmc") else "direct")


def sampler_of(model, kind: str, train, n: int, **options) -> Callable:
    """Return the function of (n, rng) that draws from a fitted model.

    `train`: the rows that it was fitted to, on its backend, at the first of which convergence is
    checked with n draws; `options`: for `sample_hmc` of an estimator without x.
    """
    if kind == "direct":
        direct = getattr(model, "sample_learned", model.sample)  # DDE's, as published
        return lambda n, rng: Draws(to_numpy(direct(train[:1, :0], n, rng))[0], {})
    if isinstance(model, JointDensity):
        checks = check_conditionals(model, train[: min(_CHECKED_ROWS, train.shape[0]), :], n)
        return lambda n, rng: ancestral_hmc(model, n, rng, checks)
    how = {**(ADAPTED if kind == "adapted" else {}), **options}

    def draw(n: int, rng: np.random.Generator) -> Draws:
        result = model.sample_hmc(None, n, rng, **how)
        return Draws(result.draws[0], hmc_diagnostics([result], [result]))

    return draw
