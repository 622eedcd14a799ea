"""A figure of ours on sections 4.3 and 5 of jdl: where 1 + h < 0, where CME can satisfy (33)."""

from pathlib import Path

import pandas as pd

from kcde.pages import style
from kcde.papers.artefact import Artefact
from kcde.papers.jdl import claims_of_portfolios as claims
from kcde.papers.jdl.curves import (
    LIMITS,
    MEMORY,
    MOMENTS,
    PORTFOLIO,
    SECONDS,
    frame,
    remarks,
    rows,
    tidy,
)
from kcde.papers.jdl.plots import PlotSpec, drawer

PAIRS, FEASIBLE = "pairs with $1+h<0$", "fits of CME for which (33) is feasible"
_DASHES = {"-": (1,), "--": (2, 5), ":": (3, 10), "-.": (25,)}
_KEYS = [{"label": name, "color": style.line(name)["color"]} for name in ("JDL", "JPDL", "CME")] + [
    {"label": f"$d={'$ or $'.join(map(str, each))}$", "color": style.GREY, "linestyle": dashes}
    for dashes, each in _DASHES.items()
]


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return shares of violations and of feasible tightenings, in percent.

    A panel for each section, and in it for pairs without and with constraints and for fits of CME;
    a series for each d. Tolerances are those of the schedule.
    """
    tidied = tidy(scores, MOMENTS, PORTFOLIO)
    tidied = tidied.assign(
        section=tidied["experiment"].map(claims.SECTIONS), series="d=" + tidied["d"].astype(str)
    )
    tidied = tidied[tidied["scheduled"]].sort_values(["section", "d"], kind="stable")
    joint = tidied["method"].isin(("JDL", "JPDL"))
    shown = [
        (tidied[joint & tidied["constrained"].eq(held)], f"{PAIRS}, {limits}", claims.VIOLATIONS)
        for held, limits in LIMITS.items()
    ]
    cme = tidied[tidied["method"].eq("CME") & ~tidied["constrained"]]
    # Where the claim holds the share is 0, as above.
    feasible = cme["value"].where(cme["metric"] != claims.INFEASIBLE, 1.0 - cme["value"])
    shown.append((cme.assign(value=feasible), FEASIBLE, claims.INFEASIBLE))
    found = []
    for fits, words, metric in shown:
        found += rows(fits.assign(panel=fits["section"] + " " + words), metric, scale=100.0)
    # Figures 6 and 9 have what a fit costs.
    return frame([row for row in found if row["stat"] not in (SECONDS, MEMORY)])


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        MOMENTS: {"methods": ["JDL", "JPDL", "CME"]},
        PORTFOLIO: {"methods": ["JDL", "CME"]},
    },
    build=build,
    draw=drawer(
        PlotSpec(
            "share of test pairs (%)",
            linear_below=1e-3,
            band=False,
            dashes={f"d={d}": dashes for dashes, each in _DASHES.items() for d in each},
            row_labels={FEASIBLE: "share of fits of CME (%)"},
            words={
                FEASIBLE: "tightened positivity feasible",
                PAIRS: "negative density $1+h$",
                "5.1 ": "section 5.1: ",
                "5.2 ": "section 5.2: ",
            },
            keys=_KEYS,
            named=False,
        )
    ),
    claims={"J13": claims.few_violations, "J14": claims.never_feasible},
    trial="repetition",
    remarks=remarks,
)
