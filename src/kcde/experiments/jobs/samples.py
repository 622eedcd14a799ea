"""Jobs of samples from joint densities (kcef, figures 2 and 4 and table 3)."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kcde.experiments.job import MOST_GRID_COLUMNS, SAMPLERS, ArrayJob, parameter

SHOWN_PAIR = "shown-pair"
COLUMNS = ("all", SHOWN_PAIR)


@dataclass(frozen=True)
class Job(ArrayJob):
    """Fit a joint density to the rows of run 0 and draw from it, once a seed.

    A shard fits the model itself and draws under some of the seeds.

    \b
    python -m kcde run samples --dataset grid-200 --method LSCDE-F --estimator LSCDE \\
        --graph full --out samples.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "samples"
    repeated: ClassVar[tuple[str, ...]] = ("seeds",)
    reads_files: ClassVar[bool] = True
    shares: ClassVar[bool] = True

    graph: str | list | None = parameter(
        None, "full, markov, or JSON parents from 0; one model of all by default."
    )
    columns: str = parameter(
        "all",
        "all, or shown-pair: fit to the two columns that the figures show, and sample these.",
        choices=COLUMNS,
    )
    seeds: int = parameter(10, "How often samples are drawn.", at_least=1)
    sampler: str = parameter(
        "auto",
        "hmc, adapted, direct, or auto: as the end of METHOD says, else hmc where there is one.",
        choices=SAMPLERS,
    )
    samples: int = parameter(2000, "Samples of each seed.", at_least=2)
    tuning_rows: int | None = parameter(500, "Rows that take part in a selection, at most.")
    max_dim: int = parameter(MOST_GRID_COLUMNS, "Columns of the grid data with 2000 rows.")
    factors: tuple[Path, ...] = parameter(
        (),
        "What `run factors` wrote: take the hyper-parameters of run 0; several may follow.",
        is_file=True,
    )
