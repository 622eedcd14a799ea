"""kcef consistency: convergence where the model is well specified (theorem 2), and claim K12."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.experiments.consistency import Constant
from kcde.metrics.names import REGULARIZATION_ERROR
from kcde.pages import style
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.kcef import claims

_PANELS = {"norm_error": "norm", "kl": "KL"}
_COLOURS = {0.5: style.BLUE, 1.0: style.VERMILLION}  # by γ


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return geometric means over repetitions with 95% intervals, fitted lines and slopes.

    Panels `norm` (in the space of functions) and `KL` (nats) against x = n, stat `mean`, `fit` or
    `without noise`; panel `slopes` (x is the place of the series, stat the metric) with `… bound`
    for the theorem's.
    """
    rows = []
    for gamma, constant, series in claims.by_series(scores):
        name = _series_name(gamma, constant)
        for metric, panel in _PANELS.items():
            rows += _means(panel, name, claims.by_repetition(series, metric))
        quiet = claims.by_repetition(series, REGULARIZATION_ERROR).iloc[0]
        rows += [_row("norm", name, "without noise", n, value, 1) for n, value in quiet.items()]
    places: dict[str, int] = {}
    for slope in claims.slopes(scores).itertuples():
        name, stat = _series_name(slope.gamma, slope.constant), _PANELS[slope.metric]
        x = places.setdefault(name, len(places))
        row = _row("slopes", name, stat, x, slope.value, slope.n, slope.low, slope.high)
        rows += [row, _row("slopes", name, f"{stat} bound", x, slope.bound, 1)]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _means(panel: str, name: str, table: pd.DataFrame) -> list[dict]:
    log_values = np.log(table.to_numpy())
    if len(log_values) < 2:
        return []
    mean, half = log_values.mean(axis=0), claims.half_width(log_values)
    log_n = np.log(table.columns.to_numpy(float))
    line = np.exp(np.polyval(np.polyfit(log_n, mean, 1), log_n))
    ends = zip(table.columns, *np.exp([mean, mean - half, mean + half]), strict=True)
    rows = [_row(panel, name, "mean", n, y, len(table), *range_) for n, y, *range_ in ends]
    return rows + [
        _row(panel, name, "fit", *xy, len(table)) for xy in zip(table.columns, line, strict=True)
    ]


def _row(panel, series, stat, x, y, n, low=np.nan, high=np.nan) -> dict:
    kind = "scatter" if panel == "slopes" or stat == "mean" else "curve"
    values = [panel, kind, "KCEF", "as-published", series, x, np.nan, y, low, high, stat, n]
    return dict(zip(FIGURE_COLUMNS, values, strict=True))


def _series_name(gamma: float, constant: Constant) -> str:
    """Return the name of a series in the CSV; c is a multiple of ‖C‖ where it is not absolute."""
    return f"gamma={gamma:g} c={constant.value:g}" + " absolute" * constant.absolute


def _parts(name: str) -> tuple[float, str]:
    """Return γ, and c in words, from the name of a series."""
    gamma, value, *absolute = name.split()
    constant = Constant(bool(absolute), float(value.removeprefix("c=")))
    return float(gamma.removeprefix("gamma=")), claims.times(constant)


def _outside(frame: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Yield the series whose error without noise is not near its limit, and its slope."""
    quiet = frame[frame["stat"] == "without noise"].pivot(index="series", columns="x", values="y")
    for name, slope in zip(quiet.index, claims.fit(quiet), strict=True):
        if slope > claims.IN_REGIME * claims.limit(_parts(name)[0]):
            yield name, slope


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say how much was run, and which series are not in the limit that the theorem is about."""
    means = frame[frame["stat"] == "mean"]
    least, most = means["x"].min(), means["x"].max()
    said = [f"Shown are {means['n'].max():.0f} repetitions of n from {least:.0f} to {most:.0f}."]
    for name, slope in _outside(frame):
        gamma, constant = _parts(name)
        said.append(
            f"At γ = {gamma:g}, c = {constant} the error without noise falls as n^{slope:.2f} at "
            f"these n, its limit is n^{claims.limit(gamma):.2f}: this series is no evidence."
        )
    return said


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the fitted slopes of both errors on bands of what the theorem allows."""
    shown = frame[frame["panel"] == "slopes"]
    names, outside = list(dict.fromkeys(shown["series"])), dict(_outside(frame))
    height = 0.8 + 0.24 * len(names)
    with style.figure(style.PAGE, height, 2, sharey=True) as (made, grid):
        panels = zip(grid, "ab", ("norm", "KL"), ("‖T − T₀‖", "divergence"), strict=True)
        for axes, letter, stat, words in panels:
            least = shown.loc[shown["stat"] == stat, "y_low"].min() - 0.05
            for place, name in enumerate(names):
                rows = shown[shown["series"] == name].set_index("stat")
                slope, bound = rows.loc[stat], rows.loc[f"{stat} bound", "y"]
                colour = _COLOURS[_parts(name)[0]]
                axes.fill_betweenx([place - 0.5, place + 0.5], least, bound, color="#E4E4E4", lw=0)
                axes.hlines(place, slope["y_low"], slope["y_high"], color=colour)
                face = "white" if name in outside else colour
                axes.plot(slope["y"], place, "o", markersize=4, mfc=face, mec=style.BLACK)
            axes.set_xlim(least, 0.0)
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.set_xlabel(f"slope of log {words} in log n")
            style.panel_title(axes, letter, f"error: {words}")
        labels = [f"γ = {gamma:g}, c = {constant}" for gamma, constant in map(_parts, names)]
        grid[0].set_yticks(range(len(names)), labels)
        said = ["●  fitted slope, 95% interval", "grey: as steep as theorem 2 says, or steeper"]
        style.words_above(made, [*said, "○  λ too large at these n to tell"])
        return style.save(made, stem)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"consistency": {}},
    build=build,
    draw=draw,
    claims={"K12": claims.converges_at_the_rates},
    trial="repetition",
    remarks=remarks,
)
