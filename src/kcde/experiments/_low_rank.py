"""Low-rank embeddings: how their parameters are chosen, and what fitting them costs (jdl).

Of n rows the first four fifths train and the last fifth validates. Bandwidths are multiples of the
median distance between training rows over √2, those of x and of y separately; a basis of each
bandwidth is made once, for all regularizations and with constraints and without. What is chosen may
be chosen on fewer rows than are fitted to. All of it stays where the rows are, on the host or on a
device: losses alone come back. Bases and cross moments of
the same rows are made once for all estimators (`Bases`).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from copy import copy
from typing import NamedTuple

import numpy as np

from kcde.arrays import to_numpy
from kcde.experiments import _measured_fit
from kcde.experiments.base import FAILURES, attempt, clock
from kcde.kernels import median_trick
from kcde.selection import Trials

# Hyper-parameters that leave bases as they are.
_OF_THE_SOLUTION = {"regularization", "constrained"}

# Numbers of a factor that is held in memory where several are: half a gibibyte.
MOST_HELD = 2**26


class Fit(NamedTuple):
    """A fitted embedding, and the seconds of its bases, their cross moments and the solution."""

    model: object
    factorise: float
    summarise: float
    solve: float

    def seconds(self, prefix: str = "") -> list[tuple[str, float, str]]:
        """Return (metric, value, unit) of the seconds."""
        parts = zip(self._fields[1:], self[1:], strict=True)
        return [(f"{prefix}seconds_{name}", value, "s") for name, value in parts]


class Bases:
    """Bases of training rows and their cross moments, with the seconds that each took.

    A basis computed for one estimator is reused by every other that has the same, and the factor of
    the tightest tolerance by those with looser ones, which are its first columns.

    Parameters
    ----------
    X, Y
        Training rows, shapes (n, d_x) and (n, d_y).
    tightest
        Of the tolerances of the estimators to come. The seconds of a looser one are those of the
        tightest. None: each factorises for itself.
    most_y
        Numbers of a factor of y that is kept, at most. The rows of a larger one are recomputed in
        every pass over the rows, n m kernel values.
    made
        Bases and cross moments of the same rows with their seconds, which others `add_to`. It is
        taken over: what is dropped here is dropped there.
    """

    def __init__(self, X, Y, tightest=None, most_y=np.inf, made=None):
        self.X, self.Y, self._tightest, self._most_y = X, Y, tightest, most_y
        self._made = {} if made is None else made

    def x(self, model) -> tuple[object, float]:
        """Return the basis of x with an estimator's hyper-parameters, and its seconds."""
        return self._basis(model, "x", lambda tight: tight.make_basis_x(self.X))

    def y(self, model) -> tuple[object, float]:
        """Return the basis of y with an estimator's hyper-parameters, and its seconds."""

        def make(tight):
            return _without_large_factor(tight.make_basis_y(self.Y), self._most_y)

        return self._basis(model, "y", make)

    def summary(self, model) -> tuple[object, float]:
        """Return both bases with their cross moments, and the seconds of the latter."""
        (basis_x, _), (basis_y, _), tight = self.x(model), self.y(model), self._tight(model)

        def make():
            if tight is model:
                return model.summarise(self.X, self.Y, basis_x, basis_y)
            return self.summary(tight)[0].truncate(basis_x, basis_y)

        made = self._once(tuple(_keys(model)), make)
        return made if tight is model else (made[0], self.summary(tight)[1])

    def add_to(self, collected: dict, models: Iterable, streamed: bool = True) -> None:
        """Add bases and cross moments with their seconds to those of other bases of the same rows.

        Factors stay in memory if they are of `models`; what has none is kept if `streamed`.
        """
        wanted = self._keys_of(models)
        for key, (made, seconds) in {**collected, **self._made}.items():
            kept = made if key in wanted else _slim(made)
            collected[key] = kept, seconds
            if not streamed and _is_streamed(kept):
                del collected[key]

    def keep(self, wanted: Callable[[Hashable], bool]) -> None:
        """Drop all but the bases and the cross moments with wanted keys, for memory."""
        for key in [key for key in self._made if not wanted(key)]:
            del self._made[key]

    def in_order(self, models: Mapping[Hashable, object]) -> Iterator[Hashable]:
        """Yield the names of estimators so that bases are dropped early.

        Before each, what neither it nor a later one has is dropped: bases may be as large as
        memory.
        """
        left = sorted(models, key=lambda name: [key[-1] for key in _keys(models[name])])
        while left:
            wanted = self._keys_of(models[name] for name in left)
            self.keep(wanted.__contains__)
            yield left.pop(0)

    def fit(self, model) -> Fit:
        """Fit a copy of an estimator of expectations to the rows.

        The time its constraints spend on the bases is counted, as if it had been fitted alone.
        """
        summary, summarise = self.summary(model)
        factorise = self.x(model)[1] + self.y(model)[1]
        x, y = map(_without_extrema, (summary.basis_x, summary.basis_y))
        summary = summary._replace(basis_x=x, basis_y=y)
        started = clock(self.X)
        (fitted,) = model.fit_path(self.X, self.Y, [model.regularization], summary)
        return Fit(fitted, factorise, summarise, clock(self.X) - started)

    def fit_classifier(self, model, labels) -> Fit:
        """Fit a copy of a classifier to the rows of x; it has no cross moments."""
        basis, factorise = self.x(model)
        started = clock(self.X)
        (fitted,) = model.fit_path(self.X, labels, [model.regularization], basis)
        return Fit(fitted, factorise, 0.0, clock(self.X) - started)

    def _keys_of(self, models: Iterable) -> set[Hashable]:
        """Return the keys of the bases and the cross moments that fits of some estimators take."""
        each = [_keys(one) for model in models for one in (model, self._tight(model))]
        return {key for keys in each for key in (*keys, tuple(keys))}

    def _tight(self, model):
        """Return the estimator with the tightest tolerance; itself if it has that or has none."""
        tolerance = getattr(model, "tolerance", None)
        if self._tightest is None or tolerance in (None, self._tightest):
            return model
        return with_options(model, {"tolerance": self._tightest})

    def _basis(self, model, side: str, make: Callable) -> tuple[object, float]:
        tight = self._tight(model)
        made = self._once(_key(tight, side), lambda: make(tight))
        if tight is model:
            return made
        looser, _ = self._once(_key(model, side), lambda: made[0].truncate(model.tolerance))
        return looser, made[1]

    def _once(self, key: Hashable, make: Callable) -> tuple[object, float]:
        if key not in self._made:
            started = clock(self.X)
            made = make()
            # A device works in order: where one number has come back, all before it is done.
            to_numpy(getattr(made, "basis_x", made).mean[:1])
            self._made[key] = made, clock(self.X) - started
        return self._made[key]


