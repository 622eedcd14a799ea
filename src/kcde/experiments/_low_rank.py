"""Low-rank embeddings: how their parameters are chosen, and what fitting them costs (jdl).

Of n rows the first four fifths train and the last fifth validates. Bandwidths are multiples of the
median distance between training rows over √2, those of x and of y separately; a basis of each
bandwidth is made once, for all regularizations and with constraints and without. What is chosen may
be chosen on fewer rows than are fitted to. All of it stays where the rows are, on the host or on a
device: losses alone come back.
"""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import to_numpy
from kcde.experiments import _measured_fit
from kcde.experiments._shared_bases import Bases, Fit, is_classifier, tightest, with_options
from kcde.experiments.jobs._embedding import Grid
from kcde.experiments.methods import FAILURES
from kcde.kernels import median_trick
from kcde.metrics.names import MATCHED

_MEDIAN_ROWS = 1000


class Selection(NamedTuple):
    """The best of a grid.

    Attributes
    ----------
    options
        Constructor arguments that were chosen.
    loss
        On the validation rows.
    tried
        Number of candidates tried.
    failures
        Errors of the other candidates, each message once.
    """

    options: Mapping[str, float]
    loss: float
    tried: int
    failures: tuple[str, ...]


class Trials:
    """Losses of one method over a grid."""

    def __init__(self):
        self._found: list[tuple[Mapping, float]] = []
        self._failures: list[str] = []

    def add(self, options: Mapping, outcome) -> None:
        """Take a loss, or an error in its place; what is not finite counts as an error."""
        if isinstance(outcome, Exception):
            self._failures.append(f"{type(outcome).__name__}: {outcome}")
        elif not np.isfinite(outcome):
            self._failures.append(f"the loss is {outcome}")
        else:
            self._found.append((options, float(outcome)))

    def best(self) -> Selection:
        """Return the options with the smallest loss, the first among equals.

        Raises
        ------
        FloatingPointError
            If there is none; with what failed first.
        """
        if not self._found:
            raise FloatingPointError(f"no parameters have a finite loss; {self._failures[0]}")
        options, loss = min(self._found, key=lambda each: each[1])
        tried = len(self._found) + len(self._failures)
        return Selection(options, loss, tried, tuple(dict.fromkeys(self._failures)))

    def within(self, limits: Mapping[str, float]) -> "Trials":
        """Return the trials whose options of these names are at most these numbers."""
        kept = Trials()
        kept._failures = list(self._failures)
        kept._found = [
            (options, loss)
            for options, loss in self._found
            # The same product of factor and distance, made twice.
            if all(options[name] <= most * (1.0 + 1e-9) for name, most in limits.items())
        ]
        return kept

    def shape(self, model):
        """Return an estimator with the best options; as it is where none have a finite loss."""
        return model.set_params(**self.best().options) if self._found else model


def training_rows(n: int) -> int:
    """Return how many of n rows train; the others validate.

    Raises
    ------
    ValueError
        If there are fewer than 5 rows.
    """
    if n < 5:
        raise ValueError(f"four fifths train and one fifth validates: give 5 rows or more; got {n}")
    return 4 * n // 5


def held_out(rows, count: int | None = None):
    """Return the rows at which candidates are compared: after the training rows, at most `count`.

    Parameters
    ----------
    rows
        Shape (n, d).
    count
        None: the last fifth.
    """
    return first_rows(rows[training_rows(rows.shape[0]) :, :], count)


def first_rows(rows, count: int | None):
    """Return the first rows of an array (n, d), at most `count` of them; None: all."""
    # Not every namespace allows a slice that ends beyond the array.
    n = rows.shape[0]
    return rows[: n if count is None else min(count, n), :]


def bandwidths(model, side: str, rows, factors: Sequence[float]) -> list[dict]:
    """Return constructor arguments to try: factors of the median distance between rows over √2.

    Parameters
    ----------
    model
        An estimator; without a bandwidth of this side nothing is tried but what it has.
    side
        "x" or "y".
    rows
        Shape (n, d); the first 1000 count.
    factors
        Positive.

    Raises
    ------
    ValueError
        If the rows coincide.
    """
    name = f"bandwidth_{side}"
    if name not in model.get_params(deep=False):
        return [{}]
    middle = median_trick(to_numpy(first_rows(rows, _MEDIAN_ROWS)), 0.5, side)
    return [{name: factor * middle} for factor in factors]


def largest_bandwidths(model, X, Y, factor: float) -> dict[str, float]:
    """Return the bandwidths of a factor, of the median distances that `select` finds.

    Parameters
    ----------
    model, factor
        As for `bandwidths`.
    X, Y
        As for `select`.
    """
    train = training_rows(X.shape[0])
    found = {}
    for side, rows in (("x", X), ("y", Y)):
        found |= bandwidths(model, side, rows[:train, :], [factor])[0]
    return found


