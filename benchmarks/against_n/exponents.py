"""How time grows with n: a power law through the larger sizes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from against_n.table import Row, curve

FEWEST = 3


class Exponent(NamedTuple):
    """Of seconds = c n^value, with its standard error, from `points` sizes up from n = `first`."""

    value: float
    stderr: float
    points: int
    first: int


def fit(points: Sequence[tuple[int, float]]) -> Exponent | None:
    """Fit log seconds linearly to log n by least squares, over the larger half of the sizes.

    Parameters
    ----------
    points
        n, ascending, and seconds.

    Returns
    -------
    Exponent or None
        None where there are fewer than three sizes, which leave no standard error.
    """
    upper = points[-max(FEWEST, -(-len(points) // 2)) :]
    if len(upper) < FEWEST:
        return None
    x, y = np.log(np.array(upper, dtype=float)).T
    centred = x - x.mean()
    spread = centred @ centred
    slope = centred @ y / spread
    left = y - y.mean() - slope * centred
    stderr = np.sqrt(left @ left / (len(x) - 2) / spread)
    return Exponent(float(slope), float(stderr), len(upper), upper[0][0])


class Fitted(NamedTuple):
    """A row of the table of exponents: whose, in n from `first` to `last`."""

    operation: str
    implementation: str
    backend: str
    first: int
    last: int
    points: int
    exponent: float
    stderr: float


def exponents(rows: Mapping[str, Sequence[Row]]) -> list[Fitted]:
    """Return the exponents of all curves that have one, from the rows of each backend."""
    found = []
    for backend, of_backend in rows.items():
        for named in dict.fromkeys(row.key[:2] for row in of_backend):
            points = curve(of_backend, *named)
            if law := fit(points):
                span = law.first, points[-1][0], law.points
                found.append(Fitted(*named, backend, *span, law.value, law.stderr))
    return found
