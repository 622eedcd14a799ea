"""Figures 1 to 9 of jdl, and four of ours.

`laws` has other laws of the random correlations, `bandwidths` grids with smaller bandwidths, both
of which the paper leaves open; `structure` is on sections 4.3 and 5, `dependence` on what
positivity costs by the correlation of x and y.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pandas as pd

from kcde import metrics as names
from kcde.data.names import CORRELATION, DRAWN_LAW, FACTORS, LAWS, NORMAL, parsed_law
from kcde.evidence import verdicts
from kcde.experiments._embedding import BANDWIDTH_FACTORS
from kcde.metrics import CANONICAL_CORRELATION, INDEPENDENCE_LOSS, SECOND_MOMENT_LOSS
from kcde.pages import display, magnitude, pipe_table, style
from kcde.papers.artefact import FIGURE_COLUMNS, READINGS, Artefact, Build, Draw
from kcde.papers.jdl import claims

_THIN = {"linestyle": (0, (2, 1)), "linewidth": 0.7}
_DASHES = {claims.SCHEDULED: "-", claims.THROUGHOUT: ":", claims.CONSTRAINED: "--"}
_DASHES |= {claims.BASELINE: (0, (6, 2))}
_APART = 0.012
"""Share of the width between the quantiles of two methods at the same n."""


@dataclass(frozen=True)
class PlotSpec:
    """How a figure of curves against n is drawn.

    Attributes
    ----------
    label, along
        Of the vertical and of the horizontal axis.
    stat
        Of the rows that are lines.
    linear_below
        Where values may be 0: the vertical axis is linear from 0 to here and logarithmic above.
    band
        Whether the quantiles over repetitions are shown, where there are any.
    baseline
        What the line of `BASELINE` is called.
    width
        In inches.
    average
        Whether a thin line has the mean, where `stat` is the largest value over repetitions.
    over
        A method by whose values in the panel all are divided; panels without factors are left out.
    turned
        Whether the dimensions are rows.
    paper_to
        The largest n of the paper, said in panels that end before it; 0: nothing is said.
    most
        End of the vertical axis: beyond it an arrow has the method and its value.
    """

    label: str
    along: str = "data points $n$"
    stat: str = claims.MEAN
    linear_below: float | None = None
    band: bool = True
    baseline: str = "ignoring x"
    width: float = style.PAGE
    average: bool = False
    over: str = ""
    turned: bool = False
    paper_to: float = 0.0
    most: float = math.inf

    def __call__(self, artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
        """Draw an artefact, see `Draw`.

        A panel named `d=1 constrained` stands in the column `d=1` and the row `constrained`.
        """
        kept = frame[frame["kind"].isin(["curve", claims.BASELINE])]
        kept = _relative(kept, self.over) if self.over else kept
        names = list(dict.fromkeys(kept["panel"]))
        if self.turned:
            names.sort(key=lambda name: name.partition(" ")[0])
        across = len({name.partition(" ")[2 * self.turned] for name in names})
        keys = _keys(kept, self)
        lines, rows = -(-len(keys) // 4), len(names) // across
        size = {"columns": across, "rows": rows, "sharey": True, "squeeze": False}
        height = 0.3 + 1.9 * rows + 0.16 * lines
        with style.figure(self.width, height, **size, stem=stem) as (made, axes):
            _scale(axes[0, 0], kept, self)
            letters = ascii_lowercase if axes.size > 1 else [""]
            for one, letter, name in zip(axes.flat, letters, names, strict=False):
                _draw_panel(one, kept[kept["panel"] == name], self)
                title = name.replace("d=", "$d=", 1).replace(" ", "$, ", 1)
                style.panel_title(one, letter, title if "d=" in name else name)
            for one in axes[:, 0]:
                one.set_ylabel(self.label)
            for one in axes[-1]:
                short = one.get_xlim()[1] < self.paper_to
                said = f"\n(the paper: to {_number(self.paper_to)})" if short else ""
                one.set_xlabel(f"{self.along}{said}")
            style.legend_above(made, keys, columns=min(4, len(keys)))


def _relative(kept: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return curves divided by those of one method, without quantiles."""
    kept = kept[~kept["panel"].str.endswith(claims.EXCLUDED)]
    own = kept[kept["method"] == method].set_index(["panel", "x"])["y"].rename("over")
    joined = kept.join(own, on=["panel", "x"])
    return joined.assign(y=joined["y"] / joined["over"], y_low=np.nan, y_high=np.nan)


