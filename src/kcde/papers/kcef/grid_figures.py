"""kcef figures 1 and 5 and other readings: log-likelihoods on the grid data, exact bounds."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.pages import style
from kcde.pages.words import display
from kcde.papers.artefact import READINGS, Artefact
from kcde.papers.kcef import claims, grid, labels
from kcde.papers.kcef.grid import EXACT

# Axis labels by the quantity that is fixed in a panel, the first letter of its name.
_X = {"d": "training points $n$ (log scale)", "n": "dimension $d$"}
_Y = {"d": "log-likelihood (nats)", "n": "log-likelihood per dimension (nats)"}

_BOUNDS = {"entropy": ("exact entropy", "-"), "independence": ("no dependence", (0, (1, 1.5)))}

_PALE = "#A0A0A0"
"""Of what is as in figure 1, where a figure shows what else changes."""

_REACH = 8.0
"""Points farther below the bound than this many times the median distance are arrows at the edge,
so that an outlier does not flatten the other curves."""


def draw(
    artefact: Artefact,
    frame: pd.DataFrame,
    stem: Path,
    pale: Collection[str] = (),
    named: Mapping[str, str] | None = None,
) -> list[Path]:
    """Draw the panels of the CSV.

    Curves are named at their right ends; above the panels where these are alike, which share the
    vertical axis. Methods may be drawn pale, and with the look and name of another.
    """
    frame = frame[frame["stat"] == "mean"]
    methods = [name for name in frame["method"].unique() if name != EXACT]
    looks = {name: style.line(name) for name in methods}
    for name in looks.keys() & pale:
        looks[name]["color"] = _PALE
    looks |= {shown: style.line(shown) for shown in (named or {}).values()}
    frame = frame.replace({"method": dict(named or {})})
    panels = list(dict.fromkeys(frame["panel"]))
    width = style.PAGE if len(panels) > 1 else style.COLUMN
    alike = len(panels) > 1 and len({name[0] for name in panels}) == 1
    with style.figure(width, 2.9, columns=len(panels), squeeze=False, sharey=alike) as (made, grid):
        for letter, name, axes in zip("abc", panels, grid[0], strict=False):
            own = frame[frame["panel"] == name]
            axes.set_ylim(*_limits(frame if alike else own))
            (axis_of_counts if name[0] == "d" else axis_of_dimensions)(axes, own["x"])
            ends = _draw_curves(axes, own, looks)
            axes.set_xlabel(_X[name[0]])
            fixed, _, waves = name.partition(",a=")
            before = f"{waves} wave{'' if waves == '1' else 's'}, " if waves else ""
            style.panel_title(axes, letter if len(panels) > 1 else "", f"{before}${fixed}$")
            if not alike:
                labels.beside(axes, ends, 2.3)
            if axes is grid[0, 0] or not alike:
                axes.set_ylabel(_Y[name[0]])
        if alike:
            keys = {name: look | {"marker": style.marker(name)} for name, look in looks.items()}
            for text, dashes in _BOUNDS.values():
                keys[text] = {"color": style.EXACT, "linestyle": dashes}
            style.legend_above(made, [style.key(display(k), **look) for k, look in keys.items()])
        return style.save(made, stem)


def _draw_curves(axes, frame: pd.DataFrame, looks: Mapping) -> list[labels.Label]:
    """Draw the curves of a panel and return their names at the right ends."""
    ends = []
    for (method, series), curve in frame.groupby(["method", "series"], sort=False):
        curve = curve.sort_values("x")
        x, y = curve["x"].to_numpy(float), curve["y"].to_numpy(float)
        if method == EXACT:
            text, dashes = _BOUNDS[series]
            look = {"color": style.EXACT, "linestyle": dashes}
            if len(curve) == 1:
                x, y = np.array(axes.get_xlim()), np.repeat(y, 2)
            axes.plot(x, y, **look, linewidth=1.0, zorder=1)
            ends.append(labels.Label(y[-1], text, style.EXACT))
            continue
        look, marker = looks[method], style.marker(method)
        axes.plot(x, y, **look, marker=marker, markersize=2.8, linewidth=1.2, zorder=3)
        bars = {"color": look["color"], "linewidth": 1.0, "zorder": 2}
        axes.vlines(x, curve["y_low"], curve["y_high"], **bars)
        _mark_outliers(axes, x, y, look["color"])
        if len(known := y[np.isfinite(y)]):
            ends.append(labels.Label(known[-1], display(method), look["color"], look["linestyle"]))
    return ends


def _mark_outliers(axes, x: np.ndarray, y: np.ndarray, colour: str) -> None:
    """Mark means below the axis by arrow heads at its edge, and print the lowest."""
    floor = axes.get_ylim()[0]
    out = np.flatnonzero(np.isfinite(y) & (y < floor))
    if not len(out):
        return
    axes.plot(x[out], np.full(len(out), floor), "v", color=colour, markersize=4, clip_on=False)
    lowest = out[np.argmin(y[out])]
    at = "left" if x[lowest] < np.mean(axes.get_xlim()) else "right"
    said = f"  {y[lowest]:.3g}  ".replace("-", "−")
    axes.text(x[lowest], floor, said, color=colour, fontsize=6, ha=at, va="bottom")


def _limits(frame: pd.DataFrame) -> tuple[float, float]:
    """Return limits that hold the bounds and every mean with its error, outliers excepted."""
    means = frame["y"].dropna()
    reach = _REACH * (means.max() - means.median())
    near = (frame["y"] >= means.max() - reach) | (frame["method"] == EXACT)
    ends = frame.loc[near, ["y_low", "y", "y_high"]]
    low, high = ends.min().min(), ends.max().max()
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin


def axis_of_counts(axes, n: pd.Series) -> None:
    """Make the x-axis logarithmic, from the smallest to the largest n, with ticks at some n."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log")
    axes.set_xlim(*np.exp(_span(np.log(n))))
    # From the largest down, which names the n = 2000 of the other panel rather than 1400.
    ticks = np.exp(-np.array(_apart(sorted(set(-np.log(n))), 0.2)))[::-1]
    axes.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())


