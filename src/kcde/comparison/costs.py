"""Which methods are compared on a table, in which order, and what a split of each costs.

`costs.csv` has them, quick ones first: processor `seconds` of one split with 1000 training rows and
a quarter as many test rows, fit and scores, and the `exponent` of its growth with the number of
rows, both rounded. They order the methods and decide which are not tried; from the second split on
what was measured decides. A class in `estimators/` that no method there uses takes part as well,
after those.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
import pandas as pd

from kcde import methods
from kcde.estimators import estimator_class, estimator_names
from kcde.methods import BASELINE
from kcde.table_model import usable

_ROWS = 1000
_STARTED = 4.0  # seconds of a process and its imports
_UNKNOWN = (100.0, 2.0)


@dataclass(frozen=True)
class Cost:
    """Seconds of one split at 1000 training rows, and the exponent of their growth."""

    seconds: float
    exponent: float

    def at(self, rows: int) -> float:
        """Return the seconds of one split with so many training rows."""
        return self.seconds * (rows / _ROWS) ** self.exponent

    def rows_within(self, seconds: float, rows: int, needed: float) -> int:
        """Return how many training rows fit into some seconds, where `rows` need `needed`."""
        return int(rows * (seconds / needed) ** (1.0 / self.exponent))


@cache
def declared() -> dict[str, Cost]:
    """Return the costs of `costs.csv` by method."""
    with (resources.files("kcde.comparison") / "costs.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file, index_col="method")
    return {name: Cost(row.seconds, row.exponent) for name, row in table.iterrows()}


def cost(method: str) -> Cost:
    """Return the cost of a method; one that is not declared counts as expensive."""
    return declared().get(method, Cost(*_UNKNOWN))


def start_seconds() -> float:
    """Return what the process of a method takes before its first fit."""
    return _STARTED


def default_methods() -> list[str]:
    """Return the methods that are compared unless some are named."""
    known = [name for name in declared() if name in methods.METHODS]
    covered = {methods.METHODS[name].estimator for name in known}
    new = [name for name in estimator_names() if name not in covered and _compared(name)]
    return [*known, *new]


def _compared(name: str) -> bool:
    return not usable(name) and not estimator_class(name).tags.unconditional


def by_cost(names: list[str], rows: int) -> list[str]:
    """Return methods with the quick ones first, among them that which ignores x.

    All are compared with it, so that only what takes less than a tenth of its time comes before.
    """
    order = np.argsort(
        [cost(name).at(rows) * (0.1 if name == BASELINE else 1.0) for name in names], kind="stable"
    )
    return [names[i] for i in order]