def _keys(kept: pd.DataFrame, spec: PlotSpec) -> list:
    """Return the legend: colours are methods, dashes are series."""
    shown = kept[kept["stat"] == spec.stat]
    methods = [name for name in dict.fromkeys(shown["method"]) if name != claims.BASELINE]
    # Those that are panels stand in the titles.
    named = [] if set(methods) == set(shown["panel"]) else methods
    found = [style.key(display(each), **_line(each, claims.SCHEDULED, shown)) for each in named]
    drawn = dict.fromkeys(shown["series"])
    names = {claims.BASELINE: spec.baseline, claims.THROUGHOUT: "tolerance $10^{-3}$ at every $n$"}
    if claims.CONSTRAINED in drawn:
        names |= {claims.SCHEDULED: claims.UNCONSTRAINED, claims.CONSTRAINED: claims.CONSTRAINED}
    elif claims.THROUGHOUT in drawn:
        names[claims.SCHEDULED] = "tolerance $10^{-3}$, larger at large $n$"
    for series in drawn:
        if series in names or series not in _DASHES:
            look = _line(claims.BASELINE, series, shown) | {"linewidth": 1.2}
            found.append(style.key(names.get(series, series), **look))
    if spec.average:
        found.append(style.key("mean of the repetitions", color=style.GREY, **_THIN))
    if spec.band and shown.loc[shown["series"] == claims.SCHEDULED, "y_low"].notna().any():
        found.append(style.mark("5% to 95% of the repetitions", "|", markersize=9))
    return found


def _scale(axes, kept: pd.DataFrame, spec: PlotSpec) -> None:
    """Set the vertical axis, which all panels share, around every line and quantile."""
    from matplotlib.ticker import LogLocator, NullFormatter

    shown = kept[kept["stat"] == spec.stat]
    values = shown[["y", "y_low", "y_high"] if spec.band else ["y"]].to_numpy().ravel()
    positive = values[values > 0]
    most = 1.4 * positive.max() if len(positive) else 1.0
    if spec.linear_below is not None:
        axes.set_yscale("symlog", linthresh=spec.linear_below, linscale=0.4)
        # Lines at 0 must not lie on the axis.
        axes.set_ylim(-0.2 * spec.linear_below, max(most, 10.0 * spec.linear_below))
        return
    least = positive.min() / 1.4 if len(positive) else 0.1
    axes.set(yscale="log", ylim=(least, min(most, spec.most)))
    if most < 30.0 * least:  # fewer than two powers of ten may be on the axis
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())


def _draw_panel(axes, panel: pd.DataFrame, spec: PlotSpec) -> None:
    shown = panel[panel["stat"] == spec.stat]
    if spec.over:
        axes.axhline(1.0, color=style.GREY, linewidth=0.6)
    sizes, methods = sorted(set(shown["x"])), list(dict.fromkeys(shown["method"]))
    width = max(sizes[-1] / sizes[0], 2.0)
    for (method, series), rows in shown.groupby(["method", "series"], sort=False):
        rows, look = rows.sort_values("x"), _line(method, series, shown)
        inside = rows["y"].where(rows["y"] <= spec.most)
        axes.plot(rows["x"], inside, marker="o", markersize=1.5, clip_on=False, **look)
        for far in rows[rows["y"] > spec.most].itertuples():
            said = f"▲ {display(method)}: {far.y:.0f}"
            style.beside(axes, said, (far.x, spec.most), 1, look["color"], xytext=(-2.5, -4))
        if series != claims.SCHEDULED:
            continue
        if spec.average:
            mean = panel[(panel["method"] == method) & (panel["stat"] == claims.MEAN)]
            mean = mean[mean["series"] == series].sort_values("x")
            axes.plot(mean["x"], mean["y"], color=look["color"], **_THIN)
        if spec.band:
            places = rows["x"] * width ** (_APART * (methods.index(method) - 1))
            axes.vlines(places, rows["y_low"], rows["y_high"], color=look["color"], linewidth=0.6)
    most = shown.groupby("method", sort=False)["y"].max()
    if spec.linear_below is not None and (most == 0.0).sum() > 1:
        said = f"0: {', '.join(map(display, most.index[most == 0.0]))}"
        style.beside(axes, said, (sizes[0], 0.0), 1, style.GREY, xytext=(2, 5))
    axes.set(xscale="log", xlim=(sizes[0] / width**0.03, sizes[-1] * width**0.03))
    powers = all(math.log10(size).is_integer() for size in sizes)
    thousands = [f"{size / 1000:g}k" if size >= 1000 else f"{size:g}" for size in sizes]
    axes.set_xticks(sizes, [_number(size) for size in sizes] if powers else thousands)
    axes.set_xticks([], minor=True)


