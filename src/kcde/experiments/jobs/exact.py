"""Jobs of the best possible scores on the grid data."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments import job
from kcde.experiments.job import MOST_GRID_COLUMNS, parameter

METHOD = "exact"
"""The method that the known density has in the scores of joint densities."""


@dataclass(frozen=True)
class Job(job.Job):
    """Score the true density of the grid data, its entropy and independence. Needs no data.

    \b
    python -m kcde run exact --dataset grid-200 --out exact.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "exact"

    dataset: str = parameter(help="Grid data: grid-200, ...")
    runs: int = parameter(5, "Repetitions of the grid data.", at_least=1)
    max_dim: int = parameter(MOST_GRID_COLUMNS, "Columns of the grid data with 2000 rows.")