def group_by_basis(models: Mapping[Hashable, object]) -> list[dict[Hashable, object]]:
    """Return estimators grouped by their basis of x, regardless of the tolerance, in order."""
    parts: dict[Hashable, dict] = {}
    for name, model in models.items():
        parts.setdefault(_key(model, "x", but={"tolerance"}), {})[name] = model
    return list(parts.values())


def tightest(models: Iterable) -> float | None:
    """Return the smallest tolerance of some estimators, None if one has none."""
    tolerances = [getattr(model, "tolerance", None) for model in models]
    return None if None in tolerances else min(tolerances, default=None)


def with_options(model, options: Mapping[str, object]):
    """Return a copy of an unfitted estimator with other hyper-parameters."""
    # What scikit-learn's clone and set_params inspect takes longer than a small fit.
    changed = copy(model)
    for name, value in options.items():
        setattr(changed, name, value)
    return changed


def is_classifier(model) -> bool:
    """Return whether an estimator gives probabilities of two classes, not expectations."""
    return hasattr(model, "predict_proba")


def _keys(model) -> list[Hashable]:
    return [_key(model, side) for side in ("x" if is_classifier(model) else "xy")]


def _key(model, side: str, but: Set[str] = frozenset()) -> Hashable:
    """Return the key of a basis: its constructor and the hyper-parameters it depends on."""
    other = "bandwidth_y" if side == "x" else "bandwidth_x"
    names = {*model._get_param_names()} - _OF_THE_SOLUTION - {other} - but
    own = {name: getattr(model, name) for name in sorted(names)}
    return side, getattr(type(model), f"make_basis_{side}"), repr(own)


def _is_streamed(made) -> bool:
    """Return whether a factor is not in memory, of a basis or of either of a summary."""
    if hasattr(made, "basis_x"):
        return _is_streamed(made.basis_x) or _is_streamed(made.basis_y)
    factor = getattr(made, "factor", None)
    return factor is not None and factor.L is None


