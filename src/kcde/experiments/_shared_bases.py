"""Bases and cross moments of the same rows, each made once for all low-rank estimators (jdl)."""

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from copy import copy
from functools import cache
from typing import NamedTuple

from kcde.arrays import to_numpy

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
    kept
        Bases of x by number of rows and hyper-parameters, which other pairs with the same x share:
        those there are used, those made are added.
    hold_y
        Whether bases of y keep factors of more than `MOST_HELD` numbers. Without, the rows of these
        are recomputed in every pass over the rows, n m kernel values.
    made
        Bases and cross moments of the same rows with their seconds, which others `add_to`. It is
        taken over: what is dropped here is dropped there.
    """

    def __init__(self, X, Y, tightest=None, kept: dict | None = None, hold_y=True, made=None):
        self.X, self.Y, self._tightest = X, Y, tightest
        self._made = {} if made is None else made
        self._kept, self._hold_y = kept, hold_y

    def x(self, model) -> tuple[object, float]:
        """Return the basis of x with an estimator's hyper-parameters, and its seconds."""
        return self._basis(model, "x", lambda tight: tight.make_basis_x(self.X))

    def y(self, model) -> tuple[object, float]:
        """Return the basis of y with an estimator's hyper-parameters, and its seconds."""

        def make(tight):
            basis = tight.make_basis_y(self.Y)
            return basis if self._hold_y else _without_large_factor(basis, MOST_HELD)

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

    def forget_x(self) -> None:
        """Drop the bases of x and all cross moments, for memory."""
        self._keep(lambda key: key[0] == "y")

    def in_order(self, models: Mapping[Hashable, object]) -> Iterator[Hashable]:
        """Yield the names of estimators so that bases are dropped early.

        Before each, what neither it nor a later one has is dropped: bases may be as large as
        memory.
        """
        left = sorted(models, key=lambda name: [key[-1] for key in _keys(models[name])])
        while left:
            wanted = self._keys_of(models[name] for name in left)
            self._keep(wanted.__contains__)
            yield left.pop(0)

    def fit(self, model) -> Fit:
        """Fit a copy of an estimator of expectations to the rows.

        The time its constraints spend on the bases is counted, as if it had been fitted alone.
        """
        summary, summarise = self.summary(model)
        factorise = self.x(model)[1] + self.y(model)[1]
        renewed = {
            name: _without_extrema(getattr(summary, name)) for name in ("basis_x", "basis_y")
        }
        summary = summary._replace(**renewed)
        started = time.perf_counter()
        (fitted,) = model.fit_path(self.X, self.Y, [model.regularization], summary)
        return Fit(fitted, factorise, summarise, time.perf_counter() - started)

    def fit_classifier(self, model, labels) -> Fit:
        """Fit a copy of a classifier to the rows of x; it has no cross moments."""
        basis, factorise = self.x(model)
        started = time.perf_counter()
        (fitted,) = model.fit_path(self.X, labels, [model.regularization], basis)
        return Fit(fitted, factorise, 0.0, time.perf_counter() - started)

    def _keep(self, wanted: Callable[[Hashable], bool]) -> None:
        for key in [key for key in self._made if not wanted(key)]:
            del self._made[key]

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
        key = _key(tight, side)
        shared = None if self._kept is None or side != "x" else (self.X.shape[0], key)
        if shared is not None and shared in self._kept:
            self._made[key] = self._kept[shared]
        made = self._once(key, lambda: make(tight))
        if shared is not None:
            self._kept[shared] = made
        if tight is model:
            return made
        looser, _ = self._once(_key(model, side), lambda: made[0].truncate(model.tolerance))
        return looser, made[1]

    def _once(self, key: Hashable, make: Callable) -> tuple[object, float]:
        if key not in self._made:
            started = time.perf_counter()
            made = make()
            _wait_for(made)
            self._made[key] = made, time.perf_counter() - started
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


@cache
def _option_names(cls: type) -> frozenset[str]:
    return frozenset(cls._get_param_names())


def _keys(model) -> list[Hashable]:
    return [_key(model, side) for side in ("x" if is_classifier(model) else "xy")]


def _key(model, side: str, but: Set[str] = frozenset()) -> Hashable:
    """Return the key of a basis: its constructor and the hyper-parameters it depends on."""
    other = "bandwidth_y" if side == "x" else "bandwidth_x"
    names = _option_names(type(model)) - _OF_THE_SOLUTION - {other} - but
    own = {name: getattr(model, name) for name in sorted(names)}
    return side, getattr(type(model), f"make_basis_{side}"), repr(own)


def _wait_for(made) -> None:
    """Wait until a device has computed a basis or a summary: its seconds are those of the work."""
    # A device works in order: where one number has come back, all before it is done.
    basis = getattr(made, "basis_x", made)
    to_numpy(basis.mean[:1])


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


def _without_large_factor(basis, most: int):
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
