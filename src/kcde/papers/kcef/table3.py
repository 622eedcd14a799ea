"""kcef table 3: relative similarity of samples to the data, and claim K10."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.evidence import chains, tolerances
from kcde.evidence.cells import AS_PUBLISHED, splits
from kcde.evidence.deciding import all_of
from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.metrics.names import P_VALUE
from kcde.names import EXACT_DRAWS
from kcde.pages import building, style, table_page
from kcde.pages.markdown import probability
from kcde.pages.methods import column_title
from kcde.pages.table_page import HIGHEST, LOWEST
from kcde.papers.artefact import Artefact, Decision

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


KEF, NADE = "H0: KEF closer than KCEF", "H0: NADE closer than KCEF"
KEF_GROUPED = "H0: KEF-grouped closer than KCEF"

_CLAIMED = (
    ("parkinsons", NADE, True),
    ("red-wine", NADE, False),
    ("red-wine", KEF, True),
    ("parkinsons", KEF, False),
)
"""Data set, hypothesis, and whether the paper rejects it: KCEF's samples are then closer."""

_LEAST = 1e-6  # p-value at the left end of the axis
_ROW, _HEAD = 0.17, 0.75  # inches


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of `tables.building.build` with the range of each p-value over the seeds.

    Its ends are metrics of their own, `LOWEST` and `HIGHEST`. What is stated of chains is the worst
    over the seeds.
    """
    table = _judged(artefact, scores, building.build(artefact, scores, files))
    ok = scores[(scores["metric"] == P_VALUE) & (scores["status"] == "ok")]
    rows = []
    for cell in table[table["metric"] == P_VALUE].to_dict("records"):
        key = {name: cell[name] for name in ("dataset", "method", "variant")}
        values = ok.loc[(ok[list(key)] == pd.Series(key)).all(axis=1), "value"]
        if not len(values):
            continue
        for metric, value in ((LOWEST, values.min()), (HIGHEST, values.max())):
            shared = {"metric": metric, "unit": "", "mean": float(f"{value:.6g}")}
            rows.append({**key, **shared, "n": cell["n"], "failed": cell["failed"]})
    return building.with_rows(table, rows)


def _judged(artefact: Artefact, scores: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Put the worst of its chains into each cell, and judge again by it."""
    for index, row in table[table["metric"] != P_VALUE].iterrows():
        worst = chains.worst(scores, *row[["dataset", "method", "variant"]])
        table.loc[index, "mean"] = float(f"{worst[row['metric']]:.6g}")
    targets = building.published_cells(artefact)
    for index, row in table[table["verdict"].fillna("") != ""].iterrows():
        here = targets[row["dataset"], row["metric"]]
        table.loc[index, "verdict"] = building.verdict(table, here, row)
    return table


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page of the table, and draw its p-values on a logarithmic axis."""
    pages = table_page.write(artefact, table, stem)
    primary = table[table["metric"] == artefact.metric]
    ranges = table_page.ranges(table)
    places, names = _places(primary)
    with style.figure(style.PAGE, _HEAD + _ROW * (max(places) + 1)) as (made, axes):
        marks = [table_page.unconverged(table, row) for _, row in primary.iterrows()]
        for place, row, mark in zip(places, primary.to_dict("records"), marks, strict=True):
            _draw_row(axes, place, row, ranges, mark)
        for start, dataset in names:
            axes.annotate(
                dataset,
                (0.0, start),
                xycoords=axes.get_yaxis_transform(),
                xytext=(4, 0),
                textcoords="offset points",
                weight="bold",
                va="center",
            )
        _label(axes, places, primary)
        _explain(made, published=primary["published_mean"].notna().any(), marked=any(marks))
        return [*pages, *style.save(made, stem)]


def _places(primary: pd.DataFrame) -> tuple[list[float], list[tuple[float, str]]]:
    """Return the height of each row, and of the data set's name above its first row."""
    places, names, at = [], [], -1.0
    for dataset in primary["dataset"]:
        if not names or names[-1][1] != dataset:
            at += 1.0
            names.append((at, dataset))
        at += 1.0
        places.append(at)
    return places, names


def _draw_row(axes: "Axes", place: float, row: dict, ranges: dict, mark: str) -> None:
    """Draw a p-value; one with the mark of chains that have not converged is not filled."""
    rival = row["method"].removeprefix("H0: ").partition(" ")[0]
    colour = style.line(rival)["color"]
    ends = ranges.get((row["dataset"], row["method"], row["variant"]), (row["mean"],) * 2)
    axes.hlines(place, *np.maximum(ends, _LEAST), colors=colour, linewidth=2.4, alpha=0.5)
    ours = max(row["mean"], _LEAST)
    open_mark = {"markersize": 4.4, "markerfacecolor": "white", "color": colour, "mew": 1.0}
    look = open_mark if mark else {"markersize": 4, "color": colour}
    axes.plot(ours, place, "D" if mark else "o", clip_on=False, zorder=3, **look)
    if row["variant"] == AS_PUBLISHED and np.isfinite(row["published_mean"]):
        axes.plot(max(row["published_mean"], _LEAST), place, "o", zorder=4, **open_mark)
    axes.annotate(
        f"{probability(row['mean'])}{mark}",
        (1.0, place),
        xycoords=axes.get_yaxis_transform(),
        xytext=(6, 0),
        textcoords="offset points",
        color=colour,
        fontsize=7,
        va="center",
        annotation_clip=False,
    )


