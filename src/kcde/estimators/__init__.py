"""The estimators, one file each, found by file name.

The class `Name` lies in the module whose name without underscores is `name`: `KCEF` in
`kcef.py`, `EpsilonKDE` in `epsilon_kde.py`. A new file is a new estimator; nothing is registered.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from kcde import discovery


def estimator_names() -> list[str]:
    """Return the names of all estimators."""
    return sorted(discovery.estimators())


def estimator_class(name: str) -> type:
    """Return an estimator class by its name, with all that its fits import: they may be timed.

    Parameters
    ----------
    name
        E.g. "KCEF".

    Raises
    ------
    ValueError
        If there is no such estimator; the message lists those there are.
    """
    found = _find(name)
    importlib.import_module(f"{__name__}._shared.scikit_learn").derive()
    importlib.import_module("scipy.optimize")
    return found


def configured(name: str, options: Mapping[str, Any]):
    """Return an unfitted estimator.

    Parameters
    ----------
    name
        Of its class, e.g. "KCEF".
    options
        Constructor arguments.

    Raises
    ------
    ValueError
        If there is no such estimator, or it does not know one of the options.
    """
    cls = estimator_class(name)
    known = cls._get_param_names()
    if unknown := sorted(set(options) - set(known)):
        raise ValueError(f"{name} has no option {', '.join(unknown)}; it has {', '.join(known)}")
    return cls(**options)


def _find(name: str) -> type:
    return getattr(importlib.import_module(discovery.module_of(name)), name)


def __getattr__(name: str):
    try:
        return _find(name)
    except ValueError as error:
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    """Return what can be imported from here; the classes are read from the sources."""
    return sorted([*discovery.classes(), "configured", "estimator_class", "estimator_names"])
