"""Jobs of KCEF on the R benchmark data under every reading of the grid of kcef, table 1."""

from dataclasses import dataclass
from math import log10
from typing import ClassVar, NamedTuple

from kcde.experiments.job import ArrayJob, parameter


class Reading(NamedTuple):
    """A grid of σ and λ, by its ends, and the folds that judge it (`readings.csv`, K-grid)."""

    sigma: tuple[float, float]
    regularization: tuple[float, float]
    folds: int

    def __str__(self) -> str:
        return f"{self.sigma_range}; {self.regularization_range}; {self.folds} folds"

    @property
    def sigma_range(self) -> str:
        """The range of σ in words, as `0.2-8`."""
        return f"{self.sigma[0]:g}-{self.sigma[1]:g}"

    @property
    def regularization_range(self) -> str:
        """The range of λ in words, as `1e-5-1`; its ends are powers of ten."""
        return f"1e{round(log10(self.regularization[0]))}-{self.regularization[1]:g}"


SIGMAS = ((0.1, 10.0), (0.2, 8.0), (0.5, 5.0), (1.0, 10.0))
REGULARIZATIONS = ((1e-6, 1.0), (1e-5, 1.0), (1e-4, 1.0), (1e-3, 1.0))
FOLDS = (5, 10)
READINGS = tuple(Reading(s, r, k) for s in SIGMAS for r in REGULARIZATIONS for k in FOLDS)
DRAWN = Reading((0.2, 8.0), (1e-5, 1.0), 5)
"""The reading of the other experiments, `KCEF.selection_rule`."""


@dataclass(frozen=True)
class Job(ArrayJob):
    """Fit and score KCEF under every reading of the grid of table 1, over random halves.

    \b
    python -m kcde fetch geyser
    python -m kcde run table1-readings --dataset geyser --method KCEF --out geyser.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "table1_readings"
    repeated: ClassVar[tuple[str, ...]] = ("splits",)
    reads_files: ClassVar[bool] = True

    splits: int = parameter(20, "Random half/half splits.", at_least=1)
    importance_samples: int = parameter(
        10_000, "Draws for log Z if it is estimated by importance sampling."
    )
