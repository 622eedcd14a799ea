"""The estimators, a file each; `kcde.LAZY` lists them."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from kcde.names import ESTIMATORS, estimator_module

_WRAPPERS = ("Conformal", "Quantiles", "Stacked", "Standardised")


def estimator_names() -> list[str]:
    """Return the names of all estimators, without those that wrap another one."""
    return [name for name in ESTIMATORS if name not in _WRAPPERS]


def estimator_class(name: str) -> type:
    """Return an estimator class by its name, with all that its fits import: they may be timed."""
    from kcde.estimators._shared.rows import MissingLibraryError, missing_library

    found = getattr(import_module(estimator_module(name)), name)
    if why := missing_library(found):
        raise MissingLibraryError(f"{name} {why}")
    if trainer := getattr(found, "_trainer", ""):
        import_module(trainer)
    return found


def configured(name: str, options: Mapping[str, Any]):
    """Return an unfitted estimator."""
    cls = estimator_class(name)
    known = cls._get_param_names()
    if unknown := sorted(set(options) - set(known)):
        raise ValueError(f"{name} has no option {', '.join(unknown)}; it has {', '.join(known)}")
    return cls(**options)


def __getattr__(name: str):
    """Import an estimator."""
    if name not in ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(ESTIMATORS[name]), name)


def __dir__() -> list[str]:
    """Return what can be imported from here, also what is not imported yet."""
    return sorted([*ESTIMATORS, "configured", "estimator_class", "estimator_names"])
