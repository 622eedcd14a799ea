"""Figures 1 to 9 of jdl, and three of ours.

`laws` has other laws of the random correlations, `bandwidths` grids with smaller bandwidths, both
of which the paper leaves open; `structure` is on sections 4.3 and 5.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from kcde.data.names import DRAWN_LAW, FACTORS, LAWS, NORMAL, parsed_law
from kcde.evidence import tolerances
from kcde.experiments._embedding import BANDWIDTH_FACTORS
from kcde.experiments.portfolio import TOLERANCE
from kcde.metrics import names
from kcde.pages import style
from kcde.papers.artefact import READINGS, Artefact, Build
from kcde.papers.jdl import claims_of_moments as moments
from kcde.papers.jdl import claims_of_portfolios as portfolios
from kcde.papers.jdl import curves
from kcde.papers.jdl.curves import (
    CONSTRAINED,
    LIMITS,
    MEAN,
    MOMENTS,
    MOST,
    PORTFOLIO,
    SCHEDULED,
    baseline,
    by_tolerance,
    frame,
    only_curves,
    panels,
    rows,
    tidy,
    timed,
    timing_rows,
    varied,
)
from kcde.papers.jdl.plots import PlotSpec, drawer

TRACE = "trace"
"""Stat: percent of the trace of the kernel matrix of x that its factor leaves."""

LOSS_LABEL = "relative squared error\nof $E[yy^\\top|x]$"
_PAPER_TO = 1e7
_ERROR_LABEL = "normalisation error,\nlargest $|E[1|x]-1|$"
_METHODS = ("JDL", "JPDL", "CME")
_PAIRS, _FEASIBLE = "pairs with $1+h<0$", "fits of CME for which (33) is feasible"


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
        beside = baseline(placed, names.INDEPENDENCE_LOSS) if ignoring else []
        return frame([*rows(placed, metric, stats, scale), *beside])

    return build


def _seconds_of_pairs(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
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
        found += rows(placed, names.SECOND_MOMENT_LOSS)
        found += baseline(placed, names.INDEPENDENCE_LOSS)
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
    return frame(rows(placed, names.SECOND_MOMENT_LOSS))


def _limits(tidied: pd.DataFrame) -> pd.Series:
    return tidied["constrained"].map({False: SCHEDULED, True: CONSTRAINED})


def _of_portfolios(metric: str = "", scale: float = 1.0, ignoring: str = "") -> Build:
    """Return the `build` of curves of a metric, or of seconds; KLR stands in both rows."""

    def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
        tidied = tidy(scores if metric else timed(scores), PORTFOLIO)
        # It needs no constraints.
        twice = tidied[tidied["method"].eq("KLR")].assign(constrained=True)
        placed = panels(pd.concat([tidied, twice], ignore_index=True))
        found = rows(placed, metric, scale=scale) if metric else timing_rows(placed)
        beside = baseline(placed, ignoring) if ignoring else []
        # More than the tolerance where a factor is capped.
        left = only_curves(rows(placed, "trace_error_x", scale=100.0))
        traces = [row | {"kind": "cost", "stat": TRACE} for row in left]
        return frame([*found, *beside, *traces])

    return build


def _of_structure(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return shares of violations and of feasible tightenings, in percent.

    A panel for each section, and in it for pairs without and with constraints and for fits of CME;
    a series for each d. Tolerances are those of the schedule.
    """
    tidied = tidy(scores, MOMENTS, PORTFOLIO)
    tidied = tidied[tidied["scheduled"]]
    section, pairs = tidied["experiment"].map(portfolios.SECTIONS), tidied["method"].ne("CME")
    words = (f"{_PAIRS}, " + tidied["constrained"].map(LIMITS)).where(pairs, _FEASIBLE)
    tidied = tidied.assign(panel=section + " " + words, series="d=" + tidied["d"].astype(str))
    tidied = tidied.assign(section=section).sort_values(["section", "d"], kind="stable")
    joint, cme = (tidied[tidied["panel"].str.endswith(_FEASIBLE) == each] for each in (False, True))
    cme = cme[~cme["constrained"]]
    # Where the claim holds the share is 0, as above.
    feasible = cme["value"].where(cme["metric"] != portfolios.INFEASIBLE, 1.0 - cme["value"])
    found = [
        *rows(joint.sort_values("constrained", kind="stable"), portfolios.VIOLATIONS, scale=100.0),
        *rows(cme.assign(value=feasible), portfolios.INFEASIBLE, scale=100.0),
    ]
    # Figures 6 and 9 have what a fit costs.
    return frame([row for row in found if row["stat"] not in (curves.SECONDS, curves.MEMORY)])


def _capped(drawn: pd.DataFrame) -> list[str]:
    """State besides what capped factors leave."""
    left = drawn[(drawn["stat"] == TRACE) & (drawn["y"] > 100.0 * TOLERANCE)]
    most = left.groupby(left["panel"].str.partition(" ")[0], sort=False)["y"].max()
    each = ", ".join(f"{share:.2g}% ({d.replace('=', ' = ')})" for d, share in most.items())
    capped = [f"Capped factors of x leave on average up to {each} of the trace."] if each else []
    return [*curves.remarks(drawn), *capped]


def _named(variation: str, sizes: Sequence[int]) -> list[str]:
    return [f"gaussian-{d}-{n}{variation}" for d in moments.DIMENSIONS for n in sizes]


def _figure(
    name: str,
    methods: Sequence[str],
    build: Build,
    plot: PlotSpec,
    shown: dict | None = None,
    **more,
) -> Artefact:
    """Return a figure of methods on Gaussian pairs, of which `shown` says more."""
    declared = {
        "shows": {MOMENTS: {"methods": list(methods)} | (shown or {})},
        "trial": "matrix",
        "remarks": curves.remarks,
    }
    return Artefact(
        __name__, kind="figure", name=name, build=build, draw=drawer(plot), **(declared | more)
    )


