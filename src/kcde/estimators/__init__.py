"""The estimators, one file each, found by file name.

The class `Name` lives in the module whose name without underscores is `name`: `KCEF` in
`kcef.py`, `EpsilonKDE` in `epsilon_kde.py`. A new file is a new estimator; nothing is registered.
"""

import importlib
import pkgutil
import re
from pathlib import Path

_HELPERS = {"base", "standardised"}


def estimator_modules() -> dict[str, str]:
    """Return module names by lower-case class name, for every estimator there is."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    public = (name for name in names if not name.startswith("_") and name not in _HELPERS)
    return {name.replace("_", ""): name for name in public}


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
    return found


def _find(name: str) -> type:
    modules = estimator_modules()
    module_name = modules.get(name.lower())
    if module_name:
        module = importlib.import_module(f"{__name__}.{module_name}")
        if hasattr(module, name):
            return getattr(module, name)
    raise ValueError(f"there is no estimator {name!r}; files here: {sorted(modules.values())}")


def __getattr__(name: str):
    if name == "Standardised":
        return importlib.import_module(f"{__name__}.standardised").Standardised
    try:
        return _find(name)
    except ValueError as error:
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    """Return what can be imported from here; the classes are read from the sources."""
    classes = [
        name
        for lower, module in estimator_modules().items()
        for name in re.findall(r"^class (\w+)", _source(module), re.MULTILINE)
        if name.lower() == lower
    ]
    return sorted([*classes, "Standardised", "estimator_class", "estimator_modules"])


def _source(module: str) -> str:
    return Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
