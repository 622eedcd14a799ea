"""Names of generated data and the sizes that they state, without numerics.

Generators and loaders read names here, and so does what plans jobs without importing them.

=======================  ===========================================================================
`grid-<n>`               n training rows of the grid distribution (`kcde.data.made_up`)
`grid-<n>-frequency-<k>` the same with k waves over [0, 1] in place of one, k = 2…9
`gaussian-<d>-<n>`       Gaussian pairs: d columns of x and of y each, n rows to train and validate
`gaussian-<d>-<n>-<v>`   the same pairs, fitted under a variation v of `VARIATIONS`
`bimodal-<d>-<n>`        n training rows, three columns of x and d that y does not depend on
`portfolios-<d>-<n>`     the first d portfolios, n days to train and validate
`donut`                  the Gaussian donut
`simulated-traffic`      traffic in the shape of PEMS-SF
`PLANAR`                 points of the plane with known densities
=======================  ===========================================================================
"""

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

DONUT, SIMULATED_TRAFFIC = "donut", "simulated-traffic"
DONUT_MEANS = 50  # around each of which the same number of points is drawn
PLANAR = ("two-moons", "ring", "grid")

GRID_ROWS = 2000  # training rows of the grid data whose first 2, 3, ... columns are data, too
MOST_GRID_ROWS = 8000
GRID_COLUMNS = 3  # of grid data with another number of rows than GRID_ROWS

# Of made-up data sets that are read from files, as `kcde.data.smoke` writes them.
MADE_UP_JOINT, MADE_UP_COLUMNS = "smoke-joint", ("warmth", "damp", "wind")


@dataclass(frozen=True)
class SizedNames:
    """Names of the form `<kind>-<d>-<n>`: a dimension, then rows to train and validate.

    One of `variations` may follow the rows: how an experiment varies from that on the plain name.
    """

    kind: str
    variations: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Return whether a name is of this form."""
        ending = f"(?:-(?:{'|'.join(self.variations)}))?" if self.variations else ""
        return re.fullmatch(rf"{self.kind}-[1-9][0-9]*-[1-9][0-9]*{ending}", name) is not None

    def sizes(self, name: str) -> tuple[int, int]:
        """Return d and n, or raise `ValueError` if the name is not of this form."""
        if not self.has(name):
            raise ValueError(f"there are no data {name!r}: give {self.kind}-<d>-<n>")
        _, dim, rows, *_ = name.split("-")
        return int(dim), int(rows)

    def variation(self, name: str) -> str:
        """Return what follows the rows in a name of this form, "" where nothing does."""
        return "-".join(name.split("-")[3:])


# Variations of the experiment on Gaussian pairs: further laws of the correlations, and grids with
# smaller largest bandwidths.
VARIATIONS = LAWS, FACTORS = "laws", "factors"

GAUSSIAN = SizedNames("gaussian", VARIATIONS)
PORTFOLIOS = SizedNames("portfolios")
BIMODAL = SizedNames("bimodal")

NORMAL, UNIFORM, CORRELATION = "normal", "uniform", "correlation"
DRAWN_LAW = "uniform-1"  # of the elements below the diagonal of log C, in the figures


def parsed_law(name: str) -> tuple[str, float]:
    """Return the kind and the size that the name of a law of the elements of log C states.

    `normal-<s>` is N(0, s²), `uniform-<a>` uniform on (-a, a). `correlation-<a>`, a at most 1, is
    artanh of that; for d = 1 the correlation itself is uniform. Others raise `ValueError`.
    """
    kind, _, size = name.partition("-")
    largest = {NORMAL: math.inf, UNIFORM: math.inf, CORRELATION: 1.0}.get(kind, 0.0)
    if not re.fullmatch(r"[0-9]*\.?[0-9]+", size) or not 0.0 < float(size) <= largest:
        forms = f"{NORMAL}-<standard deviation>, {UNIFORM}-<half width> or {CORRELATION}-<up to 1>"
        raise ValueError(f"there is no law {name!r}: give {forms}, as {DRAWN_LAW}")
    return kind, float(size)


def is_grid(name: str) -> bool:
    """Return whether a name is that of grid data."""
    return re.fullmatch(r"grid-[0-9]+(?:-frequency-[2-9])?", name) is not None


def is_generated(name: str) -> bool:
    """Return whether what a name states is generated, or else read from files."""
    return is_grid(name) or name == SIMULATED_TRAFFIC


class GridName(NamedTuple):
    """What a name of grid data states: training rows, and waves over [0, 1]."""

    rows: int
    frequency: int

    @property
    def every_dimension(self) -> bool:
        """Whether the first 2, 3, ... columns are data of their own."""
        return self.rows == GRID_ROWS

    def columns(self, most: int) -> int:
        """Return the number of columns; `most` where every dimension is data of its own."""
        return most if self.every_dimension else GRID_COLUMNS


def grid_name(name: str) -> GridName:
    """Return what a name states for which `is_grid` holds."""
    rows, _, frequency = name.removeprefix("grid-").partition("-frequency-")
    return GridName(int(rows), int(frequency or 1))