def _slim(made):
    """Return a basis, or bases with their cross moments, whose factors are not in memory."""
    if hasattr(made, "basis_x"):
        return made._replace(basis_x=_slim(made.basis_x), basis_y=_slim(made.basis_y))
    return _without_large_factor(made, 0)


def _without_large_factor(basis, most: float):
    """Return a basis, or a copy whose factor is not in memory where it has more numbers."""
    factor = getattr(basis, "factor", None)
    if factor is None or factor.L is None or factor.L.shape[0] * factor.L.shape[1] <= most:
        return basis
    streamed = copy(basis)
    streamed.factor = factor._replace(L=None)
    return streamed


def _without_extrema(basis):
    """Return a copy of a basis that has yet to look for its extremes, which it keeps."""
    renewed = copy(basis)
    vars(renewed).pop("extrema", None)
    return renewed


def training_rows(n: int) -> int:
    """Return how many of n rows train; the others validate."""
    if n < 5:
        raise ValueError(f"four fifths train and one fifth validates: give 5 rows or more; got {n}")
    return 4 * n // 5


def held_out(rows, count: int | None = None):
    """Return the rows after the training rows, where candidates are compared, at most `count`."""
    return first_rows(rows[training_rows(rows.shape[0]) :, :], count)


def first_rows(rows, count: int | None):
    """Return the first rows of an array (n, d), at most `count` of them; None: all."""
    # Not every namespace allows a slice that ends beyond the array.
    n = rows.shape[0]
    return rows[: n if count is None else min(count, n), :]


def bandwidths(model, side: str, rows, factors: Sequence[float]) -> list[dict]:
    """Return constructor arguments to try: factors of the median distance between rows over √2.

    The first 1000 rows count; a model without a bandwidth of this side keeps what it has.
    """
    name = f"bandwidth_{side}"
    if name not in model.get_params(deep=False):
        return [{}]
    middle = median_trick(to_numpy(first_rows(rows, 1000)), 0.5, side)
    return [{name: factor * middle} for factor in factors]


def bandwidths_of(model, X, Y, factor: float) -> dict[str, float]:
    """Return both bandwidths of a factor."""
    return bandwidths(model, "x", X, [factor])[0] | bandwidths(model, "y", Y, [factor])[0]


def select(models: Mapping, X, Y, f, loss, grid, collected=None, streamed=True) -> dict:
    """Return `Trials` of a grid with every model, fitted to the first four fifths of the rows.

    The models share the basis of x up to the tolerance, and that of y unless they are classifiers,
    which learn f itself. `loss` maps the expectations of `f` at the `held_out` rows, (k, q), to a
    number. Bases and cross moments are added to `collected`; `streamed`: those of all candidates,
    not only of those that are best and stay in memory.
    """
    train = training_rows(X.shape[0])
    # One basis of x is held at a time, beside those that are best, but all of y.
    bases = Bases(X[:train, :], Y[:train, :], tightest(models.values()), MOST_HELD)
    search = _Search(bases, held_out(X, grid.validation_rows), f, loss, grid.regularizations)
    trials = {key: Trials() for key in models}
    # Of a classifier none of y is tried, but others may have one.
    example = min(models.values(), key=is_classifier)
    try:
        of_x = bandwidths(example, "x", bases.X, grid.bandwidth_factors)
        of_y = bandwidths(example, "y", bases.Y, grid.bandwidth_factors)
    except FAILURES as error:
        for each in trials.values():
            each.add({}, error)
        return trials
    for options_x in of_x:
        search.begin()
        if (left := search.left(models, options_x)) > grid.most_trace:
            unfit = FloatingPointError(f"the factor of x leaves {left:.2g} of the trace")
            for each in trials.values():
                each.add(options_x, unfit)
            continue
        for key, model in models.items():
            for others in [{}] if is_classifier(model) else of_y:
                options = options_x | others
                losses = search.losses(with_options(model, options))
                for value, outcome in zip(grid.regularizations, losses, strict=True):
                    trials[key].add(options | {"regularization": value}, outcome)
        if collected is not None:
            best = (trials[key].shape(copy(model)) for key, model in models.items())
            bases.add_to(collected, best, streamed)
    return trials


