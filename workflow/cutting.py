"""Slow experiments as several jobs: how many there are of each, and where their parts lie."""

from collections.abc import Mapping, Sequence

import jobs
from joints import EXACT, is_grid
from traffics import splits_of_its_own

from kcde import discovery
from kcde.experiments.jobs import EXPERIMENTS, job_class

TRAINED_TOGETHER = discovery.with_method("fit_many")
"""Estimators that train all repetitions in one program, which is part of what they return: a job
with one of them is never cut. They are also those that are not written for cupy."""

CUT = tuple(name for name in EXPERIMENTS if job_class(name).repeated)
"""The experiments that can be cut."""

_STEMS = {
    "factors": "factors/{dataset}/{method}/{nodes}",
    "joint_network": "joint/{dataset}/{method}",
    "exact": f"joint/{{dataset}}/{EXACT}",
    "failure_case": "failure_case",
    "consistency": "consistency",
    "estimation_cost": "estimation_cost",
}
"""Where the files of an experiment lie, where it is not by its name, data set and method."""


def repetitions(
    config: Mapping, catalogue: Mapping, experiment: str, scale: str, dataset: str
) -> int:
    """Return how often a job repeats its experiment.

    Parameters
    ----------
    config
        The configuration.
    catalogue
        Rows by name and alias.
    experiment
        One of `CUT`.
    scale
        `smoke`, `laptop` or `paper`.
    dataset
        Traffic may have a split of its own, and the grid data have repetitions of their own.
    """
    if experiment == "traffic" and splits_of_its_own(catalogue, dataset):
        return 1
    if experiment == "factors" and is_grid(dataset):
        return config["scales"]["grid_runs"][scale]
    counted = job_class(experiment).repeated[0]
    return config["scales"][jobs.SCALED[experiment][counted]][scale]


def shards(
    config: Mapping,
    catalogue: Mapping,
    experiment: str,
    scale: str,
    dataset: str = "",
    methods: Sequence[str] = (),
) -> int:
    """Return how many jobs compute what one did: as `shards` says, where it can be cut at all.

    Parameters
    ----------
    config, catalogue, experiment, scale, dataset
        As above; any other experiment is one job.
    methods
        Those of the job, keys of `methods`.
    """
    wanted = config["shards"].get(experiment, 1)
    estimators = {config["methods"][name]["estimator"] for name in methods}
    if wanted == 1 or estimators & set(TRAINED_TOGETHER):
        return 1
    return min(wanted, repetitions(config, catalogue, experiment, scale, dataset))


def stem(experiment: str, method: str = "{method}") -> str:
    """Return the path of an experiment's files below its scale, without suffix.

    Parameters
    ----------
    experiment
        Its name.
    method
        Of several that one job fits, one; as a rule a wildcard in braces, as the others are.
    """
    path = _STEMS.get(experiment, f"{experiment}/{{dataset}}/{{method}}")
    return path.replace("{method}", method)


def part(experiment: str, method: str = "{method}", *, root: str = "results/{scale}/parts") -> str:
    """Return the path of a part without suffix, with wildcards in braces.

    Parameters
    ----------
    experiment
        One of `CUT`.
    method
        Of several that one job fits, the first.
    root
        Folder of all parts, or of their logs.
    """
    return f"{root}/{stem(experiment, method)}/{{shard}}-of-{{shards}}"
