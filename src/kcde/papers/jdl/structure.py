"""jdl structure, a figure of ours for sections 4.3 and 5; claims J13 and J14.

It shows where 1 + h < 0 and where CME can satisfy (33), for the pairs of section 5.1 and for the
days of section 5.2.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from kcde.evidence.deciding import Missing, all_of, decider
from kcde.evidence.verdicts import too_many_failed
from kcde.pages import style
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.jdl._curve_plots import PlotSpec, drawer
from kcde.papers.jdl._curves import (
    LIMITS,
    MEMORY,
    SECONDS,
    failures,
    frame,
    repetitions,
    rows,
    tidy,
)
from kcde.papers.jdl._moments import verdict

VIOLATIONS, INFEASIBLE = "density_violation_rate", "tightening_infeasible"
SECTIONS = {"moments": "5.1", "portfolio": "5.2"}
EXAMPLES = {"moments": (1, 2, 3), "portfolio": (1, 5, 10, 25)}
"""Experiment to the published d, all of which a decision needs."""

PAIRS, FEASIBLE = "pairs with $1+h<0$", "fits of CME for which (33) is feasible"

_FEW = 1e-3
_AS_A_RULE = 0.95
_JOINT = ("JDL", "JPDL")
_DASHES = {1: "-", 2: "--", 3: ":", 5: "--", 10: ":", 25: "-."}


def _keys() -> list[dict]:
    """Return the entries of the legend: methods are colours, dimensions are dashes."""
    methods = [{"label": name, "color": style.line(name)["color"]} for name in (*_JOINT, "CME")]
    by_dashes: dict[str, list[int]] = {}
    for d, dashes in _DASHES.items():
        by_dashes.setdefault(dashes, []).append(d)
    return methods + [
        {"label": f"$d={'$ or $'.join(map(str, every))}$", "color": style.GREY, "linestyle": dashes}
        for dashes, every in by_dashes.items()
    ]


_OF_PAIRS = "share of test pairs (%)"

draw = drawer(
    PlotSpec(
        _OF_PAIRS,
        linear_below=1e-3,
        band=False,
        dashes={f"d={d}": dashes for d, dashes in _DASHES.items()},
        row_labels={FEASIBLE: "share of fits of CME (%)"},
        words={
            FEASIBLE: "tightened positivity feasible",
            PAIRS: "negative density $1+h$",
            "5.1 ": "section 5.1: ",
            "5.2 ": "section 5.2: ",
        },
        keys=_keys(),
        named=False,
    )
)


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return shares of violations and of feasible tightenings, in percent.

    A panel for each section, and in it for pairs without and with constraints and for fits of CME;
    a series for each d. Tolerances are those of the schedule.
    """
    tidied = tidy(scores)
    tidied = tidied.assign(
        section=tidied["experiment"].map(SECTIONS),
        series="d=" + tidied["d"].astype(str),
    )
    scheduled = tidied[tidied["scheduled"]].sort_values(["section", "d"], kind="stable")
    found = []
    for constrained, words in LIMITS.items():
        joint = scheduled["method"].isin(_JOINT) & scheduled["constrained"].eq(constrained)
        found += _rows(scheduled[joint], f"{PAIRS}, {words}", VIOLATIONS)
    embedded = scheduled[scheduled["method"].eq("CME") & ~scheduled["constrained"]]
    # Where the claim holds the share is 0, as above.
    complement = embedded["value"].where(embedded["metric"] != INFEASIBLE, 1.0 - embedded["value"])
    return frame([*found, *_rows(embedded.assign(value=complement), FEASIBLE, INFEASIBLE)])


@decider
def few_violations(scores: pd.DataFrame) -> Decision:
    """Decide claim J13: under constrained JDL less than 0.1% of test pairs have 1 + h < 0.

    The mean share over the repetitions of each data set; the two sections are its parts.
    """
    tidied = tidy(scores)
    tidied = tidied[tidied["metric"].eq(VIOLATIONS) | tidied["status"].eq("failed")]
    joint = tidied[tidied["method"].eq("JDL") & tidied["constrained"]]
    shares = dict(_by_data(joint, VIOLATIONS))
    _check_examples(joint, "constrained JDL")
    means = {name: values.mean() for name, values in shares.items()}
    worst = max(means, key=means.get)
    most = max(values.max() for values in shares.values())
    reason = (
        f"largest mean share of {len(means)} data sets: {_percent(means[worst])} ({worst}); most "
        f"in one of {sum(map(len, shares.values()))} fits {_percent(most)}"
    )
    parts = _by_section({name: mean < _FEW for name, mean in means.items()})
    return Decision(all_of(parts.values()), reason + _beside(tidied), parts)