def with_constraints(options: Mapping[str, object], constrained: bool) -> dict[str, object]:
    """Return constructor arguments with constraints, those of the method if it names some."""
    return {**options, "constrained": constrained and options.get("constrained", True)}


def select(
    models: Mapping[Hashable, object],
    X,
    Y,
    f: Callable,
    loss: Callable,
    grid: Grid,
    validation_rows: int | None = None,
    kept: dict | None = None,
    most_trace: float = 1.0,
    collected: dict | None = None,
    streamed: bool = True,
) -> dict[Hashable, Trials]:
    """Try a grid with every model, fitted to the first four fifths of the rows.

    Parameters
    ----------
    models
        Unfitted estimators by name, with the same basis of x up to the tolerance,
        and of y unless they are classifiers: a classifier learns f itself, which is 0 or 1.
    X, Y
        Shapes (n, d_x) and (n, d_y), on the host or on a device.
    f
        Function whose conditional expectation is scored: (k, d_y) to (k, q) in the rows' namespace.
    loss
        Maps conditional expectations at the `held_out` rows, shape (k, q), to a number.
    grid
        Candidates.
    validation_rows
        At most so many rows are held out; None: the last fifth.
    kept
        Bases of x that other fits to the same x made, to which those made here are added.
    most_trace
        A bandwidth of x is not tried if its factor leaves a larger share of the trace.
    collected
        Bases and cross moments of the candidates are added to it; the factors of those that are
        best stay in memory.
    streamed
        Whether it takes those of all candidates, not only those whose factors stay.

    Returns
    -------
    dict
        The trials of each model.

    Raises
    ------
    ValueError
        If the rows are too few.
    """
    train = training_rows(X.shape[0])
    # One basis of x is held at a time, beside those that are best, but all of y.
    bases = Bases(X[:train, :], Y[:train, :], tightest(models.values()), kept, hold_y=False)
    search = _Search(bases, held_out(X, validation_rows), f, loss, grid)
    trials = {key: Trials() for key in models}
    classifiers = {key: model for key, model in models.items() if is_classifier(model)}
    embeddings = {key: model for key, model in models.items() if key not in classifiers}
    try:
        of_x, of_y = search.bandwidths(models, "x"), search.bandwidths(embeddings, "y")
    except FAILURES as error:
        for each in trials.values():
            each.add({}, error)
        return trials
    for options_x in of_x:
        search.begin()
        if (left := search.left(models, options_x)) > most_trace:
            unfit = FloatingPointError(f"the factor of x leaves {left:.2g} of the trace")
            for each in trials.values():
                each.add(options_x, unfit)
            continue
        for path, part, of_others in (
            (search.classifiers, classifiers, [{}]),
            (search.embeddings, embeddings, of_y),
        ):
            for others in of_others:
                options = options_x | others
                shaped = {key: with_options(model, options) for key, model in part.items()}
                for key, value, outcome in path(shaped):
                    trials[key].add(options | {"regularization": value}, outcome)
        if collected is not None:
            best = (trials[key].shape(copy(model)) for key, model in models.items())
            bases.add_to(collected, best, streamed)
    return trials


def costs(fitted: Fit, evaluate: float) -> list[tuple]:
    """Return (metric, value, unit) of what a fit cost, of its solver, and of its factors.

    Behind the solver's residual stands its status.

    Parameters
    ----------
    fitted
        Of `Bases.fit`.
    evaluate
        Seconds that the conditional expectations at the test points took.

    Returns
    -------
    list of tuple
        `peak_memory` is the peak of this process so far, with everything that it did before;
        `trace_error_x` and `trace_error_y` exceed the tolerance where the rank was capped.
    """
    seconds = {"evaluate": evaluate, **fitted._asdict()}
    model = seconds.pop("model")
    reported = {
        "rank_x": ("rank_x_", "functions"),
        "rank_y": ("rank_y_", "functions"),
        "solver_iterations": ("solver_iterations_", "iterations"),
    }
    return [
        *((f"seconds_{name}", value, "s") for name, value in seconds.items()),
        *(
            (name, float(getattr(model, attribute)), unit)
            for name, (attribute, unit) in reported.items()
            if hasattr(model, attribute)
        ),
        ("solver_residual", float(model.solver_residual_), "", model.solver_status_),
        *_trace_errors(model),
        ("peak_memory", _measured_fit.peak_memory() / 2**20, "MiB"),
    ]


def matched(model, chosen: Mapping[str, float], X, Y):
    """Return an estimator with its own λ, and the bandwidths that all methods have.

    Parameters
    ----------
    model
        Unfitted.
    chosen
        Options that were chosen for it, of which λ is kept.
    X, Y
        All rows; the bandwidths are the median distances over √2, the factor 1.
    """
    options = {"regularization": chosen["regularization"]}
    for side, rows in (("x", X), ("y", Y)):
        options |= bandwidths(model, side, rows, [1.0])[0]
    return with_options(model, options)