_AT_ONE = [f"gaussian-1-{n}" for n in moments.PUBLISHED_SIZES]
_SMALL = _named("", (1000, 10_000))
_DAYS = {
    "shows": {PORTFOLIO: {"methods": ["JDL", "CME", "KLR"]}},
    "trial": "subsample",
    "remarks": _capped,
}
_ALONG = "days $n$"

ARTEFACTS = [
    _figure(
        "fig1",
        _METHODS,
        _against_n(names.SECOND_MOMENT_LOSS, ignoring=True),
        PlotSpec(LOSS_LABEL, paper_to=_PAPER_TO),
        claims={
            "J1": moments.ordered,
            "J2": moments.rises_when_loosened,
            "J4": moments.worse_in_higher_dimensions,
        },
    ),
    _figure(
        "fig2",
        ["JDL", "CME"],
        _against_n(names.SECOND_MOMENT_LOSS, arrange=by_tolerance, ignoring=True),
        PlotSpec(LOSS_LABEL),
        shown={"datasets": _AT_ONE},
        claims={"J3": moments.robust_to_tolerance},
    ),
    _figure(
        "fig3",
        _METHODS,
        _against_n(names.NORMALISATION_ERROR, (MOST, MEAN)),
        PlotSpec(_ERROR_LABEL, stat=MOST, linear_below=1e-4, average=True, paper_to=_PAPER_TO),
        claims={"J5": moments.inverse_to_sample_size, "J7": moments.mitigated_by_constraints},
    ),
    _figure(
        "fig4",
        ["CME"],
        _against_n(names.NORMALISATION_ERROR, (MOST, MEAN), by_tolerance),
        PlotSpec(_ERROR_LABEL, stat=MOST, band=False, width=style.COLUMN),
        shown={"datasets": _AT_ONE},
        claims={"J6": moments.falls_at_the_tightest, "J15": moments.lowest_in_the_middle},
    ),
    _figure(
        "fig5",
        _METHODS,
        _against_n(names.PSD_VIOLATION_RATE, scale=100.0),
        PlotSpec("moments not positive\nsemi-definite (%)", linear_below=0.01, paper_to=_PAPER_TO),
        claims={"J8": moments.semidefinite},
    ),
    _figure(
        "fig6",
        ["JDL", "JPDL", "JPDL-unreduced", "CME"],
        _seconds_of_pairs,
        PlotSpec("seconds, times those of JDL", over="JDL", paper_to=_PAPER_TO),
        claims={"J9": moments.similar_and_faster, "J16": moments.constraints_cost_little},
        tolerance=tolerances.VERDICTS,  # its curves are of seconds
    ),
    _figure(
        "laws",
        ["JDL", "JPDL", "JPDL-unreduced", "CME"],
        _of_laws,
        PlotSpec(LOSS_LABEL, band=False, turned=True),
        shows={
            MOMENTS: {
                "datasets": _named("", moments.PUBLISHED_SIZES)
                + _named(f"-{LAWS}", moments.PUBLISHED_SIZES[:3]),
                "methods": ["JDL", "JPDL", "JPDL-unreduced", "CME"],
            },
            PORTFOLIO: {"methods": ["JDL", "CME"]},
        },
        stage=READINGS,
    ),
    _figure(
        "bandwidths",
        ["JDL", "CME", "JPDL"],
        _of_bandwidths,
        PlotSpec(LOSS_LABEL, along="largest factor of a bandwidth", band=False),
        shown={
            "datasets": _SMALL + _named(f"-{FACTORS}", (1000, 10_000)),
            "only": {"JPDL": _SMALL},
        },
        stage=READINGS,
    ),
    _figure(
        "fig7",
        (),
        _of_portfolios(names.LOGISTIC_LOSS, ignoring=names.BASE_RATE_LOSS),
        PlotSpec("logistic loss, nats", baseline="base rate", along=_ALONG),
        claims={"J10": portfolios.jdl_like_klr},
        **_DAYS,
    ),
    _figure(
        "fig8",
        (),
        _of_portfolios(names.NEGATIVE_PROBABILITY_RATE, scale=100.0),
        PlotSpec("negative probabilities (%)", linear_below=0.01, along=_ALONG),
        claims={"J11": portfolios.fewer_negative},
        **_DAYS,
    ),
    _figure(
        "fig9",
        (),
        _of_portfolios(),
        PlotSpec("seconds, times those of JDL", along=_ALONG, over="JDL"),
        claims={"J12": portfolios.comparable_seconds},
        tolerance=tolerances.VERDICTS,  # its curves are of seconds
        **_DAYS,
    ),
    _figure(
        "structure",
        _METHODS,
        _of_structure,
        PlotSpec(
            "share of test pairs (%)",
            linear_below=1e-3,
            band=False,
            dashes={"d=1": "-", "d=2": "--", "d=3": ":", "d=5": "--", "d=10": ":", "d=25": "-."},
            row_labels={_FEASIBLE: "share of fits of CME (%)"},
            words={
                _FEASIBLE: "tightened positivity feasible",
                _PAIRS: "negative density $1+h$",
                "5.1 ": "section 5.1: ",
                "5.2 ": "section 5.2: ",
            },
        ),
        shows={MOMENTS: {"methods": list(_METHODS)}, PORTFOLIO: {"methods": ["JDL", "CME"]}},
        claims={"J13": portfolios.few_violations, "J14": portfolios.never_feasible},
        trial="repetition",
    ),
]
