"""Jobs of the factors of joint densities (kcef, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.job import MOST_GRID_COLUMNS, ArrayJob, parameter


@dataclass(frozen=True)
class Job(ArrayJob):
    """Fit and score some factors of a joint density, for all runs.

    \b
    python -m kcde run factors --dataset grid-200 --method LSCDE-F --estimator LSCDE \\
        --nodes 1-3 --out factors/01-03.csv

    The same with one run per job (--runs is 5), and a job that collects the parts:

    \b
    python -m kcde run factors --dataset grid-200 --method LSCDE-F --estimator LSCDE \\
        --nodes 1-3 --shard 1/5 --out 1.npz
    ...
    python -m kcde run factors --dataset grid-200 --method LSCDE-F --estimator LSCDE \\
        --nodes 1-3 --part 1.npz ... --part 5.npz --out factors/01-03.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "factors"
    repeated: ClassVar[tuple[str, ...]] = ("runs",)
    reads_files: ClassVar[bool] = True

    nodes: tuple[int, ...] = parameter(help="Which factors, from 1: `1-4`, or `2,5`.")
    graph: str | list = parameter("full", "full, markov, or JSON parents from 0: [[],[0],[0,1]].")
    runs: int = parameter(5, "Random splits, or repetitions of the grid data.", at_least=1)
    tuning_rows: int | None = parameter(500, "Rows that take part in a selection, at most.")
    importance_samples: int | None = parameter(
        None, "Draws for a second estimate of log Z, in addition to quadrature; none by default."
    )
    max_dim: int = parameter(MOST_GRID_COLUMNS, "Columns of the grid data with 2000 rows.")
