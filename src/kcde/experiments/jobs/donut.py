"""Jobs of conditional densities of the Gaussian donut (cdo, figure 4)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.data.names import DONUT
from kcde.experiments.job import parameter
from kcde.experiments.jobs._conditional import ConditionalJob


@dataclass(frozen=True)
class Job(ConditionalJob):
    """Estimate the density of the Gaussian donut at x = 0 and x = 1 (cdo figure 4). Needs no data.

    The error as published is that to the joint density, the corrected one that to the conditional.
    The last three examples shard one job: two parts that can run in parallel, and their collection.

    \b
    python -m kcde run donut --method CDO --settings authors --out donut.csv
    python -m kcde run donut --method CDO-clipped --estimator CDO --settings authors \\
        --options '{"weights": "clipped"}' --repetitions 2 --out clipped.csv
    python -m kcde run donut --method LSCDE --shard 1/2 --out 1.npz
    python -m kcde run donut --method LSCDE --shard 2/2 --out 2.npz
    python -m kcde run donut --method LSCDE --part 1.npz --part 2.npz --out LSCDE.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "donut"
    repeated: ClassVar[tuple[str, ...]] = ("repetitions",)

    dataset: str = parameter(DONUT, "Its only name.", choices=(DONUT,))
    repetitions: int = parameter(10, "How often points are drawn and fitted.", at_least=1)
    points: int = parameter(75, "Points around each of the 50 means.", at_least=1)
