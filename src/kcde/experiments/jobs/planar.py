"""Jobs of densities of points of the plane (dde, table 1 and figures 1 to 3)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.job import ArrayJob, parameter

LEAPFROG_STEPS = {"KEF-100-steps": 100}
"""Method to the leapfrog steps of a transition of its chains; others have 10, a choice of ours. The
code that dde cites for KEF prints 100 steps of 0.1, "as in the paper"."""


@dataclass(frozen=True)
class Job(ArrayJob):
    """Fit a density to points of the plane and draw from it (dde table 1). Needs no data.

    DDE trains all seeds as one batch: its job is not shardable.

    \b
    python -m kcde run planar --dataset grid --method KEF --seeds 2 --out planar.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "planar"
    repeated: ClassVar[tuple[str, ...]] = ("seeds",)

    dataset: str = parameter(help="two-moons, ring, grid; two-moons-code.", kw_only=False)
    seeds: int = parameter(10, "How often points are drawn and fitted.", at_least=1)
    iterations: int = parameter(
        20_000, "Iterations of estimators that are trained by iterations.", at_least=1
    )
    samples: int | None = parameter(
        None, "Samples of each seed; by default as many as test points.", at_least=2
    )
