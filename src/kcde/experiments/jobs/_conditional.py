"""Parameters that the jobs of the cdo paper share."""

from dataclasses import dataclass

from kcde.experiments.job import SETTINGS, ArrayJob, parameter


@dataclass(frozen=True)
class ConditionalJob(ArrayJob):
    """A method whose hyper-parameters may be those that the authors of cdo fixed."""

    settings: str = parameter(
        "chosen",
        "authors: options that are not given are those of cdo's authors; chosen: of the class.",
        choices=SETTINGS,
    )
