"""Jobs of joint densities by one network for all columns (kcef, table 2, figures 1 and 5)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.job import MOST_GRID_COLUMNS, MethodJob, parameter


@dataclass(frozen=True)
class Job(MethodJob):
    """Train one network for all columns, all runs at once, and score it over orders.

    \b
    python -m kcde run joint-network --dataset grid-200 --method NADE --out joint.csv \\
        --options '{"hidden_units": 100, "components": 10}'
    """  # noqa: D301

    experiment: ClassVar[str] = "joint_network"
    reads_files: ClassVar[bool] = True

    runs: int = parameter(5, "Random splits, or repetitions of the grid data.", at_least=1)
    dims: tuple[int, ...] = parameter(
        (), "Numbers of columns to train on, of the grid data with 2000 rows: `2,5,20`."
    )
    tuning_rows: int | None = parameter(500, "Rows that take part in a selection, at most.")
    max_dim: int = parameter(MOST_GRID_COLUMNS, "Columns of the grid data with 2000 rows.")
