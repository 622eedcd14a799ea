"""Estimators as configured: built from options, where they compute, and what they chose."""

from collections.abc import Mapping

import numpy as np

from kcde.arrays import BACKENDS, resolve_backend, to_numpy
from kcde.estimators import configured, estimator_class

FAILURES = (ValueError, np.linalg.LinAlgError, FloatingPointError)
"""What a fit or a score may fail with; anything else is a fault of the program."""


_LEARNT = ("reference", "weights")
"""Parameters with a namesake that holds what was learnt: CDO's points, LSCDE's α."""


def build(
    method: str, estimator: str, options: Mapping, *, random_state: int, tuning_rows: int | None
):
    """Return an unfitted estimator.

    Parameters
    ----------
    method
        What it is called in an error.
    estimator
        Class name.
    options
        Constructor arguments.
    random_state, tuning_rows
        Given to the constructor where it knows them and the options do not name them.

    Raises
    ------
    ValueError
        If the class does not exist, or does not know one of the options.
    """
    known = estimator_class(estimator)._get_param_names()
    common = {"random_state": random_state, "tuning_rows": tuning_rows}
    given = {name: common[name] for name in common if name in known} | dict(options)
    try:
        return configured(estimator, given)
    except ValueError as error:
        raise ValueError(f"method {method}: {error}") from None


def backend_of(estimator, wanted: str) -> str:
    """Return what an estimator computes on: "numpy", or "cupy" where it can and that is wanted.

    Parameters
    ----------
    estimator
        An estimator, fitted or not.
    wanted
        "auto", "numpy" or "cupy".

    Raises
    ------
    ValueError
        If the backend is unknown.
    RuntimeError
        If the estimator computes on any array, "cupy" is wanted, and there is no GPU.
    """
    if wanted in BACKENDS and not estimator.tags.array_api:
        return "numpy"
    return resolve_backend(wanted)


def chosen(model) -> dict:
    """Return the hyper-parameters that a fitted model used, by their names, ready for JSON."""
    names = [name for name in (*model.get_params(deep=False), "jitter") if name not in _LEARNT]
    values = {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}
    return {name: to_numpy(value).tolist() for name, value in values.items()}
