"""kcef table 3, also of models of the shown pair: relative similarity of samples to the data."""

from pathlib import Path

import pandas as pd

from kcde.evidence import chains, tolerances
from kcde.evidence.cells import AS_PUBLISHED
from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.metrics.names import P_VALUE
from kcde.names import EXACT_DRAWS
from kcde.pages import building, style, table_page
from kcde.pages.markdown import probability
from kcde.pages.methods import column_title
from kcde.pages.table_page import HIGHEST, LOWEST
from kcde.papers.artefact import Artefact
from kcde.papers.kcef import claims_of_tables as claims

_CELL = ["dataset", "method", "variant"]
_LEAST = 1e-6  # p-value at the left end of the axis


def _hypotheses(*rivals: str) -> tuple[str, ...]:
    return tuple(f"H0: {rival} closer than KCEF" for rival in rivals)


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table with the range of each p-value over the seeds, and the worst of its chains.

    The ends of the range are metrics of their own, `LOWEST` and `HIGHEST`. Models of the pair have
    no column of the pair alone, as it would repeat that of all theirs.
    """
    repeated = scores["method"].str.contains("-pair ") & (scores["variant"] == "slice")
    scores = scores[~repeated]
    table = building.build(artefact, scores, files)
    for index, row in table[table["metric"] != P_VALUE].iterrows():
        worst = chains.worst(scores, *row[_CELL])
        table.loc[index, "mean"] = float(f"{worst[row['metric']]:.6g}")
    targets = building.published_cells(artefact)
    for index, row in table[table["verdict"].fillna("") != ""].iterrows():
        here = targets[row["dataset"], row["metric"]]
        table.loc[index, "verdict"] = building.verdict(table, here, row)
    ok = scores[(scores["metric"] == P_VALUE) & (scores["status"] == "ok")]
    ranges = ok.groupby(_CELL)["value"].agg(["min", "max"])
    rows = []
    for cell in table[table["metric"] == P_VALUE].to_dict("records"):
        key = tuple(cell[name] for name in _CELL)
        if key in ranges.index:
            known = {name: cell[name] for name in (*_CELL, "n", "failed")} | {"unit": ""}
            for metric, value in zip((LOWEST, HIGHEST), ranges.loc[key], strict=True):
                rows.append({**known, "metric": metric, "mean": float(f"{value:.6g}")})
    return building.with_rows(table, rows)


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page of the table, and draw the p-values of the tests that claim K10 is about."""
    pages = table_page.write(artefact, table, stem)
    shown = table[table["variant"].isin([AS_PUBLISHED, EXACT_DRAWS])]
    shown = shown[shown["metric"] == P_VALUE].reset_index(drop=True)
    ranges = table_page.ranges(table)
    with style.figure(style.PAGE, 0.8 + 0.18 * len(shown)) as (made, axes):
        for place, row in shown.iterrows():
            wrong = bool(table_page.unconverged(table, row))
            colour = style.line(row["method"].removeprefix("H0: ").partition(" ")[0])["color"]
            ends = ranges.get(tuple(row[_CELL]), (row["mean"],) * 2)
            low, high, ours, theirs = (
                max(value, _LEAST) for value in (*ends, row["mean"], row["published_mean"])
            )
            axes.hlines(place, low, high, colors=colour, linewidth=2.4, alpha=0.5)
            look = {"markersize": 5, "color": colour, "clip_on": False, "zorder": 3}
            axes.plot(ours, place, "o", mfc="white" if wrong else colour, **look)
            axes.plot(theirs, place, "|", **look | {"markersize": 11, "mew": 2.5})
            place_of = {"xycoords": axes.get_yaxis_transform(), "va": "center", "fontsize": 7}
            axes.annotate(probability(row["mean"]), (1.02, place), color=colour, **place_of)
        axes.axvspan(_LEAST, SIGNIFICANCE, color="#EEEEEE", zorder=0)
        axes.set_xscale("log")
        axes.set_xlim(_LEAST, 1.0)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        titles = shown.apply(lambda row: column_title(row["method"], row["variant"]), axis=1)
        axes.set_yticks(range(len(shown)), shown["dataset"] + ": " + titles)
        axes.set_xlabel("p-value; in grey, below 5%, KCEF's samples are closer to the data")
        said = ["●  our median, and range over the seeds", "○  chains not converged"]
        known = shown["published_mean"].notna().any()
        style.words_above(made, [*said, *(["|  published"] if known else [])])
        return [*pages, *style.save(made, stem)]


_ALIKE = {"kind": "table", "tolerance": tolerances.VERDICTS, "build": build, "draw": draw}

ARTEFACTS = [
    Artefact(
        __name__,
        shows={"similarity": {"methods": ["KEF", "NADE", "KEF-grouped"]}},
        claims={"K10": claims.kcef_samples_are_closer},
        metric=P_VALUE,
        columns=_hypotheses("KEF", "NADE", "KEF-grouped"),
        trial="seed",
        **_ALIKE,
    ),
    Artefact(
        __name__,
        name="table3-pair",
        stage="readings",
        shows={"similarity": {"methods": ["KEF", "NADE", "KEF-pair", "NADE-pair"]}},
        metric=P_VALUE,
        columns=_hypotheses("KEF", "NADE", "KEF-pair", "NADE-pair"),
        trial="seed",
        **_ALIKE,
    ),
]
