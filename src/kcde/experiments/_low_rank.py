"""Low-rank embeddings: how their parameters are chosen, and what fitting them costs (jdl).

Of n rows the first four fifths train and the last fifth validates. Bandwidths are multiples of the
median distance between training rows over √2, those of x and of y separately; a basis of each
bandwidth is made once, for all regularizations and with constraints and without. What is chosen may
be chosen on fewer rows than are fitted to. All of it stays where the rows are, on the host or on a
device: losses alone come back.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from copy import copy

import numpy as np

from kcde import scores
from kcde.arrays import to_numpy
from kcde.experiments import _measured_fit
from kcde.experiments._shared_bases import Bases, Fit, is_classifier, tightest, with_options
from kcde.experiments.base import FAILURES, attempt
from kcde.kernels import median_trick
from kcde.selection import Trials


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


def select(
    models: Mapping,
    X,
    Y,
    f: Callable,
    loss: Callable,
    grid,
    kept=None,
    collected=None,
    streamed=True,
) -> dict[Hashable, Trials]:
    """Try a grid with every model, fitted to the first four fifths of the rows.

    The models share the basis of x up to the tolerance, and that of y unless they are classifiers,
    which learn f itself. `loss` maps the expectations of `f` at the `held_out` rows, (k, q), to a
    number. Bases and cross moments are added to `kept` and `collected`; `streamed`: those of all
    candidates, not only of those that are best and stay in memory.
    """
    train = training_rows(X.shape[0])
    # One basis of x is held at a time, beside those that are best, but all of y.
    bases = Bases(X[:train, :], Y[:train, :], tightest(models.values()), kept, hold_y=False)
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
        self._bases.forget_x()
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
        given = fitted, self._projections[of_y], self._features[of_x]
        found = iter(first._expectations_of(*given))
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
    of the solver stands its status. `peak_memory` is that of this process so far, with everything
    that it did before; the trace errors exceed the tolerance where the rank was capped.
    """
    model, found = fitted.model, [("seconds_evaluate", evaluated, "s"), *fitted.seconds()]
    units = {"rank_x": "functions", "rank_y": "functions", "solver_iterations": "iterations"}
    for name in units:
        if hasattr(model, f"{name}_"):
            found.append((name, float(getattr(model, f"{name}_")), units[name]))
    found.append(("solver_residual", float(model.solver_residual_), "", model.solver_status_))
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


def cell(metric: str, value: float, unit: str, detail: str = "") -> dict:
    """Return the columns of a score row for a metric; the detail is kept if the value is finite."""
    return scores.cell(metric, value, unit, detail=detail if np.isfinite(value) else "")
