"""How an experiment is divided into jobs: groups of methods, ranges of factors, shards."""

from collections.abc import Mapping, Sequence
from functools import cache

from kcde import discovery
from kcde.data import names
from kcde.data.catalogue import Entry
from kcde.experiments.jobs import EXPERIMENTS, job_class
from lib.jobs import Asked, value_of

OF_ALL_SCALES = ("together", "nodes_per_job", "max_dim")
"""Keys of an experiment that make rules and names of files, and so are the same at every scale."""

SHARDABLE = tuple(name for name in EXPERIMENTS if job_class(name).repeated)
"""The experiments whose repetitions several jobs can share."""


@cache
def batch_fitted() -> frozenset[str]:
    """Return the estimators that train all repetitions as one batch, on which the results depend.

    A job with one of them is not shardable, and JAX computes it.
    """
    return discovery.with_method("fit_many")


def groups(config: Mapping, experiment: str) -> list[tuple[str, ...]]:
    """Return the methods of an experiment, grouped by the job that fits them, in their order.

    Methods of one job are in the same list of `together`, and are fitted on the same data sets in
    the same way.
    """
    chosen, read = (config[key].get(experiment, {}) for key in ("experiments", "readings"))
    together = chosen.get("together", ())
    lists = {name: place for place, each in enumerate(together) for name in each}
    found: dict[str, list[str]] = {}
    for method in dict.fromkeys([*chosen["methods"], *read.get("methods", ())]):
        special = [
            chosen.get(key, {}).get(method) for key in ("only", "shared_choice", "slow_constrained")
        ]
        # A method of no list is alone.
        found.setdefault(repr([lists.get(method, method), special]), []).append(method)
    return [tuple(group) for group in found.values()]


def columns(config: Mapping, catalogue: Mapping[str, Entry], dataset: str) -> int:
    """Return how many factors the joint density of a data set has.

    Parameters
    ----------
    config
        The configuration.
    catalogue
        Entries by name and alias.
    dataset
        Of the catalogue, `grid-<n>`, or made up.
    """
    if names.is_grid(dataset):
        return names.grid_name(dataset).columns(config["experiments"]["joint"]["max_dim"])
    if dataset not in catalogue:
        return len(names.MADE_UP_COLUMNS)
    return len(catalogue[dataset].y)


def node_ranges(count: int, per_job: int) -> list[str]:
    """Return the ranges of factors that one job each fits: `01-04`, `05-08`, ..., up to `count`."""
    starts = range(1, count + 1, per_job)
    return [f"{first:02d}-{min(first + per_job - 1, count):02d}" for first in starts]


def nodes(text: str) -> list[int]:
    """Return the factors that `05-08` names."""
    first, last = map(int, text.split("-"))
    return list(range(first, last + 1))


def repetitions(
    config: Mapping, catalogue: Mapping[str, Entry], experiment: str, scale: str, dataset: str
) -> int:
    """Return how often a job repeats its experiment.

    Parameters
    ----------
    config
        The configuration.
    catalogue
        Entries by name and alias.
    experiment
        One of `SHARDABLE`.
    scale
        `smoke`, `laptop` or `paper`.
    dataset
        "" where it has none.
    """
    is_split = dataset in catalogue and catalogue[dataset].has_test_rows
    if dataset == names.SIMULATED_TRAFFIC or is_split:
        return 1
    counted = job_class(experiment).repeated[0]
    return value_of(Asked(config, scale, experiment, dataset, ""), counted)


def shards(
    config: Mapping,
    catalogue: Mapping[str, Entry],
    experiment: str,
    scale: str,
    dataset: str = "",
    methods: Sequence[str] = (),
) -> int:
    """Return how many shards a job has: 1 if it is not shardable.

    Parameters
    ----------
    config, catalogue, experiment, scale, dataset
        As for `repetitions`, of any experiment.
    methods
        Those of the job, keys of `methods`.
    """
    wanted = config["shards"].get(experiment, 1)
    known = [name for name in methods if name in config["methods"]]
    estimators = {config["methods"][name]["estimator"] for name in known}
    if wanted == 1 or estimators & batch_fitted():
        return 1
    return min(wanted, repetitions(config, catalogue, experiment, scale, dataset))
