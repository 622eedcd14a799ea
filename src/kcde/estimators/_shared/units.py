"""Units of x and y: fits to columns of mean 0 and standard deviation 1, answers in the caller's.

A public method of a fitted estimator is asked in the units of `fit`. Its x and y are checked here,
and no more inside. It runs on a view of the estimator that knows no units, so that methods may call
each other, and what it returns is brought back by its name.
"""

from collections.abc import Callable
from functools import partial, wraps
from inspect import isfunction, signature

import numpy as np

from kcde.arrays import array_namespace, to_numpy

SMALLEST_STD = 1e-140
"""Squares of deviations this small are at the end of the normal numbers of float64."""


class Units:
    """Means and standard deviations of the columns of x and y; those of constant ones are 1.

    With `drop`, columns of x that are constant are left out.
    """

    def __init__(self, X, Y=None, *, drop: bool = False):
        self.mean_x, std = moments("X", X)
        self.columns = np.flatnonzero(std > 0) if drop else np.arange(len(std))
        self.std_x, self.mean_y, self.std_y = np.where(std > 0, std, 1.0), None, None
        if Y is not None:
            self.mean_y, self.std_y = moments("Y", Y)
            self.log_scale = float(np.sum(np.log(self.std_y)))

    @classmethod
    def of(cls, mean_x: np.ndarray, std_x: np.ndarray, mean_y: np.ndarray, std_y: np.ndarray):
        """Return units of known moments, shapes (d_x,) and (d_y,)."""
        units = cls.__new__(cls)
        units.mean_x, units.std_x, units.mean_y, units.std_y = mean_x, std_x, mean_y, std_y
        units.columns = np.arange(len(mean_x))
        units.log_scale = float(np.sum(np.log(std_y)))
        return units

    def x(self, X):
        """Return standardised x."""
        return _standardised(X, self.mean_x, self.std_x, self.columns)

    def y(self, Y):
        """Return standardised y."""
        return _standardised(Y, self.mean_y, self.std_y, np.arange(len(self.mean_y)))

    def restore(self, Y):
        """Return y in its units; the last axis is that of its columns, or there is one y."""
        xp = array_namespace(Y)
        return Y * xp.asarray(self.std_y) + xp.asarray(self.mean_y)

    def spread(self, values, power: int = 1):
        """Return what has the units of y, or those of its square, in them."""
        return values * array_namespace(values).asarray(self.std_y**power)


