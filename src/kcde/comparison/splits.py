"""Splits of a table into training and test rows: at random, by groups, or forward in time."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import kcde
from kcde import tabular
from kcde.files import atomic, read_object
from kcde.seeding import rng_of

RANDOM, GROUPS, FORWARD = "random", "groups", "forward"
"""Kinds of splits."""

SPLITS = 10
TRAIN_ROWS, TEST_ROWS = 50_000, 5000
"""Most rows of a split, at random where there are more: more test rows make no score more certain
than the fits are, and more training rows leave no time to compare."""

TEST_SHARE = 0.2
"""Of the rows, or of the groups, of a random split."""

FEWEST_GROUPS = 5

_COPIED = 0.1  # share of rows with the x of another from which copies are said
_ALIKE = 4.0  # standard errors of an autocorrelation of independent rows
_NOTICEABLE = 0.2  # the least autocorrelation that is said
_LABELS = re.compile(
    r"(^|[ _.-])(id|customer|patient|subject|user|person|household|group|site|station)s?$"
    r"|[a-z]I[dD]$",
    re.IGNORECASE,
)
"""What names of columns that label groups look like."""


@dataclass(frozen=True)
class Split:
    """Row numbers of one split, sorted."""

    train: np.ndarray
    test: np.ndarray

    @property
    def overlap(self) -> float:
        """Test rows over training rows, for `kcde.metrics.paired_t_test`."""
        return len(self.test) / len(self.train)


def random_splits(n: int, count: int, seed: int) -> list[Split]:
    """Return random splits with a fifth of n rows to test on."""
    held = max(1, round(TEST_SHARE * n))
    orders = (rng_of("own", "split", seed, i).permutation(n) for i in range(count))
    return [Split(np.sort(order[held:]), np.sort(order[:held])) for order in orders]


def group_splits(labels: Sequence, count: int, seed: int) -> list[Split]:
    """Return random splits with a fifth of the groups to test on, by the group of each row."""
    groups, names = pd.factorize(pd.Series(labels), sort=True)
    if len(names) < FEWEST_GROUPS:
        raise ValueError(
            f"{len(names)} groups are too few to hold some out: at least {FEWEST_GROUPS} are needed"
        )
    found = []
    for i in range(count):
        order = rng_of("own", "groups", seed, i).permutation(len(names))
        tested = np.isin(groups, order[: max(1, round(TEST_SHARE * len(names)))])
        found.append(Split(np.flatnonzero(~tested), np.flatnonzero(tested)))
    return found


def forward_splits(times: np.ndarray, count: int) -> list[Split]:
    """Return splits that train on what lies before the rows they test on.

    The rows in order of time are cut into `count` + 2 blocks of about the same size; each but the
    first two is tested on, after training on all rows that are strictly earlier than each of it.
    The latest block comes first: where time is short, it is the nearest to what is asked for, and
    it has the most training rows, so that the first splits cost the most.
    """
    order = np.argsort(times, kind="stable")
    found = []
    for test in np.array_split(order, count + 2)[:1:-1]:
        train = np.flatnonzero(times < times[test].min()) if len(test) else test
        if min(len(train), len(test)) < 2:
            raise ValueError(
                f"{len(np.unique(times))} different times of {len(times)} rows are too few for "
                f"{count} splits that train on earlier rows alone: fewer --splits"
            )
        found.append(Split(train, np.sort(test)))
    return found


def limited(split: Split, train: int | None, test: int | None, seed: int) -> Split:
    """Return a split of at most so many rows, None for all; of more, random ones of them."""
    rng = rng_of("own", "rows", seed, len(split.train))
    return Split(_some(split.train, train, rng), _some(split.test, test, rng))


def _some(rows: np.ndarray, most: int | None, rng: np.random.Generator) -> np.ndarray:
    if most is None or len(rows) <= most:
        return rows
    return np.sort(rng.choice(rows, size=most, replace=False))


@dataclass(frozen=True)
class Plan:
    """What is compared: the rows and their splits, and the folder that keeps the scores.

    Attributes
    ----------
    folder
        It belongs to one plan: scores of a stopped comparison count when the same is asked again.
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

    def overlap(self, numbers: Sequence[int]) -> float:
        """Return the mean overlap of some splits."""
        return float(np.mean([self.splits[i].overlap for i in numbers])) if numbers else 0.0


