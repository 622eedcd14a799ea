"""Jobs that sum the factors of joint densities (kcef, table 2 and figures 1 and 5)."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kcde.experiments import job
from kcde.experiments.job import parameter


@dataclass(frozen=True)
class Job(job.Job):
    """Sum the factors of a joint density.

    \b
    python -m kcde run joint --out joint.csv --factors factors/*.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "joint"

    factors: tuple[Path, ...] = parameter(
        help="What `run factors` wrote; several may follow one --factors.", is_file=True
    )
