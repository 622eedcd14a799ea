"""The page of a comparison: one HTML file that needs nothing else; and what the terminal shows."""

import io
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

import kcde
from kcde import tabular
from kcde.comparison.advice import in_units
from kcde.comparison.running import CRPS, FORWARD, GROUPS, LOG_DENSITY, RANDOM
from kcde.methods import BASELINE
from kcde.pages import render as render_page
from kcde.pages import style
from kcde.pages import uri as data_uri
from kcde.seeding import rng_of
from kcde.selection import subsample
from kcde.table_model import TableModel, regardless_of_groups

if TYPE_CHECKING:
    from kcde.comparison import Comparison


_KINDS = {
    RANDOM: "random splits",
    GROUPS: "random splits that keep groups together",
    FORWARD: "splits forward in time",
}
_LABELS = {
    "gain": f"held-out log density above that of {BASELINE}, nats",
    LOG_DENSITY: "held-out log density, nats",
    CRPS: "CRPS, in the units of y",
}
_BINS, _HIGHEST = 20, 3.0
_GRID = 40
_SMALL, _WIDE = (2.6, 1.7), 4.8  # inches: readable on a phone as well


class Picture(NamedTuple):
    """A data URI, its text alternative, and the words below it."""

    uri: str
    alternative: str
    caption: str


def render(found: "Comparison") -> str:
    """Return the page."""
    scored, skipped = scores_and_skipped(found)
    notes = [*found.checked.notes, f"Data SHA-256 {found.checked.digest}."]
    if found.plan.kind == GROUPS:
        notes.append(regardless_of_groups(scored["method"]))
    drawn = [name for name in scored["method"] if name in found.run.scores]
    content = {
        "found": found,
        "facts": facts(found),
        "cards": cards(found),
        "baseline": BASELINE,
        "ranking": ranking(found.table, found.rank_by),
        "rows": [_cells(row) for _, row in scored.iterrows()],
        "skipped": skipped[["method", "reason"]].values.tolist(),
        "pits": [pit(method, _values(found, method, "pit")) for method in drawn],
        "notes": " ".join([*filter(None, notes), f"kcde {kcde.__version__}."]),
    }
    if found.model is not None:
        content["fans"] = fans(found.model, found.checked)
        content["unlikely"] = unlikely(found)
        content["code"] = python_lines(found)
    return render_page(Path(__file__).with_name("page.html.j2"), content)


def cards(found: "Comparison") -> list[tuple[str, str, str]]:
    """Return what the advised method is worth: a label, a value, and what it is to be held against.

    Widths and errors are in the units of y.
    """
    if found.advice.method is None:
        return []
    rows = found.table.set_index("method", drop=False)
    taken, y = rows.loc[found.advice.method], found.checked.columns.y
    other = rows.loc[BASELINE] if BASELINE in found.run.scores else None

    def in_y(label: str, name: str) -> tuple[str, str, str]:
        against = "" if other is None else f"{in_units(other[name])} without x"
        return f"{label} of {y}", in_units(taken[name]), against

    cards = [
        in_y("typical width of a 90% interval", "width_90"),
        ("held-out rows in these intervals", f"{taken['coverage_90']:.0%}", "90% asked"),
        in_y("typical error", "error"),
    ]
    # Where y has ties, nats compare bumps.
    if other is not None and found.advice.method != BASELINE and found.rank_by == LOG_DENSITY:
        cards.append(("above the density without x, nats", _plus_minus(taken, "gain"), ""))
    if len(found.run.scores) > 1:
        sure = f"of resamples of {taken['splits']:.0f} splits"
        cards.append(("first in", f"{taken['first_share']:.0%}", sure))
    return cards


