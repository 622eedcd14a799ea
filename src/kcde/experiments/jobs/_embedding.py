"""Parameters that jobs of low-rank embeddings share (jdl)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.job import ArrayJob, parameter

BANDWIDTH_FACTORS = (0.5, 1.0, 2.0, 4.0)
REGULARIZATIONS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


@dataclass(frozen=True)
class Grid:
    """Candidates of a selection.

    Raises
    ------
    ValueError
        If there are no values, or one is not positive.
    """

    bandwidth_factors: tuple[float, ...] = parameter(
        BANDWIDTH_FACTORS, "Bandwidths to try, over the median distance/√2.", kw_only=False
    )
    regularizations: tuple[float, ...] = parameter(
        REGULARIZATIONS, "Regularizations λ to try.", kw_only=False
    )

    def __post_init__(self):
        for name, values in vars(self).items():
            if not values or not all(0.0 < value < float("inf") for value in values):
                raise ValueError(f"{name} must be positive numbers, at least one; got {values}")


@dataclass(frozen=True)
class EmbeddingJob(ArrayJob):
    """A method on data of one dimension and number of rows, all repetitions."""

    repeated: ClassVar[tuple[str, ...]] = ("repetitions",)
    shares: ClassVar[bool] = True

    repetitions: int = parameter(20, "Random repetitions.", at_least=1)
    tuning_rows: int | None = parameter(
        None, "Rows that choose the parameters, at most; all by default.", at_least=5
    )
    # "shared" is for constraints that cost so much that only one fit is affordable.
    choice: str = parameter(
        "own",
        "Parameters of a fit with constraints: own, or shared with that without.",
        choices=("own", "shared"),
    )
    matched_repetitions: int = parameter(
        0, "Repetitions that also time fits of one bandwidth for all methods.", at_least=0
    )
    test_rows: int = parameter(5000, "Points at which each fit is tested.", at_least=1)
    grid: Grid = parameter(Grid)
