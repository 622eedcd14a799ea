"""kcef figures 2 and 4, samples over the data, and table 3, their similarity to them."""

import json
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pandas as pd

from kcde.evidence import tolerances
from kcde.evidence.cells import AS_PUBLISHED, obstacle, splits, variants, worst_chains
from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.metrics import DIVERGENCE_RATE, P_VALUE, R_HAT
from kcde.names import EXACT_DRAWS
from kcde.pages import building, page, scatter, style
from kcde.pages.page import HIGHEST, LOWEST
from kcde.pages.scatter import DATA
from kcde.pages.words import column_title, display, probability
from kcde.papers.artefact import FIGURE_COLUMNS, READINGS, Artefact
from kcde.papers.kcef import claims

# Metric of a sampler to its summary over the seeds: the worst value, or all.
_SUMMARIES = {
    "acceptance_rate": "mean",
    R_HAT: "max",
    "effective_sample_size": "min",
    "divergences": "sum",
    DIVERGENCE_RATE: "max",
    **dict.fromkeys(claims.ERRORS, "median"),
}

_SHOWN = 1000  # points of each kind in a panel, as published
_ACROSS = 3  # panels in a row


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the points of the scatter plots, of the first seed that has samples.

    A panel is a data set. Rows without `stat` are points in standardised units, of the method
    `data` or of a sampler; the stats `x_label` and `y_label` name the two columns in `series`; the
    name of a diagnostic or an error stands in `stat`, its summary over the `n` seeds in `y`.
    Samples are read from the `.npz` beside each file, the columns to show from its `.json`.
    """
    order = {name: k for k, name in enumerate(artefact.methods)}
    files = sorted(files, key=lambda path: order.get(path.stem, len(order)))
    kinds = variants(scores)
    rows = []
    for dataset in dict.fromkeys(path.parent.name for path in files):
        here = [path for path in files if path.parent.name == dataset]
        info = json.loads(here[0].with_suffix(".json").read_text(encoding="utf-8"))
        pair = info["shown_pair"]
        # Where only the pair is modelled, its places among all columns are stated apart.
        for axis, place, known in zip("xy", pair, info.get("places", pair), strict=True):
            label = f"{info['columns'][place - 1]}, $x_{{{known}}}$"
            rows.append(scatter.row(dataset, DATA, series=label, stat=f"{axis}_label"))
        points = _columns(here[0], "reference")[0]
        rows += scatter.points(dataset, DATA, "", points, _SHOWN)
        for path in here:
            rows += _samples(scores, dataset, path, kinds[path.stem])
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _columns(path: Path, name: str) -> np.ndarray:
    """Return the two columns to show of an array (seeds, rows, columns) beside a score file."""
    pair = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["shown_pair"]
    with np.load(path.with_suffix(".npz")) as arrays:
        return arrays[name][:, :, [place - 1 for place in pair]]


def _samples(scores: pd.DataFrame, dataset: str, path: Path, variant: str) -> list[dict]:
    cell = dataset, path.stem, variant
    drawn = _columns(path, "samples")
    complete = drawn[np.isfinite(drawn).all(axis=(1, 2))]  # seeds that did not fail
    rows = scatter.points(*cell, complete[0], _SHOWN) if len(complete) else []
    for metric, summary in _SUMMARIES.items():
        values = splits(scores, *cell, metric)
        # Chains that never move have no finite R-hat.
        values = values.fillna(np.inf) if metric == R_HAT else values.dropna()
        if len(values):
            rows.append(scatter.row(*cell, y=values.agg(summary), stat=metric, n=len(values)))
    return rows


def _unconverged(frame: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return data set and method of the chains that have not converged, and why."""
    stats = frame.dropna(subset=["stat", "y"]).set_index("stat")
    found = {cell: dict(each["y"]) for cell, each in stats.groupby(["panel", "method"], sort=False)}
    return {cell: why for cell, each in found.items() if (why := obstacle(each))}


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say which panels show chains that have not converged."""
    wrong = _unconverged(frame).items()
    said = ", ".join(f"{method} on {dataset} ({why})" for (dataset, method), why in wrong)
    return [f"Chains that have not converged: {said}."] if said else []


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw each sampler's points over the data of each set; those of one beside the data."""
    known = ["red-wine", "parkinsons", *frame["panel"]]
    datasets = sorted(frame["panel"].unique(), key=known.index)
    methods = [name for name in frame["method"].unique() if name != DATA]
    shown = methods if len(methods) > 1 else [DATA, *methods]
    across, rows = min(len(shown), _ACROSS), -(-len(shown) // _ACROSS)
    parts = (len(datasets), 1) if len(methods) > 1 else (1, len(datasets))
    wrong, letters = _unconverged(frame), iter(ascii_lowercase)
    with style.page(style.PAGE, parts[0] * (1.9 * rows + 0.35)) as made:
        places = made.subfigures(*parts, squeeze=False).flat
        for part, dataset in zip(places, datasets, strict=True):
            own = frame[frame["panel"] == dataset]
            named = own.set_index("stat")["series"]
            part.supxlabel(f"{dataset}: {named['x_label']} (sd)", fontsize=8)
            part.supylabel(f"{named['y_label']} (sd)", fontsize=8)
            points = own[own["stat"].isna()]
            data = points[points["method"] == DATA]
            axes = part.subplots(rows, across, sharex=True, sharey=True, squeeze=False)
            for one in axes.flat[len(shown) :]:
                one.set_axis_off()
            for one, method in zip(axes.flat, shown, strict=False):
                samples = points[(points["method"] == method) & (method != DATA)]
                behind = style.BLACK if method == DATA else scatter.PALE
                out = scatter.draw_panel(one, data, samples, method, 0.06, behind)
                style.panel_title(one, next(letters), display(method))
                if out:
                    one.set_title(f"{out} out", loc="right", fontsize=7)
                if (dataset, method) in wrong:
                    look = {"weight": "bold", "ha": "right", "va": "top", "bbox": style.WHITE}
                    at = {"transform": one.transAxes, "fontsize": 8}
                    one.text(0.99, 0.99, "not converged", color=style.VERMILLION, **look, **at)
        return style.save(made, stem)


_PUBLISHED, _BETTER = ["KEF", "KCEF-F", "NADE"], ["KEF-adapted", "KCEF-F-inverse"]
_PAIR = ["KEF-pair", "KCEF-F-pair", "NADE-pair", "KEF-pair-adapted", "KCEF-F-pair-inverse"]

FIG4 = Artefact(
    __name__,
    name="fig4",
    shows={"samples": {"methods": [*_PUBLISHED, *_BETTER, "KCEF-LL-F-inverse"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=draw,
    claims={"K14": claims.samples_like_data},
    trial="seed",
    remarks=remarks,
)


def build_pair(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the points of the models of the shown pair alone."""
    return build(artefact, scores, [path for path in files if path.stem in _PAIR])


FIG2 = replace(FIG4, name="fig2", shows={"samples": {"methods": ["KCEF-F"]}}, claims={})
_OF_BOTH = {"samples": {"methods": [*_PAIR, *_PUBLISHED[:2], *_BETTER]}}
FIG4_OF_PAIR = replace(FIG2, name="fig4-pair", stage=READINGS, shows=_OF_BOTH, build=build_pair)


_CELL = ["dataset", "method", "variant"]
_LEAST = 1e-6  # p-value at the left end of the axis


def _hypotheses(*rivals: str) -> tuple[str, ...]:
    return tuple(f"H0: {rival} closer than KCEF" for rival in rivals)


def build_table3(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table with the range of each p-value over the seeds, and the worst of its chains.

    The ends of the range are metrics of their own, `LOWEST` and `HIGHEST`. Models of the pair have
    no column of the pair alone, as it would repeat that of all theirs.
    """
    repeated = scores["method"].str.contains("-pair ") & (scores["variant"] == "slice")
    scores = scores[~repeated]
    table = building.build(artefact, scores, files)
    for index, row in table[table["metric"] != P_VALUE].iterrows():
        worst = worst_chains(scores, *row[_CELL])
        table.loc[index, "mean"] = float(f"{worst[row['metric']]:.6g}")
    targets = building.published_cells(artefact)
    for index, row in table[table["verdict"].fillna("") != ""].iterrows():
        here = targets[row["dataset"], row["metric"]]
        table.loc[index, "verdict"] = building.verdict(table, here, row)
    ok = scores[(scores["metric"] == P_VALUE) & (scores["status"] == "ok")]
    ranges = ok.groupby(_CELL)["value"].agg(["min", "max"])
    ranges = ranges.set_axis([LOWEST, HIGHEST], axis=1).map(lambda value: float(f"{value:.6g}"))
    known = table.loc[table["metric"] == P_VALUE, [*_CELL, "n", "failed"]].assign(unit="")
    ends = ranges.rename_axis("metric", axis=1).stack().rename("mean").reset_index()
    return building.with_rows(table, known.merge(ends, on=_CELL).to_dict("records"))


def draw_table3(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page of the table, and draw the p-values of the tests that claim K10 is about."""
    pages = page.write_table(artefact, table, stem)
    shown = table[table["variant"].isin([AS_PUBLISHED, EXACT_DRAWS])]
    shown = shown[shown["metric"] == P_VALUE].reset_index(drop=True)
    ranges = page.ranges(table)
    with style.figure(style.PAGE, 0.8 + 0.18 * len(shown)) as (made, axes):
        for place, row in shown.iterrows():
            wrong = bool(page.unconverged(table, row))
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
        said += ["|  published"] if shown["published_mean"].notna().any() else []
        style.words_above(made, said)
        return [*pages, *style.save(made, stem)]


TABLE3 = Artefact(
    __name__,
    name="table3",
    kind="table",
    shows={"similarity": {"methods": ["KEF", "NADE", "KEF-grouped"]}},
    tolerance=tolerances.VERDICTS,
    build=build_table3,
    draw=draw_table3,
    claims={"K10": claims.kcef_samples_are_closer},
    metric=P_VALUE,
    columns=_hypotheses("KEF", "NADE", "KEF-grouped"),
    trial="seed",
)

TABLE3_OF_PAIR = replace(
    TABLE3,
    name="table3-pair",
    stage=READINGS,
    shows={"similarity": {"methods": ["KEF", "NADE", "KEF-pair", "NADE-pair"]}},
    claims={},
    columns=_hypotheses("KEF", "NADE", "KEF-pair", "NADE-pair"),
)
