"""Figures 1 to 6 of jdl, on Gaussian pairs, and two of ours for what the paper leaves open there.

`laws` has other laws of the random correlations, `bandwidths` grids with smaller bandwidths.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from kcde.data.names import DRAWN_LAW, FACTORS, LAWS, NORMAL, parsed_law
from kcde.evidence import tolerances
from kcde.experiments._embedding import BANDWIDTH_FACTORS
from kcde.metrics.names import (
    INDEPENDENCE_LOSS,
    NORMALISATION_ERROR,
    PSD_VIOLATION_RATE,
    SECOND_MOMENT_LOSS,
)
from kcde.pages import style
from kcde.papers.artefact import READINGS, Artefact, Build
from kcde.papers.jdl import claims_of_moments as claims
from kcde.papers.jdl.curves import (
    CONSTRAINED,
    MEAN,
    MOMENTS,
    MOST,
    SCHEDULED,
    baseline,
    by_tolerance,
    frame,
    panels,
    remarks,
    rows,
    tidy,
    timed,
    timing_rows,
    varied,
)
from kcde.papers.jdl.plots import LIMIT_KEYS, PlotSpec, drawer

LOSS_LABEL = "relative squared error\nof $E[yy^\\top|x]$"
_ERROR_LABEL = "normalisation error,\nlargest $|E[1|x]-1|$"
_METHODS = ("JDL", "JPDL", "CME")


def _against_n(
    metric: str,
    stats: Sequence[str] = (MEAN,),
    arrange: Callable[[pd.DataFrame], pd.DataFrame] = panels,
    scale: float = 1.0,
    ignoring: bool = False,
) -> Build:
    """Return the `build` of curves of a metric, beside them those of what ignores x."""

    def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
        tidied = tidy(scores, MOMENTS)
        placed = arrange(tidied[tidied["method"].isin(artefact.methods)])
        beside = baseline(placed, INDEPENDENCE_LOSS) if ignoring else []
        return frame([*rows(placed, metric, stats, scale), *beside])

    return build


def _seconds(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the seconds at matched bandwidths, with the factors and without."""
    tidied = tidy(timed(scores), MOMENTS)
    solved = panels(tidied[tidied["method"].isin(artefact.methods)])
    # Without constraints there is no semidefinite program.
    shown = solved["method"].ne("JPDL-unreduced") | solved["constrained"]
    return frame(timing_rows(solved[solved["series"].eq(SCHEDULED) & shown]))


