"""What the advised method says: fans of quantiles, typical rows, and the least likely ones."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from kcde.comparison import figures, scoring
from kcde.comparison.figures import Picture
from kcde.comparison.plan import Plan
from kcde.comparison.running import Run
from kcde.seeding import rng_of
from kcde.table_model import TableModel
from kcde.tabular import Checked, row_number

MOST_FANS = 12
"""Columns with a fan plot: those whose ranks go most with those of y."""

MOST_COLUMNS = 8
"""Columns of a table of rows."""

_GRID = 40
_ROWS = 500
_DRAWN = 300
_TYPICAL = (0.1, 0.3, 0.5, 0.7, 0.9)
_UNLIKELY = 5
_POINTS = 300


@dataclass(frozen=True)
class Rows:
    """Rows of the file, as text: a header and cells."""

    header: list[str]
    cells: list[list[str]]


def fans(model: TableModel, checked: Checked) -> list[Picture]:
    """Return a picture of quantiles against each column, the other columns at their medians."""
    frame, columns = checked.frame, model.columns_
    centre = {each.name: _centre(frame[each.name], each.levels) for each in columns.x}
    some = _some(len(frame), _DRAWN)
    target = columns.target(frame)
    found = []
    for column in sorted(_relevant(checked), key=[each.name for each in columns.x].index):
        levels = next(each.levels for each in columns.x if each.name == column)
        grid = list(levels) if levels else _grid(frame[column])
        rows = pd.DataFrame({name: [value] * len(grid) for name, value in centre.items()})
        rows[column] = grid
        quantiles = model.quantile(rows, list(figures.LEVELS))
        points = None
        if levels is None:
            points = (frame[column].to_numpy(dtype=float)[some], target[some])
        found.append(figures.fan(column, grid, quantiles, points))
    return found


def _centre(series: pd.Series, levels) -> float | str:
    return series.astype(str).mode().iloc[0] if levels else float(series.astype(float).median())


def _grid(series: pd.Series) -> np.ndarray:
    values = np.unique(series.to_numpy(dtype=float))
    if len(values) <= _GRID:
        return values
    low, high = np.quantile(series.to_numpy(dtype=float), [0.01, 0.99])
    return np.linspace(low, high, _GRID) if high > low else values[[0, -1]]


def _relevant(checked: Checked) -> list[str]:
    """Return the columns whose ranks correlate most with those of y."""
    names = [column.name for column in checked.columns.x]
    if len(names) <= MOST_FANS:
        return names
    some = _some(len(checked.frame), 10 * _ROWS)
    X = checked.columns.encode(checked.frame.iloc[some]).rank()
    y = pd.Series(checked.columns.target(checked.frame)[some]).rank().to_numpy()
    size = X.corrwith(pd.Series(y, index=X.index)).abs().fillna(0.0)
    best = {each.name: size[each.encoded()].max() for each in checked.columns.x}
    return sorted(best, key=best.__getitem__, reverse=True)[:MOST_FANS]


def typical(model: TableModel, checked: Checked) -> tuple[Picture, Rows]:
    """Return densities at the rows whose medians are at 10, 30, 50, 70 and 90% of all."""
    some = _some(len(checked.frame), _ROWS)
    medians = model.quantile(checked.frame.iloc[some], 0.5)
    order = np.argsort(medians, kind="stable")
    places = [order[int(share * (len(order) - 1))] for share in _TYPICAL]
    rows = checked.frame.iloc[some[places]]
    ends = model.quantile(rows, [0.001, 0.999])
    y = np.linspace(ends[:, 0].min(), ends[:, 1].max(), _POINTS)
    observed = model.columns_.target(rows)
    picture = figures.densities(y, model.density(rows, y), observed)
    low, middle, high = model.quantile(rows, [0.05, 0.5, 0.95]).T
    more = {"5%": low, "50%": middle, "95%": high}
    return picture, _table(checked, rows, list("ABCDE"), more)


def unlikely(plan: Plan, run: Run, method: str, checked: Checked) -> Rows:
    """Return the test rows with the lowest held-out log density under a method."""
    lowest: dict[int, tuple[float, float]] = {}
    for number in run.splits:
        kept = scoring.arrays(plan.folder, method, number)
        if "log_density" not in kept:
            continue
        first = np.argsort(kept["log_density"])[: 2 * _UNLIKELY]
        for place in first:
            row = int(plan.splits[number].test[place])
            found = (float(kept["log_density"][place]), float(kept["pit"][place]))
            lowest[row] = min(found, lowest.get(row, found))
    rows = sorted(lowest, key=lambda row: lowest[row])[:_UNLIKELY]
    more = {
        "log p(y|x)": np.array([lowest[row][0] for row in rows]),
        "F(y|x)": np.array([lowest[row][1] for row in rows]),
    }
    return _table(checked, checked.frame.iloc[rows], [], more)


def _table(checked: Checked, rows: pd.DataFrame, labels: list[str], more: dict) -> Rows:
    """Return rows with their number in the file, y, further values and the first columns of x."""
    names = _relevant(checked)[:MOST_COLUMNS]
    labels = labels or [""] * len(rows)
    header = [*([""] if any(labels) else []), "row", checked.columns.y, *more, *names]
    cells = []
    for place, (index, row) in enumerate(rows.iterrows()):
        own = [labels[place]] if any(labels) else []
        own += [row_number(index), _text(row[checked.columns.y])]
        own += [_text(values[place]) for values in more.values()]
        cells.append([*own, *(_text(row[name]) for name in names)])
    return Rows(header, cells)


def _text(value) -> str:
    if isinstance(value, bool | np.bool_ | str):
        return str(value)
    if not isinstance(value, int | float | np.number):
        return str(value)
    # Whole numbers with all their digits: a price, a year, a time in seconds.
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{float(value):.4g}"


def _some(n: int, most: int) -> np.ndarray:
    return np.arange(n) if n <= most else np.sort(rng_of("own", "shown").choice(n, most, False))
