"""Splits of a table into training and test rows: at random, by groups, or forward in time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kcde import tabular
from kcde.seeding import rng_of

TEST_SHARE = 0.2
"""Of the rows, or of the groups, of a random split."""

FEWEST_GROUPS = 5

_COPIED = 0.1  # share of rows with the x of another from which copies are said
_ALIKE = 4.0  # standard errors of an autocorrelation of independent rows
_NOTICEABLE = 0.2  # the least autocorrelation that is said


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
    """Return random splits with a fifth of the groups to test on.

    Parameters
    ----------
    labels
        The group of each row.
    count
        Number of splits.
    seed
        Of the choice of groups.

    Raises
    ------
    ValueError
        If there are fewer than five groups.
    """
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

    Parameters
    ----------
    times
        Shape (n,).
    count
        Number of splits.

    Raises
    ------
    ValueError
        If the times do not order the rows well enough.
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
    """Return a split of at most so many rows; of more, random ones of them.

    Parameters
    ----------
    split
        The whole split.
    train, test
        Most rows; None: all.
    seed
        Of the choice.
    """
    rng = rng_of("own", "rows", seed, len(split.train))
    return Split(_some(split.train, train, rng), _some(split.test, test, rng))


def _some(rows: np.ndarray, most: int | None, rng: np.random.Generator) -> np.ndarray:
    if most is None or len(rows) <= most:
        return rows
    return np.sort(rng.choice(rows, size=most, replace=False))


def misleading(checked: tabular.Checked, frame: pd.DataFrame) -> list[str]:
    """Say where random splits would show more than the methods can do on new rows.

    Dates; labels of groups; rows with the same x; and neighbouring rows whose y are alike, by an
    autocorrelation of at least 0.2 that is four standard errors, 1/√n each, from 0, in a file that
    is not sorted by y.

    Parameters
    ----------
    checked
        The table that is split.
    frame
        The same rows, with all columns of the file.

    Returns
    -------
    list of str
        A sentence each.
    """
    said = []
    unused = [name for name in frame.columns if name in checked.columns.ignored]
    if dates := [name for name in unused if tabular.looks_like_date(frame[name])]:
        said.append(
            f"Column {dates[0]!r} has dates, and random splits train on the future of the rows "
            f"they test on: --time-column {_word(dates[0])} if new rows will be later ones."
        )
    if labels := tabular.repeated_labels(frame, list(frame.columns)):
        said.append(
            f"Rows share values of {labels[0]!r}; random splits put rows that belong together on "
            f"both sides: --groups {_word(labels[0])} if new rows will be of new ones."
        )
    copied = tabular.duplicate_inputs(frame[[column.name for column in checked.columns.x]])
    if copied >= _COPIED and not labels:
        said.append(
            f"{copied:.0%} of the rows have the x of another row: if they belong together, name "
            "the column that says which do with --groups."
        )
    target = checked.columns.target(frame)
    if not dates and (found := _neighbours(target)):
        said.append(
            f"Neighbouring rows are alike (autocorrelation {found:.2f} of "
            f"{checked.columns.y!r}): if the file is in the order of time, random splits flatter "
            "every method; name the column of time with --time-column."
        )
    return said


def _neighbours(target: np.ndarray) -> float | None:
    """Return the autocorrelation of neighbouring y where it is to be said."""
    if np.all(np.diff(target) >= 0) or np.all(np.diff(target) <= 0):
        return None
    centred = target - target.mean()
    found = float(centred[1:] @ centred[:-1] / (centred @ centred))
    return found if found >= max(_NOTICEABLE, _ALIKE / np.sqrt(len(target))) else None


def _word(name: str) -> str:
    return f'"{name}"' if " " in name else name