def by_law(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return tidied scores under each law, `s = 0.2` or `uniform`, the drawn one first."""
    found = {DRAWN_LAW: scores}
    here = scores.loc[scores["dataset"].str.endswith(f"-{LAWS}"), "setting"]
    for law in sorted(set(here.str.extract(r'"law":\s*"([^"]+)"')[0]), key=parsed_law):
        found[law] = varied(scores, LAWS, "law", law)
    named = {law: parsed_law(law) for law in found}
    return {
        f"s = {size:g}" if kind == NORMAL else "uniform": tidy(found[law], MOMENTS)
        for law, (kind, size) in named.items()
    }


def _of_laws(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the loss (40): a panel for each d and law, a series for the limits."""
    found, each = [], by_law(scores)
    for law in sorted(each, key=lambda name: (name.startswith("u"), name)):
        shown = each[law]
        shown = shown[shown["n"].le(100_000) & shown["scheduled"] & shown["method"].isin(_METHODS)]
        panel = "d=" + shown["d"].astype(str) + f" {law}"
        placed = shown.assign(panel=panel, series=_limits(shown)).sort_values("d", kind="stable")
        found += [*rows(placed, SECOND_MOMENT_LOSS), *baseline(placed, INDEPENDENCE_LOSS)]
    return frame(found)


def _of_bandwidths(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the loss (40) of JDL and CME against the largest factor, a panel for each d and n."""
    parts = []
    for factor in sorted(BANDWIDTH_FACTORS, reverse=True):
        drawn = factor == max(BANDWIDTH_FACTORS)
        under = scores if drawn else varied(scores, FACTORS, "largest_factor", factor)
        tidied = tidy(under, MOMENTS)
        shown = tidied[tidied["scheduled"] & tidied["method"].isin(["JDL", "CME"])]
        panel = "d=" + shown["d"].astype(str) + " n = " + shown["n"].astype(str)
        placed = shown.assign(panel=panel, series=_limits(shown), order=shown["n"], n=factor)
        parts.append(placed)
    placed = pd.concat(parts).sort_values(["order", "d", "n"], kind="stable")
    return frame(rows(placed, SECOND_MOMENT_LOSS))


def _limits(tidied: pd.DataFrame) -> pd.Series:
    return tidied["constrained"].map({False: SCHEDULED, True: CONSTRAINED})


def _named(variation: str, sizes: Sequence[int]) -> list[str]:
    return [f"gaussian-{d}-{n}{variation}" for d in claims.DIMENSIONS for n in sizes]


def _figure(name: str, methods: Sequence[str], build: Build, plot: PlotSpec, **more) -> Artefact:
    shown = {"methods": list(methods)} | more.pop("shown", {})
    return Artefact(
        __name__,
        kind="figure",
        shows={MOMENTS: shown} | more.pop("beside", {}),
        build=build,
        draw=drawer(plot),
        name=name,
        trial="matrix",
        remarks=remarks,
        **more,
    )


_AT_ONE = [f"gaussian-1-{n}" for n in claims.PUBLISHED_SIZES]
_BY_LIMITS = {"band": False, "dashes": {CONSTRAINED: "--"}, "keys": LIMIT_KEYS}
_SMALL = _named("", (1000, 10_000))

ARTEFACTS = [
    _figure(
        "fig1",
        _METHODS,
        _against_n(SECOND_MOMENT_LOSS, ignoring=True),
        PlotSpec(LOSS_LABEL),
        claims={
            "J1": claims.ordered,
            "J2": claims.rises_when_loosened,
            "J4": claims.worse_in_higher_dimensions,
        },
    ),
    _figure(
        "fig2",
        ["JDL", "CME"],
        _against_n(SECOND_MOMENT_LOSS, arrange=by_tolerance, ignoring=True),
        PlotSpec(LOSS_LABEL),
        shown={"datasets": _AT_ONE},
        claims={"J3": claims.robust_to_tolerance},
    ),
    _figure(
        "fig3",
        _METHODS,
        _against_n(NORMALISATION_ERROR, (MOST, MEAN)),
        PlotSpec(_ERROR_LABEL, stat=MOST, linear_below=1e-4, average=True),
        claims={"J5": claims.inverse_to_sample_size, "J7": claims.mitigated_by_constraints},
    ),
    _figure(
        "fig4",
        ["CME"],
        _against_n(NORMALISATION_ERROR, (MOST, MEAN), by_tolerance),
        PlotSpec(_ERROR_LABEL, stat=MOST, band=False, width=style.COLUMN),
        shown={"datasets": _AT_ONE},
        claims={"J6": claims.falls_at_the_tightest, "J15": claims.lowest_in_the_middle},
    ),
    _figure(
        "fig5",
        _METHODS,
        _against_n(PSD_VIOLATION_RATE, scale=100.0),
        PlotSpec("moments not positive\nsemi-definite (%)", linear_below=0.01),
        claims={"J8": claims.semidefinite},
    ),
    _figure(
        "fig6",
        ["JDL", "JPDL", "JPDL-unreduced", "CME"],
        _seconds,
        PlotSpec("wall-clock seconds", methods={"JPDL-unreduced": "unreduced program"}),
        claims={"J9": claims.similar_and_faster, "J16": claims.constraints_cost_little},
        tolerance=tolerances.VERDICTS,  # its curves are of seconds
    ),
    _figure(
        "laws",
        ["JDL", "JPDL", "JPDL-unreduced", "CME"],
        _of_laws,
        PlotSpec(LOSS_LABEL, **_BY_LIMITS),
        shown={
            "datasets": _named("", claims.PUBLISHED_SIZES)
            + _named(f"-{LAWS}", claims.PUBLISHED_SIZES[:3])
        },
        beside={"portfolio": {"methods": ["JDL", "CME"]}},
        stage=READINGS,
    ),
    _figure(
        "bandwidths",
        ["JDL", "CME", "JPDL"],
        _of_bandwidths,
        PlotSpec(LOSS_LABEL, along="largest factor of a bandwidth", **_BY_LIMITS),
        shown={
            "datasets": _SMALL + _named(f"-{FACTORS}", (1000, 10_000)),
            "only": {"JPDL": _SMALL},
        },
        stage=READINGS,
    ),
]
