"""kcef figure 3: a failure case of expected conditional score matching, and claim K11."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.pages import style
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact, Decision

_DISJOINT, _OVERLAPPING = "disjoint-supports", "overlapping-supports"

_ZERO = 1e-12
"""Below this J is zero to numerical precision: what remains is rounding, which differs between
machines and is therefore not stored."""

_DENSITIES = ("p_A", "p_B", "q")
_METRICS = {"expected_score": "J", "kl": "KL"}

# Series: colour, line, marker, label.
_DIVERGENCES = {
    "KL, disjoint-supports": (style.BLACK, "-", "o", "KL, disjoint"),
    "KL, overlapping-supports": (style.GREY, "--", "o", "KL, overlapping"),
    "J, overlapping-supports": (style.PURPLE, "--", "s", "$J$, overlapping"),
    "J, disjoint-supports": (style.PURPLE, "-", "s", "$J$, disjoint: 0"),
}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the densities, and J and KL against the weight of the mixture.

    Panel `densities`: x is y of the paper, y its density, read from the `.npz` beside the scores.
    Panel `divergences`: x is the weight β; series `J, …` in 1/y², `KL, …` in nats.
    """
    rows = []
    with np.load(files[0].with_suffix(".npz")) as arrays:
        for name in _DENSITIES:
            for x, y in zip(arrays[f"{_DISJOINT}/y"], arrays[f"{_DISJOINT}/{name}"], strict=True):
                rows.append(_row("densities", name, x, y))
    for score in scores.to_dict("records"):
        series = f"{_METRICS[score['metric']]}, {score['dataset']}"
        rows.append(_row("divergences", series, _weight(score), score["value"]))
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _row(panel: str, series: str, x: float, y: float) -> dict:
    return {
        "panel": panel,
        "kind": "curve",
        "method": "mixture",
        "variant": "as-published",
        "series": series,
        "x": x,
        "y": 0.0 if abs(y) < _ZERO else y,
        "n": 1,
    }


def _weight(score: dict) -> float:
    return json.loads(score["setting"])["weight"]


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the densities beside the divergences."""
    with style.figure(style.PAGE, 2.5, columns=2, width_ratios=[1.15, 1]) as (made, axes):
        _draw_densities(axes[0], frame[frame["panel"] == "densities"])
        _draw_divergences(axes[1], frame[frame["panel"] == "divergences"])
        return style.save(made, stem)


def _draw_densities(axes, frame: pd.DataFrame) -> None:
    curves = {
        "p_A": (style.FIRST, "$p_0(y\\,|\\,x>0)=p_A(y)$"),
        "p_B": (style.SECOND, "$p_0(y\\,|\\,x\\leq 0)=p_B(y)$"),
        "q": (style.MIXTURE, "$q(y)=\\frac{1}{2}p_A(y)$\n$+\\,\\frac{1}{2}p_B(y)$"),
    }
    for series, (colour, label) in curves.items():
        curve = frame[frame["series"] == series].sort_values("x")
        peak = curve.loc[curve["y"].idxmax()]
        # Zeros are left out: they would hide each other and the axis.
        shown = curve["y"].where((curve["y"] > 0) | (curve["y"].shift() > 0))
        axes.plot(curve["x"], shown, color=colour, clip_on=False)
        place = (0.0, 0.75 * frame["y"].max()) if series == "q" else (peak["x"], peak["y"])
        axes.annotate(
            label,
            place,
            xytext=(0, 0 if series == "q" else 4),
            textcoords="offset points",
            color=colour,
            ha="center",
            va="center" if series == "q" else "bottom",
        )
    axes.set_xlim(-4, 4)
    axes.set_ylim(0, frame["y"].max() * 1.15)
    axes.set_xlabel("$y$")
    axes.set_ylabel("density")
    style.panel_title(axes, "a", "Disjoint supports: $q$ ignores $x$")


def _draw_divergences(axes, frame: pd.DataFrame) -> None:
    for series, (colour, dashes, marker, label) in _DIVERGENCES.items():
        curve = frame[frame["series"] == series].sort_values("x")
        axes.plot(
            curve["x"],
            curve["y"],
            color=colour,
            linestyle=dashes,
            marker=marker,
            markersize=3,
            clip_on=False,
            zorder=3,  # above the axis, on which J = 0 lies
        )
        last = curve.iloc[-1]
        axes.annotate(
            label,
            (last["x"], last["y"]),
            xytext=(6, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            annotation_clip=False,
        )
    axes.axhline(np.log(2), color=style.GREY, linewidth=0.6, zorder=0)
    axes.annotate(
        "log 2",
        (0.9, np.log(2)),
        xytext=(6, 0),
        textcoords="offset points",
        color=style.GREY,
        va="center",
        annotation_clip=False,
    )
    axes.set_xlim(0.08, 0.9)
    axes.set_ylim(0, None)
    axes.set_xticks([0.1, 0.3, 0.5, 0.7, 0.9])
    axes.set_xlabel("weight $\\beta$ of $p_A$ in $q$")
    axes.set_ylabel("KL (nats), $J$ ($1/y^2$)")
    style.panel_title(axes, "b", "Divergence of $q$ from $p_0$")


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim K11: J = 0 for weights .1-.9 while KL = log 2 at weight .5.

    It is undecided where a weight is missing, or where J vanishes for overlapping supports too.
    """
    j = {name: _values(scores, name, "expected_score") for name in (_DISJOINT, _OVERLAPPING)}
    kl = _values(scores, _DISJOINT, "kl").get(0.5, np.nan)
    wanted = {round(0.1 * k, 1) for k in range(1, 10)}
    if set(j[_DISJOINT]) != wanted or set(j[_OVERLAPPING]) != wanted or not np.isfinite(kl):
        return Decision("undecided", "needs J at weights .1 to .9 for both pairs, and KL at .5")
    largest, contrast = max(j[_DISJOINT].values()), min(j[_OVERLAPPING].values())
    # Rounding differs between machines: only a J that is not zero is stated in digits.
    stated = f"below {_ZERO:g}" if largest < _ZERO else f"up to {largest:.3g}"
    reason = (
        f"J {stated} for weights .1-.9; KL {kl:.6f} nats at weight .5 (log 2 = {np.log(2):.6f}); "
        f"with overlapping supports the same computation gives J of at least {contrast:.3f}"
    )
    if contrast < _ZERO:
        return Decision("undecided", reason)
    holds = largest < _ZERO and abs(kl - np.log(2)) < 1e-6
    return Decision("holds" if holds else "fails", reason)


def _values(scores: pd.DataFrame, dataset: str, metric: str) -> dict[float, float]:
    cells = scores[(scores["dataset"] == dataset) & (scores["metric"] == metric)]
    return {_weight(row): row["value"] for row in cells.to_dict("records")}


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"failure_case": {}},
    build=build,
    draw=draw,
    deciders={"K11": decide},
)
