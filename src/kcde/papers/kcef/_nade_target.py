"""What the column NADE of kcef, table 1, measures: y given x, or x and y together.

The paper does not say. Declared before the joint density was fitted: on a data set the nearer of
the two is the one whose mean over splits has the smaller distance to the published mean; since one
exploding split rules a mean, the same count by medians is stated beside it, and decides nothing.
That the joint density meets a published value is judged by the rule of all verdicts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import pandas as pd

from kcde.evidence import verdicts
from kcde.metrics.names import NLL, NLL_QUADRATURE, NLL_X
from kcde.names import AS_PUBLISHED
from kcde.pages import building
from kcde.pages.markdown import number, pipe_table
from kcde.papers.artefact import Decision
from kcde.papers.kcef._grid_readings import compact

CONDITIONAL, JOINT = "NADE", "NADE-joint"

CONDITIONAL_READING, JOINT_READING = "conditional", "joint"
PRINTED_READING = "joint beside conditional"
"""Readings of what the column measures (`readings.csv`, K-nade)."""

_TITLE = "## Which of the two is nearer"
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
    return _with_joint_column(others, scores)


def as_printed(scores: pd.DataFrame) -> pd.DataFrame:
    """Return scores with the joint NADE in the column NADE, beside all others of y given x.

    Another quantity than in the other columns: how table 1 compares if its column is joint.

    Parameters
    ----------
    scores
        As for `against_joint`.
    """
    return _with_joint_column(scores[~scores["method"].isin([CONDITIONAL, JOINT])], scores)


def _with_joint_column(others: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    renamed = scores[scores["method"] == JOINT].assign(method=CONDITIONAL, variant=AS_PUBLISHED)
    return pd.concat([others, renamed], ignore_index=True)


def by_target(
    scores: pd.DataFrame,
    decide: Callable[[pd.DataFrame], Decision],
    joint: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]] = MappingProxyType(
        {JOINT_READING: against_joint}
    ),
) -> dict[str, Decision]:
    """Return what a test of the column NADE decides for either density.

    Parameters
    ----------
    scores
        As `kcde.scores.read` returns them.
    decide
        The test, of scores in which NADE is the column.
    joint
        Readings of a joint column to what makes scores of them.

    Returns
    -------
    dict
        `conditional` and the readings of `joint` to the decisions.
    """
    found = {CONDITIONAL_READING: decide(scores)}
    if (scores["method"] == JOINT).any():
        return found | {name: decide(compact(of(scores))) for name, of in joint.items()}
    missing = Decision("undecided", f"no splits of {JOINT}")
    return found | dict.fromkeys(joint, replace(missing, amended=missing))


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
    if not cells:
        return []
    return [
        _TITLE,
        "Means of both, with the part of x in the latter, and which of the two is nearer to the "
        "published one; ✓: it would be reproduced by the rule of table 1, whose verdicts take y "
        "given x.",
        pipe_table(_HEADER, [cell.shown for cell in cells]),
        _counts(cells),
    ]


@dataclass(frozen=True)
class _Cell:
    """A published value and ours under both readings, as rows of the table."""

    dataset: str
    of_y: pd.Series
    joint: pd.Series
    of_x: float

    @property
    def published(self) -> float:
        return self.of_y["published_mean"]

    @property
    def shown(self) -> list[str]:
        ours = [f"{number(row['mean'])}{' ✓' * self.meets(row)}" for row in (self.of_y, self.joint)]
        nearer = "x and y" if self.joint_is_nearer() else "y given x"
        return [self.dataset, number(self.published), *ours, number(self.of_x), nearer]

    def joint_is_nearer(self, column: str = "mean") -> bool:
        far, joint_far = (abs(row[column] - self.published) for row in (self.of_y, self.joint))
        return bool(joint_far < far)

    def meets(self, row: pd.Series) -> bool:
        """Return whether a row of the table would reproduce the published value."""
        ours, theirs = building.summary_of(row), verdicts.Published(self.published)
        found = verdicts.judge(NLL, CONDITIONAL, {CONDITIONAL: ours}, {CONDITIONAL: theirs})
        return found == "reproduced"


def _cells(table: pd.DataFrame) -> list[_Cell]:
    """Return the data sets that have a published value, and scores under both readings."""
    rows = table.dropna(subset="mean").set_index(["method", "metric", "dataset"]).sort_index()
    datasets = dict.fromkeys(table.loc[table["published_mean"].notna(), "dataset"])
    wanted = ((CONDITIONAL, NLL), (JOINT, NLL), (JOINT, NLL_X))
    return [
        _Cell(name, rows.loc[CONDITIONAL, NLL, name], rows.loc[JOINT, NLL, name], of_x["mean"])
        for name in datasets
        if all((*each, name) in rows.index for each in wanted)
        for of_x in [rows.loc[JOINT, NLL_X, name]]
    ]


def _counts(cells: Sequence[_Cell]) -> str:
    joint = [cell.dataset for cell in cells if cell.joint_is_nearer()]
    others = [cell.dataset for cell in cells if not cell.joint_is_nearer()]
    by_median = sum(cell.joint_is_nearer("median") for cell in cells)
    met = sum(cell.meets(cell.of_y) for cell in cells)
    joint_met = sum(cell.meets(cell.joint) for cell in cells)
    return (
        f"x and y together is nearer on {len(joint)} of {len(cells)} sets{_listed(joint)}, y given "
        f"x on {len(others)}{_listed(others)}; by our medians, which no exploding split rules, the "
        f"former on {by_median}. x and y together reproduces {joint_met} of the published means, y "
        f"given x {met}."
    )


def _listed(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
