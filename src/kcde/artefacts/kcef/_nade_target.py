"""What the column NADE of kcef, table 1, measures: y given x, or x and y together.

The paper does not say. Declared before the joint density was fitted: on a data set the nearer of
the two is the one whose mean over splits has the smaller distance to the published mean; since one
exploding split rules a mean, the same count by medians is stated beside it, and decides nothing.
"""

from collections.abc import Sequence

import pandas as pd

from kcde.artefacts.tables.markdown import number, pipe_table
from kcde.metrics.names import NLL, NLL_QUADRATURE, NLL_X
from kcde.names import AS_PUBLISHED

CONDITIONAL, JOINT = "NADE", "NADE-joint"

_TITLE = "## What the published NADE measures"
_HEADER = ("data set", "published", "y given x", "x and y", "x alone", "nearer")


def against_joint(scores: pd.DataFrame) -> pd.DataFrame:
    """Return scores by which the joint NADE is compared with conditional densities.

    NADE's scores are those of NADE-joint, and to the negative log-likelihood of every other method
    that of x alone is added, split by split, as the joint NADE gives it. Differences are then those
    of log p(y|x) under the two models, and the level is that of the joint.

    Parameters
    ----------
    scores
        As `kcde.scores.read` returns them; NADE-joint with the likelihood of x alone.

    Returns
    -------
    pandas.DataFrame
        With the same columns. A split whose joint NADE failed has no sum: its values are NaN.
    """
    joint = scores["method"] == JOINT
    key = ["dataset", "split"]
    of_x = scores[joint & (scores["metric"] == NLL_X) & (scores["status"] == "ok")]
    of_x = of_x.set_index(key)["value"]
    others = scores[~joint & (scores["method"] != CONDITIONAL)]
    likelihoods = others["metric"].isin([NLL, NLL_QUADRATURE])
    added = of_x.reindex(pd.MultiIndex.from_frame(others.loc[likelihoods, key])).to_numpy()
    others = others.copy()
    others.loc[likelihoods, "value"] += added
    renamed = scores[joint].assign(method=CONDITIONAL, variant=AS_PUBLISHED)
    return pd.concat([others, renamed], ignore_index=True)


def section(table: pd.DataFrame) -> list[str]:
    """Return the paragraphs that say, set by set, which of the two is nearer.

    Parameters
    ----------
    table
        As tracked.

    Returns
    -------
    list of str
        Heading, explanation, table and counts; none where no data set has both and a published
        value.
    """
    cells = _cells(table)
    if not len(cells):
        return []
    rows = [
        [
            dataset,
            *(number(row[name]) for name in ("published_mean", "mean", "mean_joint", "mean_x")),
            "x and y" if row["joint_is_nearer"] else "y given x",
        ]
        for dataset, row in cells.iterrows()
    ]
    return [
        _TITLE,
        "The paper does not say whether this column is the negative log-likelihood of y given x, "
        "as the others are, or of x and y together, which NADE models without further ado. "
        "Verdicts take the former. Both below, with the part of x in the latter, and which of the "
        "two means is nearer to the published one.",
        pipe_table(_HEADER, rows),
        _counts(cells),
    ]


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return the published value and ours of each data set that has both."""
    primary = table[table["metric"] == NLL].set_index("dataset")
    own = primary.loc[primary["method"] == CONDITIONAL, ["published_mean", "mean", "median"]]
    joint = primary.loc[primary["method"] == JOINT, ["mean", "median"]].add_suffix("_joint")
    of_x = table[(table["metric"] == NLL_X) & (table["method"] == JOINT)].set_index("dataset")
    cells = own.join([joint, of_x["mean"].rename("mean_x")]).astype(float)
    cells = cells.dropna(subset=["published_mean", "mean", "mean_joint"])
    for name, column in (("joint_is_nearer", "mean"), ("joint_is_nearer_by_median", "median")):
        far, joint_far = (
            (cells[each] - cells["published_mean"]).abs() for each in (column, f"{column}_joint")
        )
        cells[name] = joint_far < far
    return cells


def _counts(cells: pd.DataFrame) -> str:
    joint, by_median = cells["joint_is_nearer"], cells["joint_is_nearer_by_median"]
    return (
        f"x and y together is nearer on {joint.sum()} of {len(cells)} sets"
        f"{_listed(cells.index[joint])}, y given x on {(~joint).sum()}"
        f"{_listed(cells.index[~joint])}. By our medians, which no exploding split rules, x and y "
        f"together is nearer on {by_median.sum()}."
    )


def _listed(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if len(names) else ""
