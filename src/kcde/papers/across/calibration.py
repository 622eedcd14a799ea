"""calibration: which of the likelihoods on the R benchmark data are of calibrated densities.

The rule was fixed before its scores were seen. If p(y|x) is the true density, F(y|x) of test rows
is uniform. Its histogram is averaged over the splits and test rows of a set, then over sets, so
that each set weighs the same. A method is called calibrated where the mean over sets of its
coverage of the central 50% interval and that of the 90% interval are within 0.05 of these.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.metrics import COVERAGES
from kcde.pages import display, style
from kcde.papers.across import all_methods
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.scores import arrays_beside

_BINARY = ("crabs",)
"""Data sets whose y takes two values."""

_RENAMED = {method: name for name, (method, _) in all_methods.ARTEFACT.shown_as.items()}
"""Methods whose density is that by quadrature, to the name under which it is shown."""

_BINS, _NEAR = 20, 0.05
_MARGINS, _ROW = 0.8, 0.137  # inches of titles, legend and axis, and of a method
_HIGHEST = 3.0  # of a histogram: higher bars are cut
HISTOGRAM, COVERAGE = "histogram", "coverage"
"""The two panels."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return histograms and coverages of every method, the best calibrated first.

    Panel `histogram`: `y` is the mean over sets of the density of F in a bin from `x` to `x_right`,
    `n` the number of sets. Panel `coverage`: `series` is the metric, `stat` `mean` with the lowest
    and highest set, or `quartiles`; or, for one `stat` each, `set <name>`.
    """
    scores = scores[~scores["dataset"].isin(_BINARY)]
    scores = scores.assign(method=scores["method"].replace(_RENAMED))
    own = scores[scores["metric"].isin(COVERAGES) & (scores["status"] == "ok")]
    cell = ["method", "dataset"]
    shares = own.pivot_table(index=cell, columns="metric", values="value", sort=False)
    shares = shares.reindex(columns=list(COVERAGES))
    distance = (shares - pd.Series(COVERAGES)).groupby("method").mean().abs().mean(axis=1)
    counts = _histograms(files)
    variants = scores.groupby("method")["variant"].first()
    rows = []
    for method in distance.sort_values(kind="stable").index:
        known = {"method": method, "variant": variants[method]}
        each = [share for (name, _), share in counts.items() if name == method]
        edges = np.linspace(0.0, 1.0, _BINS + 1)
        heights = _BINS * np.mean(each, axis=0) if each else []
        same = known | {"panel": HISTOGRAM, "kind": "histogram", "n": len(each)}
        for x, right, y in zip(edges[:-1], edges[1:], heights, strict=False):
            rows.append(same | {"x": x, "x_right": right, "y": y})
        for metric, values in shares.loc[method].items():
            same = known | {"panel": COVERAGE, "series": metric, "n": len(values)}
            for stat, ends in (("mean", [0.0, 1.0]), ("quartiles", [0.25, 0.75])):
                low, high = values.quantile(ends)
                box = {"kind": "box", "stat": stat, "y_low": low, "y_high": high}
                rows.append(same | box | {"y": values.mean()})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _histograms(files: list[Path]) -> dict[tuple[str, str], np.ndarray]:
    """Return the shares of F in the bins by method and set."""
    found = {}
    for path in files:
        method, dataset = _RENAMED.get(path.stem, path.stem), path.parent.name
        pit = arrays_beside(path).get("pit", np.empty(0))
        pit = pit[np.isfinite(pit)]
        if len(pit) and dataset not in _BINARY:
            counts, _ = np.histogram(pit, bins=_BINS, range=(0.0, 1.0))
            found[method, dataset] = counts / len(pit)
    return found


def calibrated(frame: pd.DataFrame) -> list[str]:
    """Return the methods whose mean coverages are both within 0.05 of the nominal ones."""
    own = frame[(frame["panel"] == COVERAGE) & (frame["stat"] == "mean")]
    near = (own["y"] - own["series"].map(COVERAGES)).abs() <= _NEAR
    return list(near.groupby(own["method"], sort=False).all().loc[lambda known: known].index)


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw a row a method: its histogram, and its coverages; calibrated methods are bold."""
    names, sound = list(frame["method"].unique()), calibrated(frame)
    colours = [style.line(name)["color"] for name in names]
    size = {"columns": 1 + len(COVERAGES), "sharey": True, "width_ratios": [0.75, 1, 1]}
    height = _MARGINS + _ROW * len(names)
    with style.figure(style.COLUMN, height, **size, stem=stem) as (made, axes):
        _draw_histograms(axes[0], frame[frame["panel"] == HISTOGRAM], names)
        for letter, one, (metric, wanted) in zip("bc", axes[1:], COVERAGES.items(), strict=True):
            one.axvspan(wanted - _NEAR, wanted + _NEAR, color="#E5E5E5", linewidth=0.0, zorder=0)
            one.axvline(wanted, color=style.BLACK, linewidth=0.6, linestyle=":", zorder=1)
            own = frame[frame["series"] == metric].set_index(["stat", "method"])
            for stat, width in (("mean", 0.7), ("quartiles", 2.0)):
                ends = own.loc[stat].loc[names, ["y_low", "y_high"]].to_numpy().T
                one.hlines(range(len(names)), *ends, colors=colours, linewidth=width, zorder=2)
            dots = {"c": colours, "edgecolors": "white", "linewidths": 0.5, "zorder": 4}
            one.scatter(own.loc["mean"].loc[names, "y"], range(len(names)), 13, **dots)
            one.set(xlim=(0.0, 1.02), xticks=[0.0, 0.5, 1.0], xticklabels=["0", "0.5", "1"])
            one.tick_params(axis="y", length=0)
            style.panel_title(one, letter, f"{wanted:.0%}")
        axes[0].set_yticks(range(len(names)), map(display, names), fontsize=6.5)
        axes[0].set_ylim(len(names) - 0.4, -0.7)
        for label, name in zip(axes[0].get_yticklabels(), names, strict=True):
            label.set_fontweight("bold" if name in sound else "normal")
        made.supxlabel("(b, c) share of test rows in the central 50%, 90% interval", fontsize=7)
        words = ["●  mean over sets", "lines: quartiles, lowest to highest set\nbest first; bold "]
        words[1] += f"({len(sound)} of {len(names)}): both means within {_NEAR:g} of nominal (grey)"
        style.words_above(made, words)


def _draw_histograms(axes, bins: pd.DataFrame, names: list[str]) -> None:
    """Draw a histogram in the row of each method; dotted: uniform, at a third of its height."""
    for place, name in enumerate(names):
        own, foot = bins[bins["method"] == name], place + 0.42
        if len(own):
            edges = [*own["x"], own["x_right"].iloc[-1]]
            heights = own["y"].clip(upper=_HIGHEST) / _HIGHEST
            look = {"color": style.line(name)["color"], "alpha": 0.85, "fill": True}
            axes.stairs(foot - 0.84 * heights, edges, baseline=foot, **look)
            axes.hlines(foot - 0.84 / _HIGHEST, 0.0, 1.0, color=style.BLACK, lw=0.5, ls=":")
    axes.set(xlim=(0.0, 1.0), xticks=[0.0, 1.0], xticklabels=["0", "1"])
    axes.tick_params(axis="y", length=0)
    style.panel_title(axes, "a", "$F(y|x)$")


ARTEFACT = Artefact(__name__, all_methods.ARTEFACT.shows, build, draw)
