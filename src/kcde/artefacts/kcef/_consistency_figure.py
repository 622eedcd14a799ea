"""Drawing the figure of kcef theorem 2."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.kcef._consistency import parts
from kcde.artefacts.plots import style

_COLOURS = {0.5: style.BLUE, 1.0: style.VERMILLION}
_DASHES = {0.1: "-", 1.0: "--"}


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the figure from its tracked CSV.

    Parameters
    ----------
    artefact
        The declaration.
    frame
        As tracked.
    stem
        Path without suffix.

    Returns
    -------
    list of pathlib.Path
        The PNG and the PDF.
    """
    with style.figure(style.PAGE, 2.7, columns=3, width_ratios=[1, 1, 1.1]) as (made, axes):
        _draw_errors(axes[0], frame[frame["panel"] == "norm"])
        _label_constants(axes[0], frame[frame["panel"] == "norm"])
        axes[0].set_ylabel("$\\|T-T_0\\|$")
        style.panel_title(axes[0], "a", "Norm (dotted: without noise)")
        _draw_errors(axes[1], frame[frame["panel"] == "KL"])
        axes[1].set_ylabel("KL (nats)")
        style.panel_title(axes[1], "b", "Divergence")
        _draw_slopes(axes[2], frame[frame["panel"] == "slopes"])
        style.panel_title(axes[2], "c", "Slopes; bars: bounds")
        return style.save(made, stem)


def _label(name: str) -> str:
    gamma, constant = parts(name)
    shown = {0.5: "1/2"}.get(gamma, f"{gamma:g}")
    return f"$\\gamma={shown}$\n{_constant(constant)}"


def _constant(constant: float) -> str:
    times = "\\|C\\|" if constant == 1 else f"\\|C\\|/{1 / constant:g}"
    return f"$c={times}$"


def _look(name: str) -> dict[str, str]:
    gamma, constant = parts(name)
    return {"color": _COLOURS[gamma], "linestyle": _DASHES[constant]}


def _draw_errors(axes, frame: pd.DataFrame) -> None:
    for name, series in frame.groupby("series", sort=False):
        look = _look(name)
        fit = series[series["stat"] == "fit"].sort_values("x")
        axes.plot(fit["x"], fit["y"], linewidth=1, **look)
        mean = series[series["stat"] == "mean"].sort_values("x")
        spread = [mean["y"] - mean["y_low"], mean["y_high"] - mean["y"]]
        axes.errorbar(
            mean["x"],
            mean["y"],
            spread,
            fmt="o",
            markersize=2.5,
            linewidth=0.8,
            color=look["color"],
        )
        quiet = series[series["stat"] == "without noise"].sort_values("x")
        axes.plot(quiet["x"], quiet["y"], linewidth=0.6, linestyle=":", color=look["color"])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("training pairs $n$")


def _label_constants(axes, frame: pd.DataFrame) -> None:
    """Write above the left end of each dash style which c it stands for."""
    fits = frame[frame["stat"] == "fit"]
    starts = fits[fits["x"] == fits["x"].min()]
    for constant in _DASHES:
        y = starts.loc[starts["series"].map(parts).map(lambda found: found[1]) == constant, "y"]
        axes.annotate(
            _constant(constant),
            (starts["x"].min(), y.max()),
            xytext=(8, 5),
            textcoords="offset points",
            color=style.GREY,
        )


def _draw_slopes(axes, frame: pd.DataFrame) -> None:
    names = list(dict.fromkeys(frame["series"]))
    for shift, stat, marker in ((-0.15, "norm", "o"), (0.15, "KL", "s")):
        for place, name in enumerate(names):
            rows = frame[frame["series"] == name].set_index("stat")
            fitted, bound = rows.loc[stat], rows.loc[f"{stat} bound"]
            spread = [[fitted["y"] - fitted["y_low"]], [fitted["y_high"] - fitted["y"]]]
            axes.errorbar(
                fitted["y"],
                place + shift,
                xerr=spread,
                fmt=marker,
                markersize=3,
                linewidth=0.8,
                color=_look(name)["color"],
            )
            axes.plot([bound["y"]] * 2, place + shift + np.array([-0.13, 0.13]), color=style.BLACK)
            if place == 0:
                axes.annotate(
                    stat,
                    (fitted["y"], shift),
                    xytext=(0, 4),
                    textcoords="offset points",
                    color=_look(name)["color"],
                    ha="center",
                )
    axes.set_yticks(range(len(names)), [_label(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("slope of log error in log $n$")
