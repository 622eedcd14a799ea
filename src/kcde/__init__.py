"""Kernel conditional density estimation: four papers, one workflow.

Every estimator can be imported from here, as `from kcde import KCEF`; `kcde.compare` says which
method to take for a table of one's own. An estimator and what it
needs are imported on first use, so that `import kcde` is cheap.
"""

from importlib import import_module

__version__ = "0.1.0"


def __getattr__(name: str):
    """Return an estimator class by its name, or `compare`."""
    if name == "compare":
        return import_module(f"{__name__}.comparison").compare
    if _is_class_name(name):
        return getattr(import_module(f"{__name__}.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names of this module and of all estimators, without importing them."""
    return sorted(
        {
            *globals(),
            "compare",
            *filter(_is_class_name, dir(import_module(f"{__name__}.estimators"))),
        }
    )


def _is_class_name(name: str) -> bool:
    return name[:1].isupper()
