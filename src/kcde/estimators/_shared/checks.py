"""Checks of parameters of estimators."""

from numbers import Integral, Real

import numpy as np


def one_y(model, Y) -> None:
    """Raise `ValueError` unless there is one y."""
    if Y.shape[1] != 1:
        remedy = "model them one after the other with kcde.joint.JointDensity"
        raise ValueError(f"{type(model).__name__} is of one y; got {Y.shape[1]}: {remedy}")


def positive(name: str, value, *, optional: bool = False) -> None:
    """Raise `ValueError` unless a parameter is a positive number, or None where that is allowed."""
    if not (isinstance(value, Real) and 0 < value < np.inf) and not (optional and value is None):
        raise ValueError(f"{name} must be a positive number; got {value!r}")


def whole(name: str, value, least: int = 1, *, optional: bool = False) -> None:
    """Raise `ValueError` unless a parameter is a whole number from `least` on, or None."""
    if not (isinstance(value, Integral) and value >= least) and not (optional and value is None):
        raise ValueError(f"{name} must be a whole number from {least} on; got {value!r}")


def choice(name: str, value, choices) -> None:
    """Raise `ValueError` unless a parameter is one of several values."""
    if value not in tuple(choices):
        raise ValueError(f"{name} must be one of {sorted(choices, key=str)}; got {value!r}")