def moments(name: str, array) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each column, 0 of one that is constant."""
    values = to_numpy(array)
    std = values.std(axis=0)
    # Rounding gives a constant column a standard deviation of some ulps, not 0.
    constant = np.ptp(values, axis=0) == 0
    std[constant] = 0.0
    small = ~constant & (std < SMALLEST_STD)
    if np.any(small):
        columns = np.flatnonzero(small).tolist()
        raise ValueError(
            f"{name} varies by less than {SMALLEST_STD:g} in column(s) {columns}: scale them up"
        )
    return values.mean(axis=0), std


def _standardised(array, mean, std, columns):
    xp = array_namespace(array)
    kept = xp.take(array, xp.asarray(columns), axis=1)
    return (kept - xp.asarray(mean[columns])) / xp.asarray(std[columns])


def without_standardising(estimator):
    """Return an unfitted estimator that takes rows, also inside it, as standardised."""
    names = [name for name in estimator.get_params() if name.split("__")[-1] == "standardize"]
    estimator.set_params(**dict.fromkeys(names, False))
    return estimator


def _per_log(units: Units, values):
    return values - units.log_scale


def _moments_back(units: Units, found: tuple) -> tuple:
    """Return E[y] and E[yyᵀ] from those of (y - m)/s."""
    (first, second), xp = found, array_namespace(found[0])
    scaled, mean = units.spread(first), xp.asarray(units.mean_y)
    second = units.spread(second) * xp.asarray(units.std_y[:, None])
    cross = scaled[:, :, None] * mean
    return scaled + mean, second + cross + xp.matrix_transpose(cross) + mean[:, None] * mean


_BACK: dict[str, Callable] = {
    **dict.fromkeys(("log_density", "log_density_at", "log_density_by_order"), _per_log),
    **dict.fromkeys(("log_unnormalized", "log_unnormalized_at"), _per_log),
    **dict.fromkeys(("mean", "predict", "quantile", "interval"), Units.restore),
    **dict.fromkeys(("sample", "sample_learned", "sample_snapshot"), Units.restore),
    **dict.fromkeys(("std", "crps"), Units.spread),
    **dict.fromkeys(("pdf", "density_at"), lambda u, p: p * float(np.exp(-u.log_scale))),
    "variance": lambda u, found: u.spread(found, 2),
    **dict.fromkeys(
        ("moments", "moments_of_draws"),
        lambda u, found: (u.restore(found[0]), u.spread(found[1], 2)),
    ),
    "conditional_moments": _moments_back,
    "mean_and_quantile": lambda u, found: tuple(map(u.restore, found)),
    "cdf_and_crps": lambda u, found: (found[0], u.spread(found[1])),
    "factor_log_density": lambda u, found: found - np.log(u.std_y),
    "log_unnormalized_gradient": lambda u, found: u.spread(found, -1),
    "sample_hmc": lambda u, found: found._replace(draws=u.restore(found.draws)),
}
"""Method to a function of the units and of what it returns; others return what has none."""

_OF_FIT = {"fit", "fit_path", "fit_rows", "summarise", "make_basis_x", "make_basis_y"}
_OF_FIT |= {"plot", "score", "transform_x", "transform_y"}
"""Methods that are asked as they are."""

_SHAPED_AS_Y = ("predict", "std", "sample", "sample_learned", "sample_snapshot")
_FRAMED = {"mean", "std", "variance", "log_density", "pdf", "cdf", "crps"}
_FRAMED |= {"quantile", "interval"}
"""Methods whose answers to a data frame have its index; `predict` and draws are arrays."""


def translated(name: str, member):
    """Return a member of a class: a public method of x, y or functions of y as one in units.

    It refuses to be asked before `fit`, checks X and Y, and hands them on.
    """
    if name in _OF_FIT or name[0] == "_" or not isfunction(member):
        return member
    known = signature(member)
    if not {"X", "Y", "f", "indicator"} & set(known.parameters):
        return member

    @wraps(member)
    def answer(self, *args, **keywords):
        if not self._check_fitted()._outside:
            return member(self, *args, **keywords)
        bound, units = known.bind(self, *args, **keywords), self._units
        given = bound.arguments
        frame = given["X"] if hasattr(given.get("X"), "iloc") else None
        _bring(self, units, given)
        view = object.__new__(type(self))
        vars(view).update(vars(self), _outside=False)
        found = member(view, *bound.args[1:], **bound.kwargs)
        if units is not None:
            found = _brought_back(self, name, found)
        if name in _SHAPED_AS_Y and self._y_is_flat:
            found = found[..., 0]
        if frame is not None and name in _FRAMED:
            columns = {"quantile": given.get("p"), "interval": ["lower", "upper"]}
            found = _framed(found, frame.index, columns.get(name, self._output_names), name)
        return found

    return answer


def _bring(model, units: Units | None, given: dict) -> None:
    """Check the rows among the arguments of a method, and bring them to the units of the fit."""
    if "X" in given and "Y" in given:
        given["X"], given["Y"] = model._check_pair(given["X"], given["Y"])
    elif "X" in given:
        given["X"] = model._check_features(given["X"])
    elif "Y" in given:
        given["Y"] = model._check_outputs(given["Y"])
    for name in {"f", "indicator"} & given.keys():
        given[name] = _checked(name, given[name], units)
    if units is None:
        return
    for name, to in {"X": units.x, "Y": units.y}.items():
        if name in given:
            given[name] = model._in_range(name, to(given[name]))


def _checked(name: str, function: Callable, units: Units | None) -> Callable:
    """Return a function of y in the units of the caller, which refuses values of a wrong shape."""

    def of(Y):
        values = function(Y if units is None else units.restore(Y))
        values = values if hasattr(values, "shape") else array_namespace(Y).asarray(values)
        shape, (k, d) = tuple(values.shape), Y.shape
        right = shape in ((k,), (k, 1)) if name == "indicator" else shape[:-1] == (k,)
        if not right:
            wanted = "(k,)" if name == "indicator" else "(k, q)"
            raise ValueError(f"{name} must map (k, {d}) to {wanted}; got {shape} from {(k, d)}")
        return values

    return of


def _brought_back(model, name: str, found):
    """Return what a method returned, a value or a function of x, in the units of `fit`."""
    units = model._units
    known = name in _BACK and units.mean_y is not None
    back = partial(_BACK[name], units) if known else lambda found: found
    if not callable(found):
        return back(found)
    return lambda X: back(found(units.x(model._check_features(X))))


def _framed(found, index, columns, name: str):
    """Return answers as a Series, or a data frame, with the index of x."""
    import pandas as pd

    values = to_numpy(found)
    if values.ndim == 1:
        return pd.Series(values, index, name=name)
    return pd.DataFrame(values, index, columns)
