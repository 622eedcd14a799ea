"""Slow experiments as several jobs: how many there are of each, and where their parts lie."""

from collections.abc import Mapping, Sequence

from traffics import splits_of_its_own

TRAINED_TOGETHER = ("NADE", "DDE", "ConditionalRealNVP", "ConditionalMAF")
"""Estimators that train all repetitions in one program, which is part of what they return: a job
with one of them is never cut. They are also those that are not written for cupy."""

REPETITIONS = {
    "r_benchmark": "splits",
    "factors": "runs",
    "samples": "sample_seeds",
    "planar": "planar_seeds",
    "consistency": "consistency_repetitions",
    "moments": "moments_repetitions",
    "portfolio": "portfolio_repetitions",
    "donut": "donut_repetitions",
    "terrain": "terrain_folds",
    "traffic": "traffic_splits",
}
"""The experiments that can be cut, and the key of `scales` that says how often each is repeated."""

_OF_GRIDS = "grid_runs"
_NAMED_BY = {
    "consistency": (),
    "factors": ("{dataset}", "{method}", "{nodes}"),
}
"""What tells the jobs of an experiment apart, where it is not data set and method."""


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
        A key of `REPETITIONS`.
    scale
        `smoke`, `laptop` or `paper`.
    dataset
        Traffic may have a split of its own, and the grid data have repetitions of their own.
    """
    if experiment == "traffic" and splits_of_its_own(catalogue, dataset):
        return 1
    of_grid = experiment == "factors" and dataset.startswith("grid-")
    return config["scales"][_OF_GRIDS if of_grid else REPETITIONS[experiment]][scale]


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


def part(experiment: str, method: str = "{method}", root: str = "results/{scale}/parts") -> str:
    """Return the path of a part without suffix, with wildcards in braces.

    Parameters
    ----------
    experiment
        A key of `REPETITIONS`.
    method
        Of several that one job fits, the first.
    root
        Folder of all parts, or of their logs.
    """
    named = _NAMED_BY.get(experiment, ("{dataset}", "{method}"))
    names = [name.replace("{method}", method) for name in named]
    return "/".join([root, experiment, *names, "{shard}-of-{shards}"])
