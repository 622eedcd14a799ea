"""What jobs of the cdo paper have in common."""

from dataclasses import dataclass

from kcde.experiments.job import SETTINGS, ArrayJob, parameter


@dataclass(frozen=True)
class ConditionalJob(ArrayJob):
    """A method whose hyper-parameters may be those that the authors of cdo fixed."""

    settings: str = parameter(
        "chosen",
        "authors: what --options leave open is as cdo's authors had it; chosen: as the class has.",
        choices=SETTINGS,
    )
