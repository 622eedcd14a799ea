"""Jobs of conditional densities on sets of 1,000 to 10,000 rows."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.job import parameter
from kcde.experiments.jobs import r_benchmark

MOST_SECONDS = 60.0
"""A method that needs longer for a fit is not fitted."""


@dataclass(frozen=True)
class Job(r_benchmark.Job):
    """Fit and score one method on one larger set, over its own splits.

    \b
    python -m kcde fetch red-wine
    python -m kcde run larger-sets --dataset red-wine --method LSCDE --out red-wine.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "larger_sets"

    splits: int = parameter(5, "Splits, as the data set makes them.", at_least=1, at_most=5)
    most_rows: int | None = parameter(
        None,
        "Training rows from which on the method needs more than a minute for a fit: sets with "
        "more are left out; null in --job: none is.",
        at_least=1,
    )