def _line(method: str, series: str, shown: pd.DataFrame) -> dict:
    """Return the look of a line: colours are methods, dashes are variations or series."""
    grey = {"color": style.GREY, "linestyle": "-"}
    own = grey if method == claims.BASELINE else style.line(method)
    if series == claims.SCHEDULED:
        return own
    if series.startswith(claims.BY_TOLERANCE):
        order = sorted({each for each in shown["series"] if each.startswith(claims.BY_TOLERANCE)})
        return own | {"linestyle": ("-.", ":", "--", "-")[-1 - order.index(series)]}
    return own | {"linestyle": _DASHES[series], "linewidth": 0.9}


def _number(value: float) -> str:
    return f"$10^{{{round(math.log10(value))}}}$"


LOSS_LABEL = "relative squared error\nof $E[yy^\\top|x]$"
_PAPER_TO, _BOTH = 1e7, (claims.MOST, claims.MEAN)
_ERRORS = "normalisation error,\nlargest $|E[1|x]-1|$"
_METHODS, _ALL = ("JDL", "JPDL", "CME"), ["JDL", "JPDL", "JPDL-unreduced", "CME"]
_PAIRS, _FEASIBLE = "pairs with $1+h<0$", "fits of CME for which (33) is feasible"


def _curves(
    metric: str, experiment=claims.MOMENTS, arrange: Callable = claims.panels, ignoring="", **how
) -> Build:
    """Return the `build` of curves of a metric, or where that is "" of seconds.

    KLR stands in both rows. Beside them are those of what ignores x, whose metric is `ignoring`;
    `how` is as in `claims.rows`.
    """

    def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
        tidied = claims.tidy(scores if metric else claims.timed(scores), experiment)
        tidied = tidied[tidied["method"].isin(artefact.methods)]
        # It needs no constraints.
        twice = tidied[tidied["method"].eq("KLR")].assign(constrained=True)
        placed = arrange(pd.concat([tidied, twice], ignore_index=True))
        found = claims.rows(placed, metric, **how) if metric else claims.timing_rows(placed)
        return claims.frame([*found, *claims.baseline(placed, ignoring)])

    return build


def _scheduled(tidied: pd.DataFrame) -> pd.DataFrame:
    """Return the panels with the tolerances of the schedule alone."""
    solved = claims.panels(tidied)
    # Without constraints there is no semidefinite program.
    shown = solved["method"].ne("JPDL-unreduced") | solved["constrained"]
    return solved[solved["series"].eq(claims.SCHEDULED) & shown]


