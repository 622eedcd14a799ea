"""Jobs of what estimation costs (dde, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments import job
from kcde.experiments.job import parameter

ROWS = (500, 1000, 2000, 5000, 10_000)
DIMS = (2, 5, 10, 20)

ITERATIONS = 5000
"""Iterations of doubly dual embedding that the reported seconds stand for."""

ESTIMATORS = ("DDE", "KCEF", "KEF")
"""Classes whose fits are timed."""


@dataclass(frozen=True)
class Job(job.Job):
    """Measure memory and seconds of fitting DDE and KEF (dde, section 4). Needs no data.

    \b
    python -m kcde run estimation-cost --rows 1000 --dims 2 --out results/estimation_cost.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "estimation_cost"

    rows: int = parameter(ROWS[-1], "Largest number of points, at least 500.")
    dims: int = parameter(DIMS[-1], "Largest number of dimensions, at least 2.")
    iterations: int = parameter(
        100,
        f"Iterations of DDE that are timed; the reported seconds are those of {ITERATIONS}.",
        at_least=1,
    )
