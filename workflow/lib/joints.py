"""Joint densities as jobs: how many columns a data set has, and which factors a job fits."""

import re
from collections.abc import Mapping

EXACT = "exact"
"""The method under which the known density of the grid data is scored."""

OURS = "KCEF-F"
"""Whose samples the rivals' are compared with."""

LARGEST_GRID = "grid-2000"
"""The grid data on which densities of every dimension are estimated."""

_GRID_COLUMNS = 3
_MADE_UP_COLUMNS = 3


def is_grid(dataset: str) -> bool:
    """Return whether rows of a data set are drawn from the grid distribution."""
    return re.fullmatch(r"grid-[0-9]+", dataset) is not None


def columns(config: Mapping, catalogue: Mapping, dataset: str) -> int:
    """Return how many factors the joint density of a data set has.

    Parameters
    ----------
    config
        The configuration.
    catalogue
        Rows by name and alias.
    dataset
        Of the catalogue, `grid-<n>`, or made up.
    """
    if dataset == LARGEST_GRID:
        return config["experiments"]["joint"]["max_dim"]
    if is_grid(dataset):
        return _GRID_COLUMNS
    if dataset not in catalogue:
        return _MADE_UP_COLUMNS
    return len(catalogue[dataset]["y"].split("|"))


def node_ranges(count: int, per_job: int) -> list[str]:
    """Return the factors of each job, `01-04`, `05-08` and so on up to `count`."""
    starts = range(1, count + 1, per_job)
    return [f"{first:02d}-{min(first + per_job - 1, count):02d}" for first in starts]


def nodes(text: str) -> list[int]:
    """Return the factors that `05-08` names."""
    first, last = map(int, text.split("-"))
    return list(range(first, last + 1))
