"""kcef table2-readings: what depends on when KCEF's tuning stops (K-stop), and its claims."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from kcde.evidence.cells import mean_and_stderr, variants
from kcde.metrics.names import NLL
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact, Decision
from kcde.papers.kcef import _grid, _readings_picture, fig1, fig4, fig5, table2
from kcde.papers.kcef._readings_picture import AGAINST_D, AGAINST_N, PUBLISHED
from kcde.papers.kcef._renamed import renamed


class _Rule(NamedTuple):
    """The methods of a rule.

    Attributes
    ----------
    full, isotropic
        On the full graph of the grid data, with a bandwidth for each parent and one for all.
    table
        On the full graph of the UCI data.
    markov
        On the Markov graph.
    drawn
        What is drawn from `table`: method to that in whose place it is for claim K14.
    """

    full: str
    isotropic: str
    table: str
    markov: str
    drawn: Mapping[str, str]


RULES = {
    "authors' code": _Rule(
        _grid.FULL,
        _grid.ISOTROPIC,
        "KCEF-F",
        "KCEF-M",
        {"KCEF-F": "KCEF-F", "KCEF-F-inverse": "KCEF-F-inverse"},
    ),
    "without penalty": _Rule(
        "KCEF-F-anisotropic-unpenalised",
        "KCEF-F-unpenalised",
        "KCEF-F-unpenalised",
        "KCEF-M-unpenalised",
        {"KCEF-F-unpenalised-inverse": "KCEF-F"},
    ),
    "converged": _Rule(
        "KCEF-F-converged",
        "KCEF-F-converged-isotropic",
        "KCEF-F-converged",
        "KCEF-M-converged",
        {"KCEF-F-converged-inverse": "KCEF-F"},
    ),
}
"""Reading of K-stop to its methods, the drawn one first."""

_UCI = table2.ARTEFACT.shows["joint"]["datasets"]
_GRIDS = fig1.ARTEFACT.shows["joint"]["datasets"]
_GAPS = {
    AGAINST_N: _grid.against_n,
    AGAINST_D: _grid.against_d,
}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return gaps to the bound and likelihoods, a series for each rule.

    Panels `n` and `d`: x is n or d, y the mean over runs of the entropy bound minus the
    log-likelihood, in nats; panels of the UCI data: y is the mean negative log-likelihood, and
    rows of the series `published` have the published one. `y_low` and `y_high` are one standard
    error away, `n` counts the runs that did not fail.
    """
    kinds = variants(scores)
    rows = []
    for rule, methods in RULES.items():
        for method in (methods.full, methods.markov):
            for panel, view in _GAPS.items():
                place = {"panel": panel, "kind": "curve", "method": method, "series": rule}
                rows += [place | point for point in _gaps(scores, method, view)]
        for method in (methods.table, methods.markov):
            for dataset in published.datasets("kcef", "table2"):
                place = {"panel": dataset, "kind": "scatter", "method": method, "series": rule}
                rows += [place | point for point in _likelihood(scores, dataset, method)]
    made = pd.DataFrame([*rows, *_published(scores)], columns=FIGURE_COLUMNS)
    return made.assign(variant=made["method"].map(kinds))


def _gaps(scores: pd.DataFrame, method: str, view: Callable) -> list[dict]:
    curve, bound = view(scores, method), view(scores, _grid.EXACT, "entropy")
    shared = [x for x in curve if x in bound]
    return [{"x": x} | _point(bound[x] - curve[x]) for x in shared]


def _likelihood(scores: pd.DataFrame, dataset: str, method: str) -> list[dict]:
    here = scores[
        (scores["dataset"] == dataset) & (scores["method"] == method) & (scores["metric"] == NLL)
    ]
    return [_point(here["value"].where(here["status"] == "ok"))] if len(here) else []


def _point(values: pd.Series) -> dict:
    mean, stderr = mean_and_stderr(values.dropna().to_numpy())
    ends = {"y": mean, "y_low": mean - stderr, "y_high": mean + stderr}
    return {**ends, "stat": "mean", "n": int(values.notna().sum())}


def _published(scores: pd.DataFrame) -> list[dict]:
    """Return a row for each published value of a data set that has scores."""
    values = published.values()
    drawn = RULES["authors' code"]
    here = values[
        (values["paper"] == "kcef")
        & (values["artefact"] == "table2")
        & values["method"].isin([drawn.table, drawn.markov])
        & values["dataset"].isin(scores["dataset"])
    ]
    common = {"kind": "scatter", "series": PUBLISHED, "stat": "mean"}
    return [
        common | {"panel": row.dataset, "method": row.method, "y": row.value}
        for row in here.itertuples()
    ]


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide the claims of figures 1, 4 and 5 and of table 2 under each rule."""
    found: dict[str, dict[str, Decision]] = {}
    for rule, methods in RULES.items():
        drawn = RULES["authors' code"]
        known = {methods.full: drawn.full, methods.markov: drawn.markov}
        isotropic = {methods.isotropic: drawn.isotropic, methods.full: drawn.full}
        table = {methods.table: drawn.table, methods.markov: drawn.markov}
        for names, deciders in (
            (known, fig1.ARTEFACT.deciders),
            (isotropic, fig5.ARTEFACT.deciders),
            (table, table2.ARTEFACT.deciders),
            (methods.drawn, fig4.ARTEFACT.deciders),
        ):
            under = renamed(scores, names)
            for claim, decider in deciders.items():
                found.setdefault(claim, {})[rule] = decider(under)
    return found


ARTEFACT = Artefact(
    __name__,
    name="table2-readings",
    kind="figure",
    stage="readings",
    shows={
        "joint": {
            "datasets": [*_UCI, *_GRIDS],
            "methods": [
                "KCEF-F",
                "KCEF-F-anisotropic",
                "KCEF-M",
                "KCEF-F-unpenalised",
                "KCEF-F-anisotropic-unpenalised",
                "KCEF-M-unpenalised",
                "KCEF-F-converged",
                "KCEF-F-converged-isotropic",
                "KCEF-M-converged",
                "LSCDE-F",
                "LSCDE-M",
                "NADE",
                "exact",
            ],
            # One bandwidth for all parents on the grid data: claim K6; and one for each parent on
            # the smallest of the UCI data.
            "only": {
                "KCEF-F": [*_UCI, "grid-2000"],
                "KCEF-F-anisotropic": ["red-wine", *_GRIDS],
                "KCEF-F-unpenalised": [*_UCI, "grid-2000"],
                "KCEF-F-anisotropic-unpenalised": _GRIDS,
                "KCEF-F-converged-isotropic": ["grid-2000"],
                "exact": _GRIDS,
            },
        },
        "samples": {
            "datasets": ["red-wine", "parkinsons"],
            "methods": [
                "KEF",
                "KCEF-F",
                "KCEF-F-inverse",
                "KCEF-F-unpenalised-inverse",
                "KCEF-F-converged-inverse",
            ],
        },
    },
    build=build,
    draw=_readings_picture.draw,
    readers={"K-stop": read},
    trial="run",
)
