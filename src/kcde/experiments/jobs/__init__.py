"""The jobs of all experiments, a module each, named as the experiment is.

A job and what computes it are two modules, so that the workflow and the command line can read the
parameters of all experiments without importing what fits and scores.
"""

from importlib import import_module
from pathlib import Path

from kcde.experiments.job import Job

EXPERIMENTS = tuple(sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py")))


def job_class(experiment: str) -> type[Job]:
    """Return the class of an experiment's jobs.

    Raises
    ------
    ValueError
        If there is no such experiment.
    """
    if experiment not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise ValueError(f"there is no experiment {experiment!r}; known: {known}")
    return import_module(f"{__name__}.{experiment}").Job
