"""Jobs of conditional second moments of Gaussian pairs (jdl, section 5.1, figures 1 to 6)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.data.names import DRAWN_LAW, parsed_law
from kcde.experiments.job import parameter
from kcde.experiments.jobs._embedding import REGULARIZATIONS, EmbeddingJob, Grid

TOLERANCE = 1e-3
MORE_REGULARIZATIONS = (1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, *REGULARIZATIONS)
"""λ of JDL is added to products of two eigenvalues, so that its best values are small."""


@dataclass(frozen=True)
class Job(EmbeddingJob):
    """Estimate conditional second moments of Gaussian pairs (jdl figures 1 to 6). Needs no data.

    Several methods share what their fits have in common: JDL and CME have the same bases. The last
    three examples shard the job before: two parts that can run in parallel, and their collection.

    \b
    python -m kcde run moments --dataset gaussian-1-1000 --method JDL --repetitions 2 \\
        --out moments.csv
    python -m kcde run moments --dataset gaussian-1-1000 --method JDL --out JDL.csv \\
        --method CME --out CME.csv
    python -m kcde run moments --dataset gaussian-1-1000 --method JDL --method CME \\
        --shard 1/2 --out 1.npz
    python -m kcde run moments --dataset gaussian-1-1000 --method JDL --method CME \\
        --shard 2/2 --out 2.npz
    python -m kcde run moments --dataset gaussian-1-1000 --method JDL --out JDL.csv \\
        --method CME --out CME.csv --part 1.npz --part 2.npz
    """  # noqa: D301

    experiment: ClassVar[str] = "moments"

    dataset: str = parameter(
        help="gaussian-<d>-<n>: d columns, n rows; a variation may follow.", kw_only=False
    )
    repetitions: int = parameter(20, "Random correlation matrices.", at_least=1)
    constrained_repetitions: int | None = parameter(
        None, "Number of repetitions also fitted with constraints; all by default.", at_least=0
    )
    # A method that has none is fitted once, under the tolerance 0. Those after the first all take
    # the factor of the tightest, whose seconds they state.
    tolerances: tuple[float, ...] = parameter(
        (TOLERANCE,), "Relative, of the factors; with constraints the first alone."
    )
    # Each law is fitted in turn; they share what depends on x alone where their x are the same.
    laws: tuple[str, ...] = parameter(
        (DRAWN_LAW,), "Of the elements of log C: normal-<std>, uniform-<half width>."
    )
    validation_rows: int | None = parameter(
        None, "Rows at which candidates are compared, at most; a fifth by default.", at_least=1
    )
    largest_factors: tuple[float, ...] = parameter(
        (), "Further fits whose bandwidth factors are at most these."
    )
    grid: Grid = parameter(lambda: Grid(regularizations=MORE_REGULARIZATIONS))

    def __post_init__(self):
        super().__post_init__()
        if not self.tolerances or len(set(self.tolerances)) < len(self.tolerances):
            raise ValueError(f"tolerances must be numbers, each once; got {self.tolerances}")
        if not all(0.0 < tolerance < 1.0 for tolerance in self.tolerances):
            raise ValueError(f"tolerances must be above 0 and below 1; got {self.tolerances}")
        if not self.laws or len(set(self.laws)) < len(self.laws):
            raise ValueError(f"laws must be names, each once; got {self.laws}")
        for law in self.laws:
            parsed_law(law)
        if least := [
            each for each in self.largest_factors if each < min(self.grid.bandwidth_factors)
        ]:
            raise ValueError(
                f"largest_factors must not be below all of bandwidth_factors; got {least[0]:g}"
            )