def scores_and_skipped(found: "Comparison") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of the table with scores, and those without."""
    has = found.table["splits"].notna()
    return found.table[has], found.table[~has]


def _values(found: "Comparison", method: str, name: str) -> np.ndarray:
    """Return one value for each test row of all splits on which a method did not fail."""
    kept = (scored.arrays.get(name, np.empty(0)) for scored in found.run.scores[method])
    return np.concatenate(list(kept))


def facts(found: "Comparison") -> str:
    """Say what was compared, in a sentence."""
    plan, columns = found.plan, found.checked.columns
    sizes = found.by_split[["n_train", "n_test"]].max()
    above = f"({columns.y} - {plan.lower:g})" if plan.lower else f" {columns.y}"
    bound = "" if plan.lower is None else f" and log{above}"
    return (
        f"{found.source}: {len(found.checked.frame)} rows, {columns.y} given {len(columns.x)} "
        f"columns. {len(found.run.scores)} methods over {len(found.run.splits)} "
        f"{_KINDS[plan.kind]}, up to {sizes['n_train']:.0f} rows to train and "
        f"{sizes['n_test']:.0f} to test on; methods see columns standardised by the training rows"
        f"{bound}, scores are in the units of {columns.y}."
    )


def _cells(row: pd.Series) -> list[str]:
    """Return the cells of a method's row of the page's table."""
    return [
        row["method"] + (f" ({row['n_train']:.0f} rows)" if row["reason"] else ""),
        _plus_minus(row, LOG_DENSITY),
        _plus_minus(row, "gain"),
        *(in_units(row[name]) for name in (CRPS, "width_90", "error")),
        *(f"{row[name]:.0%}" for name in ("coverage_50", "coverage_90")),
        f"{row['worst_loss']:.2f}",
        _or_dash(row["first_share"], ".0%"),
        f"{row['failed']:.0f} of {row['splits']:.0f}",
        f"{row['seconds']:.2g}",
        _or_dash(row["p_value"], ".2g"),
    ]


def _or_dash(value: float, form: str) -> str:
    return "–" if np.isnan(value) else format(value, form)


def _plus_minus(row: pd.Series, name: str) -> str:
    value, error = row[name], row[f"{name}_stderr"]
    return _or_dash(value, ".3f") + ("" if np.isnan(error) else f" ± {error:.3f}")


def terminal(found: "Comparison") -> str:
    """Return the comparison in ten lines: what, the first methods, the warnings, the advice."""
    scored, skipped = scores_and_skipped(found)
    names = ["method", "log density", f"above {BASELINE}", "CRPS", "90% width", "error"]
    cells = [_cells(row)[:6] for _, row in scored.head(5).iterrows()]
    lines = [facts(found), *pd.DataFrame(cells, columns=names).to_string(index=False).split("\n")]
    said = [f"then {', '.join(scored['method'][5:])}"] if len(scored) > 5 else []
    said += [f"skipped {', '.join(skipped['method'])}"] if len(skipped) else []
    lines += ["; ".join(said)] if said else []
    if found.warnings:
        more = f" (and {len(found.warnings) - 1} more)" if len(found.warnings) > 1 else ""
        lines.append(f"Warning: {found.warnings[0]}{more}")
    return "\n".join([*lines, found.advice.sentence])


def python_lines(found: "Comparison") -> str:
    """Return lines of Python that fit the advised method again and predict with it."""
    given = {each.name: getattr(found.model, each.name) for each in fields(found.model)[1:]}
    usual = {each.name: each.default for each in fields(found.model)}
    asked = {name: value for name, value in given.items() if value not in (usual[name], [])}
    return "\n".join(
        [
            "from kcde import tabular",
            "from kcde.table_model import TableModel",
            f"frame = tabular.read({found.source!r}{_arguments(found.reading)})",
            f"model = TableModel({found.advice.method!r}{_arguments(asked)}).fit(frame)",
            "model.predictions(frame, [0.05, 0.5, 0.95])  # of any table with these columns",
        ]
    )


def _arguments(values: Mapping[str, object]) -> str:
    return "".join(f", {name}={value!r}" for name, value in values.items())


def _uri(made) -> str:
    buffer = io.BytesIO()
    made.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return data_uri(buffer.getvalue(), "image/svg+xml")


def ranking(table: pd.DataFrame, rank_by: str, path: Path | None = None) -> Picture:
    """Draw the ranked scores with two standard errors, and write them as PNG if a path is given."""
    scored = table[table["rank"].notna()]
    against = rank_by == LOG_DENSITY and scored["gain"].notna().any()
    value = "gain" if against else rank_by
    errors = 2.0 * scored[f"{value}_stderr"].fillna(0.0)
    # Methods at three times the median distance from the first would press the others together:
    # they are arrows at the edge.
    sign = -1.0 if value == CRPS else 1.0
    best = scored[value].iloc[0] if len(scored) else 0.0
    behind = sign * (best - scored[value])
    reach = max(3.0 * behind.median(), best if against else 0.0) if len(scored) else 0.0
    with style.figure(_WIDE, 0.7 + 0.2 * len(scored)) as (made, axes):
        for place, row in enumerate(scored.itertuples()):
            look = {"color": style.line(row.method)["color"], "markersize": 5}
            at, edge = getattr(row, value), best - 1.1 * sign * reach
            if behind[row.Index] > reach:
                axes.plot(edge, place, "<" if sign > 0 else ">", **look)
                side = {"ha": "left" if sign > 0 else "right", "va": "center"}
                axes.annotate(f"  {at:.3g}  ", (edge, place), fontsize="small", **side)
            else:
                look |= {"linewidth": 1.4, "fmt": "x" if row.failed else "o"}
                axes.errorbar(at, place, xerr=errors[row.Index], **look)
        if against:
            axes.axvline(0.0, color=style.BLACK, linewidth=0.6, linestyle=":")
        axes.set_yticks(range(len(scored)), scored["method"])
        axes.set_ylim(len(scored) - 0.4, -0.6)
        axes.set_xlabel(_LABELS[value])
        axes.tick_params(axis="y", length=0)
        if path is not None:
            made.savefig(path, format="png", dpi=style.DPI, metadata={"Software": None})
        uri = _uri(made)
    first = scored.head(5)
    best = ", ".join(f"{m} {v:.3g}" for m, v in zip(first["method"], first[value], strict=True))
    return Picture(
        uri,
        f"Dot plot of {_LABELS[value]}, the best first: {best}.",
        f"{_LABELS[value][0].upper()}{_LABELS[value][1:]}: means over the splits and two standard "
        "errors. A cross marks a method that failed on some split, an arrow one beyond the edge.",
    )


def pit(method: str, values: np.ndarray) -> Picture:
    """Draw the histogram of F(y|x) of the test rows."""
    heights = np.histogram(values, _BINS, (0.0, 1.0))[0] * _BINS / max(1, len(values))
    highest = heights.max()
    with style.figure(*_SMALL) as (made, axes):
        edges = np.linspace(0.0, 1.0, _BINS + 1)
        axes.stairs(heights, edges, fill=True, color=style.line(method)["color"], alpha=0.85)
        axes.axhline(1.0, color=style.BLACK, linewidth=0.6, linestyle=":")
        axes.set_xlim(0.0, 1.0)
        axes.set_xticks([0.0, 0.5, 1.0])
        axes.set_ylim(0.0, min(max(1.5, 1.05 * highest), _HIGHEST))
        uri = _uri(made)
    cut = f" (cut at {_HIGHEST:g}; the highest bar is {highest:.1f})" if highest > _HIGHEST else ""
    ends, middle = heights[[0, -1]].mean(), heights[_BINS // 2 - 2 : _BINS // 2 + 2].mean()
    shape = f"{ends:.2f} at the ends and {middle:.2f} in the middle, where 1 is calibrated"
    return Picture(uri, f"Histogram of F(y|x) of {method}: {shape}.", f"{method}{cut}")


def fans(model: TableModel, checked: tabular.Checked) -> list[Picture]:
    """Return a picture of quantiles against columns of numbers, the other columns at their middle.

    That is the median, or the most frequent level. The columns are at most twelve, those whose
    ranks go most with those of y.
    """
    frame, names = checked.frame, [each.name for each in checked.columns.x if not each.levels]
    numbers = frame[names].astype(float)
    target = pd.Series(checked.columns.target(frame), frame.index)
    centre = frame.astype(str).mode().iloc[0].to_dict() | numbers.median().to_dict()
    drawn = subsample(len(frame), 300, rng_of("own", "shown"))
    some = numbers.assign(**{checked.columns.y: target}).iloc[drawn]
    size = numbers.corrwith(target, method="spearman").abs()
    found = []
    for name in size.nlargest(12).index:
        grid = np.unique(numbers[name].dropna())
        if len(grid) > _GRID:
            grid = np.linspace(*numbers[name].quantile([0.01, 0.99]), _GRID)
        rows = pd.DataFrame(centre, index=range(len(grid))).assign(**{name: grid})
        found.append(fan(name, grid, model.quantile(rows, [0.05, 0.25, 0.5, 0.75, 0.95]), some))
    return found


def fan(name: str, grid: np.ndarray, quantiles: np.ndarray, some: pd.DataFrame) -> Picture:
    """Draw quantiles of y, shape (k, 5), at k numbers of a column, and some rows."""
    low, lower, middle, upper, high = quantiles.T
    with style.figure(*_SMALL) as (made, axes):
        look = {"color": "#BBBBBB", "markersize": 1.5, "rasterized": True, "zorder": 0}
        axes.plot(some[name], some.iloc[:, -1], ".", **look)
        axes.fill_between(grid, low, high, alpha=0.2, linewidth=0, color=style.BLUE)
        axes.fill_between(grid, lower, upper, alpha=0.35, linewidth=0, color=style.BLUE)
        axes.plot(grid, middle, linewidth=1.2, color=style.BLUE)
        margin = 0.15 * (high.max() - low.min())
        axes.set_ylim(low.min() - margin, high.max() + margin)
        uri = _uri(made)
    ends = " to ".join(f"{_text(middle[k])} at {_text(grid[k])}" for k in (0, -1))
    return Picture(uri, f"Quantiles of y against {name}: the median goes from {ends}.", name)


def unlikely(found: "Comparison") -> dict:
    """Return the five test rows with the lowest held-out log density, as a header and cells."""
    method, checked = found.advice.method, found.checked
    names = ("test", "log_density", "pit")
    frame = pd.DataFrame({name: _values(found, method, name) for name in names})
    lowest = frame.sort_values("log_density").drop_duplicates("test").head(5)
    y, x = checked.columns.y, [each.name for each in checked.columns.x[:8]]
    rows = checked.frame.iloc[lowest["test"]]
    values = (lowest["log_density"], lowest["pit"], *(rows[name] for name in x))
    cells = zip(map(tabular.row_number, rows.index), rows[y], *values, strict=True)
    header = ["row", y, "log p(y|x)", "F(y|x)", *x]
    return {"header": header, "cells": [list(map(_text, row)) for row in cells]}


def _text(value) -> str:
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        return str(value)
    # Whole numbers with all their digits: a price, a year, a time in seconds.
    return f"{value:.0f}" if 9999.5 <= abs(value) < 1e15 else f"{float(value):.4g}"
