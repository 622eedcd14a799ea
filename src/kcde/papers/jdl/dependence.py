"""jdl dependence: what the constraints cost by the correlation, and J-positivity's readings."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.metrics.names import CANONICAL_CORRELATION, INDEPENDENCE_LOSS, SECOND_MOMENT_LOSS
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact, Decision
from kcde.papers.jdl import _dependence_picture, fig1, fig3, fig7, fig8
from kcde.papers.jdl._curves import BASELINE, CONSTRAINED, UNCONSTRAINED, failures, tidy
from kcde.papers.jdl._moments import POSITIVITY
from kcde.papers.jdl.laws import by_law

ROWS, ROWS_OF_SMOKE = 10_000, 200
_WEAK, _STRONG = 0.25, 0.7
_JDL, _HELD = "JDL", "(33)"

draw = _dependence_picture.draw


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return a point for each fit at d = 1 and one n: x is |ρ|, y the loss (40).

    A panel for each method, with a series for each kind of constraints; rows of the kind `BASELINE`
    are of what ignores x.
    """
    under = by_law(scores[scores["experiment"] == "moments"])
    tidied = pd.concat([tidy(each).assign(law=law) for law, each in under.items()])
    here = tidied[tidied["d"].eq(1) & tidied["n"].isin([ROWS, ROWS_OF_SMOKE])]
    here = here[here["scheduled"] & here["status"].eq("ok")]
    keys = ["method", "variant", "constrained", "law", "split"]
    wanted = [CANONICAL_CORRELATION, SECOND_MOMENT_LOSS, INDEPENDENCE_LOSS]
    table = here.pivot_table(index=keys, columns="metric", values="value")[wanted].reset_index()
    kinds = {method: name for name, method in POSITIVITY.items()}
    found = []
    for row in table.itertuples():
        panel = _JDL if row.method in kinds else row.method
        if row.method != panel and not row.constrained:
            continue
        held = kinds.get(row.method, CONSTRAINED)
        place = {"panel": panel, "x": getattr(row, CANONICAL_CORRELATION), "n": 1, "stat": "value"}
        point = place | {"kind": "scatter", "method": row.method, "variant": row.variant}
        series = held if row.constrained else UNCONSTRAINED
        found.append(point | {"series": series, "y": getattr(row, SECOND_MOMENT_LOSS)})
        if row.method == panel and not row.constrained:
            common = {"kind": BASELINE, "method": BASELINE, "series": BASELINE}
            found.append(place | common | {"y": getattr(row, INDEPENDENCE_LOSS)})
    made = pd.DataFrame(found, columns=FIGURE_COLUMNS)
    order = [UNCONSTRAINED, *POSITIVITY, CONSTRAINED, BASELINE]
    places = made.assign(place=made["series"].map(order.index))
    return places.sort_values(["panel", "place", "x"], kind="stable").drop(columns="place")


def remarks(drawn: pd.DataFrame) -> list[str]:
    """State what each kind of positivity leaves of the loss of ignoring x."""
    whole = drawn[drawn["series"].eq(BASELINE)].groupby("panel")["y"]
    found = []
    for (panel, series), own in drawn[drawn["kind"] == "scatter"].groupby(
        ["panel", "series"], sort=False
    ):
        baseline = drawn[drawn["series"].eq(BASELINE) & drawn["panel"].eq(panel)]
        paired = own.merge(baseline[["x", "y"]], on="x", suffixes=("", "_ignoring"))
        strong = paired[paired["x"] > _STRONG]
        if len(strong) and panel in whole.groups:
            share = float(np.exp(np.mean(np.log(strong["y"] / strong["y_ignoring"]))))
            found.append(f"{panel} {series} {100 * share:.2g}%")
    said = []
    if found:
        said.append(
            f"Above |ρ| = {_STRONG} a fit leaves, in the geometric mean, of the loss of ignoring "
            f"x: {', '.join(found)}."
        )
    jdl = drawn[drawn["panel"].eq(_JDL) & drawn["x"].lt(_WEAK)]
    free, held = (
        jdl[jdl["series"] == name].groupby("x")["y"].mean() for name in (UNCONSTRAINED, _HELD)
    )
    ratio = (held / free).dropna()
    if len(ratio):
        mean = float(np.exp(np.log(ratio).mean()))
        said.append(
            f"Below |ρ| = {_WEAK} the loss of JDL with (33) is {mean:.2g} times that without "
            f"constraints ({len(ratio)} matrices)."
        )
    return [*said, *failures(drawn)]


def _under(scores: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the scores with constrained JDL under another reading of positivity.

    Parameters
    ----------
    scores
        Of `moments` and `portfolio`.
    method
        A value of `POSITIVITY`.
    """
    constrained = scores["setting"].str.contains(r'"constrained":\s*true')
    others = scores[~scores["method"].isin(list(POSITIVITY.values()))]
    free = scores[scores["method"].eq(_JDL) & ~constrained]
    held = scores[scores["method"].eq(method) & constrained]
    variant = free["variant"].iloc[0] if len(free) else "as-published"
    return pd.concat([others, free, held.assign(method=_JDL, variant=variant)], ignore_index=True)


def read(scores: pd.DataFrame) -> Mapping[str, Mapping[str, Decision]]:
    """Decide the claims on constrained JDL under each reading of its positivity."""
    wanted = {
        "moments": (("J1", fig1), ("J5", fig3), ("J7", fig3)),
        "portfolio": (("J10", fig7), ("J11", fig8)),
    }
    found: dict[str, dict[str, Decision]] = {}
    for experiment, claims in wanted.items():
        own = scores[scores["experiment"] == experiment]
        for name, method in POSITIVITY.items():
            under = _under(own, method)
            for claim, module in claims:
                found.setdefault(claim, {})[name] = module.ARTEFACT.deciders[claim](under)
    return found


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
                "gaussian-2-1000",
                "gaussian-2-10000",
                "gaussian-2-100000",
                "gaussian-3-1000",
                "gaussian-3-10000",
                "gaussian-3-100000",
                "gaussian-1-10000-laws",
            ],
            "methods": ["JDL", "JDL-sub-grid", "JDL-clipped", "CME", "JPDL"],
        },
        "portfolio": {
            "methods": ["JDL", "JDL-sub-grid", "JDL-clipped", "CME", "KLR"],
        },
    },
    build=build,
    draw=draw,
    readers={"J-positivity": read},
    trial="matrix",
    remarks=remarks,
)
