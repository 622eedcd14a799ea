"""The job of where conditional score matching is blind (kcef, figure 3)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments import job


@dataclass(frozen=True)
class Job(job.Job):
    """Compute where conditional score matching is blind (kcef figure 3). Needs no data.

    \b
    python -m kcde run failure-case --out results/failure_case.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "failure_case"
