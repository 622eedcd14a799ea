"""What is compared: the rows, their splits and the methods, kept in a folder.

A folder belongs to one plan: results of a stopped comparison count when the same is asked again.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import kcde
from kcde.comparison import splits
from kcde.comparison.splits import Split
from kcde.files import atomic, read_object
from kcde.tabular import Checked, times

RANDOM, GROUPS, FORWARD = "random", "groups", "forward"
"""Kinds of splits."""

SPLITS = 10
TRAIN_ROWS, TEST_ROWS = 50_000, 5000
"""Most rows of a split, at random where there are more: more test rows make no score more certain
than the fits are, and more training rows leave no time to compare."""

_ROWS, _PLAN = "rows.npz", "plan.json"


@dataclass(frozen=True)
class Plan:
    """A comparison.

    Attributes
    ----------
    folder
        Where it is kept.
    kind
        Of its splits: `random`, `groups` or `forward`.
    splits
        The splits, of row numbers of `X`.
    X, y
        All rows, encoded, shapes (n, d) and (n,).
    groups
        The group of each row, whole numbers, shape (n,), where splits keep groups together:
        methods that choose by folds keep them together there as well.
    group_column
        Their column.
    """

    folder: Path
    kind: str
    splits: tuple[Split, ...]
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None = None
    group_column: str | None = None

    @property
    def train_rows(self) -> int:
        """Training rows of the largest split."""
        return max(len(split.train) for split in self.splits)


def make(
    checked: Checked,
    folder: Path,
    *,
    count: int = SPLITS,
    groups: str | None = None,
    time_column: str | None = None,
    rows: int | None = TRAIN_ROWS,
    seed: int = 0,
) -> Plan:
    """Return the plan of a comparison, written to its folder.

    Parameters
    ----------
    checked
        The table.
    folder
        Where it is kept; another plan there is refused.
    count
        Number of splits.
    groups
        Column that says which rows belong together.
    time_column
        Column that orders the rows in time.
    rows
        Most training rows of a split; None: all.
    seed
        Of the splits.

    Raises
    ------
    ValueError
        If `groups` and `time_column` are both given, there are too few groups or times, `count` is
        below 2, or the folder has another plan.
    """
    if groups is not None and time_column is not None:
        raise ValueError("give --groups or --time-column, not both")
    if count < 2:
        raise ValueError(f"at least 2 splits are needed to say how certain a score is; got {count}")
    n = len(checked.frame)
    labels = None
    if groups is not None:
        labels = pd.factorize(checked.frame[groups], sort=True)[0]
        kind, whole = GROUPS, splits.group_splits(labels, count, seed)
    elif time_column is not None:
        kind, whole = FORWARD, splits.forward_splits(times(checked.frame, time_column), count)
    else:
        kind, whole = RANDOM, splits.random_splits(n, count, seed)
    _require_two_values(whole, checked)
    found = [splits.limited(each, rows, TEST_ROWS, seed + i) for i, each in enumerate(whole)]
    X = checked.columns.encode(checked.frame).to_numpy()
    y = checked.columns.target(checked.frame)
    made = Plan(folder, kind, tuple(found), X, y, labels, groups)
    _keep(made, checked)
    return made


def _require_two_values(whole: list[Split], checked: Checked) -> None:
    target = checked.columns.target(checked.frame)
    for number, split in enumerate(whole, 1):
        if np.ptp(target[split.train]) == 0:
            raise ValueError(
                f"{checked.columns.y!r} is constant ({target[split.train][0]:g}) in the training "
                f"rows of split {number}: fewer --splits, or other groups"
            )


def _keep(plan: Plan, checked: Checked) -> None:
    digester = hashlib.sha256()
    for split in plan.splits:
        digester.update(split.train.tobytes() + b"|" + split.test.tobytes())
    if plan.groups is not None:
        digester.update(plan.groups.tobytes())
    content = {
        "data_sha256": checked.digest,
        "splits_sha256": digester.hexdigest(),
        "kind": plan.kind,
        "group_column": plan.group_column,
        "kcde": kcde.__version__,
    }
    path = plan.folder / _PLAN
    if path.exists():
        if read_object(path) != content:
            raise ValueError(
                f"{plan.folder} has a comparison of other data, columns or splits: name another "
                "folder with --out, or remove it"
            )
        return
    arrays = {f"train_{i}": split.train for i, split in enumerate(plan.splits)}
    arrays |= {f"test_{i}": split.test for i, split in enumerate(plan.splits)}
    if plan.groups is not None:
        arrays["groups"] = plan.groups
    with atomic(plan.folder / _ROWS) as temporary:
        np.savez(temporary, X=plan.X, y=plan.y, **arrays)
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")


def load(folder: Path) -> Plan:
    """Return the plan of a folder.

    Raises
    ------
    ValueError
        If it has none.
    """
    content = read_object(folder / _PLAN)
    if content is None:
        raise ValueError(f"{folder} has no comparison")
    with np.load(folder / _ROWS) as kept:
        count = sum(name.startswith("train_") for name in kept.files)
        found = tuple(Split(kept[f"train_{i}"], kept[f"test_{i}"]) for i in range(count))
        groups = kept["groups"] if "groups" in kept.files else None
        columns = content["kind"], found, kept["X"], kept["y"], groups, content["group_column"]
        return Plan(folder, *columns)
