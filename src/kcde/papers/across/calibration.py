"""calibration: which of the likelihoods on the R benchmark data are of calibrated densities.

The rule was fixed before its scores were seen. If p(y|x) is the true density, F(y|x) of test rows
is uniform. Its histogram is averaged over the splits and test rows of a set, then over sets, so
that each set weighs the same. A method is called calibrated where the mean over sets of its
coverage of the central 50% interval and that of the 90% interval are within 0.05 of these.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.metrics.names import COVERAGES
from kcde.pages import style
from kcde.pages.methods import display
from kcde.papers.across import all_methods
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_BINARY = ("crabs",)
"""Data sets whose y takes two values."""

_RENAMED = {method: name for name, (method, _) in all_methods.ARTEFACT.shown_as.items()}
"""Methods whose density is that by quadrature, to the name under which it is shown."""

_BINS = 20
_NEAR = 0.05
_COLUMNS, _SIDE = 5, 0.92  # histograms side by side, and their height in inches
_UPPER = 0.2  # inches of the label below them
_HIGHEST = 3.0  # of a histogram: higher bars are cut
_LOWER, _LINE = 0.75, 0.19  # inches of the axis and legend of the coverages, and of a method
_BAND = "#E5E5E5"

HISTOGRAM, COVERAGE = "histogram", "coverage"
"""The two panels."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return histograms and coverages of every method.

    Panel `histogram`: `y` is the mean over sets of the density of F in a bin from `x` to `x_right`,
    `n` the number of sets. Panel `coverage`: `series` is the metric, `stat` `mean` with the lowest
    and highest set, or `quartiles`; or, for one `stat` each, `set <name>`. The first method is the
    one with the smallest mean distance of both coverages from the nominal ones.
    """
    scores = scores[~scores["dataset"].isin(_BINARY)]
    scores = scores.assign(method=scores["method"].replace(_RENAMED))
    shares = _shares(scores)
    if not len(shares):
        raise ValueError(
            f"{artefact.key} needs scores with the metrics {', '.join(COVERAGES)}: run the "
            "experiment r_benchmark again"
        )
    distance = (shares - pd.Series(COVERAGES)).groupby("method").mean().abs().mean(axis=1)
    counts = _histograms(files)
    variants = scores.groupby("method")["variant"].first()
    rows = []
    for method in distance.sort_values(kind="stable").index:
        known = {"method": method, "variant": variants[method]}
        own = [known | row for row in [*_bins(counts, method), *_spread(shares.loc[method])]]
        rows += own
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _shares(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage of each method and set, a column each; means over splits."""
    own = scores[scores["metric"].isin(COVERAGES) & (scores["status"] == "ok")]
    wide = own.pivot_table(
        index=["method", "dataset"], columns="metric", values="value", sort=False
    )
    return wide.reindex(columns=list(COVERAGES))


def _histograms(files: list[Path]) -> dict[tuple[str, str], np.ndarray]:
    """Return the shares of F in the bins by method and set."""
    found = {}
    for path in files:
        first = pd.read_csv(path, nrows=1).iloc[0]
        with np.load(path.with_suffix(".npz")) as arrays:
            pit = arrays["pit"] if "pit" in arrays else np.empty(0)
        pit = pit[np.isfinite(pit)]
        if len(pit) and first["dataset"] not in _BINARY:
            counts, _ = np.histogram(pit, bins=_BINS, range=(0.0, 1.0))
            method = _RENAMED.get(first["method"], first["method"])
            found[method, first["dataset"]] = counts / len(pit)
    return found


def _bins(counts: dict[tuple[str, str], np.ndarray], method: str) -> list[dict]:
    each = [share for (name, _), share in counts.items() if name == method]
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    heights = _BINS * np.mean(each, axis=0) if each else []
    kind = {"panel": HISTOGRAM, "kind": "histogram", "n": len(each)}
    return [
        kind | {"x": left, "x_right": right, "y": height}
        for left, right, height in zip(edges[:-1], edges[1:], heights, strict=False)
    ]


def _spread(shares: pd.DataFrame) -> list[dict]:
    """Return the mean coverage of one method with its range and quartiles, and that of each set."""
    rows = []
    for metric in shares:
        known = {"panel": COVERAGE, "series": metric, "n": len(shares)}
        ends = {"mean": (0.0, 1.0), "quartiles": (0.25, 0.75)}
        for stat, (low, high) in ends.items():
            limits = {
                "y_low": shares[metric].quantile(low),
                "y_high": shares[metric].quantile(high),
            }
            rows.append(known | limits | {"kind": "box", "stat": stat, "y": shares[metric].mean()})
        for dataset, value in shares[metric].items():
            rows.append(known | {"kind": "scatter", "stat": f"set {dataset}", "y": value, "n": 1})
    return rows


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean coverages over sets, a row a method and a column a metric, as tracked."""
    own = frame[(frame["panel"] == COVERAGE) & (frame["stat"] == "mean")]
    wide = own.pivot(index="method", columns="series", values="y")
    return wide.loc[list(dict.fromkeys(own["method"])), list(COVERAGES)]


def is_calibrated(coverage: pd.Series) -> bool:
    """Return whether both mean coverages of a method are within 0.05 of the nominal ones."""
    return bool((coverage - pd.Series(COVERAGES)).abs().max() <= _NEAR)


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say which methods are calibrated, which densities are too narrow or wide, and by how much."""
    table = means(frame)
    groups: dict[str, list[str]] = {"calibrated": [], "too narrow": [], "too wide": [], "other": []}
    for method, coverage in table.iterrows():
        off = coverage - pd.Series(COVERAGES)
        kind = "too narrow" if off.max() <= 0 else "too wide" if off.min() >= 0 else "other"
        kind = "calibrated" if is_calibrated(coverage) else kind
        shown = " and ".join(f"{value:.0%}" for value in coverage)
        groups[kind].append(f"{display(method)} ({shown})")
    words = {
        "calibrated": "Calibrated, with the coverages of the 50% and 90% intervals",
        "too narrow": "Too narrow, with less than the nominal coverage",
        "too wide": "Too wide, with more than it",
        "other": "Not of the right shape",
    }
    said = [f"{words[kind]}: {', '.join(names)}." for kind, names in groups.items() if names]
    return [_over(frame), *said]