def by_law(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return tidied scores under each law, `s = 0.2` or `uniform`, the drawn one first."""
    here = scores.loc[scores["dataset"].str.endswith(f"-{LAWS}"), "setting"]
    laws = sorted(set(here.str.extract(r'"law":\s*"([^"]+)"')[0]), key=parsed_law)
    found = {DRAWN_LAW: scores} | {law: claims.varied(scores, LAWS, "law", law) for law in laws}
    tidied = {}
    for law, own in found.items():
        kind, size = parsed_law(law)
        named = {NORMAL: f"s = {size:g}", CORRELATION: "ρ unif."}.get(kind, "uniform")
        tidied[named] = claims.tidy(own, claims.MOMENTS)
    return tidied


def _of_laws(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the loss (40): a panel for each d and law, a series for the limits."""
    found = []
    for law, shown in sorted(by_law(scores).items()):
        shown = shown[shown["n"].le(100_000) & shown["scheduled"] & shown["method"].isin(_METHODS)]
        panel = "d=" + shown["d"].astype(str) + f" {law}"
        placed = shown.assign(panel=panel, series=_limits(shown)).sort_values("d", kind="stable")
        found += claims.rows(placed, names.SECOND_MOMENT_LOSS)
        found += claims.baseline(placed, names.INDEPENDENCE_LOSS)
    return claims.frame(found)


def _of_bandwidths(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the loss (40) of JDL and CME against the largest factor, a panel for each d and n."""
    parts = []
    for factor in sorted(BANDWIDTH_FACTORS, reverse=True):
        drawn = factor == max(BANDWIDTH_FACTORS)
        under = scores if drawn else claims.varied(scores, FACTORS, "largest_factor", factor)
        tidied = claims.tidy(under, claims.MOMENTS)
        shown = tidied[tidied["scheduled"] & tidied["method"].isin(["JDL", "CME"])]
        panel = "d=" + shown["d"].astype(str) + " n = " + shown["n"].astype(str)
        parts.append(shown.assign(panel=panel, series=_limits(shown), order=shown["n"], n=factor))
    placed = pd.concat(parts).sort_values(["order", "d", "n"], kind="stable")
    return claims.frame(claims.rows(placed, names.SECOND_MOMENT_LOSS))


def _limits(tidied: pd.DataFrame) -> pd.Series:
    return tidied["constrained"].map({False: claims.SCHEDULED, True: claims.CONSTRAINED})


def _of_structure(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return shares of violations and of feasible tightenings, in percent.

    A panel for each section, and in it for pairs without and with constraints and for fits of CME;
    a series for each d. Tolerances are those of the schedule.
    """
    tidied = claims.tidy(scores, claims.MOMENTS, claims.PORTFOLIO)
    tidied = tidied[tidied["scheduled"]]
    section, pairs = tidied["experiment"].map(claims.SECTIONS), tidied["method"].ne("CME")
    words = (f"{_PAIRS}, " + tidied["constrained"].map(claims.LIMITS)).where(pairs, _FEASIBLE)
    tidied = tidied.assign(panel=section + " " + words, series="d=" + tidied["d"].astype(str))
    tidied = tidied.assign(section=section).sort_values(["section", "d"], kind="stable")
    joint = tidied[tidied["method"].ne("CME")].sort_values("constrained", kind="stable")
    cme = tidied[tidied["method"].eq("CME") & ~tidied["constrained"]]
    # Where the claim holds the share is 0, as above.
    feasible = cme["value"].where(cme["metric"] != claims.INFEASIBLE, 1.0 - cme["value"])
    found = [*claims.rows(joint, claims.VIOLATIONS, scale=100.0)]
    found += claims.rows(cme.assign(value=feasible), claims.INFEASIBLE, scale=100.0)
    return claims.frame(found)


def draw_structure(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw the shares without constraints, a panel for each section."""
    shown = frame[frame["panel"].str.endswith(claims.LIMITS[False]) & (frame["kind"] == "curve")]
    with style.figure(style.PAGE, 2.8, columns=2, sharey=True, stem=stem) as (made, axes):
        sections = shown.groupby("panel", sort=False)
        for one, letter, (panel, own) in zip(axes, "ab", sections, strict=False):
            dashes = dict(zip(own["series"].unique(), ("-", "--", ":", "-."), strict=False))
            for (method, series), rows in own.groupby(["method", "series"], sort=False):
                look = {"color": style.line(method)["color"], "linestyle": dashes[series]}
                one.plot(rows["x"], rows["y"], marker="o", markersize=2, **look)
            keys = [style.key(f"${d}$", color=style.GREY, ls=look) for d, look in dashes.items()]
            one.legend(handles=keys, frameon=False, fontsize=7, ncols=2)
            one.set(xscale="log", xlabel="data points $n$")
            one.set_yscale("symlog", linthresh=1e-3, linscale=0.4)
            style.panel_title(one, letter, f"section {panel}")
        axes[0].set_ylabel("share of test pairs (%)")
        methods = shown["method"].unique()
        style.legend_above(made, [style.key(m, color=style.line(m)["color"]) for m in methods])


def largest_shares(frame: pd.DataFrame) -> list[str]:
    """Return a table of the largest shares with constraints, and of feasible fits."""
    rest = frame[~frame["panel"].str.endswith(claims.LIMITS[False]) & (frame["kind"] == "curve")]
    rows = []
    for panel, own in rest.groupby("panel", sort=False):
        worst = own.loc[own["y"].idxmax()]
        at = f"{worst['series'].replace('=', ' = ')}, n = {magnitude(worst['x'])}"
        rows.append([f"section {panel}", f"{worst['y']:g}%", at if worst["y"] else "all d and n"])
    return [pipe_table(["share", "largest mean", "at"], rows)]


def _named(variation: str, sizes: Sequence[int]) -> list[str]:
    return [f"gaussian-{d}-{n}{variation}" for d in claims.DIMENSIONS for n in sizes]


def _figure(name: str, build: Build, draw: Draw, methods=(), beside=(), **more) -> Artefact:
    """Return a figure of methods on Gaussian pairs, of which `shown` says more, and on portfolios.

    The latter are those `beside`.
    """
    shows = {claims.MOMENTS: {"methods": [*methods], **more.pop("shown", {})}} if methods else {}
    if beside:
        shows[claims.PORTFOLIO] = {"methods": [*beside]}
    more = {"remarks": claims.remarks} | more
    return Artefact(__name__, shows, build, draw, name=name, **more)


_AT_ONE = [f"gaussian-1-{n}" for n in claims.PUBLISHED_SIZES]
_UNDER_LAWS = _named("", claims.PUBLISHED_SIZES) + _named(f"-{LAWS}", claims.PUBLISHED_SIZES[:3])
_UNDER_LAWS += [f"gaussian-1-{n}-{LAWS}" for n in claims.PUBLISHED_SIZES[3:]]
_FEW = claims.PUBLISHED_SIZES[:2]
_SMALL = _named("", _FEW)
_DAYS = ["JDL", "CME", "KLR"]
_ALONG = "days $n$"

ARTEFACTS = [
    _figure(
        "fig1",
        _curves(names.SECOND_MOMENT_LOSS, ignoring=INDEPENDENCE_LOSS),
        PlotSpec(LOSS_LABEL, paper_to=_PAPER_TO),
        methods=_METHODS,
        claims={
            "J1": claims.ordered,
            "J2": claims.rises_when_loosened,
            "J4": claims.worse_in_higher_dimensions,
        },
    ),
    _figure(
        "fig2",
        _curves(names.SECOND_MOMENT_LOSS, arrange=claims.by_tolerance, ignoring=INDEPENDENCE_LOSS),
        PlotSpec(LOSS_LABEL),
        methods=["JDL", "CME"],
        shown={"datasets": _AT_ONE},
        claims={"J3": claims.robust_to_tolerance},
    ),
    _figure(
        "fig3",
        _curves(names.NORMALISATION_ERROR, stats=_BOTH),
        PlotSpec(_ERRORS, stat=claims.MOST, linear_below=1e-4, average=True, paper_to=_PAPER_TO),
        methods=_METHODS,
        claims={"J5": claims.inverse_to_sample_size, "J7": claims.mitigated_by_constraints},
    ),
    _figure(
        "fig4",
        _curves(names.NORMALISATION_ERROR, arrange=claims.by_tolerance, stats=_BOTH),
        PlotSpec(_ERRORS, stat=claims.MOST, band=False, width=style.COLUMN),
        methods=["CME"],
        shown={"datasets": _AT_ONE},
        claims={"J6": claims.falls_at_the_tightest, "J15": claims.lowest_in_the_middle},
    ),
    _figure(
        "fig5",
        _curves(names.PSD_VIOLATION_RATE, scale=100.0),
        PlotSpec("moments not positive\nsemi-definite (%)", linear_below=0.01, paper_to=_PAPER_TO),
        methods=_METHODS,
        claims={"J8": claims.semidefinite},
    ),
    _figure(
        "fig6",
        _curves("", arrange=_scheduled),
        PlotSpec("seconds, times those of JDL", over="JDL", paper_to=_PAPER_TO, most=50.0),
        methods=_ALL,
        claims={"J9": claims.similar_and_faster, "J16": claims.constraints_cost_little},
        tolerance=verdicts.VERDICTS,  # its curves are of seconds
    ),
    _figure(
        "laws",
        _of_laws,
        PlotSpec(LOSS_LABEL, band=False, turned=True),
        shown={"datasets": _UNDER_LAWS},
        methods=_ALL,
        beside=["JDL", "CME"],
        stage=READINGS,
    ),
    _figure(
        "bandwidths",
        _of_bandwidths,
        PlotSpec(LOSS_LABEL, along="largest factor of a bandwidth", band=False),
        methods=["JDL", "CME", "JPDL"],
        shown={"datasets": _SMALL + _named(f"-{FACTORS}", _FEW), "only": {"JPDL": _SMALL}},
        stage=READINGS,
    ),
    _figure(
        "fig7",
        _curves(names.LOGISTIC_LOSS, claims.PORTFOLIO, ignoring=names.BASE_RATE_LOSS),
        PlotSpec("logistic loss, nats", baseline="base rate", along=_ALONG),
        beside=_DAYS,
        claims={"J10": claims.jdl_like_klr},
    ),
    _figure(
        "fig8",
        _curves(names.NEGATIVE_PROBABILITY_RATE, claims.PORTFOLIO, scale=100.0),
        PlotSpec("negative probabilities (%)", linear_below=0.01, along=_ALONG, band=False),
        beside=_DAYS,
        claims={"J11": claims.fewer_negative},
    ),
    _figure(
        "fig9",
        _curves("", claims.PORTFOLIO),
        PlotSpec("seconds, times those of JDL", along=_ALONG, over="JDL"),
        beside=_DAYS,
        claims={"J12": claims.comparable_seconds},
        tolerance=verdicts.VERDICTS,  # its curves are of seconds
    ),
    _figure(
        "structure",
        _of_structure,
        draw_structure,
        below=largest_shares,
        methods=_METHODS,
        beside=["JDL", "CME"],
        claims={"J13": claims.few_violations, "J14": claims.never_feasible},
    ),
]


POSITIVITY = {"JDL": "(33)", "JDL-sub-grid": "sub-grid", "JDL-clipped": "clipped and renormalised"}
POSITIVITY |= {"CME-rows": "at 30 rows"}
"""Method to how positivity is imposed on it."""

_AT, _ROWS_OF_SMOKE = 10_000, 200
_STRONG = 0.7
_NEIGHBOURS = 15
_KINDS = {
    claims.UNCONSTRAINED: ("unconstrained", style.BLACK, "-"),
    "(33)": ("constrained as in the paper", style.VERMILLION, "--"),
    "sub-grid": ("JDL on a sub-grid", style.BLUE, ":"),
    "clipped and renormalised": ("JDL clipped", style.GREEN, "-."),
    "at 30 rows": ("CME at 30 rows", style.BLUE, ":"),
    claims.CONSTRAINED: ("constrained as in the paper", style.VERMILLION, "--"),
    claims.BASELINE: ("ignoring x", style.GREY, (0, (6, 2))),
}
"""Series to its name, colour and dashes."""


def build_dependence(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return a point for each fit at d = 1 and one n: x is |ρ|, y the loss (40).

    A panel for each method, with a series for each kind of constraints; rows of the kind `BASELINE`
    are of what ignores x.
    """
    tidied = pd.concat([each.assign(law=law) for law, each in by_law(scores).items()])
    here = tidied[tidied["d"].eq(1) & tidied["n"].isin([_AT, _ROWS_OF_SMOKE])]
    here = here[here["scheduled"] & here["status"].eq("ok")]
    keys = ["method", "variant", "constrained", "law", "split"]
    wanted = [CANONICAL_CORRELATION, SECOND_MOMENT_LOSS, INDEPENDENCE_LOSS]
    table = here.pivot_table(index=keys, columns="metric", values="value")[wanted].reset_index()
    table = table.set_axis([*keys, "x", "y", "ignoring"], axis=1)
    panel = table["method"].str.split("-").str[0]
    held = table["method"].map(POSITIVITY).fillna(claims.CONSTRAINED)
    series = held.where(table["constrained"], claims.UNCONSTRAINED)
    table = table.assign(panel=panel, series=series, kind="scatter", n=1, stat="value")
    # The other kinds of positivity are without constraints what JDL and CME are.
    table = table[table["constrained"] | table["method"].eq(table["panel"])]
    free = table[~table["constrained"]].assign(y=table["ignoring"], variant=np.nan)
    free = free.assign(kind=claims.BASELINE, method=claims.BASELINE, series=claims.BASELINE)
    made = pd.concat([table, free]).sort_index(kind="stable")
    made = made.assign(place=made["series"].map(list(_KINDS).index))
    made = made.sort_values(["panel", "place", "x"], kind="stable")
    return made.reindex(columns=FIGURE_COLUMNS)


def remarks_of_dependence(drawn: pd.DataFrame) -> list[str]:
    """State what each kind of positivity leaves of the loss of ignoring x."""
    ignoring = drawn.loc[drawn["series"] == claims.BASELINE, ["panel", "x", "y"]]
    paired = drawn[drawn["kind"] == "scatter"].merge(ignoring, on=["panel", "x"])
    strong = paired[paired["x"] > _STRONG]
    logs = np.log(strong["y_x"] / strong["y_y"])
    means = logs.groupby([strong["panel"], strong["series"]], sort=False).mean()
    found = [f"{' '.join(key)} {100 * np.exp(mean):.2g}%" for key, mean in means.items()]
    said = f"Above |ρ| = {_STRONG} a fit leaves, in the geometric mean, of the loss of ignoring x: "
    return [f"{said}{', '.join(found)}."] if found else []


def draw_dependence(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw a panel for each method: points, geometric means of neighbours, and what ignores x."""
    panels = [name for name in ("JDL", "CME", "JPDL") if name in set(frame["panel"])]
    size = {"columns": len(panels), "sharey": True, "squeeze": False}
    with style.figure(style.PAGE, 2.9, **size, stem=stem) as (made, axes):
        for one, panel, letter in zip(axes[0], panels, "abc", strict=False):
            for series, points in frame[frame["panel"] == panel].groupby("series", sort=False):
                points = points.sort_values("x")
                _, colour, dashes = _KINDS[series]
                if series != claims.BASELINE:
                    dots = {"color": colour, "markersize": 1.5, "alpha": 0.5}
                    one.plot(points["x"], points["y"], ".", **dots)
                means = np.log(points["y"]).rolling(_NEIGHBOURS, center=True, min_periods=1).mean()
                one.plot(points["x"], np.exp(means), color=colour, linestyle=dashes)
            style.panel_title(one, letter, panel)
            one.set_xlabel("correlation $|\\rho|$")
        axes[0, 0].set(yscale="log", ylabel=LOSS_LABEL)
        drawn = dict.fromkeys(_KINDS[name] for name in _KINDS if name in set(frame["series"]))
        keys = [style.key(name, color=colour, linestyle=line) for name, colour, line in drawn]
        keys.append(style.mark("one matrix", ".", markersize=3))
        keys.append(style.key(f"geometric mean of {_NEIGHBOURS} neighbours", color=style.GREY))
        style.legend_above(made, keys, columns=4)


DEPENDENCE = _figure(
    "dependence",
    build_dependence,
    draw_dependence,
    stage=READINGS,
    shown={"datasets": [*_named("", claims.PUBLISHED_SIZES[:3]), f"gaussian-1-10000-{LAWS}"]},
    methods=[*POSITIVITY, "CME", "JPDL"],
    beside=[*POSITIVITY, "CME", "KLR"],
    remarks=lambda drawn: [*remarks_of_dependence(drawn), *claims.remarks(drawn)],
)
