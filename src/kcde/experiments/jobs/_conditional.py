"""Parameters that the jobs of the cdo paper share."""

from dataclasses import dataclass

from kcde.experiments.job import SETTINGS, ArrayJob, parameter
from kcde.names import OURS

SMOOTHERS = (
    "linear-interpolation",
    "Clough-Tocher",
    "four-neighbours",
    "Nadaraya-Watson",
    "Nadaraya-Watson-CDO",
)
"""Methods of terrain and traffic alone (`kcde.experiments._smoothers`), which have no estimator.

The last one has the kernel and the bandwidths of CDO as its authors set it.
"""


@dataclass(frozen=True)
class ConditionalJob(ArrayJob):
    """A method whose hyper-parameters may be those that the authors of cdo fixed."""

    settings: str = parameter(
        "chosen",
        "authors: options that are not given are those of cdo's authors; chosen: of the class.",
        choices=SETTINGS,
    )

    def __post_init__(self):
        super().__post_init__()
        if self.estimator in SMOOTHERS:
            object.__setattr__(self, "variant", OURS)
