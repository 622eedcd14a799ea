"""Which estimators there are."""

import importlib

from kcde.estimators import estimator_modules


def estimator_names():
    """Yield every public class whose name is its file's name without underscores."""
    for lower, module in sorted(estimator_modules().items()):
        names = vars(importlib.import_module(f"kcde.estimators.{module}"))
        yield from (name for name in names if name.lower() == lower)