def _over(frame: pd.DataFrame) -> str:
    """Say over how many sets the means are, and which methods have fewer."""
    own = frame[(frame["panel"] == COVERAGE) & (frame["stat"] == "mean")]
    sets = own.groupby("method", sort=False)["n"].max()
    fewer = [f"{display(name)} {n:.0f}" for name, n in sets[sets < sets.max()].items()]
    return f"Over {sets.max():.0f} sets{'; ' * bool(fewer)}{', '.join(fewer)}."


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the histograms of all methods, and below them their coverages."""
    names = list(dict.fromkeys(frame["method"]))
    lines = -(-len(names) // _COLUMNS)
    heights = [_UPPER + _SIDE * lines, _LOWER + _LINE * len(names)]
    with style.page(style.PAGE, sum(heights)) as made:
        upper, lower = made.subfigures(2, 1, height_ratios=heights)
        grid = upper.subplots(lines, _COLUMNS, sharex=True, sharey=True, squeeze=False)
        upper.suptitle("$\\bf{a}$  histograms of $F(y|x)$", x=0.0, ha="left", fontsize=8)
        bins = frame[frame["panel"] == HISTOGRAM]
        for axes, name in zip(grid.flat, names, strict=False):
            _histogram(axes, bins[bins["method"] == name], name)
        grid[0, 0].set_ylim(0.0, min(1.05 * bins["y"].max(), _HIGHEST))
        for axes in grid.flat[len(names) :]:
            axes.set_visible(False)
        upper.supxlabel("$F(y|x)$ at test rows", fontsize=8)
        upper.supylabel("density", fontsize=8)
        _coverages(lower, frame[frame["panel"] == COVERAGE], names)
        return style.save(made, stem)


def _histogram(axes: "Axes", rows: pd.DataFrame, name: str) -> None:
    if len(rows):
        edges = [*rows["x"], rows["x_right"].iloc[-1]]
        axes.stairs(rows["y"], edges, fill=True, color=style.line(name)["color"], alpha=0.85)
        for row in rows[rows["y"] > _HIGHEST].itertuples():
            _write_height(axes, row)
    axes.axhline(1.0, color=style.BLACK, linewidth=0.6, linestyle=":")
    axes.set_title(display(name), fontsize=7, pad=2)
    axes.set_xlim(0.0, 1.0)
    axes.set_xticks([0.0, 0.5, 1.0])


def _write_height(axes: "Axes", row) -> None:
    """Write how high a bar is that is cut, beside its top."""
    left = row.x < 0.5
    place = {"ha": "left" if left else "right", "va": "top", "fontsize": 6, "color": style.GREY}
    edge = row.x_right + 0.02 if left else row.x - 0.02
    axes.annotate(f"{row.y:.1f}", (edge, _HIGHEST), **place)


def _coverages(figure, rows: pd.DataFrame, names: list[str]) -> None:
    style.legend_above(figure, _keys())
    panels = figure.subplots(1, len(COVERAGES), sharey=True)
    titles = zip("bc", panels, COVERAGES.items(), strict=False)
    for letter, axes, (metric, wanted) in titles:
        axes.axvspan(wanted - _NEAR, wanted + _NEAR, color=_BAND, linewidth=0.0, zorder=0)
        axes.axvline(wanted, color=style.BLACK, linewidth=0.6, linestyle=":", zorder=1)
        own = rows[rows["series"] == metric].set_index(["method", "stat"])
        for place, name in enumerate(names):
            _line(axes, place, own.loc[name], style.line(name)["color"])
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)), map(display, names))
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("share of the test rows")
        style.panel_title(axes, letter, f"coverage of the central {wanted:.0%} interval")


def _keys() -> list:
    from matplotlib.patches import Patch

    grey = {"color": style.GREY}
    return [
        style.key("mean over sets", marker="o", linestyle="none", **grey),
        style.key("quartiles of sets", linewidth=2.4, **grey),
        style.key("lowest to highest set", linewidth=0.7, **grey),
        Patch(label=f"within {_NEAR:g} of nominal", facecolor=_BAND, linewidth=0.0),
    ]


def _line(axes: "Axes", place: int, stats: pd.DataFrame, colour: str) -> None:
    mean, quartiles = stats.loc["mean"], stats.loc["quartiles"]
    axes.hlines(place, mean["y_low"], mean["y_high"], colors=colour, linewidth=0.7, zorder=2)
    axes.hlines(place, quartiles["y_low"], quartiles["y_high"], colors=colour, linewidth=2.4)
    axes.plot(mean["y"], place, "o", color=colour, markersize=4.5, mec="white", mew=0.6, zorder=4)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"r_benchmark": all_methods.ARTEFACT.shows["r_benchmark"]},
    build=build,
    draw=draw,
    remarks=remarks,
)