def make(
    checked: tabular.Checked,
    folder: Path,
    *,
    count: int = SPLITS,
    groups: str | None = None,
    time_column: str | None = None,
    rows: int | None = TRAIN_ROWS,
    seed: int = 0,
) -> Plan:
    """Return the plan of a comparison with `rows` training rows at most, known to its folder.

    Raises
    ------
    ValueError
        If `groups` and `time_column` are both given, there are too few groups or times, `count` is
        below 2, y is constant in a split's training rows, or the folder has another plan.
    """
    if groups is not None and time_column is not None:
        raise ValueError("give --groups or --time-column, not both")
    if count < 2:
        raise ValueError(f"at least 2 splits are needed to say how certain a score is; got {count}")
    labels, y = None, checked.columns.target(checked.frame)
    if groups is not None:
        labels = pd.factorize(checked.frame[groups], sort=True)[0]
        kind, whole = GROUPS, group_splits(labels, count, seed)
    elif time_column is not None:
        kind, whole = FORWARD, forward_splits(tabular.times(checked.frame, time_column), count)
    else:
        kind, whole = RANDOM, random_splits(len(y), count, seed)
    for i, each in enumerate(whole):
        if np.ptp(y[each.train]) == 0:
            raise ValueError(
                f"{checked.columns.y!r} is constant in the training rows of split {i + 1}: take "
                "fewer --splits, or other groups"
            )
    found = tuple(limited(each, rows, TEST_ROWS, seed + i) for i, each in enumerate(whole))
    X = checked.columns.encode(checked.frame).to_numpy()
    plan = Plan(folder, kind, found, X, y, labels, groups)
    _require_same(plan, checked)
    return plan


def _require_same(plan: Plan, checked: tabular.Checked) -> None:
    """Refuse the folder of another plan; make the folder known as that of this one."""
    parts = [part for split in plan.splits for part in (split.train, split.test)]
    parts += [] if plan.groups is None else [plan.groups]
    content = {
        "data_sha256": checked.digest,
        "splits_sha256": hashlib.sha256(b"|".join(part.tobytes() for part in parts)).hexdigest(),
        "kind": plan.kind,
        "group_column": plan.group_column,
        "kcde": kcde.__version__,
    }
    path = plan.folder / "plan.json"
    if not path.exists():
        with atomic(path) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")
    elif read_object(path) != content:
        raise ValueError(
            f"{plan.folder} has a comparison of other data, columns or splits: name another folder "
            "with --out, or remove it"
        )


def misleading(checked: tabular.Checked) -> list[str]:
    """Say where random splits would show more than the methods can do on new rows.

    Dates; labels of groups; rows with the same x; and neighbouring rows whose y are alike, by an
    autocorrelation of at least 0.2 that is four standard errors, 1/√n each, from 0, in a file that
    is not sorted by y.
    """
    said, frame, columns = [], checked.frame, checked.columns
    dates = [name for name in columns.ignored if tabular.looks_like_date(frame[name])]
    if dates:
        said.append(
            f"Column {dates[0]!r} has dates, and random splits train on the future of the rows "
            f"they test on: --time-column {dates[0]!r} if new rows will be later ones."
        )
    named = [name for name in frame.columns if _LABELS.search(name)]
    labels = [name for name in named if 2 < frame[name].nunique() <= len(frame) / 2]
    copied = frame.duplicated([column.name for column in columns.x], keep=False).mean()
    if labels:
        said.append(
            f"Rows share values of {labels[0]!r}; random splits put rows that belong together on "
            f"both sides: --groups {labels[0]!r} if new rows will be of new ones."
        )
    elif copied >= _COPIED:
        said.append(
            f"{copied:.0%} of the rows have the x of another row: if they belong together, name "
            "the column that says which do with --groups."
        )
    y = pd.Series(columns.target(frame))
    alike = 0.0 if y.is_monotonic_increasing or y.is_monotonic_decreasing else y.autocorr()
    if not dates and alike >= max(_NOTICEABLE, _ALIKE / np.sqrt(len(y))):
        said.append(
            f"Neighbouring rows are alike (autocorrelation {alike:.2f} of {columns.y!r}): if the "
            "file is in the order of time, random splits flatter every method; name the column of "
            "time with --time-column."
        )
    return said