def axis_of_dimensions(axes, d: pd.Series) -> None:
    """Let the x-axis reach from the smallest to the largest d, with ticks at some d."""
    axes.set_xlim(*_span(d))
    places = sorted(set(d))
    shown = [x for x in places if len(places) <= 8 or x == places[0] or x % 5 == 0]
    axes.set_xticks(_apart(shown, 0.13))


def _span(x: pd.Series) -> tuple[float, float]:
    margin = 0.02 * (x.max() - x.min()) or 1.0
    return x.min() - margin, x.max() + margin


def _apart(places: list[float], least: float) -> list[float]:
    """Return the first place, and every further one whose label would overlap no earlier one."""
    kept = places[:1]
    for x in places[1:]:
        if x - kept[-1] >= least * (places[-1] - places[0]):
            kept.append(x)
    return kept


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves against n and against d."""
    return grid.curves(artefact, scores, (grid.against_n, grid.against_d))


def build_converged(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves without the isotropic kernel, which only decides claim K6."""
    return build(artefact, scores[scores["method"] != grid.ISOTROPIC], files)


def build_rows(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 1, and against d that of the isotropic kernel of figure 5."""
    frame = build(artefact, scores, files)
    hidden = frame["panel"].str.startswith("d=") & frame["method"].eq("KCEF-F-500-rows")
    return frame[~hidden].sort_values("panel", kind="stable", ignore_index=True)


METHODS = ["KCEF-F-anisotropic", "KCEF-M", "LSCDE-F", "LSCDE-M", "NADE"]

FIG1 = Artefact(
    __name__,
    name="fig1",
    kind="figure",
    shows={"joint": {"datasets": grid.DATASETS, "methods": [*METHODS, "exact"]}},
    build=build,
    draw=draw,
    claims={
        "K1": claims.converges_faster,
        "K2": claims.markov_beats_full,
        "K3": claims.nade_needs_data,
        "K4": claims.full_kcef_like_lscde,
        "K5": claims.nade_like_full,
        "K13": claims.full_like_markov,
    },
    trial="run",
    remarks=grid.remarks,
)


def _variant(
    name: str, methods: list[str], build=build, named: dict | None = None, only: dict | None = None
) -> Artefact:
    """Return figure 1 with other methods, some drawn with the names that those of it have."""
    shown = {"datasets": grid.DATASETS, "methods": [*methods, "exact"], "only": only or {}}
    picture = partial(draw, pale=METHODS, named=named or {})
    changes = {"shows": {"joint": shown}, "build": build, "draw": picture}
    return replace(FIG1, name=name, stage=READINGS, claims={}, **changes)


_LSCDE = ["LSCDE-F", "LSCDE-F-anisotropic", "LSCDE-M", "LSCDE-M-anisotropic"]
_ROWS = {f"{name}-500-rows": name for name in (grid.ISOTROPIC, grid.FULL, "KCEF-M")}

VARIANTS = [
    _variant(
        "fig1-converged",
        ["KCEF-F", "KCEF-F-converged", "KCEF-M-converged", *_LSCDE[1::2], "NADE"],
        only={"KCEF-F": ["grid-2000"]},  # for claim K6
        build=build_converged,
        named={"KCEF-F-converged": grid.FULL, "KCEF-M-converged": "KCEF-M"},
    ),
    _variant("fig1-lscde", ["KCEF-F-anisotropic", "KCEF-M", *_LSCDE, "NADE"]),
    _variant("fig1-nade", [*METHODS, "NADE-unstopped"]),
    _variant(
        "fig1-rows",
        [*_ROWS, "LSCDE-F", "LSCDE-M", "NADE"],
        only={"KCEF-F-500-rows": ["grid-2000"]},  # for claim K6
        build=build_rows,
        named=_ROWS,
    ),
]


def build_fig5(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves against d."""
    return grid.curves(artefact, scores, (grid.against_d,))


def build_readings(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 5, a panel for each frequency that has scores."""
    frames = []
    for a in (1, 2, 3):
        ending = "" if a == 1 else f"-frequency-{a}"
        plain = scores["dataset"].str.extract(rf"^(grid-\d+){ending}$")[0]
        if plain.notna().any():
            own = scores.assign(dataset=plain).dropna(subset="dataset")
            frame = build_fig5(artefact, own, files)
            frames.append(frame.assign(panel=frame["panel"] + f",a={a}"))
    return pd.concat(frames, ignore_index=True)


FIG5 = replace(
    FIG1,
    name="fig5",
    shows={"joint": {"datasets": ["grid-2000"], "methods": ["KCEF-F", *METHODS, "exact"]}},
    build=build_fig5,
    claims={"K6": claims.isotropic_drops},
)

_WAVES = ["grid-2000", "grid-2000-frequency-2", "grid-2000-frequency-3"]
_SHOWN = {"datasets": _WAVES, "methods": ["KCEF-F", "KCEF-F-anisotropic", "exact"]}
_SHOWN["only"] = {"KCEF-F-anisotropic": _WAVES}

READINGS_OF_FIG5 = replace(FIG5, name="fig5-readings", stage=READINGS, claims={})
READINGS_OF_FIG5 = replace(READINGS_OF_FIG5, shows={"joint": _SHOWN}, build=build_readings)