class _Search:
    """A grid over bandwidths of x, then of y, then λ; all models share what they can of it."""

    def __init__(self, bases: Bases, held_out, f: Callable, loss: Callable, values: Sequence):
        self._bases, self._held_out, self._values = bases, held_out, values
        self._f, self._loss = f, loss
        # What depends on y alone serves every basis of x.
        self._projections = {}
        self.begin()

    def begin(self) -> None:
        """Go on to another bandwidth of x."""
        # Of x one basis at a time, and those collected: together they may be larger than memory.
        self._bases.keep(lambda key: key[0] == "y")
        self._features = {}

    def left(self, models: Mapping, options: Mapping) -> float:
        """Return the largest share of the trace that a factor of x with these options leaves."""
        shares = [0.0]
        for model in models.values():
            with suppress(*FAILURES):
                basis, _ = self._bases.x(with_options(model, options))
                if factor := getattr(basis, "factor", None):
                    shares.append(factor.trace_error / factor.trace)
        return float(max(shares))

    def losses(self, model) -> list:
        """Return the loss of an estimator at each λ, or the error in its place."""
        try:
            found = self._probabilities(model) if is_classifier(model) else self._moments(model)
        except FAILURES as error:
            return [error] * len(self._values)
        return [each if isinstance(each, Exception) else float(self._loss(each)) for each in found]

    def _moments(self, model) -> list:
        """Return the expectations of fits that differ in λ alone."""
        summary, _ = self._bases.summary(model)
        path = model.fit_path(self._bases.X, self._bases.Y, self._values, summary, True)
        fitted = [each for each in path if not isinstance(each, Exception)]
        if not fitted:
            return path
        first = fitted[0]
        if (of_x := id(first.basis_x_)) not in self._features:
            self._features[of_x] = first.features(self._held_out)
        if (of_y := (type(first).project, id(first.basis_y_))) not in self._projections:
            self._projections[of_y] = first.project(self._f)
        found = iter(first._expectations_of(fitted, self._projections[of_y], self._features[of_x]))
        return [each if isinstance(each, Exception) else next(found) for each in path]

    def _probabilities(self, model) -> list:
        """Return the probabilities of a classifier, whose solver may stop early at a λ."""
        labels = to_numpy(self._f(self._bases.Y))[:, 0].astype(int)
        basis, _ = self._bases.x(model)
        fit = model.fit_path
        try:
            path = fit(self._bases.X, labels, self._values, basis)
        except FloatingPointError:
            # It must not take the others with it.
            each = (attempt(fit, self._bases.X, labels, [value], basis) for value in self._values)
            path = [found if isinstance(found, Exception) else found[0] for found, _ in each]
        at = self._held_out
        return [e if isinstance(e, Exception) else e.predict_proba(at)[:, 1:] for e in path]


def costs(fitted: Fit, evaluated: float) -> list[tuple]:
    """Return (metric, value, unit) of what a fit cost, of its solver, and of its factors.

    `evaluated` are the seconds that the expectations at the test points took. Behind the residual
    of the solver stands that it has no standard error, and its status. `peak_memory` is that of
    this process so far, with everything that it did before; the trace errors exceed the tolerance
    where the rank was capped.
    """
    model, found = fitted.model, [("seconds_evaluate", evaluated, "s"), *fitted.seconds()]
    units = {"rank_x": "functions", "rank_y": "functions", "solver_iterations": "iterations"}
    for name, unit in units.items():
        if hasattr(model, f"{name}_"):
            found.append((name, float(getattr(model, f"{name}_")), unit))
    residual, status = float(model.solver_residual_), model.solver_status_
    found.append(("solver_residual", residual, "", np.nan, status))
    for side, basis in (("x", "basis_x_"), ("x", "basis_"), ("y", "basis_y_")):
        if factor := getattr(getattr(model, basis, None), "factor", None):
            found.append((f"trace_error_{side}", factor.trace_error / factor.trace, ""))
    return [*found, ("peak_memory", _measured_fit.peak_memory() / 2**20, "MiB")]


def structure(model, X, Y) -> list[tuple[str, float, str]]:
    """Return (metric, value, unit) of what a model promises, at test pairs X (n, d_x), Y (n, d_y).

    ``density_violation_rate``  of a joint distribution: share of pairs with 1 + h(x, y) < 0
    ``tightening_infeasible``   of an embedding without constraints: 1 where (33) is proven to
                                contradict (53), else 0
    """
    if hasattr(model, "density_ratio"):
        share = float(np.mean(to_numpy(model.density_ratio(X, Y)) < 0))
        return [("density_violation_rate", share, "")]
    if hasattr(model, "certify_tightening") and not model.constrained:
        return [("tightening_infeasible", float(model.certify_tightening() is not None), "")]
    return []
