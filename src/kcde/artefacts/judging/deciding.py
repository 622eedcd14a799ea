"""Claims that lack the scores they need are undecided, not failed."""

from collections.abc import Callable
from functools import wraps

import pandas as pd

from kcde.artefacts.core.declaration import Decision


class Missing(ValueError):
    """Scores without which a claim cannot be decided."""


def decider(test: Callable[[pd.DataFrame], Decision]) -> Callable[[pd.DataFrame], Decision]:
    """Turn `Missing` scores into the verdict `undecided`."""

    @wraps(test)
    def decide(scores: pd.DataFrame) -> Decision:
        try:
            return test(scores)
        except Missing as missing:
            return Decision("undecided", f"{missing}")

    return decide