@decider
def never_feasible(scores: pd.DataFrame) -> Decision:
    """Decide claim J14: for every fit of CME it is proven that no coefficients satisfy (33).

    Fits without constraints at all tolerances; as amended, in at least 95% of the fits of each data
    set. The proof uses ranges of the basis functions, see `CME.certify_tightening`; where (33) is
    not proven infeasible, it is feasible. It is about the bases of the chosen bandwidths, while the
    paper speaks of all parameterizations; λ is in no constraint.
    """
    tidied = tidy(scores)
    embedded = tidied[tidied["method"].eq("CME") & ~tidied["constrained"]]
    proven = dict(_by_data(embedded, INFEASIBLE))
    _check_examples(embedded, "CME")
    open_ones = {name: int((values == 0).sum()) for name, values in proven.items()}
    fits, feasible = sum(map(len, proven.values())), sum(open_ones.values())
    nearly = "nearly: " if 0 < feasible < (1.0 - _AS_A_RULE) * fits else ""
    reason = (
        f"{nearly}(33) proven infeasible for {fits - feasible} of {fits} fits of CME, each at its "
        "chosen bandwidths alone"
    )
    each = [f"{k} of {len(proven[name])} at {name}" for name, k in open_ones.items() if k]
    if each:
        reason += f"; feasible: {', '.join(each)}"
    shares = {name: float((values != 0).mean()) for name, values in proven.items()}
    least = min(shares, key=shares.get)
    behind = f"; smallest share of a data set {_percent(shares[least])} ({least})"
    strict, amended = (
        _by_section({name: share >= limit for name, share in shares.items()})
        for limit in (1.0, _AS_A_RULE)
    )
    return Decision(
        all_of(strict.values()),
        reason,
        strict,
        Decision(all_of(amended.values()), reason + behind, amended),
    )


def _by_section(held: Mapping[str, bool]) -> dict[str, str]:
    """Return the verdict of each section: whether a statement holds for all of its data sets."""
    named = {
        section: [own for name, own in held.items() if name.startswith(section)]
        for section in SECTIONS.values()
    }
    return {f"section {section}": verdict(all(each)) for section, each in named.items()}


def remarks(drawn: pd.DataFrame) -> list[str]:
    """State the number of repetitions, where (33) is feasible, and which fits failed."""
    shares = drawn[drawn["panel"].str.endswith(FEASIBLE) & drawn["kind"].eq("curve")]
    open_ones = [
        f"{row.n * row.y / 100.0:.0f} of {row.n:.0f} at {row.panel.split()[0]}, "
        f"{row.series.replace('=', ' = ')}, n = {row.x:g}"
        for row in shares[shares["y"] > 0.0].itertuples()
    ]
    feasible = [f"Feasible for CME: {'; '.join(open_ones)}."] if open_ones else []
    return [*repetitions(drawn), *feasible, *failures(drawn)]


def _rows(fits: pd.DataFrame, words: str, metric: str) -> list[dict]:
    """Return curves with a panel for each section; figures 6 and 9 have what a fit costs."""
    placed = fits.assign(panel=fits["section"] + " " + words)
    found = rows(placed, metric, scale=100.0)
    return [row for row in found if row["stat"] not in (SECONDS, MEMORY)]


def _by_data(fits: pd.DataFrame, metric: str) -> Iterator[tuple[str, pd.Series]]:
    """Yield the name of each data set with a metric of its fits that did not fail.

    Raises
    ------
    Missing
        If more than 5% failed.
    """
    for (experiment, d, n), here in fits.groupby(["experiment", "d", "n"]):
        name = f"{SECTIONS[experiment]}, d = {d}, n = {n}"
        values = here.loc[here["metric"].eq(metric) & here["status"].eq("ok"), "value"]
        tried = len(here[["setting", "split"]].drop_duplicates())
        if too_many_failed(tried - len(values), tried):
            raise Missing(f"too many fits failed at {name}: {tried - len(values)} of {tried}")
        yield name, values


def _check_examples(fits: pd.DataFrame, whose: str) -> None:
    """Raise `Missing` where a published d lacks."""
    for experiment, dimensions in EXAMPLES.items():
        found = set(fits.loc[fits["experiment"] == experiment, "d"])
        if absent := [d for d in dimensions if d not in found]:
            named = ", ".join(f"d = {d}" for d in absent)
            raise Missing(f"no fits of {whose} of section {SECTIONS[experiment]} with {named}")


def _beside(tidied: pd.DataFrame) -> str:
    """State the largest mean shares of the other fits."""
    values = tidied[tidied["metric"].eq(VIOLATIONS) & tidied["status"].eq("ok")]
    parts = []
    for method, constrained in (("JDL", False), ("JPDL", False), ("JPDL", True)):
        here = values[values["method"].eq(method) & values["constrained"].eq(constrained)]
        if len(here):
            largest = here.groupby("dataset")["value"].mean().max()
            parts.append(f"{LIMITS[constrained]} {method} up to {_percent(largest)}")
    return f"; beside it {', '.join(parts)}" if parts else ""


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g}%"


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        "moments": {"methods": ["JDL", "JPDL", "CME"]},
        "portfolio": {"methods": ["JDL", "CME"]},
    },
    build=build,
    draw=draw,
    deciders={"J13": few_violations, "J14": never_feasible},
    trial="repetition",
    remarks=remarks,
)