def _label(axes: "Axes", places: list[float], primary: pd.DataFrame) -> None:
    axes.set_xscale("log")
    axes.set_xlim(_LEAST, 1.0)
    axes.set_ylim(max(places) + 0.7, -0.7)
    axes.axvline(SIGNIFICANCE, color=style.GREY, linewidth=0.8, linestyle="--", zorder=0)
    axes.annotate(
        "5%",
        (SIGNIFICANCE, 1.0),
        xycoords=axes.get_xaxis_transform(),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        color=style.GREY,
        fontsize=7,
        annotation_clip=False,
    )
    titles = [
        column_title(*pair) for pair in zip(primary["method"], primary["variant"], strict=True)
    ]
    axes.set_yticks(places, titles)
    axes.tick_params(axis="y", length=0, pad=6)
    axes.set_xlabel("p-value of the null hypothesis named; small: KCEF's samples are closer")


def _explain(made: "Figure", *, published: bool, marked: bool) -> None:
    """Say above the axes what the marks are."""
    from matplotlib.offsetbox import TextArea

    said = ["●  our median, from the lowest to the highest over the seeds"]
    said += ["○  published"] if published else []
    said += [f"◇ {table_page.NO_CHAINS}  chains not converged: decides nothing"] if marked else []
    style.above(made, TextArea("     ".join(said), textprops={"color": style.GREY, "size": 7}))


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim K10 by the median p over the seeds of four relative similarity tests.

    KCEF is significantly closer than NADE on parkinsons (median p at most 5%), not significantly
    different on red wine (between 5% and 95%), closer than KEF on red wine, and not significantly
    different on parkinsons. It is undecided where a test has no p-value.

    As amended, a test counts only on chains that have converged: it is that of the published chains
    where they have, else that of better draws, and undecided where those of KEF have not converged
    either. The claim fails where one test does, and is else undecided where one is.
    """
    tests = [_test(scores, *claimed) for claimed in _CLAIMED]
    if missing := [test.reason for test in tests if test.verdict == "undecided"]:
        return Decision("undecided", missing[0])
    amended = [_amended(scores, *claimed) for claimed in _CLAIMED]
    return replace(_together(tests), amended=_together(amended))


def _together(tests: Sequence[Decision]) -> Decision:
    """Return the decision of the four tests, each of which must hold."""
    names = [f"{dataset}, {hypothesis}" for dataset, hypothesis, _ in _CLAIMED]
    parts = {name: test.verdict for name, test in zip(names, tests, strict=True)}
    said = "; ".join(test.reason for test in tests)
    return Decision(all_of(parts.values()), f"median p: {said}", parts)


def _test(
    scores: pd.DataFrame, dataset: str, hypothesis: str, rejected: bool, variant=AS_PUBLISHED
) -> Decision:
    """Decide one of the four tests, whatever its chains."""
    values = splits(scores, dataset, hypothesis, variant, P_VALUE).dropna().to_numpy(float)
    if not len(values):
        return Decision("undecided", f"no p-values of {hypothesis} on {dataset}")
    median = float(np.median(values))
    low = median <= SIGNIFICANCE
    held = low if rejected else SIGNIFICANCE < median < 1 - SIGNIFICANCE
    wanted = "at most .05" if rejected else "in .05-.95"
    below = int((values <= SIGNIFICANCE).sum())
    reason = (
        f"{dataset}, {hypothesis}: {median:.3g} (wanted {wanted}; {below} of {len(values)} "
        "seeds at most .05)"
    )
    return Decision("holds" if held else "fails", reason)


def _amended(scores: pd.DataFrame, dataset: str, hypothesis: str, rejected: bool) -> Decision:
    """Decide one of the four tests on samples that stand for their densities."""
    said = []
    for variant, words in ((AS_PUBLISHED, "published chains"), (EXACT_DRAWS, "better draws")):
        wrong = chains.unconverged(scores, dataset, hypothesis, variant)
        test = _test(scores, dataset, hypothesis, rejected, variant)
        if not wrong and test.verdict != "undecided":
            return replace(test, reason=f"{test.reason}, {words}")
        said.append(f"{words}: {wrong or 'not run'}")
    return Decision("undecided", f"{dataset}, {hypothesis}: undecided ({', '.join(said)})")


ARTEFACT = Artefact(
    __name__,
    kind="table",
    shows={"similarity": {"methods": ["KEF", "NADE", "KEF-grouped"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=draw,
    deciders={"K10": decide},
    metric=P_VALUE,
    columns=(KEF, NADE, KEF_GROUPED),
    trial="seed",
)