def matched_costs(fit: Callable[[], Fit], evaluate: Callable) -> list[tuple[str, float, str]]:
    """Return (metric, value, unit) of the seconds of another fit.

    Parameters
    ----------
    fit
        Returns a fit of an estimator that `matched` returned.
    evaluate
        Takes the fitted estimator: what is timed after the fit.
    """
    fitted = fit()
    started = time.perf_counter()
    evaluate(fitted.model)
    seconds = {**fitted._asdict(), "evaluate": time.perf_counter() - started}
    del seconds["model"]
    return [(f"{MATCHED}seconds_{name}", value, "s") for name, value in seconds.items()]


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


def cell(metric: str, value: float, unit: str, detail: str = "") -> dict:
    """Return the columns of a score row for a metric; the detail is kept if the value is finite."""
    return scores.cell(metric, value, unit, detail=detail if np.isfinite(value) else "")


def _trace_errors(model):
    """Yield how much of the trace of each kernel matrix its factor leaves, as a share."""
    for name, attribute in (("x", "basis_x_"), ("x", "basis_"), ("y", "basis_y_")):
        factor = getattr(getattr(model, attribute, None), "factor", None)
        if factor is not None:
            yield f"trace_error_{name}", factor.trace_error / factor.trace, ""


class _Search:
    """A grid over bandwidths of x, then of y, then λ; all models share what they can of it."""

    def __init__(self, bases: Bases, held_out, f: Callable, loss: Callable, grid: Grid):
        self._bases, self._held_out, self._grid = bases, held_out, grid
        self._f, self._loss = f, loss
        # What depends on y alone serves every basis of x.
        self._projections = _Memo()
        self.begin()

    def begin(self) -> None:
        """Go on to another bandwidth of x."""
        # Of x one basis at a time, and those collected: together they may be larger than memory.
        self._bases.forget_x()
        self._features = _Memo()

    def bandwidths(self, models: Mapping, side: str) -> list[dict]:
        """Return constructor arguments to try; none without models."""
        rows = {"x": self._bases.X, "y": self._bases.Y}[side]
        factors = self._grid.bandwidth_factors
        return bandwidths(next(iter(models.values())), side, rows, factors) if models else []

    def left(self, models: Mapping, options: Mapping) -> float:
        """Return the largest share of the trace that a factor of x with these options leaves."""
        shares = [0.0]
        for model in models.values():
            with suppress(*FAILURES):
                basis, _ = self._bases.x(with_options(model, options))
                if factor := getattr(basis, "factor", None):
                    shares.append(factor.trace_error / factor.trace)
        return float(max(shares))

    def embeddings(self, shaped: Mapping):
        """Yield (key, λ, loss or the error in its place) of estimators with given bandwidths."""
        values = self._grid.regularizations
        for key, model in shaped.items():
            try:
                summary, _ = self._bases.summary(model)
                path = model.fit_path(self._bases.X, self._bases.Y, values, summary, True)
            except FAILURES as error:
                path = [error] * len(values)
            fitted = [each for each in path if not isinstance(each, Exception)]
            found = iter(self._expectations(fitted)) if fitted else iter(())
            for value, each in zip(values, path, strict=True):
                failed = isinstance(each, Exception)
                yield key, value, each if failed else self._judged(next(found))

    def classifiers(self, shaped: Mapping):
        """Yield the same of classifiers with a given bandwidth of x."""
        for key, model in shaped.items():
            for value, fitted in self._classifier_path(model):
                failed = isinstance(fitted, Exception)
                found = fitted if failed else fitted.predict_proba(self._held_out)[:, 1:]
                yield key, value, found if failed else self._judged(found)

    def _judged(self, found) -> float:
        return float(self._loss(found))

    def _expectations(self, path: Sequence) -> list:
        """Return the expectations of fits that differ in λ alone."""
        first = path[0]
        features = self._features(id(first.basis_x_), lambda: first.features(self._held_out))
        kind = type(first).project, id(first.basis_y_)
        projection = self._projections(kind, lambda: first.project(self._f))
        return first._expectations_of(path, projection, features)

    def _classifier_path(self, model):
        values = self._grid.regularizations
        labels = to_numpy(self._f(self._bases.Y))[:, 0].astype(int)
        try:
            basis, _ = self._bases.x(model)
            yield from zip(
                values, model.fit_path(self._bases.X, labels, values, basis), strict=True
            )
            return
        except FloatingPointError:
            # One λ at which the solver stopped early must not take the others with it.
            pass
        except FAILURES as error:
            yield from ((value, error) for value in values)
            return
        for value in values:
            try:
                (fitted,) = model.fit_path(self._bases.X, labels, [value], basis)
            except FAILURES as error:
                fitted = error
            yield value, fitted


class _Memo(dict):
    """Cache of values by key."""

    def __call__(self, key: Hashable, compute: Callable):
        if key not in self:
            self[key] = compute()
        return self[key]
