"""jdl laws: what depends on the law of the random correlations (J-law), and its claims."""

from pathlib import Path

import pandas as pd

from kcde.data.names import DRAWN_LAW, LAWS, NORMAL, parsed_law
from kcde.metrics.names import INDEPENDENCE_LOSS, SECOND_MOMENT_LOSS
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.jdl import _moments, fig1, fig2, fig3, fig4, fig5, fig6, structure
from kcde.papers.jdl._curve_plots import LIMIT_KEYS, PlotSpec, drawer
from kcde.papers.jdl._curves import (
    CONSTRAINED,
    SCHEDULED,
    UNCONSTRAINED,
    baseline,
    frame,
    rows,
    tidy,
    varied,
)

_LARGEST = 100_000
_DECIDED = (fig1, fig2, fig3, fig4, fig5, fig6, structure)

draw = drawer(
    PlotSpec(
        _moments.LOSS_LABEL,
        band=False,
        dashes={CONSTRAINED: "--"},
        names={CONSTRAINED: None},
        keys=LIMIT_KEYS,
    )
)


def named(law: str) -> str:
    """Return a law in words: `s = 0.2`, or `uniform`."""
    kind, size = parsed_law(law)
    return f"s = {size:g}" if kind == NORMAL else "uniform"


def by_law(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the scores under each law, in words, the drawn one first, as a decider takes them.

    Parameters
    ----------
    scores
        Of `moments`, with other laws in data sets of that variation, and of other experiments.
    """
    found = {named(DRAWN_LAW): scores}
    here = scores.loc[scores["dataset"].str.endswith(f"-{LAWS}"), "setting"]
    laws = sorted(set(here.str.extract(r'"law":\s*"([^"]+)"')[0]), key=parsed_law)
    return found | {named(law): varied(scores, LAWS, law=law) for law in laws}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the loss (40): a panel for each d and law, a series for the limits."""
    found = []
    each = by_law(scores[scores["experiment"] == "moments"])
    for law in sorted(each, key=lambda name: (name.startswith("u"), name)):
        tidied = tidy(each[law])
        shown = tidied[tidied["n"].le(_LARGEST) & tidied["scheduled"]]
        shown = shown[~shown["method"].isin(_moments.NOT_SHOWN)].sort_values("d", kind="stable")
        panel = "d=" + shown["d"].astype(str) + f" {law}"
        series = shown["constrained"].map({False: SCHEDULED, True: CONSTRAINED})
        placed = shown.assign(panel=panel, series=series)
        found += [*rows(placed, SECOND_MOMENT_LOSS), *baseline(placed, INDEPENDENCE_LOSS)]
    return frame(found)


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide the claims of figures 1 to 6 and of the structure under each law.

    The structure's tests count the fits at all tolerances. Other laws have one a data set, so here
    the drawn law counts that one alone, too.
    """
    found: dict[str, dict[str, Decision]] = {}
    for law, under in by_law(scores).items():
        for module in _DECIDED:
            known = under[under["experiment"].isin(module.ARTEFACT.experiments)]
            if module is structure:
                fits = tidy(known)
                known = fits[fits["scheduled"]]
            for claim, decide in module.ARTEFACT.deciders.items():
                found.setdefault(claim, {})[law] = decide(known)
    return found


def remarks(drawn: pd.DataFrame) -> list[str]:
    """State by how much the methods differ under each law."""
    said = []
    means = drawn[drawn["kind"].eq("curve") & drawn["x"].eq(_LARGEST)]
    for limits, series in ((UNCONSTRAINED, SCHEDULED), (CONSTRAINED, CONSTRAINED)):
        here = means[means["series"] == series]
        table = here.pivot(index="panel", columns="method", values="y")
        if {"JDL", "CME"} <= set(table.columns):
            ratios = (table["CME"] / table["JDL"]).reindex(dict.fromkeys(here["panel"])).dropna()
            each = ", ".join(f"{panel}: {ratio:.2g}" for panel, ratio in ratios.items())
            said.append(f"Loss of CME over that of JDL at n = 1e5, {limits}: {each}.")
    return [*said, *_moments.remarks(drawn)]


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    stage="readings",
    shows={
        "moments": {
            "datasets": [
                "gaussian-1-1000",
                "gaussian-1-10000",
                "gaussian-1-100000",
                "gaussian-1-1000000",
                "gaussian-1-10000000",
                "gaussian-2-1000",
                "gaussian-2-10000",
                "gaussian-2-100000",
                "gaussian-2-1000000",
                "gaussian-2-10000000",
                "gaussian-3-1000",
                "gaussian-3-10000",
                "gaussian-3-100000",
                "gaussian-3-1000000",
                "gaussian-3-10000000",
                "gaussian-1-1000-laws",
                "gaussian-1-10000-laws",
                "gaussian-1-100000-laws",
                "gaussian-2-1000-laws",
                "gaussian-2-10000-laws",
                "gaussian-2-100000-laws",
                "gaussian-3-1000-laws",
                "gaussian-3-10000-laws",
                "gaussian-3-100000-laws",
            ],
            "methods": ["JDL", "JPDL", "JPDL-unreduced", "CME"],
        },
        "portfolio": {"methods": ["JDL", "CME"]},
    },
    build=build,
    draw=draw,
    readers={"J-law": read},
    trial="matrix",
    remarks=remarks,
)
