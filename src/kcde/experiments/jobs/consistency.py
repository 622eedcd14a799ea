"""Jobs of convergence where the theory holds (kcef, theorem 2)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from kcde.experiments import job
from kcde.experiments.job import parameter

SMALLEST = 100
"""Training pairs; n doubles from here."""


class Constant(NamedTuple):
    """The c of λ = c n^-α.

    Attributes
    ----------
    absolute
        Whether `value` is c itself.
    value
        Else c as a multiple of ‖C‖.
    """

    absolute: bool
    value: float

    def axes(self, gamma: float) -> dict[str, float | bool]:
        """Return the axes of the setting of a series."""
        known = {"gamma": gamma, "constant": self.value}
        return known | {"absolute": True} if self.absolute else known


CONSTANTS = (
    Constant(False, 0.03),
    Constant(False, 0.1),
    Constant(False, 1.0),
    Constant(True, 1.0),  # as the theorem is printed
)
"""Those that are run."""


@dataclass(frozen=True)
class Job(job.Job):
    """Fit KCEF to growing samples of a well-specified target (kcef theorem 2). Needs no data.

    \b
    python -m kcde run consistency --out results/consistency.csv

    The same in two jobs, and a third that collects the parts:

    \b
    python -m kcde run consistency --shard 1/2 --out 1.npz
    python -m kcde run consistency --shard 2/2 --out 2.npz
    python -m kcde run consistency --part 1.npz --part 2.npz --out results/consistency.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "consistency"
    repeated: ClassVar[tuple[str, ...]] = ("repetitions",)

    repetitions: int = parameter(40, "Independent streams of data.", at_least=2)
    largest: int = parameter(3200, "Largest number of training pairs; n doubles up to it.")
    backend: str = parameter("auto", "auto, numpy or cupy.")

    def __post_init__(self):
        super().__post_init__()
        if self.largest < 2 * SMALLEST:
            raise ValueError(f"a slope needs n of at least {2 * SMALLEST}; got {self.largest}")
