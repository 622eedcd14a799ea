"""kcef figure 3: a failure case of expected conditional score matching."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.pages import style
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.kcef import claims, labels
from kcde.papers.kcef.claims import DISJOINT, ZERO

_METRICS = {"expected_score": "J", "kl": "KL"}

# Series: colour and label.
_DENSITIES = {
    "p_A": (style.FIRST, "$p_0(y\\,|\\,x>0)=p_A(y)$"),
    "p_B": (style.SECOND, "$p_0(y\\,|\\,x\\leq 0)=p_B(y)$"),
    "q": (style.MIXTURE, "$q(y)=\\frac{1}{2}p_A(y)$\n$+\\,\\frac{1}{2}p_B(y)$"),
}
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
    with np.load(files[0].with_suffix(".npz")) as arrays:
        y = arrays[f"{DISJOINT}/y"]
        shown = [
            ("densities", series, *point)
            for series in _DENSITIES
            for point in zip(y, arrays[f"{DISJOINT}/{series}"], strict=True)
        ]
    for score in scores.to_dict("records"):
        series = f"{_METRICS[score['metric']]}, {score['dataset']}"
        weight = json.loads(score["setting"])["weight"]
        shown.append(("divergences", series, weight, score["value"]))
    frame = pd.DataFrame(shown, columns=["panel", "series", "x", "y"])
    frame["y"] = frame["y"].where(frame["y"].abs() >= ZERO, 0.0)
    same = {"kind": "curve", "method": "mixture", "variant": "as-published", "n": 1}
    return frame.assign(**same).reindex(columns=FIGURE_COLUMNS)


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the densities beside the divergences."""
    panels = {key: own.sort_values("x") for key, own in frame.groupby(["panel", "series"])}
    with style.figure(style.PAGE, 2.5, columns=2, width_ratios=[1.15, 1]) as (made, (left, right)):
        top = max(panels["densities", series]["y"].max() for series in _DENSITIES)
        for series, (colour, label) in _DENSITIES.items():
            curve = panels["densities", series]
            # Zeros are left out: they would hide each other and the axis.
            shown = curve["y"].where((curve["y"] > 0) | (curve["y"].shift() > 0))
            left.plot(curve["x"], shown, color=colour, clip_on=False)
            peak = curve.loc[curve["y"].idxmax()]
            place = (0.0, 0.75 * top) if series == "q" else (peak["x"], peak["y"] + 0.02 * top)
            at = "center" if series == "q" else "bottom"
            left.text(*place, label, color=colour, ha="center", va=at)
        left.set(xlim=(-4, 4), ylim=(0, 1.15 * top), xlabel="$y$", ylabel="density")
        style.panel_title(left, "a", "Disjoint supports: $q$ ignores $x$")
        ends = [labels.Label(math.log(2), "log 2", style.GREY)]
        right.axhline(math.log(2), color=style.GREY, linewidth=0.6, zorder=0)
        for series, (colour, dashes, marker, label) in _DIVERGENCES.items():
            curve = panels["divergences", series]
            look = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 3}
            # Above the axis, on which J = 0 lies.
            right.plot(curve["x"], curve["y"], **look, clip_on=False, zorder=3)
            ends.append(labels.Label(curve["y"].iloc[-1], label, colour))
        right.set(xlim=(0.08, 0.9), ylim=(0, None), xticks=[0.1, 0.3, 0.5, 0.7, 0.9])
        right.set(xlabel="weight $\\beta$ of $p_A$ in $q$", ylabel="KL (nats), $J$ ($1/y^2$)")
        style.panel_title(right, "b", "Divergence of $q$ from $p_0$")
        labels.beside(right, ends, 1.8)
        return style.save(made, stem)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"failure_case": {}},
    build=build,
    draw=draw,
    claims={"K11": claims.blind_to_mixtures},
)
