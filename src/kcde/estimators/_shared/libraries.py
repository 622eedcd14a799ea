"""Libraries of others that single estimators need, imported when a fit begins."""

from importlib import import_module
from typing import Any


class MissingLibraryError(ModuleNotFoundError, ValueError):
    """A library that an estimator needs is not installed; the message has the remedy.

    Also a `ValueError`, as whatever else an estimator refuses to fit with: on the command line it
    is one line, in an experiment a failed row of this method alone.
    """


def from_library(estimator: str, module: str, name: str) -> Any:
    """Return what a library has under a name.

    Parameters
    ----------
    estimator
        Class that needs it.
    module
        Of the library, e.g. `quantile_forest`; it is installed under this name with hyphens.
    name
        What is imported from it.

    Raises
    ------
    MissingLibraryError
        If the library, or one that it needs, is not installed.
    """
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            f"{estimator} needs the library {module.replace('_', '-')}: pip install 'kcde[compare]'"
        ) from error
