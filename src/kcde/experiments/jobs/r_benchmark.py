"""Jobs of conditional densities on the R benchmark data (kcef, table 1; dde, table 2)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.job import ArrayJob, parameter

EVALUATIONS = ("training-half", "test-half")
TARGETS = CONDITIONAL, JOINT = ("conditional", "joint")


@dataclass(frozen=True)
class Job(ArrayJob):
    """Fit and score one method on one data set, over random half/half splits.

    \b
    python -m kcde fetch geyser
    python -m kcde run r-benchmark --dataset geyser --method KCEF --out geyser.csv

    The same in two jobs, and a third that collects the parts:

    \b
    python -m kcde run r-benchmark --dataset geyser --method KCEF --shard 1/2 --out 1.npz
    python -m kcde run r-benchmark --dataset geyser --method KCEF --shard 2/2 --out 2.npz
    python -m kcde run r-benchmark --dataset geyser --method KCEF --part 1.npz --part 2.npz \\
        --out geyser.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "r_benchmark"
    repeated: ClassVar[tuple[str, ...]] = ("splits",)
    reads_files: ClassVar[bool] = True

    splits: int = parameter(20, "Random half/half splits.", at_least=1)
    inner_splits: int = parameter(
        0,
        "Of the first so many splits the inner log likelihood is computed as well: of a fifth of "
        "the training rows under a fit to the others.",
        at_least=0,
    )
    importance_samples: int = parameter(
        10_000, "Draws for log Z if it is estimated by importance sampling."
    )
    tuning_rows: int | None = parameter(
        500, "Rows that take part in a likelihood selection, at most; all if null in --job."
    )
    # "training-half": a Gaussian wider than the training y (`log_normaliser` of the estimator);
    # "test-half": 1000 draws from one with mean and standard deviation of the *test* y, as dde was
    # evaluated, which is biased low.
    evaluation: str = parameter(
        "training-half",
        "Half whose y set the proposal for log Z: training-half or test-half.",
        choices=EVALUATIONS,
    )
    target: str = parameter(
        CONDITIONAL,
        "What is modelled: conditional, y given x; joint, x and y together.",
        choices=TARGETS,
    )
