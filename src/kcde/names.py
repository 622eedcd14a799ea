"""Names of estimators, variants and endings of methods, and what to suggest for an unknown one."""

import difflib
import unicodedata
from collections.abc import Iterable

from kcde import LAZY

# Class to module of every estimator, with those that wrap another one.
ESTIMATORS = {name: place for name, place in LAZY.items() if place.startswith("kcde.estimators.")}

# The variant that answers a published number.
AS_PUBLISHED = "as-published"

# Every other variant.
OURS = "ours"

# A comparison as published, but of samples of the same densities drawn exactly, or else better.
EXACT_DRAWS = "exact-draws"

# Ending of the name of a method to how it is sampled; without it, the name is that of the method
# that is fitted.
SAMPLED_BY = {"-inverse": "direct", "-adapted": "adapted"}


def fitted(method: str) -> str:
    """Return the method whose fit a method samples from: `KCEF-F` for `KCEF-F-inverse`."""
    for ending in SAMPLED_BY:
        method = method.removesuffix(ending)
    return method


def composed(text: str) -> str:
    """Return the name of a column as tables have it: accents composed, no blanks around it."""
    return unicodedata.normalize("NFC", text.strip())


def nearest(name: object, known: Iterable[str]) -> str:
    """Return a question that suggests the most similar name, "" where none is similar."""
    lower = {str(candidate).lower(): candidate for candidate in known}
    close = difflib.get_close_matches(str(name).lower(), lower, n=1)
    return f" (did you mean `{lower[close[0]]}`?)" if close else ""


def estimator_module(estimator: str) -> str:
    """Return the module of an estimator class."""
    if estimator not in ESTIMATORS:
        unknown = f"there is no estimator {estimator!r}{nearest(estimator, ESTIMATORS)}"
        raise ValueError(f"{unknown}; known: {', '.join(sorted(ESTIMATORS))}")
    return ESTIMATORS[estimator]
