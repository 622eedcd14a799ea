"""Jobs of elevation over a grid of coordinates (cdo, table 3)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.job import parameter
from kcde.experiments.jobs._conditional import ConditionalJob

FOLD_COUNT = 10

FLOWS = ("ConditionalRealNVP", "ConditionalMAF")
"""Estimators that the authors of cdo score on random splits, as their own."""


@dataclass(frozen=True)
class Job(ConditionalJob):
    """Predict elevation from coordinates, with scaled absolute errors (cdo table 3).

    All 14040 points take 1.3 GB for each matrix of kernel values, and half a minute a fold. Shards
    count the folds and then the random splits as repetitions; `run donut --help` has an example.

    \b
    python -m kcde fetch rough-terrain
    python -m kcde run terrain --dataset rough-terrain --method CDO --settings authors \\
        --folds 1 --out terrain.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "terrain"
    repeated: ClassVar[tuple[str, ...]] = ("folds", "splits")
    reads_files: ClassVar[bool] = True

    folds: int = parameter(
        FOLD_COUNT,
        "How many of ten shuffled folds are held out, the first ones.",
        at_most=FOLD_COUNT,
    )
    splits: int = parameter(0, "Random splits into 80% training and 20% test rows, as for flows.")

    def __post_init__(self):
        super().__post_init__()
        if min(self.folds, self.splits) < 0 or self.folds + self.splits < 1:
            raise ValueError(
                "there must be at least one fold or random split; got "
                f"folds = {self.folds}, splits = {self.splits}"
            )
