"""Experiments of jdl as jobs: what names of generated and of sampled data say, and their sizes."""

import re
from collections.abc import Mapping, Sequence

MADE_UP_FILES = {"portfolios": "smoke-portfolios", "risk_free": "smoke-risk-free"}
"""What stands for the files of portfolios at the scale `smoke`."""

PATTERNS = {
    "moments": r"gaussian-[1-3]-[1-9][0-9]*",
    "portfolio": r"portfolios-[1-9][0-9]*-[1-9][0-9]*",
}
"""Names of the data of an experiment: dimension, then rows to train and validate."""


def is_sized(dataset: str, experiment: str | None = None) -> bool:
    """Return whether a name says dimension and rows, of any or of one experiment."""
    patterns = PATTERNS.values() if experiment is None else [PATTERNS[experiment]]
    return any(re.fullmatch(pattern, dataset) for pattern in patterns)


def sizes(dataset: str) -> tuple[int, int]:
    """Return the dimension and the rows that a name says."""
    _, dim, rows = dataset.split("-")
    return int(dim), int(rows)


def within(config: Mapping, dataset: str, scale: str) -> bool:
    """Return whether a scale reaches the size of a data set; it does where none is stated."""
    if not is_sized(dataset, "moments"):
        return True
    dim, rows = sizes(dataset)
    limit = config["scales"].get(f"moments_rows_{dim}")
    return limit is None or rows <= limit[scale]


def tolerances(config: Mapping, dataset: str, scale: str) -> list[float]:
    """Return the tolerances that Gaussian pairs are fitted with, the published one first."""
    moments, (dim, rows) = config["experiments"]["moments"], sizes(dataset)
    reached = [step for step in moments["tolerances"] if step["rows"] <= rows]
    # Fewer rows than any step names have the tolerance of the first.
    published = max(reached or moments["tolerances"][:1], key=lambda step: step["rows"])
    others = [
        value
        for more in moments["more_tolerances"]
        if more["dim"] == dim and rows <= more["rows"][scale]
        for value in more["tolerances"]
    ]
    return list(dict.fromkeys([published["tolerance"], *others]))


def groups(config: Mapping, experiment: str) -> list[tuple[str, ...]]:
    """Return the methods of an experiment, those together that one job fits, in their order.

    They are named in one list of `together`, and are fitted on the same data sets in the same way.
    """
    chosen = config["experiments"][experiment]
    lists = {name: place for place, names in enumerate(chosen["together"]) for name in names}
    found: dict[str, list[str]] = {}
    for method in chosen["methods"]:
        special = [
            chosen.get(key, {}).get(method) for key in ("only", "shared_choice", "slow_constrained")
        ]
        # A method of no list is alone.
        found.setdefault(repr([lists.get(method, method), special]), []).append(method)
    return [tuple(group) for group in found.values()]


def job_name(experiment: str, methods: Sequence[str]) -> str:
    """Return what the rule of some methods is called."""
    return "+".join([experiment, *methods])


def memory(dataset: str) -> int:
    """Return MiB that a job on Gaussian pairs may take: libraries, rows, and factors of them."""
    dim, rows = sizes(dataset)
    # Of a factor where the tolerance is not loosened; the largest measured process had 0.6 to 0.8
    # of what this says.
    columns = {1: 14, 2: 112}.get(dim, 384)
    # Fits of several methods and tolerances hold one factor of x, and of y up to four; one beyond
    # 2 GiB is not kept.
    return 700 + min(5 * 2048, rows * 8 * (4 * dim + 5 * columns) // 2**20)


def portfolio_memory(config: Mapping, dataset: str, scale: str) -> int:
    """Return MiB that a job on portfolios may take: libraries, and square matrices of its rank."""
    _, rows = sizes(dataset)
    rank = min(rows, config["scales"]["portfolio_max_rank"][scale])
    # The factor, its coefficients, their Gram matrix, its eigenvectors, and two temporaries.
    return 500 + 6 * rows * 8 * rank // 2**20
