"""Score matching against maximum likelihood in one space of functions, along n and λ."""

import json
from pathlib import Path

import pandas as pd

from kcde.artefacts.across import _gap_curves
from kcde.artefacts.core import tolerances
from kcde.artefacts.core.declaration import FIGURE_COLUMNS, Artefact
from kcde.artefacts.plots import style
from kcde.artefacts.tables.markdown import magnitude
from kcde.metrics.names import LOG_DENSITY_GAP

_CAPTION = (
    "How far two ways to fit the same model stay below the true density of test rows: maximum "
    "likelihood (solid) and score matching (dashed), with the same penalty λ/2 ‖T‖², a panel for "
    "each number n of training rows. Crosses: the best λ. Bandwidths are those that "
    "LikelihoodKCEF chose at that n, centres the same for both. Where λ is small and n large, what "
    "is left is the bias of the objective."
)

_DETAILS = (
    "The data are those of large_n. Both densities have the same share of a Student t, which "
    "bounds the loss of a row. The bandwidths were chosen by the held-out likelihood of maximum "
    "likelihood fits, so that the space is not the one that score matching would choose; large_n "
    "shows score matching with its own choice. Error bars are two standard errors of the mean "
    "over test rows."
)

_OBJECTIVES = {"likelihood": "maximum likelihood", "score": "score matching"}
_COLOURS = {"likelihood": style.BLUE, "score": style.VERMILLION}
_DASHES = {"likelihood": "-", "score": "--"}
_FAILED = "failed"
_HEIGHT = 2.5  # inches


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the gaps of both objectives along λ.

    Panel `n=<n>`: x is λ, y the gap in nats with `y_low` and `y_high` two standard errors apart,
    series the objective, stat `fit`, or `failed` without a number.
    """
    axes = scores["setting"].map(json.loads)
    chosen = axes.map(lambda each: "objective" in each) & (scores["metric"] == LOG_DENSITY_GAP)
    rows = [
        _row(cell, **json.loads(cell.setting))
        for cell in scores[chosen].sort_values("n_train", kind="stable").itertuples()
    ]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _row(cell, objective: str, regularization: float) -> dict:
    return {
        "panel": f"n={cell.n_train}",
        "kind": "curve",
        "method": cell.method,
        "variant": cell.variant,
        "series": objective,
        "x": regularization,
        "y": cell.value,
        "y_low": cell.value - 2.0 * cell.stderr,
        "y_high": cell.value + 2.0 * cell.stderr,
        "stat": "fit" if cell.status == "ok" else _FAILED,
        "n": 1,
    }


def remarks(frame: pd.DataFrame) -> list[str]:
    """State the best gap of each objective at each n, and which fits failed."""
    said = []
    for panel, rows in frame.groupby("panel", sort=False):
        best = rows[rows["stat"] != _FAILED].sort_values("y").groupby("series").first()
        words = [
            f"{_OBJECTIVES[name]} {best.loc[name, 'y']:.3f} nats (λ = {best.loc[name, 'x']:.0e})"
            for name in _OBJECTIVES
            if name in best.index
        ]
        said.append(f"Best at n = {_size(panel):.0f}: {', '.join(words)}.")
        for row in rows[rows["stat"] == _FAILED].itertuples():
            said.append(
                f"The fit by {_OBJECTIVES[row.series]} to {_size(panel):.0f} rows at "
                f"λ = {row.x:.0e} failed."
            )
    return said


def _size(panel: str) -> int:
    return int(panel.removeprefix("n="))


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a panel for each n."""
    names = list(dict.fromkeys(frame["panel"]))
    with style.figure(style.PAGE, _HEIGHT, len(names), sharey=True, squeeze=False) as (made, axes):
        for letter, place, name in zip("abcdefgh", axes[0], names, strict=False):
            _draw_panel(place, frame[(frame["panel"] == name) & (frame["stat"] != _FAILED)])
            style.panel_title(place, letter, f"$n={_power(_size(name))}$")
        axes[0, 0].set_ylabel("nats below the true density")
        axes[0, 0].legend(frameon=False, fontsize="small", handlelength=2.5)
        return style.save(made, stem)


def _power(n: int) -> str:
    """Return a size as the ticks of the axes have it, in mathtext."""
    digit, _, exponent = magnitude(n).partition("e")
    power = f"10^{{{exponent}}}"
    return power if digit == "1" else rf"{digit} \times {power}"


def _draw_panel(axes, panel: pd.DataFrame) -> None:
    for objective, rows in panel.groupby("series", sort=False):
        look = {"color": _COLOURS[objective], "linestyle": _DASHES[objective]}
        _gap_curves.plot(axes, rows, _OBJECTIVES[objective], "$\\lambda$", **look)
        best = rows.loc[rows["y"].idxmin()]
        axes.plot(best["x"], best["y"], "x", color=_COLOURS[objective], markersize=6)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="the bias of score matching against maximum likelihood in one space",
    stage="readings",
    shows={"large_n": {"methods": ["LikelihoodKCEF"]}},
    caption=_CAPTION,
    details=_DETAILS,
    tolerance=tolerances.SINGLE,
    build=build,
    draw=draw,
    remarks=remarks,
    trial="fit",
)
